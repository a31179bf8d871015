// SPDX-License-Identifier: GPL-2.0
/* Rings of all kinds, and good ones, in either layout: see ring_rig.h. */
#include "ring_rig.h"

#include "unit.h"

struct rig_cfg rig_way(unsigned int i, bool packed)
{
	static const u32 sizes[][4] = { { 1, 8, 256, 32768 }, { 1, 7, 8, 32767 } };
	struct rig_cfg cfg = {
		.packed = packed, .num = sizes[packed][i / 4 % 4],
		.pieces = i < RIG_WAYS / 2 ? 0 : 2 + unit_below(9),
	};

	if (packed) {
		cfg.event_idx = i & 1;
		cfg.base = unit_below(cfg.num) | (i & 2 ? 0x8000 : 0);
	} else {
		cfg.be = i & 1;
		cfg.event_idx = i & 2;
		cfg.base = unit_rand();
	}
	unit_context("num %u, be %d, event_idx %d, base %x, pieces %u", cfg.num,
		     cfg.be, cfg.event_idx, cfg.base, cfg.pieces);
	return cfg;
}

static struct rig *good_split(bool event_idx, unsigned int pieces)
{
	struct rig_cfg cfg = {
		.num = 4, .event_idx = event_idx, .pieces = pieces,
	};
	struct rig *g = rig_new(&cfg);
	unsigned int i;

	rig_desc(g, 2, 10, 11, F_NEXT, 0);
	rig_desc(g, 0, 20, 21, F_NEXT, 3);
	rig_desc(g, 3, RIG_GPA, 16 * 40, F_INDIRECT, 0);
	for (i = 0; i < 40; i++)
		rig_table(g, i, i, i, F_WRITE | (i < 39 ? F_NEXT : 0), i + 1);
	rig_offer(g, 2);
	rig_offer(g, 2);
	return g;
}

static struct rig *good_packed(bool event_idx, unsigned int pieces)
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

struct rig *rig_good(bool packed, bool event_idx, unsigned int pieces)
{
	return packed ? good_packed(event_idx, pieces) :
			good_split(event_idx, pieces);
}
