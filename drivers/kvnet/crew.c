// SPDX-License-Identifier: GPL-2.0
/*
 * crew.c - the workers of a device: their beginning and their end, see crew.h
 */
#include "crew.h"

#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/wait_bit.h>

#include "lend.h"
#include "source.h"

void kvnet_crew_init(struct kvnet_crew *crew, const struct kvnet_crew_ops *ops)
{
	crew->ops = ops;
	crew->stopping = true;
}

static int start_worker(struct kvnet_crew *crew, unsigned int i, bool fork)
{
	struct kvnet_worker *w = &crew->worker[i];

	memset(w, 0, sizeof(*w));
	w->src = crew->source[i];
	return kvnet_thread_start(&w->thread, crew->mm, fork, &kvnet_worker_ops, w);
}

/**
 * kvnet_crew_start() - make the workers
 * @crew: the crew, without workers
 * @mm: the address space to serve; the caller keeps it until
 *	kvnet_crew_stop() has returned
 * @fork: their threads are of the owner's process, see thread.h
 * @lends: what is small may be done by the thread that kicks, if the kernel can
 * @soft: what is small may be done in a softirq of who brings it
 *
 * kvnet_crew_has_begun() is to follow.
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: as kvnet_thread_start().
 */
int kvnet_crew_start(struct kvnet_crew *crew, struct mm_struct *mm, bool fork,
		     bool lends, bool soft)
{
	unsigned int i;
	int ret = 0;

	crew->mm = mm;
	crew->owner = task_tgid_nr(current);
	kvnet_crew_set_lends(crew, lends);
	WRITE_ONCE(crew->soft, soft);
	atomic_set(&crew->beginning, crew->n + 1);
	for (i = 0; i < crew->n; i++)
		kvnet_source_reset(crew->source[i]);
	/* Before a worker looks at it that is killed as it begins. */
	WRITE_ONCE(crew->stopping, false);
	for (i = 0; i < crew->n && !ret; i++)
		ret = start_worker(crew, i, fork);
	if (ret)
		kvnet_crew_stop(crew);
	return ret;
}

/**
 * kvnet_crew_has_begun() - one of the workers has, or others know the device by now
 * @src: that worker's source, or any
 *
 * Context: the worker; or the owner, with dev->lock. May sleep.
 */
void kvnet_crew_has_begun(struct kvnet_source *src)
{
	struct kvnet_crew *crew = src->crew;

	if (atomic_dec_and_test(&crew->beginning))
		crew->ops->begun(src);
}

/**
 * kvnet_crew_kill() - the workers begin nothing any more; kernel threads wait for no page
 * @crew: the crew, with or without workers; not stopped meanwhile
 *
 * Context: any process.
 */
void kvnet_crew_kill(struct kvnet_crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++)
		kvnet_thread_kill(&crew->worker[i].thread);
}

/**
 * kvnet_crew_leave_memory() - no worker keeps the owner's memory, but tasks of its process
 * @crew: the crew, with or without workers, after kvnet_crew_kill()
 *
 * Context: may sleep, until turns that are under way are over; dev->lock.
 */
void kvnet_crew_leave_memory(struct kvnet_crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++)
		kvnet_thread_leave_memory(&crew->worker[i].thread);
}

/**
 * kvnet_crew_no_time() - it is not time for any source any more, nor will be
 * @crew: the crew
 *
 * Nor is a worker woken. Till kvnet_crew_start().
 *
 * Context: may sleep.
 */
void kvnet_crew_no_time(struct kvnet_crew *crew)
{
	unsigned int i;

	WRITE_ONCE(crew->stopping, true);
	for (i = 0; i < crew->n; i++)
		hrtimer_cancel(&crew->source[i]->timer);
}

/**
 * kvnet_crew_call_off() - neither vCPU threads nor softirqs run any source, nor will
 * @crew: the crew; nothing outside of it can wake a source any more, nor is it time
 *	  for any
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_crew_call_off(struct kvnet_crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++) {
		kvnet_claim_take_lent(&crew->source[i]->claim);
		tasklet_kill(&crew->source[i]->soft);
	}
	WRITE_ONCE(crew->calls_off, true);
	/* Before it is looked at; see run_lent(). */
	smp_mb();
	wait_var_event(&crew->lent, !atomic_read(&crew->lent));
	WRITE_ONCE(crew->calls_off, false);
}

/**
 * kvnet_crew_stop() - end all workers
 * @crew: the crew, with or without workers; after kvnet_crew_call_off()
 *
 * When it returns no source runs, nor will.
 *
 * Context: may sleep, see kvnet_thread_stop(); dev->lock.
 */
void kvnet_crew_stop(struct kvnet_crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++)
		kvnet_thread_stop(&crew->worker[i].thread);
	/* A worker that has run meanwhile may have started one. */
	kvnet_crew_no_time(crew);
}

/* Of events from now on, if the kernel can. */
void kvnet_crew_set_lends(struct kvnet_crew *crew, bool lends)
{
	WRITE_ONCE(crew->lends, lends && kvnet_lend_possible());
}
