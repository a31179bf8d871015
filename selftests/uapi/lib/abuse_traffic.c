// SPDX-License-Identifier: GPL-2.0
/*
 * The frames that pass while devices are abused, and the buffers that a driver offers
 * for them: see abuse.h.
 */
#include <endian.h>
#include <linux/virtio_net.h>

#include "abuse.h"
#include "segments.h"

#define BURST		24
#define DOWN_MS		5	/* until a queue that is down is repaired */
#define CRUMBS		8192	/* bytes that a ring of them has, or half as many */
#define PIECES		1100	/* of a chain: more than a device takes */

/* What came back; -1 if the driver does not understand it any more. */
int traffic_reap(struct vdev_queue *q)
{
	struct gr_done d;
	int n = 0, ret;

	while ((ret = gr_get_used(&q->ring, &d)) == 1) {
		if (d.token)
			vdev_buf_put(q, d.token);
		n++;
	}
	return ret < 0 ? -1 : n;
}

/* Headers of frames, legal and not. */
static void make_header(uint8_t *at, unsigned int len, uint32_t seq)
{
	struct virtio_net_hdr h = { 0 };

	memset(at, 0, len);
	if (seq % 5)
		return;
	h.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	h.csum_start = htole16(seq % 97);
	h.csum_offset = htole16(seq % 3 ? 16 : seq);
	h.hdr_len = htole16(seq % 131);
	memcpy(at, &h, sizeof(h));
}

/* A frame in one piece, mostly, or in up to four, the header by itself. */
static unsigned int cut(struct gr_buf *b, uint32_t seq, unsigned int hdr)
{
	unsigned int n = seq % 8, i, len = b[0].len - hdr;

	if (!n || n > 3)
		return 1;
	b[0].len = hdr;
	for (i = 1; i <= n; i++) {
		b[i] = b[0];
		b[i].ptr = b[i - 1].ptr + b[i - 1].len;
		b[i].len = i < n ? len / 4 : len - (n - 1) * (len / 4);
	}
	return 1 + n;
}

/* In pieces of a byte each, as far as the ring goes; the rest is the last one. */
static unsigned int crumble(struct gr_buf *b, uint32_t seq, unsigned int most)
{
	unsigned int n = 1 + seq % PIECES, i, len = b[0].len;

	n = n < most ? n : most;
	n = n < len ? n : len;
	for (i = 0; i < n; i++) {
		b[i].ptr = b[0].ptr + i;
		b[i].len = i < n - 1 ? 1 : len - i;
		b[i].write = b[0].write;
	}
	return n ? n : 1;
}

/* All that the ring takes, each of them in the same place; of a byte each, if it is long. */
static void offer_crumbs(struct vdev_queue *q)
{
	struct gr_buf b = { .ptr = q->bufs, .write = true };
	unsigned int n = q->ring.num_free, most = CRUMBS / q->num;

	while (n--) {
		b.len = 1 + n * 7 % most;
		if (gr_add(&q->ring, &b, 1, GR_ALL_DIRECT, NULL) < 0)
			return;
	}
}

static void offer_frames(struct abused *a, unsigned int i, unsigned int most)
{
	static __thread struct gr_buf b[PIECES];
	unsigned int h = a->r.v.hdr_len, n, direct;
	struct vdev_queue *q = &a->r.v.q[i];
	uint8_t *buf;

	while (most-- && (buf = vdev_buf_get(q))) {
		b[0] = (struct gr_buf) { .ptr = buf, .write = i == VDEV_RX };
		b[0].len = i == VDEV_RX ? q->buf_size : h + 60 + a->seq % 1200;
		if (i == VDEV_TX) {
			make_header(buf, h, a->seq);
			frame_make(buf + h, a->seq, b[0].len - h);
			a->seq++;
		}
		direct = q->ring.ind_left && a->seq % 3 == 0 ? a->seq % 2 : GR_ALL_DIRECT;
		if (direct == GR_ALL_DIRECT && traffic_is(a, TRAFFIC_CRUMBS))
			n = crumble(b, a->seq, q->ring.num_free);
		else
			n = cut(b, a->seq, h);
		if (gr_add(&q->ring, b, n, direct, buf) < 0) {
			vdev_buf_put(q, buf);
			break;
		}
	}
}

void traffic_offer(struct abused *a, unsigned int i, unsigned int most)
{
	struct vdev_queue *q = &a->r.v.q[i];
	uint64_t one = 1;

	if (i == VDEV_RX && traffic_is(a, TRAFFIC_CRUMBS))
		offer_crumbs(q);
	else
		offer_frames(a, i, most);
	gr_publish(&q->ring);
	/* a device that is not busy all the time receives single frames inline */
	if (traffic_is(a, TRAFFIC_SINGLE) && !gr_kick_needed(&q->ring))
		return;
	if (write(q->kick, &one, sizeof(one)) < 0)
		return;
}

unsigned int traffic_host(struct abused *a, unsigned int most)
{
	static __thread uint8_t f[4096];
	unsigned int i, n = 0;

	for (i = 0; i < most; i++) {
		frame_make(f, i, 60 + a->seq % 1000);
		if (send(a->r.inject, f, 60 + a->seq % 1000, 0) < 0)
			break;
	}
	/* some that come together */
	if (traffic_is(a, TRAFFIC_SEGMENTS))
		segments_send(a->gso, 60 + a->seq % 1300, 2 + a->seq % 5);
	while (n < 256 && recv(a->r.sniff, f, sizeof(f), MSG_DONTWAIT) >= 0)
		n++;
	return n;
}

void traffic_answer(struct abused *a)
{
	struct vhost_msg_v2 m;

	if (a->r.v.features & F_PLATFORM &&
	    read(a->r.v.fd, &m, sizeof(m)) == sizeof(m))
		world_map(a);
}

static void turn(struct world *w, struct abused *a)
{
	struct vdev *v = &a->r.v;
	int tx, rx, n = 0, most;
	bool single;

	pthread_mutex_lock(&a->guest);
	single = traffic_is(a, TRAFFIC_SINGLE);
	most = single ? 1 : 1 + a->seq % BURST;
	traffic_answer(a);
	if (single)	/* while its worker is idle */
		n = traffic_host(a, most);
	tx = traffic_reap(&v->q[VDEV_TX]);
	rx = traffic_reap(&v->q[VDEV_RX]);
	traffic_offer(a, VDEV_RX, 64);
	traffic_offer(a, VDEV_TX, most);
	if (!single)
		n = traffic_host(a, most);
	if (tx > 0 && rx > 0)
		a->down_since = 0;
	else if (!a->down_since)
		a->down_since = ksft_now_ms();
	else if (tx < 0 || rx < 0 ||
		 ksft_now_ms() > a->down_since + DOWN_MS) {
		world_mend(w, a);
		a->down_since = 0;
	}
	__atomic_fetch_add(&w->tally->frames, n + (rx > 0 ? rx : 0),
			   __ATOMIC_RELAXED);
	pthread_mutex_unlock(&a->guest);
}

void *world_traffic(void *world)
{
	struct world *w = world;
	unsigned int i;

	while (!__atomic_load_n(&w->over, __ATOMIC_ACQUIRE)) {
		for (i = 0; i < ABUSE_DEVS; i++)
			turn(w, &w->dev[i]);
		ksft_relax(0);
	}
	return NULL;
}
