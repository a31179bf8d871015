// SPDX-License-Identifier: GPL-2.0
/*
 * doctor_device.c - devices, by their states and counters
 */
#include "doctor.h"
#include "host.h"
#include "names.h"
#include "text.h"
#include "write.h"

#include <stdlib.h>
#include <string.h>

#define CHECK	"device"

/* the soft limit of locked memory, in bytes */
static bool read_memlock_limit(pid_t pid, unsigned long long *bytes)
{
	char *limits = host_read("/proc/%d/limits", pid), *line, *end;
	bool ok;

	line = limits ? strstr(limits, "Max locked memory") : NULL;
	if (!line) {
		free(limits);
		return false;
	}
	line += strlen("Max locked memory");
	*bytes = strtoull(line, &end, 10);
	ok = end != line;
	free(limits);
	return ok;
}

static void check_access(struct doctor *d, const struct kvnet_device *dev,
			 const struct kvnet_queue *q, const char *label)
{
	char *pin = host_line("/sys/module/kvnet/parameters/pin_rings");
	unsigned long long bytes;

	if (q->access != KVNET_RING_ACCESS_USER || (pin && *pin == 'N')) {
		free(pin);
		return;
	}
	free(pin);
	if (HAS(dev, KVNET_A_DEV_OWNER_PID) && read_memlock_limit(dev->pid, &bytes))
		finding(d, GRADE_NOTE, CHECK,
			"ulimit -l 65536, or systemd's LimitMEMLOCK=64M for the service that starts VMMs (libvirtd or virtqemud, too), and start the VMM again; memory in a file on a disk, share=on, is never pinned",
			"%s: its ring is not pinned, and slower: process %u may lock %llu kB of memory", label,
			dev->pid, bytes >> 10);
	else
		finding(d, GRADE_NOTE, CHECK, "raise RLIMIT_MEMLOCK of the VMM",
			"%s: its ring is not pinned, and slower", label);
}

/* drops by reason; each counter has its line in debugging.rst */
static void check_drops(struct doctor *d, const struct kvnet_queue *q, const char *label)
{
	static const struct {
		const char *name, *what, *todo;
	} drops[] = {
		{ "drop_oversize", "frames longer than the guest's buffers",
		  "make the MTUs of guest and tap the same" },
		{ "drop_tap", "packets that the tap refused",
		  "RX: vnet_hdr of tap and VMM differ; TX: is the tap's interface gone, or down?" },
		{ "drop_header", "packets with an invalid header",
		  "check the guest's driver" },
		{ "drop_fault", "packets in guest memory that is not accessible",
		  "check the VMM's log: its memory table is wrong" },
		{ "drop_short", "packets shorter than an Ethernet header", "check the guest's driver" },
		{ "drop_long", "packets of more than 512 KiB", "check the guest's driver" },
	};
	unsigned long long n;
	unsigned int i;

	for (i = 0; i < sizeof(drops) / sizeof(drops[0]); i++) {
		n = kvnet_counter_value(q, drops[i].name);
		if (n)
			finding(d, GRADE_NOTE, CHECK, drops[i].todo, "%s: dropped %llu %s", label, n,
				drops[i].what);
	}
}

static void check_counters(struct doctor *d, const struct kvnet_queue *q, const char *label)
{
	uint64_t packets = kvnet_counter_value(q, "packets");

	if (packets > 1000 && kvnet_counter_value(q, "packets_unbatched") > packets / 2 &&
	    kvnet_counter_value(q, "polls_inline") < packets / 4)
		finding(d, GRADE_NOTE, CHECK, "an unlimited sndbuf (QEMU: no sndbuf=)",
			"%s: most packets are sent to the tap one by one, not in batches", label);
	if (packets > 1000 && kvnet_counter_value(q, "iotlb_misses") > packets / 50)
		finding(d, GRADE_NOTE, CHECK, "in the guest: iommu.strict=0 or iommu=pt; here: max_iotlb_entries",
			"%s: stopped by IOTLB misses for every 50th packet or more", label);
	if (kvnet_counter_value(q, "polls") > 1000 &&
	    kvnet_counter_value(q, "budget_exhausted") > kvnet_counter_value(q, "polls") / 2)
		finding(d, GRADE_NOTE, CHECK, "more queue pairs, or CPUs of its own: kvnetctl set TAP cpus LIST",
			"%s: saturated: most polls use up their budget", label);
}

static void check_queue(struct doctor *d, const struct kvnet_device *dev,
			const struct kvnet_queue *q)
{
	char *device = device_text(dev, " "), *label = text_format("%s, %s", device, name_queue(q->index));

	if (q->state == KVNET_QUEUE_STATE_BROKEN)
		finding(d, GRADE_BAD, CHECK, "reset the device in the guest, or restart the VMM",
			"%s: broken (%s): the guest or the VMM violated the virtio specification", label,
			HAS(q, KVNET_A_QUEUE_ERROR) ? name_errno(q->error) : "unknown");
	if (q->state == KVNET_QUEUE_STATE_WAITING)
		finding(d, GRADE_NOTE, CHECK, "if it stays so: the VMM hangs, or its vIOMMU does not map what the guest uses",
			"%s: waits for an IOTLB update from the VMM", label);
	if (q->state == KVNET_QUEUE_STATE_RUNNING)
		check_access(d, dev, q, label);
	check_drops(d, q, label);
	check_counters(d, q, label);
	free(label);
	free(device);
}

/**
 * doctor_devices() - check devices
 * @d: the examination
 * @all: these
 */
void doctor_devices(struct doctor *d, const struct kvnet_devices *all)
{
	const struct kvnet_device *dev;
	unsigned int i, j, before;
	char *device;

	if (!all->n)
		finding(d, GRADE_NOTE, CHECK, "is the VMM in another network namespace? nsenter -t PID -n kvnetctl doctor",
			"no device is in use in this network namespace");
	for (i = 0; i < all->n; i++) {
		dev = &all->dev[i];
		before = d->count[GRADE_NOTE] + d->count[GRADE_BAD];
		if (HAS(dev, KVNET_A_DEV_OWNER_DEAD))
			finding(d, GRADE_NOTE, CHECK, "find that process: fuser -v /dev/kvnet",
				"device %u: its VMM is dead, but another process holds it open", dev->id);
		for (j = 0; j < dev->queues; j++)
			check_queue(d, dev, &dev->queue[j]);
		device = device_text(dev, " ");
		if (before == d->count[GRADE_NOTE] + d->count[GRADE_BAD])
			finding(d, GRADE_OK, CHECK, NULL, "%s: process %u (%s)", device, dev->pid,
				dev->command ? dev->command : "?");
		free(device);
	}
}
