/* SPDX-License-Identifier: GPL-2.0 */
/*
 * For vhost_task.h: a vhost_task of Linux 6.4 to 6.10 that is killed goes on, and keeps
 * a dead owner's memory, until it is stopped. So one that finds itself killed has a
 * work item stop it, and who stops it meanwhile waits for that.
 */
#ifndef _KVNET_COMPAT_SCHED_VHOST_TASK_6_4_H
#define _KVNET_COMPAT_SCHED_VHOST_TASK_6_4_H

#include_next <linux/sched/vhost_task.h>

#include <linux/bitops.h>
#include <linux/completion.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/workqueue.h>

#define COMPAT_HAVE_VHOST_TASK	true
#define COMPAT_VHOST_TASK_REVIVES	false

struct compat_vhost_task {
	struct vhost_task *vtsk;
	bool (*fn)(void *data);
	void (*killed)(void *data);
	void *data;
	struct task_struct *task;	/* with a reference, once it runs */
	struct task_struct *leader;	/* of its process, with a reference */
	unsigned long claimed;		/* bit 0: who stops it has been settled */
	bool awaited;
	bool gone;			/* @work has been done */
	struct completion begun;	/* there is @task */
	struct completion queued;	/* there is @work */
	struct work_struct work;
};

/*
 * The kernel wakes a task that may be gone already: we keep it. And a task that goes
 * looks at the leader of its process, which is gone, too, if another thread has
 * called exec: exec does not wait for this task.
 */
static inline void compat_vhost_task_end(struct compat_vhost_task *t)
{
	wait_for_completion(&t->begun);
	vhost_task_stop(t->vtsk);
	if (READ_ONCE(t->leader->exit_state) == EXIT_DEAD) {
		while (pid_alive(t->task))
			schedule_timeout_idle(1);
		synchronize_rcu();
	}
	put_task_struct(t->leader);
	put_task_struct(t->task);
}

static inline void compat_vhost_task_work(struct work_struct *work)
{
	struct compat_vhost_task *t = container_of(work, struct compat_vhost_task, work);

	compat_vhost_task_end(t);
	WRITE_ONCE(t->gone, true);
}

static inline void compat_vhost_task_killed(struct compat_vhost_task *t)
{
	__set_current_state(TASK_RUNNING);
	t->killed(t->data);
	/*
	 * An exec takes any thread that goes for one of those that it waits for, which
	 * this one is not: after them. But whoever waits for this one may be one of them.
	 */
	while (READ_ONCE(current->signal->group_exec_task) && !READ_ONCE(t->awaited))
		schedule_timeout_idle(1);
	queue_work(system_unbound_wq, &t->work);
	complete(&t->queued);
}

static inline bool compat_vhost_task_fn(void *data)
{
	struct compat_vhost_task *t = data;

	if (unlikely(!t->task)) {
		/* Before it looks for work; pairs with compat_vhost_task_wake(). */
		smp_store_mb(t->task, get_task_struct(current));
		complete(&t->begun);
	}
	if (likely(!(current->flags & PF_SIGNALED)))
		return t->fn(t->data);
	if (!test_and_set_bit(0, &t->claimed))
		compat_vhost_task_killed(t);
	return false;
}

static inline int compat_vhost_task_create(struct compat_vhost_task *t, bool (*fn)(void *),
					   void (*killed)(void *), void *data,
					   const char *name)
{
	t->fn = fn;
	t->killed = killed;
	t->data = data;
	t->task = NULL;
	t->claimed = 0;
	t->awaited = false;
	t->gone = false;
	init_completion(&t->begun);
	init_completion(&t->queued);
	INIT_WORK(&t->work, compat_vhost_task_work);
	t->vtsk = vhost_task_create(compat_vhost_task_fn, t, name);
	/* a limit more likely than no memory */
	if (!t->vtsk)
		return -EAGAIN;
	t->leader = get_task_struct(current->group_leader);
	return 0;
}

static inline void compat_vhost_task_start(struct compat_vhost_task *t)
{
	vhost_task_start(t->vtsk);
}

static inline void compat_vhost_task_stop(struct compat_vhost_task *t)
{
	if (test_and_set_bit(0, &t->claimed)) {
		WRITE_ONCE(t->awaited, true);
		wait_for_completion(&t->queued);
		flush_work(&t->work);
	} else {
		compat_vhost_task_end(t);
	}
}

/* Who has been killed, and is @task: compat_vhost_task_stop() does not wait then. */
static inline bool compat_vhost_task_gone(struct compat_vhost_task *t,
					  struct task_struct *task)
{
	return READ_ONCE(t->gone);
}

/* After its end too: @vtsk is none of ours any more then. */
static inline void compat_vhost_task_wake(struct compat_vhost_task *t)
{
	struct task_struct *task;

	/* There is work; pairs with compat_vhost_task_fn(). */
	smp_mb();
	task = READ_ONCE(t->task);
	if (task)
		wake_up_process(task);
}

#endif /* _KVNET_COMPAT_SCHED_VHOST_TASK_6_4_H */
