// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_notify.c - notifications to listeners in the owner's network namespace
 *
 * A listener whose socket buffer overruns gets -ENOBUFS from its socket, as with any multicast
 * group. It also gets -ENOBUFS for a notification that could not be built, for want of memory.
 * Either way it knows to dump again.
 */
#include "netlink.h"

#include <linux/errno.h>
#include <net/genetlink.h>

#include "kvnet.h"
#include "obs/registry.h"

static void drop_notification(struct kvnet_net *net, struct sk_buff *skb)
{
	nlmsg_free(skb);
	genl_set_err(&kvnet_netlink_family, net->registry.netns, 0, 0, -ENOBUFS);
}

/* NULL if the device is not registered, has no listeners, or memory is short. */
static struct sk_buff *begin_notification(struct kvnet_net *net, u8 cmd)
{
	struct sk_buff *skb;

	if (!READ_ONCE(net->registry.registered) ||
	    !genl_has_listeners(&kvnet_netlink_family, net->registry.netns, 0))
		return NULL;
	skb = genlmsg_new(NLMSG_DEFAULT_SIZE, GFP_KERNEL);
	if (skb && genlmsg_put(skb, 0, 0, &kvnet_netlink_family, 0, cmd))
		return skb;
	drop_notification(net, skb);
	return NULL;
}

static void send_notification(struct kvnet_net *net, struct sk_buff *skb, int err)
{
	if (err) {
		drop_notification(net, skb);
		return;
	}
	nlmsg_end(skb, nlmsg_hdr(skb));
	genlmsg_multicast_netns(&kvnet_netlink_family, net->registry.netns, skb, 0, 0, GFP_KERNEL);
}

/*
 * @cmd is KVNET_CMD_DEV_ADD_NTF, KVNET_CMD_DEV_DEL_NTF or KVNET_CMD_WORKERS_START_NTF. Called with
 * net->lock held, or by a worker's thread, which keeps the registry entry; may sleep.
 */
void kvnet_netlink_notify_dev(struct kvnet_net *net, u8 cmd)
{
	const struct kvnet_registry_entry *entry = &net->registry;
	struct sk_buff *skb = begin_notification(net, cmd);

	if (!skb)
		return;
	send_notification(net, skb, nla_put_u32(skb, KVNET_A_DEV_ID, entry->id) ?:
			  (entry->pid ? nla_put_u32(skb, KVNET_A_DEV_OWNER_PID, entry->pid) : 0) ?:
			  nla_put_string(skb, KVNET_A_DEV_OWNER_COMM, entry->comm));
}

/*
 * Called with vq->lock held; may sleep. The device is registered, or has no owner; a worker that
 * calls it has not exited, which keeps the registry entry. @type: an attribute with @value, or 0.
 */
void kvnet_netlink_notify_queue(struct kvnet_vq *vq, u8 cmd, int type, u32 value)
{
	struct kvnet_net *net = kvnet_dev_of_queue(container_of(vq, struct kvnet_queue, vq));
	struct sk_buff *skb;

	lockdep_assert_held(&vq->lock);
	skb = begin_notification(net, cmd);
	if (!skb)
		return;
	send_notification(net, skb, nla_put_u32(skb, KVNET_A_QUEUE_DEV, net->registry.id) ?:
			  nla_put_u32(skb, KVNET_A_QUEUE_INDEX, vq->index) ?:
			  (type ? nla_put_u32(skb, type, value) : 0));
}

void kvnet_netlink_notify_queue_broken(struct kvnet_vq *vq, int err)
{
	kvnet_netlink_notify_queue(vq, KVNET_CMD_QUEUE_BROKEN_NTF, KVNET_A_QUEUE_ERROR, -err);
}
