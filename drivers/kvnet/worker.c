// SPDX-License-Identifier: GPL-2.0
/*
 * worker.c - what the thread does, see worker.h
 */
#include "worker.h"

#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>

#include "crew.h"
#include "source.h"
#include "trace.h"

static struct kvnet_source *first_source(struct kvnet_worker *w,
					 unsigned long *set)
{
	unsigned int bit = __ffs(*set);

	*set &= ~BIT(bit);
	return w->crew->source[bit];
}

/* It would be of use, and there is nothing else to do on this CPU, or for this thread. */
static bool would_spin(const struct kvnet_worker *w)
{
	return w->poll.window && single_task_running() && !need_resched() &&
	       !kvnet_thread_awaited(&w->thread);
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
	const struct kvnet_worker *w = src->by;

	return w->alone && !READ_ONCE(w->ready) && !would_spin(w);
}

/* Is it to be served by another one from now on? */
static bool moves(const struct kvnet_worker *w, const struct kvnet_source *src)
{
	return unlikely(!kvnet_crew_is_home(src, w));
}

static enum kvnet_verdict run_one(struct kvnet_worker *w, struct kvnet_source *src,
				  bool both)
{
	enum kvnet_verdict verdict;
	struct kvnet_watch watch;

	src->by = w;
	kvnet_crew_watch(&watch, src, both);
	verdict = src->ops->run(src);
	trace_kvnet_run(w->crew->owner, src->bit, verdict);
	kvnet_crew_watched(&watch, src);
	return verdict;
}

/* A round: each source in @active once. Returns those that want another. */
static unsigned long run_round(struct kvnet_worker *w, unsigned long active,
			       unsigned long *idle)
{
	bool both = active & (active - 1);
	unsigned long again = 0;
	struct kvnet_source *src;
	enum kvnet_verdict verdict;

	while (active) {
		src = first_source(w, &active);
		*idle &= ~BIT(src->bit);
		kvnet_crew_obey(src, w, both);
		if (moves(w, src)) {
			kvnet_source_hand_over(src, KVNET_EV_CTRL);
			continue;
		}
		w->alone = !(active | again | *idle) && !kvnet_thread_awaited(&w->thread);
		verdict = run_one(w, src, both);
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

/* For each of those that were looked at, in @idle, whether it was worth it. */
static void count_spin(struct kvnet_worker *w, unsigned long idle,
		       unsigned long found)
{
	struct kvnet_source *src;

	while (idle) {
		src = first_source(w, &idle);
		if (found & BIT(src->bit))
			WRITE_ONCE(src->polls_hit, src->polls_hit + 1);
		else
			WRITE_ONCE(src->polls_missed, src->polls_missed + 1);
	}
}

/* Spin until a source in @idle has work, an event comes or time is up. */
static unsigned long spin(struct kvnet_worker *w, unsigned long idle, u64 start)
{
	unsigned long found = 0;
	u64 now = start;

	while (!kvnet_poll_expired(&w->poll, start, now) &&
	       !READ_ONCE(w->ready) && single_task_running() && !need_resched() &&
	       !signal_pending(current) && !READ_ONCE(w->thread.closing) &&
	       !kvnet_thread_awaited(&w->thread)) {
		found = look(w, idle);
		if (found)
			break;
		cpu_relax();
		now = local_clock();
	}
	if (KVNET_COUNTS)
		count_spin(w, idle, found);
	trace_kvnet_poll_end(w->crew->owner, now - start, w->poll.window, found);
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

	if (unlikely(READ_ONCE(w->crew->cap_ns) != w->poll.cap))
		kvnet_poll_set_cap(&w->poll, READ_ONCE(w->crew->cap_ns));
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

static void worker_begin(void *data)
{
}

static void worker_gone(void *data)
{
	struct kvnet_worker *w = data;

	if (!READ_ONCE(w->dismissed))
		w->crew->ops->gone(w->crew);
}

const struct kvnet_thread_ops kvnet_worker_ops = {
	.begin = worker_begin,
	.wants = worker_wants,
	.turn = worker_turn,
	.gone = worker_gone,
};
