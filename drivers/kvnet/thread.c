// SPDX-License-Identifier: GPL-2.0
/*
 * thread.c - threads of both kinds, see thread.h
 *
 * What is asked of a thread that does its work for several (thread_shared.c) is asked of
 * &kvnet_thread.by.
 */
#include "thread.h"

#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/list.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/vhost_task.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>

/* How often a kernel thread that nobody wakes looks whether it has an owner. */
#define LOOK_AROUND	(5 * HZ)

/* No more turns: at its end, or killed. */
static void finish(struct kvnet_thread *t)
{
	WRITE_ONCE(t->closing, true);
	t->ops->gone(t->data);
	WRITE_ONCE(t->over, true);
	kvnet_threads_look(t->group);
}

/*** a task ***/

/* It stays until the thread is stopped, since it may be woken until then. */
static void keep_task(struct kvnet_thread *t)
{
	spin_lock(&t->group->lock);
	WRITE_ONCE(t->task, get_task_struct(current));
	if (unlikely(t->doomed))
		kvnet_thread_kill(t);
	spin_unlock(&t->group->lock);
}

/* Who ends the thread from now on finds it; or it finds that it is to end. */
static void show_up(struct kvnet_thread *t)
{
	keep_task(t);
	__set_current_state(TASK_RUNNING);
	t->ops->begin(t->data);
}

/*
 * A file whose last reference the task has given back, of a request that a call has answered,
 * goes on its way to user space. It has none, but looks at signals.
 */
static void let_go(void)
{
	if (task_work_pending(current))
		set_thread_flag(TIF_NOTIFY_SIGNAL);
}

/*
 * Called again and again; false: to sleep, unless it was woken since before the
 * call. The state of the task is set for that.
 */
static bool task_fn(void *data)
{
	struct kvnet_thread *t = data;

	if (unlikely(!t->task)) {
		show_up(t);
		return true;
	}
	if (READ_ONCE(t->closing) || !t->ops->wants(t->data))
		return false;
	__set_current_state(TASK_RUNNING);
	t->ops->turn(t->data);
	let_go();
	return true;
}

/*
 * By SIGKILL, with its process or alone, maybe before it has run once; the address space is
 * still there.
 */
static void task_killed(void *data)
{
	struct kvnet_thread *t = data;

	if (!t->task)
		keep_task(t);
	finish(t);
}

static int start_task(struct kvnet_thread *t, const char *name)
{
	struct vhost_task *vtsk = compat_vhost_task_create(task_fn, task_killed, t, name);

	if (IS_ERR(vtsk))
		return PTR_ERR(vtsk);
	t->vtsk = vtsk;
	t->forked = true;
	vhost_task_start(vtsk);
	return 0;
}

/*** a kernel thread ***/

/*
 * In the owner's address space only while there is something to do: then it goes without
 * our doing. That it has gone nobody may tell, and what is pinned of it waits for us; or all
 * of it, for another thread of ours that is inside and waits for a page.
 */
static void serve(struct kvnet_thread *t)
{
	bool inside = false;

	for (;;) {
		try_to_freeze();
		set_current_state(TASK_IDLE | TASK_FREEZABLE);
		if (kthread_should_stop() || READ_ONCE(t->closing) || kvnet_inside_alone(t->inside))
			break;
		if (t->ops->wants(t->data)) {
			__set_current_state(TASK_RUNNING);
			if (!inside && !kvnet_inside_enter(t->inside))
				break;
			inside = true;
			t->ops->turn(t->data);
		} else if (inside) {
			__set_current_state(TASK_RUNNING);
			kvnet_inside_leave(t->inside);
			inside = false;
		} else {
			schedule_timeout(LOOK_AROUND);
		}
	}
	__set_current_state(TASK_RUNNING);
	if (inside)
		kvnet_inside_leave(t->inside);
}

static int kthread_fn(void *data)
{
	struct kvnet_thread *t = data;

	/* So that kvnet_threads_end() ends a wait for a page of the owner's. */
	allow_kernel_signal(SIGKILL);
	set_freezable();
	/* By itself: the kernel sets where a thread may run until this begins. */
	t->ret = cgroup_attach_task_all(t->maker, current);
	complete(&t->started);
	if (!t->ret)
		t->ops->begin(t->data);
	serve(t);
	finish(t);
	complete(&t->ended);
	return 0;
}

static int start_kthread(struct kvnet_thread *t, const char *name)
{
	struct task_struct *task;

	t->inside = kvnet_inside_get(t->group->mm);
	if (!t->inside)
		return -ENOMEM;
	task = kthread_create(kthread_fn, t, "%s", name);
	if (IS_ERR(task))
		return PTR_ERR(task);
	/* It may end by itself; and begin, by kvnet_threads_end(). */
	WRITE_ONCE(t->task, get_task_struct(task));
	wake_up_process(task);
	wait_for_completion(&t->started);
	return t->ret;
}

/*
 * It may be waiting for a page that only the owner can deliver (userfaultfd). An owner
 * that is killed does not.
 */
static void stop_kthread(struct kvnet_thread *t)
{
	wake_up_process(t->task);
	if (current->mm == t->group->mm && wait_for_completion_killable(&t->ended))
		kvnet_threads_end(t->group);
	kthread_stop(t->task);
}

/*** both ***/

/**
 * kvnet_thread_has_tasks() - can a thread be a thread of the owner's process?
 *
 * Return: true if the kernel has that (Linux 6.11, CONFIG_VHOST_TASK).
 */
bool kvnet_thread_has_tasks(void)
{
	return COMPAT_HAVE_VHOST_TASK;
}

/**
 * kvnet_threads_init() - before first use
 * @ts: the threads, none yet
 */
void kvnet_threads_init(struct kvnet_threads *ts)
{
	spin_lock_init(&ts->lock);
	INIT_LIST_HEAD(&ts->all);
}

static int start(struct kvnet_thread *t, struct task_struct *owner, bool fork)
{
	struct kvnet_threads *ts = t->group;
	char name[TASK_COMM_LEN];
	int ret;

	snprintf(name, sizeof(name), "kvnet-%d", task_tgid_nr(owner));
	t->by = t;
	t->shared = NULL;
	t->forked = false;
	t->closing = false;
	t->doomed = false;
	t->over = false;
	t->inside = NULL;
	t->owner = get_task_struct(owner);
	t->maker = current;
	/* Who ends all that are in the list wakes a kernel thread that has not begun, too. */
	init_completion(&t->started);
	init_completion(&t->ended);
	spin_lock(&ts->lock);
	list_add_tail(&t->entry, &ts->all);
	spin_unlock(&ts->lock);
	ret = fork ? start_task(t, name) : start_kthread(t, name);
	if (ret)
		kvnet_thread_stop(t);
	return ret;
}

/**
 * kvnet_thread_start() - make a thread
 * @t: none yet, zeroed or stopped
 * @ts: it becomes one of these; @ts->mm is the calling process's
 * @fork: make it a task, which the calling process's limits bound
 * @ops: what it is going to do
 * @data: for @ops
 *
 * The calling process pays for it: it joins its cgroups, or is in them.
 *
 * Context: the owner; may sleep.
 * Return: 0; -EAGAIN beyond a limit of a task; -errno.
 */
int kvnet_thread_start(struct kvnet_thread *t, struct kvnet_threads *ts, bool fork,
		       const struct kvnet_thread_ops *ops, void *data)
{
	t->ops = ops;
	t->data = data;
	t->group = ts;
	return start(t, current, fork);
}

/**
 * kvnet_thread_start_like() - make another thread like the calling one
 * @t: none yet, zeroed or stopped
 * @like: the calling one
 * @data: for the same &kvnet_thread_ops
 *
 * A thread of the owner's process can make others of it as well as any.
 *
 * Context: @like, in a turn; may sleep.
 * Return: as kvnet_thread_start(); -errno also when it is being killed.
 */
int kvnet_thread_start_like(struct kvnet_thread *t, const struct kvnet_thread *like,
			    void *data)
{
	t->ops = like->ops;
	t->data = data;
	t->group = like->group;
	return start(t, like->owner, like->by->forked);
}

/**
 * kvnet_thread_stop() - end the thread
 * @t: the thread, or none; nobody wakes it any more
 *
 * When it returns no turn is under way, nor will be. A turn that waits for a
 * page is waited for: see kvnet_threads_end().
 *
 * Context: may sleep; holds nothing that &kvnet_thread_ops.gone takes.
 */
void kvnet_thread_stop(struct kvnet_thread *t)
{
	struct task_struct *task = NULL, *owner = NULL;
	struct kvnet_threads *ts = t->group;

	if (!t->owner)
		return;
	if (t->shared) {
		kvnet_thread_leave(t);
		return;
	}
	WRITE_ONCE(t->closing, true);
	if (t->forked)
		vhost_task_stop(t->vtsk);
	else if (t->task)
		stop_kthread(t);
	kvnet_inside_put(t->inside);

	spin_lock(&ts->lock);
	swap(task, t->task);
	swap(owner, t->owner);
	t->forked = false;
	list_del(&t->entry);
	spin_unlock(&ts->lock);
	if (task)
		put_task_struct(task);
	put_task_struct(owner);
}

/**
 * kvnet_thread_wake() - there is something to do
 * @t: a thread that lives, or has been killed
 *
 * Context: any, also with interrupts off.
 */
void kvnet_thread_wake(struct kvnet_thread *t)
{
	t = t->by;
	if (t->forked)
		vhost_task_wake(t->vtsk);
	else
		wake_up_process(t->task);
}

/**
 * kvnet_thread_halted() - is it kept from running, or going to be?
 * @t: a thread that lives, or has been killed
 *
 * By a freezer or by SIGSTOP.
 *
 * Context: any, also with interrupts off.
 * Return: true if so, or if it is not known yet.
 */
bool kvnet_thread_halted(const struct kvnet_thread *t)
{
	const unsigned long by_signal = JOBCTL_PENDING_MASK | JOBCTL_STOPPED |
					JOBCTL_TRACED | JOBCTL_TRAP_FREEZE;
	struct task_struct *task = READ_ONCE(t->by->task);

	return !task || READ_ONCE(task->jobctl) & by_signal || freezing(task) ||
	       READ_ONCE(task->__state) & TASK_FROZEN;
}

/**
 * kvnet_thread_get_task() - the thread, for others to look at
 * @t: a thread, which is not stopped meanwhile
 *
 * Context: any process.
 * Return: the thread, with a reference, for put_task_struct(); NULL: it has not begun.
 */
struct task_struct *kvnet_thread_get_task(struct kvnet_thread *t)
{
	struct task_struct *task;

	t = t->by;
	spin_lock(&t->group->lock);
	task = t->task ? get_task_struct(t->task) : NULL;
	spin_unlock(&t->group->lock);
	return task;
}

/**
 * kvnet_thread_is_task() - is it a thread of the owner's process?
 * @t: a thread, which is not stopped meanwhile
 *
 * Return: true if so; else it is a kernel thread.
 */
bool kvnet_thread_is_task(const struct kvnet_thread *t)
{
	return t->by->forked;
}
