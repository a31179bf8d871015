/* SPDX-License-Identifier: GPL-2.0 */
/*
 * work.h - a queue's unit of work (as vhost_work) and the events that schedule it
 *
 * The worker layer does not know virtqueues: it calls the functions of struct kvnet_work_ops.
 * Documentation/worker.rst draws the states.
 */
#ifndef _KVNET_WORK_H
#define _KVNET_WORK_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/sched/clock.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "run_state.h"
#include "obs/stats.h"

/* One of so many kicks or frames that schedule a work is timestamped. A power of two. */
#define KVNET_WORK_SAMPLE_EVERY	16

/* Pending tasklets of all devices on one CPU. Further works go to their workers. */
#define KVNET_WORK_TASKLETS_MAX	4

struct kvnet_workers;
struct kvnet_work;
struct kvnet_worker;

/**
 * enum kvnet_work_result - how a poll ended
 * @KVNET_WORK_IDLE: nothing left to do; notifications are still off
 * @KVNET_WORK_REPOLL: the budget is spent, or there is more to do
 * @KVNET_WORK_COMPLETE: notifications are on; SCHED is clear, or another context has set it
 */
enum kvnet_work_result {
	KVNET_WORK_IDLE,
	KVNET_WORK_REPOLL,
	KVNET_WORK_COMPLETE,
};

/**
 * struct kvnet_work_ops - functions of a work; the caller has set SCHED
 * @poll: poll with a budget; completes an empty queue by itself if
 *	  kvnet_worker_may_complete(); may sleep
 * @poll_vcpu: as @poll with a small budget, in task_work of the kicking vCPU thread: returns
 *	       COMPLETE, or REPOLL to have the worker continue; may sleep; NULL if the work never
 *	       permits KVNET_EV_VCPU()
 * @poll_softirq: as @poll_vcpu, in a tasklet, for KVNET_EV_SOFTIRQ(); must not sleep
 * @pending: hint without the queue's lock whether @poll would find work; may sleep
 * @rearm: complete an idle queue, then check it again; true: there is work and SCHED is set;
 *	   may sleep
 */
struct kvnet_work_ops {
	enum kvnet_work_result (*poll)(struct kvnet_work *work);
	enum kvnet_work_result (*poll_vcpu)(struct kvnet_work *work);
	enum kvnet_work_result (*poll_softirq)(struct kvnet_work *work);
	bool (*pending)(struct kvnet_work *work);
	bool (*rearm)(struct kvnet_work *work);
};

/* One queue's unit of work */
struct kvnet_work {
	const struct kvnet_work_ops *ops;	/* const after init */
	struct kvnet_workers *workers;		/* the device's workers; const after init */
	struct kvnet_worker *worker;		/* its worker; const after init */
	/* of the queue, and of @worker in &kvnet_workers; const after init */
	unsigned int index;
	/* limit of the worker's busy polling, in us; 0: off */
	u32 busy_poll_us;
	struct kvnet_run_state run_state;	/* which context may run the work */
	/* runs @ops->poll_vcpu; on a thread's list while @task_work_queued */
	struct callback_head task_work;
	unsigned long task_work_queued;		/* bit 0 */
	struct tasklet_struct tasklet;		/* runs @ops->poll_softirq */
	/* the CPU's count that @tasklet is part of; valid while it is scheduled */
	atomic_t *pending_tasklets;
	/* raises KVNET_EV_TIMER, in hard interrupt context */
	struct hrtimer timer;
	/*
	 * when @timer expires, by the local clock, or 0; written in a session, or while SCHED is
	 * set
	 */
	u64 deadline_ns;
	/* selects the events that are timestamped; written while SCHED or TASK_WORK is set */
	u8 sample_count;
	/* the time of the event; 0: no timestamp; written as @sample_count */
	u64 woken_ns;
	/* busy polls that found work; written by the worker */
	unsigned long busy_poll_hits;
	/* busy polls that found none; written by the worker */
	unsigned long busy_poll_misses;
	/* KVNET_EV_KICK events, whether they scheduled the work or not */
	atomic_long_t kicks;
	atomic_long_t wakeups;			/* events that queued the work to its worker */
};

/*
 * The time from the event that scheduled the work to this poll, in ns; 0 for an event without a
 * timestamp, and for each further call. Called by the context that runs the work.
 */
static inline u64 kvnet_work_consume_wake_latency(struct kvnet_work *work)
{
	u64 now, then = KVNET_STATS_ENABLED ? READ_ONCE(work->woken_ns) : 0;

	if (likely(!then))
		return 0;
	WRITE_ONCE(work->woken_ns, 0);
	now = local_clock();
	/* The clock of another CPU may be behind. */
	return now > then ? now - then : 1;
}

static inline u64 kvnet_work_busy_poll_ns(const struct kvnet_work *work)
{
	return (u64)READ_ONCE(work->busy_poll_us) * NSEC_PER_USEC;
}

/* See kvnet_run_state_complete() and kvnet_run_state_reschedule(). */
static inline bool kvnet_work_complete(struct kvnet_work *work, unsigned int events)
{
	return kvnet_run_state_complete(&work->run_state, events);
}

static inline bool kvnet_work_reschedule(struct kvnet_work *work)
{
	return kvnet_run_state_reschedule(&work->run_state);
}

bool kvnet_work_cpu_may_inline(void);
void kvnet_work_init(struct kvnet_work *work, struct kvnet_workers *workers,
		     const struct kvnet_work_ops *ops);
bool kvnet_work_schedule_prep(struct kvnet_work *work, unsigned int event);
void kvnet_work_schedule(struct kvnet_work *work, unsigned int event);
void kvnet_work_queue(struct kvnet_work *work, unsigned int event);
bool kvnet_work_complete_for(struct kvnet_work *work, unsigned int events, u32 ns);
void kvnet_work_start_timer(struct kvnet_work *work, u64 now_ns, u32 ns);

#endif /* _KVNET_WORK_H */
