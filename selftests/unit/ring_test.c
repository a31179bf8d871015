// SPDX-License-Identifier: GPL-2.0
/* The verbs of a split ring, each by hand. */
#include "ring.h"

#include <string.h>

#include "ring_rig.h"
#include "unit.h"

CASE(ring_area_sizes)
{
	struct kvnet_ring r = { 0 };

	for (r.num = 1; r.num <= KVNET_RING_MAX; r.num *= 2) {
		r.event_idx = true;
		EXPECT_EQ(kvnet_ring_desc_size(&r), 16 * r.num);
		EXPECT_EQ(kvnet_ring_avail_size(&r), 6 + 2 * r.num);
		EXPECT_EQ(kvnet_ring_used_size(&r), 6 + 8 * r.num);
		r.event_idx = false;
		EXPECT_EQ(kvnet_ring_avail_size(&r), 4 + 2 * r.num);
		EXPECT_EQ(kvnet_ring_used_size(&r), 4 + 8 * r.num);
	}
}

CASE(ring_one_chain)
{
	unsigned int i;

	for (i = 0; i < RIG_WAYS; i++) {
		struct rig_cfg cfg = rig_way(i, false);
		struct rig *g = rig_new(&cfg);
		u32 last = cfg.num - 1;

		rig_desc(g, last, 0x1122334455667788ULL, 0x99aabbcc, F_WRITE,
			 0xffff);
		rig_offer(g, last);
		EXPECT_TRUE(kvnet_ring_pending(&g->ring));
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(g->chain.id, last);
		EXPECT_EQ(g->chain.n_out, 0);
		EXPECT_EQ(g->chain.n_in, 1);
		EXPECT_EQ(g->chain.seg[0].addr, 0x1122334455667788ULL);
		EXPECT_EQ(g->chain.seg[0].len, 0x99aabbcc);
		EXPECT_TRUE(!kvnet_ring_pending(&g->ring));
		EXPECT_EQ(rig_next(g), 0);
		EXPECT_EQ(kvnet_ring_base_get(&g->ring), (u16)(cfg.base + 1));

		EXPECT_EQ(rig_put(g, last, 0x12345678), 0);
		EXPECT_EQ(rig_used_idx(g), (u16)(cfg.base + 1));
		EXPECT_EQ(rig_used(g, cfg.base).id, last);
		EXPECT_EQ(rig_used(g, cfg.base).len, 0x12345678);
		EXPECT_EQ(shim_outside(), 0);
		rig_free(g);
	}
}

/* Unknown flag bits mean nothing; a segment may be empty or span anything. */
CASE(ring_chain_of_oddities)
{
	struct rig_cfg cfg = { .num = 8 };
	struct rig *g = rig_new(&cfg);

	rig_desc(g, 5, 0, 0, F_NEXT | 0xfff8, 2);
	rig_desc(g, 2, U64_MAX, U32_MAX, F_NEXT, 7);
	rig_desc(g, 7, 1, 0, F_NEXT | F_WRITE, 0);
	rig_desc(g, 0, 3, 4, F_WRITE | 0xfff8, 0xffff);
	rig_offer(g, 5);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 5);
	EXPECT_EQ(g->chain.n_out, 2);
	EXPECT_EQ(g->chain.n_in, 2);
	EXPECT_EQ(g->chain.seg[0].addr, 0);
	EXPECT_EQ(g->chain.seg[0].len, 0);
	EXPECT_EQ(g->chain.seg[1].addr, U64_MAX);
	EXPECT_EQ(g->chain.seg[1].len, U32_MAX);
	EXPECT_EQ(g->chain.seg[2].len, 0);
	EXPECT_EQ(g->chain.seg[3].addr, 3);
	EXPECT_EQ(g->chain.seg[3].len, 4);
	rig_free(g);
}

/* 2.7.5.3.2: direct ones first, WRITE of the referring one is ignored. */
CASE(ring_direct_then_indirect)
{
	struct rig_cfg cfg = { .num = 4, .event_idx = true };
	struct rig *g = rig_new(&cfg);
	unsigned int i;

	rig_desc(g, 1, 100, 10, F_NEXT, 3);
	rig_desc(g, 3, RIG_GPA, 16 * 40, F_INDIRECT | F_WRITE, 0xffff);
	/* used backwards, so that every step leaves what has been read */
	rig_table(g, 0, 0, 1000, F_NEXT, 39);
	for (i = 39; i > 0; i--)
		rig_table(g, i, i, 1000 + i, (i > 1 ? F_NEXT : 0) |
			  (i < 20 ? F_WRITE : 0), i - 1);
	rig_offer(g, 1);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.n_out, 1 + 1 + 20);
	EXPECT_EQ(g->chain.n_in, 19);
	EXPECT_EQ(g->chain.seg[0].addr, 100);
	EXPECT_EQ(g->chain.seg[1].len, 1000);
	for (i = 39; i > 0; i--) {
		EXPECT_EQ(g->chain.seg[2 + 39 - i].addr, i);
		EXPECT_EQ(g->chain.seg[2 + 39 - i].len, 1000 + i);
	}
	rig_free(g);
}

/* A driver that reuses slots: what was read ahead is never read again. */
CASE(ring_read_ahead_is_not_stale)
{
	struct rig_cfg cfg = { .num = 4, .base = 0xfff0 };
	struct rig *g = rig_new(&cfg);
	unsigned int i, k;
	u16 head;

	for (k = 0; k < 4; k++)
		rig_desc(g, k, k, 1, 0, 0);
	for (i = 0; i < 200000; i++) {
		k = unit_below(4);
		head = unit_below(4);
		rig_offer(g, head);
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(g->chain.id, head);
		EXPECT_EQ(rig_put(g, head, 0), 0);
	}
	EXPECT_EQ(rig_used_idx(g), (u16)(0xfff0 + 200000));
	rig_free(g);
}

CASE(ring_kicks_by_flag)
{
	struct rig_cfg cfg = { .num = 4 };
	struct rig *g = rig_new(&cfg);

	EXPECT_EQ(rig_used_flags(g), 1);
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
	EXPECT_EQ(rig_used_flags(g), 0);
	EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
	EXPECT_EQ(rig_used_flags(g), 1);
	EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
	EXPECT_EQ(rig_used_flags(g), 1);

	/* chains that came meanwhile: told once, then they are seen */
	rig_offer(g, 0);
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 1);
	EXPECT_EQ(rig_used_flags(g), 0);
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(rig_next(g), 0);

	/* a wrong index is told, not followed */
	rig_avail_idx(g, g->avail_idx + 5);
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), -EINVAL);
	rig_free(g);
}

CASE(ring_kicks_by_event)
{
	struct rig_cfg cfg = { .num = 4, .event_idx = true, .base = 0xfffe };
	struct rig *g = rig_new(&cfg);
	kvnet_ring_pos_t pos;

	EXPECT_EQ(rig_used_flags(g), 0);
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
	EXPECT_EQ(rig_avail_event(g), 0xfffe);
	EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
	EXPECT_EQ(rig_used_flags(g), 0);
	EXPECT_EQ(rig_avail_event(g), 0xfffe);

	rig_offer(g, 0);
	rig_offer(g, 1);
	rig_offer(g, 2);
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 1);
	EXPECT_EQ(rig_avail_event(g), 0xfffe);
	EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);

	/* seen, fetched, and given back: wanted is one more than those */
	pos = kvnet_ring_pos(&g->ring);
	EXPECT_EQ(rig_next(g), 1);
	kvnet_ring_rewind(&g->ring, pos);
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
	EXPECT_EQ(rig_avail_event(g), 1);
	EXPECT_EQ(rig_used_flags(g), 0);
	rig_free(g);
}

CASE(ring_calls_by_flag)
{
	struct rig_cfg cfg = { .num = 4 };
	struct rig *g = rig_new(&cfg);
	static const struct { u16 flags; int want; } rows[] = {
		{ 0, 1 }, { 1, 0 }, { 0xfffe, 1 }, { 0xffff, 0 }, { 0, 1 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		rig_avail_flags(g, rows[i].flags);
		rig_put(g, 0, 0);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), rows[i].want);
	}
	rig_free(g);
}

/* 2.7.7.2: a call when an entry is written at the index used_event. */
CASE(ring_calls_by_event_property)
{
	struct rig_cfg cfg = { .num = 32768, .event_idx = true };
	static struct kvnet_used used[32768];
	struct rig *g;
	unsigned int i;
	u16 old, event;
	bool want;
	u32 n;

	g = rig_new(&cfg);
	/* nobody knows what was signalled before: call */
	rig_used_event(g, 0x8000);
	rig_put(g, 0, 0);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);

	for (i = 0; i < 3000; i++) {
		old = rig_used_idx(g);
		n = 1 + unit_below(unit_chance(20) ? 32768 : 20);
		event = unit_chance(4) ? unit_rand() :
			old - 5 + unit_below(n + 10);
		rig_used_event(g, event);
		/* the driver's flags mean nothing with EVENT_IDX */
		rig_avail_flags(g, unit_below(2));
		/* written are the entries old, old + 1, ... old + n - 1 */
		want = (u16)(event - old) < n;
		kvnet_ring_put(&g->ring, used, n);
		unit_context("old %u, n %u, event %u", old, n, event);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), want);
		/* asked again with nothing new */
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), 0);
	}
	rig_free(g);
}

/* Several puts between two questions, even a whole turn of the index. */
CASE(ring_calls_after_signalled_wrap)
{
	struct rig_cfg cfg = { .num = 32768, .event_idx = true };
	static struct kvnet_used used[32768];
	struct rig *g = rig_new(&cfg);

	rig_put(g, 0, 0);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	/* 1 -> 32769: entry 5 is among those written */
	rig_used_event(g, 5);
	kvnet_ring_put(&g->ring, used, 16384);
	kvnet_ring_put(&g->ring, used, 16384);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	/* all the way round to the same index: no event can tell */
	kvnet_ring_put(&g->ring, used, 32768);
	kvnet_ring_put(&g->ring, used, 32768);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	/* and past it */
	rig_used_event(g, rig_used_idx(g) + 50);
	kvnet_ring_put(&g->ring, used, 32768);
	kvnet_ring_put(&g->ring, used, 32768);
	kvnet_ring_put(&g->ring, used, 10);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	/* afterwards all is as usual */
	rig_used_event(g, rig_used_idx(g) + 50);
	kvnet_ring_put(&g->ring, used, 50);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 0);
	kvnet_ring_put(&g->ring, used, 1);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	rig_free(g);
}

/* Called with calls suppressed, but only once the ring has run empty. */
CASE(ring_notify_on_empty)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct rig_cfg cfg = {
			.num = 8, .event_idx = i & 1, .on_empty = i & 2,
		};
		struct rig *g = rig_new(&cfg);

		unit_context("event_idx %d, on_empty %d", cfg.event_idx,
			     cfg.on_empty);
		rig_avail_flags(g, cfg.event_idx ? 0 : 1);
		rig_used_event(g, 100);
		rig_put(g, 0, 0);
		kvnet_ring_should_call(&g->ring);	/* the first one */
		rig_offer(g, 0);
		rig_offer(g, 1);
		EXPECT_EQ(rig_next(g), 1);
		rig_put(g, 0, 0);
		if (cfg.event_idx && cfg.on_empty)	/* still the first */
			kvnet_ring_should_call(&g->ring);
		else
			EXPECT_EQ(kvnet_ring_should_call(&g->ring), 0);
		EXPECT_EQ(rig_next(g), 1);
		rig_put(g, 1, 0);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), cfg.on_empty);
		rig_free(g);
	}
}

/* Stop and go on elsewhere: the base moves, the used index is the ring's. */
CASE(ring_stop_and_restart)
{
	struct rig_cfg cfg = { .num = 4, .base = 0xffff };
	struct rig *g = rig_new(&cfg);
	struct kvnet_ring moved;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		rig_desc(g, i, i, 1, 0, 0);
		rig_offer(g, i);
	}
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(rig_put(g, 0, 0), 0);
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), 1);

	moved = g->ring;
	memset(&moved, 0x77, offsetof(struct kvnet_ring, num));
	kvnet_ring_base_set(&moved, 1);
	EXPECT_EQ(kvnet_ring_base_get(&moved), 1);
	EXPECT_EQ(kvnet_ring_start(&moved), 0);
	EXPECT_EQ(moved.last_used, 0);
	g->ring = moved;
	EXPECT_EQ(rig_used_flags(g), 1);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 2);
	EXPECT_EQ(rig_put(g, 1, 0), 0);
	EXPECT_EQ(rig_used(g, 0).id, 1);
	EXPECT_EQ(rig_used_idx(g), 1);
	rig_free(g);
}
