/* SPDX-License-Identifier: GPL-2.0 */
/*
 * thread.h - a worker's thread in the owner's address space
 *
 * There are two kinds. A task is a thread of the owner's process (vhost_task):
 * its cgroups, its cpuset, its limits and its freezers are the owner's, and it
 * ends with it. A kernel thread enters the owner's address space when there is
 * something to do, and joins the owner's cgroups; it is for kernels that have no
 * tasks, and for VMMs that ask for it (VHOST_FORK_OWNER_KTHREAD).
 * Documentation/worker.rst tells the kinds apart.
 */
#ifndef _KVNET_THREAD_H
#define _KVNET_THREAD_H

#include <linux/types.h>

struct mm_struct;
struct task_struct;
struct vhost_task;

/**
 * struct kvnet_thread_ops - what a thread does; called by the thread
 * @started: before the first turn
 * @has_work: is there anything to do? Does not sleep
 * @run: do some of it; in the owner's address space, may sleep
 * @owner_died: no turn comes any more although kvnet_thread_stop() has not been called:
 *		the owner is dead; may sleep
 */
struct kvnet_thread_ops {
	void (*started)(void *data);
	bool (*has_work)(void *data);
	void (*run)(void *data);
	void (*owner_died)(void *data);
};

/**
 * struct kvnet_thread - a thread
 * @ops: const while it lives
 * @data: handed to @ops
 * @mm: the owner's address space, which the caller of kvnet_thread_start() keeps
 * @vtsk: the task; NULL: a kernel thread, or none
 * @task: the thread, with a reference; of a task, once it has begun
 * @exiting: no turn is begun any more
 * @using_mm: a kernel thread is in the owner's address space, and keeps it
 */
struct kvnet_thread {
	const struct kvnet_thread_ops *ops;
	void *data;
	struct mm_struct *mm;
	struct vhost_task *vtsk;
	struct task_struct *task;
	bool exiting;
	bool using_mm;
};

bool kvnet_thread_has_vhost_task(void);
int kvnet_thread_start(struct kvnet_thread *t, struct mm_struct *mm, bool fork,
		       const struct kvnet_thread_ops *ops, void *data);
void kvnet_thread_kill(struct kvnet_thread *t);
void kvnet_thread_wait_unuse_mm(struct kvnet_thread *t);
void kvnet_thread_stop(struct kvnet_thread *t);
void kvnet_thread_wake(struct kvnet_thread *t);
bool kvnet_thread_is_halted(const struct kvnet_thread *t);
struct task_struct *kvnet_thread_get_task(const struct kvnet_thread *t);

#endif /* _KVNET_THREAD_H */
