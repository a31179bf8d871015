/* SPDX-License-Identifier: GPL-2.0 */
/*
 * workers.h - the workers of a device: one for each source
 *
 * All live in the owner's address space, from its becoming the owner to its end, or its
 * death.
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
 * struct kvnet_workers_ops - the device
 * @started: called once, when all workers have begun, by the last or the owner; its source;
 *	     may sleep
 * @owner_died: called by each worker's thread when it serves its source no more, nor will:
 *		the owner is dead; may sleep
 * @get: the crew stays until @put; called in any context
 * @put: may sleep
 */
struct kvnet_workers_ops {
	void (*started)(struct kvnet_work *src);
	void (*owner_died)(struct kvnet_workers *crew);
	void (*get)(struct kvnet_workers *crew);
	void (*put)(struct kvnet_workers *crew);
};

/**
 * struct kvnet_workers - the workers of a device
 * @ops: const after init
 * @mm: the owner's address space, which the caller of kvnet_workers_start() keeps; const
 *	while there are workers
 * @owner: pid of the owner, for traces
 * @allow_vcpu: what is small may be done by the thread that kicks
 * @allow_softirq: what is small may be done in a softirq
 * @vcpu_running: threads that do so just now
 * @cancelling: kvnet_workers_cancel_inline() waits until there is none
 * @stopping: no worker is woken any more; also while there is none
 * @n_starting: workers that have not begun, and one more until others know the device
 * @work: what is served; const after init
 * @n: entries in @work
 * @worker: that of each source
 */
struct kvnet_workers {
	const struct kvnet_workers_ops *ops;
	struct mm_struct *mm;
	pid_t owner;
	bool allow_vcpu;
	bool allow_softirq;
	atomic_t vcpu_running;
	bool cancelling;
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
