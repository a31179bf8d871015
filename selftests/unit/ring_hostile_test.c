// SPDX-License-Identifier: GPL-2.0
/* A split ring whose other side lies: the errno, the bounds, the place. */
#include "ring.h"

#include <linux/errno.h>
#include <string.h>

#include "ring_rig.h"
#include "unit.h"

struct d {
	u64 addr;
	u32 len;
	u16 flags, next;
};

struct row {
	const char *what;
	int ret;
	struct d desc[4];	/* of a ring of 4; the chain starts at 0 */
	struct d table[4];
	unsigned int cap;
	u16 head;
};

#define TABLE(n) { RIG_GPA, 16 * (n), F_INDIRECT, 0 }

static const struct row rows[] = {
	{ "next beyond the ring", -EINVAL, { { 0, 1, F_NEXT, 4 } } },
	{ "next far beyond", -EINVAL, { { 0, 1, F_NEXT, 0xffff } } },
	{ "later next beyond", -EINVAL,
	  { { 0, 1, F_NEXT, 1 }, { 0, 1, F_NEXT, 4 } } },
	{ "head beyond the ring", -EINVAL, {}, .head = 4 },
	{ "head far beyond", -EINVAL, {}, .head = 0xffff },
	{ "loop of one", -ELOOP, { { 0, 1, F_NEXT, 0 } } },
	{ "loop of two", -ELOOP,
	  { { 0, 1, F_NEXT, 1 }, { 0, 1, F_NEXT, 0 } } },
	{ "loop after a start", -ELOOP,
	  { { 0, 1, F_NEXT, 3 }, [3] = { 0, 0, F_NEXT, 3 } } },
	{ "whole ring, looped", -ELOOP,
	  { { 0, 1, F_NEXT, 1 }, { 0, 1, F_NEXT, 2 }, { 0, 1, F_NEXT, 3 },
	    { 0, 1, F_NEXT, 0 } } },
	{ "whole ring", 1,
	  { { 0, 1, F_NEXT, 1 }, { 0, 1, F_NEXT, 2 }, { 0, 1, F_NEXT, 3 },
	    { 0, 1, 0, 0 } } },
	{ "readable after writable", -EINVAL,
	  { { 0, 1, F_NEXT | F_WRITE, 1 }, { 0, 1, 0, 0 } } },
	{ "readable after readable, writable", -EINVAL,
	  { { 0, 1, F_NEXT, 1 }, { 0, 1, F_NEXT | F_WRITE, 2 },
	    { 0, 1, F_NEXT, 3 }, { 0, 1, F_WRITE, 0 } } },
	{ "fits", 1,
	  { { 0, 1, F_NEXT, 1 }, { 0, 1, F_WRITE, 0 } }, .cap = 2 },
	{ "too long", -EMSGSIZE,
	  { { 0, 1, F_NEXT, 1 }, { 0, 1, F_WRITE, 0 } }, .cap = 1 },
	{ "endless, but too long first", -EMSGSIZE,
	  { { 0, 1, F_NEXT, 0 } }, .cap = 3 },
	{ "table and next", -EINVAL,
	  { { RIG_GPA, 16, F_INDIRECT | F_NEXT, 1 } } },
	{ "table of nothing", -EINVAL, { { RIG_GPA, 0, F_INDIRECT, 0 } } },
	{ "table shorter than one", -EINVAL,
	  { { RIG_GPA, 15, F_INDIRECT, 0 } } },
	{ "table of one and a bit", -EINVAL,
	  { { RIG_GPA, 17, F_INDIRECT, 0 } } },
	{ "table too large", -EINVAL, { TABLE(65537) } },
	{ "table far too large", -EINVAL,
	  { { RIG_GPA, 0xfffffff0, F_INDIRECT, 0 } } },
	{ "table wraps", -EINVAL,
	  { { U64_MAX - 15, 32, F_INDIRECT, 0 } } },
	{ "table at the very end", -EFAULT,
	  { { U64_MAX - 15, 16, F_INDIRECT, 0 } } },
	{ "table nowhere", -EFAULT, { { 0, 16, F_INDIRECT, 0 } } },
	{ "table half nowhere", -EFAULT,
	  { { RIG_GPA + 16 * (RIG_TABLE - 1), 32, F_INDIRECT, 0 } } },
	{ "table of one", 1, { TABLE(1) }, { { 5, 6, F_WRITE, 0xffff } } },
	{ "table in a table", -EINVAL, { TABLE(1) }, { TABLE(1) } },
	{ "table in a table, later", -EINVAL, { TABLE(2) },
	  { { 0, 1, F_NEXT, 1 }, TABLE(1) } },
	{ "next beyond the table", -EINVAL, { TABLE(2) },
	  { { 0, 1, F_NEXT, 2 } } },
	{ "next at the table's end", 1, { TABLE(2) },
	  { { 0, 1, F_NEXT, 1 } } },
	{ "table loops", -ELOOP, { TABLE(2) },
	  { { 0, 1, F_NEXT, 1 }, { 0, 1, F_NEXT, 0 } } },
	{ "table of one loops", -ELOOP, { TABLE(1) },
	  { { 0, 1, F_NEXT, 0 } } },
	{ "table loops, too long first", -EMSGSIZE, { TABLE(4) },
	  { { 0, 1, F_NEXT, 0 } }, .cap = 3 },
	{ "table: readable after writable", -EINVAL, { TABLE(2) },
	  { { 0, 1, F_NEXT | F_WRITE, 1 }, { 0, 1, 0, 0 } } },
	{ "readable table after writable", -EINVAL,
	  { { 0, 1, F_NEXT | F_WRITE, 1 }, TABLE(1) } },
	{ "direct fills, table is too long", -EMSGSIZE,
	  { { 0, 1, F_NEXT, 1 }, TABLE(1) }, .cap = 1 },
};

static struct rig *set_row(const struct row *row, bool be)
{
	struct rig_cfg cfg = {
		.num = 4, .be = be, .cap = row->cap, .base = 0xffff,
	};
	struct rig *g = rig_new(&cfg);
	const struct d *d;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		d = &row->desc[i];
		rig_desc(g, i, d->addr, d->len, d->flags, d->next);
		d = &row->table[i];
		rig_table(g, i, d->addr, d->len, d->flags, d->next);
	}
	rig_offer(g, row->head);
	return g;
}

/* The documented error, again and again, and the ring stays where it was. */
CASE(ring_malformed_table)
{
	unsigned int i, k;

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
			/* index, heads, and the chain or the ring once */
			EXPECT_TRUE(w.accesses <= 2 + 4);
			EXPECT_TRUE(g->reads <= 4);
			if (row->ret == 1)
				break;
			EXPECT_EQ(kvnet_ring_pos(&g->ring), pos);
			EXPECT_EQ(kvnet_ring_base_get(&g->ring), 0xffff);
		}
		EXPECT_EQ(shim_outside(), 0);
		/* the driver mends its ways */
		if (row->ret != 1) {
			rig_desc(g, 0, 77, 78, 0, 0);
			rig_avail(g, 0xffff, 0);
			rig_restart(g, 0xffff);
			EXPECT_EQ(rig_next(g), 1);
			EXPECT_EQ(g->chain.seg[0].addr, 77);
		}
		rig_free(g);
	}
}

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

CASE(ring_bounded_steps)
{
	struct rig_cfg cfg = { .num = 32768 };
	struct rig *g = rig_new(&cfg);
	unsigned int i, reads = 0;
	struct kvnet_reader reader = { .read = read_loop, .ctx = &reads };
	struct rig_watch w;

	rig_desc(g, 0, RIG_GPA, 16 * 65536, F_INDIRECT, 0);
	rig_offer(g, 0);
	rig_watch(&w);
	EXPECT_EQ(kvnet_ring_next(&g->ring, &g->chain, &reader), -ELOOP);
	EXPECT_EQ(reads, 65536);
	EXPECT_EQ(w.accesses, 3);

	for (i = 0; i < cfg.num; i++)
		rig_desc(g, i, 0, 0, F_NEXT, (i + 1) % cfg.num);
	rig_watch(&w);
	EXPECT_EQ(kvnet_ring_next(&g->ring, &g->chain, &reader), -ELOOP);
	EXPECT_TRUE(w.accesses <= 1 + cfg.num);

	/* a short array ends it sooner */
	g->chain.cap = 100;
	rig_watch(&w);
	EXPECT_EQ(kvnet_ring_next(&g->ring, &g->chain, &reader), -EMSGSIZE);
	EXPECT_TRUE(w.accesses <= 1 + 101);
	rig_free(g);
}

CASE(ring_reader_error_is_passed_on)
{
	struct rig *g = set_row(&rows[0], false);

	rig_desc(g, 0, RIG_GPA, 16, F_INDIRECT, 0);
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
