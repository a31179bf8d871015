// SPDX-License-Identifier: GPL-2.0
/*
 * packet.c - the receive queue and the frames of a raw packet socket, for tap.c
 *
 * Frames are dequeued as socket buffers, with the VLAN tag outside of the data, and read by
 * tap.c. They stay charged to the socket until they are freed. The functions run in a session
 * of RX, of a worker or of a softirq.
 */
#include "packet.h"

#include <linux/errno.h>
#include <linux/if_vlan.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/skb_array.h>
#include <linux/skbuff.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>
#include <net/sock.h>

#include "features.h"

/* Fills up to @max entries of @frame with socket buffers, which are the caller's then. */
unsigned int kvnet_packet_dequeue(struct socket *sock, void **frame, unsigned int max)
{
	unsigned int n;
	int err;

	for (n = 0; n < max; n++) {
		frame[n] = skb_recv_datagram(sock->sk, MSG_DONTWAIT, &err);
		if (!frame[n])
			break;
	}
	/* packet_poll() tells a PACKET_FANOUT group that the queue has room again. */
	if (!n)
		vfs_poll(sock->file, NULL);
	return n;
}

/* Returns frames of kvnet_packet_dequeue() to the front of the queue, in their order. */
void kvnet_packet_requeue(struct socket *sock, void **frame, unsigned int n)
{
	while (n--)
		skb_queue_head(&sock->sk->sk_receive_queue, frame[n]);
	sock->sk->sk_data_ready(sock->sk);
}

/* Returns -EINVAL for a GSO type that no virtio_net_hdr describes; -EFAULT. */
static int make_packet_hdr(const struct sk_buff *skb, struct iov_iter *to, size_t hdr_len, bool le)
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

/* The guest sees the VLAN tag in the frame, where hardware would insert it. */
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

/*
 * Copies a header of @hdr_len bytes, and the frame as on the wire, with its VLAN tag. @to has
 * room for the header alone, or also for the frame; what does not fit is cut off. Returns the
 * length of header and frame, or -errno.
 */
int kvnet_packet_read(struct sk_buff *skb, struct iov_iter *to, size_t hdr_len, bool le)
{
	int ret = hdr_len + __skb_array_len_with_tag(skb);
	int err = hdr_len ? make_packet_hdr(skb, to, hdr_len, le) : 0;

	if (!err && iov_iter_count(to))
		err = skb_vlan_tag_present(skb) ? copy_tagged_frame(skb, to) :
		      skb_copy_datagram_iter(skb, 0, to, skb->len);
	return err ? err : ret;
}
