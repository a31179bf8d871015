// SPDX-License-Identifier: GPL-2.0
/*
 * thread_inside.c - which address spaces kernel threads are inside, see thread.h
 *
 * A kernel thread that is inside its owner's address space keeps it, and so do those of
 * other devices of this owner. So that none of them thinks that it meets the owner there
 * when it meets another thread, all of an address space count themselves in one place.
 */
#include "thread.h"

#include <linux/hash.h>
#include <linux/hashtable.h>
#include <linux/kthread.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

/**
 * struct kvnet_inside - an address space that kernel threads enter
 * @entry: in known
 * @mm: whoever refers to this keeps it, not its users
 * @threads: how many refer to this; under known_lock
 * @lock: guards @n, which goes with the users of @mm
 * @n: threads that are inside; each is one of the users of @mm
 */
struct kvnet_inside {
	struct hlist_node entry;
	struct mm_struct *mm;
	unsigned int threads;
	spinlock_t lock;
	int n;
};

static DEFINE_SPINLOCK(known_lock);
static DEFINE_HASHTABLE(known, 8);

static struct kvnet_inside *find(const struct mm_struct *mm)
{
	struct kvnet_inside *in;

	lockdep_assert_held(&known_lock);
	hash_for_each_possible(known, in, entry, (unsigned long)mm)
		if (in->mm == mm)
			return in;
	return NULL;
}

/**
 * kvnet_inside_get() - for a thread that is to enter an address space
 * @mm: it, which the thread keeps until kvnet_inside_put()
 *
 * Context: may sleep.
 * Return: what all threads of @mm have in common, or NULL: no memory.
 */
struct kvnet_inside *kvnet_inside_get(struct mm_struct *mm)
{
	struct kvnet_inside *new = kzalloc(sizeof(*new), GFP_KERNEL_ACCOUNT), *in;

	spin_lock(&known_lock);
	in = find(mm);
	if (!in && new) {
		in = new;
		new = NULL;
		in->mm = mm;
		spin_lock_init(&in->lock);
		hash_add(known, &in->entry, (unsigned long)mm);
	}
	if (in)
		in->threads++;
	spin_unlock(&known_lock);
	kfree(new);
	return in;
}

/**
 * kvnet_inside_put() - the thread has ended
 * @in: from kvnet_inside_get(), or NULL
 *
 * Context: any process.
 */
void kvnet_inside_put(struct kvnet_inside *in)
{
	bool last;

	if (!in)
		return;
	spin_lock(&known_lock);
	last = !--in->threads;
	if (last)
		hash_del(&in->entry);
	spin_unlock(&known_lock);
	if (last)
		kfree(in);
}

/**
 * kvnet_inside_enter() - have the calling kernel thread enter the address space
 * @in: it
 *
 * Context: a kernel thread that is in none; may sleep.
 * Return: false if it has no users any more.
 */
bool kvnet_inside_enter(struct kvnet_inside *in)
{
	bool ret;

	spin_lock(&in->lock);
	ret = mmget_not_zero(in->mm);
	if (ret)
		WRITE_ONCE(in->n, in->n + 1);
	spin_unlock(&in->lock);
	if (ret)
		kthread_use_mm(in->mm);
	return ret;
}

/**
 * kvnet_inside_leave() - have it leave again
 * @in: what it has entered
 *
 * Context: the thread; may sleep: it may be the last one, and the end of what is mapped.
 */
void kvnet_inside_leave(struct kvnet_inside *in)
{
	kthread_unuse_mm(in->mm);
	spin_lock(&in->lock);
	WRITE_ONCE(in->n, in->n - 1);
	spin_unlock(&in->lock);
	mmput(in->mm);
}

/**
 * kvnet_inside_alone() - is the address space nobody's any more but ours?
 * @in: what the calling thread enters, or is inside of
 *
 * Context: the thread.
 * Return: true if all its users are threads like this one; or if it has none.
 */
bool kvnet_inside_alone(struct kvnet_inside *in)
{
	bool ret;

	if (atomic_read(&in->mm->mm_users) > READ_ONCE(in->n))
		return false;
	spin_lock(&in->lock);
	ret = atomic_read(&in->mm->mm_users) <= in->n;
	spin_unlock(&in->lock);
	return ret;
}
