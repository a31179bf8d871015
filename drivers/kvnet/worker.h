/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker.h - the thread that serves a source: when to run it, to spin, to sleep
 *
 * Documentation/worker.rst draws the states.
 */
#ifndef _KVNET_WORKER_H
#define _KVNET_WORKER_H

#include <linux/types.h>

#include "busy_poll.h"
#include "thread.h"

struct kvnet_work;

/**
 * enum kvnet_worker_state - what a worker knows of its source
 * @KVNET_WORKER_SLEEPING: the worker does not hold it
 * @KVNET_WORKER_BUSY_POLLING: held, and there is no work
 * @KVNET_WORKER_RUNNING: held, and there is work
 */
enum kvnet_worker_state {
	KVNET_WORKER_SLEEPING,
	KVNET_WORKER_BUSY_POLLING,
	KVNET_WORKER_RUNNING,
};

/**
 * struct kvnet_worker - a thread, and the source that it serves
 * @queued: the worker holds the source from now on; set by the previous holder, cleared by
 *	    the thread
 * @thread: the thread
 * @work: the source; const after init
 * @state: the thread's
 * @busy_poll: the thread's; spin policy
 * @idle_since_ns: the thread's; when the last work ended, in ns; 0: not known
 */
struct kvnet_worker {
	bool queued;
	struct kvnet_thread thread;
	struct kvnet_work *work;
	enum kvnet_worker_state state;
	struct kvnet_busy_poll busy_poll;
	u64 idle_since_ns;
};

extern const struct kvnet_thread_ops kvnet_worker_thread_ops;

#endif /* _KVNET_WORKER_H */
