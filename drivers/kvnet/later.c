// SPDX-License-Identifier: GPL-2.0
/*
 * later.c - what nobody is to wait for, see later.h
 */
#include "later.h"

#include <linux/module.h>

/* Of our own: what hangs is to hold up nothing else of the host's. */
static struct workqueue_struct *queue;

static void run(struct work_struct *work)
{
	struct kvnet_later *later = container_of(work, struct kvnet_later, work);

	later->fn(later);
	/* kvnet_later_exit() waits for what follows. */
	module_put(THIS_MODULE);
}

/**
 * kvnet_later() - have something done by a thread of ours
 * @later: what; not under way
 * @fn: what to do; may sleep
 *
 * Context: any process that has the module in use.
 */
void kvnet_later(struct kvnet_later *later, void (*fn)(struct kvnet_later *later))
{
	__module_get(THIS_MODULE);
	later->fn = fn;
	INIT_WORK(&later->work, run);
	queue_work(queue, &later->work);
}

/**
 * kvnet_later_init() - before first use
 *
 * Context: module init; may sleep.
 * Return: 0 or -ENOMEM.
 */
int kvnet_later_init(void)
{
	queue = alloc_workqueue("kvnet", WQ_UNBOUND, WQ_MAX_ACTIVE);
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
