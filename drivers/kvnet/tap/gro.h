/* SPDX-License-Identifier: GPL-2.0 */
/*
 * gro.h - GRO of what guests send, for direct TX
 */
#ifndef _KVNET_GRO_H
#define _KVNET_GRO_H

struct kvnet_tap;
struct napi_struct;
struct net_device;
struct sk_buff;

struct napi_struct *kvnet_gro_start(struct kvnet_tap *tap, const struct net_device *dev);
void kvnet_gro_receive(struct kvnet_tap *tap, struct napi_struct *napi, struct sk_buff *skb);
void kvnet_gro_end(struct kvnet_tap *tap, struct napi_struct *napi, unsigned int n);

/* module load and unload */
int kvnet_gro_init(void);
void kvnet_gro_exit(void);

#endif /* _KVNET_GRO_H */
