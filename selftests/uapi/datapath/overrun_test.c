// SPDX-License-Identifier: GPL-2.0
/*
 * Receive buffers that are too few or too many for a frame: which frames are
 * dropped, which wait, and that the queue goes on with the next one.
 *
 * @again: packed slow
 * @skip: (uapi|test)-.* | .*: a split ring has a power .* | tried in its run with packed rings
 */
#include <stdlib.h>
#include <unistd.h>

#include "pin_rig.h"
#include "rig.h"

static struct rig rig;

static long counter(const char *name)
{
	return strtol(ring_is(&rig, name), NULL, 10);
}

static void post(unsigned int n, const struct shape *shape)
{
	ASSERT_EQ(rig_rx_post(&rig, n, shape), n);
	vdev_kick(&rig.v.q[VDEV_RX]);
}

/* A buffer of more pieces than the device takes, in a new ring. */
static void show_endless_buffer(unsigned int n)
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

/* The driver broke a rule, and no frame had a part in it. */
CASE(frame_survives_a_chain_that_is_too_long)
{
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
	rig_inject(&rig, 7, 100);
	rig_inject(&rig, 8, 900);
	show_endless_buffer(1500);
	EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_RX].err, 3000));
	if (!vdev_is_vhost()) {
		EXPECT_EQ(counter("kvnet.rx.broken"), 1);
		EXPECT_EQ(counter("kvnet.rx.drop_oversize"), 0);
	}
	rig_stop(&rig);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	post(16, NULL);
	rig_rx_expect(&rig, 7, 100);
	rig_rx_expect(&rig, 8, 900);
}

/* Chain after chain as good as any, but more pieces than the device takes for a frame. */
CASE(frame_of_too_many_pieces_is_dropped)
{
	const struct shape table = { .piece = 16, .indirect = true };
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net breaks");
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 1024 });
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		post(40, &table);
		rig_inject(&rig, 10 * i, 16 * 1024 - rig.v.hdr_len);
		rig_rx_expect(&rig, 10 * i, 16 * 1024 - rig.v.hdr_len);
		EXPECT_EQ(rig.rx_bufs, 16);
		rig_inject(&rig, 10 * i + 1, 17 * 1024);
		rig_inject(&rig, 10 * i + 2, 60);
		rig_rx_expect(&rig, 10 * i + 2, 60);
		EXPECT_EQ(counter("kvnet.rx.drop_oversize"), i + 1);
		EXPECT_EQ(counter("kvnet.rx.broken"), 0);
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
	EXPECT_EQ(counter("kvnet.rx.drop_oversize"), 0);
}

/* All that fits: the driver cannot add another buffer.  Returns how many more. */
static unsigned int post_all(const struct shape *shape)
{
	unsigned int n = rig_rx_post(&rig, rig.cfg.bufs, shape);

	vdev_kick(&rig.v.q[VDEV_RX]);
	return n;
}

/*
 * A frame longer than all the buffers that there can be: it is dropped, and the
 * next one arrives.  One that just fits arrives, too.
 */
static void too_long_for_the_ring(unsigned int num, const struct shape *shape)
{
	unsigned int n, round;
	uint32_t room;

	open_small(num);
	n = post_all(shape);
	room = n * BUF - rig.v.hdr_len;
	for (round = 0; round < 3 && !ksft_failed(); round++) {
		rig_inject(&rig, round, room);
		rig_rx_expect(&rig, round, room);
		EXPECT_EQ(rig.rx_bufs, n);
		EXPECT_EQ(post_all(shape), n);
		rig_inject(&rig, 100, room + 1);
		rig_inject(&rig, 200 + round, 60);
		rig_rx_expect(&rig, 200 + round, 60);
		EXPECT_EQ(counter("kvnet.rx.drop_oversize"), round + 1);
		EXPECT_EQ(post_all(shape), 1);
	}
	rig_close(&rig);
}

CASE(longer_than_a_ring_of_chains)
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

CASE(longer_than_an_odd_ring_of_chains)
{
	const struct shape two = { .piece = BUF / 2 };

	if (!(vdev_layout(F_V1) & F_PACKED))
		ksft_skip("a split ring has a power of two");
	too_long_for_the_ring(15, NULL);
	too_long_for_the_ring(15, &two);
}

/* The driver may still give what is missing. */
CASE(waits_for_the_rest_of_the_ring)
{
	const struct shape two = { .piece = BUF / 2 };
	uint32_t room;
	long waits;
	unsigned int i;

	open_small(16);
	room = 8 * BUF - rig.v.hdr_len;
	for (i = 0; i < 2; i++) {
		waits = counter("kvnet.rx.no_buf");
		post(7, &two);
		rig_inject(&rig, i, room + i);
		EXPECT(WAIT_FOR(3000, counter("kvnet.rx.no_buf") >
				waits));
		EXPECT_EQ(counter("kvnet.rx.drop_oversize"), 0);
		EXPECT(!gr_used_pending(&rig.v.q[VDEV_RX].ring));
		post(1, &two);
		if (!i)
			not_dropped(i, room);
	}
	rig_inject(&rig, 9, 60);
	rig_rx_expect(&rig, 9, 60);
	EXPECT_EQ(counter("kvnet.rx.drop_oversize"), 1);
}

/* What is missing may come in chains as short as the shortest, wherever that one was. */
CASE(waits_for_what_the_shortest_leaves_room_for)
{
	const struct shape three = { .piece = BUF / 3 };
	uint32_t room;

	open_small(16);
	room = 8 * BUF - rig.v.hdr_len;
	post(1, NULL);
	post(4, &three);
	post(1, NULL);
	rig_inject(&rig, 1, room);
	EXPECT(WAIT_FOR(3000, counter("kvnet.rx.no_buf") > 0 ||
			counter("kvnet.rx.drop_oversize") > 0));
	post(2, NULL);
	not_dropped(1, room);
}

/* Nor does it count as taken for ever what a frame before has filled. */
CASE(waits_for_what_another_frame_holds)
{
	const struct shape two = { .piece = BUF / 2 };
	uint32_t room;

	open_small(16);
	room = 8 * BUF - rig.v.hdr_len;
	rig_inject(&rig, 1, 60);
	rig_inject(&rig, 2, room);
	post(8, &two);
	not_dropped(1, 60);
	post(1, &two);
	not_dropped(2, room);
}

KSFT_MAIN()
