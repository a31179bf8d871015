// SPDX-License-Identifier: GPL-2.0
/*
 * close.c - the end of a device, and who does not wait for it
 *
 * A device ends when its workers do, and these may be kept from it: by a freezer, or by a
 * page that a file system does not deliver. Who closes the file is any process that it has
 * been passed to, or the kernel, for many. So it waits for a while, and then
 * somebody else does (later.h).
 */
#include <linux/jiffies.h>
#include <linux/slab.h>

#include "net.h"

/* How long it is waited for a queue. */
#define PATIENCE	HZ

static struct kvnet_net *to_net(struct kvnet_later *later)
{
	return container_of(later, struct kvnet_net, later);
}

static void destroy(struct kvnet_net *net)
{
	mutex_lock(&net->lock);
	kvnet_net_release_owner(net);
	mutex_unlock(&net->lock);
	kvfree(net);
}

static void destroy_later(struct kvnet_later *later)
{
	destroy(to_net(later));
}

/**
 * kvnet_net_put() - the file, or a thread to which it was lent, has done with a device
 * @net: the device
 *
 * Context: may sleep.
 */
void kvnet_net_put(struct kvnet_net *net)
{
	if (!refcount_dec_and_test(&net->users))
		return;
	if (kvnet_threads_over(&net->crew.threads))
		destroy(net);
	else
		kvnet_later(&net->later, destroy_later);
}

/* From now on nobody knows the device but who has it lent, and its workers. */
static void forget(struct kvnet_net *net)
{
	mutex_lock(&net->lock);
	kvnet_net_quiesce(net);
	kvnet_net_unlist(net);
	mutex_unlock(&net->lock);
	kvnet_net_put(net);
}

static void forget_later(struct kvnet_later *later)
{
	forget(to_net(later));
}

/* A queue that has been stopped waits for no page any more. */
static bool stops_soon(struct kvnet_net *net)
{
	unsigned long end = jiffies + PATIENCE;
	unsigned int i;
	bool ret = true;

	mutex_lock(&net->lock);
	for (i = 0; i < KVNET_QUEUES && ret; i++)
		while (!kvnet_queue_try_stop(&net->q[i]) && ret) {
			schedule_timeout_uninterruptible(1);
			ret = time_before(jiffies, end);
		}
	mutex_unlock(&net->lock);
	return ret;
}

/**
 * kvnet_net_close() - end of a device, in whatever state
 * @net: the device; of others only a thread knows it to which it is lent, and which
 *	 ends it then
 *
 * Context: the last close of the file; may sleep.
 */
void kvnet_net_close(struct kvnet_net *net)
{
	kvnet_threads_end(&net->crew.threads);
	/* Who kicks has the file's reference to rely on. */
	if (stops_soon(net))
		forget(net);
	else
		kvnet_later(&net->later, forget_later);
}
