/* SPDX-License-Identifier: GPL-2.0 */
/*
 * work.h - something to serve: what it can do, and what wakes it
 *
 * Who serves knows no virtqueue: a source is a few functions.
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
#include "task_work.h"
#include "stats.h"

/* Of so many kicks, or frames, that wake a source one is timed. A power of two. */
#define KVNET_WORK_SAMPLE_EVERY	16

/* Of all devices, what one CPU's softirq has still to run: what is more is the workers'. */
#define KVNET_WORK_TASKLETS_MAX	4

struct kvnet_workers;
struct kvnet_work;
struct kvnet_worker;

/**
 * enum kvnet_work_result - how a turn ended
 * @KVNET_WORK_IDLE: nothing left to do; notifications are still off
 * @KVNET_WORK_REPOLL: there is more to do
 * @KVNET_WORK_COMPLETE: the source rests, or somebody else holds it by now
 */
enum kvnet_work_result {
	KVNET_WORK_IDLE,
	KVNET_WORK_REPOLL,
	KVNET_WORK_COMPLETE,
};

/**
 * struct kvnet_work_ops - what a source can do; called by who holds it
 * @poll: do one turn's worth of work; what finds nothing left rests at once, if
 *	  kvnet_worker_may_complete(); may sleep
 * @pending: a quick look whether @poll would find work; may sleep
 * @poll_vcpu: as @poll, by the thread that kicked: no more than is worth it, and then rest
 *	       or KVNET_WORK_REPOLL; NULL if that cannot be; may sleep
 * @poll_softirq: as @poll, by whoever brings a frame, or when it is time, and must not
 *		  sleep; NULL if that cannot be
 * @rearm: ask for events by kvnet_work_complete(), then look once more; true if
 *	   there is work after all, and it is still held; may sleep
 */
struct kvnet_work_ops {
	enum kvnet_work_result (*poll)(struct kvnet_work *src);
	enum kvnet_work_result (*poll_vcpu)(struct kvnet_work *src);
	enum kvnet_work_result (*poll_softirq)(struct kvnet_work *src);
	bool (*pending)(struct kvnet_work *src);
	bool (*rearm)(struct kvnet_work *src);
};

/**
 * struct kvnet_work - something a worker serves
 * @ops: const after init
 * @workers: the device's workers; const after init
 * @worker: which serves it; const after init
 * @index: its place in &kvnet_workers.work, const after init
 * @busy_poll_us: the longest spin of its worker, in us; 0: none
 * @run_state: who may run it
 * @task_work: for the thread that kicks
 * @tasklet: for the softirq of who brings a frame
 * @pending_tasklets: where @tasklet counts while it is scheduled; written by the holder
 * @timer: KVNET_EV_TIMER
 * @timer_inline: which is for no more than a softirq can do; written by the holder
 * @deadline_ns: when, by the local clock, or 0; the holder's
 * @event_inline: the next event is for little, as far as its holder knows
 * @woken_ns: when it was woken, if that is timed, or 0; written by the holder
 * @sample_count: which are; written by the holder
 * @busy_poll_hits: spins that have found work; written by the holder
 * @busy_poll_misses: spins that have found none; written by the holder
 * @kicks: KVNET_EV_KICK events, whether they woke the worker or not
 * @wakeups: events that woke its worker
 */
struct kvnet_work {
	const struct kvnet_work_ops *ops;
	struct kvnet_workers *workers;
	struct kvnet_worker *worker;
	unsigned int index;
	u32 busy_poll_us;
	struct kvnet_run_state run_state;
	struct kvnet_task_work task_work;
	struct tasklet_struct tasklet;
	atomic_t *pending_tasklets;
	struct hrtimer timer;
	bool timer_inline;
	u64 deadline_ns;
	bool event_inline;
	u8 sample_count;
	u64 woken_ns;
	unsigned long busy_poll_hits;
	unsigned long busy_poll_misses;
	atomic_long_t kicks;
	atomic_long_t wakeups;
};

/**
 * kvnet_work_consume_wake_latency() - how long ago was a source woken?
 * @work: the source
 *
 * Told once, of those that are timed.
 *
 * Context: who holds the source, at the beginning of a turn.
 * Return: ns, at least 1; 0 if it is not known.
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

/* The longest spin of the worker, in ns. */
static inline u64 kvnet_work_busy_poll_ns(const struct kvnet_work *work)
{
	return (u64)READ_ONCE(work->busy_poll_us) * NSEC_PER_USEC;
}

void kvnet_work_init(struct kvnet_work *work, struct kvnet_workers *workers,
		     const struct kvnet_work_ops *ops);
void kvnet_work_reset(struct kvnet_work *work);
bool kvnet_work_schedule_prep(struct kvnet_work *work, unsigned int event);
void kvnet_work_schedule(struct kvnet_work *work, unsigned int event);
void kvnet_work_queue(struct kvnet_work *work, unsigned int event);
bool kvnet_worker_may_complete(const struct kvnet_work *work);
bool kvnet_work_complete(struct kvnet_work *work, unsigned int events);
bool kvnet_work_complete_for(struct kvnet_work *work, u32 ns);
void kvnet_work_start_timer(struct kvnet_work *work, u64 now_ns, u32 min_ns, u32 max_ns,
			    bool timer_inline);
bool kvnet_work_reschedule(struct kvnet_work *work);

#endif /* _KVNET_WORK_H */
