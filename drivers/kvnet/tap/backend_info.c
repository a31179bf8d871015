// SPDX-License-Identifier: GPL-2.0
/* backend_info.c - which interface a queue's backend is, see backend_info.h */
#include "backend_info.h"

#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "tap.h"

/* @info is zeroed. */
void kvnet_backend_info_init(struct kvnet_backend_info *info)
{
	spin_lock_init(&info->lock);
}

/**
 * kvnet_backend_info_set() - record the queue's new backend
 * @info: of the queue
 * @sock: from kvnet_tap_get(), used only during the call; NULL: none
 * @ifindex: from kvnet_tap_info_ifindex(); 0: none
 *
 * Context: vq->lock of the queue; may sleep.
 */
void kvnet_backend_info_set(struct kvnet_backend_info *info, struct socket *sock, int ifindex)
{
	struct net *netns = sock ? get_net(sock_net(sock->sk)) : NULL;

	spin_lock(&info->lock);
	swap(info->netns, netns);
	info->ifindex = ifindex;
	WRITE_ONCE(info->kind, kvnet_tap_info_kind(sock));
	spin_unlock(&info->lock);
	if (netns)
		put_net(netns);
}

/*
 * Process context, without vq->lock. Fills in @copy except for its lock, with a reference on
 * the namespace, which kvnet_backend_info_put() drops.
 */
void kvnet_backend_info_get(struct kvnet_backend_info *info, struct kvnet_backend_info *copy)
{
	spin_lock(&info->lock);
	copy->kind = info->kind;
	copy->ifindex = info->ifindex;
	copy->netns = info->netns ? get_net(info->netns) : NULL;
	spin_unlock(&info->lock);
}

void kvnet_backend_info_put(struct kvnet_backend_info *copy)
{
	if (copy->netns)
		put_net(copy->netns);
}
