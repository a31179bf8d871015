// SPDX-License-Identifier: GPL-2.0
/*
 * tap_tx.c - frames to the host, see tap.h
 *
 * All functions here are for the holder of vq->lock, in the owner's address
 * space, and may sleep.
 */
#include "tap.h"

#include <linux/errno.h>
#include <linux/file.h>
#include <linux/if_tun.h>
#include <linux/net.h>
#include <linux/poll.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <linux/virtio_net.h>
#include <net/sock.h>

#include "features.h"
#include "vnet_hdr.h"

#define SHINFO_LEN	SKB_DATA_ALIGN(sizeof(struct skb_shared_info))

/**
 * kvnet_tap_tx_may_batch() - can frames be handed over in batches?
 * @tap: the tap
 *
 * Batches know no back-pressure, hence only with an unlimited send buffer. A
 * packet socket takes none.
 *
 * Return: true if so; may change from turn to turn.
 */
bool kvnet_tap_tx_may_batch(const struct kvnet_tap *tap)
{
	return tap->ring && READ_ONCE(tap->sock->sk->sk_sndbuf) == INT_MAX;
}

/**
 * kvnet_tap_tx_is_writable() - has a limited send buffer room again?
 * @tap: the tap
 *
 * If not, the tap will wake its wait queue with EPOLLOUT.
 *
 * Return: true if so, or if the tap has lost its device: sending fails then.
 */
bool kvnet_tap_tx_is_writable(struct kvnet_tap *tap)
{
	__poll_t mask = vfs_poll(tap->sock->file, NULL);

	/* A packet socket is also in error while its error queue is not empty. */
	if (!tap->ring && !READ_ONCE(tap->sock->sk->sk_err))
		mask &= ~EPOLLERR;
	return mask & (EPOLLOUT | EPOLLERR);
}

/*
 * Not by an iterator, which costs more than a short frame does. Nor do sizes of
 * our own need hardened usercopy, which would find out whose memory it is.
 */
static int copy_packet_from_user(void *to, const struct kvnet_tap_msg *from)
{
	const struct iovec *iov = from->iov;
	size_t skip = from->skip, left = from->len, part;

	for (; left; iov++, skip = 0, to += part, left -= part) {
		for (; unlikely(skip >= iov->iov_len); iov++)
			skip -= iov->iov_len;
		part = min(iov->iov_len - skip, left);
		if (compat_copy_from_user(to, iov->iov_base + skip, part))
			return -EFAULT;
	}
	return 0;
}

/*
 * Header and data by one copy, as they come; then the header goes to where tun
 * expects it. Without one the stack is told that there is nothing to know.
 */
static int fill_tx_frame(const struct kvnet_tap *tap, void *buf, size_t size,
			 const struct kvnet_tap_msg *from)
{
	struct virtio_net_hdr *hdr = kvnet_tun_frame_init(buf, size);
	void *start = buf + tap->headroom - tap->hdr_len;

	if (copy_packet_from_user(start, from))
		return -EFAULT;
	/* The tap may have been told of a longer one. */
	memset(hdr, 0, KVNET_FEATURES_HDR_MAX);
	if (!tap->hdr_len)
		return 0;
	/* A tap does not look at num_buffers. */
	if (unlikely(tap->hdr_len == KVNET_FEATURES_HDR_MAX))
		memcpy(hdr, start, KVNET_FEATURES_HDR_MAX);
	else
		memcpy(hdr, start, sizeof(*hdr));
	if (!hdr->flags)
		return 0;
	return kvnet_vnet_hdr_fix(hdr, from->len - tap->hdr_len, tap->le);
}

/* What is the same for all frames of a batch. */
static void start_tx_batch(struct kvnet_tap *tap)
{
	bool program = sock_flag(tap->sock->sk, SOCK_XDP);

	tap->xdp_bytes = 0;
	tap->headroom = SKB_DATA_ALIGN(NET_IP_ALIGN + NET_SKB_PAD + tap->hdr_len +
				       (program ? XDP_PACKET_HEADROOM : 0));
}

/**
 * kvnet_tap_tx_queue() - add a packet to the batch
 * @tap: the tap, not kvnet_tap_tx_batch_is_full()
 * @from: the packet, header in front
 *
 * Return: 0; -EMSGSIZE if it is too long for a batch; -EAGAIN for want of memory;
 * -EFAULT if @from cannot be read; -EINVAL for a nonsensical header.
 */
int kvnet_tap_tx_queue(struct kvnet_tap *tap, const struct kvnet_tap_msg *from)
{
	struct xdp_buff *xdp = &tap->xdp[tap->n_xdp];
	size_t len = from->len - tap->hdr_len, size, head = 0;
	void *buf;
	int ret;

	BUILD_BUG_ON(KVNET_TUN_FRAME_HDR + KVNET_FEATURES_HDR_MAX > NET_SKB_PAD);
	if (!tap->n_xdp)
		start_tx_batch(tap);
	/* A multiple of the cache line, and so is each place in a chunk. */
	size = SKB_DATA_ALIGN(len + tap->headroom) + SHINFO_LEN;
	if (unlikely(size > PAGE_SIZE)) {
		/* The socket would make all of it linear: such a frame is for it alone. */
		if (!kvnet_tap_tx_direct_is_ready(tap))
			return -EMSGSIZE;
		head = KVNET_TAP_SKB_HEAD;
	}
	buf = kvnet_frag_alloc(&tap->frags, head + size);
	if (unlikely(!buf))
		return size > min(PAGE_SIZE, KVNET_FRAG_MAX) ? -EMSGSIZE : -EAGAIN;
	buf += head;
	ret = fill_tx_frame(tap, buf, size, from);
	if (!ret && head && kvnet_tap_hdr_is_odd(buf + KVNET_TUN_FRAME_HDR))
		ret = -EMSGSIZE;
	if (unlikely(ret)) {
		kvnet_frag_free(buf);
		return ret;
	}
	xdp_init_buff(xdp, size, NULL);
	xdp_prepare_buff(xdp, buf, tap->headroom, len, true);
	tap->n_xdp++;
	tap->xdp_bytes += len;
	return 0;
}

/**
 * kvnet_tap_tx_send_batch() - hand the batch over
 * @tap: the tap
 *
 * The batch is empty afterwards, and its frames belong to the tap or are gone.
 *
 * Return: frames in the batch, or -errno: the tap refused them all.
 */
int kvnet_tap_tx_send_batch(struct kvnet_tap *tap)
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
	tap->xdp_bytes = 0;
	ret = kvnet_tap_tx_direct_sendmsg(tap, &msg);
	if (ret >= 0)
		return n;
	for (i = 0; i < n; i++)
		kvnet_frag_free(tap->xdp[i].data_hard_start);
	return ret;
}

/*
 * Of a tap -ENOBUFS is want of memory, as -ENOMEM. Of a packet socket it is also what a
 * qdisc or a filter below has dropped, and would drop again.
 */
static bool send_err_is_nomem(const struct kvnet_tap *tap, int err)
{
	return err == -ENOMEM || (err == -ENOBUFS && tap->ring);
}

/**
 * kvnet_tap_tx_send_one() - hand one packet over
 * @tap: the tap, with no frames queued
 * @from: the packet, with the header that the tap is set up for
 *
 * Never with MSG_MORE: a tun that collects packets would keep them, and with
 * them the room in its send buffer, until another one comes.
 *
 * Return: bytes; -EAGAIN if a limited send buffer is full, or for want of memory; or -errno.
 */
int kvnet_tap_tx_send_one(struct kvnet_tap *tap, const struct kvnet_tap_msg *from)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	int ret;

	iov_iter_init(&msg.msg_iter, ITER_SOURCE, from->iov, from->n,
		      from->skip + from->len);
	iov_iter_advance(&msg.msg_iter, from->skip);
	ret = tap->sock->ops->sendmsg(tap->sock, &msg, from->len);
	return unlikely(send_err_is_nomem(tap, ret)) ? -EAGAIN : ret;
}
