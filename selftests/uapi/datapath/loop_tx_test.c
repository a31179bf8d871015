// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit: a process plays the guest, a packet socket on the tap says what
 * reached the host.
 *
 * @hosts: 6.1
 * @first-host: 6.12
 * @again: packed slow
 * @seconds: 11
 */
#include <stdio.h>
#include <unistd.h>

#include "rig.h"

/* Send 'count' frames of our own numbers and see each arrive, in order. */
static void stream(struct rig *r, unsigned int count, uint32_t min,
		   uint32_t max, const struct shape *shape)
{
	struct vdev_queue *q = &r->v.q[VDEV_TX];
	uint32_t first = r->tx_seq, got = r->tx_seq;
	unsigned int burst, n;
	uint32_t len[512];

	while (got < first + count && !ksft_failed()) {
		burst = 1 + ksft_below(q->num < 64 ? q->num : 64);
		for (n = 0; n < burst && r->tx_seq < first + count; n++) {
			len[n] = min + ksft_below(max - min + 1);
			if (rig_tx(r, len[n], shape))
				break;
		}
		vdev_kick(q);
		for (burst = n, n = 0; n < burst; n++)
			if (!rig_expect(r, got++, len[n]))
				return;
		if (!WAIT_FOR(3000, rig_tx_reap(r) || !r->tx_out))
			FAIL("no buffer came back");
	}
	rig_tx_drain(r, 3000);
}

static void stream_on(const struct rig_cfg *cfg, unsigned int count,
		      uint32_t min, uint32_t max, const struct shape *shape)
{
	static struct rig r;

	rig_open(&r, cfg);
	stream(&r, count, min, max, shape);
	rig_close(&r);
}

/* A big-endian legacy driver: the VMM calls SET_VRING_ENDIAN last. */
CASE(big_endian_driver_sends)
{
	struct vhost_vring_state s = { VDEV_TX, VHOST_VRING_BIG_ENDIAN };
	static struct rig r;
	struct vring_used *used;

	if (vdev_is_vhost())
		ksft_skip("vhost_net knows it where legacy guests may be big-endian");
	rig_open(&r, &(struct rig_cfg){ .features = F_MRG, .num = 64, .stopped = true });
	vdev_ioctl(r.v.fd, VHOST_SET_VRING_ENDIAN, &s);
	ASSERT_EQ(rig_tx(&r, 100, NULL), 0);
	rig_swap_ring(&r, VDEV_TX);
	used = r.v.q[VDEV_TX].ring.cfg.used;
	vdev_backend(&r.v, VDEV_TX, r.tap);
	rig_expect(&r, 0, 100);
	EXPECT(WAIT_FOR(3000, __atomic_load_n(&used->idx, __ATOMIC_ACQUIRE) ==
			__builtin_bswap16(1)));
	EXPECT_EQ(vdev_eventfd_take(r.v.q[VDEV_TX].err), 0);
	/* the header goes to the tap's socket, which knows its byte order */
	EXPECT_EQ(rig_counter(&r, "kvnet.tx.batches_direct"), 0);
	rig_close(&r);
}

CASE(frame_of_each_size_26_to_1600_is_sent)
{
	static struct rig r;
	uint32_t len, i;

	rig_open(&r, &(struct rig_cfg){ 0 });
	for (len = FRAME_MIN; len <= 1600 && !ksft_failed();) {
		uint32_t from = len;

		for (i = 0; i < 128 && len <= 1600; i++, len++)
			ASSERT_EQ(rig_tx(&r, len, NULL), 0);
		vdev_kick(&r.v.q[VDEV_TX]);
		for (i = from; i < len && !ksft_failed(); i++)
			rig_expect(&r, i - FRAME_MIN, i);
		rig_tx_drain(&r, 3000);
	}
}

static void size_borders(unsigned int tap)
{
	static const uint32_t len[] = {
		3000, 3400, 3500, 3550, 3600, 3700, 3776, 3800, 4050, 4084,
		4085, 4096, 4097, 8192, 16384, 32768, 65000, 65520, 65534, 65535
	};
	static struct rig r;
	size_t i;

	rig_open(&r, &(struct rig_cfg){ .bufs = 8, .tx_buf = 65600,
					.tap = tap });
	for (i = 0; i < sizeof(len) / sizeof(*len) && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&r, 60, NULL), 0);
		ASSERT_EQ(rig_tx(&r, len[i], NULL), 0);
		ASSERT_EQ(rig_tx(&r, 61, NULL), 0);
		vdev_kick(&r.v.q[VDEV_TX]);
		rig_expect(&r, 3 * i, 60);
		rig_expect(&r, 3 * i + 1, len[i]);
		rig_expect(&r, 3 * i + 2, 61);
		rig_tx_drain(&r, 3000);
	}
}

CASE(frame_up_to_65535_bytes_is_sent)
{
	size_borders(0);
}

CASE(frame_up_to_65535_bytes_with_sndbuf_is_sent)
{
	size_borders(TAP_SNDBUF);
}

CASE(frame_shorter_than_ethernet_header_is_dropped)
{
	static struct rig r;
	uint8_t f[64] = { 0 };
	uint32_t len;
	int round;

	for (round = 0; round < 2; round++) {
		rig_open(&r, &(struct rig_cfg){
			.tap = round ? TAP_SNDBUF : 0 });
		for (len = 0; len < 14; len++)
			ASSERT_EQ(rig_tx_raw(&r, NULL, f, len, NULL), 0);
		ASSERT_EQ(rig_tx(&r, 60, NULL), 0);
		vdev_kick(&r.v.q[VDEV_TX]);
		rig_expect(&r, 0, 60);
		rig_tx_drain(&r, 3000);
		if (!vdev_is_vhost()) {
			EXPECT_EQ(rig_counter(&r, "kvnet.tx.drop_short"), 14);
			EXPECT_EQ(rig_counter(&r, "kvnet.tx.packets"), 1);
			EXPECT_EQ(rig_counter(&r, "kvnet.tx.bytes"), 60);
		}
		rig_close(&r);
	}
}

CASE(frame_of_14_bytes_is_sent)
{
	static struct rig r;
	uint8_t f[64];

	rig_open(&r, &(struct rig_cfg){ 0 });
	ASSERT_EQ(rig_tx(&r, 14, NULL), 0);
	ASSERT_EQ(rig_tx(&r, 15, NULL), 0);
	vdev_kick(&r.v.q[VDEV_TX]);
	EXPECT_EQ(rig_sniff(&r, f, sizeof(f), 3000), 14);
	EXPECT(frame_is_ours(f, 14));
	EXPECT_EQ(rig_sniff(&r, f, sizeof(f), 3000), 15);
	rig_tx_drain(&r, 3000);
}

CASE(one_byte_descriptors_are_sent)
{
	struct shape s = { .piece = 1 };

	stream_on(&(struct rig_cfg){ .bufs = 16 }, 40, 26, 230, &s);
}

CASE(long_chain_is_sent)
{
	struct shape s = { .piece = 7, .split_hdr = true };

	stream_on(&(struct rig_cfg){ .num = 1024 }, 100, 26, 4000, &s);
	s.piece = 64;
	stream_on(&(struct rig_cfg){ .num = 1024, .tx_buf = 65600,
				     .bufs = 16 }, 40, 26, 60000, &s);
}

CASE(header_in_pieces_is_read)
{
	struct shape s = { .split_hdr = true };
	unsigned int piece;

	stream_on(&(struct rig_cfg){ 0 }, 100, 26, 1514, &s);
	for (piece = 3; piece < 24; piece += 5) {
		s = (struct shape) { .piece = piece };
		stream_on(&(struct rig_cfg){ .num = 512 }, 20, 26, 1514, &s);
	}
}

/* The header in two pieces and the frame in a third, not adjacent. */
static void tx_far_apart(struct rig *r, uint32_t len)
{
	struct vdev_queue *q = &r->v.q[VDEV_TX];
	uint32_t h = r->v.hdr_len;
	uint8_t *buf = vdev_buf_get(q);
	struct gr_buf pieces[] = {
		{ .ptr = buf + 3000, .len = 5 },
		{ .ptr = buf + 2000, .len = h - 5 },
		{ .ptr = buf, .len = len },
	};

	memset(buf, 0xff, q->buf_size);
	memset(pieces[0].ptr, 0, pieces[0].len);
	memset(pieces[1].ptr, 0, pieces[1].len);
	frame_make(buf, r->tx_seq++, len);
	ASSERT(gr_add(&q->ring, pieces, 3, GR_ALL_DIRECT, buf) >= 0);
	r->tx_out++;
}

CASE(header_in_pieces_far_apart_is_read)
{
	static const unsigned int taps[] = { 0, TAP_BARE, TAP_BARE | TAP_SNDBUF };
	static struct rig r;
	unsigned int i;
	uint32_t len;

	for (i = 0; i < 3; i++) {
		rig_open(&r, &(struct rig_cfg){ .tap = taps[i],
			.features = taps[i] & TAP_BARE ? F_V1 | F_NETHDR : 0 });
		for (len = 60; len <= 1514 && !ksft_failed(); len += 727) {
			tx_far_apart(&r, len);
			vdev_kick(&r.v.q[VDEV_TX]);
			rig_expect(&r, r.tx_seq - 1, len);
			rig_tx_drain(&r, 3000);
		}
		rig_close(&r);
	}
}

CASE(indirect_table_is_sent)
{
	struct shape s = { .indirect = true };

	stream_on(&(struct rig_cfg){ 0 }, 200, 26, 1514, &s);
	s.piece = 100;
	stream_on(&(struct rig_cfg){ 0 }, 200, 26, 1514, &s);
	s.piece = 1;	/* 63 of one byte and the rest in the last */
	stream_on(&(struct rig_cfg){ 0 }, 200, 26, 1514, &s);
	/* 2.7.5.3.2: some direct ones, then one that refers to a table */
	s = (struct shape) { .indirect = true, .direct = 2, .piece = 64 };
	stream_on(&(struct rig_cfg){ 0 }, 200, 150, 1514, &s);
}

CASE(buffer_across_regions_is_sent)
{
	struct shape s = { .indirect = true, .piece = 1000 };

	stream_on(&(struct rig_cfg){ .regions = 8, .tx_buf = 65600,
				     .bufs = 60 }, 120, 60000, 65000, NULL);
	stream_on(&(struct rig_cfg){ .regions = 8, .tx_buf = 65600,
				     .bufs = 60 }, 120, 26, 30000, &s);
}

CASE(each_feature_set_sends)
{
	static const uint64_t features[] = {
		F_V1, F_V1 | F_EVENT, F_V1 | F_IND | F_MRG, F_MRG | F_IND,
		F_EVENT | F_IND, F_V1 | F_MRG | F_EVENT | F_IND,
		BIT64(VIRTIO_F_NOTIFY_ON_EMPTY) | F_MRG,
	};
	size_t i;

	for (i = 0; i < sizeof(features) / sizeof(*features); i++) {
		struct rig_cfg c = { .features = features[i] };
		struct shape s = { .indirect = features[i] & F_IND,
				   .piece = 500 };

		stream_on(&c, 150, 26, 1514, &s);
	}
}

/* A legacy driver without any feature: ten bytes of header */
CASE(legacy_header_is_ten_bytes)
{
	static struct rig r;

	rig_open(&r, &(struct rig_cfg){
		.features = BIT64(VIRTIO_F_NOTIFY_ON_EMPTY) });
	ASSERT_EQ(r.v.hdr_len, 10);
	stream(&r, 200, 26, 1514, NULL);
}

CASE(tap_without_header_sends)
{
	static const uint64_t features[] = {
		F_V1 | F_NETHDR | F_EVENT, F_NETHDR | F_MRG, F_NETHDR,
	};
	static struct rig r;
	size_t i;

	for (i = 0; i < sizeof(features) / sizeof(*features); i++) {
		rig_open(&r, &(struct rig_cfg){ .features = features[i],
						.tap = TAP_BARE });
		EXPECT_EQ(r.v.hdr_len, features[i] & (F_V1 | F_MRG) ? 12 : 10);
		stream(&r, 200, 26, 3000, NULL);
		rig_close(&r);
	}
}

CASE_TIMED(each_ring_size_sends, 40)
{
	unsigned int num;

	for (num = 1; num <= 32768 && !ksft_failed(); num = rig_next_num(num))
		stream_on(&(struct rig_cfg){ .num = num },
			  num < 16 ? 20 : 80, 26, 1514, NULL);
}

CASE(full_ring_is_sent)
{
	static struct rig r;
	unsigned int i;

	rig_open(&r, &(struct rig_cfg){ .num = 256, .tx_buf = 2048 });
	for (i = 0; i < 256; i++)
		ASSERT_EQ(rig_tx(&r, 26 + i, NULL), 0);
	EXPECT_EQ(rig_tx(&r, 26, NULL), -ENOSPC);
	vdev_kick(&r.v.q[VDEV_TX]);
	for (i = 0; i < 256 && !ksft_failed(); i++)
		rig_expect(&r, i, 26 + i);
	rig_tx_drain(&r, 3000);
}

CASE(index_near_65535_wraps)
{
	static const uint16_t base[] = { 65535, 65534, 65500, 32767, 32768 };
	size_t i;

	for (i = 0; i < sizeof(base) / sizeof(*base); i++) {
		stream_on(&(struct rig_cfg){ .base = base[i], .num = 64 },
			  200, 26, 300, NULL);
		stream_on(&(struct rig_cfg){ .base = base[i], .num = 64,
					     .features = F_V1 },
			  200, 26, 300, NULL);
	}
}

CASE_TIMED(more_than_65536_buffers_are_used, 60)
{
	static struct rig r;
	struct vdev_queue *q = &r.v.q[VDEV_TX];
	unsigned int sent = 0, got = 0, total = 70000;
	uint8_t f[128];

	rig_open(&r, &(struct rig_cfg){ .num = 256, .tx_buf = 256 });
	while (got < total && !ksft_failed()) {
		while (sent < total && !rig_tx(&r, 40, NULL))
			sent++;
		vdev_kick(q);
		for (; got < sent; got++) {
			ssize_t n = rig_sniff(&r, f, sizeof(f), 3000);

			if (n < 0)
				FAIL("frame %u is lost", got);
			else
				frame_check(f, n, got, 40);
			if (ksft_failed())
				break;
		}
		rig_tx_drain(&r, 3000);
	}
	EXPECT_EQ(gr_raw_used_idx(&q->ring), (uint16_t)total);
	/* with IN_ORDER one used entry stands for many */
	if (r.v.features & F_ORDER && !vdev_is_vhost())
		EXPECT_GE(q->ring.skipped, 1);
}

KSFT_MAIN()
