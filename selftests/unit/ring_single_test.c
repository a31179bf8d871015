// SPDX-License-Identifier: GPL-2.0
/*
 * The fast path for receive buffers: it pops chains of one writable descriptor, whatever
 * other flags it has, and nothing else; and the ring is where next() would have left it.
 */
#include "ring.h"

#include "ring_rig.h"
#include "unit.h"

#define ALL_PACKED	(F_AVAIL | F_USED | F_NEXT | F_INDIRECT)
#define ALL_SPLIT	(F_NEXT | F_INDIRECT)

CASE(single_is_what_has_no_other)
{
	static const struct { u16 flags; bool want; } rows[] = {
		{ 0, true },
		{ VRING_DESC_F_WRITE, true },
		{ VRING_DESC_F_NEXT, false },
		{ VRING_DESC_F_INDIRECT, false },
		{ VRING_DESC_F_NEXT | VRING_DESC_F_INDIRECT | VRING_DESC_F_WRITE, false },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct kvnet_desc d = { .flags = rows[i].flags };

		unit_context("row %u", i);
		EXPECT_EQ(kvnet_chain_desc_is_single(&d), rows[i].want);
	}
}

/* The buffer @i, of 100 + @i bytes, with these flags. */
static void show(struct rig *g, u16 i, u16 flags)
{
	if (g->cfg.packed) {
		rig_show(g, 0x1000 * i, 100 + i, 7 * i, flags);
		return;
	}
	rig_desc(g, i, 0x1000 * i, 100 + i, flags, 0);
	rig_offer(g, i);
}

/* A pinned ring of 8, of which the first buffer has been fetched. */
static struct rig *first_fetched(bool packed, bool be, u16 flags)
{
	struct rig_cfg cfg = {
		.num = 8, .packed = packed, .be = be, .pinned = true,
		.base = packed ? RIG_PACKED_NEW | 6 : 2,	/* read ahead to its end */
	};
	struct rig *g = rig_new(&cfg);
	u16 i;

	show(g, 0, F_WRITE);
	for (i = 1; i < 4; i++)
		show(g, i, i == 2 ? flags : F_WRITE);
	EXPECT_EQ(rig_next(g), 1);
	return g;
}

static void expect_popped(u16 flags, bool packed, bool be, unsigned int want)
{
	struct rig *g = first_fetched(packed, be, flags);
	u32 base = kvnet_ring_base_get(&g->ring);
	struct kvnet_used used[4];
	struct kvnet_seg seg[4];
	unsigned int i, n;

	unit_context("flags 0x%x, packed %d, be %d", flags, packed, be);
	n = kvnet_ring_next_single(&g->ring, seg, used, 4, 250);
	EXPECT_EQ(n, want);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(seg[i].addr, 0x1000 * (i + 1));
		EXPECT_EQ(seg[i].len, 101 + i);
		EXPECT_EQ(used[i].id, packed ? 7 * (i + 1) : i + 1);
		EXPECT_EQ(used[i].len, i == 2 ? 250 - 101 - 102 : seg[i].len);
		EXPECT_EQ(used[i].count, 1);
	}
	EXPECT_EQ(kvnet_ring_base_get(&g->ring) & 0xffff,
		  rig_step(g, base & 0xffff, n));
	if (packed)
		EXPECT_EQ(g->ring.n_in_flight, 1 + n);
	EXPECT_EQ(shim_outside(), 0);
	rig_free(g);
}

static void each_flag(bool packed, bool be)
{
	u16 known = packed ? ALL_PACKED : ALL_SPLIT, bit;
	unsigned int i;

	for (i = 0; i < 16; i++) {
		bit = 1 << i;
		if (packed && bit & (F_AVAIL | F_USED))
			continue;
		/* one that the specification knows nothing of has no meaning */
		expect_popped(F_WRITE | bit, packed, be, bit & known ? 1 : 3);
	}
	expect_popped(F_WRITE | (u16)~known, packed, be, 3);
	expect_popped(0, packed, be, 1);
	expect_popped((u16)~(known | F_WRITE), packed, be, 1);
}

CASE(single_flags_of_a_split_ring)
{
	each_flag(false, false);
	each_flag(false, true);
}

CASE_ROW(single_flags_of_a_packed_ring, each_flag(true, false))

/* As many as there may be, and as long as there is a byte left. */
static void bounds(bool packed)
{
	struct kvnet_used used[4];
	struct kvnet_seg seg[4];
	unsigned int max, n;
	struct rig *g;
	size_t len;

	for (max = 0; max < 5; max++) {
		for (len = 0; len < 400; len++) {
			g = first_fetched(packed, false, F_WRITE);
			n = kvnet_ring_next_single(&g->ring, seg, used, max, len);
			EXPECT_EQ(n, min_t(unsigned int, max, !!len +
					   (len > 101) + (len > 203)));
			rig_free(g);
		}
	}
}

CASE(single_bounds)
{
	bounds(false);
	bounds(true);
}

/* In a ring that is not pinned nothing is easy, and nothing is read for it. */
CASE(single_of_a_ring_that_is_not_pinned)
{
	struct rig_cfg cfg = { .num = 8 };
	struct kvnet_used used;
	struct kvnet_seg seg;
	struct rig_watch w;
	unsigned int i, k;
	struct rig *g;

	for (i = 0; i < 2; i++) {
		cfg.packed = i;
		cfg.base = i ? RIG_PACKED_NEW : 0;
		g = rig_new(&cfg);
		for (k = 0; k < 4; k++)
			show(g, k, F_WRITE);
		EXPECT_EQ(rig_next(g), 1);
		rig_watch(&w);
		EXPECT_EQ(kvnet_ring_next_single(&g->ring, &seg, &used, 1, 1), 0);
		EXPECT_EQ(w.accesses, 0);
		shim_hook(NULL, NULL);
		EXPECT_EQ(rig_next(g), 1);
		rig_free(g);
	}
}

/* One after the other, past what is read ahead and past the end of the ring. */
CASE(single_reads_ahead)
{
	struct rig_cfg cfg = { .num = 256, .pinned = true, .base = 200 };
	struct rig *g = rig_new(&cfg);
	struct kvnet_used used;
	struct kvnet_seg seg;
	unsigned int i;

	EXPECT_EQ(kvnet_ring_next_single(&g->ring, &seg, &used, 1, 1), 0);
	for (i = 0; i < 256; i++)
		show(g, i, F_WRITE);
	for (i = 0; i < 256; i++) {
		EXPECT_EQ(kvnet_ring_next_single(&g->ring, &seg, &used, 1, 1), 1);
		EXPECT_EQ(used.id, i);
	}
	EXPECT_EQ(kvnet_ring_next_single(&g->ring, &seg, &used, 1, 1), 0);
	EXPECT_EQ(rig_next(g), 0);
	rig_free(g);
}

/* What is wrong with the index is for next() to tell; and nothing is read for the rest. */
CASE(single_reads_no_lie)
{
	struct rig_cfg cfg = { .num = 8, .pinned = true };
	struct rig *g = rig_new(&cfg);
	struct kvnet_used used;
	struct kvnet_seg seg;
	unsigned int i;

	for (i = 0; i < 9; i++)
		show(g, i % 8, F_WRITE);
	EXPECT_EQ(kvnet_ring_next_single(&g->ring, &seg, &used, 1, 1), 0);
	EXPECT_EQ(rig_next(g), -EINVAL);
	rig_free(g);
}

/* The entries after the index that says that they are there (pair A of ordering.rst). */
CASE(single_barrier_of_a_split_ring)
{
	struct rig_cfg cfg = { .num = 8, .pinned = true };
	struct rig *g = rig_new(&cfg);
	unsigned int i, barriers = 0;
	struct kvnet_used used;
	struct kvnet_seg seg;
	struct rig_watch w;

	show(g, 0, F_WRITE);
	rig_watch(&w);
	EXPECT_EQ(kvnet_ring_next_single(&g->ring, &seg, &used, 1, 1), 1);
	shim_hook(NULL, NULL);
	for (i = 0; i < w.n; i++)
		barriers += w.log[i].op == SHIM_RMB || w.log[i].op == SHIM_MB;
	EXPECT_TRUE(barriers > 0);
	rig_free(g);
}

/* A driver that makes buffers available again before it has them back (2.8.1). */
CASE(single_no_more_than_the_packed_ring_has)
{
	struct rig_cfg cfg = {
		.num = 4, .packed = true, .pinned = true, .base = RIG_PACKED_NEW,
	};
	struct kvnet_used used[8];
	struct kvnet_seg seg[8];
	unsigned int out, i;
	struct rig *g;

	for (out = 0; out <= 4; out++) {
		g = rig_new(&cfg);
		for (i = 0; i < 4; i++)
			show(g, i, F_WRITE);
		for (i = 0; i < out; i++)
			EXPECT_EQ(rig_next(g), 1);
		/* in the place of those that it has not got back, a lap on */
		for (i = 0; i < out; i++)
			show(g, i, F_WRITE);
		EXPECT_EQ(kvnet_ring_next_single(&g->ring, seg, used, 8, 4000),
			  4 - out);
		EXPECT_EQ(g->ring.n_in_flight, 4);
		EXPECT_EQ(kvnet_ring_next_single(&g->ring, seg, used, 8, 4000), 0);
		EXPECT_EQ(g->ring.n_in_flight, 4);
		rig_free(g);
	}
}

/*
 * Accesses of a pinned ring are not seen by the rig, but barriers are: one between the
 * flags and the rest of each descriptor that is taken (pair A of ordering.rst).
 */
CASE(single_barriers_of_a_packed_ring)
{
	struct rig *g = first_fetched(true, false, F_WRITE);
	unsigned int i, n, barriers = 0;
	struct kvnet_used used[4];
	struct kvnet_seg seg[4];
	struct rig_watch w;

	rig_watch(&w);
	n = kvnet_ring_next_single(&g->ring, seg, used, 3, 4000);
	shim_hook(NULL, NULL);
	EXPECT_EQ(n, 3);
	for (i = 0; i < w.n; i++)
		barriers += w.log[i].op == SHIM_RMB || w.log[i].op == SHIM_MB;
	EXPECT_TRUE(barriers >= n);
	rig_free(g);
}
