/* SPDX-License-Identifier: GPL-2.0 */
/*
 * crew.h - the workers of a device: one, or as many as its VMM asks for
 *
 * Each source is at home with one of them. All live in the owner's address space,
 * from its becoming the owner to its end, or its death.
 */
#ifndef _KVNET_CREW_H
#define _KVNET_CREW_H

#include <linux/atomic.h>
#include <linux/kvnet.h>
#include <linux/mutex.h>
#include <linux/types.h>

#include "apart.h"
#include "thread.h"

struct kvnet_crew;
struct kvnet_source;
struct kvnet_worker;
struct mm_struct;

#define KVNET_CREW_SOURCES	2
/* Workers that a VMM may have; after them comes the one that is nobody's but ours. */
#define KVNET_CREW_WORKERS	8
#define KVNET_CREW_SECOND	KVNET_CREW_WORKERS
#define KVNET_CREW_ALL		(KVNET_CREW_WORKERS + 1)

/**
 * struct kvnet_crew_ops - the device
 * @gone: called by each worker's thread when it serves no source any more, nor will:
 *	  the owner is dead, or the thread ends; may sleep
 * @get: the crew stays until @put; called in any context
 * @put: may sleep
 */
struct kvnet_crew_ops {
	void (*gone)(struct kvnet_crew *crew);
	void (*get)(struct kvnet_crew *crew);
	void (*put)(struct kvnet_crew *crew);
};

/**
 * struct kvnet_crew - the workers of a device
 * @ops: const after init
 * @threads: of the workers
 * @owner: pid of the owner, for traces
 * @lends: what is small may be done by the thread that kicks
 * @soft: what is small may be done in a softirq
 * @lent: threads that do so just now
 * @calls_off: somebody waits until there is none
 * @stopping: it is never time any more, and nobody hands anything over
 * @source: what is served; const after init
 * @n: entries in @source
 * @roster: for those who have no dev->lock: guards @worker, and that no thread
 *	    of @worker is stopped until who has found the device has done (registry.h)
 * @lock: likewise, for those who only look: not held for long, whatever who has @roster waits for
 * @worker: by their ids; changes with dev->lock, @roster and @lock, KVNET_CREW_SECOND with
 *	    @roster and @lock
 * @policy: KVNET_THREAD_POLICY_*, as wanted
 * @by_vmm: it says who serves what; changes with dev->lock and @roster
 * @rule: whether a second thread pays; belongs to who holds the last source
 * @again_ns: no sooner is one made, after it could not be; with @roster
 * @parted: times that the last source got a thread of its own; so all of these: counters
 * @joined: that it was given back; written by who holds it
 * @refused: threads that could not be had
 * @cap_ns: longest spin, in ns, as configured
 */
struct kvnet_crew {
	const struct kvnet_crew_ops *ops;
	struct kvnet_threads threads;
	pid_t owner;
	bool lends;
	bool soft;
	atomic_t lent;
	bool calls_off;
	bool stopping;
	struct kvnet_source *source[KVNET_CREW_SOURCES];
	unsigned int n;
	struct mutex roster;
	spinlock_t lock;
	struct kvnet_worker *worker[KVNET_CREW_ALL];
	u32 policy;
	bool by_vmm;
	struct kvnet_apart rule;
	u64 again_ns;
	unsigned long parted;
	unsigned long joined;
	unsigned long refused;
	u64 cap_ns;
};

void kvnet_crew_init(struct kvnet_crew *crew, const struct kvnet_crew_ops *ops);
int kvnet_crew_start(struct kvnet_crew *crew, struct mm_struct *mm, bool fork,
		     bool lends, bool soft, bool shares);
void kvnet_crew_no_time(struct kvnet_crew *crew);
int kvnet_crew_hire(struct kvnet_crew *crew);
int kvnet_crew_free(struct kvnet_crew *crew, unsigned int id);
int kvnet_crew_attach(struct kvnet_crew *crew, struct kvnet_source *src,
		      unsigned int id);
unsigned int kvnet_crew_serving(const struct kvnet_crew *crew,
				const struct kvnet_source *src);
void kvnet_crew_stop(struct kvnet_crew *crew);
void kvnet_crew_set_cap(struct kvnet_crew *crew, u64 cap_ns);
void kvnet_crew_set_lends(struct kvnet_crew *crew, bool lends);
unsigned long kvnet_crew_at(const struct kvnet_crew *crew, const struct kvnet_worker *w);

/* for crew_apart.c */
void kvnet_crew_list(struct kvnet_crew *crew, unsigned int id, struct kvnet_worker *w);
struct kvnet_worker *kvnet_crew_make(struct kvnet_crew *crew,
				     const struct kvnet_worker *like);
void kvnet_crew_let_go(struct kvnet_crew *crew, struct kvnet_worker *w);

/**
 * struct kvnet_watch - a turn whose time is taken
 * @begin_ns: its begin; 0: it is not
 * @both: the other source has work, too
 */
struct kvnet_watch {
	u64 begin_ns;
	bool both;
};

/* one thread or two: crew_apart.c */
struct kvnet_worker *kvnet_crew_home(const struct kvnet_source *src);
bool kvnet_crew_is_home(const struct kvnet_source *src, const struct kvnet_worker *w);
void kvnet_crew_obey(struct kvnet_source *src, const struct kvnet_worker *by, bool both);
void kvnet_crew_watch(struct kvnet_watch *watch, struct kvnet_source *src, bool both);
void kvnet_crew_watched(const struct kvnet_watch *watch, struct kvnet_source *src);
void kvnet_crew_set_threads(struct kvnet_crew *crew, u32 threads);
int kvnet_crew_dismiss(struct kvnet_crew *crew);
void kvnet_crew_undo_dismiss(struct kvnet_crew *crew, bool said);

#endif /* _KVNET_CREW_H */
