// SPDX-License-Identifier: GPL-2.0
/*
 * workers.c - starts and stops the workers of a device, see workers.h
 *
 * A device stops in this order: watches and timers, then task_work and tasklets, then the threads.
 * So what is stopped is not scheduled again. A worker may start a timer until its thread ends, so
 * kvnet_workers_stop() cancels timers once more.
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
	return kvnet_thread_start(&w->thread, workers->mm, fork, &kvnet_worker_thread_ops);
}

/**
 * kvnet_workers_start() - create the workers
 * @workers: the device's workers, not started
 * @mm: the owner's address space; the caller keeps the mm_struct until kvnet_workers_stop() has
 *	returned
 * @fork: vhost_tasks of the owner's process, not kernel threads; see thread.h
 * @allow_vcpu: inline TX, if the kernel supports it
 * @allow_softirq: inline RX
 *
 * The caller registers the device and then calls kvnet_workers_note_started().
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
	/* Before the threads start: @owner_died of a thread that is killed at once reads it. */
	WRITE_ONCE(workers->stopping, false);
	for (i = 0; i < workers->n && !ret; i++)
		ret = start_worker(workers, i, fork);
	if (ret)
		kvnet_workers_stop(workers);
	return ret;
}

/*
 * Called by each worker when its thread runs, and by the owner with dev->lock when the device is
 * registered. The last of these calls @started. May sleep.
 */
void kvnet_workers_note_started(struct kvnet_work *work)
{
	struct kvnet_workers *workers = work->workers;

	if (atomic_dec_and_test(&workers->n_starting))
		workers->ops->started(work);
}

/*
 * No worker begins a poll from here on, and page faults of kernel threads end. Any process;
 * kvnet_workers_stop() is not called meanwhile.
 */
void kvnet_workers_kill(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		kvnet_thread_kill(&workers->worker[i].thread);
}

/* After kvnet_workers_kill(): waits for polls of kernel threads that run. dev->lock. */
void kvnet_workers_wait_unuse_mm(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		kvnet_thread_wait_unuse_mm(&workers->worker[i].thread);
}

/* No timer schedules a work, and no worker is woken, until kvnet_workers_start(). May sleep. */
void kvnet_workers_cancel_timers(struct kvnet_workers *workers)
{
	unsigned int i;

	WRITE_ONCE(workers->stopping, true);
	for (i = 0; i < workers->n; i++)
		hrtimer_cancel(&workers->work[i]->timer);
}

/**
 * kvnet_workers_cancel_inline() - cancel task_work and tasklets, and wait for those that run
 * @workers: watches are stopped and timers cancelled: only the workers may still run a work
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
	/* The run state, then the count; pairs with the count and the grab in poll_work_vcpu(). */
	smp_mb();
	wait_var_event(&workers->vcpu_running, !atomic_read(&workers->vcpu_running));
}

/**
 * kvnet_workers_stop() - end all workers
 * @workers: started or not; after kvnet_workers_cancel_inline()
 *
 * No context runs a work when it returns.
 *
 * Context: may sleep, see kvnet_thread_stop(); dev->lock.
 */
void kvnet_workers_stop(struct kvnet_workers *workers)
{
	unsigned int i;

	for (i = 0; i < workers->n; i++)
		kvnet_thread_stop(&workers->worker[i].thread);
	/* A poll that ran meanwhile may have started a timer. */
	kvnet_workers_cancel_timers(workers);
}

/* Applies to later events. Stays off if the kernel does not support it. */
void kvnet_workers_set_allow_vcpu(struct kvnet_workers *workers, bool allow_vcpu)
{
	WRITE_ONCE(workers->allow_vcpu, allow_vcpu && kvnet_task_work_is_supported());
}
