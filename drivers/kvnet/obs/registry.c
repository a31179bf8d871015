// SPDX-License-Identifier: GPL-2.0
/*
 * registry.c - table of the devices that have an owner, see registry.h
 *
 * The xarray's lock guards the table and makes lookup and reference one step. Ids are allocated
 * cyclically, so that an id is not reused soon.
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
static u32 registry_next_id = 1;

/* Called by the new owner, with net->lock held; may sleep. Returns 0 or -ENOMEM. */
int kvnet_registry_register(struct kvnet_net *net)
{
	struct kvnet_registry_entry *entry = &net->registry;
	int ret;

	entry->netns = get_net(current->nsproxy->net_ns);
	entry->owner = get_task_pid(current, PIDTYPE_TGID);
	/*
	 * For notifications: their listeners may be in any PID namespace, so they carry a PID
	 * of the initial namespace only.
	 */
	entry->pid = task_active_pid_ns(current) == &init_pid_ns ? task_tgid_nr(current) : 0;
	strscpy(entry->comm, current->group_leader->comm, sizeof(entry->comm));
	ret = xa_alloc_cyclic(&registry_devices, &entry->id, net, xa_limit_32b, &registry_next_id,
			      GFP_KERNEL);
	WRITE_ONCE(entry->registered, ret >= 0);
	if (entry->registered)
		return 0;
	/* xa_alloc_cyclic() may have written an id although it failed. */
	WRITE_ONCE(entry->id, 0);
	put_pid(entry->owner);
	put_net(entry->netns);
	return -ENOMEM;
}

/* Caller holds net->lock. Readers that have a reference keep it. @net need not be registered. */
void kvnet_registry_unregister(struct kvnet_net *net)
{
	struct kvnet_registry_entry *entry = &net->registry;

	if (entry->registered)
		xa_erase(&registry_devices, entry->id);
	WRITE_ONCE(entry->registered, false);
}

/* After kvnet_registry_unregister(): sleeps until the last reader has put its reference. */
void kvnet_registry_wait_for_readers(struct kvnet_net *net)
{
	atomic_t *readers = &net->registry.readers;

	wait_var_event(readers, !atomic_read(readers));
}

/* Caller holds net->lock. After kvnet_registry_wait_for_readers(): readers use these fields. */
void kvnet_registry_release_entry(struct kvnet_net *net)
{
	struct kvnet_registry_entry *entry = &net->registry;

	if (!entry->id)
		return;
	WRITE_ONCE(entry->id, 0);
	put_pid(entry->owner);
	put_net(entry->netns);
}

/* Caller holds the xarray's lock. */
static bool try_get_registered(struct kvnet_net *net, const struct net *netns)
{
	if (!net_eq(net->registry.netns, netns))
		return false;
	atomic_inc(&net->registry.readers);
	return true;
}

/**
 * kvnet_registry_get() - look up a device by its id
 * @netns: the caller's network namespace; devices of other namespaces are not found
 * @id: the device's id
 *
 * Context: process context; does not sleep.
 * Return: the device, for kvnet_registry_put(), or NULL.
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
 * kvnet_registry_next() - look up the device with the least id that is not below @id
 * @netns: as for kvnet_registry_get()
 * @id: in: where to begin; out: the id of the device that is returned
 *
 * Context: as kvnet_registry_get().
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

void kvnet_registry_put(struct kvnet_net *net)
{
	atomic_t *readers = &net->registry.readers;

	if (atomic_dec_and_test(readers))
		wake_up_var(readers);
}
