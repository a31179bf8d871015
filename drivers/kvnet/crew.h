/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crew.h - the workers of a device: one for each source
 *
 * All live in the owner's address space, from its becoming the owner to its end, or its
 * death.
 */
#ifndef _KVNET_CREW_H
#define _KVNET_CREW_H

#include <linux/atomic.h>
#include <linux/types.h>

#include "worker.h"

struct kvnet_crew;
struct kvnet_source;
struct mm_struct;

#define KVNET_CREW_SOURCES	2

/**
 * struct kvnet_crew_ops - the device
 * @begun: called once, when all workers have begun, by the last or the owner; its source;
 *	   may sleep
 * @gone: called by each worker's thread when it serves its source no more, nor will:
 *	  the owner is dead; may sleep
 * @get: the crew stays until @put; called in any context
 * @put: may sleep
 */
struct kvnet_crew_ops {
	void (*begun)(struct kvnet_source *src);
	void (*gone)(struct kvnet_crew *crew);
	void (*get)(struct kvnet_crew *crew);
	void (*put)(struct kvnet_crew *crew);
};

/**
 * struct kvnet_crew - the workers of a device
 * @ops: const after init
 * @mm: the owner's address space, which the caller of kvnet_crew_start() keeps; const
 *	while there are workers
 * @owner: pid of the owner, for traces
 * @lends: what is small may be done by the thread that kicks
 * @soft: what is small may be done in a softirq
 * @lent: threads that do so just now
 * @calls_off: kvnet_crew_call_off() waits until there is none
 * @stopping: no worker is woken any more; also while there is none
 * @beginning: workers that have not begun, and one more until others know the device
 * @source: what is served; const after init
 * @n: entries in @source
 * @worker: that of each source
 */
struct kvnet_crew {
	const struct kvnet_crew_ops *ops;
	struct mm_struct *mm;
	pid_t owner;
	bool lends;
	bool soft;
	atomic_t lent;
	bool calls_off;
	bool stopping;
	atomic_t beginning;
	struct kvnet_source *source[KVNET_CREW_SOURCES];
	unsigned int n;
	struct kvnet_worker worker[KVNET_CREW_SOURCES];
};

void kvnet_crew_init(struct kvnet_crew *crew, const struct kvnet_crew_ops *ops);
int kvnet_crew_start(struct kvnet_crew *crew, struct mm_struct *mm, bool fork,
		     bool lends, bool soft);
void kvnet_crew_has_begun(struct kvnet_source *src);
void kvnet_crew_kill(struct kvnet_crew *crew);
void kvnet_crew_leave_memory(struct kvnet_crew *crew);
void kvnet_crew_no_time(struct kvnet_crew *crew);
void kvnet_crew_call_off(struct kvnet_crew *crew);
void kvnet_crew_stop(struct kvnet_crew *crew);
void kvnet_crew_set_lends(struct kvnet_crew *crew, bool lends);

#endif /* _KVNET_CREW_H */
