// SPDX-License-Identifier: GPL-2.0
/*
 * close.c - the end of a device, and who does not wait for it
 *
 * A device ends when its workers do, and these may be kept from it: by a freezer, or by a
 * page that a file system does not deliver. So may an operator who has found it (registry.h).
 * Who closes the file is any process that it has been passed to, or the kernel, for many. So
 * they are waited for for a while; then what can be done without them is, and the rest once
 * they have ended (later.h).
 */
#include <linux/mm.h>

#include "net.h"

static struct kvnet_net *to_net(struct kvnet_later *later)
{
	return container_of(later, struct kvnet_net, later);
}

static bool destroy(struct kvnet_later *later)
{
	struct kvnet_net *net = to_net(later);

	if (!kvnet_threads_over(&net->crew.threads) || !kvnet_registry_wait(net, 0))
		return false;
	mutex_lock(&net->lock);
	kvnet_net_release_owner(net);
	mutex_unlock(&net->lock);
	kvfree(net);
	return true;
}

/**
 * kvnet_net_put() - the file, or a thread to which it was lent, has done with a device
 * @net: the device
 *
 * Context: may sleep, but waits for no worker, nor operator.
 */
void kvnet_net_put(struct kvnet_net *net)
{
	if (refcount_dec_and_test(&net->users) && !destroy(&net->later))
		kvnet_later(&net->later, destroy);
}

/* From now on nobody knows the device but who has it lent, and its workers. */
static void forget(struct kvnet_net *net)
{
	mutex_lock(&net->lock);
	kvnet_net_quiesce(net);
	kvnet_net_unlist(net);
	mutex_unlock(&net->lock);
}

/* A worker may be at a queue still, and somebody wait for that who sets it up. */
static bool try_to_forget(struct kvnet_net *net)
{
	bool ret;

	if (!mutex_trylock(&net->lock))
		return false;
	ret = kvnet_net_try_quiesce(net);
	if (ret)
		kvnet_net_unlist(net);
	mutex_unlock(&net->lock);
	return ret;
}

static bool forget_later(struct kvnet_later *later)
{
	struct kvnet_net *net = to_net(later);

	if (!kvnet_threads_over(&net->crew.threads))
		return false;
	forget(net);
	kvnet_net_put(net);
	return true;
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
	const long left = kvnet_threads_wait(&net->crew.threads);

	/* Who kicks has the file's reference to rely on. */
	if (left)
		forget(net);
	else if (!try_to_forget(net))
		return kvnet_later(&net->later, forget_later);
	kvnet_registry_wait(net, left);
	kvnet_net_put(net);
}
