/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker.h - the thread that serves a source: when to run it, to spin, to sleep
 *
 * Documentation/worker.rst draws the states.
 */
#ifndef _KVNET_WORKER_H
#define _KVNET_WORKER_H

#include <linux/types.h>

#include "poll.h"
#include "thread.h"

struct kvnet_source;

/**
 * enum kvnet_worker_state - what a worker knows of its source
 * @KVNET_WORKER_SLEEPS: the worker does not hold it
 * @KVNET_WORKER_IDLE: held, and there is no work
 * @KVNET_WORKER_ACTIVE: held, and there is work
 */
enum kvnet_worker_state {
	KVNET_WORKER_SLEEPS,
	KVNET_WORKER_IDLE,
	KVNET_WORKER_ACTIVE,
};

/**
 * struct kvnet_worker - a thread, and the source that it serves
 * @ready: the worker holds the source from now on; set by the previous holder, cleared by
 *	   the thread
 * @thread: the thread
 * @src: the source; const after init
 * @state: the thread's
 * @poll: the thread's; spin policy
 * @idle_since: the thread's; when the last work ended, in ns; 0: not known
 */
struct kvnet_worker {
	bool ready;
	struct kvnet_thread thread;
	struct kvnet_source *src;
	enum kvnet_worker_state state;
	struct kvnet_poll poll;
	u64 idle_since;
};

extern const struct kvnet_thread_ops kvnet_worker_ops;

#endif /* _KVNET_WORKER_H */
