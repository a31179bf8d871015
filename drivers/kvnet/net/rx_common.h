/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rx_common.h - shared by the worker's RX (rx.c) and inline RX (rx_inline.c)
 */
#ifndef _KVNET_RX_COMMON_H
#define _KVNET_RX_COMMON_H

#include "kvnet.h"

/* Constant during a poll. */
struct kvnet_rx_poll_ctx {
	struct kvnet_queue *q;
	size_t hdr_len;			/* of the driver's header, in bytes */
	unsigned int buffers_max;	/* of a packet; 1 without VIRTIO_NET_F_MRG_RXBUF */
};

static inline struct kvnet_queue *kvnet_rx_work_to_queue(struct kvnet_work *work)
{
	return container_of(work, struct kvnet_queue, work);
}

/* rx.c: in a session, also of a softirq */
struct kvnet_rx_poll_ctx kvnet_rx_start_poll(struct kvnet_queue *q);
u8 *kvnet_rx_prepare_header(const struct kvnet_rx_poll_ctx *t);
int kvnet_rx_read_short_frame(const struct kvnet_rx_poll_ctx *t, unsigned int buffers,
			      size_t len);
void kvnet_rx_count_frame(struct kvnet_queue *q, size_t len, int err);
void kvnet_rx_flush(struct kvnet_queue *q);
void kvnet_rx_update_mode(struct kvnet_queue *q, u64 now_ns, unsigned int frames,
			  bool all_short);

/* rx_inline.c: the first runs in softirq context, the others in a session of the worker */
enum kvnet_work_result kvnet_rx_inline_poll_softirq(struct kvnet_work *work);
bool kvnet_rx_inline_may_poll(const struct kvnet_queue *q);
void kvnet_rx_inline_prepare(struct kvnet_queue *q);

#endif /* _KVNET_RX_COMMON_H */
