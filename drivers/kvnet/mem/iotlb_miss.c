// SPDX-License-Identifier: GPL-2.0
/*
 * iotlb_miss.c - IOTLB misses, see iotlb_miss.h
 */
#include "iotlb_miss.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>

/* A batch that the VMM has not read or answered on for this long, in jiffies, is retried. */
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
void kvnet_iotlb_miss_wake_readers(struct kvnet_iotlb_misses *m)
{
	wake_up_interruptible(&m->wait);
}

static void drop_batch(struct kvnet_iotlb_miss_batch *b)
{
	b->n = 0;
	b->n_unanswered = 0;
	b->next = 0;
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
		drop_batch(&m->batch[i]);
	spin_unlock(&m->lock);
	/* Without an IOTLB read() returns -EBADFD. */
	kvnet_iotlb_miss_wake_readers(m);
}

/*
 * The lock of the queue, which waits: adds a miss to its batch, unless the one before it is of
 * the same page. The caller wakes the readers when it has added all. @perm: access needed,
 * VHOST_ACCESS_*. False: the batch is full.
 */
bool kvnet_iotlb_miss_add(struct kvnet_iotlb_misses *m, unsigned int queue, u64 iova, u8 perm)
{
	const u64 page = iova / KVNET_IOTLB_MISS_PAGE;
	struct kvnet_iotlb_miss_batch *b = &m->batch[queue];
	bool ret = true;

	spin_lock(&m->lock);
	if (b->n == KVNET_IOTLB_MISS_MAX) {
		ret = false;
	} else if (!b->n || b->miss[b->n - 1].iova / KVNET_IOTLB_MISS_PAGE != page) {
		b->miss[b->n++] = (struct kvnet_iotlb_miss) { KVNET_IOTLB_MISS_QUEUED, perm, iova };
		b->n_unanswered++;
		b->since = jiffies;
	}
	spin_unlock(&m->lock);
	return ret;
}

/*
 * The lock of the queue, which waits. If the VMM has neither read nor answered for a while: true
 * if the miss that stopped the queue is answered, so that the queue can go on without the rest,
 * which is dropped; else misses that the VMM has read are queued again, as it may be able by now
 * to answer one.
 */
bool kvnet_iotlb_miss_retry(struct kvnet_iotlb_misses *m, unsigned int queue)
{
	struct kvnet_iotlb_miss_batch *b = &m->batch[queue];
	bool ret = false;
	unsigned int i;

	spin_lock(&m->lock);
	if (time_after(jiffies, b->since + MISS_RETRY_AFTER)) {
		ret = b->n && b->miss[0].state == KVNET_IOTLB_MISS_ANSWERED;
		for (i = 0; i < b->n; i++)
			if (b->miss[i].state == KVNET_IOTLB_MISS_PENDING)
				b->miss[i].state = KVNET_IOTLB_MISS_QUEUED;
		b->next = 0;
	}
	if (ret)
		drop_batch(b);
	spin_unlock(&m->lock);
	if (!ret)
		kvnet_iotlb_miss_wake_readers(m);
	return ret;
}

/* The lock of the queue, which does not wait for an answer any more. */
void kvnet_iotlb_miss_cancel(struct kvnet_iotlb_misses *m, unsigned int queue)
{
	spin_lock(&m->lock);
	drop_batch(&m->batch[queue]);
	spin_unlock(&m->lock);
}

/* Returns true if this answers the last misses of the batch. */
static bool resolve_batch(struct kvnet_iotlb_miss_batch *b, u64 iova, u64 last)
{
	struct kvnet_iotlb_miss *miss;

	if (!b->n_unanswered)
		return false;
	for (miss = b->miss; miss < b->miss + b->n; miss++) {
		if (miss->iova - iova > last - iova || miss->state == KVNET_IOTLB_MISS_ANSWERED)
			continue;
		miss->state = KVNET_IOTLB_MISS_ANSWERED;
		b->n_unanswered--;
		b->since = jiffies;
	}
	return !b->n_unanswered;
}

/*
 * The locks of all queues. The VMM has translated @iova to @last, inclusive. Returns a bitmap of
 * the queues that have no miss left, read by the VMM or not, and had one.
 */
unsigned long kvnet_iotlb_miss_resolve(struct kvnet_iotlb_misses *m, u64 iova, u64 last)
{
	unsigned long answered = 0;
	unsigned int i;

	spin_lock(&m->lock);
	for (i = 0; i < KVNET_IOTLB_MISS_QUEUES; i++) {
		if (!resolve_batch(&m->batch[i], iova, last))
			continue;
		answered |= BIT(i);
		/* Also if the VMM has not read the last ones: an answer may cover several. */
		m->turn = i + 1;
	}
	spin_unlock(&m->lock);
	return answered;
}

/*
 * A batch with a queued miss, its next one; or NULL. Batch by batch: a queue waits for at most
 * one batch of the other.
 */
static struct kvnet_iotlb_miss_batch *find_queued_miss(struct kvnet_iotlb_misses *m)
{
	struct kvnet_iotlb_miss_batch *b;
	unsigned int i;

	for (i = 0; i < KVNET_IOTLB_MISS_QUEUES; i++) {
		b = &m->batch[(m->turn + i) % KVNET_IOTLB_MISS_QUEUES];
		while (b->next < b->n && b->miss[b->next].state != KVNET_IOTLB_MISS_QUEUED)
			b->next++;
		if (b->next < b->n)
			return b;
	}
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
	struct kvnet_iotlb_miss_batch *b;
	int ret;

	spin_lock(&m->lock);
	ret = m->enabled ? -EAGAIN : -EBADFD;
	b = find_queued_miss(m);
	if (b) {
		*miss = b->miss[b->next];
		b->miss[b->next++].state = KVNET_IOTLB_MISS_PENDING;
		b->since = jiffies;
		m->turn = b - m->batch + (b->next == b->n);
		ret = 0;
	}
	spin_unlock(&m->lock);
	return ret;
}
