// SPDX-License-Identifier: GPL-2.0
/*
 * worker.c - the worker thread, see worker.h
 */
#include "worker.h"

#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/wait_bit.h>

#include "trace.h"

/* The caller holds the source; from now on the worker does. */
static void hand_over(struct kvnet_source *src, unsigned int event)
{
	struct kvnet_worker *w = src->worker;

	atomic_long_inc(&src->wakes);
	trace_kvnet_wake(w->owner, src->bit, event);
	/* F: full barrier; pairs with the thread's set_current_state(). */
	set_bit(src->bit, &w->ready);
	smp_mb__after_atomic();
	kvnet_thread_wake(&w->thread);
}

/* Lent to the calling thread? It is on its way to user space, or a guest. */
static bool lend(struct kvnet_source *src)
{
	struct kvnet_worker *w = src->worker;

	if (!kvnet_lend(&src->loan))
		return false;
	w->ops->get(w);
	return true;
}

static void run_lent(struct kvnet_loan *loan)
{
	struct kvnet_source *src = container_of(loan, struct kvnet_source, loan);
	struct kvnet_worker *w = src->worker;
	enum kvnet_verdict verdict = KVNET_AGAIN;

	/* Before it is taken: see call_off(). */
	atomic_inc(&w->lent);
	if (kvnet_claim_take_lent(&src->claim)) {
		/* A thread that exits has left its address space. */
		if (likely(current->mm == w->thread.mm))
			verdict = src->ops->run_lent(src);
		trace_kvnet_run(w->owner, src->bit, verdict);
		if (verdict == KVNET_AGAIN)
			hand_over(src, KVNET_EV_KICK);
	}
	if (atomic_dec_and_test(&w->lent))
		wake_up_var(&w->lent);
	w->ops->put(w);
}

/* When it returns nobody runs what was lent, nor will. */
static void call_off(struct kvnet_worker *w)
{
	unsigned int i;

	for (i = 0; i < w->n; i++)
		kvnet_claim_take_lent(&w->source[i]->claim);
	wait_var_event(&w->lent, !atomic_read(&w->lent));
}

/* May the thread that brings the event do the work? */
static bool may_lend(const struct kvnet_source *src, unsigned int event)
{
	const struct kvnet_worker *w = src->worker;

	if (!w->lends)
		return false;
	if (event == KVNET_EV_KICK)
		return READ_ONCE(src->lone) && kvnet_lend_may(w->thread.mm);
	return event == KVNET_EV_TIME && kvnet_lend_may_guest(w->thread.mm);
}

/**
 * kvnet_source_wake() - an event: have the source run, if it rests for that
 * @src: the source
 * @event: one KVNET_EV_*
 *
 * Context: any, also with interrupts off.
 */
void kvnet_source_wake(struct kvnet_source *src, unsigned int event)
{
	int as = KVNET_CLAIM_HELD;

	if (event == KVNET_EV_KICK)
		atomic_long_inc(&src->kicks);
	if (may_lend(src, event))
		as = KVNET_CLAIM_LENT;
	if (!kvnet_claim_event(&src->claim, event, as))
		return;
	if (as == KVNET_CLAIM_LENT &&
	    (lend(src) || !kvnet_claim_take_lent(&src->claim)))
		return;
	hand_over(src, event);
}

static enum hrtimer_restart time_has_come(struct hrtimer *timer)
{
	struct kvnet_source *src = container_of(timer, struct kvnet_source, timer);

	if (!READ_ONCE(src->worker->stopping))
		kvnet_source_wake(src, KVNET_EV_TIME);
	return HRTIMER_NORESTART;
}

/**
 * kvnet_source_rest() - let a source rest until an event
 * @src: the source
 * @events: KVNET_EV_* bits; the caller looks for work after this
 *
 * Context: who holds the source, in &kvnet_source_ops.run or arm.
 * Return: true if it rests; false if it is to run again, and still held.
 */
bool kvnet_source_rest(struct kvnet_source *src, unsigned int events)
{
	return kvnet_claim_rest(&src->claim, events);
}

/**
 * kvnet_source_rest_for() - let a source rest for some time, whatever happens
 * @src: the source
 * @ns: how long
 *
 * Context: as kvnet_source_rest().
 * Return: as kvnet_source_rest(); but there is no need to look for work.
 */
bool kvnet_source_rest_for(struct kvnet_source *src, u32 ns)
{
	if (!kvnet_claim_rest(&src->claim, KVNET_EV_TIME))
		return false;
	hrtimer_start(&src->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
	return true;
}

/**
 * kvnet_source_again() - a source that has been let rest has work
 * @src: the source
 *
 * Context: who has let it rest.
 * Return: true if it is held again; false if somebody else holds it.
 */
bool kvnet_source_again(struct kvnet_source *src)
{
	return kvnet_claim_again(&src->claim);
}

static struct kvnet_source *first_source(struct kvnet_worker *w,
					 unsigned long *set)
{
	unsigned int bit = __ffs(*set);

	*set &= ~BIT(bit);
	return w->source[bit];
}

/* It would be of use, and there is nothing else to do on this CPU. */
static bool would_spin(const struct kvnet_worker *w)
{
	return w->poll.window && single_task_running() && !need_resched();
}

/**
 * kvnet_source_may_rest() - may what has no work rest at once?
 * @src: the source
 *
 * If the worker has nobody else to serve, and would not spin.
 *
 * Context: the worker's thread, in &kvnet_source_ops.run.
 * Return: true if so.
 */
bool kvnet_source_may_rest(const struct kvnet_source *src)
{
	const struct kvnet_worker *w = src->worker;

	return w->alone && !READ_ONCE(w->ready) && !would_spin(w);
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
		*idle &= ~BIT(src->bit);

		w->alone = !(active | again | *idle);
		verdict = src->ops->run(src);
		trace_kvnet_run(w->owner, src->bit, verdict);
		if (verdict == KVNET_DONE)
			*idle |= BIT(src->bit);
		else if (verdict == KVNET_AGAIN)
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
		if (kvnet_claim_changed(&src->claim) || src->ops->pending(src))
			found |= BIT(src->bit);
	}
	return found;
}

/* Let all rest that are idle. Returns those that have work after all. */
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
	       !READ_ONCE(w->ready) && single_task_running() && !need_resched() &&
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

	if (w->poll.cap)
		w->idle_since = local_clock();
	if (!would_spin(w))
		return arm(w, &w->idle);

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

	if (unlikely(READ_ONCE(w->cap_ns) != w->poll.cap))
		kvnet_poll_set_cap(&w->poll, READ_ONCE(w->cap_ns));
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
	else if (!w->idle && w->poll.cap)
		w->idle_since = local_clock();
	cond_resched();
}

static void worker_gone(void *data)
{
	struct kvnet_worker *w = data;

	w->ops->gone(w);
}

static const struct kvnet_thread_ops thread_ops = {
	.wants = worker_wants,
	.turn = worker_turn,
	.gone = worker_gone,
};

/**
 * kvnet_worker_init() - before first use
 * @w: the worker, zeroed
 * @ops: its device's
 */
void kvnet_worker_init(struct kvnet_worker *w,
		       const struct kvnet_worker_ops *ops)
{
	w->ops = ops;
	kvnet_thread_init(&w->thread, &thread_ops, w);
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
	kvnet_loan_init(&src->loan, run_lent);
	hrtimer_setup(&src->timer, time_has_come, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	w->source[src->bit] = src;
}

/**
 * kvnet_worker_start() - make the thread
 * @w: the worker
 * @mm: the address space to serve; the caller keeps it until
 *	kvnet_worker_stop() has returned
 * @fork: the thread is one of the owner's process, see thread.h
 * @lends: what is small may be done by the thread that kicks, if the kernel can
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: as kvnet_thread_start().
 */
int kvnet_worker_start(struct kvnet_worker *w, struct mm_struct *mm, bool fork,
		       bool lends)
{
	unsigned int i;

	w->owner = task_tgid_nr(current);
	w->ready = 0;
	w->active = 0;
	w->idle = 0;
	w->idle_since = 0;
	w->stopping = false;
	w->lends = lends && kvnet_lend_possible();
	for (i = 0; i < w->n; i++) {
		kvnet_claim_reset(&w->source[i]->claim);
		w->source[i]->lone = w->source[i]->ops->run_lent;
	}
	return kvnet_thread_start(&w->thread, mm, fork);
}

/**
 * kvnet_worker_no_time() - it is not time for any source any more, nor will be
 * @w: the worker
 *
 * Till kvnet_worker_start().
 *
 * Context: may sleep.
 */
void kvnet_worker_no_time(struct kvnet_worker *w)
{
	unsigned int i;

	WRITE_ONCE(w->stopping, true);
	for (i = 0; i < w->n; i++)
		hrtimer_cancel(&w->source[i]->timer);
}

/**
 * kvnet_worker_stop() - end the thread
 * @w: the worker; nothing can wake a source any more, nor is it time for any
 *
 * When it returns no source runs, nor will. Does nothing without a thread.
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_worker_stop(struct kvnet_worker *w)
{
	call_off(w);
	kvnet_thread_stop(&w->thread);
	/* Those that have run meanwhile may have started one. */
	kvnet_worker_no_time(w);
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
