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

struct d {
	u64 addr;
	u32 len;
	u16 flags;
};

struct row {
	const char *what;
	int ret;
	struct d desc[4];	/* of a ring of 4, over its end */
	struct d table[4];
	unsigned int cap;
	u16 count;		/* if it is taken; 0: 1 */
};

#define TABLE(n) { RIG_GPA, 16 * (n), F_INDIRECT }
#define N	F_NEXT
#define W	F_WRITE

static const struct row rows[] = {
	{ "a ring without an end", -ELOOP,
	  { { 0, 1, N }, { 0, 1, N }, { 0, 1, N }, { 0, 1, N } } },
	{ "without an end, too long first", -EMSGSIZE,
	  { { 0, 1, N }, { 0, 1, N }, { 0, 1, N }, { 0, 1, N } }, .cap = 3 },
	{ "the whole ring", 1,
	  { { 0, 1, N }, { 0, 1, N }, { 0, 1, N }, { 0, 1, 0 } }, .count = 4 },
	{ "readable after writable", -EINVAL, { { 0, 1, N | W }, { 0, 1, 0 } } },
	{ "readable after readable, writable", -EINVAL,
	  { { 0, 1, N }, { 0, 1, N | W }, { 0, 1, N }, { 0, 1, W } } },
	{ "fits", 1, { { 0, 1, N }, { 0, 1, W } }, .cap = 2, .count = 2 },
	{ "too long", -EMSGSIZE, { { 0, 1, N }, { 0, 1, W } }, .cap = 1 },
	/* 2.8.19: lists are of one kind */
	{ "table and next", -EINVAL, { { RIG_GPA, 16, F_INDIRECT | N } } },
	{ "table in a list", -EINVAL, { { 0, 1, N }, TABLE(1) } },
	{ "table of nothing", -EINVAL, { { RIG_GPA, 0, F_INDIRECT } } },
	{ "table shorter than one", -EINVAL, { { RIG_GPA, 15, F_INDIRECT } } },
	{ "table of one and a bit", -EINVAL, { { RIG_GPA, 17, F_INDIRECT } } },
	{ "table too large", -EINVAL, { TABLE(65537) } },
	{ "table far too large", -EINVAL,
	  { { RIG_GPA, 0xfffffff0, F_INDIRECT } } },
	{ "table wraps", -EINVAL, { { U64_MAX - 15, 32, F_INDIRECT } } },
	{ "table at the very end", -EFAULT,
	  { { U64_MAX - 15, 16, F_INDIRECT } } },
	{ "table nowhere", -EFAULT, { { 0, 16, F_INDIRECT } } },
	{ "table half nowhere", -EFAULT,
	  { { RIG_GPA + 16 * (RIG_TABLE - 1), 32, F_INDIRECT } } },
	{ "table of one", 1, { TABLE(1) }, { { 5, 6, W } } },
	{ "table: flags that mean nothing", 1, { TABLE(2) },
	  { { 0, 1, 0xffff & ~W }, { 0, 1, 0xffff } } },
	{ "table: readable after writable", -EINVAL, { TABLE(2) },
	  { { 0, 1, W }, { 0, 1, 0 } } },
	{ "table: too long", -EMSGSIZE, { TABLE(4) }, {}, .cap = 3 },
};

static struct rig *set_row(const struct row *row, bool wrap)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 4, .cap = row->cap,
		.base = 2 | wrap << 15,
	};
	struct rig *g = rig_new(&cfg);
	const struct d *d;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		d = &row->table[i];
		rig_table(g, i, d->addr, d->len, 0xabcd, d->flags);
		d = &row->desc[i];
		rig_show(g, d->addr, d->len, 0xab00 + i, d->flags);
	}
	return g;
}

/* The documented error, again and again, and the ring stays where it was. */
CASE(packed_malformed)
{
	unsigned int i, k, count;

	for (i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i / 2];
		struct rig *g = set_row(row, i & 1);
		kvnet_ring_pos_t pos = kvnet_ring_pos(&g->ring);
		struct rig_watch w;

		unit_context("%s", row->what);
		for (k = 0; k < 3; k++) {
			rig_watch(&w);
			g->reads = 0;
			EXPECT_EQ(rig_next(g), row->ret);
			EXPECT_TRUE(w.accesses <= 1 + 4);
			EXPECT_TRUE(g->reads <= 4);
			if (row->ret == 1)
				break;
			EXPECT_EQ(kvnet_ring_pos(&g->ring), pos);
			EXPECT_EQ(kvnet_ring_base_get(&g->ring),
				  rig_base(&g->cfg, g->cfg.base));
		}
		EXPECT_EQ(shim_outside(), 0);
		if (row->ret == 1) {
			count = row->count ? row->count : 1;
			EXPECT_EQ(g->chain.count, count);
			EXPECT_EQ(g->chain.id, 0xab00 + count - 1);
		} else {	/* the driver mends its ways */
			g->avail_idx = g->cfg.base;
			rig_show(g, 77, 78, 3, 0);
			EXPECT_EQ(rig_next(g), 1);
			EXPECT_EQ(g->chain.seg[0].addr, 77);
		}
		rig_free(g);
	}
}

/* Bounded by what the ring, the table, or the caller's array has room for. */
CASE(packed_bounded_steps)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 32768, .base = RIG_PACKED_NEW,
	};
	struct rig *g = rig_new(&cfg);
	struct rig_watch w;
	unsigned int i;

	for (i = 0; i < cfg.num; i++)
		rig_show(g, 0, 0, i, F_NEXT);
	rig_watch(&w);
	EXPECT_EQ(rig_next(g), -ELOOP);
	EXPECT_TRUE(w.accesses <= 1 + cfg.num);
	g->chain.cap = 100;
	rig_watch(&w);
	EXPECT_EQ(rig_next(g), -EMSGSIZE);
	EXPECT_TRUE(w.accesses <= 1 + 101);
	rig_free(g);
}

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

static struct rig *good_ring(bool event_idx, unsigned int pieces)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 6, .event_idx = event_idx,
		.pieces = pieces, .base = 0x8004,
	};
	struct rig *g = rig_new(&cfg);
	unsigned int i;

	rig_show(g, 10, 11, 0, F_NEXT);
	rig_show(g, 20, 21, 0, F_NEXT);
	rig_show(g, 30, 31, 2, F_WRITE);
	rig_show(g, RIG_GPA, 16 * 40, 3, F_INDIRECT);
	for (i = 0; i < 40; i++)
		rig_table(g, i, i, i, 0, F_WRITE);
	return g;
}

/* What has been read is destroyed at once: nothing may be read again. */
CASE(packed_reads_each_field_once)
{
	struct rig *g = good_ring(false, 0);
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

	g = good_ring(false, 0);
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

CASE(packed_next_faults)
{
	unsigned int i;

	for (i = 0; i < 3; i++) {
		struct rig *g = good_ring(i & 1, 4 * i);
		kvnet_ring_pos_t pos = kvnet_ring_pos(&g->ring);
		struct rig_watch w;

		EACH_FAULT(w, rig_next(g), {
			EXPECT_EQ(kvnet_ring_pos(&g->ring), pos);
		});
		EXPECT_EQ(g->chain.count, 3);
		rig_free(g);
	}
}

/* Nothing is made visible, and the same put can be done again. */
CASE(packed_put_faults)
{
	static struct kvnet_used used[50];
	unsigned int i, k;

	for (i = 0; i < 4; i++) {
		struct rig_cfg cfg = {
			.packed = true, .num = 64, .base = 30,
			.pieces = i & 1 ? 20 : 0, .in_order = i & 2,
		};
		struct rig *g = rig_new(&cfg);
		struct rig_watch w;

		for (k = 0; k < 50; k++)
			used[k] = (struct kvnet_used) {
				.id = 1000 + k, .len = k + 1, .count = 1,
			};
		EACH_FAULT(w, kvnet_ring_put(&g->ring, used, 50), {
			EXPECT_TRUE(!rig_is_used(g, 30));
			EXPECT_EQ(kvnet_ring_base_get(&g->ring) >> 16, 30);
		});
		for (k = 0; k < 50; k++) {
			EXPECT_TRUE(rig_is_used(g, rig_step(g, 30, k)));
			EXPECT_EQ(rig_packed_at(g, (30 + k) % 64).id, 1000 + k);
		}
		rig_free(g);
	}
}

CASE(packed_other_faults)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct rig *g = good_ring(i & 1, i < 2 ? 0 : 9);
		struct rig_watch w;

		EACH_FAULT(w, kvnet_ring_kick_on(&g->ring), {});
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
		kvnet_ring_kick_on(&g->ring);
		rig_watch(&w);
		w.fail_at = 1;
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), i & 1 ? 0 : -EFAULT);
		EXPECT_EQ(w.accesses, !(i & 1));
		shim_hook(NULL, NULL);
		rig_driver_event(g, 0x8005, i & 1 ? 2 : 0);
		kvnet_ring_should_call(&g->ring);
		EACH_FAULT(w, kvnet_ring_should_call(&g->ring), {});
		EACH_FAULT(w, kvnet_ring_start(&g->ring), {});
		rig_watch(&w);
		w.fail_at = 1;
		EXPECT_TRUE(kvnet_ring_pending(&g->ring));
		shim_hook(NULL, NULL);
		EXPECT_EQ(rig_next(g), 1);
		rig_free(g);
	}
}

#define FLAGS_OF(g, i)	((g)->desc + 16 * (i) + 14)

/* Barrier A: the flags of the first, then the barrier, then all else. */
CASE(packed_order_of_next)
{
	struct rig *g = good_ring(false, 0);
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
	struct rig *g = good_ring(false, 0);
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
		struct rig *g = good_ring(i, 0);
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
	struct rig *g = good_ring(true, 0);
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
