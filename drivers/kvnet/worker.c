// SPDX-License-Identifier: GPL-2.0
/*
 * worker.c - the worker thread, see worker.h
 */
#include "worker.h"

#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>

#include "trace.h"

/**
 * kvnet_source_wake() - an event: put the source on its worker's list
 * @src: the source
 * @event: one KVNET_EV_*
 *
 * An event that the source has not armed is dropped: whoever armed looked
 * once more afterwards. With kvnet_source_expect() this makes pair E of
 * Documentation/ordering.rst.
 *
 * Context: any, also with interrupts off.
 */
void kvnet_source_wake(struct kvnet_source *src, unsigned int event)
{
	struct kvnet_worker *w = src->worker;

	if (event == KVNET_EV_KICK)
		atomic_long_inc(&src->kicks);
	if (event != KVNET_EV_CTRL) {
		/* E: what the event is about, before the wish for it. */
		smp_mb();
		if (!(READ_ONCE(src->armed) & event))
			return;
	}
	/* Full barrier; pairs with the thread's set_current_state(). */
	if (test_and_set_bit(src->bit, &w->ready))
		return;
	atomic_long_inc(&src->wakes);
	trace_kvnet_wake(w->owner, src->bit, event);
	kvnet_thread_wake(&w->thread);
}

/**
 * kvnet_source_expect() - choose the events that wake a source
 * @src: the source
 * @events: KVNET_EV_* bits; the caller looks for work after this
 *
 * Context: the worker thread, from &kvnet_source_ops.arm.
 */
void kvnet_source_expect(struct kvnet_source *src, unsigned int events)
{
	WRITE_ONCE(src->armed, events);
	/* E: the wish before the second look. */
	smp_mb();
}

static struct kvnet_source *first_source(struct kvnet_worker *w,
					 unsigned long *set)
{
	unsigned int bit = __ffs(*set);

	*set &= ~BIT(bit);
	return w->source[bit];
}

/* One turn for each source in @active. Returns those that want another. */
static unsigned long run_round(struct kvnet_worker *w, unsigned long active,
			       unsigned long *idle)
{
	unsigned long again = 0;
	struct kvnet_source *src;
	enum kvnet_verdict verdict;

	while (active) {
		src = first_source(w, &active);
		WRITE_ONCE(src->armed, 0);
		*idle &= ~BIT(src->bit);

		verdict = src->ops->run(src);
		trace_kvnet_run(w->owner, src->bit, verdict);
		if (verdict == KVNET_DONE)
			*idle |= BIT(src->bit);
		else if (verdict == KVNET_AGAIN || src->ops->arm(src))
			again |= BIT(src->bit);
	}
	return again;
}

/* Which of the sources in @set have work by now? */
static unsigned long look(struct kvnet_worker *w, unsigned long set)
{
	unsigned long found = 0;
	struct kvnet_source *src;

	while (set) {
		src = first_source(w, &set);
		if (src->ops->pending(src))
			found |= BIT(src->bit);
	}
	return found;
}

/* Arm all that are idle. Returns those that have work after all. */
static unsigned long arm(struct kvnet_worker *w, unsigned long *idle)
{
	unsigned long more = 0;
	struct kvnet_source *src;

	while (*idle) {
		src = first_source(w, idle);
		if (src->ops->arm(src))
			more |= BIT(src->bit);
	}
	return more;
}

/* Spin until a source in @idle has work, an event comes or time is up. */
static unsigned long spin(struct kvnet_worker *w, unsigned long idle, u64 start)
{
	unsigned long found = 0;
	u64 now = start;

	while (!kvnet_poll_expired(&w->poll, start, now) &&
	       !READ_ONCE(w->ready) && !need_resched() &&
	       !signal_pending(current) && !READ_ONCE(w->thread.closing)) {
		found = look(w, idle);
		if (found)
			break;
		cpu_relax();
		now = local_clock();
	}
	trace_kvnet_poll_end(w->owner, now - start, w->poll.window, found);
	return found;
}

/* No source has work: spin, then arm. Returns those that have work after all. */
static unsigned long wait_for_work(struct kvnet_worker *w)
{
	unsigned long found;

	if (READ_ONCE(w->cap_ns) != w->poll.cap)
		kvnet_poll_set_cap(&w->poll, READ_ONCE(w->cap_ns));
	if (!w->poll.cap)
		return arm(w, &w->idle);

	w->idle_since = local_clock();
	found = spin(w, w->idle, w->idle_since);
	if (!found && !READ_ONCE(w->ready))
		found = arm(w, &w->idle);
	return found;
}

static bool worker_wants(void *data)
{
	const struct kvnet_worker *w = data;

	return READ_ONCE(w->ready) || w->active || w->idle;
}

static void worker_turn(void *data)
{
	struct kvnet_worker *w = data;

	w->active |= xchg(&w->ready, 0);
	if (!w->active) {
		w->active = wait_for_work(w);
		return;
	}
	if (w->idle_since) {
		kvnet_poll_learn(&w->poll, local_clock() - w->idle_since);
		w->idle_since = 0;
	}
	w->active = run_round(w, w->active, &w->idle);
	/* A busy source must not hide work of a drained one. */
	if (w->active)
		w->active |= look(w, w->idle);
	cond_resched();
}

static void worker_gone(void *data)
{
	struct kvnet_worker *w = data;

	w->gone(w);
}

static const struct kvnet_thread_ops worker_ops = {
	.wants = worker_wants,
	.turn = worker_turn,
	.gone = worker_gone,
};

/**
 * kvnet_worker_init() - before first use
 * @w: the worker, zeroed
 * @gone: called by the thread when it serves no source any more, nor will: the
 *	  owner is dead, or the thread ends. May sleep
 */
void kvnet_worker_init(struct kvnet_worker *w,
		       void (*gone)(struct kvnet_worker *w))
{
	w->gone = gone;
	kvnet_thread_init(&w->thread, &worker_ops, w);
}

/**
 * kvnet_worker_add() - give the worker another source to serve
 * @w: the worker, not started
 * @src: the source
 * @ops: what it can do
 */
void kvnet_worker_add(struct kvnet_worker *w, struct kvnet_source *src,
		      const struct kvnet_source_ops *ops)
{
	src->ops = ops;
	src->worker = w;
	src->bit = w->n++;
	w->source[src->bit] = src;
}

/**
 * kvnet_worker_start() - make the thread
 * @w: the worker
 * @mm: the address space to serve; the caller keeps it until
 *	kvnet_worker_stop() has returned
 * @fork: the thread is one of the owner's process, see thread.h
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: as kvnet_thread_start().
 */
int kvnet_worker_start(struct kvnet_worker *w, struct mm_struct *mm, bool fork)
{
	unsigned int i;

	w->owner = task_tgid_nr(current);
	w->ready = 0;
	w->active = 0;
	w->idle = 0;
	w->idle_since = 0;
	for (i = 0; i < w->n; i++)
		w->source[i]->armed = 0;
	return kvnet_thread_start(&w->thread, mm, fork);
}

/**
 * kvnet_worker_stop() - end the thread
 * @w: the worker; nothing can wake a source any more
 *
 * When it returns no source runs, nor will. Does nothing without a thread.
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_worker_stop(struct kvnet_worker *w)
{
	kvnet_thread_stop(&w->thread);
}

/**
 * kvnet_worker_set_cap() - bound the time that the worker may spin
 * @w: the worker
 * @cap_ns: in ns; 0: never spin
 *
 * Context: any; takes effect when the worker next has nothing to do.
 */
void kvnet_worker_set_cap(struct kvnet_worker *w, u64 cap_ns)
{
	WRITE_ONCE(w->cap_ns, cap_ns);
}
