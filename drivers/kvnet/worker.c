// SPDX-License-Identifier: GPL-2.0
/*
 * worker.c - what the thread does, see worker.h
 */
#include "worker.h"

#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>

#include "crew.h"
#include "source.h"
#include "trace.h"

/* It would be of use, and there is nothing else to do on this CPU. */
static bool would_spin(const struct kvnet_worker *w)
{
	return w->poll.window && single_task_running() && !need_resched();
}

/**
 * kvnet_source_may_rest() - may what has no work rest at once?
 * @src: the source
 *
 * Context: the worker's thread, in &kvnet_source_ops.run.
 * Return: true if the worker would not spin.
 */
bool kvnet_source_may_rest(const struct kvnet_source *src)
{
	return !would_spin(src->worker);
}

static bool has_work(struct kvnet_source *src)
{
	return kvnet_claim_changed(&src->claim) || src->ops->pending(src);
}

/* Spin until there is work or time is up. */
static bool spin(struct kvnet_worker *w, u64 start)
{
	struct kvnet_source *src = w->src;
	bool found = false;
	u64 now = start;

	while (!kvnet_poll_expired(&w->poll, start, now) &&
	       single_task_running() && !need_resched() &&
	       !signal_pending(current) && !READ_ONCE(w->thread.closing)) {
		found = has_work(src);
		if (found)
			break;
		cpu_relax();
		now = local_clock();
	}
	if (KVNET_COUNTS && found)
		WRITE_ONCE(src->polls_hit, src->polls_hit + 1);
	else if (KVNET_COUNTS)
		WRITE_ONCE(src->polls_missed, src->polls_missed + 1);
	trace_kvnet_poll_end(src->crew->owner, now - start, w->poll.window, found);
	return found;
}

/* The source has no work: spin, then let it rest, unless it has work after all. */
static enum kvnet_worker_state wait_for_work(struct kvnet_worker *w)
{
	bool found = false;

	if (w->poll.cap)
		w->idle_since = local_clock();
	if (would_spin(w))
		found = spin(w, w->idle_since);
	if (!found)
		found = w->src->ops->arm(w->src);
	return found ? KVNET_WORKER_ACTIVE : KVNET_WORKER_SLEEPS;
}

static enum kvnet_worker_state run_once(struct kvnet_worker *w)
{
	struct kvnet_source *src = w->src;
	enum kvnet_verdict verdict;

	if (w->idle_since) {
		kvnet_poll_learn(&w->poll, local_clock() - w->idle_since);
		w->idle_since = 0;
	}
	verdict = src->ops->run(src);
	trace_kvnet_run(src->crew->owner, src->bit, verdict);
	if (verdict == KVNET_AGAIN)
		return KVNET_WORKER_ACTIVE;
	if (verdict == KVNET_DONE)
		return KVNET_WORKER_IDLE;
	if (w->poll.cap)
		w->idle_since = local_clock();
	return KVNET_WORKER_SLEEPS;
}

static void worker_begin(void *data)
{
	struct kvnet_worker *w = data;

	kvnet_crew_has_begun(w->src);
}

static bool worker_wants(void *data)
{
	const struct kvnet_worker *w = data;

	return READ_ONCE(w->ready) || w->state != KVNET_WORKER_SLEEPS;
}

static void worker_turn(void *data)
{
	struct kvnet_worker *w = data;
	u64 cap = kvnet_source_spin_ns(w->src);

	if (unlikely(cap != w->poll.cap))
		kvnet_poll_set_cap(&w->poll, cap);
	if (w->state == KVNET_WORKER_SLEEPS) {
		/* Pairs with kvnet_source_hand_over(): what the holder did is seen. */
		smp_store_mb(w->ready, false);
		w->state = KVNET_WORKER_ACTIVE;
	}
	if (w->state == KVNET_WORKER_IDLE) {
		w->state = wait_for_work(w);
		return;
	}
	w->state = run_once(w);
	cond_resched();
}

static void worker_gone(void *data)
{
	struct kvnet_worker *w = data;
	struct kvnet_crew *crew = w->src->crew;

	crew->ops->gone(crew);
}

const struct kvnet_thread_ops kvnet_worker_ops = {
	.begin = worker_begin,
	.wants = worker_wants,
	.turn = worker_turn,
	.gone = worker_gone,
};
