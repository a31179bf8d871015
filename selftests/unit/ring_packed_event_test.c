// SPDX-License-Identifier: GPL-2.0
/* Notifications of a packed ring, and what they are asked by; virtio 1.3, 2.8.10. */
#include "ring.h"

#include <linux/errno.h>

#include "ring_rig.h"
#include "unit.h"

#define ENABLE	0
#define DISABLE	1
#define DESC	2

CASE(packed_kicks_by_flag)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 3, .base = RIG_PACKED_NEW,
	};
	struct rig *g = rig_new(&cfg);
	unsigned int i;

	EXPECT_EQ(rig_device_event_flags(g), DISABLE);
	for (i = 0; i < 8; i++) {
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
		EXPECT_EQ(rig_device_event_flags(g), ENABLE);
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
		EXPECT_EQ(rig_device_event_flags(g), DISABLE);
		/* what came meanwhile is told */
		rig_offer(g, 0);
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 1);
		EXPECT_EQ(rig_device_event_flags(g), ENABLE);
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(rig_put_chain(g, 0), 0);
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
	}
	rig_free(g);
}

/* A kick for the first that has not been seen, in whichever lap it is. */
CASE(packed_kicks_by_event)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 3, .event_idx = true, .base = 0x8001,
	};
	struct rig *g = rig_new(&cfg);
	u16 place = cfg.base;
	unsigned int i;

	/* none for what nobody waits for yet */
	EXPECT_EQ(rig_device_event_flags(g), DISABLE);
	for (i = 0; i < 13; i++) {
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
		EXPECT_EQ(rig_device_event_flags(g), DESC);
		EXPECT_EQ(rig_device_event(g), place);
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
		rig_offer(g, 0);
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 1);
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(rig_put_chain(g, 0), 0);
		place = rig_step(g, place, 1);
	}
	EXPECT_EQ(shim_outside(), 0);
	rig_free(g);
}

CASE(packed_calls_by_flag)
{
	static const struct { u16 flags; int want; } rows[] = {
		{ ENABLE, 1 }, { DISABLE, 0 }, { ENABLE, 1 }, { DISABLE, 0 },
	};
	unsigned int i;

	for (i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		struct rig_cfg cfg = {
			.packed = true, .num = 4, .event_idx = i & 1,
			.base = RIG_PACKED_NEW,
		};
		struct rig *g = rig_new(&cfg);

		unit_context("row %u, event_idx %d", i / 2, cfg.event_idx);
		/* the place means nothing */
		rig_driver_event(g, unit_rand(), rows[i / 2].flags);
		rig_put(g, 0, 0);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), rows[i / 2].want);
		rig_put(g, 0, 0);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), rows[i / 2].want);
		rig_free(g);
	}
}

/* 3 is reserved, and 2 without EVENT_IDX: better one call too many. */
CASE(packed_calls_by_reserved_flag)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 4, .base = RIG_PACKED_NEW,
	};
	struct rig *g = rig_new(&cfg);

	rig_driver_event(g, 3, DESC);
	rig_put(g, 0, 0);
	EXPECT_TRUE(kvnet_ring_should_call(&g->ring) != 0);
	rig_driver_event(g, 3, 3);
	rig_put(g, 0, 0);
	EXPECT_TRUE(kvnet_ring_should_call(&g->ring) != 0);
	rig_free(g);
}

/* A call when the descriptor named is among those that were passed. */
static void calls_by_event(u32 num)
{
	struct rig_cfg cfg = {
		.packed = true, .num = num, .event_idx = true,
		.base = RIG_PACKED_NEW,
	};
	static struct kvnet_used used[32768];
	struct rig *g = rig_new(&cfg);
	u32 n, count, gap, sum, i, k;
	u16 old = cfg.base;

	rig_driver_event(g, 0x8000, DESC);
	rig_put(g, 0, 0);
	/* nobody knows what it was when it was asked before: call */
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	old = rig_step(g, old, 1);

	for (i = 0; i < 1000; i++) {
		/* a few entries, of which some stand for chains */
		n = unit_below(min_t(u32, num, unit_chance(20) ? num : 20)) + 1;
		for (k = sum = 0; k < n && sum < num; k++) {
			count = 1 + unit_below(min_t(u32, 5, num - sum));
			used[k] = (struct kvnet_used) { .count = count };
			sum += count;
		}
		n = k;
		/* up to two laps from here, mostly near */
		gap = unit_chance(4) ? unit_below(2 * num) :
		      unit_below(min_t(u32, 2 * num, sum + 5));
		rig_driver_event(g, rig_step(g, old, gap), DESC);
		EXPECT_EQ(kvnet_ring_put(&g->ring, used, n), 0);
		unit_context("num %u, old %x, moved %u, gap %u", num, old, sum,
			     gap);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), gap < sum);
		old = rig_step(g, old, sum);
		/* asked again with nothing new */
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), 0);
	}
	EXPECT_EQ(shim_outside(), 0);
	rig_free(g);
}

CASE(packed_calls_by_event_property)
{
	static const u32 sizes[] = { 1, 2, 3, 7, 64, 1000, 32767, 32768 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		calls_by_event(sizes[i]);
}

/* A place that is not in the ring: whatever the answer, it is one. */
CASE(packed_calls_by_event_nowhere)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 3, .event_idx = true,
		.base = RIG_PACKED_NEW,
	};
	struct rig *g = rig_new(&cfg);
	unsigned int i;
	int ret;

	for (i = 0; i < 65536; i++) {
		rig_driver_event(g, i, DESC);
		rig_put(g, 0, 0);
		ret = kvnet_ring_should_call(&g->ring);
		EXPECT_TRUE(ret == 0 || ret == 1 || ret == -EINVAL);
	}
	rig_free(g);
}

/* Several puts between two questions, even whole turns of the ring. */
CASE(packed_calls_after_whole_turns)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 100, .event_idx = true,
		.base = RIG_PACKED_NEW,
	};
	static const struct kvnet_used all = { .count = 100 },
		one = { .count = 1 }, half = { .count = 50 };
	struct rig *g = rig_new(&cfg);

	kvnet_ring_put(&g->ring, &all, 1);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);	/* at (0, 0) */
	rig_driver_event(g, 60, DESC);
	kvnet_ring_put(&g->ring, &half, 1);
	kvnet_ring_put(&g->ring, &half, 1);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);	/* at (0, 1) */
	/* both laps: every place has been passed */
	rig_driver_event(g, 0x8000 | 7, DESC);
	kvnet_ring_put(&g->ring, &all, 1);
	kvnet_ring_put(&g->ring, &all, 1);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	kvnet_ring_put(&g->ring, &all, 1);
	kvnet_ring_put(&g->ring, &all, 1);
	kvnet_ring_put(&g->ring, &one, 1);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	/* afterwards all is as usual: at (1, 1) */
	rig_driver_event(g, 0x8000 | 51, DESC);
	kvnet_ring_put(&g->ring, &half, 1);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 0);
	kvnet_ring_put(&g->ring, &one, 1);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	rig_free(g);
}

/* The modes may follow each other; each question counts from the last one. */
CASE(packed_calls_when_modes_change)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 10, .event_idx = true,
		.base = RIG_PACKED_NEW,
	};
	static const struct kvnet_used four = { .count = 4 };
	struct rig *g = rig_new(&cfg);
	unsigned int i;
	u16 old = cfg.base;

	for (i = 0; i < 30; i++) {
		rig_driver_event(g, 0, i % 2 ? ENABLE : DISABLE);
		kvnet_ring_put(&g->ring, &four, 1);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), i % 2);
		old = rig_step(g, old, 4);
		/* passed before the last question: not again */
		rig_driver_event(g, rig_step(g, old, 2 * cfg.num - 1), DESC);
		kvnet_ring_put(&g->ring, &four, 1);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), 0);
		old = rig_step(g, old, 4);
	}
	rig_free(g);
}

/* A place that is not to be looked at has not been passed. */
CASE(packed_calls_by_event_not_agreed_on)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 10, .base = RIG_PACKED_NEW,
	};
	struct rig *g = rig_new(&cfg);
	unsigned int i;

	rig_driver_event(g, RIG_PACKED_NEW | 7, DESC);
	for (i = 0; i < 3; i++) {
		rig_put(g, 0, 0);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	}
	rig_free(g);
}

/* When the driver was called last is not known at first: it is then. */
CASE(packed_first_call)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 10, .event_idx = true,
		.base = RIG_PACKED_NEW,
	};
	struct rig *g = rig_new(&cfg);

	rig_driver_event(g, RIG_PACKED_NEW | 7, DESC);
	rig_put(g, 0, 0);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	rig_put(g, 0, 0);
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 0);
	rig_free(g);
}

/* Un-fetched chains have been seen: a kick is wanted for what comes after them. */
CASE(packed_kicks_beyond_what_was_seen)
{
	struct rig_cfg cfg = {
		.packed = true, .num = 7, .event_idx = true, .base = 0x8005,
	};
	struct rig *g = rig_new(&cfg);
	kvnet_ring_pos_t pos = kvnet_ring_pos(&g->ring);
	unsigned int i;

	for (i = 0; i < 3; i++) {
		rig_show(g, 0, 1, 0, F_NEXT);
		rig_show(g, 0, 1, i, 0);
		EXPECT_EQ(rig_next(g), 1);
	}
	kvnet_ring_rewind(&g->ring, pos);
	EXPECT_TRUE(!kvnet_ring_pending(&g->ring));
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
	EXPECT_EQ(rig_device_event_flags(g), DESC);
	EXPECT_EQ(rig_device_event(g), 4);
	/* fetched in part, and one more comes */
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_TRUE(!kvnet_ring_pending(&g->ring));
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
	rig_offer(g, 4);
	EXPECT_TRUE(kvnet_ring_pending(&g->ring));
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 1);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 2);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 4);
	EXPECT_EQ(rig_next(g), 0);
	rig_free(g);
}
