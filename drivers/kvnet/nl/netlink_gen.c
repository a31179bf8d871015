// SPDX-License-Identifier: ((GPL-2.0 WITH Linux-syscall-note) OR BSD-3-Clause)
/* Do not edit directly, auto-generated from: */
/*	Documentation/netlink/specs/kvnet.yaml */
/* YNL-GEN kernel source */

#include <net/netlink.h>
#include <net/genetlink.h>

#include "netlink_gen.h"

#include <uapi/linux/kvnet.h>

/* Common nested types */
const struct nla_policy kvnet_policy_nl_policy[KVNET_A_POLICY_SHORTCUT + 1] = {
	[KVNET_A_POLICY_POLL_US] = { .type = NLA_U32, },
	[KVNET_A_POLICY_TX_INLINE] = NLA_POLICY_MAX(NLA_U8, 1),
	[KVNET_A_POLICY_RX_DIRECT] = NLA_POLICY_MAX(NLA_U8, 1),
	[KVNET_A_POLICY_RX_INLINE] = NLA_POLICY_MAX(NLA_U8, 1),
	[KVNET_A_POLICY_SHORTCUT] = NLA_POLICY_MAX(NLA_U8, 1),
};

/* KVNET_CMD_DEV_GET - do */
static const struct nla_policy kvnet_dev_get_do_nl_policy[KVNET_A_DEV_ID + 1] = {
	[KVNET_A_DEV_ID] = { .type = NLA_U32, },
};

/* KVNET_CMD_DEV_GET - dump */
static const struct nla_policy kvnet_dev_get_dump_nl_policy[KVNET_A_DEV_ID + 1] = {
	[KVNET_A_DEV_ID] = { .type = NLA_U32, },
};

/* KVNET_CMD_DEV_SET - do */
static const struct nla_policy kvnet_dev_set_nl_policy[KVNET_A_DEV_POLICY + 1] = {
	[KVNET_A_DEV_ID] = { .type = NLA_U32, },
	[KVNET_A_DEV_POLICY] = NLA_POLICY_NESTED(kvnet_policy_nl_policy),
};

/* KVNET_CMD_QUEUE_GET - dump */
static const struct nla_policy kvnet_queue_get_nl_policy[KVNET_A_QUEUE_DEV + 1] = {
	[KVNET_A_QUEUE_DEV] = { .type = NLA_U32, },
};

/* KVNET_CMD_WORKER_GET - dump */
static const struct nla_policy kvnet_worker_get_nl_policy[KVNET_A_WORKER_DEV + 1] = {
	[KVNET_A_WORKER_DEV] = { .type = NLA_U32, },
};

/* Ops table for kvnet */
const struct genl_split_ops kvnet_nl_ops[5] = {
	{
		.cmd		= KVNET_CMD_DEV_GET,
		.doit		= kvnet_nl_dev_get_doit,
		.policy		= kvnet_dev_get_do_nl_policy,
		.maxattr	= KVNET_A_DEV_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= KVNET_CMD_DEV_GET,
		.start		= kvnet_nl_dump_start,
		.dumpit		= kvnet_nl_dev_get_dumpit,
		.policy		= kvnet_dev_get_dump_nl_policy,
		.maxattr	= KVNET_A_DEV_ID,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= KVNET_CMD_DEV_SET,
		.doit		= kvnet_nl_dev_set_doit,
		.policy		= kvnet_dev_set_nl_policy,
		.maxattr	= KVNET_A_DEV_POLICY,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DO,
	},
	{
		.cmd		= KVNET_CMD_QUEUE_GET,
		.start		= kvnet_nl_dump_start,
		.dumpit		= kvnet_nl_queue_get_dumpit,
		.policy		= kvnet_queue_get_nl_policy,
		.maxattr	= KVNET_A_QUEUE_DEV,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
	{
		.cmd		= KVNET_CMD_WORKER_GET,
		.start		= kvnet_nl_dump_start,
		.dumpit		= kvnet_nl_worker_get_dumpit,
		.policy		= kvnet_worker_get_nl_policy,
		.maxattr	= KVNET_A_WORKER_DEV,
		.flags		= GENL_UNS_ADMIN_PERM | GENL_CMD_CAP_DUMP,
	},
};

static const struct genl_multicast_group kvnet_nl_mcgrps[] = {
	[KVNET_NLGRP_EVENTS] = { "events", },
};
