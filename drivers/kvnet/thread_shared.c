// SPDX-License-Identifier: GPL-2.0
/*
 * thread_shared.c - one thread that does the work of several, see thread.h
 *
 * Those who share it are its members: a struct kvnet_thread each, which begins, takes turns
 * and ends as if it had a thread of its own. One at a time has its turn. Who leaves waits for
 * his own turn only, which may be ended for him without an end of the thread.
 */
#include "thread.h"

#include <linux/cred.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "later.h"
#include "user.h"

/**
 * struct kvnet_shared - a thread, and whose work it does
 * @entry: in the list of all, unless it is @dead; with hosts_lock
 * @users: members, and who is about to be one; with hosts_lock
 * @fork: a task; const
 * @cred: what who made it might do; const
 * @threads: none but @thread
 * @later: its end, if nobody is to wait for it; counts for who made it
 * @thread: who does it
 * @lock: guards all that follows
 * @members: &kvnet_thread.turns, who has waited longest first
 * @running: whose turn it is; written by the thread
 * @killed: so that this turn ends
 * @dead: nobody has a turn any more
 */
struct kvnet_shared {
	struct list_head entry;
	unsigned int users;
	bool fork;
	const struct cred *cred;
	struct kvnet_threads threads;
	struct kvnet_later later;
	struct kvnet_thread thread;
	spinlock_t lock;
	struct list_head members;
	struct kvnet_thread *running;
	bool killed;
	bool dead;
};

static LIST_HEAD(hosts);
static DEFINE_SPINLOCK(hosts_lock);

/*** what the thread does ***/

static bool wants(const struct kvnet_thread *t)
{
	if (READ_ONCE(t->closing))
		return !t->told;
	return !t->begun || t->ops->wants(t->data);
}

static void host_begin(void *data)
{
}

static bool is_told_nothing(const struct kvnet_thread *t)
{
	return !t->told;
}

/* The next turn is that of who wants one, by which(), and has waited longest. */
static __always_inline struct kvnet_thread *
next_turn(struct kvnet_shared *h, bool (*which)(const struct kvnet_thread *t))
{
	struct kvnet_thread *t, *next = NULL;

	spin_lock(&h->lock);
	list_for_each_entry(t, &h->members, turns)
		if (which(t)) {
			next = t;
			break;
		}
	if (next)
		list_move_tail(&next->turns, &h->members);
	WRITE_ONCE(h->running, next);
	spin_unlock(&h->lock);
	return next;
}

static bool host_wants(void *data)
{
	return next_turn(data, wants);
}

/* Who has left is not looked at any more. */
static void turn_is_over(struct kvnet_shared *h)
{
	struct kvnet_threads *look = NULL;
	struct kvnet_thread *t;

	spin_lock(&h->lock);
	t = h->running;
	if (t && READ_ONCE(t->closing))
		look = t->group;
	/* Before anybody has the thread end for good. */
	if (unlikely(h->killed))
		kvnet_thread_revive();
	h->killed = false;
	/* Who sees it may free the member; pairs with kvnet_thread_leave(). */
	smp_store_release(&h->running, NULL);
	spin_unlock(&h->lock);
	if (unlikely(look))
		kvnet_threads_look(look);
}

static void host_turn(void *data)
{
	struct kvnet_shared *h = data;
	struct kvnet_thread *t = h->running;

	if (unlikely(READ_ONCE(t->closing))) {
		t->told = true;
		t->ops->gone(t->data);
	} else if (unlikely(!t->begun)) {
		t->begun = true;
		t->ops->begin(t->data);
	} else {
		t->ops->turn(t->data);
	}
	turn_is_over(h);
}

static void host_gone(void *data)
{
	struct kvnet_shared *h = data;
	struct kvnet_thread *t;

	spin_lock(&hosts_lock);
	list_del_init(&h->entry);
	spin_lock(&h->lock);
	h->dead = true;
	spin_unlock(&h->lock);
	spin_unlock(&hosts_lock);
	/* Whose turn it was to be, when the thread ended. */
	turn_is_over(h);
	while ((t = next_turn(h, is_told_nothing))) {
		t->told = true;
		WRITE_ONCE(t->closing, true);
		t->ops->gone(t->data);
		turn_is_over(h);
	}
}

static const struct kvnet_thread_ops host_ops = {
	.begin = host_begin,
	.wants = host_wants,
	.turn = host_turn,
	.gone = host_gone,
};

/*** whose it is ***/

static bool same_cgroups(struct task_struct *a, struct task_struct *b)
{
#ifdef CONFIG_CGROUPS
	return rcu_access_pointer(a->cgroups) == rcu_access_pointer(b->cgroups);
#else
	return true;
#endif
}

/* Would a thread that the calling process makes now be like that one? */
static bool fits(struct kvnet_shared *h, const struct kvnet_threads *ts, bool fork)
{
	struct task_struct *task = READ_ONCE(h->thread.task);

	return h->threads.mm == ts->mm && h->fork == fork &&
	       h->thread.owner->signal == current->signal &&
	       h->cred == current_cred() &&
	       same_cgroups(task ? task : h->thread.owner, current);
}

static struct kvnet_shared *find_host(const struct kvnet_threads *ts, bool fork)
{
	struct kvnet_shared *h, *found = NULL;

	spin_lock(&hosts_lock);
	list_for_each_entry(h, &hosts, entry)
		if (fits(h, ts, fork)) {
			found = h;
			h->users++;
			break;
		}
	spin_unlock(&hosts_lock);
	return found;
}

static void free_host(struct kvnet_shared *h)
{
	kvnet_user_put(h->later.user);
	mmdrop(h->threads.mm);
	put_cred(h->cred);
	kfree(h);
}

static struct kvnet_shared *make_host(const struct kvnet_threads *ts, bool fork)
{
	struct kvnet_shared *h = kzalloc(sizeof(*h), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!h)
		return ERR_PTR(-ENOMEM);
	h->users = 1;
	h->fork = fork;
	h->cred = get_current_cred();
	h->threads.mm = ts->mm;
	mmgrab(ts->mm);
	kvnet_threads_init(&h->threads);
	INIT_LIST_HEAD(&h->entry);
	INIT_LIST_HEAD(&h->members);
	spin_lock_init(&h->lock);
	h->later.user = kvnet_user_get();
	ret = PTR_ERR_OR_ZERO(h->later.user);
	if (!ret)
		ret = kvnet_thread_start(&h->thread, &h->threads, fork, &host_ops, h);
	if (ret) {
		free_host(h);
		return ERR_PTR(ret);
	}
	spin_lock(&hosts_lock);
	spin_lock(&h->lock);
	if (!h->dead)
		list_add_tail(&h->entry, &hosts);
	spin_unlock(&h->lock);
	spin_unlock(&hosts_lock);
	return h;
}

static bool end_host(struct kvnet_later *later)
{
	struct kvnet_shared *h = container_of(later, struct kvnet_shared, later);

	if (!kvnet_threads_over(&h->threads))
		return false;
	kvnet_thread_stop(&h->thread);
	free_host(h);
	return true;
}

static void put_host(struct kvnet_shared *h)
{
	bool last;

	spin_lock(&hosts_lock);
	last = !--h->users;
	if (last)
		list_del_init(&h->entry);
	spin_unlock(&hosts_lock);
	if (!last)
		return;
	kvnet_threads_wait(&h->threads);
	if (!end_host(&h->later))
		kvnet_later(&h->later, end_host);
}

/*** members ***/

static void list_member(struct kvnet_thread *t, struct kvnet_shared *h)
{
	t->shared = h;
	t->by = &h->thread;
	t->owner = get_task_struct(current);
	spin_lock(&t->group->lock);
	list_add_tail(&t->entry, &t->group->all);
	spin_unlock(&t->group->lock);
}

/* It has no turn any more. */
static void forget_member(struct kvnet_thread *t)
{
	struct kvnet_shared *h = t->shared;
	struct task_struct *owner = t->owner;

	spin_lock(&t->group->lock);
	list_del(&t->entry);
	t->owner = NULL;
	spin_unlock(&t->group->lock);
	t->shared = NULL;
	t->by = t;
	put_task_struct(owner);
	put_host(h);
}

static bool take_in(struct kvnet_thread *t, struct kvnet_shared *h)
{
	bool dead;

	list_member(t, h);
	spin_lock(&h->lock);
	dead = h->dead;
	if (!dead)
		list_add_tail(&t->turns, &h->members);
	spin_unlock(&h->lock);
	if (dead)
		forget_member(t);
	else
		kvnet_thread_wake(t);
	return !dead;
}

/**
 * kvnet_thread_join() - as kvnet_thread_start(), but the thread may be that of others
 * @t: none yet, zeroed or stopped
 * @ts: it becomes one of these; @ts->mm is the calling process's
 * @fork: make it a task, which the calling process's limits bound
 * @ops: what it is going to do
 * @data: for @ops
 *
 * Of those who have called this in the same process, with the same cgroups and
 * credentials.
 *
 * Context: the owner; may sleep.
 * Return: as kvnet_thread_start().
 */
int kvnet_thread_join(struct kvnet_thread *t, struct kvnet_threads *ts, bool fork,
		      const struct kvnet_thread_ops *ops, void *data)
{
	struct kvnet_shared *h;

	t->ops = ops;
	t->data = data;
	t->group = ts;
	t->closing = false;
	t->begun = false;
	t->told = false;
	h = find_host(ts, fork);
	if (h && take_in(t, h))
		return 0;
	h = make_host(ts, fork);
	if (IS_ERR(h))
		return PTR_ERR(h);
	/* Whoever dies so soon is being killed. */
	return take_in(t, h) ? 0 : -ERESTARTNOINTR;
}

/**
 * kvnet_thread_leave() - kvnet_thread_stop(), for one that shares its thread
 * @t: the member; nobody wakes it any more
 *
 * Waits for no other's turn. The last one ends the thread.
 *
 * Context: as kvnet_thread_stop().
 */
void kvnet_thread_leave(struct kvnet_thread *t)
{
	struct kvnet_shared *h = t->shared;

	spin_lock(&h->lock);
	WRITE_ONCE(t->closing, true);
	list_del(&t->turns);
	spin_unlock(&h->lock);
	/* The thread is done with it then, or has not begun. */
	wait_var_event(t->group, smp_load_acquire(&h->running) != t);
	forget_member(t);
}

/**
 * kvnet_thread_interrupt() - what a member waits for in its turn fails
 * @t: the member, whose &kvnet_thread.closing is set
 *
 * The others notice nothing: the thread lives on.
 *
 * Context: any process; its group's lock.
 */
void kvnet_thread_interrupt(struct kvnet_thread *t)
{
	struct kvnet_shared *h = t->shared;

	spin_lock(&h->lock);
	if (h->running == t) {
		h->killed = true;
		kvnet_thread_kill(&h->thread);
	}
	spin_unlock(&h->lock);
	kvnet_thread_wake(t);
}

/**
 * kvnet_thread_had_last_turn() - has a member no turn any more, nor will have?
 * @t: the member, which is ended and not stopped meanwhile
 *
 * One more turn would be for &kvnet_thread_ops.gone: whoever asks does all that this does.
 *
 * Context: any process; its group's lock.
 * Return: true if so; false also if it has not been ended.
 */
bool kvnet_thread_had_last_turn(struct kvnet_thread *t)
{
	struct kvnet_shared *h = t->shared;
	bool ret;

	spin_lock(&h->lock);
	ret = READ_ONCE(t->closing) && h->running != t;
	if (ret)
		t->told = true;
	spin_unlock(&h->lock);
	return ret;
}

/**
 * kvnet_thread_look_around() - see kvnet_thread_awaited()
 * @t: the member whose turn it is
 *
 * Context: the thread.
 * Return: true if another one wants a turn.
 */
bool kvnet_thread_look_around(const struct kvnet_thread *t)
{
	struct kvnet_shared *h = t->shared;
	const struct kvnet_thread *other;
	bool ret = false;

	spin_lock(&h->lock);
	list_for_each_entry(other, &h->members, turns)
		if (other != t && wants(other)) {
			ret = true;
			break;
		}
	spin_unlock(&h->lock);
	return ret;
}

/**
 * kvnet_thread_sharers() - how many have this thread?
 * @t: a thread, which is not stopped meanwhile
 *
 * Return: 1 of a thread of its own.
 */
unsigned int kvnet_thread_sharers(const struct kvnet_thread *t)
{
	return t->shared ? READ_ONCE(t->shared->users) : 1;
}
