/* SPDX-License-Identifier: GPL-2.0 */
/* packet.h - a raw packet socket (AF_PACKET) as backend, used by tap.c */
#ifndef _KVNET_PACKET_H
#define _KVNET_PACKET_H

#include <linux/types.h>

struct iov_iter;
struct sk_buff;
struct socket;

unsigned int kvnet_packet_dequeue(struct socket *sock, void **frame, unsigned int max);
void kvnet_packet_requeue(struct socket *sock, void **frame, unsigned int n);
int kvnet_packet_read(struct sk_buff *skb, struct iov_iter *to, size_t hdr_len, bool le);

#endif /* _KVNET_PACKET_H */
