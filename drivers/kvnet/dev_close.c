// SPDX-License-Identifier: GPL-2.0
/*
 * dev_close.c - the end of a device
 *
 * When close() has returned, tap, eventfds and the ring's pages are free, and the owner's memory
 * is not kept. A work item waits for threads that have not exited yet, and for operators that
 * still look at the device; the module is in use until then.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "kvnet.h"

/* Of our own, for kvnet_dev_module_exit(). */
static struct workqueue_struct *dev_release_wq;

/**
 * kvnet_dev_put() - the file, or a thread to which it was lent, has done with a device
 * @net: the device, which has no owner any more if this is the last reference
 *
 * Context: any process.
 */
void kvnet_dev_put(struct kvnet_net *net)
{
	if (refcount_dec_and_test(&net->refs))
		kvfree(net);
}

static void release_closed_dev(struct work_struct *work)
{
	struct kvnet_net *net = container_of(work, struct kvnet_net, release_work);

	kvnet_registry_wait_for_readers(net);
	mutex_lock(&net->lock);
	kvnet_dev_release_owner(net);
	mutex_unlock(&net->lock);
	kvnet_dev_put(net);
	/* kvnet_dev_module_exit() waits for what follows. */
	module_put(THIS_MODULE);
}

/**
 * kvnet_dev_close() - end of a device, in whatever state
 * @net: the device; a task_work that a vCPU thread has not run yet may refer to it, too
 *
 * Waits for a worker that is at a queue, as vhost_net does.
 *
 * Context: the last close of the file; may sleep.
 */
void kvnet_dev_close(struct kvnet_net *net)
{
	mutex_lock(&net->lock);
	kvnet_dev_stop(net);
	mutex_unlock(&net->lock);
	__module_get(THIS_MODULE);
	INIT_WORK(&net->release_work, release_closed_dev);
	queue_work(dev_release_wq, &net->release_work);
}

int kvnet_dev_module_init(void)
{
	dev_release_wq = alloc_workqueue("kvnet", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return dev_release_wq ? 0 : -ENOMEM;
}

/* At module exit: nothing is under way but last instructions. */
void kvnet_dev_module_exit(void)
{
	destroy_workqueue(dev_release_wq);
}
