/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iotlb_miss.h - IOTLB misses: addresses that queues need and the VMM has to translate
 *
 * A queue stops at the first address without a translation, so it has at most one miss. The
 * VMM reads misses from the device file (iommu.c) and answers by VHOST_IOTLB_UPDATE. A
 * miss that stays pending is queued again when the queue's work runs, at the latest by the
 * timer of kvnet_queue_complete_unready().
 */
#ifndef _KVNET_IOTLB_MISS_H
#define _KVNET_IOTLB_MISS_H

#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#define KVNET_IOTLB_MISS_QUEUES	2

enum kvnet_iotlb_miss_state {
	KVNET_IOTLB_MISS_NONE,		/* the other members are stale */
	KVNET_IOTLB_MISS_QUEUED,	/* to be read by the VMM */
	KVNET_IOTLB_MISS_PENDING,	/* read by the VMM, not answered */
};

/**
 * struct kvnet_iotlb_miss - a queue's miss
 * @state: progress
 * @perm: access needed, VHOST_ACCESS_*
 * @read_at: in jiffies, when it became pending
 * @iova: I/O virtual address
 */
struct kvnet_iotlb_miss {
	enum kvnet_iotlb_miss_state state;
	u8 perm;
	unsigned long read_at;
	u64 iova;
};

/**
 * struct kvnet_iotlb_misses - the misses of a device
 * @lock: protects @enabled and @q; innermost, never taken in an interrupt or softirq
 * @wait: VMM threads in read() or poll() of the device file
 * @enabled: there is an IOTLB
 * @v2: the VMM reads messages of version 2; read and written without @lock
 * @q: by queue index
 */
struct kvnet_iotlb_misses {
	spinlock_t lock;
	wait_queue_head_t wait;
	bool enabled;
	bool v2;
	struct kvnet_iotlb_miss q[KVNET_IOTLB_MISS_QUEUES];
};

void kvnet_iotlb_miss_init(struct kvnet_iotlb_misses *m);
void kvnet_iotlb_miss_reset(struct kvnet_iotlb_misses *m, bool enabled);
void kvnet_iotlb_miss_report(struct kvnet_iotlb_misses *m, unsigned int queue, u64 iova,
			     u8 perm);
void kvnet_iotlb_miss_cancel(struct kvnet_iotlb_misses *m, unsigned int queue);
unsigned long kvnet_iotlb_miss_resolve(struct kvnet_iotlb_misses *m, u64 iova, u64 last);
int kvnet_iotlb_miss_dequeue(struct kvnet_iotlb_misses *m, struct kvnet_iotlb_miss *miss);
bool kvnet_iotlb_miss_is_queued(struct kvnet_iotlb_misses *m);

#endif /* _KVNET_IOTLB_MISS_H */
