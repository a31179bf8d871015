/* SPDX-License-Identifier: GPL-2.0 */
/*
 * backend_info.h - which interface a queue's backend is, for netlink
 *
 * A netlink dump takes no vq->lock, which a worker may hold for long, and has no reference on
 * the backend's file: so the queue keeps a copy, with a lock of its own.
 */
#ifndef _KVNET_BACKEND_INFO_H
#define _KVNET_BACKEND_INFO_H

#include <linux/kvnet.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct net;
struct socket;

/**
 * struct kvnet_backend_info - the backend of a queue
 * @lock: guards the members below; innermost; process context only
 * @kind: kind of backend; also read without @lock
 * @ifindex: interface index in @netns; 0: none, or unknown
 * @netns: network namespace of the backend, with a reference; NULL: no backend
 */
struct kvnet_backend_info {
	spinlock_t lock;
	enum kvnet_backend kind;
	int ifindex;
	struct net *netns;
};

void kvnet_backend_info_init(struct kvnet_backend_info *info);
void kvnet_backend_info_set(struct kvnet_backend_info *info, struct socket *sock, int ifindex);
void kvnet_backend_info_get(struct kvnet_backend_info *info, struct kvnet_backend_info *copy);
void kvnet_backend_info_put(struct kvnet_backend_info *copy);

#endif /* _KVNET_BACKEND_INFO_H */
