// SPDX-License-Identifier: GPL-2.0
/*
 * later.c - what nobody is to wait for, see later.h
 */
#include "later.h"

#include <linux/atomic.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/module.h>

#include "user.h"

/* When it is looked whether it can be done: first, and then half as often each time. */
#define LOOK_FIRST	(HZ / 50 + 1)
#define LOOK_LAST	HZ

/* Of our own, for kvnet_later_exit(). */
static struct workqueue_struct *queue;

/* How much is to be done. */
static atomic_t left = ATOMIC_INIT(0);

static void run(struct work_struct *work)
{
	struct kvnet_later *later = container_of(to_delayed_work(work), struct kvnet_later, work);
	struct kvnet_user *user = later->user;

	if (later->fn(later)) {
		kvnet_user_over(user);
		atomic_dec(&left);
		/* kvnet_later_exit() waits for what follows. */
		module_put(THIS_MODULE);
		return;
	}
	later->delay = min_t(unsigned long, 2 * later->delay, LOOK_LAST);
	queue_delayed_work(queue, &later->work, later->delay);
}

/**
 * kvnet_later() - have something done as soon as it can be
 * @later: what; not under way
 * @fn: do it, if nothing is to be waited for; true: done. May sleep
 *
 * Context: any process that has the module in use.
 */
void kvnet_later(struct kvnet_later *later, bool (*fn)(struct kvnet_later *later))
{
	__module_get(THIS_MODULE);
	atomic_inc(&left);
	kvnet_user_late(later->user);
	later->fn = fn;
	later->delay = LOOK_FIRST;
	INIT_DELAYED_WORK(&later->work, run);
	queue_delayed_work(queue, &later->work, later->delay);
}

/**
 * kvnet_later_any() - is there anything that cannot be done yet?
 *
 * Context: any.
 * Return: true if so, anybody's.
 */
bool kvnet_later_any(void)
{
	return atomic_read(&left);
}

/**
 * kvnet_later_init() - before first use
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int kvnet_later_init(void)
{
	queue = alloc_workqueue("kvnet", WQ_UNBOUND, 0);
	return queue ? 0 : -ENOMEM;
}

/**
 * kvnet_later_exit() - there is nothing left to do
 *
 * Context: module exit, nothing is under way but its last instructions; may sleep.
 */
void kvnet_later_exit(void)
{
	destroy_workqueue(queue);
}
