/* SPDX-License-Identifier: GPL-2.0 */
/*
 * run_state.h - who may run a source: one at a time, and never nobody
 *
 * A source rests, or somebody holds it. An event that it rests for ends the rest:
 * whoever brought the event holds the source then, and hands it to somebody who
 * runs it. Nobody else touches what is the holder's. Documentation/worker.rst
 * draws the states; selftests/unit/claim_test.c tries all orders.
 */
#ifndef _KVNET_RUN_STATE_H
#define _KVNET_RUN_STATE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/types.h>

/* What can end a rest. */
#define KVNET_EV_KICK	BIT(0)	/* the driver's kick */
#define KVNET_EV_TAP	BIT(1)	/* the tap became readable or writable */
#define KVNET_EV_TIMER	BIT(2)	/* it is time to look again */
#define KVNET_EV_CTRL	BIT(3)	/* set-up changed; never ignored */

/* Else it rests, for the events in its lower bits. */
#define KVNET_RUN_STATE_SCHED	BIT(8)	/* by its worker, or who hands it over */
#define KVNET_RUN_STATE_TASK_WORK BIT(9)	/* by a thread that has not begun yet */
#define KVNET_RUN_STATE_MISSED	BIT(10)	/* KVNET_EV_CTRL while it was held */

#define KVNET_RUN_STATE_BUSY	(KVNET_RUN_STATE_SCHED | KVNET_RUN_STATE_TASK_WORK)

/**
 * struct kvnet_run_state - who holds a source
 * @state: KVNET_CLAIM_*, or KVNET_EV_*
 */
struct kvnet_run_state {
	atomic_t state;
};

/**
 * kvnet_run_state_reset() - it rests, for nothing but KVNET_EV_CTRL
 * @rs: the claim; nobody holds it, nor is there anybody who could
 */
static inline void kvnet_run_state_reset(struct kvnet_run_state *rs)
{
	atomic_set(&rs->state, 0);
}

/**
 * kvnet_run_state_schedule_prep() - an event
 * @rs: the claim
 * @event: one KVNET_EV_*
 * @target: how to hold it, KVNET_RUN_STATE_SCHED or KVNET_RUN_STATE_TASK_WORK
 *
 * One that is not rested for is dropped: whoever rests looks once more
 * afterwards. With kvnet_run_state_complete() this makes pair E of
 * Documentation/ordering.rst.
 *
 * Context: any.
 * Return: true if the caller holds the source now.
 */
static inline bool kvnet_run_state_schedule_prep(struct kvnet_run_state *rs, int event, int target)
{
	int old, new;

	/* E: what the event is about, before the wish for it. */
	smp_mb();
	old = atomic_read(&rs->state);
	do {
		if (event != KVNET_EV_CTRL && !(old & event))
			return false;
		new = old & KVNET_RUN_STATE_BUSY ? old | KVNET_RUN_STATE_MISSED : target;
	} while (!atomic_try_cmpxchg(&rs->state, &old, new));
	return !(old & KVNET_RUN_STATE_BUSY);
}

/**
 * kvnet_run_state_complete() - the holder lets it rest
 * @rs: the claim, held
 * @events: KVNET_EV_* that end the rest
 *
 * The caller looks for work after this, and for kvnet_run_state_reschedule() if there is.
 *
 * Return: false if the set-up has changed meanwhile: it is still held.
 */
static inline bool kvnet_run_state_complete(struct kvnet_run_state *rs, int events)
{
	int old = KVNET_RUN_STATE_SCHED;

	/* E: the wish before the second look; fully ordered if it succeeds. */
	if (atomic_try_cmpxchg(&rs->state, &old, events))
		return true;
	atomic_xchg(&rs->state, KVNET_RUN_STATE_SCHED);
	return false;
}

/**
 * kvnet_run_state_reschedule() - who let it rest has found work after all
 * @rs: the claim
 *
 * Return: true if the caller holds it again; else somebody else does.
 */
static inline bool kvnet_run_state_reschedule(struct kvnet_run_state *rs)
{
	int old = atomic_read(&rs->state);

	do {
		if (old & KVNET_RUN_STATE_BUSY)
			return false;
	} while (!atomic_try_cmpxchg(&rs->state, &old, KVNET_RUN_STATE_SCHED));
	return true;
}

/**
 * kvnet_run_state_grab_task_work() - begin what it was lent for, or call it off
 * @rs: the claim
 *
 * Return: true if the caller holds it; else it was not lent, or not any more.
 */
static inline bool kvnet_run_state_grab_task_work(struct kvnet_run_state *rs)
{
	int old = atomic_read(&rs->state);

	do {
		if (!(old & KVNET_RUN_STATE_TASK_WORK))
			return false;
	} while (!atomic_try_cmpxchg(&rs->state, &old,
				     old ^ KVNET_RUN_STATE_BUSY));
	return true;
}

/**
 * kvnet_run_state_has_missed() - has the set-up changed since it is held?
 * @rs: the claim
 *
 * Return: true if so; kvnet_run_state_complete() will say it once more.
 */
static inline bool kvnet_run_state_has_missed(const struct kvnet_run_state *rs)
{
	return atomic_read(&rs->state) & KVNET_RUN_STATE_MISSED;
}

#endif /* _KVNET_RUN_STATE_H */
