// SPDX-License-Identifier: GPL-2.0
/*
 * event.c - what happens to devices, told to whoever listens in the owner's namespace
 *
 * Who listens too slowly, or when there is no memory, is told that something is missing.
 */
#include "netlink.h"

#include <linux/errno.h>
#include <net/genetlink.h>

#include "net.h"
#include "registry.h"

static void told_nothing(struct kvnet_net *net, struct sk_buff *skb)
{
	nlmsg_free(skb);
	genl_set_err(&kvnet_family, net->listing.netns, 0, 0, -ENOBUFS);
}

/* The header of an event; NULL if nobody listens, or there is no memory. */
static struct sk_buff *begin(struct kvnet_net *net, u8 cmd, void **msg)
{
	struct sk_buff *skb;

	if (!READ_ONCE(net->listing.listed) ||
	    !genl_has_listeners(&kvnet_family, net->listing.netns, 0))
		return NULL;
	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	*msg = skb ? genlmsg_put(skb, 0, 0, &kvnet_family, 0, cmd) : NULL;
	if (*msg)
		return skb;
	told_nothing(net, skb);
	return NULL;
}

static void send(struct kvnet_net *net, struct sk_buff *skb, void *msg, int err)
{
	if (err) {
		told_nothing(net, skb);
		return;
	}
	genlmsg_end(skb, msg);
	genlmsg_multicast_netns(&kvnet_family, net->listing.netns, skb, 0, 0, GFP_KERNEL);
}

/**
 * kvnet_event_dev() - a device has an owner, or none any more; or all of its workers
 * @net: the device
 * @cmd: KVNET_CMD_DEV_ADD_NTF, KVNET_CMD_DEV_DEL_NTF or KVNET_CMD_WORKERS_START_NTF
 *
 * Context: may sleep; dev->lock, or a worker.
 */
void kvnet_event_dev(struct kvnet_net *net, u8 cmd)
{
	const struct kvnet_listing *l = &net->listing;
	struct sk_buff *skb;
	void *msg;

	skb = begin(net, cmd, &msg);
	if (!skb)
		return;
	send(net, skb, msg, nla_put_u32(skb, KVNET_A_DEV_ID, l->id) ?:
	     kvnet_put_number(skb, KVNET_A_DEV_OWNER_PID, l->pid) ?:
	     nla_put_string(skb, KVNET_A_DEV_OWNER_COMM, l->comm));
}

static void event_queue(struct kvnet_vq *vq, u8 cmd, int type, u32 value)
{
	struct kvnet_net *net = kvnet_queue_net(container_of(vq, struct kvnet_queue, vq));
	struct sk_buff *skb;
	void *msg;

	lockdep_assert_held(&vq->lock);
	skb = begin(net, cmd, &msg);
	if (!skb)
		return;
	send(net, skb, msg, nla_put_u32(skb, KVNET_A_QUEUE_DEV, net->listing.id) ?:
	     nla_put_u32(skb, KVNET_A_QUEUE_INDEX, vq->index) ?:
	     (type ? nla_put_u32(skb, type, value) : 0));
}

/**
 * kvnet_event_start() - a queue has got a backend
 * @vq: the queue
 * @backend: what kind
 *
 * Context: may sleep; vq->lock; the device is listed, or has no owner.
 */
void kvnet_event_start(struct kvnet_vq *vq, enum kvnet_backend backend)
{
	event_queue(vq, KVNET_CMD_QUEUE_START_NTF, KVNET_A_QUEUE_BACKEND, backend);
}

/**
 * kvnet_event_stop() - a queue has no backend any more
 * @vq: the queue
 *
 * Context: as kvnet_event_start().
 */
void kvnet_event_stop(struct kvnet_vq *vq)
{
	event_queue(vq, KVNET_CMD_QUEUE_STOP_NTF, 0, 0);
}

/**
 * kvnet_event_broken() - a queue has broken
 * @vq: the queue
 * @err: how, -errno
 *
 * Context: as kvnet_event_start().
 */
void kvnet_event_broken(struct kvnet_vq *vq, int err)
{
	event_queue(vq, KVNET_CMD_QUEUE_BROKEN_NTF, KVNET_A_QUEUE_ERROR, -err);
}
