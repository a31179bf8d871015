/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker.h - a thread that serves sources: whose turn it is, and when to sleep
 *
 * Taking turns and spinning exist here once, for all sources.
 * Documentation/worker.rst draws the states.
 */
#ifndef _KVNET_WORKER_H
#define _KVNET_WORKER_H

#include <linux/types.h>

#include "poll.h"
#include "thread.h"

struct kvnet_crew;

/**
 * struct kvnet_worker - a thread, and the sources that it holds
 *
 * The thread's fields belong to it alone.
 *
 * @ready: sources that the worker holds from now on, by bit; set by who held them
 *	   before, taken by the thread
 * @thread: the thread
 * @crew: which it belongs to; const
 * @dismissed: its end is not that of the device
 * @active: the thread's; held, and there is work
 * @idle: the thread's; held, and there is none
 * @alone: the thread's; no source but the one that runs has work, or may have, nor has
 *	   another worker whose thread it is, too
 * @poll: the thread's; spin policy
 * @idle_since: the thread's; when the last work ended, in ns; 0: not known
 */
struct kvnet_worker {
	unsigned long ready;
	struct kvnet_thread thread;
	struct kvnet_crew *crew;
	bool dismissed;
	unsigned long active;
	unsigned long idle;
	bool alone;
	struct kvnet_poll poll;
	u64 idle_since;
};

extern const struct kvnet_thread_ops kvnet_worker_ops;

#endif /* _KVNET_WORKER_H */
