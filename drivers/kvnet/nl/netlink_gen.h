/* SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause) */
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/kvnet.yaml */
/* YNL-GEN kernel header */

#ifndef _LINUX_KVNET_GEN_H
#define _LINUX_KVNET_GEN_H

#include <net/netlink.h>
#include <net/genetlink.h>

#include <uapi/linux/kvnet.h>

/* Common nested types */
extern const struct nla_policy kvnet_policy_nl_policy[KVNET_A_POLICY_SHORTCUT + 1];

/* Ops table for kvnet */
extern const struct genl_split_ops kvnet_nl_ops[5];

int kvnet_nl_dump_start(struct netlink_callback *cb);

int kvnet_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info);
int kvnet_nl_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kvnet_nl_dev_set_doit(struct sk_buff *skb, struct genl_info *info);
int kvnet_nl_queue_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb);
int kvnet_nl_worker_get_dumpit(struct sk_buff *skb,
			       struct netlink_callback *cb);

enum {
	KVNET_NLGRP_EVENTS,
};

#endif /* _LINUX_KVNET_GEN_H */
