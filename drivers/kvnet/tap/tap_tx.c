// SPDX-License-Identifier: GPL-2.0
/*
 * tap_tx.c - packets from the guest to the tap's socket, see tap.h
 *
 * All functions here run in a session with vq->lock, in the owner's address space: of a
 * worker, or of the kicking vCPU thread, with page faults disabled. They may sleep.
 */
#include "tap.h"

#include <linux/errno.h>
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

/*
 * A batch has no back-pressure: it needs an unlimited send buffer. A packet socket takes no
 * batches. The result may change from poll to poll, as the VMM sets the send buffer.
 */
bool kvnet_tap_tx_may_batch(const struct kvnet_tap *tap)
{
	return tap->ring && READ_ONCE(tap->sock->sk->sk_sndbuf) == INT_MAX;
}

/*
 * If a limited send buffer has no room, vfs_poll() makes the tap wake its wait queue with
 * EPOLLOUT later. True also if the tap has lost its device: sending fails then.
 */
bool kvnet_tap_tx_is_writable(struct kvnet_tap *tap)
{
	__poll_t mask = vfs_poll(tap->sock->file, NULL);

	/* A packet socket also reports EPOLLERR while its error queue is not empty. */
	if (!tap->ring && !READ_ONCE(tap->sock->sk->sk_err))
		mask &= ~EPOLLERR;
	return mask & (EPOLLOUT | EPOLLERR);
}

/*
 * One copy for header and data, which are contiguous in the packet; the header then moves to
 * where tun expects it. Without a header tun gets one of zeroes: no offloads.
 */
static int fill_tx_frame(const struct kvnet_tap *tap, void *buf, size_t size,
			 const struct kvnet_tap_msg *from)
{
	struct virtio_net_hdr *hdr = kvnet_tun_frame_init(buf, size);
	void *start = buf + tap->headroom - tap->hdr_len;

	if (kvnet_tap_msg_copy(start, from))
		return -EFAULT;
	/* The VMM may have configured the tap for a longer header. */
	memset(hdr, 0, KVNET_FEATURES_HDR_MAX);
	if (!tap->hdr_len)
		return 0;
	/* A tap does not read num_buffers. */
	if (unlikely(tap->hdr_len == KVNET_FEATURES_HDR_MAX))
		memcpy(hdr, start, KVNET_FEATURES_HDR_MAX);
	else
		memcpy(hdr, start, sizeof(*hdr));
	if (!hdr->flags)
		return 0;
	return kvnet_vnet_hdr_fix(hdr, from->len - tap->hdr_len, tap->le);
}

/* One headroom for all frames of a batch: SOCK_XDP may change at any time. */
static void start_tx_batch(struct kvnet_tap *tap)
{
	bool program = sock_flag(tap->sock->sk, SOCK_XDP);

	tap->xdp_bytes = 0;
	tap->headroom = SKB_DATA_ALIGN(NET_IP_ALIGN + NET_SKB_PAD + tap->hdr_len +
				       (program ? XDP_PACKET_HEADROOM : 0));
}

/*
 * Copies a packet and adds it to the batch, which is not full. Returns 0; -EMSGSIZE if the
 * packet has to be sent by itself; -EBUSY if a vCPU thread must leave it to the worker; -EAGAIN
 * without memory; -EFAULT if @from cannot be read; -EINVAL for an invalid header.
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
	/* A multiple of the cache line, as kvnet_frag_alloc() wants it. */
	size = SKB_DATA_ALIGN(len + tap->headroom) + SHINFO_LEN;
	if (unlikely(size > PAGE_SIZE)) {
		/* For direct TX only: tun would make all of a batch's frame linear. */
		if (!kvnet_tap_tx_direct_is_ready(tap))
			return -EMSGSIZE;
		head = KVNET_TAP_SKB_HEAD;
	}
	buf = kvnet_frag_alloc(&tap->frags, head + size);
	if (unlikely(!buf))
		return size > min(PAGE_SIZE, KVNET_FRAG_MAX) ? -EMSGSIZE : -EAGAIN;
	buf += head;
	ret = fill_tx_frame(tap, buf, size, from);
	if (!ret && head && kvnet_vnet_hdr_is_odd(buf + KVNET_TUN_FRAME_HDR))
		ret = -EMSGSIZE;
	if (!ret && tap->has_queues)
		ret = kvnet_tap_tx_direct_check_flow(tap, buf + tap->headroom, len);
	if (unlikely(ret)) {
		skb_free_frag(buf);
		return ret;
	}
	xdp_init_buff(xdp, size, NULL);
	xdp_prepare_buff(xdp, buf, tap->headroom, len, true);
	tap->n_xdp++;
	tap->xdp_bytes += len;
	return 0;
}

/*
 * Sends the batch, which has frames, by the tap's sendmsg(). It is empty afterwards: its frames are
 * the tap's or, on error, freed. Returns a number below 0 if the tap has refused them all.
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

	tap->n_xdp = 0;
	tap->xdp_bytes = 0;
	ret = kvnet_tap_tx_direct_sendmsg(tap, &msg);
	if (ret >= 0)
		return ret;
	for (i = 0; i < n; i++)
		skb_free_frag(tap->xdp[i].data_hard_start);
	return ret;
}

/*
 * Sends a packet by the tap's sendmsg(). The batch is empty, or packets would be reordered.
 * Never with MSG_MORE: a tun with rx-frames coalescing would keep the packet, and its room in
 * the send buffer, until the next packet. Returns the length in bytes; -EAGAIN if a limited
 * send buffer is full or without memory; or -errno.
 */
int kvnet_tap_tx_send_one(struct kvnet_tap *tap, const struct kvnet_tap_msg *from)
{
	struct msghdr msg = { .msg_flags = MSG_DONTWAIT };
	int ret;

	iov_iter_init(&msg.msg_iter, ITER_SOURCE, from->iov, from->n,
		      from->skip + from->len);
	iov_iter_advance(&msg.msg_iter, from->skip);
	kvnet_tap_tx_direct_note_sendmsg(tap);
	ret = tap->sock->ops->sendmsg(tap->sock, &msg, from->len);
	/*
	 * A tap returns -ENOBUFS, as -ENOMEM, without memory. A packet socket returns it also
	 * when a qdisc or a filter has dropped the packet, and would drop it again.
	 */
	if (unlikely(ret == -ENOMEM || (ret == -ENOBUFS && tap->ring)))
		return -EAGAIN;
	return ret;
}
