// SPDX-License-Identifier: GPL-2.0
/*
 * netlink.c - the generic-netlink family: who may ask what, and lists in pieces
 *
 * A caller has to do with devices of its socket's network namespace only: to it, there
 * are no others. It needs CAP_NET_ADMIN there.
 *
 * A list never waits for a VMM: what is in it is read without vq->lock and dev->lock,
 * which may be held while a page is waited for.
 */
#include "netlink.h"

#include <linux/errno.h>
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "crew.h"
#include "net.h"
#include "registry.h"

/* Where the next piece of a list begins. */
struct piece {
	unsigned long id;
	unsigned int index;
	bool one;
	bool done;
};

static struct piece *piece_of(struct netlink_callback *cb)
{
	BUILD_BUG_ON(sizeof(struct piece) > sizeof(cb->ctx));
	return (struct piece *)cb->ctx;
}

/* One message of a list; 0 or -EMSGSIZE. */
static int put_one(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
		   struct kvnet_net *net, unsigned int index,
		   int (*fill)(struct sk_buff *skb, struct kvnet_net *net,
			       unsigned int index))
{
	void *msg = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				&kvnet_family, NLM_F_MULTI, cmd);
	int ret;

	if (!msg)
		return -EMSGSIZE;
	ret = fill(skb, net, index);
	if (ret)
		genlmsg_cancel(skb, msg);
	else
		genlmsg_end(skb, msg);
	return ret;
}

/* The device to go on with, or the one that is asked for. */
static struct kvnet_net *next_device(const struct net *netns, struct piece *at)
{
	unsigned long id = at->id;
	struct kvnet_net *net;

	if (at->done)
		return NULL;
	net = at->one ? kvnet_registry_get(netns, id) : kvnet_registry_next(netns, &id);
	if (id != at->id)
		at->index = 0;
	at->id = id;
	return net;
}

/* So much of a list as there is room for. */
static int put_list(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
		    unsigned int n,
		    int (*fill)(struct sk_buff *skb, struct kvnet_net *net,
				unsigned int index))
{
	struct piece *at = piece_of(cb);
	struct kvnet_net *net;
	int ret = 0;

	while (!ret && (net = next_device(sock_net(skb->sk), at))) {
		while (at->index < n && !ret) {
			ret = put_one(skb, cb, cmd, net, at->index, fill);
			at->index += !ret;
		}
		kvnet_registry_put(net);
		if (ret)
			break;
		at->done = at->one;
		at->index = 0;
		at->id++;
	}
	return skb->len ? skb->len : ret;
}

static int dev_dump_one(struct sk_buff *skb, struct kvnet_net *net, unsigned int index)
{
	return kvnet_fill_dev(skb, net);
}

static int dev_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return put_list(skb, cb, KVNET_CMD_DEV_GET, 1, dev_dump_one);
}

static int queue_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return put_list(skb, cb, KVNET_CMD_QUEUE_GET, KVNET_QUEUES, kvnet_fill_queue);
}

static int worker_dump(struct sk_buff *skb, struct netlink_callback *cb)
{
	return put_list(skb, cb, KVNET_CMD_WORKER_GET, KVNET_CREW_SOURCES,
			kvnet_fill_worker);
}

static int dump_start(struct netlink_callback *cb)
{
	cb->min_dump_alloc = KVNET_MSG_SIZE;
	return 0;
}

/* Of all devices, or of one, which has to be there. */
static int part_start(struct netlink_callback *cb)
{
	const struct nlattr *dev;
	struct kvnet_net *net;
	struct piece *at = piece_of(cb);

	BUILD_BUG_ON((int)KVNET_A_QUEUE_DEV != (int)KVNET_A_WORKER_DEV);
	dev = nlmsg_find_attr(cb->nlh, GENL_HDRLEN, KVNET_A_QUEUE_DEV);
	if (dev) {
		net = kvnet_registry_get(sock_net(cb->skb->sk), nla_get_u32(dev));
		if (!net) {
			NL_SET_ERR_MSG_ATTR(cb->extack, dev, "no such device");
			return -ENODEV;
		}
		kvnet_registry_put(net);
		at->id = nla_get_u32(dev);
		at->one = true;
	}
	return dump_start(cb);
}

static int dev_get(struct sk_buff *skb, struct genl_info *info)
{
	const struct nlattr *id = info->attrs[KVNET_A_DEV_ID];
	struct kvnet_net *net;
	struct sk_buff *reply;
	void *msg;
	int ret = -EMSGSIZE;

	if (!id) {
		NL_SET_ERR_MSG(info->extack, "which device? id is missing");
		return -EINVAL;
	}
	reply = genlmsg_new(KVNET_MSG_SIZE, GFP_KERNEL);
	if (!reply)
		return -ENOMEM;
	net = kvnet_registry_get(genl_info_net(info), nla_get_u32(id));
	if (!net) {
		NL_SET_ERR_MSG_ATTR(info->extack, id, "no such device");
		nlmsg_free(reply);
		return -ENODEV;
	}
	msg = genlmsg_put_reply(reply, info, &kvnet_family, 0, KVNET_CMD_DEV_GET);
	if (msg)
		ret = kvnet_fill_dev(reply, net);
	kvnet_registry_put(net);
	if (ret) {
		nlmsg_free(reply);
		return ret;
	}
	genlmsg_end(reply, msg);
	return genlmsg_reply(reply, info);
}

static const struct nla_policy get_policy[] = {
	[KVNET_A_DEV_ID] = { .type = NLA_U32 },
};

static const struct nla_policy set_policy[] = {
	[KVNET_A_DEV_ID] = { .type = NLA_U32 },
	[KVNET_A_DEV_POLICY] = { .type = NLA_NESTED, .len = KVNET_A_POLICY_MAX,
				 .nested_policy = kvnet_policy_policy },
};

static const struct nla_policy part_policy[] = {
	[KVNET_A_QUEUE_DEV] = { .type = NLA_U32 },
};

static const struct genl_ops ops[] = {
	{
		.cmd = KVNET_CMD_DEV_GET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = get_policy,
		.maxattr = ARRAY_SIZE(get_policy) - 1,
		.doit = dev_get,
		.start = dump_start,
		.dumpit = dev_dump,
	},
	{
		.cmd = KVNET_CMD_DEV_SET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = set_policy,
		.maxattr = ARRAY_SIZE(set_policy) - 1,
		.doit = kvnet_netlink_set,
	},
	{
		.cmd = KVNET_CMD_QUEUE_GET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = part_policy,
		.maxattr = ARRAY_SIZE(part_policy) - 1,
		.start = part_start,
		.dumpit = queue_dump,
	},
	{
		.cmd = KVNET_CMD_WORKER_GET,
		.flags = GENL_UNS_ADMIN_PERM,
		.policy = part_policy,
		.maxattr = ARRAY_SIZE(part_policy) - 1,
		.start = part_start,
		.dumpit = worker_dump,
	},
};

static const struct genl_multicast_group groups[] = {
	{
		.name = KVNET_MCGRP_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

struct genl_family kvnet_family __ro_after_init = {
	/* KVNET_FAMILY_NAME, but in the laboratory's copies */
	.name = KBUILD_MODNAME,
	.version = KVNET_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.ops = ops,
	.n_ops = ARRAY_SIZE(ops),
	.mcgrps = groups,
	.n_mcgrps = ARRAY_SIZE(groups),
};

/**
 * kvnet_netlink_register() - the family is there from now on
 *
 * Return: 0 or -errno.
 */
int __init kvnet_netlink_register(void)
{
	return genl_register_family(&kvnet_family);
}

/**
 * kvnet_netlink_unregister() - the family is gone; there is no device
 */
void kvnet_netlink_unregister(void)
{
	genl_unregister_family(&kvnet_family);
}
