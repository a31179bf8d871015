// SPDX-License-Identifier: GPL-2.0
/*
 * names.c - what numbers of the kernel are called, see names.h
 */
#include "names.h"

#include <stdio.h>
#include <string.h>

#include <linux/kvnet.h>

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define NAME(table, n)	((n) < ARRAY_SIZE(table) && (table)[n] ? (table)[n] : "unknown")

static const char * const scheds[] = {
	[KVNET_SCHED_OTHER] = "other", [KVNET_SCHED_FIFO] = "fifo",
	[KVNET_SCHED_RR] = "rr", [KVNET_SCHED_BATCH] = "batch",
	[KVNET_SCHED_IDLE] = "idle", [KVNET_SCHED_DEADLINE] = "deadline",
	[KVNET_SCHED_EXT] = "ext",
};

/* virtio 1.3, 5.1.3 and 6; 26 and 27 are vhost's */
static const char * const features[] = {
	[0] = "CSUM", "GUEST_CSUM", "CTRL_GUEST_OFFLOADS", "MTU",
	[5] = "MAC", "GSO", "GUEST_TSO4", "GUEST_TSO6", "GUEST_ECN", "GUEST_UFO",
	"HOST_TSO4", "HOST_TSO6", "HOST_ECN", "HOST_UFO", "MRG_RXBUF", "STATUS",
	"CTRL_VQ", "CTRL_RX", "CTRL_VLAN", "CTRL_RX_EXTRA", "GUEST_ANNOUNCE", "MQ",
	"CTRL_MAC_ADDR", "NOTIFY_ON_EMPTY",
	[26] = "LOG_ALL", "VIRTIO_NET_HDR", "INDIRECT_DESC", "EVENT_IDX",
	[32] = "VERSION_1", "ACCESS_PLATFORM", "RING_PACKED", "IN_ORDER",
	"ORDER_PLATFORM", "SR_IOV", "NOTIFICATION_DATA", "NOTIF_CONFIG_DATA",
	"RING_RESET", "ADMIN_VQ",
	[51] = "DEVICE_STATS", "VQ_NOTF_COAL", "NOTF_COAL", "GUEST_USO4", "GUEST_USO6",
	"HOST_USO", "HASH_REPORT",
	[59] = "GUEST_HDRLEN", "RSS", "RSC_EXT", "STANDBY", "SPEED_DUPLEX",
	[65] = "GUEST_UDP_TUNNEL_GSO", "GUEST_UDP_TUNNEL_GSO_CSUM",
	"HOST_UDP_TUNNEL_GSO", "HOST_UDP_TUNNEL_GSO_CSUM",
};

/**
 * name_state() - of a queue
 * @state: KVNET_QUEUE_STATE_*
 *
 * Return: its name; "unknown" of one that we do not know. So do all of these.
 */
const char *name_state(uint32_t state)
{
	static const char * const names[] = { "stopped", "running", "broken", "waiting" };

	return NAME(names, state);
}

/**
 * name_layout() - of a ring
 * @layout: KVNET_RING_LAYOUT_*
 *
 * Return: its name.
 */
const char *name_layout(uint32_t layout)
{
	static const char * const names[] = { "split", "packed" };

	return NAME(names, layout);
}

/**
 * name_access() - how a ring is reached
 * @access: KVNET_RING_ACCESS_*
 *
 * Return: its name.
 */
const char *name_access(uint32_t access)
{
	static const char * const names[] = { "user", "pinned" };

	return NAME(names, access);
}

/**
 * name_backend() - where a queue's packets go
 * @backend: KVNET_BACKEND_*
 *
 * Return: its name.
 */
const char *name_backend(uint32_t backend)
{
	static const char * const names[] = { "none", "tap", "macvtap", "packet" };

	return NAME(names, backend);
}

/**
 * name_shortcut() - of the state of the short cut to another tap
 * @state: KVNET_SHORTCUT_*
 *
 * Return: its name.
 */
const char *name_shortcut(uint32_t state)
{
	static const char * const names[] = {
		"idle", "active", "off", "no-bridge", "bridge", "capture", "filter", "port", "qdisc",
	};

	return NAME(names, state);
}

/**
 * name_kind() - of a worker
 * @kind: KVNET_WORKER_KIND_*
 *
 * Return: its name.
 */
const char *name_kind(uint32_t kind)
{
	static const char * const names[] = { "kthread", "task" };

	return NAME(names, kind);
}

/**
 * name_sched() - of a scheduling class
 * @sched: KVNET_SCHED_*
 *
 * Return: its name.
 */
const char *name_sched(uint32_t sched)
{
	return NAME(scheds, sched);
}

/**
 * sched_by_name() - the class of a name, of those that a policy may have
 * @name: the name
 * @sched: KVNET_SCHED_*, set if true is returned
 *
 * Return: is there one?
 */
bool sched_by_name(const char *name, uint32_t *sched)
{
	for (*sched = KVNET_SCHED_OTHER; *sched <= KVNET_SCHED_IDLE; (*sched)++)
		if (scheds[*sched] && !strcmp(name, scheds[*sched]))
			return true;
	return false;
}

/**
 * name_queue() - of a queue by its index
 * @index: in the device
 *
 * Return: "rx", to the guest; "tx", from the guest.
 */
const char *name_queue(uint32_t index)
{
	static const char * const names[] = { "rx", "tx" };

	return NAME(names, index);
}

/**
 * name_feature() - of a feature bit of virtio-net
 * @bit: the bit
 *
 * Return: its name in the specification without VIRTIO_NET_F_ and the like; NULL
 * if it has none.
 */
const char *name_feature(unsigned int bit)
{
	return bit < ARRAY_SIZE(features) ? features[bit] : NULL;
}

/**
 * name_errno() - of an error
 * @err: positive
 *
 * Return: as in errno.h.
 */
const char *name_errno(unsigned int err)
{
	const char *name = strerrorname_np(err);

	return name ? name : "unknown";
}
