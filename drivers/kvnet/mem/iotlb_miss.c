// SPDX-License-Identifier: GPL-2.0
/*
 * iotlb_miss.c - IOTLB misses, see iotlb_miss.h
 */
#include "iotlb_miss.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>

/* A pending miss without an answer for this long, in jiffies, is queued again. */
#define MISS_RETRY_AFTER	HZ

void kvnet_iotlb_miss_init(struct kvnet_iotlb_misses *m)
{
	spin_lock_init(&m->lock);
	init_waitqueue_head(&m->wait);
}

/*
 * Wakes VMM threads in poll() and read(), without poll flags: with flags an aio poll completes
 * inline and may drop the last file reference in the worker, which would then wait for its
 * own exit.
 */
static void wake_miss_readers(struct kvnet_iotlb_misses *m)
{
	wake_up_interruptible(&m->wait);
}

/*
 * The IOTLB is created (@enabled) or freed: drops all misses. The locks of all queues, or the
 * workers have exited.
 */
void kvnet_iotlb_miss_reset(struct kvnet_iotlb_misses *m, bool enabled)
{
	unsigned int i;

	spin_lock(&m->lock);
	m->enabled = enabled;
	for (i = 0; i < KVNET_IOTLB_MISS_QUEUES; i++)
		m->q[i].state = KVNET_IOTLB_MISS_NONE;
	spin_unlock(&m->lock);
	/* Without an IOTLB read() returns -EBADFD. */
	wake_miss_readers(m);
}

/*
 * The lock of the queue, which reports its miss again while it waits: the VMM may be able by now
 * to answer a miss that it has read. @perm: access needed, VHOST_ACCESS_*.
 */
void kvnet_iotlb_miss_report(struct kvnet_iotlb_misses *m, unsigned int queue, u64 iova, u8 perm)
{
	struct kvnet_iotlb_miss *miss = &m->q[queue];
	bool report;

	spin_lock(&m->lock);
	report = miss->state == KVNET_IOTLB_MISS_NONE ||
		 (miss->state == KVNET_IOTLB_MISS_PENDING &&
		  time_after(jiffies, miss->read_at + MISS_RETRY_AFTER));
	if (report) {
		miss->state = KVNET_IOTLB_MISS_QUEUED;
		miss->perm = perm;
		miss->iova = iova;
	}
	spin_unlock(&m->lock);
	if (report)
		wake_miss_readers(m);
}

/* The lock of the queue, which does not wait for an answer any more. */
void kvnet_iotlb_miss_cancel(struct kvnet_iotlb_misses *m, unsigned int queue)
{
	spin_lock(&m->lock);
	m->q[queue].state = KVNET_IOTLB_MISS_NONE;
	spin_unlock(&m->lock);
}

/*
 * The locks of all queues. The VMM has translated @iova to @last, inclusive. Returns a bitmap of
 * the queues whose miss this answers, read by the VMM or not.
 */
unsigned long kvnet_iotlb_miss_resolve(struct kvnet_iotlb_misses *m, u64 iova, u64 last)
{
	unsigned long answered = 0;
	unsigned int i;

	spin_lock(&m->lock);
	for (i = 0; i < KVNET_IOTLB_MISS_QUEUES; i++) {
		if (m->q[i].state == KVNET_IOTLB_MISS_NONE || m->q[i].iova < iova ||
		    m->q[i].iova > last)
			continue;
		m->q[i].state = KVNET_IOTLB_MISS_NONE;
		answered |= BIT(i);
	}
	spin_unlock(&m->lock);
	return answered;
}

static struct kvnet_iotlb_miss *find_queued_miss(struct kvnet_iotlb_misses *m)
{
	struct kvnet_iotlb_miss *miss;

	for (miss = m->q; miss < m->q + KVNET_IOTLB_MISS_QUEUES; miss++)
		if (miss->state == KVNET_IOTLB_MISS_QUEUED)
			return miss;
	return NULL;
}

bool kvnet_iotlb_miss_is_queued(struct kvnet_iotlb_misses *m)
{
	bool ret;

	spin_lock(&m->lock);
	ret = find_queued_miss(m);
	spin_unlock(&m->lock);
	return ret;
}

/*
 * Copies a queued miss for the VMM to @miss; it is pending from now on. Returns 0; -EAGAIN if
 * none is queued; -EBADFD if there is no IOTLB. Does not sleep.
 */
int kvnet_iotlb_miss_dequeue(struct kvnet_iotlb_misses *m, struct kvnet_iotlb_miss *miss)
{
	struct kvnet_iotlb_miss *queued;
	int ret;

	spin_lock(&m->lock);
	ret = m->enabled ? -EAGAIN : -EBADFD;
	queued = find_queued_miss(m);
	if (queued) {
		queued->state = KVNET_IOTLB_MISS_PENDING;
		queued->read_at = jiffies;
		*miss = *queued;
		ret = 0;
	}
	spin_unlock(&m->lock);
	return ret;
}
