// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of each size, in each layout of buffers, both ways; a process plays the guest.
 *
 * Receive: the host sends numbered frames into the tap.  rig_rx() watches that full buffers are
 * full, that num_buffers is right and that no byte beyond the used length is touched.  Frames
 * that do not fit wait or are dropped, and the queue goes on with the next one.
 *
 * Transmit: a packet socket on the tap says what reached the host.
 *
 * @hosts: 6.1
 * @first-host: 6.12
 * @debug: kasan kcsan kmsan
 * @again: packed slow
 * @seconds: 22
 * @skip: (uapi|test)-.* | .*: a split ring has a power .* | tried in its run with packed rings
 */
#include "rig.h"

/*** receive ***/

static unsigned int post(struct rig *r, unsigned int n, const struct shape *s)
{
	n = rig_rx_post(r, n, s);
	vdev_kick(&r->v.q[VDEV_RX]);
	return n;
}

static unsigned int buffers_for(const struct rig *r, uint32_t len)
{
	uint32_t size = r->v.q[VDEV_RX].buf_size;

	return (len + r->v.hdr_len + size - 1) / size;
}

/* So many frames, of min to max bytes. */
struct frames {
	unsigned int n;
	uint32_t min, max;
};

/* Where the tap has no headers the device makes them, of zeroes. */
static bool receive_frame(struct rig *r, uint32_t seq, uint32_t len)
{
	static const struct virtio_net_hdr zero;
	static uint8_t f[FRAME_MAX + 4096];
	uint8_t hdr[12];

	if (!EXPECT_EQ(rig_rx(r, hdr, f, sizeof(f), 3000), len))
		return false;
	if (r->cfg.tap & TAP_BARE)
		EXPECT(!memcmp(hdr, &zero, sizeof(zero)));
	if (r->v.features & F_MRG)
		EXPECT_EQ(r->rx_bufs, buffers_for(r, len));
	return frame_check(f, len, seq, len);
}

static void receive_frames(struct rig *r, const struct frames *rx, const struct shape *shape)
{
	unsigned int burst, n, fit, total = 0;
	uint16_t used = r->cfg.base;
	uint32_t len[64];

	fit = r->cfg.bufs / (r->v.features & F_MRG ? buffers_for(r, rx->max) : 1);
	ASSERT(fit);
	post(r, r->cfg.bufs, shape);
	while (total < rx->n && !ksft_failed()) {
		burst = 1 + ksft_below(fit < 64 ? fit : 64);
		for (n = 0; n < burst; n++) {
			len[n] = rx->min + ksft_below(rx->max - rx->min + 1);
			rig_inject(r, total + n, len[n]);
		}
		for (n = 0; n < burst; n++, total++) {
			if (!receive_frame(r, total, len[n]))
				return;
			used += r->rx_bufs;
			post(r, r->cfg.bufs, shape);
		}
	}
	EXPECT_EQ(gr_raw_used_idx(&r->v.q[VDEV_RX].ring), used);
}

CASE(frame_of_each_size_26_to_1600_arrives)
{
	static struct rig r;
	uint32_t len;

	rig_open(&r, &(struct rig_cfg){ .rx_buf = 2048 });
	rig_offer(&r, 256);
	for (len = FRAME_MIN; len <= 1600 && !ksft_failed(); len++) {
		rig_inject(&r, len, len);
		if (len % 64)
			continue;
		for (uint32_t i = len - 63 < FRAME_MIN ? FRAME_MIN : len - 63;
		     i <= len && !ksft_failed(); i++)
			rig_rx_expect(&r, i, i);
		rig_offer(&r, 256);
	}
}

CASE(frame_up_to_65535_bytes_arrives)
{
	static const uint32_t len[] = {
		2034, 2035, 2036, 2037, 4084, 4096, 9000, 16384, 32768, 65000,
		65534, 65535
	};
	static struct rig r;
	size_t i;

	rig_open(&r, &(struct rig_cfg){ .rx_buf = 2048, .num = 64 });
	for (i = 0; i < sizeof(len) / sizeof(*len) && !ksft_failed(); i++) {
		rig_offer(&r, 64);
		rig_inject(&r, i, len[i]);
		rig_rx_expect(&r, i, len[i]);
		EXPECT_EQ(r.rx_bufs, buffers_for(&r, len[i]));
	}
}

CASE(mergeable_exact_fit_takes_no_extra_buffer)
{
	static struct rig r;
	uint32_t k;

	rig_open(&r, &(struct rig_cfg){ .rx_buf = 256, .num = 64 });
	for (k = 1; k <= 20 && !ksft_failed(); k++) {
		rig_offer(&r, 64);
		rig_inject(&r, 3 * k, 256 * k - 12);
		rig_inject(&r, 3 * k + 1, 256 * k - 12 + 1);
		rig_inject(&r, 3 * k + 2, 256 * k - 12 - 1);
		rig_rx_expect(&r, 3 * k, 256 * k - 12);
		EXPECT_EQ(r.rx_bufs, k);
		rig_rx_expect(&r, 3 * k + 1, 256 * k - 12 + 1);
		EXPECT_EQ(r.rx_bufs, k + 1);
		rig_offer(&r, 64);
		rig_rx_expect(&r, 3 * k + 2, 256 * k - 12 - 1);
		EXPECT_EQ(r.rx_bufs, k);
	}
}

CASE(frame_without_buffers_waits)
{
	static struct rig r;
	unsigned int i;

	rig_open(&r, &(struct rig_cfg){ .rx_buf = 128, .num = 64 });
	/* 1000 bytes need eight buffers: give seven, then the eighth */
	rig_offer(&r, 7);
	rig_inject(&r, 0, 1000);
	EXPECT(!WAIT_FOR(100, gr_used_pending(&r.v.q[VDEV_RX].ring)));
	rig_offer(&r, 1);
	rig_rx_expect(&r, 0, 1000);
	/* and one by one, each with a kick */
	rig_inject(&r, 1, 1000);
	for (i = 0; i < 8; i++)
		rig_offer(&r, 1);
	rig_rx_expect(&r, 1, 1000);
	EXPECT_EQ(r.rx_bufs, 8);
}

/*
 * Buffers too short for the frame: it is lost, whole or in part, but the device
 * writes nothing beyond the buffer, and the queue goes on.
 */
static void too_short(uint64_t features, unsigned int tap, unsigned int size)
{
	static struct rig r;
	struct vdev_queue *q = &r.v.q[VDEV_RX];
	struct gr_done d;
	unsigned int i;

	rig_open(&r, &(struct rig_cfg){ .features = features, .tap = tap,
					.rx_buf = size, .num = 64 });
	memset(q->bufs, RX_CANARY, (size_t)q->buf_size * q->buf_num);
	rig_offer(&r, 8);
	for (i = 0; i < 4; i++)
		rig_inject(&r, i, 600);
	rig_inject(&r, 4, 40);
	/* lost or not the long ones, the short one arrives */
	for (i = 0; i < 5; i++) {
		if (!WAIT_FOR(3000, gr_used_pending(&q->ring))) {
			FAIL("size %u: the short frame did not come", size);
			break;
		}
		if (!EXPECT_EQ(gr_get_used(&q->ring, &d), 1))
			break;
		EXPECT_LE(d.len, size);
		if (d.len == 40 + r.v.hdr_len &&
		    frame_check((uint8_t *)d.token + r.v.hdr_len, 40, 4, 40))
			break;
	}
	if (i == 5)
		FAIL("size %u: more is given back than frames can have taken", size);
	/* buffers that were never posted, and the ones not used, are whole */
	ksft_all_bytes("beyond the buffers", q->bufs + 8 * size, RX_CANARY,
		       (q->buf_num - 8) * size);
	rig_close(&r);
}

CASE(short_buffer_without_mergeable_drops_frame)
{
	too_short(F_V1, 0, 64);
	too_short(F_V1 | F_EVENT, 0, 300);
	/* two would do */
	too_short(F_V1, 0, 400);
	too_short(F_V1 | F_NETHDR, TAP_BARE, 64);
	too_short(BIT64(VIRTIO_F_NOTIFY_ON_EMPTY), 0, 100);
}

CASE(buffer_shorter_than_header_is_not_overrun)
{
	static struct rig r;
	struct vdev_queue *q = &r.v.q[VDEV_RX];
	unsigned int i;

	rig_open(&r, &(struct rig_cfg){ .features = F_V1, .rx_buf = 8,
					.num = 64 });
	memset(q->bufs, RX_CANARY, (size_t)q->buf_size * q->buf_num);
	rig_offer(&r, 8);
	for (i = 0; i < 8; i++)
		rig_inject(&r, i, 100);
	WAIT_FOR(200, gr_used_pending(&q->ring));
	ksft_all_bytes("beyond the buffers", q->bufs + 8 * 8, RX_CANARY, (q->buf_num - 8) * 8);
	rig_stop(&r);
	EXPECT_LE(vdev_get_base(&r.v, VDEV_RX) & 0x7fff, 8);
}

/*** buffers that are too few, or too many, for a frame ***/

static struct rig rig;

static void post_exactly(unsigned int n, const struct shape *shape)
{
	ASSERT_EQ(post(&rig, n, shape), n);
}

/* Offers a buffer of more pieces than the device takes, in a new ring. */
static void offer_endless_buffer(unsigned int n)
{
	struct gr_desc *table = vdev_alloc(&rig.v, 16 * n, 16);
	uint64_t data = vdev_gpa(&rig.v, vdev_alloc(&rig.v, n, 16)), one = 1;
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint16_t flags = GR_DESC_F_WRITE;

		if (rig.v.features & F_PACKED)
			gr_raw_set_packed(&table[i], data + i, 1, 0, flags);
		else
			gr_raw_set(&table[i], data + i, 1,
				   flags | (i + 1 < n ? GR_DESC_F_NEXT : 0),
				   i + 1);
	}
	gr_raw_offer(&rig.v.q[VDEV_RX].ring, vdev_gpa(&rig.v, table), 16 * n,
		     GR_DESC_F_INDIRECT);
	ASSERT_EQ(write(rig.v.q[VDEV_RX].kick, &one, 8), 8);
}

/* The driver's error breaks the queue, and costs no frame. */
CASE(frame_survives_too_long_chain)
{
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
	rig_inject(&rig, 7, 100);
	rig_inject(&rig, 8, 900);
	offer_endless_buffer(1500);
	EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_RX].err, 3000));
	if (!vdev_is_vhost()) {
		EXPECT_EQ(rig_counter(&rig, "kvnet.rx.broken"), 1);
		EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_oversize"), 0);
	}
	rig_stop(&rig);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	post_exactly(16, NULL);
	rig_rx_expect(&rig, 7, 100);
	rig_rx_expect(&rig, 8, 900);
}

/* Each chain is legal, but together they are more pieces than the device takes for a frame. */
CASE(frame_of_too_many_pieces_is_dropped)
{
	const struct shape table = { .piece = 16, .indirect = true };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net breaks");
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 1024 });
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		post_exactly(40, &table);
		rig_inject(&rig, 10 * i, 16 * 1024 - rig.v.hdr_len);
		rig_rx_expect(&rig, 10 * i, 16 * 1024 - rig.v.hdr_len);
		EXPECT_EQ(rig.rx_bufs, 16);
		rig_inject(&rig, 10 * i + 1, 17 * 1024);
		rig_inject(&rig, 10 * i + 2, 60);
		rig_rx_expect(&rig, 10 * i + 2, 60);
		EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_oversize"), i + 1);
		EXPECT_EQ(rig_counter(&rig, "kvnet.rx.broken"), 0);
	}
	rig_close(&rig);
}

#define BUF	1500

static void open_small(unsigned int num)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net waits for ever");
	rig_open(&rig, &(struct rig_cfg){ .num = num, .bufs = num,
					  .rx_buf = BUF });
}

static void not_dropped(uint32_t seq, uint32_t len)
{
	rig_rx_expect(&rig, seq, len);
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_oversize"), 0);
}

/*
 * A frame longer than a full ring of buffers is dropped, and the next one arrives.
 * A frame that just fits arrives, too.
 */
static void too_long_for_the_ring(unsigned int num, const struct shape *shape)
{
	unsigned int n, round;
	uint32_t room;

	open_small(num);
	n = post(&rig, num, shape);
	room = n * BUF - rig.v.hdr_len;
	for (round = 0; round < 3 && !ksft_failed(); round++) {
		rig_inject(&rig, round, room);
		rig_rx_expect(&rig, round, room);
		EXPECT_EQ(rig.rx_bufs, n);
		EXPECT_EQ(post(&rig, num, shape), n);
		rig_inject(&rig, 100, room + 1);
		rig_inject(&rig, 200 + round, 60);
		rig_rx_expect(&rig, 200 + round, 60);
		EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_oversize"), round + 1);
		EXPECT_EQ(post(&rig, num, shape), 1);
	}
	rig_close(&rig);
}

CASE(frame_longer_than_ring_is_dropped)
{
	const struct shape two = { .piece = BUF / 2 };
	const struct shape three = { .piece = BUF / 3 };
	const struct shape table = { .piece = BUF / 3, .indirect = true };

	too_long_for_the_ring(16, NULL);
	too_long_for_the_ring(16, &table);
	too_long_for_the_ring(16, &two);
	/* one descriptor is left, too few for such a chain */
	too_long_for_the_ring(16, &three);
	too_long_for_the_ring(32, &three);
}

CASE(frame_longer_than_odd_ring_is_dropped)
{
	const struct shape two = { .piece = BUF / 2 };

	if (!(vdev_layout(F_V1) & F_PACKED))
		ksft_skip("a split ring has a power of two");
	too_long_for_the_ring(15, NULL);
	too_long_for_the_ring(15, &two);
}

/* The frame waits as long as the ring has room for the buffers that it lacks. */
CASE(frame_that_fits_the_ring_waits)
{
	const struct shape two = { .piece = BUF / 2 };
	uint32_t room;
	long waits;
	unsigned int i;

	open_small(16);
	room = 8 * BUF - rig.v.hdr_len;
	for (i = 0; i < 2; i++) {
		waits = rig_counter(&rig, "kvnet.rx.no_buf");
		post_exactly(7, &two);
		rig_inject(&rig, i, room + i);
		EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.no_buf") >
				waits));
		EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_oversize"), 0);
		EXPECT(!gr_used_pending(&rig.v.q[VDEV_RX].ring));
		post_exactly(1, &two);
		if (!i)
			not_dropped(i, room);
	}
	rig_inject(&rig, 9, 60);
	rig_rx_expect(&rig, 9, 60);
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_oversize"), 1);
}

/* The room left is counted in chains as short as the shortest one offered. */
CASE(frame_that_fits_by_short_chains_waits)
{
	const struct shape three = { .piece = BUF / 3 };
	uint32_t room;

	open_small(16);
	room = 8 * BUF - rig.v.hdr_len;
	post_exactly(1, NULL);
	post_exactly(4, &three);
	post_exactly(1, NULL);
	rig_inject(&rig, 1, room);
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.no_buf") > 0 ||
			rig_counter(&rig, "kvnet.rx.drop_oversize") > 0));
	post_exactly(2, NULL);
	not_dropped(1, room);
}

/* Buffers that a frame before has filled come back, and count as room. */
CASE(frame_waits_for_buffers_in_use)
{
	const struct shape two = { .piece = BUF / 2 };
	uint32_t room;

	open_small(16);
	room = 8 * BUF - rig.v.hdr_len;
	rig_inject(&rig, 1, 60);
	rig_inject(&rig, 2, room);
	post_exactly(8, &two);
	not_dropped(1, 60);
	post_exactly(1, &two);
	not_dropped(2, room);
}

/*** transmit ***/

/* Sends frames of our own numbers, and each arrives, in order. */
static void send_frames(struct rig *r, const struct frames *tx, const struct shape *shape)
{
	struct vdev_queue *q = &r->v.q[VDEV_TX];
	uint32_t first = r->tx_seq, got = r->tx_seq;
	unsigned int burst, n;
	uint32_t len[512];

	while (got < first + tx->n && !ksft_failed()) {
		burst = 1 + ksft_below(q->num < 64 ? q->num : 64);
		for (n = 0; n < burst && r->tx_seq < first + tx->n; n++) {
			len[n] = tx->min + ksft_below(tx->max - tx->min + 1);
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
	EXPECT_EQ(gr_raw_used_idx(&q->ring), (uint16_t)(r->cfg.base + r->tx_done));
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

CASE_ROW(frame_up_to_65535_bytes_is_sent, size_borders(0))
CASE_ROW(frame_up_to_65535_bytes_with_sndbuf_is_sent, size_borders(TAP_SNDBUF))

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
		ASSERT_EQ(rig_tx(&r, 14, NULL), 0);
		ASSERT_EQ(rig_tx(&r, 15, NULL), 0);
		ASSERT_EQ(rig_tx(&r, 60, NULL), 0);
		vdev_kick(&r.v.q[VDEV_TX]);
		EXPECT_EQ(rig_sniff(&r, f, sizeof(f), 3000), 14);
		EXPECT(frame_is_ours(f, 14));
		EXPECT_EQ(rig_sniff(&r, f, sizeof(f), 3000), 15);
		rig_expect(&r, 2, 60);
		rig_tx_drain(&r, 3000);
		if (!vdev_is_vhost()) {
			EXPECT_EQ(rig_counter(&r, "kvnet.tx.drop_short"), 14);
			EXPECT_EQ(rig_counter(&r, "kvnet.tx.packets"), 3);
			EXPECT_EQ(rig_counter(&r, "kvnet.tx.bytes"), 14 + 15 + 60);
		}
		rig_close(&r);
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
	/* with IN_ORDER one used entry stands for many */
	if (r.v.features & F_ORDER && !vdev_is_vhost())
		EXPECT_GE(r.v.q[VDEV_TX].ring.skipped, 1);
}

/*** both ways, in each layout ***/

struct way {
	const char *what;
	struct rig_cfg cfg;
	struct shape shape;	/* of the buffers, both ways */
	struct frames rx, tx;
};

static void pass_frames(const struct way *w)
{
	static struct rig r;

	rig_open(&r, &w->cfg);
	ksft_note("%s; rings of %u and %u", w->what, r.cfg.rx_num, r.cfg.num);
	EXPECT_EQ(r.v.hdr_len, r.cfg.features & (F_V1 | F_MRG) ? 12 : 10);
	if (w->rx.n)
		receive_frames(&r, &w->rx, &w->shape);
	if (w->tx.n)
		send_frames(&r, &w->tx, &w->shape);
	rig_close(&r);
}

/* An entry without a name ends the table. */
static void pass_each(const struct way *w)
{
	for (; w->what && !ksft_failed(); w++)
		pass_frames(w);
}

CASE_TIMED(mergeable_buffers_hold_frame, 60)
{
	static const struct way ways[] = {
		{ "not even the header fits into one of 1 byte",
		  { .rx_buf = 1, .num = 1024, .bufs = 1024 }, .rx = { 12, 26, 220 } },
		{ "nor into one of 11",
		  { .rx_buf = 11, .num = 1024, .bufs = 1024 }, .rx = { 20, 26, 1514 } },
		{ "only the header",
		  { .rx_buf = 12, .num = 1024, .bufs = 1024 }, .rx = { 20, 26, 1514 } },
		{ "and one byte more",
		  { .rx_buf = 13, .num = 1024, .bufs = 1024 }, .rx = { 20, 26, 1514 } },
		{ "64 bytes",
		  { .rx_buf = 64, .num = 512, .bufs = 512 }, .rx = { 100, 26, 4000 } },
		{ "64 bytes, long frames",
		  { .rx_buf = 64, .num = 1024, .bufs = 1024 }, .rx = { 20, 30000, 60000 } },
		{ "1526 bytes",
		  { .rx_buf = 1526, .num = 128 }, .rx = { 100, 26, 65535 } },
		{ NULL }
	};

	pass_each(ways);
}

CASE_TIMED(each_arrangement_of_descriptors_holds_frame, 60)
{
	static const struct way ways[] = {
		{ "one byte each", { .rx_buf = 60, .num = 1024, .bufs = 16 },
		  { .piece = 1 }, { 30, 26, 500 }, { 40, 26, 1000 } },
		{ "one byte each, and the ring is full", { .bufs = 16 },
		  { .piece = 1 }, .tx = { 40, 26, 230 } },
		{ "the header apart", { 0 },
		  { .split_hdr = true }, .tx = { 100, 26, 1514 } },
		{ "the header apart, 7 bytes each", { .num = 1024 },
		  { .piece = 7, .split_hdr = true }, .tx = { 100, 26, 4000 } },
		{ "the header apart, 64 bytes each", { .num = 1024, .tx_buf = 65600, .bufs = 16 },
		  { .piece = 64, .split_hdr = true }, .tx = { 40, 26, 60000 } },
		{ "the header apart, 100 bytes each", { .rx_buf = 1700, .num = 1024, .bufs = 32 },
		  { .piece = 100, .split_hdr = true }, { 100, 26, 1600 } },
		{ "the same in a table", { .rx_buf = 1700, .bufs = 64 },
		  { .piece = 100, .split_hdr = true, .indirect = true }, { 100, 26, 10000 } },
		{ "the header in four", { .num = 512 },
		  { .piece = 3 }, .tx = { 20, 26, 1514 } },
		{ "the header in two", { .num = 512 },
		  { .piece = 8 }, .tx = { 20, 26, 1514 } },
		{ "a byte of the frame behind the header", { .num = 512 },
		  { .piece = 13 }, .tx = { 20, 26, 1514 } },
		{ "18 bytes each", { .num = 512 },
		  { .piece = 18 }, .tx = { 20, 26, 1514 } },
		{ "23 bytes each", { .num = 512 },
		  { .piece = 23 }, .tx = { 20, 26, 1514 } },
		{ "a table of one", { 0 },
		  { .indirect = true }, .tx = { 200, 26, 1514 } },
		{ "a table, 100 bytes each", { 0 },
		  { .piece = 100, .indirect = true }, .tx = { 200, 26, 1514 } },
		{ "a table, 63 of one byte and the rest in the last", { 0 },
		  { .piece = 1, .indirect = true }, .tx = { 200, 26, 1514 } },
		{ "2.7.5.3.2: two in the ring, then a table", { 0 },
		  { .piece = 64, .indirect = true, .direct = 2 }, .tx = { 200, 150, 1514 } },
		{ NULL }
	};

	pass_each(ways);
}

CASE(buffers_across_regions_hold_frame)
{
	static const struct way ways[] = {
		{ "in one piece", { .regions = 8, .rx_buf = 65600, .tx_buf = 65600, .bufs = 60 },
		  { 0 }, { 60, 60000, 65535 }, { 120, 60000, 65000 } },
		{ "a table", { .regions = 8, .tx_buf = 65600, .bufs = 60 },
		  { .piece = 1000, .indirect = true }, .tx = { 120, 26, 30000 } },
		{ NULL }
	};

	pass_each(ways);
}

#define LEGACY	BIT64(VIRTIO_F_NOTIFY_ON_EMPTY)	/* and nothing else: a header of ten bytes */

CASE_TIMED(each_feature_set_moves_frames, 60)
{
	static const struct way ways[] = {
		{ "virtio 1", { .features = F_V1, .rx_buf = 1600 },
		  { 0 }, { 200, 26, 1588 }, { 150, 26, 1514 } },
		{ "virtio 1, chains", { .features = F_V1 },
		  { .piece = 500 }, .tx = { 150, 26, 1514 } },
		{ "event index", { .features = F_V1 | F_EVENT },
		  { .piece = 500 }, .tx = { 150, 26, 1514 } },
		{ "tables, long buffers", { .features = F_V1 | F_EVENT | F_IND, .rx_buf = 65600,
					    .bufs = 32 },
		  { .piece = 4096, .split_hdr = true, .indirect = true }, { 60, 26, 65535 } },
		{ "tables, mergeable", { .features = F_V1 | F_IND | F_MRG },
		  { .piece = 500, .indirect = true }, .tx = { 150, 26, 1514 } },
		{ "all", { .features = F_V1 | F_MRG | F_EVENT | F_IND },
		  { .piece = 500, .indirect = true }, .tx = { 150, 26, 1514 } },
		{ "legacy", { .features = LEGACY, .rx_buf = 1600 },
		  { 0 }, { 200, 26, 1590 }, { 200, 26, 1514 } },
		{ "legacy, mergeable", { .features = LEGACY | F_MRG, .rx_buf = 300 },
		  { 0 }, { 200, 26, 3000 } },
		{ "legacy, mergeable, chains", { .features = LEGACY | F_MRG },
		  { .piece = 500 }, .tx = { 150, 26, 1514 } },
		{ "legacy, mergeable, tables", { .features = F_MRG | F_IND, .rx_buf = 300 },
		  { .piece = 500, .indirect = true }, { 200, 26, 3000 }, { 150, 26, 1514 } },
		{ "legacy, event index, tables", { .features = F_EVENT | F_IND },
		  { .piece = 500, .indirect = true }, .tx = { 150, 26, 1514 } },
		{ NULL }
	};

	pass_each(ways);
}

CASE(tap_without_header_moves_frames)
{
	static const struct way ways[] = {
		{ "virtio 1", { .features = F_V1 | F_NETHDR, .tap = TAP_BARE, .rx_buf = 2048 },
		  { 0 }, { 100, 26, 2000 }, { 200, 26, 3000 } },
		{ "event index", { .features = F_V1 | F_NETHDR | F_EVENT, .tap = TAP_BARE },
		  { 0 }, .tx = { 200, 26, 3000 } },
		{ "mergeable", { .features = F_V1 | F_NETHDR | F_MRG, .tap = TAP_BARE,
				 .rx_buf = 2048 },
		  { 0 }, { 100, 26, 10000 } },
		{ "legacy", { .features = F_NETHDR, .tap = TAP_BARE, .rx_buf = 2048 },
		  { 0 }, { 100, 26, 2000 }, { 200, 26, 3000 } },
		{ "legacy, mergeable", { .features = F_NETHDR | F_MRG, .tap = TAP_BARE,
					 .rx_buf = 2048 },
		  { 0 }, { 100, 26, 10000 }, { 200, 26, 3000 } },
		{ NULL }
	};

	pass_each(ways);
}

CASE(index_near_65535_wraps)
{
	static const uint16_t base[] = { 65535, 65534, 65500, 32767, 32768 };
	struct way w = { "an index", .rx = { 200, 26, 900 }, .tx = { 200, 26, 300 } };
	size_t i;

	for (i = 0; i < sizeof(base) / sizeof(*base); i++) {
		w.cfg = (struct rig_cfg){ .base = base[i], .num = 64, .rx_buf = 100 };
		pass_frames(&w);
		w.cfg.features = F_V1;
		w.cfg.rx_buf = 1600;
		pass_frames(&w);
	}
}

CASE_TIMED(each_ring_size_moves_frames, 80)
{
	unsigned int num;

	for (num = 1; num <= 32768 && !ksft_failed(); num = rig_next_num(num)) {
		struct way w = {
			"a size", { .num = num, .rx_buf = 1600 },
			.rx = { num < 16 ? 10 : 40, 26, 1514 },
			.tx = { num < 16 ? 20 : 80, 26, 1514 },
		};

		pass_frames(&w);
	}
}

KSFT_MAIN()
