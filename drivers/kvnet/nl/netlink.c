// SPDX-License-Identifier: GPL-2.0
/*
 * netlink.c - the generic-netlink family: get requests and dumps
 *
 * A caller sees only the devices of its socket's network namespace, and needs CAP_NET_ADMIN in
 * the user namespace that owns it.
 *
 * A dump must not wait for a VMM. So it takes no net->lock and waits for no vq->lock: their
 * holders may wait for a page of the VMM.
 */
#include "netlink.h"

#include <linux/err.h>
#include <linux/module.h>
#include <net/genetlink.h>
#include <net/sock.h>

#include "netlink_gen.h"
#include "kvnet.h"
#include "obs/registry.h"

/* Where the next part of a dump begins, in cb->ctx. kvnet_nl_dump_start() sets it. */
struct dump_cursor {
	unsigned long id;
	unsigned long last_id;
	unsigned int index;
};

typedef int (*fill_fn)(struct sk_buff *skb, struct kvnet_net *net, unsigned int index);

/* Returns a registry reference, or an error with an extack message. */
struct kvnet_net *kvnet_netlink_get_dev(const struct net *netns, const struct nlattr *id,
					struct netlink_ext_ack *extack)
{
	struct kvnet_net *net;

	if (!id) {
		NL_SET_ERR_MSG(extack, "missing attribute id");
		return ERR_PTR(-EINVAL);
	}
	net = kvnet_registry_get(netns, nla_get_u32(id));
	if (net)
		return net;
	NL_SET_ERR_MSG_ATTR(extack, id, "no such device");
	return ERR_PTR(-ENODEV);
}

static int dump_message(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			struct kvnet_net *net, unsigned int index, fill_fn fill)
{
	void *msg = genlmsg_put(skb, NETLINK_CB(cb->skb).portid, cb->nlh->nlmsg_seq,
				&kvnet_netlink_family, NLM_F_MULTI, cmd);
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

/* Returns a registry reference. A device may go away between two parts of a dump. */
static struct kvnet_net *dump_next_dev(const struct net *netns, struct dump_cursor *cursor)
{
	unsigned long id = cursor->id;
	struct kvnet_net *net = kvnet_registry_next(netns, &id);

	if (net && id > cursor->last_id) {
		kvnet_registry_put(net);
		return NULL;
	}
	if (id != cursor->id)
		cursor->index = 0;
	cursor->id = id;
	return net;
}

/*
 * @n messages for each device. Fills @skb; netlink calls it again for the next part until it
 * returns 0.
 */
static int dump_messages(struct sk_buff *skb, struct netlink_callback *cb, u8 cmd,
			 unsigned int n, fill_fn fill)
{
	struct dump_cursor *cursor = (void *)cb->ctx;
	struct kvnet_net *net;
	int ret = 0;

	while (!ret && (net = dump_next_dev(sock_net(skb->sk), cursor))) {
		while (!ret && cursor->index < n) {
			ret = dump_message(skb, cb, cmd, net, cursor->index, fill);
			if (!ret)
				cursor->index++;
		}
		kvnet_registry_put(net);
		if (!ret) {
			cursor->index = 0;
			cursor->id++;
		}
	}
	return skb->len ?: ret;
}

int kvnet_nl_dev_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_messages(skb, cb, KVNET_CMD_DEV_GET, 1, kvnet_netlink_fill_dev);
}

int kvnet_nl_queue_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_messages(skb, cb, KVNET_CMD_QUEUE_GET, KVNET_QUEUES, kvnet_netlink_fill_queue);
}

int kvnet_nl_worker_get_dumpit(struct sk_buff *skb, struct netlink_callback *cb)
{
	return dump_messages(skb, cb, KVNET_CMD_WORKER_GET, KVNET_WORKERS_MAX,
			     kvnet_netlink_fill_worker);
}

/* The dump covers all devices, or the one of attribute DEV, which has to exist. */
int kvnet_nl_dump_start(struct netlink_callback *cb)
{
	struct dump_cursor *cursor = (void *)cb->ctx;
	const struct nlattr *dev;
	struct kvnet_net *net;

	BUILD_BUG_ON(sizeof(*cursor) > sizeof(cb->ctx));
	BUILD_BUG_ON((int)KVNET_A_QUEUE_DEV != (int)KVNET_A_WORKER_DEV);
	cb->min_dump_alloc = KVNET_NETLINK_MSG_SIZE;
	cursor->last_id = ULONG_MAX;
	dev = nlmsg_find_attr(cb->nlh, GENL_HDRLEN, KVNET_A_QUEUE_DEV);
	if (!dev)
		return 0;
	net = kvnet_netlink_get_dev(sock_net(cb->skb->sk), dev, cb->extack);
	if (IS_ERR(net))
		return PTR_ERR(net);
	kvnet_registry_put(net);
	cursor->id = nla_get_u32(dev);
	cursor->last_id = cursor->id;
	return 0;
}

int kvnet_nl_dev_get_doit(struct sk_buff *skb, struct genl_info *info)
{
	struct kvnet_net *net;
	struct sk_buff *reply;
	int ret = -ENOMEM;

	net = kvnet_netlink_get_dev(genl_info_net(info), info->attrs[KVNET_A_DEV_ID],
				    info->extack);
	if (IS_ERR(net))
		return PTR_ERR(net);
	reply = genlmsg_new(KVNET_NETLINK_MSG_SIZE, GFP_KERNEL);
	if (reply && genlmsg_put_reply(reply, info, &kvnet_netlink_family, 0, KVNET_CMD_DEV_GET))
		ret = kvnet_netlink_fill_dev(reply, net, 0);
	kvnet_registry_put(net);
	if (ret) {
		nlmsg_free(reply);
		return ret;
	}
	nlmsg_end(reply, nlmsg_hdr(reply));
	return genlmsg_reply(reply, info);
}

/* The generator of netlink_gen.c knows no flags of groups. */
static const struct genl_multicast_group netlink_mcgrps[] = {
	[KVNET_NLGRP_EVENTS] = {
		.name = KVNET_MCGRP_EVENTS,
		.flags = GENL_MCAST_CAP_NET_ADMIN,
	},
};

struct genl_family kvnet_netlink_family __ro_after_init = {
	/* KVNET_FAMILY_NAME, except in copies of the module built under another name */
	.name = KBUILD_MODNAME,
	.version = KVNET_FAMILY_VERSION,
	.netnsok = true,
	.parallel_ops = true,
	.module = THIS_MODULE,
	.split_ops = kvnet_nl_ops,
	.n_split_ops = ARRAY_SIZE(kvnet_nl_ops),
	.mcgrps = netlink_mcgrps,
	.n_mcgrps = ARRAY_SIZE(netlink_mcgrps),
};
