// SPDX-License-Identifier: GPL-2.0
/*
 * miss.c - IOTLB misses, see miss.h
 */
#include "miss.h"

#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>

/* A question that has not been answered for so long may be asked again. */
#define PATIENCE	HZ

/**
 * kvnet_misses_init() - before first use
 * @m: the questions, zeroed
 */
void kvnet_misses_init(struct kvnet_misses *m)
{
	spin_lock_init(&m->lock);
	init_waitqueue_head(&m->wait);
}

/**
 * kvnet_misses_set() - there is an IOMMU from now on, or none
 * @m: the questions, all of which are dropped
 * @on: which
 *
 * Context: may sleep.
 */
void kvnet_misses_set(struct kvnet_misses *m, bool on)
{
	unsigned int i;

	spin_lock(&m->lock);
	m->on = on;
	for (i = 0; i < KVNET_MISS_QUEUES; i++)
		m->q[i].state = KVNET_MISS_NONE;
	spin_unlock(&m->lock);
	/* Who waits for questions would wait for ever. */
	wake_up_interruptible(&m->wait);
}

static bool asked(const struct kvnet_misses *m, const struct kvnet_miss *miss,
		  enum kvnet_miss_state state)
{
	unsigned int i;

	for (i = 0; i < KVNET_MISS_QUEUES; i++)
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
static void wake_readers(struct kvnet_misses *m)
{
	wake_up_interruptible(&m->wait);
}

/**
 * kvnet_miss_report() - a queue asks for an address
 * @m: the questions
 * @queue: its number; has no question open
 * @iova: I/O virtual address
 * @perm: access wanted, VHOST_ACCESS_*
 *
 * Context: the lock of the queue.
 */
void kvnet_miss_report(struct kvnet_misses *m, unsigned int queue, u64 iova,
		       u8 perm)
{
	struct kvnet_miss miss = { .iova = iova, .perm = perm };
	bool wake;

	spin_lock(&m->lock);
	/* The answer that another queue waits for will do. */
	wake = !asked(m, &miss, KVNET_MISS_READ);
	miss.state = wake ? KVNET_MISS_WAITS : KVNET_MISS_READ;
	miss.read_at = jiffies;
	m->q[queue] = miss;
	spin_unlock(&m->lock);
	if (wake)
		wake_readers(m);
}

/**
 * kvnet_miss_repeat() - ask again what has not been answered for long
 * @m: the questions
 * @queue: its number
 *
 * Context: the lock of the queue.
 */
void kvnet_miss_repeat(struct kvnet_misses *m, unsigned int queue)
{
	struct kvnet_miss *miss = &m->q[queue];
	bool again;

	spin_lock(&m->lock);
	again = miss->state == KVNET_MISS_READ &&
		time_after(jiffies, miss->read_at + PATIENCE);
	if (again)
		miss->state = KVNET_MISS_WAITS;
	spin_unlock(&m->lock);
	if (again)
		wake_readers(m);
}

/**
 * kvnet_miss_cancel() - a queue does not wait for an answer any more
 * @m: the questions
 * @queue: its number
 *
 * Context: the lock of the queue.
 */
void kvnet_miss_cancel(struct kvnet_misses *m, unsigned int queue)
{
	spin_lock(&m->lock);
	m->q[queue].state = KVNET_MISS_NONE;
	spin_unlock(&m->lock);
}

/**
 * kvnet_miss_answer() - the VMM has told a translation
 * @m: the questions
 * @iova: first address
 * @last: last address
 *
 * Context: the locks of all queues.
 * Return: the queues whose question this answers, by bit.
 */
unsigned long kvnet_miss_answer(struct kvnet_misses *m, u64 iova, u64 last)
{
	unsigned long answered = 0;
	unsigned int i;

	spin_lock(&m->lock);
	for (i = 0; i < KVNET_MISS_QUEUES; i++) {
		if (m->q[i].state == KVNET_MISS_NONE || m->q[i].iova < iova ||
		    m->q[i].iova > last)
			continue;
		m->q[i].state = KVNET_MISS_NONE;
		answered |= BIT(i);
	}
	spin_unlock(&m->lock);
	return answered;
}

/**
 * kvnet_miss_waits() - is there a question to be read?
 * @m: the questions
 *
 * Context: any but interrupts.
 * Return: true if so.
 */
bool kvnet_miss_waits(struct kvnet_misses *m)
{
	bool ret = false;
	unsigned int i;

	spin_lock(&m->lock);
	for (i = 0; i < KVNET_MISS_QUEUES; i++)
		ret |= m->q[i].state == KVNET_MISS_WAITS;
	spin_unlock(&m->lock);
	return ret;
}

/* m->lock. The same question of another queue goes with it. */
static void move(struct kvnet_misses *m, const struct kvnet_miss *miss,
		 enum kvnet_miss_state from, enum kvnet_miss_state to)
{
	struct kvnet_miss *q;

	for (q = m->q; q < m->q + KVNET_MISS_QUEUES; q++) {
		if (q->state == from && q->iova == miss->iova &&
		    q->perm == miss->perm) {
			q->state = to;
			q->read_at = jiffies;
		}
	}
}

/**
 * kvnet_miss_take() - the next question for the VMM
 * @m: the questions
 * @miss: filled in
 *
 * Context: any but interrupts.
 * Return: 0; -EAGAIN if there is none now; -EBADFD if there is no IOMMU.
 */
int kvnet_miss_take(struct kvnet_misses *m, struct kvnet_miss *miss)
{
	unsigned int i;
	int ret;

	spin_lock(&m->lock);
	ret = m->on ? -EAGAIN : -EBADFD;
	for (i = 0; i < KVNET_MISS_QUEUES; i++)
		if (m->q[i].state == KVNET_MISS_WAITS)
			break;
	if (i < KVNET_MISS_QUEUES) {
		*miss = m->q[i];
		move(m, miss, KVNET_MISS_WAITS, KVNET_MISS_READ);
		ret = 0;
	}
	spin_unlock(&m->lock);
	return ret;
}

/**
 * kvnet_miss_untake() - the VMM did not get the question after all
 * @m: the questions
 * @miss: from kvnet_miss_take()
 *
 * Context: any but interrupts.
 */
void kvnet_miss_untake(struct kvnet_misses *m, const struct kvnet_miss *miss)
{
	spin_lock(&m->lock);
	move(m, miss, KVNET_MISS_READ, KVNET_MISS_WAITS);
	spin_unlock(&m->lock);
	wake_readers(m);
}
