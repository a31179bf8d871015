// SPDX-License-Identifier: GPL-2.0
/*
 * thread.c - the thread of a worker: a vhost_task or a kernel thread, see thread.h
 *
 * The thread calls @started, then @run while there is work. The owner starts it; RESET_OWNER or
 * the work item of the last close stops it. Wake-ups come in any context until then, so a
 * reference keeps the task_struct. A kernel thread uses the owner's mm only while there is work:
 * the memory of an owner that dies must not wait for the thread.
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
#include <linux/workqueue.h>

/*** vhost_task ***/

/*
 * vhost_task calls this in a loop, in TASK_INTERRUPTIBLE. On false it sleeps, unless it was woken
 * since it set that state.
 */
static bool worker_task_fn(void *data)
{
	struct kvnet_thread *t = data;

	if (unlikely(!t->task)) {
		WRITE_ONCE(t->task, get_task_struct(current));
		__set_current_state(TASK_RUNNING);
		t->ops->started(t);
		return true;
	}
	if (READ_ONCE(t->exiting) || !t->ops->has_work(t))
		return false;
	__set_current_state(TASK_RUNNING);
	t->ops->run(t);
	/*
	 * A call may complete an aio request, and drop the last reference of its file. The final
	 * fput is task_work, for the return to user space. A vhost_task never returns there, but
	 * runs task_work when it handles signals.
	 */
	if (task_work_pending(current))
		set_thread_flag(TIF_NOTIFY_SIGNAL);
	return true;
}

/*
 * Called by the task when SIGKILL ends the owner's process, perhaps before the first
 * worker_task_fn(). The mm is still there.
 */
static void task_killed(void *data)
{
	struct kvnet_thread *t = data;

	if (!t->task)
		WRITE_ONCE(t->task, get_task_struct(current));
	if (kvnet_thread_note_owner_died(t))
		t->ops->owner_died(t);
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

/*** kernel thread ***/

static bool use_owner_mm(struct kvnet_thread *t)
{
	if (current->mm)
		return true;
	mutex_lock(&t->mm_lock);
	if (READ_ONCE(t->exiting) || !mmget_not_zero(t->mm)) {
		mutex_unlock(&t->mm_lock);
		return false;
	}
	kthread_use_mm(t->mm);
	return true;
}

/* mmput() may drop the last user, and then frees the owner's mappings here. */
static void unuse_owner_mm(struct kvnet_thread *t)
{
	if (!current->mm)
		return;
	kthread_unuse_mm(t->mm);
	mmput(t->mm);
	mutex_unlock(&t->mm_lock);
}

static void run_worker_kthread(struct kvnet_thread *t)
{
	for (;;) {
		set_current_state(TASK_IDLE | TASK_FREEZABLE);
		if (READ_ONCE(t->exiting))
			break;
		if (freezing(current)) {
			__set_current_state(TASK_RUNNING);
			unuse_owner_mm(t);
			try_to_freeze();
		} else if (t->ops->has_work(t)) {
			__set_current_state(TASK_RUNNING);
			if (!use_owner_mm(t))
				break;
			t->ops->run(t);
		} else if (current->mm) {
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

	/* SIGKILL of kvnet_thread_kill() ends a page fault in the owner's memory. */
	allow_kernel_signal(SIGKILL);
	set_freezable();
	/* It may be stopped before it runs: where it could not be attached to the cgroups. */
	if (READ_ONCE(t->exiting) != KVNET_THREAD_STOPPED)
		t->ops->started(t);
	run_worker_kthread(t);
	if (kvnet_thread_note_owner_died(t))
		t->ops->owner_died(t);
	return 0;
}

/* On the stack of @from, which waits. */
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
 * A work item attaches the thread. In a cgroup that gets no CPU time, the thread or the owner
 * would hold the kernel's cgroup and fork locks until it gets some.
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
	/* Parked, it has set its default affinity, which must not replace that of the cpuset. */
	ret = kthread_park(task);
	/* The thread may exit before kvnet_thread_stop(). */
	WRITE_ONCE(t->task, get_task_struct(task));
	if (!ret)
		ret = attach_to_owner_cgroups(task);
	if (!ret)
		kthread_unpark(task);
	return ret;
}

/*** both kinds ***/

/*
 * The owner creates a thread in its cgroups; may sleep. @mm: the caller's address space, whose
 * mm_struct it keeps until kvnet_thread_stop() has returned. @fork: a vhost_task, within the
 * caller's limits; else a kernel thread. Returns 0; -EAGAIN: RLIMIT_NPROC or pids.max does not
 * allow a vhost_task; -errno.
 */
int kvnet_thread_start(struct kvnet_thread *t, struct mm_struct *mm, bool fork,
		       const struct kvnet_thread_ops *ops)
{
	char name[TASK_COMM_LEN];
	int ret;

	snprintf(name, sizeof(name), "kvnet-%d", task_tgid_nr(current));
	*t = (struct kvnet_thread) {
		.ops = ops,
		.mm = mm,
	};
	mutex_init(&t->mm_lock);
	ret = fork ? create_worker_task(t, name) : create_worker_kthread(t, name);
	if (ret)
		kvnet_thread_stop(t);
	return ret;
}

/*
 * The thread begins no poll from here on. False if the device stops the thread: then the death of
 * the owner makes no difference. Any context.
 */
bool kvnet_thread_note_owner_died(struct kvnet_thread *t)
{
	return cmpxchg(&t->exiting, KVNET_THREAD_NO_EXIT, KVNET_THREAD_OWNER_DIED) !=
	       KVNET_THREAD_STOPPED;
}

/* The thread begins no poll from here on, and the device is not told any more if the owner dies. */
void kvnet_thread_begin_stop(struct kvnet_thread *t)
{
	WRITE_ONCE(t->exiting, KVNET_THREAD_STOPPED);
}

/*
 * The owner dies, or kvnet_thread_begin_stop() has been called. The thread begins no poll from here
 * on. A page fault may last for as long as the owner likes (userfaultfd): that of a kernel thread
 * fails from here on, that of a vhost_task ends with the owner's process. Any process that excludes
 * kvnet_thread_stop(); any context.
 */
void kvnet_thread_kill(struct kvnet_thread *t)
{
	kvnet_thread_note_owner_died(t);
	if (t->vtsk || !t->task)
		return;
	send_sig(SIGKILL, t->task, 1);
	/* A signal does not wake a sleeping kernel thread. */
	wake_up_process(t->task);
}

/*
 * After kvnet_thread_kill(): sleeps until a kernel thread does not use the owner's mm, also while a
 * poll runs. A vhost_task exits with its process. Excludes kvnet_thread_start() and
 * kvnet_thread_stop().
 */
void kvnet_thread_wait_unuse_mm(struct kvnet_thread *t)
{
	if (!t->mm)
		return;
	mutex_lock(&t->mm_lock);
	mutex_unlock(&t->mm_lock);
}

/*
 * Ends the thread, started or not, which no context wakes any more. No callback runs on return.
 * Sleeps for as long as the thread is frozen, stopped, or in a page fault. The caller holds no lock
 * that @owner_died takes.
 */
void kvnet_thread_stop(struct kvnet_thread *t)
{
	kvnet_thread_begin_stop(t);
	if (t->vtsk)
		vhost_task_stop(t->vtsk);
	else if (t->task)
		kthread_stop(t->task);
	t->vtsk = NULL;
	if (t->task)
		put_task_struct(t->task);
	t->task = NULL;
	t->mm = NULL;
}

/*
 * After a full barrier, which pairs with the thread's set_current_state(): a vhost_task that has
 * not run yet calls @has_work before it sleeps. Any context, between start and stop.
 */
void kvnet_thread_wake(struct kvnet_thread *t)
{
	struct task_struct *task = READ_ONCE(t->task);

	if (task)
		wake_up_process(task);
}

/*
 * Is the thread frozen, stopped or traced, or about to be? Also true before it runs. Any context,
 * between start and stop.
 */
bool kvnet_thread_is_halted(const struct kvnet_thread *t)
{
	const unsigned long by_signal = JOBCTL_PENDING_MASK | JOBCTL_STOPPED |
					JOBCTL_TRACED | JOBCTL_TRAP_FREEZE;
	struct task_struct *task = READ_ONCE(t->task);

	return !task || READ_ONCE(task->jobctl) & by_signal || freezing(task) ||
	       READ_ONCE(task->__state) & TASK_FROZEN;
}

/*
 * The thread with a reference, for put_task_struct(); NULL before it runs. Any process that
 * excludes kvnet_thread_stop().
 */
struct task_struct *kvnet_thread_get_task(const struct kvnet_thread *t)
{
	struct task_struct *task = READ_ONCE(t->task);

	return task ? get_task_struct(task) : NULL;
}
