/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rx_common.h - shared by the worker's RX (rx.c) and inline RX (rx_inline.c)
 */
#ifndef _KVNET_RX_COMMON_H
#define _KVNET_RX_COMMON_H

#include <linux/errno.h>
#include <linux/string.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>

#include "features.h"
#include "kvnet.h"

/* Constant during a poll. */
struct kvnet_rx_poll_ctx {
	struct kvnet_queue *q;
	size_t hdr_len;			/* of the driver's header, in bytes */
	unsigned int buffers_max;	/* of a packet; 1 without VIRTIO_NET_F_MRG_RXBUF */
};

/* In a session, also of a softirq: these must not sleep. */

static inline struct kvnet_rx_poll_ctx kvnet_rx_start_poll(struct kvnet_queue *q)
{
	const struct kvnet_features *f = &q->vq.features;

	q->tap.hdr_len = kvnet_features_tap_hdr_len(f);
	q->tap.le = q->vq.ring.le;
	kvnet_tap_rx_copy_start_poll(&q->tap, kvnet_queue_has_tun(q) &&
				     kvnet_dev_is_rx_direct(kvnet_dev_of_queue(q)));
	return (struct kvnet_rx_poll_ctx) {
		.q = q,
		.hdr_len = kvnet_features_hdr_len(f),
		.buffers_max = kvnet_features_has(f, VIRTIO_NET_F_MRG_RXBUF) ?
			       min_t(u32, q->vq.ring.num, UIO_MAXIOV) : 1,
	};
}

/*
 * Zeroes the header in @bounce. The driver's header may be longer than the tap's, and ends
 * where the tap's ends. Returns where the tap's header goes; a short packet follows directly
 * behind it.
 */
static inline u8 *kvnet_rx_prepare_header(const struct kvnet_rx_poll_ctx *t)
{
	struct kvnet_queue *q = t->q;

	memset(q->bounce, 0, KVNET_FEATURES_HDR_MAX);
	return q->bounce + t->hdr_len - q->tap.hdr_len;
}

/*
 * Reads header and packet into @bounce; @len: at most KVNET_RX_COPYBREAK. Consumes the frame,
 * also on error. Returns 0 or -EIO.
 */
static inline int kvnet_rx_read_short_frame(const struct kvnet_rx_poll_ctx *t,
					    unsigned int buffers, size_t len)
{
	struct kvnet_queue *q = t->q;
	size_t total = q->tap.hdr_len + len;

	if (kvnet_tap_rx_copy_read(&q->tap, kvnet_rx_prepare_header(t), total) != total)
		return -EIO;
	kvnet_vnet_hdr_set_num_buffers(q->bounce, t->hdr_len, buffers, q->tap.le);
	return 0;
}

/* Counts a packet of @len bytes as received, or as dropped if @err is an -errno. */
static inline void kvnet_rx_count_frame(struct kvnet_queue *q, size_t len, int err)
{
	if (err) {
		kvnet_vq_count_drop(&q->vq, err == -EFAULT ? KVNET_STAT_drop_fault :
							     KVNET_STAT_drop_tap);
		return;
	}
	WRITE_ONCE(q->packet_count, q->packet_count + 1);
	kvnet_stats_inc(&q->vq.stats, KVNET_STAT_packets);
	kvnet_stats_add(&q->vq.stats, KVNET_STAT_bytes, len);
}

/* The tap's netdev and the queue count packets before the driver can see them. */
static inline void kvnet_rx_flush(struct kvnet_queue *q)
{
	if (q->tap.recvmsg_calls)
		kvnet_stats_add(&q->vq.stats, KVNET_STAT_packets_recvmsg, q->tap.recvmsg_calls);
	q->tap.recvmsg_calls = 0;
	kvnet_tap_rx_copy_account(&q->tap);
	kvnet_vq_flush(&q->vq, false);
}

/*
 * May a softirq receive the next frame? In latency mode, which stays while the queue is throttled:
 * the worker receives a throttled queue's frames uncoalesced.
 */
static inline bool kvnet_rx_may_inline(const struct kvnet_queue *q)
{
	return q->rx_mod.latency_mode && !kvnet_queue_is_throttled(q);
}

/* rx_inline.c: in softirq context; in any session; in a session of the worker */
enum kvnet_work_result kvnet_rx_inline_poll_softirq(struct kvnet_work *work);
bool kvnet_rx_inline_may_poll(const struct kvnet_queue *q);
void kvnet_rx_inline_prepare(struct kvnet_queue *q);

#endif /* _KVNET_RX_COMMON_H */
