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

/* A queue's miss */
struct kvnet_iotlb_miss {
	enum kvnet_iotlb_miss_state state;
	u8 perm;				/* access needed, VHOST_ACCESS_* */
	unsigned long read_at;			/* in jiffies, when it became pending */
	u64 iova;				/* I/O virtual address */
};

/* The misses of a device */
struct kvnet_iotlb_misses {
	/* protects @enabled and @q; innermost, never taken in an interrupt or softirq */
	spinlock_t lock;
	wait_queue_head_t wait;	/* VMM threads in read() or poll() of the device file */
	bool enabled;		/* there is an IOTLB */
	/* the VMM reads messages of version 2; read and written without @lock */
	bool v2;
	struct kvnet_iotlb_miss q[KVNET_IOTLB_MISS_QUEUES];	/* by queue index */
};

void kvnet_iotlb_miss_init(struct kvnet_iotlb_misses *m);
void kvnet_iotlb_miss_reset(struct kvnet_iotlb_misses *m, bool enabled);
void kvnet_iotlb_miss_report(struct kvnet_iotlb_misses *m, unsigned int queue, u64 iova, u8 perm);
void kvnet_iotlb_miss_cancel(struct kvnet_iotlb_misses *m, unsigned int queue);
unsigned long kvnet_iotlb_miss_resolve(struct kvnet_iotlb_misses *m, u64 iova, u64 last);
int kvnet_iotlb_miss_dequeue(struct kvnet_iotlb_misses *m, struct kvnet_iotlb_miss *miss);
bool kvnet_iotlb_miss_is_queued(struct kvnet_iotlb_misses *m);

#endif /* _KVNET_IOTLB_MISS_H */
