/* SPDX-License-Identifier: GPL-2.0 */
/*
 * miss.h - what the queues ask of the VMM's IOMMU
 *
 * A queue that meets an address which the IOTLB does not know stops there and
 * asks for it. So there is never more than one question of a queue. It is asked
 * again only if the driver kicks long after.
 */
#ifndef _KVNET_MISS_H
#define _KVNET_MISS_H

#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#define KVNET_MISS_QUEUES	2

/**
 * enum kvnet_miss_state - how far a question has come
 * @KVNET_MISS_NONE: nothing is asked
 * @KVNET_MISS_WAITS: to be read by the VMM
 * @KVNET_MISS_READ: read, not answered
 */
enum kvnet_miss_state {
	KVNET_MISS_NONE,
	KVNET_MISS_WAITS,
	KVNET_MISS_READ,
};

/**
 * struct kvnet_miss - a queue's question
 * @state: how far it has come
 * @perm: access wanted, VHOST_ACCESS_*
 * @read_at: in jiffies, when it was read
 * @iova: I/O virtual address
 */
struct kvnet_miss {
	enum kvnet_miss_state state;
	u8 perm;
	unsigned long read_at;
	u64 iova;
};

/**
 * struct kvnet_misses - the questions of a device's queues
 * @lock: protects the others but @wait; innermost
 * @wait: who reads
 * @on: there is an IOMMU to ask
 * @v2: the VMM wants messages of version 2
 * @q: by queue
 */
struct kvnet_misses {
	spinlock_t lock;
	wait_queue_head_t wait;
	bool on;
	bool v2;
	struct kvnet_miss q[KVNET_MISS_QUEUES];
};

void kvnet_misses_init(struct kvnet_misses *m);
void kvnet_misses_set(struct kvnet_misses *m, bool on);
void kvnet_miss_report(struct kvnet_misses *m, unsigned int queue, u64 iova,
		       u8 perm);
void kvnet_miss_repeat(struct kvnet_misses *m, unsigned int queue);
void kvnet_miss_cancel(struct kvnet_misses *m, unsigned int queue);
unsigned long kvnet_miss_answer(struct kvnet_misses *m, u64 iova, u64 last);
int kvnet_miss_take(struct kvnet_misses *m, struct kvnet_miss *miss);
void kvnet_miss_untake(struct kvnet_misses *m, const struct kvnet_miss *miss);
bool kvnet_miss_waits(struct kvnet_misses *m);

#endif /* _KVNET_MISS_H */
