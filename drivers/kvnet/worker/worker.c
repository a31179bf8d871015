// SPDX-License-Identifier: GPL-2.0
/*
 * worker.c - the loop of a worker: poll, busy-poll, complete, sleep
 *
 * All functions run in the worker's thread, which calls worker_run() for one step at a time.
 */
#include "worker.h"

#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>

#include "workers.h"
#include "work.h"
#include "obs/trace.h"

/* Only while no other task wants this CPU. */
static bool should_busy_poll(const struct kvnet_worker *w)
{
	return w->busy_poll.window_ns && single_task_running() && !need_resched();
}

/*
 * For &kvnet_work_ops.poll: a worker that would not busy-poll completes an empty queue in the
 * same session.
 */
bool kvnet_worker_may_complete(const struct kvnet_work *work)
{
	return !should_busy_poll(work->worker);
}

static bool work_is_pending(struct kvnet_work *work)
{
	return kvnet_run_state_has_missed(&work->run_state) || work->ops->pending(work);
}

static bool busy_poll_work(struct kvnet_worker *w, u64 start)
{
	struct kvnet_work *work = w->work;
	bool found = false;
	u64 now = start;

	while (!kvnet_busy_poll_has_expired(&w->busy_poll, start, now) &&
	       single_task_running() && !need_resched() &&
	       !signal_pending(current) && !READ_ONCE(w->thread.exiting)) {
		found = work_is_pending(work);
		if (found)
			break;
		cpu_relax();
		now = local_clock();
	}
	if (KVNET_STATS_ENABLED && found)
		WRITE_ONCE(work->busy_poll_hits, work->busy_poll_hits + 1);
	else if (KVNET_STATS_ENABLED)
		WRITE_ONCE(work->busy_poll_misses, work->busy_poll_misses + 1);
	trace_kvnet_busy_poll(work->workers->owner, now - start, w->busy_poll.window_ns, found);
	return found;
}

static enum kvnet_worker_state busy_poll_or_rearm(struct kvnet_worker *w)
{
	bool found = false;

	if (w->busy_poll.max_ns)
		w->idle_since_ns = local_clock();
	if (should_busy_poll(w))
		found = busy_poll_work(w, w->idle_since_ns);
	if (!found)
		found = w->work->ops->rearm(w->work);
	return found ? KVNET_WORKER_RUNNING : KVNET_WORKER_SLEEPING;
}

static enum kvnet_worker_state poll_work_once(struct kvnet_worker *w)
{
	struct kvnet_work *work = w->work;
	enum kvnet_work_result result;

	if (w->idle_since_ns) {
		kvnet_busy_poll_adapt(&w->busy_poll, local_clock() - w->idle_since_ns);
		w->idle_since_ns = 0;
	}
	result = work->ops->poll(work);
	trace_kvnet_poll(work->workers->owner, work->index, result);
	if (result == KVNET_WORK_REPOLL)
		return KVNET_WORKER_RUNNING;
	if (result == KVNET_WORK_IDLE)
		return KVNET_WORKER_BUSY_POLLING;
	if (w->busy_poll.max_ns)
		w->idle_since_ns = local_clock();
	return KVNET_WORKER_SLEEPING;
}

static struct kvnet_worker *thread_to_worker(struct kvnet_thread *t)
{
	return container_of(t, struct kvnet_worker, thread);
}

static void worker_started(struct kvnet_thread *t)
{
	struct kvnet_worker *w = thread_to_worker(t);

	kvnet_workers_note_started(w->work);
}

static bool worker_has_work(struct kvnet_thread *t)
{
	const struct kvnet_worker *w = thread_to_worker(t);

	return READ_ONCE(w->queued) || w->state != KVNET_WORKER_SLEEPING;
}

static void worker_run(struct kvnet_thread *t)
{
	struct kvnet_worker *w = thread_to_worker(t);
	u64 max_ns = kvnet_work_busy_poll_ns(w->work);

	if (unlikely(max_ns != w->busy_poll.max_ns))
		kvnet_busy_poll_set_max(&w->busy_poll, max_ns);
	if (w->state == KVNET_WORKER_SLEEPING) {
		/* Pairs with kvnet_work_queue(): the poll sees what the previous context did. */
		smp_store_mb(w->queued, false);
		w->state = KVNET_WORKER_RUNNING;
	}
	if (w->state == KVNET_WORKER_BUSY_POLLING) {
		w->state = busy_poll_or_rearm(w);
		return;
	}
	w->state = poll_work_once(w);
	cond_resched();
}

static void worker_owner_died(struct kvnet_thread *t)
{
	struct kvnet_worker *w = thread_to_worker(t);
	struct kvnet_workers *workers = w->work->workers;

	workers->ops->owner_died(workers);
}

const struct kvnet_thread_ops kvnet_worker_thread_ops = {
	.started = worker_started,
	.has_work = worker_has_work,
	.run = worker_run,
	.owner_died = worker_owner_died,
};
