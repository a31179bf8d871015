/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tap_info.h - what kind of backend a tap is, and its interface
 *
 * A netlink dump takes no vq->lock, which a worker may hold for long, and has no reference on
 * the backend's file: so the queue keeps a copy, with a lock of its own.
 */
#ifndef _KVNET_TAP_INFO_H
#define _KVNET_TAP_INFO_H

#include <linux/kvnet.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct net;
struct net_device;
struct socket;

/* The backend of a queue, for netlink */
struct kvnet_tap_info {
	/* guards the members below; innermost; process context only */
	spinlock_t lock;
	enum kvnet_backend kind;	/* kind of backend; also read without @lock */
	int ifindex;			/* interface index in @netns; 0: none, or unknown */
	/* network namespace of the backend, with a reference; NULL: no backend */
	struct net *netns;
};

enum kvnet_backend kvnet_tap_info_kind(const struct socket *sock);
bool kvnet_tap_info_is_tun(const struct net_device *dev);
struct net_device *kvnet_tap_info_find_tun(struct net *net, int ifindex);
int kvnet_tap_info_ifindex(struct socket *sock);
void kvnet_tap_info_set(struct kvnet_tap_info *info, struct socket *sock, int ifindex);
struct net *kvnet_tap_info_get(struct kvnet_tap_info *info, int *ifindex);

#endif /* _KVNET_TAP_INFO_H */
