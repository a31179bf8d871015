// SPDX-License-Identifier: GPL-2.0
/*
 * registry.c - all devices that have an owner, see registry.h
 */
#include "registry.h"

#include <linux/nsproxy.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/string.h>
#include <linux/wait_bit.h>
#include <linux/xarray.h>
#include <net/net_namespace.h>

#include "net.h"

static DEFINE_XARRAY_ALLOC1(devices);
/* Numbers are not used again soon. */
static u32 next_id = 1;

/**
 * kvnet_registry_add() - a device gets an owner
 * @net: the device
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: 0 or -ENOMEM.
 */
int kvnet_registry_add(struct kvnet_net *net)
{
	struct kvnet_listing *l = &net->listing;
	int ret;

	l->netns = get_net(current->nsproxy->net_ns);
	l->owner = get_task_pid(current, PIDTYPE_TGID);
	/* Who is told has not asked: there is one namespace whose numbers all may take for theirs. */
	l->pid = task_active_pid_ns(current) == &init_pid_ns ? task_tgid_nr(current) : 0;
	strscpy(l->comm, current->group_leader->comm, sizeof(l->comm));
	ret = xa_alloc_cyclic(&devices, &l->id, net, xa_limit_32b, &next_id,
			      GFP_KERNEL);
	WRITE_ONCE(l->listed, ret >= 0);
	if (l->listed)
		return 0;
	/* What has no room keeps the number that was found for it. */
	WRITE_ONCE(l->id, 0);
	put_pid(l->owner);
	put_net(l->netns);
	return -ENOMEM;
}

/**
 * kvnet_registry_hide() - nobody finds a device any more
 * @net: the device, listed or not
 *
 * Who has found it has it still.
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_registry_hide(struct kvnet_net *net)
{
	struct kvnet_listing *l = &net->listing;

	if (l->listed)
		xa_erase(&devices, l->id);
	WRITE_ONCE(l->listed, false);
}

/**
 * kvnet_registry_wait() - wait for those who have found a device
 * @net: the device, after kvnet_registry_hide()
 *
 * Context: may sleep, until they have done.
 */
void kvnet_registry_wait(struct kvnet_net *net)
{
	atomic_t *holders = &net->listing.holders;

	wait_var_event(holders, !atomic_read(holders));
}

/**
 * kvnet_registry_del() - a device is to be without an owner
 * @net: the device, after kvnet_registry_hide(), which nobody has any more who has found it here
 *
 * Context: any process; dev->lock.
 */
void kvnet_registry_del(struct kvnet_net *net)
{
	struct kvnet_listing *l = &net->listing;

	if (!l->id)
		return;
	WRITE_ONCE(l->id, 0);
	put_pid(l->owner);
	put_net(l->netns);
}

/* Under the array's lock. */
static bool hold(struct kvnet_net *net, const struct net *netns)
{
	if (!net_eq(net->listing.netns, netns))
		return false;
	atomic_inc(&net->listing.holders);
	return true;
}

/**
 * kvnet_registry_get() - a device by its number
 * @netns: where the caller is
 * @id: the number
 *
 * Context: any process.
 * Return: the device, for kvnet_registry_put(); NULL: there is none, for such a caller.
 */
struct kvnet_net *kvnet_registry_get(const struct net *netns, u32 id)
{
	struct kvnet_net *net;

	xa_lock(&devices);
	net = xa_load(&devices, id);
	if (net && !hold(net, netns))
		net = NULL;
	xa_unlock(&devices);
	return net;
}

/**
 * kvnet_registry_next() - a device, and then the next one
 * @netns: where the caller is
 * @id: where to begin; on return the number of the device
 *
 * Context: any process.
 * Return: as kvnet_registry_get().
 */
struct kvnet_net *kvnet_registry_next(const struct net *netns, unsigned long *id)
{
	struct kvnet_net *net;
	unsigned long i;

	xa_lock(&devices);
	xa_for_each_start(&devices, i, net, *id)
		if (hold(net, netns))
			break;
	xa_unlock(&devices);
	*id = i;
	return net;
}

/**
 * kvnet_registry_put() - the caller has done
 * @net: from kvnet_registry_get() or kvnet_registry_next()
 *
 * Context: any process.
 */
void kvnet_registry_put(struct kvnet_net *net)
{
	atomic_t *holders = &net->listing.holders;

	if (atomic_dec_and_test(holders))
		wake_up_var(holders);
}
