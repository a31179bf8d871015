/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker.h - who runs, and when
 *
 * A worker is a thread in the owner's address space that serves a few sources. It knows no virtqueue: a source is three functions. Taking turns,
 * spinning, and "ask for notifications, look once more, sleep" exist here
 * once, for all of them. Documentation/worker.rst draws the states.
 */
#ifndef _KVNET_WORKER_H
#define _KVNET_WORKER_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/types.h>

#include "poll.h"
#include "thread.h"

struct kvnet_source;
struct kvnet_worker;
struct mm_struct;

#define KVNET_WORKER_SOURCES	2

/* What can wake a source. */
#define KVNET_EV_KICK	BIT(0)	/* the driver's kick */
#define KVNET_EV_TAP	BIT(1)	/* the tap became readable or writable */
#define KVNET_EV_CTRL	BIT(2)	/* set-up changed; never masked */

/**
 * enum kvnet_verdict - how a turn ended
 * @KVNET_DONE: nothing left to do; notifications are still off
 * @KVNET_AGAIN: the budget is spent, there is more to do
 * @KVNET_WAIT: there is more to do, but not before some event
 */
enum kvnet_verdict {
	KVNET_DONE,
	KVNET_AGAIN,
	KVNET_WAIT,
};

/**
 * struct kvnet_source_ops - what a source can do; called by the worker thread
 * @run: do one turn's worth of work; may sleep
 * @pending: a quick look whether @run would find work; may sleep
 * @arm: ask for events by kvnet_source_expect(), then look once more; true if
 *	 there is work after all; may sleep
 */
struct kvnet_source_ops {
	enum kvnet_verdict (*run)(struct kvnet_source *src);
	bool (*pending)(struct kvnet_source *src);
	bool (*arm)(struct kvnet_source *src);
};

/**
 * struct kvnet_source - something a worker serves
 * @ops: const after init
 * @worker: const after init
 * @bit: its place in &kvnet_worker.source, const after init
 * @armed: events that wake it; written by the worker thread
 * @kicks: KVNET_EV_KICK events, whether they woke the worker or not
 * @wakes: events that put it on the worker's list
 */
struct kvnet_source {
	const struct kvnet_source_ops *ops;
	struct kvnet_worker *worker;
	unsigned int bit;
	unsigned int armed;
	atomic_long_t kicks;
	atomic_long_t wakes;
};

/**
 * struct kvnet_worker - a thread and its sources
 *
 * The thread's fields belong to it alone.
 *
 * @ready: sources with an event, by bit; set by anyone, taken by the thread
 * @thread: the thread
 * @gone: what to do when it is not served any more; const after init
 * @owner: pid of the owner, for traces
 * @source: what it serves; const while the thread lives
 * @n: entries in @source
 * @cap_ns: longest spin, in ns, as configured
 * @active: the thread's; sources that have work
 * @idle: the thread's; sources that have none, and are not armed
 * @poll: the thread's; spin policy
 * @idle_since: the thread's; when the last work ended, in ns; 0: not known
 */
struct kvnet_worker {
	unsigned long ready;
	struct kvnet_thread thread;
	void (*gone)(struct kvnet_worker *w);
	pid_t owner;
	struct kvnet_source *source[KVNET_WORKER_SOURCES];
	unsigned int n;
	u64 cap_ns;
	unsigned long active;
	unsigned long idle;
	struct kvnet_poll poll;
	u64 idle_since;
};

void kvnet_worker_init(struct kvnet_worker *w,
		       void (*gone)(struct kvnet_worker *w));
void kvnet_worker_add(struct kvnet_worker *w, struct kvnet_source *src,
		      const struct kvnet_source_ops *ops);
int kvnet_worker_start(struct kvnet_worker *w, struct mm_struct *mm, bool fork);
void kvnet_worker_stop(struct kvnet_worker *w);
void kvnet_worker_set_cap(struct kvnet_worker *w, u64 cap_ns);

void kvnet_source_wake(struct kvnet_source *src, unsigned int event);
void kvnet_source_expect(struct kvnet_source *src, unsigned int events);

#endif /* _KVNET_WORKER_H */
