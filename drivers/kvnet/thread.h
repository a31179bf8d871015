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
 * @begin: before the first turn
 * @wants: is there anything to do? Does not sleep
 * @turn: do some of it; in the owner's address space, may sleep
 * @gone: no turn comes any more although kvnet_thread_stop() has not been called:
 *	  the owner is dead; may sleep
 */
struct kvnet_thread_ops {
	void (*begin)(void *data);
	bool (*wants)(void *data);
	void (*turn)(void *data);
	void (*gone)(void *data);
};

/**
 * struct kvnet_thread - a thread
 * @ops: const while it lives
 * @data: handed to @ops
 * @mm: the owner's address space, which the caller of kvnet_thread_start() keeps
 * @vtsk: the task; NULL: a kernel thread, or none
 * @task: the thread, with a reference; of a task, once it has begun
 * @closing: no turn is begun any more
 * @inside: a kernel thread is in the owner's address space, and keeps it
 */
struct kvnet_thread {
	const struct kvnet_thread_ops *ops;
	void *data;
	struct mm_struct *mm;
	struct vhost_task *vtsk;
	struct task_struct *task;
	bool closing;
	bool inside;
};

bool kvnet_thread_has_tasks(void);
int kvnet_thread_start(struct kvnet_thread *t, struct mm_struct *mm, bool fork,
		       const struct kvnet_thread_ops *ops, void *data);
void kvnet_thread_kill(struct kvnet_thread *t);
void kvnet_thread_leave_memory(struct kvnet_thread *t);
void kvnet_thread_stop(struct kvnet_thread *t);
void kvnet_thread_wake(struct kvnet_thread *t);
bool kvnet_thread_halted(const struct kvnet_thread *t);
struct task_struct *kvnet_thread_get_task(const struct kvnet_thread *t);

#endif /* _KVNET_THREAD_H */
