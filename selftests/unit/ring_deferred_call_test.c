// SPDX-License-Identifier: GPL-2.0
/* Deferred calls, in either layout. */
#include "ring.h"

#include "ring_rig.h"
#include "unit.h"

#define DESC	2

/* The driver wants to be told of what is used at @place. */
static void ask_call(struct rig *g, u16 place)
{
	if (g->cfg.packed)
		rig_driver_event(g, place, DESC);
	else
		rig_used_event(g, place);
}

/* A call that is put off is due till it is made, or the driver has looked by itself. */
static void calls_later(bool packed)
{
	struct rig_cfg cfg = {
		.packed = packed, .num = 64, .event_idx = true,
		.base = packed ? RIG_PACKED_NEW : 0xfff1,
	};
	struct rig *g = rig_new(&cfg);
	struct kvnet_call_mark mark;
	unsigned int i, k;

	/* It is not known yet since when: still so afterwards. */
	for (i = 0; i < 3; i++) {
		ask_call(g, rig_step(g, cfg.base, 40));
		rig_put(g, 0, 0);
		mark = kvnet_ring_call_mark(&g->ring);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
		EXPECT_EQ(kvnet_ring_count_uncalled(&g->ring), 0);
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), 0);
		kvnet_ring_call_rewind(&g->ring, mark);
	}
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);

	for (i = 1; i < 20; i++) {
		ask_call(g, rig_use_place(g));
		for (k = 1; k <= i; k++) {
			rig_put(g, 0, 0);
			EXPECT_EQ(kvnet_ring_count_uncalled(&g->ring), k);
			mark = kvnet_ring_call_mark(&g->ring);
			EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
			kvnet_ring_call_rewind(&g->ring, mark);
			EXPECT_EQ(kvnet_ring_count_uncalled(&g->ring), k);
		}
		if (i % 2)
			ask_call(g, rig_use_place(g));
		EXPECT_EQ(kvnet_ring_should_call(&g->ring), !(i % 2));
		EXPECT_EQ(kvnet_ring_count_uncalled(&g->ring), 0);
	}
	EXPECT_EQ(shim_outside(), 0);
	rig_free(g);
}

CASE_BOTH(ring_calls_later, packed_calls_later, calls_later)
