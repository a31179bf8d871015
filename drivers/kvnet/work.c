// SPDX-License-Identifier: GPL-2.0
/*
 * work.c - who gets to run a source, see work.h
 */
#include "work.h"

#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/wait_bit.h>

#include "workers.h"
#include "trace.h"
#include "worker.h"

/* Atomic, since the tasklets of a CPU that goes offline run on another one. */
static DEFINE_PER_CPU(atomic_t, cpu_pending_tasklets);

/**
 * kvnet_work_queue() - to its worker
 * @work: the source, held by the caller; from now on by that worker
 * @event: why, one KVNET_EV_*
 *
 * Context: any, also with interrupts off.
 */
void kvnet_work_queue(struct kvnet_work *work, unsigned int event)
{
	struct kvnet_worker *w = work->worker;

	if (KVNET_STATS_ENABLED)
		atomic_long_inc(&work->wakeups);
	trace_kvnet_worker_wake(work->workers->owner, work->index, event);
	if (READ_ONCE(work->workers->stopping))
		return;
	/* F: full barrier; pairs with the thread's set_current_state(). */
	smp_store_mb(w->queued, true);
	kvnet_thread_wake(&w->thread);
}

/* Lent to the calling thread? It is on its way to user space, or a guest. */
static bool add_vcpu_work(struct kvnet_work *work)
{
	struct kvnet_workers *workers = work->workers;

	if (!kvnet_task_work_add(&work->task_work))
		return false;
	workers->ops->get(workers);
	return true;
}

static void poll_work_vcpu(struct kvnet_task_work *tw)
{
	struct kvnet_work *work = container_of(tw, struct kvnet_work, task_work);
	enum kvnet_work_result result = KVNET_WORK_REPOLL;
	struct kvnet_workers *workers = work->workers;

	/* Before it is taken: see kvnet_workers_cancel_inline(). */
	atomic_inc(&workers->vcpu_running);
	if (kvnet_run_state_grab_task_work(&work->run_state)) {
		/* A thread that exits has left its address space. */
		if (likely(current->mm == workers->mm))
			result = work->ops->poll_vcpu(work);
		trace_kvnet_poll(workers->owner, work->index, result);
		if (result == KVNET_WORK_REPOLL)
			kvnet_work_queue(work, KVNET_EV_KICK);
	}
	/*
	 * Fully ordered, as kvnet_workers_cancel_inline() is: one of both sees what the other has
	 * done.
	 */
	if (atomic_dec_and_test(&workers->vcpu_running) && READ_ONCE(workers->cancelling))
		wake_up_var(&workers->vcpu_running);
	workers->ops->put(workers);
}

/* May the thread that brings the event do the work? Not what is for a softirq. */
static bool may_poll_vcpu(const struct kvnet_work *work, unsigned int event)
{
	const struct kvnet_workers *workers = work->workers;

	if (!READ_ONCE(workers->allow_vcpu) || !work->ops->poll_vcpu)
		return false;
	if (event == KVNET_EV_KICK)
		return READ_ONCE(work->event_inline) && kvnet_task_work_may_add(workers->mm);
	return event == KVNET_EV_TIMER && kvnet_task_work_may_add_hardirq(workers->mm);
}

/* A frame to many taps must not keep the softirq busy for as long as all of them take. */
static bool schedule_work_tasklet(struct kvnet_work *work)
{
	atomic_t *pending = raw_cpu_ptr(&cpu_pending_tasklets);

	if (atomic_inc_return(pending) > KVNET_WORK_TASKLETS_MAX) {
		atomic_dec(pending);
		return false;
	}
	work->pending_tasklets = pending;
	tasklet_schedule(&work->tasklet);
	return true;
}

static void poll_work_softirq(struct tasklet_struct *tasklet)
{
	struct kvnet_work *work = container_of(tasklet, struct kvnet_work, tasklet);
	enum kvnet_work_result result;

	atomic_dec(work->pending_tasklets);
	result = work->ops->poll_softirq(work);
	trace_kvnet_poll(work->workers->owner, work->index, result);
	if (result == KVNET_WORK_REPOLL)
		kvnet_work_queue(work, KVNET_EV_TAP);
}

/*
 * May the softirq do the work that comes next on this CPU? One that has to be waited
 * for is no better than a worker; and where the worker would not run, by a freezer's
 * or a signal's order, nobody does.
 */
static bool may_poll_softirq(const struct kvnet_work *work, unsigned int event, bool timer_inline)
{
	bool ret = timer_inline;

	if (!READ_ONCE(work->workers->allow_softirq) || !work->ops->poll_softirq)
		return false;
	if (event == KVNET_EV_TAP)
		ret = READ_ONCE(work->event_inline) && softirq_count() && !in_hardirq();
	return ret && kvnet_task_work_cpu_ok() && !kvnet_thread_is_halted(&work->worker->thread);
}

/*
 * Time one in some: a reading of the clock is what this costs. What else ends a rest
 * has nothing to wait for.
 */
static void sample_event_time(struct kvnet_work *work, unsigned int event)
{
	u64 now = 0;
	u8 n;

	if (event & (KVNET_EV_KICK | KVNET_EV_TAP)) {
		n = READ_ONCE(work->sample_count);
		WRITE_ONCE(work->sample_count, n + 1);
		if (!(n % KVNET_WORK_SAMPLE_EVERY))
			now = local_clock();
	}
	WRITE_ONCE(work->woken_ns, now);
}

/**
 * kvnet_work_schedule_prep() - an event: is it for who brings it to hand the source over?
 * @work: the source
 * @event: one KVNET_EV_*
 *
 * Context: any, also with interrupts off.
 * Return: true if the caller holds the source now, for kvnet_work_queue(); false
 * if it does not rest for that, or is lent, or a softirq's.
 */
bool kvnet_work_schedule_prep(struct kvnet_work *work, unsigned int event)
{
	/* Read once: what is lent is no softirq's. */
	const bool timer_inline = event == KVNET_EV_TIMER && READ_ONCE(work->timer_inline);
	const bool on_vcpu = !timer_inline && may_poll_vcpu(work, event);

	if (KVNET_STATS_ENABLED && event == KVNET_EV_KICK)
		atomic_long_inc(&work->kicks);
	if (!kvnet_run_state_schedule_prep(&work->run_state, event,
					   on_vcpu ? KVNET_RUN_STATE_TASK_WORK :
					   KVNET_RUN_STATE_SCHED))
		return false;
	if (KVNET_STATS_ENABLED)
		sample_event_time(work, event);
	trace_kvnet_work_event(work->workers->owner, work->index, event);
	if (on_vcpu)
		return !add_vcpu_work(work) && kvnet_run_state_grab_task_work(&work->run_state);
	return !may_poll_softirq(work, event, timer_inline) || !schedule_work_tasklet(work);
}

/**
 * kvnet_work_schedule() - an event: have the source run, if it rests for that
 * @work: the source
 * @event: one KVNET_EV_*
 *
 * Context: any, also with interrupts off.
 */
void kvnet_work_schedule(struct kvnet_work *work, unsigned int event)
{
	if (kvnet_work_schedule_prep(work, event))
		kvnet_work_queue(work, event);
}

static enum hrtimer_restart work_timer_expired(struct hrtimer *timer)
{
	struct kvnet_work *work = container_of(timer, struct kvnet_work, timer);

	if (!READ_ONCE(work->workers->stopping))
		kvnet_work_schedule(work, KVNET_EV_TIMER);
	return HRTIMER_NORESTART;
}

/**
 * kvnet_work_complete() - let a source rest until an event
 * @work: the source
 * @events: KVNET_EV_* bits; the caller looks for work after this
 *
 * Context: who holds the source, in &kvnet_work_ops.poll or arm.
 * Return: true if it rests; false if it is to run again, and still held.
 */
bool kvnet_work_complete(struct kvnet_work *work, unsigned int events)
{
	return kvnet_run_state_complete(&work->run_state, events);
}

/**
 * kvnet_work_complete_for() - let a source rest for some time, whatever happens
 * @work: the source
 * @ns: how long
 *
 * Context: as kvnet_work_complete().
 * Return: as kvnet_work_complete(); but there is no need to look for work.
 */
bool kvnet_work_complete_for(struct kvnet_work *work, u32 ns)
{
	WRITE_ONCE(work->timer_inline, false);
	work->deadline_ns = 0;
	if (!kvnet_run_state_complete(&work->run_state, KVNET_EV_TIMER))
		return false;
	hrtimer_start(&work->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
	return true;
}

/* It comes by itself, whatever the clocks of two CPUs say; this is about when. */
static bool timer_already_fits(struct kvnet_work *work, u64 now_ns, u32 min_ns)
{
	return (s64)(work->deadline_ns - now_ns) >= (s64)min_ns &&
	       hrtimer_is_queued(&work->timer);
}

/**
 * kvnet_work_start_timer() - what rests for KVNET_EV_TIMER among others is to be woken
 * @work: the source, which the caller has let rest, or is about to
 * @now_ns: the local clock
 * @min_ns: when, at the earliest
 * @max_ns: when, at the latest
 * @timer_inline: it is for no more than a softirq can do
 *
 * To set a timer costs as much as some packets' work in the ring. One that is set
 * already, and for late enough, stays as it is.
 *
 * Context: process context.
 */
void kvnet_work_start_timer(struct kvnet_work *work, u64 now_ns, u32 min_ns, u32 max_ns,
			    bool timer_inline)
{
	if (timer_already_fits(work, now_ns, min_ns))
		return;
	work->deadline_ns = now_ns + max_ns;
	WRITE_ONCE(work->timer_inline, timer_inline);
	hrtimer_start(&work->timer, ns_to_ktime(max_ns), HRTIMER_MODE_REL_PINNED_HARD);
}

/**
 * kvnet_work_reschedule() - a source that has been let rest has work
 * @work: the source
 *
 * Context: who has let it rest.
 * Return: true if it is held again; false if somebody else holds it.
 */
bool kvnet_work_reschedule(struct kvnet_work *work)
{
	return kvnet_run_state_reschedule(&work->run_state);
}

/**
 * kvnet_work_init() - before first use
 * @work: the source, zeroed
 * @workers: who may serve it
 * @ops: what it can do
 */
void kvnet_work_init(struct kvnet_work *work, struct kvnet_workers *workers,
		     const struct kvnet_work_ops *ops)
{
	work->ops = ops;
	work->workers = workers;
	work->index = workers->n++;
	work->worker = &workers->worker[work->index];
	kvnet_task_work_init(&work->task_work, poll_work_vcpu);
	tasklet_setup(&work->tasklet, poll_work_softirq);
	hrtimer_setup(&work->timer, work_timer_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	workers->work[work->index] = work;
}

/**
 * kvnet_work_reset() - nobody holds it
 * @work: the source; nor is there anybody who could
 */
void kvnet_work_reset(struct kvnet_work *work)
{
	kvnet_run_state_reset(&work->run_state);
	WRITE_ONCE(work->woken_ns, 0);
	WRITE_ONCE(work->event_inline, work->ops->poll_vcpu || work->ops->poll_softirq);
}
