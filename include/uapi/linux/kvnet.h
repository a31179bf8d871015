/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/kvnet.yaml */
/* YNL-GEN uapi header */

#ifndef _UAPI_LINUX_KVNET_H
#define _UAPI_LINUX_KVNET_H

#define KVNET_FAMILY_NAME	"kvnet"
#define KVNET_FAMILY_VERSION	1

/**
 * enum kvnet_queue_state - State of a queue.
 * @KVNET_QUEUE_STATE_STOPPED: The queue has no backend.
 * @KVNET_QUEUE_STATE_RUNNING: The queue forwards packets.
 * @KVNET_QUEUE_STATE_BROKEN: The guest or the VMM violated the virtio
 *   specification, or the owner is dead; attribute error has the reason.
 * @KVNET_QUEUE_STATE_WAITING: The queue waits for an IOTLB update from the
 *   VMM, or, after ACCESS_PLATFORM has changed, for SET_VRING_ADDR.
 */
enum kvnet_queue_state {
	KVNET_QUEUE_STATE_STOPPED,
	KVNET_QUEUE_STATE_RUNNING,
	KVNET_QUEUE_STATE_BROKEN,
	KVNET_QUEUE_STATE_WAITING,
};

/**
 * enum kvnet_ring_layout - Format of the rings.
 */
enum kvnet_ring_layout {
	KVNET_RING_LAYOUT_SPLIT,
	KVNET_RING_LAYOUT_PACKED,
};

/**
 * enum kvnet_ring_access - How the kernel accesses the queue's ring.
 * @KVNET_RING_ACCESS_USER: By user accesses, at the owner's addresses.
 * @KVNET_RING_ACCESS_PINNED: By a kernel mapping of its pinned pages.
 */
enum kvnet_ring_access {
	KVNET_RING_ACCESS_USER,
	KVNET_RING_ACCESS_PINNED,
};

/**
 * enum kvnet_backend - Source or destination of a queue's packets.
 * @KVNET_BACKEND_TAP: A queue of a tun or tap.
 * @KVNET_BACKEND_MACVTAP: A queue of a macvtap or ipvtap.
 * @KVNET_BACKEND_PACKET: A packet socket.
 */
enum kvnet_backend {
	KVNET_BACKEND_NONE,
	KVNET_BACKEND_TAP,
	KVNET_BACKEND_MACVTAP,
	KVNET_BACKEND_PACKET,
};

/**
 * enum kvnet_shortcut - State of the short cut to another tap of the bridge,
 *   as the last batch by direct TX found it.
 * @KVNET_SHORTCUT_IDLE: There was no batch yet.
 * @KVNET_SHORTCUT_ACTIVE: Frames go straight to the other tap.
 * @KVNET_SHORTCUT_OFF: Policy shortcut is 0.
 * @KVNET_SHORTCUT_NO_BRIDGE: The tap is no port of a Linux bridge.
 * @KVNET_SHORTCUT_BRIDGE: The bridge is down or promiscuous.
 * @KVNET_SHORTCUT_CAPTURE: Packets are captured on one of the taps.
 * @KVNET_SHORTCUT_FILTER: An nft or tc hook, or a generic XDP program, is on
 *   the way.
 * @KVNET_SHORTCUT_PORT: The bridge filters VLANs, or has not learned the
 *   destination behind a tap that is up and has one queue, or the frame is of
 *   a kind that only the bridge handles, as ARP and multicast.
 * @KVNET_SHORTCUT_QDISC: The qdisc of the other tap must not be bypassed, or
 *   is not empty.
 */
enum kvnet_shortcut {
	KVNET_SHORTCUT_IDLE,
	KVNET_SHORTCUT_ACTIVE,
	KVNET_SHORTCUT_OFF,
	KVNET_SHORTCUT_NO_BRIDGE,
	KVNET_SHORTCUT_BRIDGE,
	KVNET_SHORTCUT_CAPTURE,
	KVNET_SHORTCUT_FILTER,
	KVNET_SHORTCUT_PORT,
	KVNET_SHORTCUT_QDISC,
};

/**
 * enum kvnet_worker_kind - What kind of thread a worker is.
 * @KVNET_WORKER_KIND_KTHREAD: A kernel thread, in the owner's cgroups.
 * @KVNET_WORKER_KIND_TASK: A thread of the owner's process.
 */
enum kvnet_worker_kind {
	KVNET_WORKER_KIND_KTHREAD,
	KVNET_WORKER_KIND_TASK,
};

/**
 * enum kvnet_sched - Scheduling class, numbered as SCHED_* of <linux/sched.h>.
 * @KVNET_SCHED_ISO: Number reserved by Linux, not used.
 */
enum kvnet_sched {
	KVNET_SCHED_OTHER,
	KVNET_SCHED_FIFO,
	KVNET_SCHED_RR,
	KVNET_SCHED_BATCH,
	KVNET_SCHED_ISO,
	KVNET_SCHED_IDLE,
	KVNET_SCHED_DEADLINE,
	KVNET_SCHED_EXT,
};

enum {
	KVNET_A_DEV_ID = 1,
	KVNET_A_DEV_PAD,
	KVNET_A_DEV_OWNER_PID,
	KVNET_A_DEV_OWNER_COMM,
	KVNET_A_DEV_OWNER_DEAD,
	KVNET_A_DEV_CGROUP_ID,
	KVNET_A_DEV_CGROUP,
	KVNET_A_DEV_NETNS_INUM,
	KVNET_A_DEV_NETNS_COOKIE,
	KVNET_A_DEV_IFNAME,
	KVNET_A_DEV_IFINDEX,
	KVNET_A_DEV_BACKEND_NETNS_INUM,
	KVNET_A_DEV_BACKEND_NETNS_COOKIE,
	KVNET_A_DEV_FEATURES,
	KVNET_A_DEV_FEATURES_OFFERED,
	KVNET_A_DEV_LAYOUT,
	KVNET_A_DEV_IN_ORDER,
	KVNET_A_DEV_QUEUES,
	KVNET_A_DEV_WORKERS,
	KVNET_A_DEV_POLICY,
	KVNET_A_DEV_MEMORY_NODE,

	__KVNET_A_DEV_MAX,
	KVNET_A_DEV_MAX = (__KVNET_A_DEV_MAX - 1)
};

enum {
	KVNET_A_POLICY_POLL_US = 1,
	KVNET_A_POLICY_TX_INLINE,
	KVNET_A_POLICY_RX_DIRECT,
	KVNET_A_POLICY_RX_INLINE,
	KVNET_A_POLICY_SHORTCUT,

	__KVNET_A_POLICY_MAX,
	KVNET_A_POLICY_MAX = (__KVNET_A_POLICY_MAX - 1)
};

enum {
	KVNET_A_COUNTER_PAD = 1,
	KVNET_A_COUNTER_NAME,
	KVNET_A_COUNTER_VALUE,

	__KVNET_A_COUNTER_MAX,
	KVNET_A_COUNTER_MAX = (__KVNET_A_COUNTER_MAX - 1)
};

enum {
	KVNET_A_HISTOGRAM_PAD = 1,
	KVNET_A_HISTOGRAM_NAME,
	KVNET_A_HISTOGRAM_SUM,
	KVNET_A_HISTOGRAM_BUCKETS,

	__KVNET_A_HISTOGRAM_MAX,
	KVNET_A_HISTOGRAM_MAX = (__KVNET_A_HISTOGRAM_MAX - 1)
};

enum {
	KVNET_A_QUEUE_DEV = 1,
	KVNET_A_QUEUE_PAD,
	KVNET_A_QUEUE_INDEX,
	KVNET_A_QUEUE_STATE,
	KVNET_A_QUEUE_ERROR,
	KVNET_A_QUEUE_SIZE,
	KVNET_A_QUEUE_AVAIL,
	KVNET_A_QUEUE_USED,
	KVNET_A_QUEUE_ACCESS,
	KVNET_A_QUEUE_BACKEND,
	KVNET_A_QUEUE_BACKLOG,
	KVNET_A_QUEUE_WORKER,
	KVNET_A_QUEUE_KICKS,
	KVNET_A_QUEUE_WAKEUPS,
	KVNET_A_QUEUE_COUNTERS,
	KVNET_A_QUEUE_HISTOGRAMS,
	KVNET_A_QUEUE_SHORTCUT,
	KVNET_A_QUEUE_SHORTCUT_IFINDEX,

	__KVNET_A_QUEUE_MAX,
	KVNET_A_QUEUE_MAX = (__KVNET_A_QUEUE_MAX - 1)
};

enum {
	KVNET_A_WORKER_DEV = 1,
	KVNET_A_WORKER_PAD,
	KVNET_A_WORKER_INDEX,
	KVNET_A_WORKER_TID,
	KVNET_A_WORKER_KIND,
	KVNET_A_WORKER_CPUS,
	KVNET_A_WORKER_CPU,
	KVNET_A_WORKER_NODE,
	KVNET_A_WORKER_NICE,
	KVNET_A_WORKER_SCHED,
	KVNET_A_WORKER_RT_PRIORITY,
	KVNET_A_WORKER_QUEUES,
	KVNET_A_WORKER_RUN_NS,
	KVNET_A_WORKER_POLL_NS,
	KVNET_A_WORKER_POLL_MAX_NS,

	__KVNET_A_WORKER_MAX,
	KVNET_A_WORKER_MAX = (__KVNET_A_WORKER_MAX - 1)
};

enum {
	KVNET_CMD_DEV_GET = 1,
	KVNET_CMD_DEV_SET,
	KVNET_CMD_QUEUE_GET,
	KVNET_CMD_WORKER_GET,
	KVNET_CMD_DEV_ADD_NTF,
	KVNET_CMD_DEV_DEL_NTF,
	KVNET_CMD_QUEUE_START_NTF,
	KVNET_CMD_QUEUE_STOP_NTF,
	KVNET_CMD_QUEUE_BROKEN_NTF,
	KVNET_CMD_WORKERS_START_NTF,

	__KVNET_CMD_MAX,
	KVNET_CMD_MAX = (__KVNET_CMD_MAX - 1)
};

#define KVNET_MCGRP_EVENTS	"events"

#endif /* _UAPI_LINUX_KVNET_H */
