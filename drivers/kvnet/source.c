// SPDX-License-Identifier: GPL-2.0
/*
 * source.c - who gets to run a source, see source.h
 */
#include "source.h"

#include <linux/percpu.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/wait_bit.h>

#include "crew.h"
#include "trace.h"
#include "worker.h"

/* Atomic, since the tasklets of a CPU that goes offline run on another one. */
static DEFINE_PER_CPU(atomic_t, soft_pending);

/**
 * kvnet_source_hand_over() - to its worker
 * @src: the source, held by the caller; from now on by that worker
 * @event: why, one KVNET_EV_*
 *
 * Context: any, also with interrupts off.
 */
void kvnet_source_hand_over(struct kvnet_source *src, unsigned int event)
{
	struct kvnet_worker *w = src->worker;

	if (KVNET_COUNTS)
		atomic_long_inc(&src->wakes);
	trace_kvnet_wake(src->crew->owner, src->bit, event);
	if (READ_ONCE(src->crew->stopping))
		return;
	/* F: full barrier; pairs with the thread's set_current_state(). */
	smp_store_mb(w->ready, true);
	kvnet_thread_wake(&w->thread);
}

/* Lent to the calling thread? It is on its way to user space, or a guest. */
static bool lend(struct kvnet_source *src)
{
	struct kvnet_crew *crew = src->crew;

	if (!kvnet_lend(&src->loan))
		return false;
	crew->ops->get(crew);
	return true;
}

static void run_lent(struct kvnet_loan *loan)
{
	struct kvnet_source *src = container_of(loan, struct kvnet_source, loan);
	enum kvnet_verdict verdict = KVNET_AGAIN;
	struct kvnet_crew *crew = src->crew;

	/* Before it is taken: see kvnet_crew_call_off(). */
	atomic_inc(&crew->lent);
	if (kvnet_claim_take_lent(&src->claim)) {
		/* A thread that exits has left its address space. */
		if (likely(current->mm == crew->mm))
			verdict = src->ops->run_lent(src);
		trace_kvnet_run(crew->owner, src->bit, verdict);
		if (verdict == KVNET_AGAIN)
			kvnet_source_hand_over(src, KVNET_EV_KICK);
	}
	/* Fully ordered, as kvnet_crew_call_off() is: one of both sees what the other has done. */
	if (atomic_dec_and_test(&crew->lent) && READ_ONCE(crew->calls_off))
		wake_up_var(&crew->lent);
	crew->ops->put(crew);
}

/* May the thread that brings the event do the work? Not what is for a softirq. */
static bool may_lend(const struct kvnet_source *src, unsigned int event)
{
	const struct kvnet_crew *crew = src->crew;

	if (!READ_ONCE(crew->lends) || !src->ops->run_lent)
		return false;
	if (event == KVNET_EV_KICK)
		return READ_ONCE(src->lone) && kvnet_lend_may(crew->mm);
	return event == KVNET_EV_TIME && kvnet_lend_may_guest(crew->mm);
}

/* A frame to many taps must not keep the softirq busy for as long as all of them take. */
static bool schedule_soft(struct kvnet_source *src)
{
	atomic_t *pending = raw_cpu_ptr(&soft_pending);

	if (atomic_inc_return(pending) > KVNET_SOURCE_PENDING) {
		atomic_dec(pending);
		return false;
	}
	src->pending = pending;
	tasklet_schedule(&src->soft);
	return true;
}

static void run_soft(struct tasklet_struct *soft)
{
	struct kvnet_source *src = container_of(soft, struct kvnet_source, soft);
	enum kvnet_verdict verdict;

	atomic_dec(src->pending);
	verdict = src->ops->run_soft(src);
	trace_kvnet_run(src->crew->owner, src->bit, verdict);
	if (verdict == KVNET_AGAIN)
		kvnet_source_hand_over(src, KVNET_EV_TAP);
}

/*
 * May the softirq do the work that comes next on this CPU? One that has to be waited
 * for is no better than a worker; and where the worker would not run, by a freezer's
 * or a signal's order, nobody does.
 */
static bool may_soft(const struct kvnet_source *src, unsigned int event, bool alarm)
{
	bool ret = alarm;

	if (!READ_ONCE(src->crew->soft) || !src->ops->run_soft)
		return false;
	if (event == KVNET_EV_TAP)
		ret = READ_ONCE(src->lone) && softirq_count() && !in_hardirq();
	return ret && kvnet_lend_may_here() && !kvnet_thread_halted(&src->worker->thread);
}

/*
 * Time one in some: a reading of the clock is what this costs. What else ends a rest
 * has nothing to wait for.
 */
static void note_time(struct kvnet_source *src, unsigned int event)
{
	u64 now = 0;
	u8 n;

	if (event & (KVNET_EV_KICK | KVNET_EV_TAP)) {
		n = READ_ONCE(src->timed);
		WRITE_ONCE(src->timed, n + 1);
		if (!(n % KVNET_SOURCE_TIMED))
			now = local_clock();
	}
	WRITE_ONCE(src->woken_ns, now);
}

/**
 * kvnet_source_take() - an event: is it for who brings it to hand the source over?
 * @src: the source
 * @event: one KVNET_EV_*
 *
 * Context: any, also with interrupts off.
 * Return: true if the caller holds the source now, for kvnet_source_hand_over(); false
 * if it does not rest for that, or is lent, or a softirq's.
 */
bool kvnet_source_take(struct kvnet_source *src, unsigned int event)
{
	/* Read once: what is lent is no softirq's. */
	const bool alarm = event == KVNET_EV_TIME && READ_ONCE(src->alarm);
	const bool lends = !alarm && may_lend(src, event);

	if (KVNET_COUNTS && event == KVNET_EV_KICK)
		atomic_long_inc(&src->kicks);
	if (!kvnet_claim_event(&src->claim, event,
			       lends ? KVNET_CLAIM_LENT : KVNET_CLAIM_HELD))
		return false;
	if (KVNET_COUNTS)
		note_time(src, event);
	trace_kvnet_event(src->crew->owner, src->bit, event);
	if (lends)
		return !lend(src) && kvnet_claim_take_lent(&src->claim);
	return !may_soft(src, event, alarm) || !schedule_soft(src);
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
	if (kvnet_source_take(src, event))
		kvnet_source_hand_over(src, event);
}

static enum hrtimer_restart time_has_come(struct hrtimer *timer)
{
	struct kvnet_source *src = container_of(timer, struct kvnet_source, timer);

	if (!READ_ONCE(src->crew->stopping))
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
	WRITE_ONCE(src->alarm, false);
	src->alarm_ns = 0;
	if (!kvnet_claim_rest(&src->claim, KVNET_EV_TIME))
		return false;
	hrtimer_start(&src->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
	return true;
}

/* It comes by itself, whatever the clocks of two CPUs say; this is about when. */
static bool alarm_will_do(struct kvnet_source *src, u64 now_ns, u32 ns)
{
	return (s64)(src->alarm_ns - now_ns) >= (s64)ns &&
	       hrtimer_is_queued(&src->timer);
}

/**
 * kvnet_source_alarm() - what rests for KVNET_EV_TIME among others is to be woken
 * @src: the source, which the caller has let rest, or is about to
 * @now_ns: the local clock
 * @ns: when, at the earliest
 * @late_ns: when, at the latest
 * @soft: it is for no more than a softirq can do
 *
 * To set a timer costs as much as some packets' work in the ring. One that is set
 * already, and for late enough, stays as it is.
 *
 * Context: process context.
 */
void kvnet_source_alarm(struct kvnet_source *src, u64 now_ns, u32 ns, u32 late_ns,
			bool soft)
{
	if (alarm_will_do(src, now_ns, ns))
		return;
	src->alarm_ns = now_ns + late_ns;
	WRITE_ONCE(src->alarm, soft);
	hrtimer_start(&src->timer, ns_to_ktime(late_ns), HRTIMER_MODE_REL_PINNED_HARD);
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

/**
 * kvnet_source_init() - before first use
 * @src: the source, zeroed
 * @crew: who may serve it
 * @ops: what it can do
 */
void kvnet_source_init(struct kvnet_source *src, struct kvnet_crew *crew,
		       const struct kvnet_source_ops *ops)
{
	src->ops = ops;
	src->crew = crew;
	src->bit = crew->n++;
	src->worker = &crew->worker[src->bit];
	kvnet_loan_init(&src->loan, run_lent);
	tasklet_setup(&src->soft, run_soft);
	hrtimer_setup(&src->timer, time_has_come, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
	crew->source[src->bit] = src;
}

/**
 * kvnet_source_reset() - nobody holds it
 * @src: the source; nor is there anybody who could
 */
void kvnet_source_reset(struct kvnet_source *src)
{
	kvnet_claim_reset(&src->claim);
	WRITE_ONCE(src->woken_ns, 0);
	WRITE_ONCE(src->lone, src->ops->run_lent || src->ops->run_soft);
}
