// SPDX-License-Identifier: GPL-2.0
/*
 * backend_info.c - the interface of a queue, see backend_info.h
 */
#include "backend_info.h"

#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "tap.h"

/**
 * kvnet_backend_info_init() - before first use
 * @info: the port, zeroed
 */
void kvnet_backend_info_init(struct kvnet_backend_info *info)
{
	spin_lock_init(&info->lock);
}

/**
 * kvnet_backend_info_set() - the queue gets another backend
 * @info: the port
 * @sock: from kvnet_tap_get(); NULL: none
 * @ifindex: from kvnet_tap_info_ifindex(); 0: none
 *
 * Context: may sleep; calls exclude each other.
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

/**
 * kvnet_backend_info_get() - look
 * @info: the port
 * @copy: filled in, but for the lock; for kvnet_backend_info_put()
 *
 * Context: any process.
 */
void kvnet_backend_info_get(struct kvnet_backend_info *info, struct kvnet_backend_info *copy)
{
	spin_lock(&info->lock);
	copy->kind = info->kind;
	copy->ifindex = info->ifindex;
	copy->netns = info->netns ? get_net(info->netns) : NULL;
	spin_unlock(&info->lock);
}

/**
 * kvnet_backend_info_put() - have looked
 * @copy: from kvnet_backend_info_get()
 */
void kvnet_backend_info_put(struct kvnet_backend_info *copy)
{
	if (copy->netns)
		put_net(copy->netns);
}
