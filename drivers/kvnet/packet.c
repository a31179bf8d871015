// SPDX-License-Identifier: GPL-2.0
/*
 * packet.c - raw packet sockets, see packet.h
 *
 * Frames are taken out of the socket's queue as they are, tag and all, and
 * read by tap.c. They stay charged to the socket until they are freed.
 */
#include "packet.h"

#include <linux/errno.h>
#include <linux/if_vlan.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>
#include <net/sock.h>

#include "features.h"

/**
 * kvnet_packet_is_raw() - can this be a backend?
 * @sock: any socket
 *
 * Return: true for a raw packet socket.
 */
bool kvnet_packet_is_raw(const struct socket *sock)
{
	return sock->sk->sk_family == AF_PACKET &&
	       sock->sk->sk_type == SOCK_RAW;
}

/**
 * kvnet_packet_is_readable() - is there a frame?
 * @sock: the socket
 *
 * Return: true if so.
 */
bool kvnet_packet_is_readable(const struct socket *sock)
{
	return !skb_queue_empty_lockless(&sock->sk->sk_receive_queue);
}

/**
 * kvnet_packet_busy_polls() - is who reads it made to poll its device?
 * @sock: the socket; it may change at any time
 *
 * Return: true if so.
 */
bool kvnet_packet_busy_polls(const struct socket *sock)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return READ_ONCE(sock->sk->sk_ll_usec);
#else
	return false;
#endif
}

/**
 * kvnet_packet_dequeue() - take frames out of the socket's queue
 * @sock: the socket
 * @frame: filled in with socket buffers
 * @max: entries in @frame
 *
 * Return: how many.
 */
unsigned int kvnet_packet_dequeue(struct socket *sock, void **frame,
				  unsigned int max)
{
	unsigned int n;
	int err;

	for (n = 0; n < max; n++) {
		frame[n] = skb_recv_datagram(sock->sk, MSG_DONTWAIT, &err);
		if (!frame[n])
			break;
	}
	/* A fanout that had found the queue full hears that it is not. */
	if (!n)
		vfs_poll(sock->file, NULL);
	return n;
}

/**
 * kvnet_packet_requeue() - undo kvnet_packet_dequeue()
 * @sock: the socket
 * @frame: frames to go to the front of its queue
 * @n: how many
 */
void kvnet_packet_requeue(struct socket *sock, void **frame, unsigned int n)
{
	while (n--)
		skb_queue_head(&sock->sk->sk_receive_queue, frame[n]);
	sock->sk->sk_data_ready(sock->sk);
}

/**
 * kvnet_packet_make_hdr() - make a frame's header
 * @skb: the frame
 * @to: where to
 * @hdr_len: length of the header
 * @le: its fields are little-endian
 *
 * Return: 0, -EINVAL for a frame that no header describes, or -EFAULT.
 */
int kvnet_packet_make_hdr(const struct sk_buff *skb, struct iov_iter *to,
			  size_t hdr_len, bool le)
{
	union {
		struct virtio_net_hdr hdr;
		u8 bytes[KVNET_FEATURES_HDR_MAX];
	} u = {};

	if (virtio_net_hdr_from_skb(skb, &u.hdr, le, true,
				    skb_vlan_tag_present(skb) ? VLAN_HLEN : 0))
		return -EINVAL;
	return copy_to_iter(&u, hdr_len, to) == hdr_len ? 0 : -EFAULT;
}

/* A tag that hardware would insert stands in the frame that a guest sees. */
static int copy_tagged_frame(struct sk_buff *skb, struct iov_iter *to)
{
	const int at = offsetof(struct vlan_ethhdr, h_vlan_proto);
	struct {
		__be16 proto;
		__be16 tci;
	} tag = {
		.proto = skb->vlan_proto,
		.tci = htons(skb_vlan_tag_get(skb)),
	};

	if (skb->len < at || skb_copy_datagram_iter(skb, 0, to, at) ||
	    copy_to_iter(&tag, sizeof(tag), to) != sizeof(tag))
		return -EFAULT;
	return skb_copy_datagram_iter(skb, at, to, skb->len - at);
}

/**
 * kvnet_packet_copy() - copy a frame, as it would be on a wire
 * @skb: the frame
 * @to: where to; what does not fit is cut off
 *
 * Return: 0 or -EFAULT.
 */
int kvnet_packet_copy(struct sk_buff *skb, struct iov_iter *to)
{
	if (skb_vlan_tag_present(skb))
		return copy_tagged_frame(skb, to);
	return skb_copy_datagram_iter(skb, 0, to, skb->len);
}
