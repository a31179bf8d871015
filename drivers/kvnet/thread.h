/* SPDX-License-Identifier: GPL-2.0 */
/*
 * thread.h - a thread in the owner's address space: its beginning and its end
 *
 * There are two kinds. A task is a thread of the owner's process (vhost_task):
 * its cgroups, its cpuset, its limits and its freezers are the owner's, and it
 * ends with it. A kernel thread enters the owner's address space when there is
 * something to do, and joins the owner's cgroups; it is for kernels that have no
 * tasks, and for VMMs that ask for it (VHOST_FORK_OWNER_KTHREAD).
 *
 * A thread may do the work of several, each of which is a struct kvnet_thread to those
 * who use it: thread_shared.c.
 *
 * What it does is for others to say. Documentation/worker.rst tells the kinds
 * apart.
 */
#ifndef _KVNET_THREAD_H
#define _KVNET_THREAD_H

#include <linux/atomic.h>
#include <linux/completion.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct kvnet_inside;
struct kvnet_shared;
struct mm_struct;
struct task_struct;
struct vhost_task;

/**
 * struct kvnet_thread_ops - what a thread does; called by the thread
 * @begin: before the first turn; may sleep
 * @wants: is there anything to do? Does not sleep
 * @turn: do some of it; in the owner's address space, may sleep
 * @gone: no turn comes any more: the owner is dead, or the thread is ended. Not
 *	  called of each thread that is stopped; may sleep
 */
struct kvnet_thread_ops {
	void (*begin)(void *data);
	bool (*wants)(void *data);
	void (*turn)(void *data);
	void (*gone)(void *data);
};

/**
 * struct kvnet_threads - the threads of one owner that serve one device
 * @mm: the owner's address space; who starts them keeps it, not its users; const
 *	while there are any
 * @lock: guards @all, and of each thread what kvnet_threads_end() wants
 * @all: &kvnet_thread.entry
 */
struct kvnet_threads {
	struct mm_struct *mm;
	spinlock_t lock;
	struct list_head all;
};

/**
 * struct kvnet_thread - a thread
 * @ops: const while it lives
 * @data: handed to @ops
 * @group: which it belongs to; const while it lives
 * @entry: in &kvnet_threads.all; under the group's lock
 * @owner: of the owner's process, with a reference; NULL: no thread; under the
 *	   group's lock
 * @maker: who makes it; until it has begun
 * @vtsk: the task
 * @forked: there is @vtsk; else a kernel thread, or none; under the group's lock
 * @closing: no turn is begun any more
 * @doomed: killed before @task was known; under the group's lock
 * @over: it has had its last turn, and does nothing any more but end
 * @task: the thread, with a reference; of a task, once it has run; under the group's
 *	  lock
 * @inside: the address space that a kernel thread enters; const while it lives
 * @started: a kernel thread is where it belongs, or cannot get there
 * @ended: it has no more turns
 * @ret: which, 0 or -errno
 * @by: who does it: this one, or the one of @shared; const while it lives
 * @shared: it is one of several; const while it lives; so all that follow, which are
 *	    thread_shared.c's
 * @turns: in &kvnet_shared.members
 * @begun: &kvnet_thread_ops.begin has been called
 * @told: &kvnet_thread_ops.gone has been
 */
struct kvnet_thread {
	const struct kvnet_thread_ops *ops;
	void *data;
	struct kvnet_threads *group;
	struct list_head entry;
	struct task_struct *owner;
	struct task_struct *maker;
	struct vhost_task *vtsk;
	bool forked;
	bool closing;
	bool doomed;
	bool over;
	struct task_struct *task;
	struct kvnet_inside *inside;
	struct completion started;
	struct completion ended;
	int ret;
	struct kvnet_thread *by;
	struct kvnet_shared *shared;
	struct list_head turns;
	bool begun;
	bool told;
};

/* Are there tasks? If not, all are kernel threads. */
bool kvnet_thread_has_tasks(void);

void kvnet_threads_init(struct kvnet_threads *ts);

int kvnet_thread_start(struct kvnet_thread *t, struct kvnet_threads *ts, bool fork,
		       const struct kvnet_thread_ops *ops, void *data);
int kvnet_thread_start_like(struct kvnet_thread *t, const struct kvnet_thread *like,
			    void *data);
void kvnet_thread_stop(struct kvnet_thread *t);
void kvnet_thread_wake(struct kvnet_thread *t);
bool kvnet_thread_halted(const struct kvnet_thread *t);
struct task_struct *kvnet_thread_get_task(struct kvnet_thread *t);
bool kvnet_thread_is_task(const struct kvnet_thread *t);

/* its end: thread_end.c */
void kvnet_threads_end(struct kvnet_threads *ts);
bool kvnet_threads_over(struct kvnet_threads *ts);
long kvnet_threads_wait(struct kvnet_threads *ts);
void kvnet_threads_look(struct kvnet_threads *ts);
void kvnet_threads_owner_exits(struct kvnet_threads *ts);
void kvnet_thread_kill(struct kvnet_thread *t);
void kvnet_thread_revive(void);

/* a kernel thread and its owner's address space: thread_inside.c */
struct kvnet_inside *kvnet_inside_get(struct mm_struct *mm);
void kvnet_inside_put(struct kvnet_inside *in);
bool kvnet_inside_enter(struct kvnet_inside *in);
void kvnet_inside_leave(struct kvnet_inside *in);
bool kvnet_inside_alone(struct kvnet_inside *in);

/* one for several: thread_shared.c */
int kvnet_thread_join(struct kvnet_thread *t, struct kvnet_threads *ts, bool fork,
		      const struct kvnet_thread_ops *ops, void *data);
void kvnet_thread_leave(struct kvnet_thread *t);
void kvnet_thread_interrupt(struct kvnet_thread *t);
bool kvnet_thread_had_last_turn(struct kvnet_thread *t);
bool kvnet_thread_look_around(const struct kvnet_thread *t);
unsigned int kvnet_thread_sharers(const struct kvnet_thread *t);

/**
 * kvnet_thread_awaited() - does another one want this thread?
 * @t: whose turn it is
 *
 * Context: the thread.
 * Return: true if one that shares it has work, or may have.
 */
static inline bool kvnet_thread_awaited(const struct kvnet_thread *t)
{
	return unlikely(t->shared) && kvnet_thread_look_around(t);
}

#endif /* _KVNET_THREAD_H */
