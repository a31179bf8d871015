// SPDX-License-Identifier: GPL-2.0
/*
 * set.c - the generic-netlink family's one command: set a device's policy
 *
 * All that can be refused is refused before anything happens.
 */
#include "netlink.h"

#include <linux/errno.h>
#include <net/genetlink.h>

#include "crew.h"
#include "lend.h"
#include "net.h"
#include "registry.h"

const struct nla_policy kvnet_policy_policy[] = {
	[KVNET_A_POLICY_POLL_US] = { .type = NLA_U32 },
	[KVNET_A_POLICY_TX_BY_VCPU] = NLA_POLICY_MAX(NLA_U8, 1),
	[KVNET_A_POLICY_COPY_FRAMES] = NLA_POLICY_MAX(NLA_U8, 1),
	[KVNET_A_POLICY_RX_IN_PLACE] = NLA_POLICY_MAX(NLA_U8, 1),
};

static int check_kernel(const struct nlattr *a, struct netlink_ext_ack *extack)
{
	if (a && nla_get_u8(a) && !kvnet_lend_possible()) {
		NL_SET_ERR_MSG_ATTR(extack, a, "this kernel does not let vCPUs do that");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Who has not watched its owner's memory from the first cannot begin to. */
static int check_device(const struct kvnet_net *net, const struct nlattr *a,
			struct netlink_ext_ack *extack)
{
	if (!a || !nla_get_u8(a) || READ_ONCE(net->resident.watching))
		return 0;
	NL_SET_ERR_MSG_ATTR(extack, a, "not for a device that got its owner with rx_in_place=0, nor on each kernel");
	return -EOPNOTSUPP;
}

/* This cannot fail. What is not there is NULL. */
static void set_all(struct kvnet_net *net, struct nlattr **policy)
{
	const struct nlattr *a = policy[KVNET_A_POLICY_POLL_US];
	unsigned int i;

	for (i = 0; a && i < KVNET_QUEUES; i++)
		WRITE_ONCE(net->q[i].src.busy_us, nla_get_u32(a));
	a = policy[KVNET_A_POLICY_TX_BY_VCPU];
	if (a)
		kvnet_crew_set_lends(&net->crew, nla_get_u8(a));
	a = policy[KVNET_A_POLICY_COPY_FRAMES];
	if (a)
		WRITE_ONCE(net->copies, nla_get_u8(a));
	a = policy[KVNET_A_POLICY_RX_IN_PLACE];
	if (a)
		WRITE_ONCE(net->crew.soft, nla_get_u8(a));
}

static int set_policy(struct genl_info *info, struct nlattr **policy)
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
		ret = check_device(net, policy[KVNET_A_POLICY_RX_IN_PLACE], info->extack);
	}
	if (!ret)
		set_all(net, policy);
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
	struct nlattr *policy[KVNET_A_POLICY_MAX + 1];
	int ret;

	if (!info->attrs[KVNET_A_DEV_ID]) {
		NL_SET_ERR_MSG(info->extack, "which device? id is missing");
		return -EINVAL;
	}
	if (!info->attrs[KVNET_A_DEV_POLICY]) {
		NL_SET_ERR_MSG(info->extack, "set what? policy is missing");
		return -EINVAL;
	}
	ret = nla_parse_nested(policy, KVNET_A_POLICY_MAX, info->attrs[KVNET_A_DEV_POLICY],
			       kvnet_policy_policy, info->extack);
	if (!ret)
		ret = check_kernel(policy[KVNET_A_POLICY_TX_BY_VCPU], info->extack);
	return ret ? ret : set_policy(info, policy);
}
