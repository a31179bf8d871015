// SPDX-License-Identifier: GPL-2.0
/*
 * fill_dev.c - what the generic-netlink family tells of devices
 *
 * Called by who asks, whose PID and cgroup namespaces are those that numbers and paths
 * are for. Nothing here, nor in fill_queue.c, waits for a VMM.
 */
#include "netlink.h"

#include <linux/cgroup.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/numa.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/virtio_config.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "crew.h"
#include "net.h"
#include "registry.h"

static int put_flag(struct sk_buff *skb, int type, bool set)
{
	return set ? nla_put_flag(skb, type) : 0;
}

/**
 * kvnet_put_u64() - tell of a number that may be large
 * @skb: where to
 * @type: of the attribute
 * @value: the number
 *
 * Not aligned: of padding the kernel's own tool knew nothing up to 6.12, at least.
 *
 * Return: 0 or -EMSGSIZE.
 */
int kvnet_put_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put(skb, type, sizeof(value), &value);
}

/**
 * kvnet_put_number() - tell of a number, unless it is 0
 * @skb: where to
 * @type: of the attribute
 * @number: the number
 *
 * Return: 0 or -EMSGSIZE.
 */
int kvnet_put_number(struct sk_buff *skb, int type, u32 number)
{
	return number ? nla_put_u32(skb, type, number) : 0;
}

/* What is known of the owner while it lives. */
struct owner {
	bool dead;
	char comm[TASK_COMM_LEN];
	u64 cgroup;
	char path[KVNET_TEXT_SIZE];
};

/* A path out of the reader's cgroup namespace ("/../x") would tell the names beside it. */
static void look_at_cgroup(struct owner *o, struct task_struct *task)
{
	struct cgroup *root = current->nsproxy->cgroup_ns->root_cset->dfl_cgrp;
	struct cgroup *cgroup = task_dfl_cgroup(task);
	int len;

	o->cgroup = cgroup_id(cgroup);
	if (!cgroup_is_descendant(cgroup, root))
		return;
	len = kernfs_path_from_node(cgroup->kn, root->kn, o->path, sizeof(o->path));
	/* Of one that did not fit some kernels say how much they have written. */
	if (len <= 0 || len >= sizeof(o->path) - 1)
		o->path[0] = 0;
}

static void look_at_owner(struct owner *o, const struct kvnet_net *net)
{
	const struct kvnet_listing *l = &net->listing;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(l->owner, PIDTYPE_TGID);
	o->dead = !task || kvnet_net_orphaned(net);
	strscpy(o->comm, o->dead ? l->comm : task->comm, sizeof(o->comm));
	if (!o->dead)
		look_at_cgroup(o, task);
	rcu_read_unlock();
}

static int put_owner(struct sk_buff *skb, const struct kvnet_net *net)
{
	const struct kvnet_listing *l = &net->listing;
	struct owner *o = kzalloc(sizeof(*o), GFP_KERNEL);
	int ret = -EMSGSIZE;

	if (!o)
		return -ENOMEM;
	look_at_owner(o, net);
	if (nla_put_string(skb, KVNET_A_DEV_OWNER_COMM, o->comm) ||
	    put_flag(skb, KVNET_A_DEV_OWNER_DEAD, o->dead) ||
	    nla_put_u32(skb, KVNET_A_DEV_NETNS_INUM, l->netns->ns.inum) ||
	    kvnet_put_u64(skb, KVNET_A_DEV_NETNS_COOKIE, l->netns->net_cookie))
		goto out;
	ret = 0;
	if (o->dead)
		goto out;
	ret = -EMSGSIZE;
	if (kvnet_put_number(skb, KVNET_A_DEV_OWNER_PID,
		       pid_nr_ns(l->owner, task_active_pid_ns(current))) ||
	    kvnet_put_u64(skb, KVNET_A_DEV_CGROUP_ID, o->cgroup) ||
	    (o->path[0] && nla_put_string(skb, KVNET_A_DEV_CGROUP, o->path)))
		goto out;
	ret = 0;
out:
	kfree(o);
	return ret;
}

static int put_interface(struct sk_buff *skb, const struct kvnet_port *port)
{
	char name[IFNAMSIZ] = "";
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(port->net, port->ifindex);
	if (dev)
		strscpy(name, dev->name, sizeof(name));
	rcu_read_unlock();
	if (!name[0])
		return 0;
	return nla_put_string(skb, KVNET_A_DEV_IFNAME, name) ||
	       nla_put_u32(skb, KVNET_A_DEV_IFINDEX, port->ifindex) ? -EMSGSIZE : 0;
}

/* That of the first queue which has one. */
static int put_backend(struct sk_buff *skb, struct kvnet_net *net)
{
	struct kvnet_port port = {};
	unsigned int i;
	int ret;

	for (i = 0; i < KVNET_QUEUES && !port.net; i++)
		kvnet_port_get(&net->q[i].port, &port);
	if (!port.net)
		return 0;
	ret = put_interface(skb, &port);
	if (!ret && (nla_put_u32(skb, KVNET_A_DEV_BACKEND_NETNS_INUM, port.net->ns.inum) ||
		     kvnet_put_u64(skb, KVNET_A_DEV_BACKEND_NETNS_COOKIE, port.net->net_cookie)))
		ret = -EMSGSIZE;
	kvnet_port_put(&port);
	return ret;
}

static int put_features(struct sk_buff *skb, const struct kvnet_net *net)
{
	const struct kvnet_features all = kvnet_features_offered();
	struct kvnet_features f;
	unsigned int i;

	for (i = 0; i < KVNET_FEATURE_WORDS; i++) {
		f.word[i] = READ_ONCE(net->features.word[i]);
		if (kvnet_put_u64(skb, KVNET_A_DEV_FEATURES, f.word[i]) ||
		    kvnet_put_u64(skb, KVNET_A_DEV_FEATURES_OFFERED, all.word[i]))
			return -EMSGSIZE;
	}
	return nla_put_u32(skb, KVNET_A_DEV_LAYOUT,
			   kvnet_has(&f, VIRTIO_F_RING_PACKED) ?
			   KVNET_RING_LAYOUT_PACKED : KVNET_RING_LAYOUT_SPLIT) ||
	       put_flag(skb, KVNET_A_DEV_IN_ORDER, kvnet_has(&f, VIRTIO_F_IN_ORDER)) ?
	       -EMSGSIZE : 0;
}

static int put_policy(struct sk_buff *skb, struct kvnet_net *net)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_DEV_POLICY);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, KVNET_A_POLICY_POLL_US,
			max(READ_ONCE(net->q[KVNET_RX].src.busy_us),
			    READ_ONCE(net->q[KVNET_TX].src.busy_us))) ||
	    nla_put_u8(skb, KVNET_A_POLICY_TX_BY_VCPU, READ_ONCE(net->crew.lends)) ||
	    nla_put_u8(skb, KVNET_A_POLICY_COPY_FRAMES, kvnet_net_copies(net)) ||
	    nla_put_u8(skb, KVNET_A_POLICY_RX_IN_PLACE, READ_ONCE(net->crew.soft)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* That of the first ring which is pinned. */
static int put_memory_node(struct sk_buff *skb, const struct kvnet_net *net)
{
	int node = NUMA_NO_NODE;
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES && node == NUMA_NO_NODE; i++)
		node = kvnet_pin_node(&net->q[i].vq.pin[0]);
	return node == NUMA_NO_NODE ? 0 : nla_put_s32(skb, KVNET_A_DEV_MEMORY_NODE, node);
}

/**
 * kvnet_fill_dev() - tell of a device
 * @skb: where to
 * @net: the device, from the registry
 *
 * Context: who asks; may sleep.
 * Return: 0; -EMSGSIZE if there is no room; -ENOMEM.
 */
int kvnet_fill_dev(struct sk_buff *skb, struct kvnet_net *net)
{
	int ret;

	if (nla_put_u32(skb, KVNET_A_DEV_ID, net->listing.id) ||
	    nla_put_u32(skb, KVNET_A_DEV_QUEUES, KVNET_QUEUES) ||
	    nla_put_u32(skb, KVNET_A_DEV_WORKERS, net->crew.n))
		return -EMSGSIZE;
	ret = put_owner(skb, net);
	if (!ret)
		ret = put_backend(skb, net);
	if (!ret)
		ret = put_features(skb, net);
	if (!ret)
		ret = put_memory_node(skb, net);
	return ret ? ret : put_policy(skb, net);
}
