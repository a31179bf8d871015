// SPDX-License-Identifier: GPL-2.0
/*
 * worker.c - the worker thread, see worker.h
 */
#include "worker.h"

#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/kthread.h>
#include <linux/sched/clock.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>

#include "trace.h"

/**
 * kvnet_source_wake() - an event: put the source on its worker's list
 * @src: the source
 * @event: one KVNET_EV_*
 *
 * An event that the source has not armed is dropped: whoever armed looked
 * once more afterwards. With kvnet_source_expect() this makes pair E of
 * Documentation/ordering.rst.
 *
 * Context: any, also with interrupts off.
 */
void kvnet_source_wake(struct kvnet_source *src, unsigned int event)
{
	struct kvnet_worker *w = src->worker;

	if (event == KVNET_EV_KICK)
		atomic_long_inc(&src->kicks);
	if (event != KVNET_EV_CTRL) {
		/* E: what the event is about, before the wish for it. */
		smp_mb();
		if (!(READ_ONCE(src->armed) & event))
			return;
	}
	/* Full barrier; pairs with set_current_state() in nap(). */
	if (test_and_set_bit(src->bit, &w->ready))
		return;
	atomic_long_inc(&src->wakes);
	trace_kvnet_wake(w->owner, src->bit, event);
	wake_up_process(w->task);
}

/**
 * kvnet_source_expect() - choose the events that wake a source
 * @src: the source
 * @events: KVNET_EV_* bits; the caller looks for work after this
 *
 * Context: the worker thread, from &kvnet_source_ops.arm.
 */
void kvnet_source_expect(struct kvnet_source *src, unsigned int events)
{
	WRITE_ONCE(src->armed, events);
	/* E: the wish before the second look. */
	smp_mb();
}

static struct kvnet_source *first_source(struct kvnet_worker *w,
					 unsigned long *set)
{
	unsigned int bit = __ffs(*set);

	*set &= ~BIT(bit);
	return w->source[bit];
}

/* One turn for each source in @active. Returns those that want another. */
static unsigned long run_round(struct kvnet_worker *w, unsigned long active,
			       unsigned long *idle)
{
	unsigned long again = 0;
	struct kvnet_source *src;
	enum kvnet_verdict verdict;

	while (active) {
		src = first_source(w, &active);
		WRITE_ONCE(src->armed, 0);
		*idle &= ~BIT(src->bit);

		verdict = src->ops->run(src);
		trace_kvnet_run(w->owner, src->bit, verdict);
		if (verdict == KVNET_DONE)
			*idle |= BIT(src->bit);
		else if (verdict == KVNET_AGAIN || src->ops->arm(src))
			again |= BIT(src->bit);
	}
	return again;
}

/* Which of the sources in @set have work by now? */
static unsigned long look(struct kvnet_worker *w, unsigned long set)
{
	unsigned long found = 0;
	struct kvnet_source *src;

	while (set) {
		src = first_source(w, &set);
		if (src->ops->pending(src))
			found |= BIT(src->bit);
	}
	return found;
}

/* Arm all that are idle. Returns those that have work after all. */
static unsigned long arm(struct kvnet_worker *w, unsigned long *idle)
{
	unsigned long more = 0;
	struct kvnet_source *src;

	while (*idle) {
		src = first_source(w, idle);
		if (src->ops->arm(src))
			more |= BIT(src->bit);
	}
	return more;
}

/* Spin until a source in @idle has work, an event comes or time is up. */
static unsigned long spin(struct kvnet_worker *w, unsigned long idle, u64 start)
{
	unsigned long found = 0;
	u64 now = start;

	while (!kvnet_poll_expired(&w->poll, start, now) &&
	       !READ_ONCE(w->ready) && !need_resched() &&
	       !kthread_should_stop()) {
		found = look(w, idle);
		if (found)
			break;
		cpu_relax();
		now = local_clock();
	}
	trace_kvnet_poll_end(w->owner, now - start, w->poll.window, found);
	return found;
}

static void nap(struct kvnet_worker *w)
{
	set_current_state(TASK_IDLE);
	if (!READ_ONCE(w->ready) && !kthread_should_stop())
		schedule();
	__set_current_state(TASK_RUNNING);
}

/* No source has work: spin, then arm, then sleep. Returns who has work. */
static unsigned long wait_for_work(struct kvnet_worker *w, unsigned long *idle)
{
	unsigned long active = 0;
	u64 start;

	if (READ_ONCE(w->cap_ns) != w->poll.cap)
		kvnet_poll_set_cap(&w->poll, READ_ONCE(w->cap_ns));
	if (!w->poll.cap) {
		active = arm(w, idle);
		if (!active)
			nap(w);
		return active;
	}

	start = local_clock();
	active = spin(w, *idle, start);
	if (!active && !READ_ONCE(w->ready)) {
		active = arm(w, idle);
		if (!active)
			nap(w);
	}
	kvnet_poll_learn(&w->poll, local_clock() - start);
	return active;
}

static int worker_fn(void *data)
{
	struct kvnet_worker *w = data;
	unsigned long active = 0;	/* have work */
	unsigned long idle = 0;		/* have none, and are not armed */

	/* So that kvnet_worker_kill() ends a wait for a page of the owner's. */
	allow_kernel_signal(SIGKILL);
	kthread_use_mm(w->mm);
	while (!kthread_should_stop()) {
		active |= xchg(&w->ready, 0);
		if (active) {
			active = run_round(w, active, &idle);
			/* A busy source must not hide work of a drained one. */
			if (active)
				active |= look(w, idle);
			cond_resched();
			continue;
		}
		active = wait_for_work(w, &idle);
	}
	kthread_unuse_mm(w->mm);
	return 0;
}

/**
 * kvnet_worker_add() - give the worker another source to serve
 * @w: the worker, not started
 * @src: the source
 * @ops: what it can do
 */
void kvnet_worker_add(struct kvnet_worker *w, struct kvnet_source *src,
		      const struct kvnet_source_ops *ops)
{
	src->ops = ops;
	src->worker = w;
	src->bit = w->n++;
	w->source[src->bit] = src;
}

/**
 * kvnet_worker_start() - make the thread
 * @w: the worker
 * @mm: the address space to enter; the caller keeps a reference on its users
 *	until kvnet_worker_stop() has returned
 *
 * The thread joins the cgroups of the calling process, which pays for it.
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: 0 or -errno.
 */
int kvnet_worker_start(struct kvnet_worker *w, struct mm_struct *mm)
{
	struct task_struct *task;
	unsigned int i;
	int ret;

	w->owner = task_tgid_nr(current);
	w->mm = mm;
	w->ready = 0;
	for (i = 0; i < w->n; i++)
		w->source[i]->armed = 0;
	task = kthread_create(worker_fn, w, "kvnet-%d", w->owner);
	if (IS_ERR(task))
		return PTR_ERR(task);
	ret = cgroup_attach_task_all(current, task);
	if (ret) {
		kthread_stop(task);
		return ret;
	}
	w->task = task;
	wake_up_process(task);
	return 0;
}

/**
 * kvnet_worker_stop() - end the thread
 * @w: the worker; nothing can wake a source any more
 *
 * When it returns no source runs, nor will. Does nothing without a thread.
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_worker_stop(struct kvnet_worker *w)
{
	if (!w->task)
		return;
	kthread_stop(w->task);
	w->task = NULL;
}

/**
 * kvnet_worker_kill() - wait for no page of the owner's any more
 * @w: the worker
 *
 * A page fault may last for as long as another process likes (userfaultfd). From
 * now on one that has to wait fails instead, which breaks the queue.
 *
 * Context: the owner is about to go; dev->lock, or nobody else knows the device.
 */
void kvnet_worker_kill(struct kvnet_worker *w)
{
	if (w->task)
		send_sig(SIGKILL, w->task, 1);
}

/**
 * kvnet_worker_set_cap() - bound the time that the worker may spin
 * @w: the worker
 * @cap_ns: in ns; 0: never spin
 *
 * Context: any; takes effect when the worker next has nothing to do.
 */
void kvnet_worker_set_cap(struct kvnet_worker *w, u64 cap_ns)
{
	WRITE_ONCE(w->cap_ns, cap_ns);
}
