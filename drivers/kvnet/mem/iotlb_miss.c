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
	/* A thread in read() returns -EBADFD without an IOTLB; else it would sleep for ever. */
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
 * Wakes VMM threads in poll() and read(), without poll flags: with flags an aio poll completes
 * inline and may drop the last file reference in the worker, which would then wait for its
 * own exit.
 */
static void wake_miss_readers(struct kvnet_iotlb_misses *m)
{
	wake_up_interruptible(&m->wait);
}

/* The lock of the queue, which has no other miss. @perm: access needed, VHOST_ACCESS_*. */
void kvnet_iotlb_miss_report(struct kvnet_iotlb_misses *m, unsigned int queue, u64 iova,
			     u8 perm)
{
	struct kvnet_iotlb_miss miss = { .iova = iova, .perm = perm };
	bool wake;

	spin_lock(&m->lock);
	/* The VMM has read the same miss of another queue: its answer is for both. */
	wake = !miss_is_known(m, &miss, KVNET_IOTLB_MISS_PENDING);
	miss.state = wake ? KVNET_IOTLB_MISS_QUEUED : KVNET_IOTLB_MISS_PENDING;
	miss.read_at = jiffies;
	m->q[queue] = miss;
	spin_unlock(&m->lock);
	if (wake)
		wake_miss_readers(m);
}

/* The lock of the queue. The VMM may be able by now to answer a miss that it has read. */
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

/* The lock of the queue, which does not wait for an answer any more. */
void kvnet_iotlb_miss_cancel(struct kvnet_iotlb_misses *m, unsigned int queue)
{
	spin_lock(&m->lock);
	m->q[queue].state = KVNET_IOTLB_MISS_NONE;
	spin_unlock(&m->lock);
}

/**
 * kvnet_iotlb_miss_resolve() - drop the misses that an IOTLB update answers
 * @m: the misses of the device
 * @iova: first address of the update
 * @last: last address, inclusive
 *
 * Context: the locks of all queues.
 * Return: bitmap of the queues whose miss is answered.
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

/* m->lock. Also moves the same miss of another queue: the VMM reads it once. */
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
 * kvnet_iotlb_miss_dequeue() - the next miss for the VMM to read, pending from now on
 * @m: the misses of the device
 * @miss: filled in
 *
 * Context: process context; does not sleep.
 * Return: 0; -EAGAIN if none is queued; -EBADFD if there is no IOTLB.
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

/* Undoes kvnet_iotlb_miss_dequeue(): the miss could not be copied to the VMM. */
void kvnet_iotlb_miss_requeue(struct kvnet_iotlb_misses *m, const struct kvnet_iotlb_miss *miss)
{
	spin_lock(&m->lock);
	move_misses(m, miss, KVNET_IOTLB_MISS_PENDING, KVNET_IOTLB_MISS_QUEUED);
	spin_unlock(&m->lock);
	wake_miss_readers(m);
}
