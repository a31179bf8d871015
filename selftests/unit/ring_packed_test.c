// SPDX-License-Identifier: GPL-2.0
/* The verbs of a packed ring, each by hand; virtio 1.3, 2.8. */
#include "ring.h"

#include <linux/errno.h>
#include <string.h>

#include "ring_rig.h"
#include "unit.h"

static const struct rig_cfg plain = {
	.packed = true, .num = 5, .base = RIG_PACKED_NEW,
};

CASE(packed_area_sizes)
{
	struct kvnet_ring r = { .packed = true };
	unsigned int i;

	for (i = 0; i < 2; i++) {
		r.event_idx = i;
		for (r.num = 1; r.num <= KVNET_RING_MAX; r.num += 1 + r.num / 2) {
			EXPECT_EQ(kvnet_ring_desc_size(&r), 16 * r.num);
			EXPECT_EQ(kvnet_ring_avail_size(&r), 4);
			EXPECT_EQ(kvnet_ring_used_size(&r), 4);
		}
	}
}

/* A VMM that tells no base, and is asked for one before the start: it is the beginning, too. */
CASE(packed_base_not_set)
{
	struct rig *g = rig_new(&plain);
	u32 base;

	kvnet_ring_base_set(&g->ring, 0);
	g->ring.base_valid = false;
	base = kvnet_ring_base_get(&g->ring);
	rig_restart(g, base);
	rig_show(g, 4096, 1, 0, F_WRITE);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(base, RIG_PACKED_NEW | (u32)RIG_PACKED_NEW << 16);
	rig_free(g);
}

/* There, and back again, more than a lap; each byte of what is used. */
CASE(packed_one_by_one)
{
	unsigned int i, k;

	for (i = 0; i < RIG_WAYS; i++) {
		struct rig_cfg cfg = rig_way(i, true);
		struct rig *g = rig_new(&cfg);
		u16 place = cfg.base;

		for (k = 0; k < min_t(u32, cfg.num, 20) * 3; k++) {
			u32 pos = place & 0x7fff, len = k % 3 ? unit_rand() : 0;
			u64 addr = (u64)unit_rand() << 32 | unit_rand();
			struct rig_packed d;

			rig_show(g, addr, k + 1, k % cfg.num, F_WRITE);
			EXPECT_TRUE(kvnet_ring_pending(&g->ring));
			EXPECT_EQ(rig_next(g), 1);
			EXPECT_EQ(g->chain.id, k % cfg.num);
			EXPECT_EQ(g->chain.count, 1);
			EXPECT_EQ(g->chain.n_out, 0);
			EXPECT_EQ(g->chain.n_in, 1);
			EXPECT_EQ(g->chain.seg[0].addr, addr);
			EXPECT_EQ(g->chain.seg[0].len, k + 1);
			EXPECT_EQ(rig_next(g), 0);
			EXPECT_TRUE(!kvnet_ring_pending(&g->ring));
			EXPECT_TRUE(!rig_is_used(g, place));

			EXPECT_EQ(rig_put_chain(g, len), 0);
			d = rig_packed_at(g, pos);
			EXPECT_TRUE(rig_is_used(g, place));
			EXPECT_EQ(d.id, k % cfg.num);
			/* 2.8.4: no length without WRITE */
			EXPECT_EQ(!!(d.flags & F_WRITE), len > 0);
			if (len)
				EXPECT_EQ(d.len, len);
			place = rig_step(g, place, 1);
			EXPECT_EQ(kvnet_ring_base_get(&g->ring),
				  rig_base(&cfg, place));
		}
		EXPECT_EQ(shim_outside(), 0);
		rig_free(g);
	}
}

/* 2.8.1: of the four settings of the two bits, one is available. */
CASE(packed_flags_that_are_available)
{
	unsigned int i, bits;

	for (i = 0; i < 2; i++) {
		struct rig_cfg cfg = plain;
		struct rig *g;

		cfg.base = i << 15 | 3;
		g = rig_new(&cfg);
		for (bits = 0; bits < 4; bits++) {
			u16 flags = (bits & 1 ? F_AVAIL : 0) |
				    (bits & 2 ? F_USED : 0);

			unit_context("wrap %u, flags %x", i, flags);
			rig_packed(g, 3, 1, 2, 3, flags);
			rig_restart(g, rig_base(&cfg, cfg.base));
			EXPECT_EQ(kvnet_ring_pending(&g->ring),
				  flags == rig_lap(i, false));
			EXPECT_EQ(rig_next(g), flags == rig_lap(i, false));
		}
		rig_free(g);
	}
}

/* 2.8.6: over the ring's end; the id is the last one's; odd flags mean nothing */
CASE(packed_chain)
{
	struct rig_cfg cfg = plain;
	struct rig *g;
	u16 place;

	cfg.base = 0x8003;
	g = rig_new(&cfg);
	rig_show(g, 0, 0, 0xffff, F_NEXT | 0x7f78);
	rig_show(g, U64_MAX, U32_MAX, 77, F_NEXT);
	rig_show(g, 1, 0, 0, F_NEXT | F_WRITE);
	rig_show(g, 3, 4, 2, F_WRITE | 0x7f78);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 2);
	EXPECT_EQ(g->chain.count, 4);
	EXPECT_EQ(g->chain.n_out, 2);
	EXPECT_EQ(g->chain.n_in, 2);
	EXPECT_EQ(g->chain.seg[0].len, 0);
	EXPECT_EQ(g->chain.seg[1].addr, U64_MAX);
	EXPECT_EQ(g->chain.seg[1].len, U32_MAX);
	EXPECT_EQ(g->chain.seg[3].addr, 3);
	EXPECT_EQ(rig_next(g), 0);
	place = rig_step(g, 0x8003, 4);
	EXPECT_EQ(place, 2);
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), 0x80030002);
	/* one used descriptor, then a jump over all of them */
	EXPECT_EQ(rig_put_chain(g, 4), 0);
	EXPECT_TRUE(rig_is_used(g, 0x8003));
	EXPECT_EQ(rig_packed_at(g, 3).id, 2);
	EXPECT_TRUE(!rig_is_used(g, 0x8004));
	EXPECT_TRUE(!rig_is_used(g, 0));
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), 0x00020002);
	rig_show(g, 5, 6, 1, 0);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(rig_put_chain(g, 0), 0);
	EXPECT_TRUE(rig_is_used(g, 2));
	rig_free(g);
}

/* What comes after the head is not asked whether it is available. */
CASE(packed_only_the_head_is_asked)
{
	struct rig *g = rig_new(&plain);

	rig_packed(g, 1, 20, 2, 4, F_AVAIL | F_USED);
	rig_packed(g, 0, 10, 1, 0, F_NEXT | F_AVAIL);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.n_out, 2);
	EXPECT_EQ(g->chain.id, 4);
	rig_free(g);
}

/* 2.8.7: entries in order to the end; no flag but WRITE, no id means a thing */
CASE(packed_indirect)
{
	struct rig_cfg cfg = plain;
	unsigned int i, n;

	for (n = 1; n <= 40; n += 13) {
		struct rig *g = rig_new(&cfg);

		for (i = 0; i < n; i++)
			rig_packed(g, 0, 0, 0, 0, 0);
		for (i = 0; i < n; i++)
			rig_table(g, i, 100 + i, 1000 + i, 0xffff - i,
				  (i >= n / 2 ? F_WRITE : 0) |
				  (unit_rand() & (u16)~F_WRITE));
		/* of the one that refers to it WRITE is ignored */
		rig_show(g, RIG_GPA, 16 * n, 3, F_INDIRECT | F_WRITE);
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(g->chain.id, 3);
		EXPECT_EQ(g->chain.count, 1);
		EXPECT_EQ(g->chain.n_out, n / 2);
		EXPECT_EQ(g->chain.n_in, n - n / 2);
		for (i = 0; i < n; i++) {
			EXPECT_EQ(g->chain.seg[i].addr, 100 + i);
			EXPECT_EQ(g->chain.seg[i].len, 1000 + i);
		}
		rig_free(g);
	}
}

/* Stop and go on elsewhere, with some of them not given back. */
CASE(packed_stop_and_restart)
{
	struct rig_cfg cfg = plain;
	struct rig *g;
	u32 base;
	unsigned int i;

	cfg.base = 0x8003;
	g = rig_new(&cfg);
	for (i = 0; i < 5; i++)
		rig_offer(g, i);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(rig_put(g, 1, 0), 0);
	base = kvnet_ring_base_get(&g->ring);
	EXPECT_EQ(base, 0x80040001);

	memset(&g->ring, 0x77, offsetof(struct kvnet_ring, num));
	rig_restart(g, base);
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), base);
	EXPECT_EQ(rig_device_event_flags(g), 1);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 3);
	EXPECT_EQ(rig_put(g, 0, 0), 0);
	EXPECT_TRUE(rig_is_used(g, 0x8004));
	EXPECT_EQ(rig_packed_at(g, 4).id, 0);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 4);
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), 0x00000003);
	rig_free(g);
}

/* What DPDK says of a new ring: nothing of where it was used. */
CASE(packed_short_base)
{
	struct rig *g = rig_new(&plain);

	rig_restart(g, 0x8000);
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), 0x80008000);
	rig_offer(g, 2);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(rig_put_chain(g, 0), 0);
	EXPECT_TRUE(rig_is_used(g, 0x8000));
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), 0x80018001);
	rig_free(g);
}

/*
 * 2.7.9, 2.8.8: one entry for a batch, at the place of the first, with the id of
 * the last; what has not been filled cannot be skipped.
 */
CASE(in_order_batches)
{
	struct kvnet_used used[] = {
		{ .id = 0, .len = 0, .count = 1, .skippable = 1 },
		{ .id = 1, .len = 9, .count = 1, .skippable = 1 },
		{ .id = 2, .len = 5, .count = 1, .skippable = 0 },
		{ .id = 3, .len = 4, .count = 1, .skippable = 0 },
		{ .id = 4, .len = 7, .count = 1, .skippable = 1 },
		{ .id = 5, .len = 8, .count = 1, .skippable = 1 },
	};
	struct rig_cfg cfg = { .num = 8, .in_order = true, .base = 6 };
	struct rig *g = rig_new(&cfg);

	EXPECT_EQ(kvnet_ring_put(&g->ring, used, 6), 0);
	EXPECT_EQ(rig_used_idx(g), 12);
	EXPECT_EQ(rig_used(g, 6).id, 2);
	EXPECT_EQ(rig_used(g, 6).len, 5);
	EXPECT_EQ(rig_used(g, 9).id, 3);
	EXPECT_EQ(rig_used(g, 9).len, 4);
	EXPECT_EQ(rig_used(g, 10).id, 5);
	EXPECT_EQ(rig_used(g, 10).len, 8);
	rig_free(g);

	used[1].count = 2;
	cfg.packed = true;
	cfg.base = 0x8006;
	g = rig_new(&cfg);
	EXPECT_EQ(kvnet_ring_put(&g->ring, used, 6), 0);
	EXPECT_EQ(kvnet_ring_base_get(&g->ring) >> 16, 5);
	EXPECT_TRUE(rig_is_used(g, 0x8006));
	EXPECT_EQ(rig_packed_at(g, 6).id, 2);
	EXPECT_EQ(rig_packed_at(g, 6).len, 5);
	EXPECT_TRUE(!rig_is_used(g, 0x8007));
	EXPECT_TRUE(!rig_is_used(g, 0));
	EXPECT_TRUE(!rig_is_used(g, 1));
	EXPECT_TRUE(rig_is_used(g, 2));
	EXPECT_EQ(rig_packed_at(g, 2).id, 3);
	EXPECT_TRUE(rig_is_used(g, 3));
	EXPECT_EQ(rig_packed_at(g, 3).id, 5);
	EXPECT_EQ(rig_packed_at(g, 3).len, 8);
	EXPECT_TRUE(!rig_is_used(g, 4));
	rig_free(g);
}
