// SPDX-License-Identifier: GPL-2.0
/*
 * thread.c - threads of both kinds, see thread.h
 */
#include "thread.h"

#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/freezer.h>
#include <linux/kthread.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/sched/vhost_task.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>
#include <linux/workqueue.h>

/*** a task ***/

/* It stays until the thread is stopped, since it may be woken until then. */
static void record_thread_task(struct kvnet_thread *t)
{
	WRITE_ONCE(t->task, get_task_struct(current));
}

static void begin_worker_task(struct kvnet_thread *t)
{
	record_thread_task(t);
	__set_current_state(TASK_RUNNING);
	t->ops->started(t->data);
}

/*
 * A file whose last reference the task has given back, of a request that a call has answered,
 * goes on its way to user space. It has none, but looks at signals.
 */
static void signal_own_task_work(void)
{
	if (task_work_pending(current))
		set_thread_flag(TIF_NOTIFY_SIGNAL);
}

/*
 * Called again and again; false: to sleep, unless it was woken since before the
 * call. The state of the task is set for that.
 */
static bool worker_task_fn(void *data)
{
	struct kvnet_thread *t = data;

	if (unlikely(!t->task)) {
		begin_worker_task(t);
		return true;
	}
	if (READ_ONCE(t->exiting) || !t->ops->has_work(t->data))
		return false;
	__set_current_state(TASK_RUNNING);
	t->ops->run(t->data);
	signal_own_task_work();
	return true;
}

/*
 * By SIGKILL with its process, maybe before it has run once; the address space is
 * still there.
 */
static void task_killed(void *data)
{
	struct kvnet_thread *t = data;

	if (!t->task)
		record_thread_task(t);
	WRITE_ONCE(t->exiting, true);
	t->ops->owner_died(t->data);
}

static int create_worker_task(struct kvnet_thread *t, const char *name)
{
	struct vhost_task *vtsk = compat_vhost_task_create(worker_task_fn, task_killed, t, name);

	if (IS_ERR(vtsk))
		return PTR_ERR(vtsk);
	t->vtsk = vtsk;
	vhost_task_start(vtsk);
	return 0;
}

/*** a kernel thread ***/

/* Either this sees that the thread is to end, or kvnet_thread_wait_unuse_mm() sees it inside. */
static bool try_use_owner_mm(struct kvnet_thread *t)
{
	/* Inside, then @exiting; pairs with kvnet_thread_wait_unuse_mm(). */
	smp_store_mb(t->using_mm, true);
	if (READ_ONCE(t->exiting) || !mmget_not_zero(t->mm)) {
		WRITE_ONCE(t->using_mm, false);
		wake_up_var(&t->using_mm);
		return false;
	}
	kthread_use_mm(t->mm);
	return true;
}

/* It may be the last user, and the end of what is mapped. */
static void unuse_owner_mm(struct kvnet_thread *t)
{
	if (!t->using_mm)
		return;
	kthread_unuse_mm(t->mm);
	mmput(t->mm);
	/* Before it is looked whether anything waits. */
	smp_store_mb(t->using_mm, false);
	wake_up_var(&t->using_mm);
}

/*
 * In the owner's address space only while there is something to do, so that the
 * memory of an owner that dies goes without the thread's doing.
 */
static void run_worker_kthread(struct kvnet_thread *t)
{
	for (;;) {
		if (freezing(current))
			unuse_owner_mm(t);
		try_to_freeze();
		set_current_state(TASK_IDLE | TASK_FREEZABLE);
		if (kthread_should_stop() || READ_ONCE(t->exiting))
			break;
		if (t->ops->has_work(t->data)) {
			__set_current_state(TASK_RUNNING);
			if (!t->using_mm && !try_use_owner_mm(t))
				break;
			t->ops->run(t->data);
		} else if (t->using_mm) {
			__set_current_state(TASK_RUNNING);
			unuse_owner_mm(t);
		} else {
			schedule();
		}
	}
	__set_current_state(TASK_RUNNING);
	unuse_owner_mm(t);
}

static int worker_kthread_fn(void *data)
{
	struct kvnet_thread *t = data;

	/* So that kvnet_thread_kill() ends a wait for a page of the owner's. */
	allow_kernel_signal(SIGKILL);
	set_freezable();
	/* Else it could not join the cgroups. */
	if (!kthread_should_stop())
		t->ops->started(t->data);
	run_worker_kthread(t);
	if (!kthread_should_stop())
		t->ops->owner_died(t->data);
	return 0;
}

/* @task is to be in the cgroups of @from, which waits. */
struct cgroup_attach {
	struct work_struct work;
	struct task_struct *from;
	struct task_struct *task;
	int ret;
};

static void attach_cgroups_workfn(struct work_struct *work)
{
	struct cgroup_attach *req = container_of(work, struct cgroup_attach, work);

	req->ret = cgroup_attach_task_all(req->from, req->task);
}

/*
 * It joins by neither thread's doing: in a cgroup that gets no CPU time, the kernel's locks for
 * cgroups and for fork would be held until it gets some.
 */
static int attach_to_owner_cgroups(struct task_struct *task)
{
	struct cgroup_attach req = { .from = current, .task = task };

	INIT_WORK_ONSTACK(&req.work, attach_cgroups_workfn);
	schedule_work(&req.work);
	flush_work(&req.work);
	destroy_work_on_stack(&req.work);
	return req.ret;
}

static int create_worker_kthread(struct kvnet_thread *t, const char *name)
{
	struct task_struct *task = kthread_create(worker_kthread_fn, t, "%s", name);
	int ret;

	if (IS_ERR(task))
		return PTR_ERR(task);
	/* It sleeps where the kernel has set the CPUs that a new thread may run on. */
	ret = kthread_park(task);
	/* It may end by itself. */
	WRITE_ONCE(t->task, get_task_struct(task));
	if (!ret)
		ret = attach_to_owner_cgroups(task);
	if (!ret)
		kthread_unpark(task);
	return ret;
}

/*** both ***/

/* Linux 6.11, CONFIG_VHOST_TASK */
bool kvnet_thread_has_vhost_task(void)
{
	return COMPAT_HAVE_VHOST_TASK;
}

/**
 * kvnet_thread_start() - make a thread
 * @t: none yet, zeroed or stopped
 * @mm: the calling process's address space; the caller keeps it until
 *	kvnet_thread_stop() has returned
 * @fork: make it a task, which the calling process's limits bound
 * @ops: what it is going to do
 * @data: for @ops
 *
 * The calling process pays for it: it joins its cgroups, or is in them.
 *
 * Context: the owner; may sleep.
 * Return: 0; -EAGAIN beyond a limit of a task; -errno.
 */
int kvnet_thread_start(struct kvnet_thread *t, struct mm_struct *mm, bool fork,
		       const struct kvnet_thread_ops *ops, void *data)
{
	char name[TASK_COMM_LEN];
	int ret;

	snprintf(name, sizeof(name), "kvnet-%d", task_tgid_nr(current));
	*t = (struct kvnet_thread) {
		.ops = ops,
		.data = data,
		.mm = mm,
	};
	ret = fork ? create_worker_task(t, name) : create_worker_kthread(t, name);
	if (ret)
		kvnet_thread_stop(t);
	return ret;
}

/**
 * kvnet_thread_kill() - begin no turn any more; a kernel thread waits for no page, either
 * @t: a thread that has been started and not been stopped, or none
 *
 * A page fault may last for as long as the owner likes (userfaultfd). That of a
 * kernel thread fails from now on. A task's ends with the owner's process.
 *
 * Context: any process; kvnet_thread_stop() is not called meanwhile.
 */
void kvnet_thread_kill(struct kvnet_thread *t)
{
	WRITE_ONCE(t->exiting, true);
	if (t->vtsk || !t->task)
		return;
	send_sig(SIGKILL, t->task, 1);
	/* A signal does not wake a kernel thread that sleeps. */
	wake_up_process(t->task);
}

/**
 * kvnet_thread_wait_unuse_mm() - a kernel thread does not keep the owner's memory
 * @t: the thread, after kvnet_thread_kill()
 *
 * A task ends with its process, and nothing waits for that before.
 *
 * Context: not the thread; may sleep, until its turn is over; kvnet_thread_stop() is not
 *	    called meanwhile.
 */
void kvnet_thread_wait_unuse_mm(struct kvnet_thread *t)
{
	smp_mb(); /* @exiting, then inside; pairs with try_use_owner_mm() */
	wait_var_event(&t->using_mm, !smp_load_acquire(&t->using_mm));
}

/**
 * kvnet_thread_stop() - end the thread
 * @t: the thread, or none; nothing wakes it any more
 *
 * When it returns no turn is under way, nor will be. The thread is waited for while it is
 * frozen or stopped, or waits for a page.
 *
 * Context: may sleep; holds nothing that &kvnet_thread_ops.owner_died takes.
 */
void kvnet_thread_stop(struct kvnet_thread *t)
{
	WRITE_ONCE(t->exiting, true);
	if (t->vtsk)
		vhost_task_stop(t->vtsk);
	else if (t->task)
		kthread_stop(t->task);
	t->vtsk = NULL;
	if (t->task)
		put_task_struct(t->task);
	t->task = NULL;
}

/**
 * kvnet_thread_wake() - there is something to do
 * @t: a thread that lives, or has been killed
 *
 * Context: any, also with interrupts off.
 */
void kvnet_thread_wake(struct kvnet_thread *t)
{
	if (t->vtsk)
		vhost_task_wake(t->vtsk);
	else
		wake_up_process(t->task);
}

/**
 * kvnet_thread_is_halted() - is it kept from running, or going to be?
 * @t: a thread that lives, or has been killed
 *
 * By a freezer or by SIGSTOP.
 *
 * Context: any, also with interrupts off.
 * Return: true if so, or if it is not known yet.
 */
bool kvnet_thread_is_halted(const struct kvnet_thread *t)
{
	const unsigned long by_signal = JOBCTL_PENDING_MASK | JOBCTL_STOPPED |
					JOBCTL_TRACED | JOBCTL_TRAP_FREEZE;
	struct task_struct *task = READ_ONCE(t->task);

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
struct task_struct *kvnet_thread_get_task(const struct kvnet_thread *t)
{
	struct task_struct *task = READ_ONCE(t->task);

	return task ? get_task_struct(task) : NULL;
}
