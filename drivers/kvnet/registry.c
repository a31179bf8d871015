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

#include "kvnet.h"

static DEFINE_XARRAY_ALLOC1(registry_devices);
/* Numbers are not used again soon. */
static u32 registry_next_id = 1;

/**
 * kvnet_registry_register() - a device gets an owner
 * @net: the device
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: 0 or -ENOMEM.
 */
int kvnet_registry_register(struct kvnet_net *net)
{
	struct kvnet_registry_entry *entry = &net->registry;
	int ret;

	entry->netns = get_net(current->nsproxy->net_ns);
	entry->owner = get_task_pid(current, PIDTYPE_TGID);
	/* Who is told has not asked: there is one namespace whose numbers all may take for theirs. */
	entry->pid = task_active_pid_ns(current) == &init_pid_ns ? task_tgid_nr(current) : 0;
	strscpy(entry->comm, current->group_leader->comm, sizeof(entry->comm));
	ret = xa_alloc_cyclic(&registry_devices, &entry->id, net, xa_limit_32b, &registry_next_id,
			      GFP_KERNEL);
	WRITE_ONCE(entry->registered, ret >= 0);
	if (entry->registered)
		return 0;
	/* What has no room keeps the number that was found for it. */
	WRITE_ONCE(entry->id, 0);
	put_pid(entry->owner);
	put_net(entry->netns);
	return -ENOMEM;
}

/**
 * kvnet_registry_unregister() - nobody finds a device any more
 * @net: the device, listed or not
 *
 * Who has found it has it still.
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_registry_unregister(struct kvnet_net *net)
{
	struct kvnet_registry_entry *entry = &net->registry;

	if (entry->registered)
		xa_erase(&registry_devices, entry->id);
	WRITE_ONCE(entry->registered, false);
}

/**
 * kvnet_registry_wait_for_readers() - wait for those who have found a device
 * @net: the device, after kvnet_registry_unregister()
 *
 * Context: may sleep, until they have done.
 */
void kvnet_registry_wait_for_readers(struct kvnet_net *net)
{
	atomic_t *readers = &net->registry.readers;

	wait_var_event(readers, !atomic_read(readers));
}

/**
 * kvnet_registry_release_entry() - a device is to be without an owner
 * @net: the device, after kvnet_registry_unregister(), which nobody has any more who has found it
 *	here
 *
 * Context: any process; dev->lock.
 */
void kvnet_registry_release_entry(struct kvnet_net *net)
{
	struct kvnet_registry_entry *entry = &net->registry;

	if (!entry->id)
		return;
	WRITE_ONCE(entry->id, 0);
	put_pid(entry->owner);
	put_net(entry->netns);
}

/* Under the array's lock. */
static bool try_get_registered(struct kvnet_net *net, const struct net *netns)
{
	if (!net_eq(net->registry.netns, netns))
		return false;
	atomic_inc(&net->registry.readers);
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

	xa_lock(&registry_devices);
	net = xa_load(&registry_devices, id);
	if (net && !try_get_registered(net, netns))
		net = NULL;
	xa_unlock(&registry_devices);
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

	xa_lock(&registry_devices);
	xa_for_each_start(&registry_devices, i, net, *id)
		if (try_get_registered(net, netns))
			break;
	xa_unlock(&registry_devices);
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
	atomic_t *readers = &net->registry.readers;

	if (atomic_dec_and_test(readers))
		wake_up_var(readers);
}
