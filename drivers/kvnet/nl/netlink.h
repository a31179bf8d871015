/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink.h - the generic-netlink family, which shows and configures devices
 *
 * Documentation/netlink/specs/kvnet.yaml specifies the messages. scripts/netlink-gen.py makes
 * netlink_gen.c of it: operations with their permissions, and policies of attributes.
 */
#ifndef _KVNET_NETLINK_H
#define _KVNET_NETLINK_H

#include <linux/kvnet.h>
#include <linux/types.h>
#include <net/netlink.h>

struct genl_family;
struct kvnet_net;
struct kvnet_vq;
struct net;
struct sk_buff;

/* Limit of a cgroup path, or of a CPU list, in bytes with the NUL. */
#define KVNET_NETLINK_TEXT_SIZE	1024
/* A device fits with strings of that size. */
#define KVNET_NETLINK_MSG_SIZE	8192

/* Family and dumps: netlink.c */
extern struct genl_family kvnet_netlink_family;
struct kvnet_net *kvnet_netlink_get_dev(const struct net *netns, const struct nlattr *id,
					struct netlink_ext_ack *extack);

/* Contents of messages: netlink_fill.c. A device has one message, that of index 0. */
int kvnet_netlink_fill_dev(struct sk_buff *skb, struct kvnet_net *net, unsigned int index);
int kvnet_netlink_fill_queue(struct sk_buff *skb, struct kvnet_net *net, unsigned int index);
int kvnet_netlink_fill_worker(struct sk_buff *skb, struct kvnet_net *net, unsigned int index);

/* Notifications: netlink_notify.c */
void kvnet_netlink_notify_dev(struct kvnet_net *net, u8 cmd);
void kvnet_netlink_notify_queue(struct kvnet_vq *vq, u8 cmd, int type, u32 value);
void kvnet_netlink_notify_queue_broken(struct kvnet_vq *vq, int err);

#endif /* _KVNET_NETLINK_H */
