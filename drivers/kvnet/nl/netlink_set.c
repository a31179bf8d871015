// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_set.c - KVNET_CMD_DEV_SET: set a device's policy
 *
 * Process context, without net->lock and vq->lock: fields of the policy are single words that
 * their readers load once. All checks precede the first change, so a request that fails changes
 * nothing.
 */
#include "netlink.h"

#include <linux/err.h>
#include <linux/task_work.h>
#include <net/genetlink.h>

#include "netlink_gen.h"
#include "kvnet.h"
#include "obs/registry.h"

/* An attribute that the request lacks is NULL in @policy. */
static int parse_policy(struct nlattr **policy, struct genl_info *info)
{
	if (!info->attrs[KVNET_A_DEV_POLICY]) {
		NL_SET_ERR_MSG(info->extack, "missing attribute policy");
		return -EINVAL;
	}
	return nla_parse_nested(policy, KVNET_A_POLICY_MAX, info->attrs[KVNET_A_DEV_POLICY],
				kvnet_policy_nl_policy, info->extack);
}

static int check_policy(const struct kvnet_net *net, struct nlattr **policy, struct genl_info *info)
{
	const struct nlattr *tx_inline = policy[KVNET_A_POLICY_TX_INLINE];
	const struct nlattr *rx_inline = policy[KVNET_A_POLICY_RX_INLINE];

	if (kvnet_dev_owner_is_dead(net)) {
		NL_SET_ERR_MSG_ATTR(info->extack, info->attrs[KVNET_A_DEV_ID],
				    "the device's owner is dead");
		return -EOWNERDEAD;
	}
	if (tx_inline && nla_get_u8(tx_inline) && !COMPAT_HAVE_TASK_WORK) {
		NL_SET_ERR_MSG_ATTR(info->extack, tx_inline,
				    "tx-inline: this kernel does not export task_work_add()");
		return -EOPNOTSUPP;
	}
	if (rx_inline && nla_get_u8(rx_inline) && !kvnet_page_cache_is_supported()) {
		NL_SET_ERR_MSG_ATTR(info->extack, rx_inline,
				    "rx-inline: this kernel lacks CONFIG_MMU_NOTIFIER, or its data cache is aliasing");
		return -EOPNOTSUPP;
	}
	return 0;
}

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
	a = policy[KVNET_A_POLICY_SHORTCUT];
	if (a)
		WRITE_ONCE(net->shortcut, nla_get_u8(a));
}

int kvnet_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct nlattr *policy[KVNET_A_POLICY_MAX + 1];
	struct kvnet_net *net;
	int ret;

	net = kvnet_netlink_get_dev(genl_info_net(info), info->attrs[KVNET_A_DEV_ID],
				    info->extack);
	if (IS_ERR(net))
		return PTR_ERR(net);
	ret = parse_policy(policy, info);
	if (!ret)
		ret = check_policy(net, policy, info);
	if (!ret)
		apply_policy(net, policy);
	kvnet_registry_put(net);
	return ret;
}
