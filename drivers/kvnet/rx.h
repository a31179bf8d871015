/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rx.h - what both ways to receive have in common
 */
#ifndef _KVNET_RX_H
#define _KVNET_RX_H

#include "net.h"

/**
 * struct kvnet_rx_turn - what stays the same during a turn
 * @q: the queue
 * @hdr_len: length of the driver's header
 * @buffers_max: buffers that a packet may take
 */
struct kvnet_rx_turn {
	struct kvnet_queue *q;
	size_t hdr_len;
	unsigned int buffers_max;
};

static inline struct kvnet_queue *kvnet_rx_queue(struct kvnet_source *src)
{
	return container_of(src, struct kvnet_queue, src);
}

/* In a session: rx.c */
struct kvnet_rx_turn kvnet_rx_start(struct kvnet_queue *q);
u8 *kvnet_rx_header(const struct kvnet_rx_turn *t);
int kvnet_rx_read_short(const struct kvnet_rx_turn *t, unsigned int buffers,
			size_t len);
void kvnet_rx_received(struct kvnet_queue *q, size_t len, int err);
void kvnet_rx_publish(struct kvnet_queue *q);
void kvnet_rx_turn_was(struct kvnet_queue *q, u64 now_ns, unsigned int frames, bool small);

/* Without a thread: rx_place.c */
enum kvnet_verdict kvnet_rx_run_soft(struct kvnet_source *src);
bool kvnet_rx_may_soft(const struct kvnet_queue *q);
void kvnet_rx_prepare(struct kvnet_queue *q);

#endif /* _KVNET_RX_H */
