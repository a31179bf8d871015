/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker.h - who runs, and when
 *
 * A worker is a thread in the owner's address space that serves a few sources. It
 * knows no virtqueue: a source is three functions. Taking turns and spinning exist
 * here once, for all of them. Documentation/worker.rst draws the states.
 */
#ifndef _KVNET_WORKER_H
#define _KVNET_WORKER_H

#include <linux/atomic.h>
#include <linux/hrtimer.h>
#include <linux/types.h>

#include "claim.h"
#include "lend.h"
#include "poll.h"
#include "thread.h"

struct kvnet_source;
struct kvnet_worker;
struct mm_struct;

#define KVNET_WORKER_SOURCES	2

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
 * @arm: ask for events by kvnet_source_rest(), then look once more; true if
 *	 there is work after all, and it is still held; may sleep
 */
struct kvnet_source_ops {
	enum kvnet_verdict (*run)(struct kvnet_source *src);
	enum kvnet_verdict (*run_lent)(struct kvnet_source *src);
	bool (*pending)(struct kvnet_source *src);
	bool (*arm)(struct kvnet_source *src);
};

/**
 * struct kvnet_source - something a worker serves
 * @ops: const after init
 * @worker: const after init
 * @bit: its place in &kvnet_worker.source, const after init
 * @claim: who may run it
 * @loan: for the thread that kicks
 * @timer: KVNET_EV_TIME
 * @lone: the next kick is for little, as far as its holder knows
 * @kicks: KVNET_EV_KICK events, whether they woke the worker or not
 * @wakes: events that put it on the worker's list
 */
struct kvnet_source {
	const struct kvnet_source_ops *ops;
	struct kvnet_worker *worker;
	unsigned int bit;
	struct kvnet_claim claim;
	struct kvnet_loan loan;
	struct hrtimer timer;
	bool lone;
	atomic_long_t kicks;
	atomic_long_t wakes;
};

/**
 * struct kvnet_worker_ops - the device of a worker
 * @gone: called by the thread when it serves no source any more, nor will: the
 *	  owner is dead, or the thread ends; may sleep
 * @get: the worker stays until @put; called in any context
 * @put: may sleep
 */
struct kvnet_worker_ops {
	void (*gone)(struct kvnet_worker *w);
	void (*get)(struct kvnet_worker *w);
	void (*put)(struct kvnet_worker *w);
};

/**
 * struct kvnet_worker - a thread and its sources
 *
 * The thread's fields belong to it alone.
 *
 * @ready: sources that the worker holds from now on, by bit; set by who held them
 *	   before, taken by the thread
 * @thread: the thread
 * @ops: const after init
 * @lends: what is small may be done by the thread that kicks; const while the thread
 *	   lives
 * @lent: threads that do so just now
 * @stopping: it is never time any more
 * @owner: pid of the owner, for traces
 * @source: what it serves; const while the thread lives
 * @n: entries in @source
 * @cap_ns: longest spin, in ns, as configured
 * @active: the thread's; held, and there is work
 * @idle: the thread's; held, and there is none
 * @alone: the thread's; no source but the one that runs has work, or may have
 * @poll: the thread's; spin policy
 * @idle_since: the thread's; when the last work ended, in ns; 0: not known
 */
struct kvnet_worker {
	unsigned long ready;
	struct kvnet_thread thread;
	const struct kvnet_worker_ops *ops;
	bool lends;
	atomic_t lent;
	bool stopping;
	pid_t owner;
	struct kvnet_source *source[KVNET_WORKER_SOURCES];
	unsigned int n;
	u64 cap_ns;
	unsigned long active;
	unsigned long idle;
	bool alone;
	struct kvnet_poll poll;
	u64 idle_since;
};

void kvnet_worker_init(struct kvnet_worker *w,
		       const struct kvnet_worker_ops *ops);
void kvnet_worker_add(struct kvnet_worker *w, struct kvnet_source *src,
		      const struct kvnet_source_ops *ops);
int kvnet_worker_start(struct kvnet_worker *w, struct mm_struct *mm, bool fork,
		       bool lends);
void kvnet_worker_no_time(struct kvnet_worker *w);
void kvnet_worker_stop(struct kvnet_worker *w);
void kvnet_worker_set_cap(struct kvnet_worker *w, u64 cap_ns);

void kvnet_source_wake(struct kvnet_source *src, unsigned int event);
bool kvnet_source_may_rest(const struct kvnet_source *src);
bool kvnet_source_rest(struct kvnet_source *src, unsigned int events);
bool kvnet_source_rest_for(struct kvnet_source *src, u32 ns);
bool kvnet_source_again(struct kvnet_source *src);

#endif /* _KVNET_WORKER_H */
