// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_fill_dev.c - attributes of a device in netlink messages
 *
 * Runs in the netlink caller's context and may sleep: PIDs and cgroup paths are those of its
 * namespaces. The caller holds a registry reference. Neither this file nor netlink_fill_queue.c
 * takes dev->lock or waits for a vq->lock: their holders may wait for a page of the VMM.
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

#include "worker/workers.h"
#include "kvnet.h"
#include "obs/registry.h"

static int fill_flag(struct sk_buff *skb, int type, bool set)
{
	return set ? nla_put_flag(skb, type) : 0;
}

/* Not nla_put_64bit(): the kernel's own tool, at least up to 6.12, knows no pad attributes. */
int kvnet_netlink_fill_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put(skb, type, sizeof(value), &value);
}

/* For PIDs and priorities: 0 means that the number does not exist, and is left out. */
int kvnet_netlink_fill_nonzero_u32(struct sk_buff *skb, int type, u32 number)
{
	return number ? nla_put_u32(skb, type, number) : 0;
}

/* Copied under rcu_read_lock(). The cgroup's fields are valid only if the owner is alive. */
struct owner_info {
	bool dead;
	char comm[TASK_COMM_LEN];
	u64 cgroup_id;
	char cgroup_path[KVNET_NETLINK_TEXT_SIZE];
};

/*
 * No path for a cgroup outside of the caller's cgroup namespace: "/../x" would disclose names
 * outside of it. Caller holds rcu_read_lock().
 */
static void read_owner_cgroup(struct owner_info *o, struct task_struct *task)
{
	struct cgroup *root = current->nsproxy->cgroup_ns->root_cset->dfl_cgrp;
	struct cgroup *cgroup = task_dfl_cgroup(task);
	int len;

	o->cgroup_id = cgroup_id(cgroup);
	if (!cgroup_is_descendant(cgroup, root))
		return;
	len = kernfs_path_from_node(cgroup->kn, root->kn, o->cgroup_path, sizeof(o->cgroup_path));
	/* On truncation some kernels return the length that they have written. */
	if (len <= 0 || len >= sizeof(o->cgroup_path) - 1)
		o->cgroup_path[0] = 0;
}

static void read_owner_info(struct owner_info *o, const struct kvnet_net *net)
{
	const struct kvnet_registry_entry *entry = &net->registry;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(entry->owner, PIDTYPE_TGID);
	o->dead = !task || kvnet_dev_owner_is_dead(net);
	strscpy(o->comm, o->dead ? entry->comm : task->comm, sizeof(o->comm));
	if (!o->dead)
		read_owner_cgroup(o, task);
	rcu_read_unlock();
}

static int fill_owner(struct sk_buff *skb, const struct kvnet_net *net)
{
	const struct kvnet_registry_entry *entry = &net->registry;
	struct owner_info *o = kzalloc(sizeof(*o), GFP_KERNEL);
	int ret = -EMSGSIZE;

	if (!o)
		return -ENOMEM;
	read_owner_info(o, net);
	if (nla_put_string(skb, KVNET_A_DEV_OWNER_COMM, o->comm) ||
	    fill_flag(skb, KVNET_A_DEV_OWNER_DEAD, o->dead) ||
	    nla_put_u32(skb, KVNET_A_DEV_NETNS_INUM, entry->netns->ns.inum) ||
	    kvnet_netlink_fill_u64(skb, KVNET_A_DEV_NETNS_COOKIE, entry->netns->net_cookie))
		goto out;
	ret = 0;
	if (o->dead)
		goto out;
	ret = -EMSGSIZE;
	if (kvnet_netlink_fill_nonzero_u32(skb, KVNET_A_DEV_OWNER_PID,
		       pid_nr_ns(entry->owner, task_active_pid_ns(current))) ||
	    kvnet_netlink_fill_u64(skb, KVNET_A_DEV_CGROUP_ID, o->cgroup_id) ||
	    (o->cgroup_path[0] && nla_put_string(skb, KVNET_A_DEV_CGROUP, o->cgroup_path)))
		goto out;
	ret = 0;
out:
	kfree(o);
	return ret;
}

static int fill_interface(struct sk_buff *skb, struct net *netns, int ifindex)
{
	char name[IFNAMSIZ] = "";
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(netns, ifindex);
	if (dev)
		strscpy(name, dev->name, sizeof(name));
	rcu_read_unlock();
	if (!name[0])
		return 0;
	return nla_put_string(skb, KVNET_A_DEV_IFNAME, name) ||
	       nla_put_u32(skb, KVNET_A_DEV_IFINDEX, ifindex) ? -EMSGSIZE : 0;
}

/* The backend of the first queue that has one. */
static int fill_backend(struct sk_buff *skb, struct kvnet_net *net)
{
	struct net *netns = NULL;
	int ret, ifindex;
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES && !netns; i++)
		netns = kvnet_tap_info_get(&net->q[i].tap_info, &ifindex);
	if (!netns)
		return 0;
	ret = fill_interface(skb, netns, ifindex);
	if (!ret && (nla_put_u32(skb, KVNET_A_DEV_BACKEND_NETNS_INUM, netns->ns.inum) ||
		     kvnet_netlink_fill_u64(skb, KVNET_A_DEV_BACKEND_NETNS_COOKIE,
					    netns->net_cookie)))
		ret = -EMSGSIZE;
	put_net(netns);
	return ret;
}

static int fill_features(struct sk_buff *skb, const struct kvnet_net *net)
{
	const struct kvnet_features all = kvnet_features_offered();
	struct kvnet_features f;
	unsigned int i;

	for (i = 0; i < KVNET_FEATURES_WORDS; i++) {
		f.word[i] = READ_ONCE(net->features.word[i]);
		if (kvnet_netlink_fill_u64(skb, KVNET_A_DEV_FEATURES, f.word[i]) ||
		    kvnet_netlink_fill_u64(skb, KVNET_A_DEV_FEATURES_OFFERED, all.word[i]))
			return -EMSGSIZE;
	}
	return nla_put_u32(skb, KVNET_A_DEV_LAYOUT,
			   kvnet_features_has(&f, VIRTIO_F_RING_PACKED) ?
			   KVNET_RING_LAYOUT_PACKED : KVNET_RING_LAYOUT_SPLIT) ||
	       fill_flag(skb, KVNET_A_DEV_IN_ORDER, kvnet_features_has(&f, VIRTIO_F_IN_ORDER)) ?
	       -EMSGSIZE : 0;
}

static int fill_policy(struct sk_buff *skb, struct kvnet_net *net)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_DEV_POLICY);

	if (!nest)
		return -EMSGSIZE;
	if (nla_put_u32(skb, KVNET_A_POLICY_POLL_US,
			max(READ_ONCE(net->q[KVNET_RX].work.busy_poll_us),
			    READ_ONCE(net->q[KVNET_TX].work.busy_poll_us))) ||
	    nla_put_u8(skb, KVNET_A_POLICY_TX_INLINE, READ_ONCE(net->workers.allow_vcpu)) ||
	    nla_put_u8(skb, KVNET_A_POLICY_RX_DIRECT, kvnet_dev_is_rx_direct(net)) ||
	    nla_put_u8(skb, KVNET_A_POLICY_RX_INLINE, READ_ONCE(net->workers.allow_softirq)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* The NUMA node of the first ring that is pinned. */
static int fill_memory_node(struct sk_buff *skb, const struct kvnet_net *net)
{
	int node = NUMA_NO_NODE;
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES && node == NUMA_NO_NODE; i++)
		node = kvnet_ring_pin_node(&net->q[i].vq.pin[0]);
	return node == NUMA_NO_NODE ? 0 : nla_put_s32(skb, KVNET_A_DEV_MEMORY_NODE, node);
}

/* Returns 0, -EMSGSIZE if @skb has no room, or -ENOMEM. */
int kvnet_netlink_fill_dev(struct sk_buff *skb, struct kvnet_net *net)
{
	int ret;

	if (nla_put_u32(skb, KVNET_A_DEV_ID, net->registry.id) ||
	    nla_put_u32(skb, KVNET_A_DEV_QUEUES, KVNET_QUEUES) ||
	    nla_put_u32(skb, KVNET_A_DEV_WORKERS, net->workers.n))
		return -EMSGSIZE;
	ret = fill_owner(skb, net);
	if (!ret)
		ret = fill_backend(skb, net);
	if (!ret)
		ret = fill_features(skb, net);
	if (!ret)
		ret = fill_memory_node(skb, net);
	return ret ? ret : fill_policy(skb, net);
}
