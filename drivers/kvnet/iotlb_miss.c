// SPDX-License-Identifier: GPL-2.0
/*
 * iotlb_miss.c - IOTLB misses, see iotlb_miss.h
 */
#include "iotlb_miss.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>

/* A question that has not been answered for so long may be asked again. */
#define MISS_RETRY_AFTER	HZ

/**
 * kvnet_iotlb_miss_init() - before first use
 * @m: the questions, zeroed
 */
void kvnet_iotlb_miss_init(struct kvnet_iotlb_misses *m)
{
	spin_lock_init(&m->lock);
	init_waitqueue_head(&m->wait);
}

/**
 * kvnet_iotlb_miss_reset() - there is an IOMMU from now on, or none
 * @m: the questions, all of which are dropped
 * @enabled: which
 *
 * Context: may sleep.
 */
void kvnet_iotlb_miss_reset(struct kvnet_iotlb_misses *m, bool enabled)
{
	unsigned int i;

	spin_lock(&m->lock);
	m->enabled = enabled;
	for (i = 0; i < KVNET_IOTLB_MISS_QUEUES; i++)
		m->q[i].state = KVNET_IOTLB_MISS_NONE;
	spin_unlock(&m->lock);
	/* Who waits for questions would wait for ever. */
	wake_up_interruptible(&m->wait);
}

static bool miss_is_known(const struct kvnet_iotlb_misses *m, const struct kvnet_iotlb_miss *miss,
			  enum kvnet_iotlb_miss_state state)
{
	unsigned int i;

	for (i = 0; i < KVNET_IOTLB_MISS_QUEUES; i++)
		if (m->q[i].state == state && m->q[i].iova == miss->iova &&
		    m->q[i].perm == miss->perm)
			return true;
	return false;
}

/*
 * Who waits with poll(), or in read(). What there is is not said: a request of aio's that
 * knows is over at once, by who wakes, and may have the last reference to the file. That is
 * the worker, which would have to wait for its own end.
 */
static void wake_miss_readers(struct kvnet_iotlb_misses *m)
{
	wake_up_interruptible(&m->wait);
}

/**
 * kvnet_iotlb_miss_report() - a queue asks for an address
 * @m: the questions
 * @queue: its number; has no question open
 * @iova: I/O virtual address
 * @perm: access wanted, VHOST_ACCESS_*
 *
 * Context: the lock of the queue.
 */
void kvnet_iotlb_miss_report(struct kvnet_iotlb_misses *m, unsigned int queue, u64 iova,
			     u8 perm)
{
	struct kvnet_iotlb_miss miss = { .iova = iova, .perm = perm };
	bool wake;

	spin_lock(&m->lock);
	/* The answer that another queue waits for will do. */
	wake = !miss_is_known(m, &miss, KVNET_IOTLB_MISS_PENDING);
	miss.state = wake ? KVNET_IOTLB_MISS_QUEUED : KVNET_IOTLB_MISS_PENDING;
	miss.read_at = jiffies;
	m->q[queue] = miss;
	spin_unlock(&m->lock);
	if (wake)
		wake_miss_readers(m);
}

/**
 * kvnet_iotlb_miss_retry() - ask again what has not been answered for long
 * @m: the questions
 * @queue: its number
 *
 * Context: the lock of the queue.
 */
void kvnet_iotlb_miss_retry(struct kvnet_iotlb_misses *m, unsigned int queue)
{
	struct kvnet_iotlb_miss *miss = &m->q[queue];
	bool retry;

	spin_lock(&m->lock);
	retry = miss->state == KVNET_IOTLB_MISS_PENDING &&
		time_after(jiffies, miss->read_at + MISS_RETRY_AFTER);
	if (retry)
		miss->state = KVNET_IOTLB_MISS_QUEUED;
	spin_unlock(&m->lock);
	if (retry)
		wake_miss_readers(m);
}

/**
 * kvnet_iotlb_miss_cancel() - a queue does not wait for an answer any more
 * @m: the questions
 * @queue: its number
 *
 * Context: the lock of the queue.
 */
void kvnet_iotlb_miss_cancel(struct kvnet_iotlb_misses *m, unsigned int queue)
{
	spin_lock(&m->lock);
	m->q[queue].state = KVNET_IOTLB_MISS_NONE;
	spin_unlock(&m->lock);
}

/**
 * kvnet_iotlb_miss_resolve() - the VMM has told a translation
 * @m: the questions
 * @iova: first address
 * @last: last address
 *
 * Context: the locks of all queues.
 * Return: the queues whose question this answers, by bit.
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

/**
 * kvnet_iotlb_miss_is_queued() - is there a question to be read?
 * @m: the questions
 *
 * Context: any but interrupts.
 * Return: true if so.
 */
bool kvnet_iotlb_miss_is_queued(struct kvnet_iotlb_misses *m)
{
	bool ret = false;
	unsigned int i;

	spin_lock(&m->lock);
	for (i = 0; i < KVNET_IOTLB_MISS_QUEUES; i++)
		ret |= m->q[i].state == KVNET_IOTLB_MISS_QUEUED;
	spin_unlock(&m->lock);
	return ret;
}

/* m->lock. The same question of another queue goes with it. */
static void move_misses(struct kvnet_iotlb_misses *m, const struct kvnet_iotlb_miss *miss,
			enum kvnet_iotlb_miss_state from, enum kvnet_iotlb_miss_state to)
{
	struct kvnet_iotlb_miss *q;

	for (q = m->q; q < m->q + KVNET_IOTLB_MISS_QUEUES; q++) {
		if (q->state == from && q->iova == miss->iova &&
		    q->perm == miss->perm) {
			q->state = to;
			q->read_at = jiffies;
		}
	}
}

/**
 * kvnet_iotlb_miss_dequeue() - the next question for the VMM
 * @m: the questions
 * @miss: filled in
 *
 * Context: any but interrupts.
 * Return: 0; -EAGAIN if there is none now; -EBADFD if there is no IOMMU.
 */
int kvnet_iotlb_miss_dequeue(struct kvnet_iotlb_misses *m, struct kvnet_iotlb_miss *miss)
{
	unsigned int i;
	int ret;

	spin_lock(&m->lock);
	ret = m->enabled ? -EAGAIN : -EBADFD;
	for (i = 0; i < KVNET_IOTLB_MISS_QUEUES; i++)
		if (m->q[i].state == KVNET_IOTLB_MISS_QUEUED)
			break;
	if (i < KVNET_IOTLB_MISS_QUEUES) {
		*miss = m->q[i];
		move_misses(m, miss, KVNET_IOTLB_MISS_QUEUED, KVNET_IOTLB_MISS_PENDING);
		ret = 0;
	}
	spin_unlock(&m->lock);
	return ret;
}

/**
 * kvnet_iotlb_miss_requeue() - the VMM did not get the question after all
 * @m: the questions
 * @miss: from kvnet_iotlb_miss_dequeue()
 *
 * Context: any but interrupts.
 */
void kvnet_iotlb_miss_requeue(struct kvnet_iotlb_misses *m, const struct kvnet_iotlb_miss *miss)
{
	spin_lock(&m->lock);
	move_misses(m, miss, KVNET_IOTLB_MISS_PENDING, KVNET_IOTLB_MISS_QUEUED);
	spin_unlock(&m->lock);
	wake_miss_readers(m);
}
