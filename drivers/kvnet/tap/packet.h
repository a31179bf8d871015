/* SPDX-License-Identifier: GPL-2.0 */
/*
 * packet.h - a raw packet socket (AF_PACKET) as backend, used by tap.c
 */
#ifndef _KVNET_PACKET_H
#define _KVNET_PACKET_H

#include <linux/types.h>

struct iov_iter;
struct sk_buff;
struct socket;

bool kvnet_packet_is_raw(const struct socket *sock);
bool kvnet_packet_is_readable(const struct socket *sock);
bool kvnet_packet_busy_polls(const struct socket *sock);
unsigned int kvnet_packet_dequeue(struct socket *sock, void **frame,
				  unsigned int max);
void kvnet_packet_requeue(struct socket *sock, void **frame, unsigned int n);
int kvnet_packet_make_hdr(const struct sk_buff *skb, struct iov_iter *to,
			  size_t hdr_len, bool le);
int kvnet_packet_copy(struct sk_buff *skb, struct iov_iter *to);

#endif /* _KVNET_PACKET_H */
