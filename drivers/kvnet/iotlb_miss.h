/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iotlb_miss.h - what the queues ask of the VMM's IOMMU
 *
 * A queue that meets an address which the IOTLB does not know stops there and
 * asks for it. So there is never more than one question of a queue. It is asked
 * again only if the driver kicks long after.
 */
#ifndef _KVNET_IOTLB_MISS_H
#define _KVNET_IOTLB_MISS_H

#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#define KVNET_IOTLB_MISS_QUEUES	2

/**
 * enum kvnet_iotlb_miss_state - how far a question has come
 * @KVNET_IOTLB_MISS_NONE: nothing is asked
 * @KVNET_IOTLB_MISS_QUEUED: to be read by the VMM
 * @KVNET_IOTLB_MISS_PENDING: read, not answered
 */
enum kvnet_iotlb_miss_state {
	KVNET_IOTLB_MISS_NONE,
	KVNET_IOTLB_MISS_QUEUED,
	KVNET_IOTLB_MISS_PENDING,
};

/**
 * struct kvnet_iotlb_miss - a queue's question
 * @state: how far it has come
 * @perm: access wanted, VHOST_ACCESS_*
 * @read_at: in jiffies, when it was read
 * @iova: I/O virtual address
 */
struct kvnet_iotlb_miss {
	enum kvnet_iotlb_miss_state state;
	u8 perm;
	unsigned long read_at;
	u64 iova;
};

/**
 * struct kvnet_iotlb_misses - the questions of a device's queues
 * @lock: protects the others but @wait; innermost
 * @wait: who reads
 * @enabled: there is an IOMMU to ask
 * @v2: the VMM wants messages of version 2
 * @q: by queue
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
void kvnet_iotlb_miss_retry(struct kvnet_iotlb_misses *m, unsigned int queue);
void kvnet_iotlb_miss_cancel(struct kvnet_iotlb_misses *m, unsigned int queue);
unsigned long kvnet_iotlb_miss_resolve(struct kvnet_iotlb_misses *m, u64 iova, u64 last);
int kvnet_iotlb_miss_dequeue(struct kvnet_iotlb_misses *m, struct kvnet_iotlb_miss *miss);
void kvnet_iotlb_miss_requeue(struct kvnet_iotlb_misses *m, const struct kvnet_iotlb_miss *miss);
bool kvnet_iotlb_miss_is_queued(struct kvnet_iotlb_misses *m);

#endif /* _KVNET_IOTLB_MISS_H */
