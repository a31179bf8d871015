// SPDX-License-Identifier: GPL-2.0
/* A split ring whose other side lies: the errno, the bounds, the place. */
#include "ring.h"

#include <linux/errno.h>
#include <string.h>

#include "ring_rig.h"
#include "unit.h"

/* An index may be at most num ahead, anywhere on the circle. */
CASE(ring_avail_index_bounds)
{
	static const u32 sizes[] = { 1, 2, 256, 32768 };
	unsigned int i, base;
	u32 ahead;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct rig_cfg cfg = { .num = sizes[i], .base = unit_rand() };
		struct rig *g = rig_new(&cfg);

		base = cfg.base;
		for (ahead = 0; ahead < 65536; ahead += 1 + unit_below(3)) {
			unit_context("num %u, base %u, ahead %u", cfg.num,
				     base, ahead);
			rig_restart(g, base);
			rig_avail_idx(g, base + ahead);
			EXPECT_EQ(rig_next(g), ahead > cfg.num ? -EINVAL :
				  ahead > 0);
			EXPECT_EQ(kvnet_ring_base_get(&g->ring),
				  (u16)(base + (ahead && ahead <= cfg.num)));
		}
		/* and the two edges, whatever the step was */
		rig_restart(g, base);
		rig_avail_idx(g, base + cfg.num + 1);
		EXPECT_EQ(rig_next(g), -EINVAL);
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), -EINVAL);
		rig_avail_idx(g, base + cfg.num);
		EXPECT_EQ(rig_next(g), 1);
		rig_free(g);
	}
}

/* The largest table looped: as many steps as it has entries, and no more. */
static int read_loop(void *ctx, u64 addr, void *dst, u32 len)
{
	u8 *p = dst;
	u32 i;

	++*(unsigned int *)ctx;
	memset(dst, 0, len);
	for (i = 0; i < len; i += 16) {
		p[i + 12] = F_NEXT;
		/* as far away as can be, so that nothing read ahead helps */
		p[i + 15] = addr < RIG_GPA + 0x80000 ? 0x80 : 0;
	}
	return 0;
}

CASE(ring_bounded_steps_of_a_table)
{
	struct rig_cfg cfg = { .num = 32768 };
	struct rig *g = rig_new(&cfg);
	unsigned int reads = 0;
	struct kvnet_reader reader = { .read = read_loop, .ctx = &reads };
	struct rig_watch w;

	rig_desc(g, 0, RIG_GPA, 16 * 65536, F_INDIRECT, 0);
	rig_offer(g, 0);
	rig_watch(&w);
	EXPECT_EQ(kvnet_ring_next(&g->ring, &g->chain, &reader), -ELOOP);
	EXPECT_EQ(reads, 65536);
	EXPECT_EQ(w.accesses, 3);
	rig_free(g);
}

CASE(ring_reader_error_is_passed_on)
{
	struct rig_cfg cfg = { .num = 4, .base = 0xffff };
	struct rig *g = rig_new(&cfg);

	rig_desc(g, 0, RIG_GPA, 16, F_INDIRECT, 0);
	rig_offer(g, 0);
	g->read_error = -EAGAIN;
	EXPECT_EQ(rig_next(g), -EAGAIN);
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), 0xffff);
	g->read_error = 0;
	EXPECT_EQ(rig_next(g), 1);
	rig_free(g);
}

/*
 * A driver that makes chains available again before it got them back: more
 * are outstanding than the used ring has entries.
 */
CASE(ring_more_outstanding_than_entries)
{
	const struct rig_cfg cfg = { .num = 2 };
	const struct kvnet_used used[3] = { { 0, 1 }, { 0, 1 }, { 0, 1 } };
	struct rig *g = rig_new(&cfg);
	unsigned int i;

	rig_desc(g, 0, RIG_GPA, 16, 0, 0);
	for (i = 0; i < 3; i++) {
		rig_offer(g, 0);
		EXPECT_EQ(rig_next(g), 1);
	}
	EXPECT_EQ(kvnet_ring_put(&g->ring, used, 3), -EINVAL);
	EXPECT_EQ(rig_used_idx(g), 0);
	EXPECT_EQ(kvnet_ring_put(&g->ring, used, 2), 0);
	EXPECT_EQ(rig_used_idx(g), 2);
	rig_free(g);
}
