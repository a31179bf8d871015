/* SPDX-License-Identifier: GPL-2.0 */
/*
 * backend_info.h - which interface a queue's packets come from, for those who look
 *
 * They have no vq->lock, which may be held for long, nor the backend's file.
 */
#ifndef _KVNET_BACKEND_INFO_H
#define _KVNET_BACKEND_INFO_H

#include <linux/kvnet.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct net;
struct socket;

/**
 * struct kvnet_backend_info - an interface
 * @lock: guards the rest
 * @kind: of backend
 * @ifindex: in @netns; 0: there is none, or it cannot be told
 * @netns: its namespace, with a reference; NULL: no backend
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
