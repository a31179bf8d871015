// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_set.c - KVNET_CMD_DEV_SET: set a device's policy
 *
 * Process context, without dev->lock and vq->lock: fields of the policy are single words that
 * their readers load once. All checks precede the first change, so a request that fails changes
 * nothing.
 */
#include "netlink.h"

#include <linux/errno.h>
#include <net/genetlink.h>

#include "netlink_gen.h"
#include "worker/workers.h"
#include "worker/task_work.h"
#include "kvnet.h"
#include "obs/registry.h"

static int check_tx_inline_supported(const struct nlattr *a, struct netlink_ext_ack *extack)
{
	if (a && nla_get_u8(a) && !kvnet_task_work_is_supported()) {
		NL_SET_ERR_MSG_ATTR(extack, a, "tx-inline: this kernel does not export task_work_add()");
		return -EOPNOTSUPP;
	}
	return 0;
}

static int check_rx_inline_supported(const struct nlattr *a, struct netlink_ext_ack *extack)
{
	if (a && nla_get_u8(a) && !kvnet_page_cache_is_supported()) {
		NL_SET_ERR_MSG_ATTR(extack, a, "rx-inline: this kernel lacks CONFIG_MMU_NOTIFIER");
		return -EOPNOTSUPP;
	}
	return 0;
}

/* Cannot fail. An attribute that the request lacks is NULL in @policy. */
static void apply_policy(struct kvnet_net *net, struct nlattr **policy)
{
	const struct nlattr *a = policy[KVNET_A_POLICY_POLL_US];
	unsigned int i;

	for (i = 0; a && i < KVNET_QUEUES; i++)
		WRITE_ONCE(net->q[i].work.busy_poll_us, nla_get_u32(a));
	a = policy[KVNET_A_POLICY_TX_INLINE];
	if (a)
		kvnet_workers_set_allow_vcpu(&net->workers, nla_get_u8(a));
	a = policy[KVNET_A_POLICY_RX_DIRECT];
	if (a)
		WRITE_ONCE(net->rx_direct, nla_get_u8(a));
	a = policy[KVNET_A_POLICY_RX_INLINE];
	if (a)
		WRITE_ONCE(net->workers.allow_softirq, nla_get_u8(a));
}

static int set_policy_of_dev(struct genl_info *info, struct nlattr **policy)
{
	const struct nlattr *id = info->attrs[KVNET_A_DEV_ID];
	struct kvnet_net *net;
	int ret = 0;

	net = kvnet_registry_get(genl_info_net(info), nla_get_u32(id));
	if (!net) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "no such device");
		return -ENODEV;
	}
	if (kvnet_dev_owner_is_dead(net)) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "the device's owner is dead");
		ret = -EOWNERDEAD;
	} else {
		apply_policy(net, policy);
	}
	kvnet_registry_put(net);
	return ret;
}

/* Returns 0, or -errno with an extack message. */
int kvnet_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *policy[KVNET_A_POLICY_MAX + 1];
	int ret;

	if (!info->attrs[KVNET_A_DEV_ID]) {
		NL_SET_ERR_MSG(info->extack, "missing attribute id");
		return -EINVAL;
	}
	if (!info->attrs[KVNET_A_DEV_POLICY]) {
		NL_SET_ERR_MSG(info->extack, "missing attribute policy");
		return -EINVAL;
	}
	ret = nla_parse_nested(policy, KVNET_A_POLICY_MAX, info->attrs[KVNET_A_DEV_POLICY],
			       kvnet_policy_nl_policy, info->extack);
	if (!ret)
		ret = check_tx_inline_supported(policy[KVNET_A_POLICY_TX_INLINE], info->extack);
	if (!ret)
		ret = check_rx_inline_supported(policy[KVNET_A_POLICY_RX_INLINE], info->extack);
	return ret ? ret : set_policy_of_dev(info, policy);
}
