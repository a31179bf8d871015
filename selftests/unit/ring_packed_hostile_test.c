// SPDX-License-Identifier: GPL-2.0
/*
 * A packed ring whose other side lies, or whose memory is gone: the errno, the
 * bounds, the place; each field read once; the order of accesses and barriers.
 */
#include "ring.h"

#include <linux/errno.h>
#include <string.h>

#include "ring_rig.h"
#include "unit.h"

/*
 * A driver that makes available again what it did not get back: no more than a
 * ring is fetched, or given back, or un-fetched.
 */
CASE(packed_more_than_the_ring_has)
{
	static const struct kvnet_used used[] = {
		{ .id = 1, .count = 2 }, { .id = 1, .count = 2 },
	};
	unsigned int i, n, first;

	for (i = 0; i < 4 * 8; i++) {
		struct rig_cfg cfg = {
			.packed = true, .num = 3, .event_idx = i & 1,
			.base = i / 4 % 3 | (i & 2) << 14,
		};
		struct rig *g = rig_new(&cfg);
		kvnet_ring_pos_t pos;

		first = i % 3;
		unit_context("base %x, event_idx %d", cfg.base, cfg.event_idx);
		for (n = 0; n < first; n++) {
			rig_offer(g, 0);
			EXPECT_EQ(rig_next(g), 1);
		}
		pos = kvnet_ring_pos(&g->ring);
		for (; n < 3; n++) {
			rig_offer(g, 0);
			EXPECT_EQ(rig_next(g), 1);
		}
		rig_offer(g, 0);
		EXPECT_EQ(rig_next(g), -EINVAL);
		EXPECT_EQ(kvnet_ring_put(&g->ring, used, 2), -EINVAL);
		EXPECT_TRUE(!rig_is_used(g, cfg.base));
		kvnet_ring_rewind(&g->ring, pos);
		kvnet_ring_pending(&g->ring);
		EXPECT_TRUE(kvnet_ring_kick_on(&g->ring) >= 0);
		EXPECT_TRUE((rig_device_event(g) & 0x7fff) < cfg.num);
		EXPECT_TRUE(rig_next(g) >= 0);
		kvnet_ring_pending(&g->ring);
		EXPECT_EQ(kvnet_ring_put(&g->ring, used, 1), 0);
		EXPECT_EQ(shim_outside(), 0);
		rig_free(g);
	}
}

/* A base that is not in the ring. */
CASE(packed_base_out_of_the_ring)
{
	static const u32 bases[] = {
		0x80058005, 0x80058000, 0x80008005, 0xffffffff, 0x00050005,
		0x7fff7fff, 0x8005, 0x7fff, 0x80007fff,
	};
	struct rig_cfg cfg = {
		.packed = true, .num = 5, .base = RIG_PACKED_NEW,
	};
	struct rig *g = rig_new(&cfg);
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(bases); i++) {
		unit_context("base %x", bases[i]);
		kvnet_ring_base_set(&g->ring, bases[i]);
		EXPECT_EQ(kvnet_ring_start(&g->ring), -EINVAL);
	}
	EXPECT_EQ(shim_outside(), 0);
	rig_restart(g, 0x80048004);
	EXPECT_EQ(rig_next(g), 0);
	rig_free(g);
}

/* What has been read is destroyed at once: nothing may be read again. */
CASE(packed_reads_each_field_once)
{
	struct rig *g = rig_good(true, false, 0);
	struct rig_watch w;
	unsigned int i;

	rig_watch(&w);
	g->poison = true;
	w.poison = true;
	/* the flags are looked at first, and may be copied with the rest */
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 2);
	EXPECT_EQ(g->chain.n_out, 2);
	EXPECT_EQ(g->chain.n_in, 1);
	EXPECT_EQ(g->chain.seg[1].len, 21);
	EXPECT_EQ(w.accesses, 4);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 3);
	EXPECT_EQ(g->chain.n_in, 40);
	for (i = 0; i < 40; i++)
		EXPECT_EQ(g->chain.seg[i].addr, i);
	EXPECT_EQ(w.accesses, 6);
	rig_free(g);

	g = rig_good(true, false, 0);
	rig_driver_event(g, 0, 0);
	rig_watch(&w);
	w.poison = true;
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	EXPECT_TRUE(w.accesses <= 2);
	rig_watch(&w);
	EXPECT_TRUE(kvnet_ring_pending(&g->ring));
	EXPECT_EQ(w.accesses, 1);
	rig_free(g);
}

#define FLAGS_OF(g, i)	((g)->desc + 16 * (i) + 14)

/* Barrier A: the flags of the first, then the barrier, then all else. */
CASE(packed_order_of_next)
{
	struct rig *g = rig_good(true, false, 0);
	struct rig_watch w;
	int flags, rest;

	rig_watch(&w);
	EXPECT_EQ(rig_next(g), 1);
	flags = rig_first(&w, false, FLAGS_OF(g, 4), 2);
	rest = rig_first(&w, false, g->desc + 16 * 4, 14);
	EXPECT_TRUE(flags >= 0 && flags < rest);
	EXPECT_TRUE(rig_barrier(&w, SHIM_RMB, flags, rest));
	rest = rig_first(&w, false, g->desc + 16 * 5, 16);
	EXPECT_TRUE(rig_barrier(&w, SHIM_RMB, flags, rest));
	rest = rig_first(&w, false, g->desc, 16);
	EXPECT_TRUE(rig_barrier(&w, SHIM_RMB, flags, rest));
	/* and so it is with the next chain: another barrier */
	rig_watch(&w);
	EXPECT_EQ(rig_next(g), 1);
	flags = rig_first(&w, false, FLAGS_OF(g, 1), 2);
	rest = rig_first(&w, false, g->desc + 16, 14);
	EXPECT_TRUE(rig_barrier(&w, SHIM_RMB, flags, rest));
	rig_free(g);
}

/* Barrier B: all of it, then the barrier, then the flags of the first. */
CASE(packed_order_of_put)
{
	static const struct kvnet_used used[] = {
		{ .id = 1, .count = 1, .len = 5 },
		{ .id = 2, .count = 2, .len = 6 },
		{ .id = 3, .count = 1, .len = 7 },
	};
	struct rig *g = rig_good(true, false, 0);
	struct rig_watch w;
	unsigned int i;
	int shown, last;

	rig_watch(&w);
	EXPECT_EQ(kvnet_ring_put(&g->ring, used, 3), 0);
	shown = rig_first(&w, true, FLAGS_OF(g, 4), 2);
	EXPECT_TRUE(shown >= 0);
	EXPECT_EQ(shown, rig_last(&w, true, FLAGS_OF(g, 4), 2));
	for (i = 0; i < 6; i++) {
		last = rig_last(&w, true, g->desc + 16 * i, i == 4 ? 14 : 16);
		EXPECT_TRUE(last < shown);
		if (last >= 0)
			EXPECT_TRUE(rig_barrier(&w, SHIM_WMB, last, shown));
	}
	/* the third is where the second's descriptors end */
	EXPECT_TRUE(rig_last(&w, true, g->desc + 16 * 1, 16) >= 0);
	EXPECT_EQ(rig_last(&w, true, g->desc, 16), -1);
	rig_free(g);
}

/* Barriers C and E: place, flags, full barrier, second look. */
CASE(packed_order_of_kick_on)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct rig *g = rig_good(true, i, 0);
		struct rig_watch w;
		int where, flags, look;

		rig_watch(&w);
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 1);
		where = rig_last(&w, true, g->used, 2);
		flags = rig_last(&w, true, g->used + 2, 2);
		look = rig_first(&w, false, FLAGS_OF(g, 4), 2);
		EXPECT_TRUE(flags >= 0 && look >= 0);
		EXPECT_TRUE(rig_barrier(&w, SHIM_MB, flags, look));
		if (where >= 0 && where != flags)
			EXPECT_TRUE(rig_barrier(&w, SHIM_WMB, where, flags));
		rig_free(g);
	}
}

/* Barriers D and F: flags of the used one, full barrier, flags, place. */
CASE(packed_order_of_should_call)
{
	struct rig *g = rig_good(true, true, 0);
	struct rig_watch w;
	int shown, flags, where;

	rig_driver_event(g, 0x8000, 2);
	kvnet_ring_should_call(&g->ring);
	rig_watch(&w);
	EXPECT_EQ(rig_put(g, 0, 0), 0);
	kvnet_ring_should_call(&g->ring);
	shown = rig_last(&w, true, FLAGS_OF(g, 4), 2);
	flags = rig_first(&w, false, g->avail + 2, 2);
	where = rig_first(&w, false, g->avail, 2);
	EXPECT_TRUE(shown >= 0 && flags >= 0 && where >= 0);
	EXPECT_TRUE(rig_barrier(&w, SHIM_MB, shown, flags));
	if (where != flags)
		EXPECT_TRUE(rig_barrier(&w, SHIM_RMB, flags, where));
	rig_free(g);
}

/* All descriptors go on: each is read once, and the first not again. */
CASE(packed_loop_ends_with_the_ring)
{
	static const u32 nums[] = { 1, 2, 3, 8 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(nums); i++) {
		struct rig_cfg cfg = {
			.packed = true, .num = nums[i], .base = RIG_PACKED_NEW,
		};
		struct rig *g = rig_new(&cfg);
		struct rig_watch w;

		unit_context("%u descriptors", cfg.num);
		for (k = 0; k < cfg.num; k++)
			rig_packed(g, k, k, 1, k, F_NEXT | F_AVAIL);
		rig_watch(&w);
		EXPECT_EQ(rig_next(g), -ELOOP);
		shim_hook(NULL, NULL);
		/* the flags of the first are looked at before */
		EXPECT_EQ(w.accesses, 1 + cfg.num);
		rig_free(g);
	}
}

/* A table that cannot be read is none, and the ring stays where it was. */
CASE(packed_table_is_not_there)
{
	struct rig *g = rig_good(true, false, 0);
	kvnet_ring_pos_t pos;

	EXPECT_EQ(rig_next(g), 1);
	pos = kvnet_ring_pos(&g->ring);
	g->read_error = -EFAULT;
	EXPECT_EQ(rig_next(g), -EFAULT);
	EXPECT_EQ(kvnet_ring_pos(&g->ring), pos);
	g->read_error = -EAGAIN;
	EXPECT_EQ(rig_next(g), -EAGAIN);
	EXPECT_EQ(kvnet_ring_pos(&g->ring), pos);
	g->read_error = 0;
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.n_in, 40);
	rig_free(g);
}

/* A ring does not start without the descriptors that it will begin with. */
CASE(packed_start_without_descriptors)
{
	unsigned int gone;

	for (gone = 0; gone < 2; gone++) {
		struct rig *g = rig_good(true, false, 0);

		unit_context("area %u", gone);
		shim_reset();
		shim_window(gone == 0 ? NULL : g->desc, rig_desc_bytes(&g->cfg));
		shim_window(g->avail, rig_avail_bytes(&g->cfg));
		shim_window(gone == 1 ? NULL : g->used, rig_used_bytes(&g->cfg));
		EXPECT_EQ(kvnet_ring_start(&g->ring), -EFAULT);
		rig_free(g);
	}
}
