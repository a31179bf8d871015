/* SPDX-License-Identifier: GPL-2.0 */
/*
 * thread.h - a worker's thread in the owner's address space
 *
 * There are two kinds. A vhost_task is a thread of the owner's process: cgroups, cpuset, limits
 * and freezer are the owner's, and it ends with the owner. A kernel thread uses the owner's mm
 * while there is work, and is attached to the owner's cgroups. It is for kernels without
 * vhost_task, and for VMMs that ask for it (VHOST_FORK_OWNER_KTHREAD).
 * Documentation/worker.rst compares them.
 */
#ifndef _KVNET_THREAD_H
#define _KVNET_THREAD_H

#include <linux/completion.h>
#include <linux/types.h>

struct kvnet_thread;
struct mm_struct;
struct task_struct;
struct vhost_task;

/**
 * struct kvnet_thread_ops - callbacks, in the thread; all but @has_work may sleep
 * @started: once, before @has_work and @run
 * @has_work: must @run be called?
 * @run: one step of the work; in the owner's address space
 * @owner_died: @run is not called any more although kvnet_thread_stop() has not been called, since
 *		the owner has died
 */
struct kvnet_thread_ops {
	void (*started)(struct kvnet_thread *t);
	bool (*has_work)(struct kvnet_thread *t);
	void (*run)(struct kvnet_thread *t);
	void (*owner_died)(struct kvnet_thread *t);
};

/**
 * struct kvnet_thread - a thread
 * @ops: const from start to stop
 * @mm: the owner's address space, kept by the caller of kvnet_thread_start()
 * @vtsk: the vhost_task; NULL: a kernel thread, or not started
 * @task: the thread, with a reference; a vhost_task sets it when it first runs
 * @exiting: no @run begins any more
 * @exited: a kernel thread that is exiting does not use @mm any more
 */
struct kvnet_thread {
	const struct kvnet_thread_ops *ops;
	struct mm_struct *mm;
	struct vhost_task *vtsk;
	struct task_struct *task;
	bool exiting;
	struct completion exited;
};

bool kvnet_thread_has_vhost_task(void);
int kvnet_thread_start(struct kvnet_thread *t, struct mm_struct *mm, bool fork,
		       const struct kvnet_thread_ops *ops);
void kvnet_thread_kill(struct kvnet_thread *t);
void kvnet_thread_wait_unuse_mm(struct kvnet_thread *t);
void kvnet_thread_stop(struct kvnet_thread *t);
void kvnet_thread_wake(struct kvnet_thread *t);
bool kvnet_thread_is_halted(const struct kvnet_thread *t);
struct task_struct *kvnet_thread_get_task(const struct kvnet_thread *t);

#endif /* _KVNET_THREAD_H */
