// SPDX-License-Identifier: GPL-2.0
/*
 * Guests that make much work out of little: packets cut into a thousand pieces,
 * one-byte receive buffers.  A turn of the worker stays short, since ioctls wait
 * for its end: no time is judged here, but how many pieces there are in a turn.
 *
 * @again: packed
 */
#include <endian.h>
#include <stdlib.h>
#include <unistd.h>

#include "pin_rig.h"
#include "rig.h"

#define PIECES	1024		/* of a packet: the most there may be */
#define TURN	(4096 + PIECES)	/* of a turn, which ends behind a packet */
#define LEN	72		/* bytes of a packet, header included */

enum order { ALONE, IN_TURN, JUMPING };

static struct rig rig;

static long counter(const char *name)
{
	return strtol(ring_is(&rig, name), NULL, 10);
}

static bool packed(void)
{
	return rig.v.features & F_PACKED;
}

static void kick(unsigned int q)
{
	uint64_t one = 1;

	ASSERT_EQ(write(rig.v.q[q].kick, &one, 8), 8);
}

/* A packet of LEN pieces of a byte, and many of none; or of one piece. */
static uint64_t make_table(enum order order)
{
	struct gr_desc *table = vdev_alloc(&rig.v, 16 * PIECES, 4096);
	uint64_t data = vdev_gpa(&rig.v, vdev_alloc(&rig.v, LEN, 16));
	unsigned int i, step = order == JUMPING ? 37 : 1;

	for (i = 0; i < PIECES; i++) {
		unsigned int at = i * step % PIECES;
		unsigned int next = (i + 1) * step % PIECES;
		uint32_t len = order == ALONE ? i ? 0 : LEN : i < LEN;

		if (packed())
			gr_raw_set_packed(&table[at], data + i % LEN, len, 0, 0);
		else
			gr_raw_set(&table[at], data + i % LEN, len,
				   i + 1 < PIECES && order != ALONE ?
				   GR_DESC_F_NEXT : 0, next);
	}
	return vdev_gpa(&rig.v, table);
}

/* All 256 buffers are the same table. */
static void fill_ring(enum order order)
{
	struct guest_ring *ring = &rig.v.q[VDEV_TX].ring;
	uint32_t len = 16 * (order == ALONE ? 1 : PIECES);
	uint64_t table = make_table(order);
	unsigned int i;

	for (i = 0; i < 256; i++) {
		if (packed())
			gr_raw_set_packed(gr_raw_desc(ring, i), table, len, i,
					  GR_DESC_F_INDIRECT | (i ?
					  gr_raw_lap(true, false) : 0));
		else
			gr_raw_set(gr_raw_desc(ring, i), table, len,
				   GR_DESC_F_INDIRECT, 0);
		if (!packed())
			gr_raw_avail(ring, i, i);
	}
}

static void show_all(unsigned int idx)
{
	struct guest_ring *ring = &rig.v.q[VDEV_TX].ring;

	if (packed())
		gr_raw_show(ring, 0, GR_DESC_F_INDIRECT |
			    gr_raw_lap(true, false));
	else
		gr_raw_avail_idx(ring, idx);
	kick(VDEV_TX);
}

/* Pieces of a turn: all of those in the ring, over the turns that it took. */
static void one_ring(enum order order, long pieces)
{
	long turns;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	fill_ring(order);
	show_all(256);
	EXPECT(WAIT_FOR(10000, counter("kvnet.tx.packets") == 256));
	/* of the last one it is not known whether it has been counted */
	turns = counter("kvnet.tx.budget_exhausted") + 1;
	ksft_note("256 packets of %ld pieces: %ld turns", pieces, turns);
	if (order == ALONE)
		EXPECT_LE(turns, 3);
	else
		EXPECT_LE(256 * pieces / turns, TURN);
	rig_close(&rig);
}

CASE_TIMED(packets_of_a_thousand_pieces, 60)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	one_ring(ALONE, 1);
	one_ring(IN_TURN, PIECES);
	one_ring(JUMPING, PIECES);
}

/* What normal guests send is not cut into more turns than before. */
CASE(packets_of_a_few_pieces)
{
	const struct shape s = { .piece = 94, .indirect = true };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < 250; i++)
		ASSERT_EQ(rig_tx(&rig, 1400, &s), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 10000);
	EXPECT_EQ(counter("kvnet.tx.packets"), 250);
	EXPECT_EQ(counter("kvnet.tx.budget_exhausted"), 0);
}

/* 72 buffers each; what is left over in the ring is no matter. */
CASE(frames_into_one_byte_buffers)
{
	const long each = 60 + 12;
	long turns;
	unsigned int i, n = 400;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ .rx_num = 32768, .bufs = 32768,
					  .tx_buf = 64, .rx_buf = 1 });
	for (i = 0; i < n; i++)
		rig_inject(&rig, i, 60);
	ASSERT_EQ(rig_rx_post(&rig, 32768, NULL), 32768);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	EXPECT(WAIT_FOR(10000, counter("kvnet.rx.packets") == n));
	turns = counter("kvnet.rx.budget_exhausted") + 1;
	ksft_note("%u frames into %ld buffers each: %ld turns", n, each, turns);
	EXPECT_LE(n * each / turns, TURN);
}

/* Nor is it nothing to pass those that have no room at all. */
CASE(frames_behind_empty_buffers)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	const unsigned int each = 64, n = 400;
	struct gr_buf b = { .write = true };
	unsigned int i;
	long turns;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ .rx_num = 32768, .bufs = 1024,
					  .tx_buf = 64, .rx_buf = 128 });
	for (i = 0; i < n; i++)
		rig_inject(&rig, i, 60);
	for (i = 0; i < each * n; i++) {
		b.ptr = q->bufs + i / each * q->buf_size;
		b.len = i % each == each - 1 ? q->buf_size : 0;
		ASSERT(gr_add(&q->ring, &b, 1, GR_ALL_DIRECT, b.ptr) >= 0);
	}
	vdev_kick_always(q);
	EXPECT(WAIT_FOR(10000, counter("kvnet.rx.packets") == n));
	turns = counter("kvnet.rx.budget_exhausted") + 1;
	ksft_note("%u frames behind %u buffers each: %ld turns", n, each - 1, turns);
	EXPECT_LE((long)n * each / turns, TURN);
	rig_close(&rig);
}

/* Each looks at all the buffers that a packet may have, in vain. */
CASE(frames_too_long_for_one_byte_buffers)
{
	unsigned int i, n = 400;
	long turns;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ .rx_num = 2048, .bufs = 2048,
					  .tx_buf = 64, .rx_buf = 1 });
	for (i = 0; i < n; i++)
		rig_inject(&rig, i, 1500);
	ASSERT_EQ(rig_rx_post(&rig, 2048, NULL), 2048);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	EXPECT(WAIT_FOR(10000, counter("kvnet.rx.drop_oversize") == n));
	turns = counter("kvnet.rx.budget_exhausted") + 1;
	ksft_note("%u frames that would not fit: %ld turns", n, turns);
	EXPECT_LE((long)n * PIECES / turns, TURN);
}

/* A buffer of a byte, and a table longer than what a frame may have, which jumps where it can. */
static void show_byte_and_table(unsigned int count)
{
	struct gr_desc *table = vdev_alloc(&rig.v, 16ul * count, 4096);
	struct guest_ring *ring = &rig.v.q[VDEV_RX].ring;
	uint64_t data = vdev_gpa(&rig.v, vdev_alloc(&rig.v, 1, 16));
	uint64_t at = vdev_gpa(&rig.v, table);
	unsigned int i;

	for (i = 0; i < count; i++)
		if (packed())
			gr_raw_set_packed(&table[i], data, 0, 0, GR_DESC_F_WRITE);
		else
			gr_raw_set(&table[i], data, 0, GR_DESC_F_WRITE |
				   GR_DESC_F_NEXT, (i + 37) % count);
	if (packed()) {
		gr_raw_set_packed(gr_raw_desc(ring, 0), data, 1, 0, 0);
		gr_raw_set_packed(gr_raw_desc(ring, 1), at, 16 * count, 1,
				  GR_DESC_F_INDIRECT | gr_raw_lap(true, false));
		gr_raw_show(ring, 0, GR_DESC_F_WRITE | gr_raw_lap(true, false));
	} else {
		gr_raw_set(gr_raw_desc(ring, 0), data, 1, GR_DESC_F_WRITE, 0);
		gr_raw_set(gr_raw_desc(ring, 1), at, 16 * count, GR_DESC_F_INDIRECT, 0);
		gr_raw_avail(ring, 0, 0);
		gr_raw_avail(ring, 1, 1);
		gr_raw_avail_idx(ring, 2);
	}
	kick(VDEV_RX);
}

/* Each looks at as much of the table as there may be of a packet, and has none of it. */
CASE(frames_before_a_table_that_is_too_long)
{
	unsigned int i, n = 400;
	long turns;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < n; i++)
		rig_inject(&rig, i, 60);
	show_byte_and_table(65536);
	EXPECT(WAIT_FOR(10000, counter("kvnet.rx.drop_oversize") == n));
	turns = counter("kvnet.rx.budget_exhausted") + 1;
	ksft_note("%u frames before a table: %ld turns", n, turns);
	EXPECT_LE((long)n * PIECES / turns, TURN);
	EXPECT_EQ(counter("kvnet.rx.broken"), 0);
	rig_close(&rig);
}

KSFT_MAIN()
