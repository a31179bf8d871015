/* SPDX-License-Identifier: GPL-2.0 */
/*
 * source.h - something to serve: what it can do, and what wakes it
 *
 * Who serves knows no virtqueue: a source is a few functions.
 * Documentation/worker.rst draws the states.
 */
#ifndef _KVNET_SOURCE_H
#define _KVNET_SOURCE_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/interrupt.h>
#include <linux/sched/clock.h>
#include <linux/time64.h>
#include <linux/types.h>

#include "claim.h"
#include "lend.h"
#include "stats.h"

/* Of so many kicks, or frames, that wake a source one is timed. A power of two. */
#define KVNET_SOURCE_TIMED	16

/* Of all devices, what one CPU's softirq has still to run: what is more is the workers'. */
#define KVNET_SOURCE_PENDING	4

struct kvnet_crew;
struct kvnet_source;
struct kvnet_worker;

/**
 * enum kvnet_verdict - how a turn ended
 * @KVNET_DONE: nothing left to do; notifications are still off
 * @KVNET_AGAIN: there is more to do
 * @KVNET_RESTS: the source rests, or somebody else holds it by now
 */
enum kvnet_verdict {
	KVNET_DONE,
	KVNET_AGAIN,
	KVNET_RESTS,
};

/**
 * struct kvnet_source_ops - what a source can do; called by who holds it
 * @run: do one turn's worth of work; what finds nothing left rests at once, if
 *	 kvnet_source_may_rest(); may sleep
 * @pending: a quick look whether @run would find work; may sleep
 * @run_lent: as @run, by the thread that kicked: no more than is worth it, and then rest
 *	      or KVNET_AGAIN; NULL if that cannot be; may sleep
 * @run_soft: as @run, by whoever brings a frame, or when it is time, and must not
 *	      sleep; NULL if that cannot be
 * @arm: ask for events by kvnet_source_rest(), then look once more; true if
 *	 there is work after all, and it is still held; may sleep
 */
struct kvnet_source_ops {
	enum kvnet_verdict (*run)(struct kvnet_source *src);
	enum kvnet_verdict (*run_lent)(struct kvnet_source *src);
	enum kvnet_verdict (*run_soft)(struct kvnet_source *src);
	bool (*pending)(struct kvnet_source *src);
	bool (*arm)(struct kvnet_source *src);
};

/**
 * struct kvnet_source - something a worker serves
 * @ops: const after init
 * @crew: the device's workers; const after init
 * @worker: which serves it; const after init
 * @bit: its place in &kvnet_crew.source, const after init
 * @busy_us: the longest spin of its worker, in us; 0: none
 * @claim: who may run it
 * @loan: for the thread that kicks
 * @soft: for the softirq of who brings a frame
 * @pending: where @soft counts while it is scheduled; written by the holder
 * @timer: KVNET_EV_TIME
 * @alarm: which is for no more than a softirq can do; written by the holder
 * @alarm_ns: when, by the local clock, or 0; the holder's
 * @lone: the next event is for little, as far as its holder knows
 * @woken_ns: when it was woken, if that is timed, or 0; written by the holder
 * @timed: which are; written by the holder
 * @polls_hit: spins that have found work; written by the holder
 * @polls_missed: spins that have found none; written by the holder
 * @kicks: KVNET_EV_KICK events, whether they woke the worker or not
 * @wakes: events that woke its worker
 */
struct kvnet_source {
	const struct kvnet_source_ops *ops;
	struct kvnet_crew *crew;
	struct kvnet_worker *worker;
	unsigned int bit;
	u32 busy_us;
	struct kvnet_claim claim;
	struct kvnet_loan loan;
	struct tasklet_struct soft;
	atomic_t *pending;
	struct hrtimer timer;
	bool alarm;
	u64 alarm_ns;
	bool lone;
	u8 timed;
	u64 woken_ns;
	unsigned long polls_hit;
	unsigned long polls_missed;
	atomic_long_t kicks;
	atomic_long_t wakes;
};

/**
 * kvnet_source_woken() - how long ago was a source woken?
 * @src: the source
 *
 * Told once, of those that are timed.
 *
 * Context: who holds the source, at the beginning of a turn.
 * Return: ns, at least 1; 0 if it is not known.
 */
static inline u64 kvnet_source_woken(struct kvnet_source *src)
{
	u64 now, then = KVNET_COUNTS ? READ_ONCE(src->woken_ns) : 0;

	if (likely(!then))
		return 0;
	WRITE_ONCE(src->woken_ns, 0);
	now = local_clock();
	/* The clock of another CPU may be behind. */
	return now > then ? now - then : 1;
}

/* The longest spin of the worker, in ns. */
static inline u64 kvnet_source_spin_ns(const struct kvnet_source *src)
{
	return (u64)READ_ONCE(src->busy_us) * NSEC_PER_USEC;
}

void kvnet_source_init(struct kvnet_source *src, struct kvnet_crew *crew,
		       const struct kvnet_source_ops *ops);
void kvnet_source_reset(struct kvnet_source *src);
bool kvnet_source_take(struct kvnet_source *src, unsigned int event);
void kvnet_source_wake(struct kvnet_source *src, unsigned int event);
void kvnet_source_hand_over(struct kvnet_source *src, unsigned int event);
bool kvnet_source_may_rest(const struct kvnet_source *src);
bool kvnet_source_rest(struct kvnet_source *src, unsigned int events);
bool kvnet_source_rest_for(struct kvnet_source *src, u32 ns);
void kvnet_source_alarm(struct kvnet_source *src, u64 now_ns, u32 ns, u32 late_ns,
			bool soft);
bool kvnet_source_again(struct kvnet_source *src);

#endif /* _KVNET_SOURCE_H */
