/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iotlb_miss.h - IOTLB misses: addresses that queues need and the VMM has to translate
 *
 * A queue stops at the first address without a translation. With it the queue reports the
 * addresses that its next chains lack: its batch. The VMM reads misses one by one from the device
 * file (iommu.c) and answers by VHOST_IOTLB_UPDATE. One wake-up of the VMM and one of the worker
 * are for all of a batch: the queue waits until all of it are answered. If some stay without an
 * answer for a second, it waits for the first only, which is queued again; at the latest by the
 * timer of kvnet_queue_complete_unready().
 */
#ifndef _KVNET_IOTLB_MISS_H
#define _KVNET_IOTLB_MISS_H

#include <linux/poll.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#define KVNET_IOTLB_MISS_QUEUES	2

/* Misses of a batch: a GSO packet has about 20 pages. */
#define KVNET_IOTLB_MISS_MAX	32

/* The smallest page of an IOMMU: one answer is for a page, at least. */
#define KVNET_IOTLB_MISS_PAGE	4096

enum kvnet_iotlb_miss_state {
	KVNET_IOTLB_MISS_ANSWERED,	/* there is a translation */
	KVNET_IOTLB_MISS_QUEUED,	/* to be read by the VMM */
	KVNET_IOTLB_MISS_PENDING,	/* read by the VMM, not answered */
};

struct kvnet_iotlb_miss {
	enum kvnet_iotlb_miss_state state;
	u8 perm;				/* access needed, VHOST_ACCESS_* */
	u64 iova;				/* I/O virtual address */
};

/* What a queue waits for */
struct kvnet_iotlb_miss_batch {
	unsigned int n;			/* entries in @miss */
	unsigned int n_unanswered;	/* of these, queued or pending */
	unsigned int next;		/* none before it is queued */
	unsigned long since;		/* in jiffies, when one was queued, read or answered last */
	struct kvnet_iotlb_miss miss[KVNET_IOTLB_MISS_MAX];	/* the first stopped the queue */
};

/* The misses of a device */
struct kvnet_iotlb_misses {
	/* protects all but @v2; innermost, never taken in an interrupt or softirq */
	spinlock_t lock;
	wait_queue_head_t wait;	/* VMM threads in read() or poll() of the device file */
	bool enabled;		/* there is an IOTLB */
	/* the VMM reads messages of version 2; read and written without @lock */
	bool v2;
	unsigned int turn;	/* the queue whose misses are read next, modulo their number */
	struct kvnet_iotlb_miss_batch batch[KVNET_IOTLB_MISS_QUEUES];	/* by queue index */
};

void kvnet_iotlb_miss_init(struct kvnet_iotlb_misses *m);
void kvnet_iotlb_miss_reset(struct kvnet_iotlb_misses *m, bool enabled);
bool kvnet_iotlb_miss_add(struct kvnet_iotlb_misses *m, unsigned int queue, u64 iova, u8 perm);
void kvnet_iotlb_miss_wake_readers(struct kvnet_iotlb_misses *m);
bool kvnet_iotlb_miss_retry(struct kvnet_iotlb_misses *m, unsigned int queue);
void kvnet_iotlb_miss_cancel(struct kvnet_iotlb_misses *m, unsigned int queue);
unsigned long kvnet_iotlb_miss_resolve(struct kvnet_iotlb_misses *m, u64 iova, u64 last);
int kvnet_iotlb_miss_dequeue(struct kvnet_iotlb_misses *m, struct kvnet_iotlb_miss *miss);
bool kvnet_iotlb_miss_is_queued(struct kvnet_iotlb_misses *m);

#endif /* _KVNET_IOTLB_MISS_H */
