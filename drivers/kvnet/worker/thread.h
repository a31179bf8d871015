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

#include <linux/mutex.h>
#include <linux/types.h>

struct kvnet_thread;
struct mm_struct;
struct task_struct;
struct vhost_task;

/* Why the thread begins no step of its work any more */
enum kvnet_thread_exit {
	KVNET_THREAD_NO_EXIT,
	KVNET_THREAD_OWNER_DIED,	/* or its memory is gone; before or after @owner_died */
	KVNET_THREAD_STOPPED,		/* by the device; @owner_died is not called any more */
};

/* Callbacks, in the thread; all but @has_work may sleep */
struct kvnet_thread_ops {
	void (*started)(struct kvnet_thread *t);	/* once, before @has_work and @run */
	bool (*has_work)(struct kvnet_thread *t);	/* must @run be called? */
	/* one step of the work; in the owner's address space */
	void (*run)(struct kvnet_thread *t);
	/* the owner has died, so @run is not called any more */
	void (*owner_died)(struct kvnet_thread *t);
};

/* A thread */
struct kvnet_thread {
	const struct kvnet_thread_ops *ops;	/* const from start to stop */
	/*
	 * the owner's address space, kept by the caller of kvnet_thread_start(); NULL: not started,
	 * or stopped
	 */
	struct mm_struct *mm;
	/* the vhost_task; NULL: a kernel thread, or not started */
	struct vhost_task *vtsk;
	/* the thread, with a reference; a vhost_task sets it when it first runs */
	struct task_struct *task;
	enum kvnet_thread_exit exiting;		/* written and read by any context */
	struct mutex mm_lock;			/* held by a kernel thread while it uses @mm */
};

int kvnet_thread_start(struct kvnet_thread *t, struct mm_struct *mm, bool fork,
		       const struct kvnet_thread_ops *ops);
bool kvnet_thread_note_owner_died(struct kvnet_thread *t);
void kvnet_thread_begin_stop(struct kvnet_thread *t);
void kvnet_thread_kill(struct kvnet_thread *t);
void kvnet_thread_wait_unuse_mm(struct kvnet_thread *t);
void kvnet_thread_stop(struct kvnet_thread *t);
void kvnet_thread_wake(struct kvnet_thread *t);
bool kvnet_thread_is_halted(const struct kvnet_thread *t);
struct task_struct *kvnet_thread_get_task(const struct kvnet_thread *t);

#endif /* _KVNET_THREAD_H */
