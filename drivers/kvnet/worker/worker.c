// SPDX-License-Identifier: GPL-2.0
/*
 * worker.c - the workers of a device: the loop of each (poll, busy-poll, complete, sleep), and how
 * all of them start and stop
 *
 * A device stops in this order: watches and timers, then task_work and tasklets, then the threads.
 * So what is stopped is not scheduled again. A worker may start a timer until its thread ends, so
 * kvnet_workers_stop() cancels timers once more.
 */
#include "worker.h"

#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/signal.h>
#include <linux/sched/stat.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>

#include "work.h"
#include "obs/trace.h"

/*** in the worker's thread ***/

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

/* True if there is work, or if the thread is to exit: SCHED is still set. */
static bool busy_poll_or_rearm(struct kvnet_worker *w, u64 max_ns)
{
	if (READ_ONCE(w->thread.exiting))
		return true;
	if (max_ns)
		w->idle_since_ns = local_clock();
	if (should_busy_poll(w) && busy_poll_work(w, w->idle_since_ns))
		return true;
	return w->work->ops->rearm(w->work);
}

static enum kvnet_work_result poll_work_once(struct kvnet_worker *w, u64 max_ns)
{
	struct kvnet_work *work = w->work;
	enum kvnet_work_result result;

	if (w->idle_since_ns) {
		kvnet_busy_poll_adapt(&w->busy_poll, local_clock() - w->idle_since_ns, max_ns);
		w->idle_since_ns = 0;
	}
	result = work->ops->poll(work);
	trace_kvnet_poll(work->workers->owner, work->index, result);
	if (result == KVNET_WORK_COMPLETE && max_ns)
		w->idle_since_ns = local_clock();
	return result;
}

static struct kvnet_worker *thread_to_worker(struct kvnet_thread *t)
{
	return container_of(t, struct kvnet_worker, thread);
}

static void worker_started(struct kvnet_thread *t)
{
	kvnet_workers_note_started(thread_to_worker(t)->work);
}

static bool worker_has_work(struct kvnet_thread *t)
{
	return READ_ONCE(thread_to_worker(t)->queued);
}

static void worker_run(struct kvnet_thread *t)
{
	struct kvnet_worker *w = thread_to_worker(t);
	u64 max_ns = kvnet_work_busy_poll_ns(w->work);
	enum kvnet_work_result result;

	kvnet_busy_poll_limit(&w->busy_poll, max_ns);
	/* Pairs with kvnet_work_queue(): the poll sees what the previous context did. */
	smp_store_mb(w->queued, false);
	result = poll_work_once(w, max_ns);
	cond_resched();
	/* SCHED is still set by this thread, so no other context writes @queued. */
	if (result == KVNET_WORK_REPOLL ||
	    (result == KVNET_WORK_IDLE && busy_poll_or_rearm(w, max_ns)))
		WRITE_ONCE(w->queued, true);
}

static void worker_owner_died(struct kvnet_thread *t)
{
	struct kvnet_workers *workers = thread_to_worker(t)->work->workers;

	workers->ops->owner_died(workers);
}

static const struct kvnet_thread_ops worker_thread_ops = {
	.started = worker_started,
	.has_work = worker_has_work,
	.run = worker_run,
	.owner_died = worker_owner_died,
};

/*** start and stop ***/

/* Applies to later sessions. Stays off if the kernel does not support it. */
void kvnet_workers_set_allow_vcpu(struct kvnet_workers *workers, bool allow_vcpu)
{
	WRITE_ONCE(workers->allow_vcpu, allow_vcpu && COMPAT_HAVE_TASK_WORK);
}

/*
 * Creates the threads. @mm, @fork and the result are those of kvnet_thread_start(). The owner, with
 * net->lock, then registers the device and calls kvnet_workers_note_started(). May sleep.
 */
int kvnet_workers_start(struct kvnet_workers *workers, struct mm_struct *mm, bool fork,
			bool allow_vcpu, bool allow_softirq)
{
	struct kvnet_worker *w = workers->worker;
	unsigned int i;
	int ret = 0;

	workers->owner = task_tgid_nr(current);
	kvnet_workers_set_allow_vcpu(workers, allow_vcpu);
	WRITE_ONCE(workers->allow_softirq, allow_softirq);
	atomic_set(&workers->n_starting, workers->n + 1);
	for (i = 0; i < workers->n; i++) {
		kvnet_run_state_reset(&w[i].work->run_state);
		WRITE_ONCE(w[i].work->woken_ns, 0);
		w[i] = (struct kvnet_worker) { .work = w[i].work };
	}
	for (i = 0; i < workers->n && !ret; i++)
		ret = kvnet_thread_start(&w[i].thread, mm, fork, &worker_thread_ops);
	if (ret)
		kvnet_workers_stop(workers);
	return ret;
}

/*
 * Called by each worker when its thread runs, and by the owner with net->lock when the device is
 * registered. The last of these calls @started. May sleep.
 */
void kvnet_workers_note_started(struct kvnet_work *work)
{
	struct kvnet_workers *workers = work->workers;

	if (atomic_dec_and_test(&workers->n_starting))
		workers->ops->started(work);
}

/*
 * No worker begins a poll from here on, and page faults of kernel threads end. Any process;
 * kvnet_workers_stop() is not called meanwhile.
 */
void kvnet_workers_kill(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		kvnet_thread_kill(&workers->worker[i].thread);
}

/*
 * Cancels timers, task_work and tasklets, and waits for those that run. After
 * kvnet_thread_begin_stop() of all threads: a timer that a poll starts meanwhile schedules nothing.
 * Watches are stopped: only the workers may still run a work. net->lock; may sleep.
 */
void kvnet_workers_cancel_inline(struct kvnet_workers *workers)
{
	struct kvnet_work *work;
	unsigned int i;

	for (i = 0; i < workers->n; i++) {
		work = workers->worker[i].work;
		hrtimer_cancel(&work->timer);
		kvnet_run_state_grab_task_work(&work->run_state);
		tasklet_kill(&work->tasklet);
	}
	/* K: the run state, then the count; poll_work_vcpu() counts, then grabs. */
	smp_mb();
	wait_var_event(&workers->vcpu_running, !atomic_read(&workers->vcpu_running));
}

/*
 * After kvnet_workers_cancel_inline(), or while no work is scheduled yet: ends the threads. No
 * context runs a work on return. net->lock; sleeps as kvnet_thread_stop().
 */
void kvnet_workers_stop(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++) {
		kvnet_thread_stop(&workers->worker[i].thread);
		/* A poll may have started it after kvnet_workers_cancel_inline(). */
		hrtimer_cancel(&workers->worker[i].work->timer);
	}
}
