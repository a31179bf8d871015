// SPDX-License-Identifier: GPL-2.0
/*
 * workers.c - the workers of a device: their beginning and their end, see workers.h
 */
#include "workers.h"

#include <linux/pid.h>
#include <linux/sched.h>
#include <linux/string.h>
#include <linux/wait_bit.h>

#include "task_work.h"
#include "work.h"

void kvnet_workers_init(struct kvnet_workers *workers, const struct kvnet_workers_ops *ops)
{
	workers->ops = ops;
	workers->stopping = true;
}

static int start_worker(struct kvnet_workers *workers, unsigned int i, bool fork)
{
	struct kvnet_worker *w = &workers->worker[i];

	memset(w, 0, sizeof(*w));
	w->work = workers->work[i];
	return kvnet_thread_start(&w->thread, workers->mm, fork, &kvnet_worker_thread_ops, w);
}

/**
 * kvnet_workers_start() - make the workers
 * @workers: the crew, without workers
 * @mm: the address space to serve; the caller keeps it until
 *	kvnet_workers_stop() has returned
 * @fork: their threads are of the owner's process, see thread.h
 * @allow_vcpu: what is small may be done by the thread that kicks, if the kernel can
 * @allow_softirq: what is small may be done in a softirq of who brings it
 *
 * kvnet_workers_note_started() is to follow.
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: as kvnet_thread_start().
 */
int kvnet_workers_start(struct kvnet_workers *workers, struct mm_struct *mm, bool fork,
			bool allow_vcpu, bool allow_softirq)
{
	unsigned int i;
	int ret = 0;

	workers->mm = mm;
	workers->owner = task_tgid_nr(current);
	kvnet_workers_set_allow_vcpu(workers, allow_vcpu);
	WRITE_ONCE(workers->allow_softirq, allow_softirq);
	atomic_set(&workers->n_starting, workers->n + 1);
	for (i = 0; i < workers->n; i++)
		kvnet_work_reset(workers->work[i]);
	/* Before a worker looks at it that is killed as it begins. */
	WRITE_ONCE(workers->stopping, false);
	for (i = 0; i < workers->n && !ret; i++)
		ret = start_worker(workers, i, fork);
	if (ret)
		kvnet_workers_stop(workers);
	return ret;
}

/**
 * kvnet_workers_note_started() - one of the workers has, or others know the device by now
 * @work: that worker's source, or any
 *
 * Context: the worker; or the owner, with dev->lock. May sleep.
 */
void kvnet_workers_note_started(struct kvnet_work *work)
{
	struct kvnet_workers *workers = work->workers;

	if (atomic_dec_and_test(&workers->n_starting))
		workers->ops->started(work);
}

/**
 * kvnet_workers_kill() - the workers begin nothing any more; kernel threads wait for no page
 * @workers: the crew, with or without workers; not stopped meanwhile
 *
 * Context: any process.
 */
void kvnet_workers_kill(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		kvnet_thread_kill(&workers->worker[i].thread);
}

/**
 * kvnet_workers_wait_unuse_mm() - no worker keeps the owner's memory, but tasks of its process
 * @workers: the crew, with or without workers, after kvnet_workers_kill()
 *
 * Context: may sleep, until turns that are under way are over; dev->lock.
 */
void kvnet_workers_wait_unuse_mm(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		kvnet_thread_wait_unuse_mm(&workers->worker[i].thread);
}

/**
 * kvnet_workers_cancel_timers() - it is not time for any source any more, nor will be
 * @workers: the crew
 *
 * Nor is a worker woken. Till kvnet_workers_start().
 *
 * Context: may sleep.
 */
void kvnet_workers_cancel_timers(struct kvnet_workers *workers)
{
	unsigned int i;

	WRITE_ONCE(workers->stopping, true);
	for (i = 0; i < workers->n; i++)
		hrtimer_cancel(&workers->work[i]->timer);
}

/**
 * kvnet_workers_cancel_inline() - neither vCPU threads nor softirqs run any source, nor will
 * @workers: the crew; nothing outside of it can wake a source any more, nor is it time
 *	     for any
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_workers_cancel_inline(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++) {
		kvnet_run_state_grab_task_work(&workers->work[i]->run_state);
		tasklet_kill(&workers->work[i]->tasklet);
	}
	WRITE_ONCE(workers->cancelling, true);
	/* Before it is looked at; see poll_work_vcpu(). */
	smp_mb();
	wait_var_event(&workers->vcpu_running, !atomic_read(&workers->vcpu_running));
	WRITE_ONCE(workers->cancelling, false);
}

/**
 * kvnet_workers_stop() - end all workers
 * @workers: the crew, with or without workers; after kvnet_workers_cancel_inline()
 *
 * When it returns no source runs, nor will.
 *
 * Context: may sleep, see kvnet_thread_stop(); dev->lock.
 */
void kvnet_workers_stop(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		kvnet_thread_stop(&workers->worker[i].thread);
	/* A worker that has run meanwhile may have started one. */
	kvnet_workers_cancel_timers(workers);
}

/* Of events from now on, if the kernel can. */
void kvnet_workers_set_allow_vcpu(struct kvnet_workers *workers, bool allow_vcpu)
{
	WRITE_ONCE(workers->allow_vcpu, allow_vcpu && kvnet_task_work_is_supported());
}
