// SPDX-License-Identifier: GPL-2.0
/*
 * dev_close.c - the last close of a device, and its reference count
 *
 * When close() returns, the tap, the eventfds and the pinned ring pages are released, and no
 * kernel thread uses the owner's mm. A work item then waits for workers that have not exited and
 * for registry readers, so that close() does not. It holds a module reference until it is done.
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/workqueue.h>

#include "kvnet.h"

/* A workqueue of its own, so that kvnet_dev_module_exit() can wait for the work items. */
static struct workqueue_struct *dev_release_wq;

/*
 * References belong to the file, until release_closed_dev() has run, and to each task_work that
 * is pending. The device has no owner when the last one is dropped. Process context.
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
	/* kvnet_dev_module_exit() waits until this function has returned. */
	module_put(THIS_MODULE);
}

/**
 * kvnet_dev_close() - the last close of the file
 * @net: the device, in any state; a pending task_work may still hold a reference
 *
 * Waits for a worker that polls, as vhost_net does.
 *
 * Context: takes dev->lock; may sleep.
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

/* A work item that has dropped its module reference may not have returned yet. */
void kvnet_dev_module_exit(void)
{
	destroy_workqueue(dev_release_wq);
}
