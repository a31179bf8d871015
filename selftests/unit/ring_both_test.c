// SPDX-License-Identifier: GPL-2.0
/* What the verbs do in either layout, each by hand. */
#include "ring.h"

#include "ring_rig.h"
#include "unit.h"

static void empty(bool packed)
{
	unsigned int i;

	for (i = 0; i < RIG_WAYS; i++) {
		struct rig_cfg cfg = rig_way(i, packed);
		struct rig *g = rig_new(&cfg);

		EXPECT_EQ(rig_next(g), 0);
		EXPECT_TRUE(!kvnet_ring_pending(&g->ring));
		EXPECT_EQ(kvnet_ring_base_get(&g->ring),
			  rig_base(&cfg, cfg.base));
		rig_free(g);
	}
}

CASE_BOTH(ring_empty, packed_empty, empty)

/* Where there is no room at all, not even one descriptor has some. */
CASE(no_room_for_one)
{
	struct rig_cfg cfg;
	struct rig *g;
	unsigned int i;

	for (i = 0; i < 2 * RIG_WAYS; i++) {
		cfg = rig_way(i / 2, i & 1);
		g = rig_new(&cfg);
		if (!cfg.packed)
			rig_desc(g, 0, 0x1000, 100, 0, 0);
		rig_offer(g, 0);
		g->chain.cap = 0;
		EXPECT_EQ(rig_next(g), -EMSGSIZE);
		g->chain.cap = 1;
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(g->chain.n_out, 1);
		rig_free(g);
	}
}

/* Chains from @from on, the last first, and no more. */
static void fetch(struct rig *g, u32 from, u32 n)
{
	u32 k;

	for (k = from; k < n; k++) {
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(g->chain.id, n - 1 - k);
	}
	EXPECT_EQ(rig_next(g), 0);
}

static void fetch_and_rewind(struct rig *g, u32 n)
{
	unsigned int k, round;
	kvnet_ring_pos_t pos;

	for (k = 0; k < n; k++) {
		if (!g->cfg.packed)
			rig_desc(g, k, k, k, 0, 0);
		rig_offer(g, n - 1 - k);
	}
	for (round = 0; round < 3; round++) {
		pos = kvnet_ring_pos(&g->ring);
		fetch(g, 0, n);
		kvnet_ring_rewind(&g->ring, pos);
		EXPECT_EQ(kvnet_ring_base_get(&g->ring),
			  rig_base(&g->cfg, g->cfg.base));
	}
	/* half-way back */
	for (k = 0; k < n / 2; k++)
		rig_next(g);
	pos = kvnet_ring_pos(&g->ring);
	for (; k < n; k++)
		rig_next(g);
	kvnet_ring_rewind(&g->ring, pos);
	fetch(g, n / 2, n);
}

/* As many chains as the ring holds, fetched more than once. */
static void rewinds(bool packed)
{
	unsigned int i;

	for (i = 0; i < RIG_WAYS; i++) {
		struct rig_cfg cfg = rig_way(i, packed);
		u32 n = min_t(u32, cfg.num, 300);
		struct rig *g;

		/* over the end of the index, too */
		if (!packed)
			cfg.base = -(u16)min_t(u32, n / 2, 100);
		g = rig_new(&cfg);
		fetch_and_rewind(g, n);
		rig_free(g);
	}
}

CASE_BOTH(ring_prefetch_and_rewind, packed_rewind, rewinds)

static void put_batch(struct rig *g, u32 n)
{
	static struct kvnet_used used[32768];
	u16 at = rig_use_place(g);
	u32 k;

	for (k = 0; k < n; k++)
		used[k] = (struct kvnet_used) {
			.id = (u16)unit_rand(), .len = unit_rand(), .count = 1,
		};
	EXPECT_EQ(kvnet_ring_put(&g->ring, used, n), 0);
	for (k = 0; k < n; k++)
		EXPECT_TRUE(rig_has_used(g, rig_step(g, at, k), used[k].id,
					 used[k].len));
	EXPECT_EQ(rig_use_place(g), rig_step(g, at, n));
	if (g->cfg.packed && n < g->cfg.num)
		EXPECT_TRUE(!rig_is_used(g, rig_use_place(g)));
}

/* In any order, several at once, over the end; never more than there are. */
static void put_batches(bool packed)
{
	unsigned int i, round;

	for (i = 0; i < RIG_WAYS; i++) {
		struct rig_cfg cfg = rig_way(i, packed);
		struct rig *g;

		if (!packed)
			cfg.base = -(u16)unit_below(cfg.num + 2);
		g = rig_new(&cfg);
		EXPECT_EQ(rig_use_place(g), cfg.base);
		for (round = 0; round < 6; round++)
			put_batch(g, round == 3 ? cfg.num :
				  1 + unit_below(min_t(u32, cfg.num, 100)));
		put_batch(g, 0);
		EXPECT_EQ(shim_outside(), 0);
		rig_free(g);
	}
}

CASE_BOTH(ring_put_batches, packed_put_batches, put_batches)
