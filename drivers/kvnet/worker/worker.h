/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker.h - a worker: the thread that polls one queue, busy-polls and sleeps
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
 * enum kvnet_worker_state - what the worker does next
 * @KVNET_WORKER_SLEEPING: SCHED is clear, or another context has set it
 * @KVNET_WORKER_BUSY_POLLING: SCHED is set, there is no work
 * @KVNET_WORKER_RUNNING: SCHED is set, there is work
 */
enum kvnet_worker_state {
	KVNET_WORKER_SLEEPING,
	KVNET_WORKER_BUSY_POLLING,
	KVNET_WORKER_RUNNING,
};

/**
 * struct kvnet_worker - a thread and its work
 * @queued: from here on only the worker may touch the work; set by the context that has set
 *	    SCHED, cleared by the thread
 * @thread: the thread
 * @work: const after init
 * @state: only for the thread
 * @busy_poll: only for the thread; the adaptive limit of busy polling
 * @idle_since_ns: only for the thread; when the work became idle, in ns; 0: not measured
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
