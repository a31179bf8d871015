// SPDX-License-Identifier: GPL-2.0
/*
 * set.c - the generic-netlink family's one command: set a device's policy
 *
 * All that can be refused is refused before anything happens.
 */
#include "netlink.h"

#include <linux/capability.h>
#include <linux/cpumask.h>
#include <linux/errno.h>
#include <linux/nodemask.h>
#include <linux/nospec.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <net/genetlink.h>

#include "crew.h"
#include "lend.h"
#include "net.h"
#include "registry.h"

const struct nla_policy kvnet_policy_policy[] = {
	[KVNET_A_POLICY_CPUS] = { .type = NLA_NUL_STRING, .len = KVNET_TEXT_SIZE - 1 },
	[KVNET_A_POLICY_NICE] = NLA_POLICY_RANGE(NLA_S32, MIN_NICE, MAX_NICE),
	[KVNET_A_POLICY_SCHED] = { .type = NLA_U32 },
	[KVNET_A_POLICY_POLL_US] = { .type = NLA_U32 },
	[KVNET_A_POLICY_TX_BY_VCPU] = NLA_POLICY_MAX(NLA_U8, 1),
	[KVNET_A_POLICY_COPY_FRAMES] = NLA_POLICY_MAX(NLA_U8, 1),
	[KVNET_A_POLICY_RX_IN_PLACE] = NLA_POLICY_MAX(NLA_U8, 1),
	[KVNET_A_POLICY_RT_PRIORITY] = NLA_POLICY_RANGE(NLA_U32, 1, MAX_RT_PRIO - 1),
	[KVNET_A_POLICY_THREADS] = NLA_POLICY_MAX(NLA_U32, KVNET_THREAD_POLICY_TWO),
	[KVNET_A_POLICY_NODE] = NLA_POLICY_MIN(NLA_S32, KVNET_NODE_AUTO),
	[KVNET_A_POLICY_RX_WEIGHT] = NLA_POLICY_RANGE(NLA_U32, 1, KVNET_WEIGHT_MAX),
	[KVNET_A_POLICY_TX_WEIGHT] = NLA_POLICY_RANGE(NLA_U32, 1, KVNET_WEIGHT_MAX),
};

/* What is wanted; attributes that are not there are NULL. */
struct want {
	struct nlattr *a[KVNET_A_POLICY_MAX + 1];
	struct kvnet_place place;
};

static int read_cpus(struct want *w, struct netlink_ext_ack *extack)
{
	const struct nlattr *a = w->a[KVNET_A_POLICY_CPUS];
	struct kvnet_place *place = &w->place;

	if (!a)
		return 0;
	place->has_cpus = true;
	place->all_cpus = !*(const char *)nla_data(a);
	if (place->all_cpus)
		return 0;
	place->cpus = kzalloc(cpumask_size(), GFP_KERNEL);
	if (!place->cpus)
		return -ENOMEM;
	if (!cpulist_parse(nla_data(a), place->cpus))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, a, "not a list of CPUs that this host could have");
	return -EINVAL;
}

static int read_node(struct want *w, struct netlink_ext_ack *extack)
{
	const struct nlattr *a = w->a[KVNET_A_POLICY_NODE];
	struct kvnet_place *place = &w->place;
	int node;

	if (!a)
		return 0;
	node = nla_get_s32(a);
	if (node >= 0 && node < nr_node_ids)
		node = array_index_nospec(node, nr_node_ids);
	place->has_node = true;
	place->follow = node == KVNET_NODE_AUTO;
	place->node = node < 0 ? NUMA_NO_NODE : node;
	if (node < 0 || (node < nr_node_ids && node_online(node)))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, a, "this host has no such NUMA node");
	return -EINVAL;
}

static int read_sched(struct want *w, struct netlink_ext_ack *extack)
{
	const struct nlattr *a = w->a[KVNET_A_POLICY_SCHED];

	if (!a)
		return 0;
	w->place.has_sched = true;
	w->place.sched = nla_get_u32(a);
	switch (w->place.sched) {
	case KVNET_SCHED_OTHER:
	case KVNET_SCHED_FIFO:
	case KVNET_SCHED_RR:
	case KVNET_SCHED_BATCH:
	case KVNET_SCHED_IDLE:
		return 0;
	case KVNET_SCHED_DEADLINE:
	case KVNET_SCHED_EXT:
		NL_SET_ERR_MSG_ATTR(extack, a, "workers cannot have this scheduling class");
		return -EOPNOTSUPP;
	}
	NL_SET_ERR_MSG_ATTR(extack, a, "no such scheduling class");
	return -EINVAL;
}

/* More of the CPU's time than others get is for who may give it to anybody. */
static int check_rights(struct sk_buff *skb, const struct want *w,
			struct netlink_ext_ack *extack)
{
	static const u8 what[] = {
		KVNET_A_POLICY_NICE, KVNET_A_POLICY_SCHED, KVNET_A_POLICY_RT_PRIORITY,
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(what); i++) {
		if (!w->a[what[i]] || netlink_capable(skb, CAP_SYS_NICE))
			continue;
		NL_SET_ERR_MSG_ATTR(extack, w->a[what[i]], "this takes CAP_SYS_NICE");
		return -EPERM;
	}
	return 0;
}

static int check_can(const struct want *w, struct netlink_ext_ack *extack)
{
	const struct nlattr *a = w->a[KVNET_A_POLICY_TX_BY_VCPU];

	if (a && nla_get_u8(a) && !kvnet_lend_possible()) {
		NL_SET_ERR_MSG_ATTR(extack, a, "this kernel does not let vCPUs do that");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int read_policy(struct sk_buff *skb, struct genl_info *info, struct want *w)
{
	struct netlink_ext_ack *extack = info->extack;
	int ret = nla_parse_nested(w->a, KVNET_A_POLICY_MAX,
				   info->attrs[KVNET_A_DEV_POLICY],
				   kvnet_policy_policy, extack);

	if (!ret)
		ret = check_can(w, extack);
	if (!ret)
		ret = check_rights(skb, w, extack);
	if (!ret)
		ret = read_sched(w, extack);
	if (!ret)
		ret = read_node(w, extack);
	if (!ret)
		ret = read_cpus(w, extack);
	if (ret)
		return ret;
	if (w->a[KVNET_A_POLICY_NICE]) {
		w->place.has_nice = true;
		w->place.nice = nla_get_s32(w->a[KVNET_A_POLICY_NICE]);
	}
	if (w->a[KVNET_A_POLICY_RT_PRIORITY])
		w->place.priority = nla_get_u32(w->a[KVNET_A_POLICY_RT_PRIORITY]);
	return 0;
}

static int set_place(struct kvnet_net *net, const struct want *w,
		     struct netlink_ext_ack *extack)
{
	const struct kvnet_place *place = &w->place;
	int ret;

	if (!place->has_cpus && !place->has_node && !place->has_nice && !place->has_sched && !place->priority)
		return 0;
	ret = kvnet_crew_set_place(&net->crew, place, net->later.user);
	if (ret == -EINVAL && place->has_node)
		NL_SET_ERR_MSG_ATTR(extack, w->a[KVNET_A_POLICY_NODE],
				    "no CPU of this node is among those of the policy and the owner's cpuset, and on line");
	else if (ret == -EINVAL && place->has_cpus)
		NL_SET_ERR_MSG_ATTR(extack, w->a[KVNET_A_POLICY_CPUS],
				    "none of these CPUs is in the owner's cpuset, on the policy's node, and on line");
	else if (ret == -ERANGE)
		NL_SET_ERR_MSG_ATTR(extack, w->a[KVNET_A_POLICY_RT_PRIORITY],
				    "a priority is for the classes fifo and rr");
	else if (ret == -EBUSY)
		NL_SET_ERR_MSG(extack, "others place or make workers of the device, or place others of its user's, and do not get done");
	else if (ret == -EAGAIN)
		NL_SET_ERR_MSG(extack, "it could not be found out in time which CPUs the owner's cpuset has");
	else if (ret)
		NL_SET_ERR_MSG(extack, "the workers cannot be placed so");
	return ret == -ERANGE ? -EINVAL : ret;
}

/* Who has not watched its owner's memory from the first cannot begin to. */
static int check_device(const struct kvnet_net *net, const struct want *w,
			struct netlink_ext_ack *extack)
{
	const struct nlattr *a = w->a[KVNET_A_POLICY_RX_IN_PLACE];

	if (!a || !nla_get_u8(a) || READ_ONCE(net->resident.watching))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, a, "not for a device that got its owner with rx_in_place=0, nor on each kernel");
	return -EOPNOTSUPP;
}

static void set_weight(struct kvnet_net *net, unsigned int index, const struct nlattr *a)
{
	if (a)
		WRITE_ONCE(net->q[index].src.weight, nla_get_u32(a));
}

/* This cannot fail. */
static void set_rest(struct kvnet_net *net, const struct want *w)
{
	const struct nlattr *a = w->a[KVNET_A_POLICY_POLL_US];
	unsigned int i;

	if (a) {
		for (i = 0; i < KVNET_QUEUES; i++)
			WRITE_ONCE(net->q[i].busy_us, nla_get_u32(a));
		kvnet_crew_set_cap(&net->crew, (u64)nla_get_u32(a) * NSEC_PER_USEC);
	}
	a = w->a[KVNET_A_POLICY_TX_BY_VCPU];
	if (a)
		kvnet_crew_set_lends(&net->crew, nla_get_u8(a));
	a = w->a[KVNET_A_POLICY_COPY_FRAMES];
	if (a)
		WRITE_ONCE(net->copies, nla_get_u8(a));
	a = w->a[KVNET_A_POLICY_RX_IN_PLACE];
	if (a)
		WRITE_ONCE(net->crew.soft, nla_get_u8(a));
	set_weight(net, KVNET_RX, w->a[KVNET_A_POLICY_RX_WEIGHT]);
	set_weight(net, KVNET_TX, w->a[KVNET_A_POLICY_TX_WEIGHT]);
	a = w->a[KVNET_A_POLICY_THREADS];
	if (a)
		kvnet_crew_set_threads(&net->crew, nla_get_u32(a));
}

static int set_policy(struct genl_info *info, const struct want *w)
{
	const struct nlattr *id = info->attrs[KVNET_A_DEV_ID];
	struct kvnet_net *net;
	int ret;

	net = kvnet_registry_get(genl_info_net(info), nla_get_u32(id));
	if (!net) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "no such device");
		return -ENODEV;
	}
	if (kvnet_net_orphaned(net)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "the device's owner is dead");
		ret = -EOWNERDEAD;
	} else {
		ret = check_device(net, w, info->extack);
		if (!ret)
			ret = set_place(net, w, info->extack);
	}
	if (!ret)
		set_rest(net, w);
	kvnet_registry_put(net);
	return ret;
}

/**
 * kvnet_netlink_set() - KVNET_CMD_DEV_SET
 * @skb: the request
 * @info: its attributes
 *
 * Context: any process; may sleep.
 * Return: 0 or -errno, with a message of what was wrong.
 */
int kvnet_netlink_set(struct sk_buff *skb, struct genl_info *info)
{
	struct want *w;
	int ret;

	if (!info->attrs[KVNET_A_DEV_ID]) {
		NL_SET_ERR_MSG(info->extack, "which device? id is missing");
		return -EINVAL;
	}
	if (!info->attrs[KVNET_A_DEV_POLICY]) {
		NL_SET_ERR_MSG(info->extack, "set what? policy is missing");
		return -EINVAL;
	}
	w = kzalloc(sizeof(*w), GFP_KERNEL);
	if (!w)
		return -ENOMEM;
	ret = read_policy(skb, info, w);
	if (!ret)
		ret = set_policy(info, w);
	kfree(w->place.cpus);
	kfree(w);
	return ret;
}
