/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink.h - the generic-netlink family: an operator's view of all devices
 *
 * Documentation/netlink/specs/kvnet.yaml says what is in the messages.
 */
#ifndef _KVNET_NETLINK_H
#define _KVNET_NETLINK_H

#include <linux/kvnet.h>
#include <linux/types.h>
#include <net/netlink.h>

struct genl_family;
struct genl_info;
struct kvnet_net;
struct kvnet_vq;
struct sk_buff;

/* At most so much of a cgroup's path, or of a list of CPUs. */
#define KVNET_NETLINK_TEXT_SIZE	1024
/* A device with such texts fits. */
#define KVNET_NETLINK_MSG_SIZE	8192

/* the family: netlink.c */
extern struct genl_family kvnet_netlink_family;
int kvnet_netlink_register(void);
void kvnet_netlink_unregister(void);

/* its answers: netlink_fill_dev.c, netlink_fill_queue.c */
int kvnet_netlink_fill_u64(struct sk_buff *skb, int type, u64 value);
int kvnet_netlink_fill_nonzero_u32(struct sk_buff *skb, int type, u32 number);
int kvnet_netlink_fill_dev(struct sk_buff *skb, struct kvnet_net *net);
int kvnet_netlink_fill_queue(struct sk_buff *skb, struct kvnet_net *net, unsigned int index);
int kvnet_netlink_fill_worker(struct sk_buff *skb, struct kvnet_net *net, unsigned int index);

/* its one command: netlink_set.c */
extern const struct nla_policy kvnet_policy_nl_policy[];
int kvnet_netlink_set_dev(struct sk_buff *skb, struct genl_info *info);

/* its events: netlink_notify.c */
void kvnet_netlink_notify_dev(struct kvnet_net *net, u8 cmd);
void kvnet_netlink_notify_queue_start(struct kvnet_vq *vq, enum kvnet_backend backend);
void kvnet_netlink_notify_queue_stop(struct kvnet_vq *vq);
void kvnet_netlink_notify_queue_broken(struct kvnet_vq *vq, int err);

#endif /* _KVNET_NETLINK_H */
