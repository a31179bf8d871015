// SPDX-License-Identifier: GPL-2.0
/*
 * tap.c - tun, tap and macvtap, see tap.h
 *
 * All functions here are for the holder of vq->lock, in the owner's address
 * space, and may sleep, except where noted.
 */
#include "tap.h"

#include <linux/err.h>
#include <linux/file.h>
#include <linux/if_tap.h>
#include <linux/if_tun.h>
#include <linux/if_vlan.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/ptr_ring.h>
#include <linux/skb_array.h>
#include <linux/skbuff.h>
#include <linux/virtio_net.h>
#include <net/sock.h>

#include "features.h"
#include "hdr.h"

/*
 * The longest linear frame, with its room in front and behind. A GSO frame may
 * be as long as a chunk of the frag cache; others stay within a page, since
 * an XDP program that is attached meanwhile expects no more.
 */
#define LINEAR_MAX	PAGE_SIZE
#define LINEAR_MAX_GSO	(32 * 1024)

#define SHINFO_LEN	SKB_DATA_ALIGN(sizeof(struct skb_shared_info))

/**
 * kvnet_tap_get() - the socket behind a tap's file descriptor
 * @fd: the owner's descriptor
 *
 * Return: the socket, for kvnet_tap_put(), or ERR_PTR(-ENOTSOCK).
 */
struct socket *kvnet_tap_get(int fd)
{
	struct file *file = fget(fd);
	struct socket *sock;

	if (!file)
		return ERR_PTR(-ENOTSOCK);
	sock = tun_get_socket(file);
	if (IS_ERR(sock))
		sock = tap_get_socket(file);
	if (IS_ERR(sock)) {
		fput(file);
		return ERR_PTR(-ENOTSOCK);
	}
	return sock;
}

/**
 * kvnet_tap_put() - drop a socket
 * @sock: from kvnet_tap_get(), or NULL
 *
 * Context: may sleep; no lock needed.
 */
void kvnet_tap_put(struct socket *sock)
{
	if (sock)
		fput(sock->file);
}

static struct ptr_ring *find_ring(struct socket *sock)
{
	struct ptr_ring *ring = tun_get_tx_ring(sock->file);

	return IS_ERR(ring) ? tap_get_ptr_ring(sock->file) : ring;
}

/**
 * kvnet_tap_attach() - change the tap
 * @tap: the queue's view
 * @sock: from kvnet_tap_get(), now ours; NULL: none
 *
 * Frames that were taken from the old tap's ring go back to its front.
 *
 * Return: the old socket, now the caller's, or NULL.
 */
struct socket *kvnet_tap_attach(struct kvnet_tap *tap, struct socket *sock)
{
	struct socket *old = tap->sock;

	if (tap->rx_head != tap->rx_tail)
		ptr_ring_unconsume(tap->ring, tap->rx + tap->rx_head,
				   tap->rx_tail - tap->rx_head, tun_ptr_free);
	tap->rx_head = 0;
	tap->rx_tail = 0;
	tap->sock = sock;
	tap->ring = sock ? find_ring(sock) : NULL;
	return old;
}

/**
 * kvnet_tap_free() - let go of what the queue's view holds
 * @tap: without a socket
 */
void kvnet_tap_free(struct kvnet_tap *tap)
{
	page_frag_cache_drain(&tap->frags);
}

static void *peek(struct kvnet_tap *tap)
{
	if (tap->rx_head == tap->rx_tail) {
		tap->rx_head = 0;
		tap->rx_tail = ptr_ring_consume_batched(tap->ring, tap->rx,
							KVNET_TAP_BATCH);
		if (!tap->rx_tail)
			return NULL;
	}
	return tap->rx[tap->rx_head];
}

/**
 * kvnet_tap_peek() - length of the next frame to the guest
 * @tap: the tap
 *
 * Return: bytes, as the guest will see it but for the header; 0: no frame.
 */
size_t kvnet_tap_peek(struct kvnet_tap *tap)
{
	void *frame;
	size_t len;

	while ((frame = peek(tap))) {
		len = tun_is_xdp_frame(frame) ? tun_ptr_to_xdp(frame)->len :
			__skb_array_len_with_tag(frame);
		if (len)
			return len;
		kvnet_tap_discard(tap);
	}
	return 0;
}

/**
 * kvnet_tap_next_is_xdp() - did XDP redirect the next frame here?
 * @tap: the tap; kvnet_tap_peek() has said that there is a frame
 *
 * Return: true if so: a bare frame without a socket buffer.
 */
bool kvnet_tap_next_is_xdp(const struct kvnet_tap *tap)
{
	return tun_is_xdp_frame(tap->rx[tap->rx_head]);
}

/**
 * kvnet_tap_readable() - is there a frame for the guest?
 * @tap: the tap
 *
 * Return: true if so.
 */
bool kvnet_tap_readable(struct kvnet_tap *tap)
{
	return tap->rx_head != tap->rx_tail || !ptr_ring_empty(tap->ring);
}

/* A tag that hardware would insert stands in the frame that a guest sees. */
static int copy_tagged(struct sk_buff *skb, struct iov_iter *to)
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
 * kvnet_tap_copy() - copy the next frame, without header, and keep it
 * @tap: the tap; kvnet_tap_peek() has said that there is a frame
 * @to: the guest's memory
 *
 * Return: 0 or -EFAULT.
 */
int kvnet_tap_copy(struct kvnet_tap *tap, struct iov_iter *to)
{
	void *frame = tap->rx[tap->rx_head];
	struct xdp_frame *xdpf;

	if (tun_is_xdp_frame(frame)) {
		xdpf = tun_ptr_to_xdp(frame);
		return copy_to_iter(xdpf->data, xdpf->len, to) == xdpf->len ?
			0 : -EFAULT;
	}
	if (skb_vlan_tag_present((struct sk_buff *)frame))
		return copy_tagged(frame, to);
	return skb_copy_datagram_iter(frame, 0, to,
				      ((struct sk_buff *)frame)->len);
}

/**
 * kvnet_tap_read_iter() - read the next frame by way of the tap, header and all
 * @tap: the tap; kvnet_tap_peek() has said that there is a frame
 * @to: where to; what does not fit is cut off
 *
 * The frame is gone whatever happens. Going through the tap keeps the
 * device's own statistics right and makes the header as the tap is set up.
 *
 * Return: length of the frame with header, before cutting off, or -errno.
 */
int kvnet_tap_read_iter(struct kvnet_tap *tap, struct iov_iter *to)
{
	struct msghdr msg = {
		.msg_control = tap->rx[tap->rx_head++],
		.msg_iter = *to,
	};

	return tap->sock->ops->recvmsg(tap->sock, &msg, iov_iter_count(to),
				       MSG_DONTWAIT | MSG_TRUNC);
}

/**
 * kvnet_tap_read() - kvnet_tap_read_iter() into the kernel's memory
 * @tap: the tap
 * @buf: where to
 * @len: size of @buf, not 0
 *
 * Return: as kvnet_tap_read_iter().
 */
int kvnet_tap_read(struct kvnet_tap *tap, void *buf, size_t len)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };
	struct iov_iter to;

	iov_iter_kvec(&to, ITER_DEST, &vec, 1, len);
	return kvnet_tap_read_iter(tap, &to);
}

/**
 * kvnet_tap_discard() - drop the next frame
 * @tap: the tap; kvnet_tap_peek() has said that there is a frame
 */
void kvnet_tap_discard(struct kvnet_tap *tap)
{
	tun_ptr_free(tap->rx[tap->rx_head++]);
}

/**
 * kvnet_tap_batches() - can frames be handed over in batches?
 * @tap: the tap
 *
 * Batches know no back-pressure, hence only with an unlimited send buffer.
 *
 * Return: true if so; may change from turn to turn.
 */
bool kvnet_tap_batches(const struct kvnet_tap *tap)
{
	return READ_ONCE(tap->sock->sk->sk_sndbuf) == INT_MAX;
}

/**
 * kvnet_tap_writable() - has a limited send buffer room again?
 * @tap: the tap
 *
 * If not, the tap will wake its wait queue with EPOLLOUT.
 *
 * Return: true if so, or if the tap has lost its device: sending fails then.
 */
bool kvnet_tap_writable(struct kvnet_tap *tap)
{
	return vfs_poll(tap->sock->file, NULL) & (EPOLLOUT | EPOLLERR);
}

/*
 * Read the header to where tun expects it. Without one the stack is told that
 * there is nothing to know.
 */
static int read_header(void *buf, struct iov_iter *from, size_t hdr_len,
		       bool le)
{
	struct virtio_net_hdr *gso = buf + offsetof(struct tun_xdp_hdr, gso);

	if (!hdr_len) {
		memset(gso, 0, sizeof(*gso));
		return 0;
	}
	if (copy_from_iter(gso, hdr_len, from) != hdr_len)
		return -EFAULT;
	return kvnet_hdr_fix(gso, iov_iter_count(from), le);
}

static int fill_frame(void *buf, int pad, size_t size, struct iov_iter *from,
		      size_t hdr_len, bool le)
{
	struct tun_xdp_hdr *hdr = buf;
	int ret = read_header(buf, from, hdr_len, le);
	size_t len = iov_iter_count(from);

	if (ret)
		return ret;
	if (size > LINEAR_MAX && !hdr->gso.gso_type)
		return -EMSGSIZE;
	hdr->buflen = size;
	return copy_from_iter(buf + pad, len, from) == len ? 0 : -EFAULT;
}

/**
 * kvnet_tap_queue() - add a packet to the batch
 * @tap: the tap, with fewer than KVNET_TAP_BATCH frames queued
 * @from: the packet, header in front; copied on success, else untouched
 * @hdr_len: length of the header; 0: there is none
 * @le: the header is little-endian
 *
 * Return: 0; -EMSGSIZE if it is too long for a batch; -ENOMEM;
 * -EFAULT if @from cannot be read; -EINVAL for a nonsensical header.
 */
int kvnet_tap_queue(struct kvnet_tap *tap, struct iov_iter *from,
		    size_t hdr_len, bool le)
{
	int room = sock_flag(tap->sock->sk, SOCK_XDP) ? XDP_PACKET_HEADROOM : 0;
	int pad = SKB_DATA_ALIGN(NET_IP_ALIGN + NET_SKB_PAD + room + hdr_len);
	struct xdp_buff *xdp = &tap->xdp[tap->n_xdp];
	struct iov_iter orig = *from;
	size_t len = iov_iter_count(from) - hdr_len;
	size_t size = SKB_DATA_ALIGN(len + pad) + SHINFO_LEN;
	void *buf;
	int ret;

	BUILD_BUG_ON(sizeof(struct tun_xdp_hdr) + KVNET_HDR_MAX -
		     sizeof(struct virtio_net_hdr) > NET_SKB_PAD);
	if (size > LINEAR_MAX && (!hdr_len || size > LINEAR_MAX_GSO))
		return -EMSGSIZE;
	/* A multiple of the cache line, and so is each place in a chunk. */
	buf = page_frag_alloc(&tap->frags, size, GFP_KERNEL);
	if (!buf)
		return size > LINEAR_MAX ? -EMSGSIZE : -ENOMEM;

	ret = fill_frame(buf, pad, size, from, hdr_len, le);
	if (ret) {
		*from = orig;
		page_frag_free(buf);
		return ret;
	}
	xdp_init_buff(xdp, size, NULL);
	xdp_prepare_buff(xdp, buf, pad, len, true);
	tap->n_xdp++;
	return 0;
}

/**
 * kvnet_tap_send_queued() - hand the batch over
 * @tap: the tap
 *
 * The batch is empty afterwards, and its frames belong to the tap or are gone.
 *
 * Return: frames in the batch, or -errno: the tap refused them all.
 */
int kvnet_tap_send_queued(struct kvnet_tap *tap)
{
	struct tun_msg_ctl ctl = {
		.type = TUN_MSG_PTR,
		.num = tap->n_xdp,
		.ptr = tap->xdp,
	};
	struct msghdr msg = {
		.msg_control = &ctl,
		.msg_controllen = sizeof(ctl),
		.msg_flags = MSG_DONTWAIT,
	};
	unsigned int i, n = tap->n_xdp;
	int ret;

	if (!n)
		return 0;
	tap->n_xdp = 0;
	ret = tap->sock->ops->sendmsg(tap->sock, &msg, 0);
	if (ret >= 0)
		return n;
	for (i = 0; i < n; i++)
		page_frag_free(tap->xdp[i].data_hard_start);
	return ret;
}

/**
 * kvnet_tap_send() - hand one packet over
 * @tap: the tap, with no frames queued
 * @from: the packet, with the header that the tap is set up for
 *
 * Never with MSG_MORE: a tun that collects packets would keep them, and with
 * them the room in its send buffer, until another one comes.
 *
 * Return: bytes, -EAGAIN if a limited send buffer is full, or -errno.
 */
int kvnet_tap_send(struct kvnet_tap *tap, struct iov_iter *from)
{
	struct msghdr msg = {
		.msg_iter = *from,
		.msg_flags = MSG_DONTWAIT,
	};

	return tap->sock->ops->sendmsg(tap->sock, &msg, iov_iter_count(from));
}
