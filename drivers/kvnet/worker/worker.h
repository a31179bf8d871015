/* SPDX-License-Identifier: GPL-2.0 */
/*
 * worker.h - the workers of a device: one thread for each queue's work
 *
 * They exist from SET_OWNER until RESET_OWNER, the last close, or the owner's death, and use the
 * owner's address space. Documentation/worker.rst draws the states of a worker.
 */
#ifndef _KVNET_WORKER_H
#define _KVNET_WORKER_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "busy_poll.h"
#include "thread.h"

struct kvnet_work;
struct kvnet_workers;
struct mm_struct;

#define KVNET_WORKERS_MAX	2

/* A thread and its work */
struct kvnet_worker {
	/*
	 * from here on only the worker may touch the work; set by the context that has set SCHED,
	 * which may be the worker itself, cleared by the thread before it polls
	 */
	bool queued;
	struct kvnet_thread thread;
	struct kvnet_work *work;		/* const after init */
	/* only for the thread; the adaptive limit of busy polling */
	struct kvnet_busy_poll busy_poll;
	/* only for the thread; when the work became idle, in ns; 0: not measured */
	u64 idle_since_ns;
};

/**
 * struct kvnet_workers_ops - callbacks of the device
 * @started: called once, when all threads run and the device is registered; by the last worker
 *	     with its work, or by the owner; may sleep
 * @owner_died: called by each worker's thread if the owner has died: the worker polls no more;
 *		may sleep
 * @get: takes a reference to the device; any context
 * @put: drops it; may sleep
 */
struct kvnet_workers_ops {
	void (*started)(struct kvnet_work *work);
	void (*owner_died)(struct kvnet_workers *workers);
	void (*get)(struct kvnet_workers *workers);
	void (*put)(struct kvnet_workers *workers);
};

/* The workers of a device */
struct kvnet_workers {
	const struct kvnet_workers_ops *ops;	/* const after init */
	pid_t owner;				/* PID of the owner, for traces */
	/* policy: sessions may permit task_work of the kicking vCPU thread */
	bool allow_vcpu;
	bool allow_softirq;			/* policy: sessions may permit a tasklet */
	atomic_t vcpu_running;			/* number of threads in poll_work_vcpu() */
	/* threads that do not run yet, plus one until the device is registered */
	atomic_t n_starting;
	unsigned int n;				/* used entries of @worker; const after init */
	struct kvnet_worker worker[KVNET_WORKERS_MAX];	/* by the index of the work */
};

bool kvnet_worker_may_complete(const struct kvnet_work *work);

int kvnet_workers_start(struct kvnet_workers *workers, struct mm_struct *mm, bool fork,
			bool allow_vcpu, bool allow_softirq);
void kvnet_workers_note_started(struct kvnet_work *work);
void kvnet_workers_kill(struct kvnet_workers *workers);
void kvnet_workers_cancel_inline(struct kvnet_workers *workers);
void kvnet_workers_stop(struct kvnet_workers *workers);
void kvnet_workers_set_allow_vcpu(struct kvnet_workers *workers, bool allow_vcpu);

#endif /* _KVNET_WORKER_H */
