/* SPDX-License-Identifier: GPL-2.0 */
/*
 * run_state.h - which context runs a work, at most one at a time
 *
 * One atomic word. While SCHED or TASK_WORK is set, one context runs the work or is about to,
 * and only that context may touch fields of the work. Fields of its queue have vq->lock, too: it
 * keeps out ioctls, netlink and the owner's death. Otherwise the word holds the enabled events, and
 * for each whether an inline context may serve it: the context that completes a poll writes both
 * at once. An enabled event is never lost: it sets SCHED or TASK_WORK, and the context that raised
 * the event then runs the work or passes it on. All functions may be called in any context.
 * Documentation/worker.rst draws the states; selftests/unit tries all interleavings.
 */
#ifndef _KVNET_RUN_STATE_H
#define _KVNET_RUN_STATE_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/types.h>

/* Events that schedule a work. */
#define KVNET_EV_KICK	BIT(0)	/* the driver's kick */
#define KVNET_EV_TAP	BIT(1)	/* the tap is readable or writable */
#define KVNET_EV_TIMER	BIT(2)	/* the work's timer expired */
#define KVNET_EV_CTRL	BIT(3)	/* set-up changed; always enabled */

/* Permission for an enabled event: an inline context may serve it in place of the worker. */
#define KVNET_EV_VCPU(event)	((event) << 4)	/* task_work of a vCPU thread */
#define KVNET_EV_SOFTIRQ(event)	((event) << 8)	/* a tasklet */

/* If neither SCHED nor TASK_WORK is set, the lower bits are the enabled events. */
#define KVNET_RUN_STATE_SCHED	BIT(12)	/* running, or queued to run */
#define KVNET_RUN_STATE_TASK_WORK BIT(13)	/* task_work is pending, not started */
#define KVNET_RUN_STATE_MISSED	BIT(14)	/* KVNET_EV_CTRL came while busy */

#define KVNET_RUN_STATE_BUSY	(KVNET_RUN_STATE_SCHED | KVNET_RUN_STATE_TASK_WORK)

/* The context to which an event gives the work; NONE: it does not. */
enum kvnet_run_context {
	KVNET_RUN_NONE,
	KVNET_RUN_WORKER,
	KVNET_RUN_VCPU,
	KVNET_RUN_SOFTIRQ,
};

/* The run state of a work */
struct kvnet_run_state {
	/* KVNET_RUN_STATE_* bits, or the enabled KVNET_EV_* bits with their permissions */
	atomic_t state;
};

/* Leaves only KVNET_EV_CTRL enabled. The caller makes sure that no context can set SCHED. */
static inline void kvnet_run_state_reset(struct kvnet_run_state *rs)
{
	atomic_set(&rs->state, 0);
}

/* A lock-free hint: KVNET_EV_VCPU(@event), KVNET_EV_SOFTIRQ(@event), or 0. */
static inline int kvnet_run_state_inline_hint(const struct kvnet_run_state *rs, int event)
{
	return atomic_read(&rs->state) & (KVNET_EV_VCPU(event) | KVNET_EV_SOFTIRQ(event));
}

/**
 * kvnet_run_state_schedule_prep() - an event sets SCHED or TASK_WORK, if it is enabled
 * @rs: the run state
 * @event: one KVNET_EV_*
 * @offer: KVNET_EV_VCPU(@event) or KVNET_EV_SOFTIRQ(@event): the inline context that could serve
 *	   the event here and now; 0: none. The permission in the word decides
 *
 * An event that is not enabled is dropped: the context that completes the poll checks for work
 * afterwards. With kvnet_run_state_complete() this makes pair E of Documentation/ordering.rst.
 *
 * Return: the context to which the caller must give the work: VCPU: TASK_WORK is set, else SCHED.
 */
static inline enum kvnet_run_context
kvnet_run_state_schedule_prep(struct kvnet_run_state *rs, int event, int offer)
{
	int old, new;

	/* E: the event's cause before the read of the enabled events. */
	smp_mb();
	old = atomic_read(&rs->state);
	do {
		if (event != KVNET_EV_CTRL && !(old & event))
			return KVNET_RUN_NONE;
		if (old & KVNET_RUN_STATE_BUSY)
			new = old | KVNET_RUN_STATE_MISSED;
		else if (old & offer & KVNET_EV_VCPU(event))
			new = KVNET_RUN_STATE_TASK_WORK;
		else
			new = KVNET_RUN_STATE_SCHED;
	} while (!atomic_try_cmpxchg(&rs->state, &old, new));
	if (old & KVNET_RUN_STATE_BUSY)
		return KVNET_RUN_NONE;
	if (new == KVNET_RUN_STATE_TASK_WORK)
		return KVNET_RUN_VCPU;
	return old & offer ? KVNET_RUN_SOFTIRQ : KVNET_RUN_WORKER;
}

/**
 * kvnet_run_state_complete() - clear SCHED and enable events
 * @rs: the run state; SCHED is set, by the caller
 * @events: KVNET_EV_* to enable, with KVNET_EV_VCPU() and KVNET_EV_SOFTIRQ() of them
 *
 * The caller checks for work after this, and then calls kvnet_run_state_reschedule() if there is
 * any.
 *
 * Return: false if MISSED was set: MISSED is clear now, and SCHED is still set.
 */
static inline bool kvnet_run_state_complete(struct kvnet_run_state *rs, int events)
{
	int old = KVNET_RUN_STATE_SCHED;

	/* E: the enabled events before the caller's recheck; a full barrier on success. */
	if (atomic_try_cmpxchg(&rs->state, &old, events))
		return true;
	atomic_xchg(&rs->state, KVNET_RUN_STATE_SCHED);
	return false;
}

/* The recheck found work. True if this sets SCHED; else another context has the work. */
static inline bool kvnet_run_state_reschedule(struct kvnet_run_state *rs)
{
	int old = atomic_read(&rs->state);

	do {
		if (old & KVNET_RUN_STATE_BUSY)
			return false;
	} while (!atomic_try_cmpxchg(&rs->state, &old, KVNET_RUN_STATE_SCHED));
	return true;
}

/*
 * TASK_WORK becomes SCHED. Called by the thread that runs the task_work, by its canceller, and
 * where adding it has failed. True for the first of them.
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

/* A lock-free hint: has KVNET_EV_CTRL come while SCHED was set? Does not clear MISSED. */
static inline bool kvnet_run_state_has_missed(const struct kvnet_run_state *rs)
{
	return atomic_read(&rs->state) & KVNET_RUN_STATE_MISSED;
}

#endif /* _KVNET_RUN_STATE_H */
