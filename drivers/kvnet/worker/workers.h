/* SPDX-License-Identifier: GPL-2.0 */
/*
 * workers.h - the workers of a device: one for each queue's work
 *
 * They exist from SET_OWNER until RESET_OWNER, the last close, or the owner's death, and use the
 * owner's address space.
 */
#ifndef _KVNET_WORKERS_H
#define _KVNET_WORKERS_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "worker.h"

struct kvnet_workers;
struct kvnet_work;
struct mm_struct;

#define KVNET_WORKERS_MAX	2

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
	void (*started)(struct kvnet_work *src);
	void (*owner_died)(struct kvnet_workers *workers);
	void (*get)(struct kvnet_workers *workers);
	void (*put)(struct kvnet_workers *workers);
};

/**
 * struct kvnet_workers - the workers of a device
 * @ops: const after init
 * @mm: the owner's address space, kept by the caller of kvnet_workers_start(); const while
 *	there are workers
 * @owner: PID of the owner, for traces
 * @allow_vcpu: task_work of the kicking vCPU thread may run a work
 * @allow_softirq: a tasklet may run a work
 * @vcpu_running: number of threads in poll_work_vcpu()
 * @stopping: no worker is woken; also set while there are no workers
 * @n_starting: threads that do not run yet, plus one until the device is registered
 * @work: one for each queue; const after init
 * @n: entries in @work
 * @worker: by the index of @work
 */
struct kvnet_workers {
	const struct kvnet_workers_ops *ops;
	struct mm_struct *mm;
	pid_t owner;
	bool allow_vcpu;
	bool allow_softirq;
	atomic_t vcpu_running;
	bool stopping;
	atomic_t n_starting;
	struct kvnet_work *work[KVNET_WORKERS_MAX];
	unsigned int n;
	struct kvnet_worker worker[KVNET_WORKERS_MAX];
};

void kvnet_workers_init(struct kvnet_workers *workers, const struct kvnet_workers_ops *ops);
int kvnet_workers_start(struct kvnet_workers *workers, struct mm_struct *mm, bool fork,
			bool allow_vcpu, bool allow_softirq);
void kvnet_workers_note_started(struct kvnet_work *work);
void kvnet_workers_kill(struct kvnet_workers *workers);
void kvnet_workers_wait_unuse_mm(struct kvnet_workers *workers);
void kvnet_workers_cancel_timers(struct kvnet_workers *workers);
void kvnet_workers_cancel_inline(struct kvnet_workers *workers);
void kvnet_workers_stop(struct kvnet_workers *workers);
void kvnet_workers_set_allow_vcpu(struct kvnet_workers *workers, bool allow_vcpu);

#endif /* _KVNET_WORKERS_H */
