// SPDX-License-Identifier: GPL-2.0
/* Chains that break the rules, in either layout: the errno, the bounds, the place. */
#include "ring.h"

#include <linux/errno.h>

#include "ring_rig.h"
#include "unit.h"

struct d {
	u64 addr;
	u32 len;
	u16 flags, next;	/* packed: what comes next is what is next */
};

struct row {
	const char *what;
	int ret;
	struct d desc[4];	/* of a ring of 4; split: the chain starts at 0 */
	struct d table[4];
	enum { BOTH, SPLIT, PACKED } only;
	unsigned int cap;
	u16 head;
	u16 count;		/* if it is taken; 0: 1 */
};

#define TABLE(n) { RIG_GPA, 16 * (n), F_INDIRECT, 0 }
#define N	F_NEXT
#define W	F_WRITE

static const struct row rows[] = {
	{ "next beyond the ring", -EINVAL, { { 0, 1, N, 4 } }, {}, SPLIT },
	{ "next far beyond", -EINVAL, { { 0, 1, N, 0xffff } }, {}, SPLIT },
	{ "later next beyond", -EINVAL,
	  { { 0, 1, N, 1 }, { 0, 1, N, 4 } }, {}, SPLIT },
	{ "head beyond the ring", -EINVAL, {}, {}, SPLIT, .head = 4 },
	{ "head far beyond", -EINVAL, {}, {}, SPLIT, .head = 0xffff },
	{ "loop of one", -ELOOP, { { 0, 1, N, 0 } }, {}, SPLIT },
	{ "loop of two", -ELOOP,
	  { { 0, 1, N, 1 }, { 0, 1, N, 0 } }, {}, SPLIT },
	{ "loop after a start", -ELOOP,
	  { { 0, 1, N, 3 }, [3] = { 0, 0, N, 3 } }, {}, SPLIT },
	{ "loop of one, too long first", -EMSGSIZE,
	  { { 0, 1, N, 0 } }, {}, SPLIT, .cap = 3 },
	{ "whole ring, without an end", -ELOOP,
	  { { 0, 1, N, 1 }, { 0, 1, N, 2 }, { 0, 1, N, 3 }, { 0, 1, N, 0 } } },
	{ "without an end, too long first", -EMSGSIZE,
	  { { 0, 1, N, 1 }, { 0, 1, N, 2 }, { 0, 1, N, 3 }, { 0, 1, N, 0 } },
	  .cap = 3 },
	{ "whole ring", 1,
	  { { 0, 1, N, 1 }, { 0, 1, N, 2 }, { 0, 1, N, 3 }, { 0, 1, 0, 0 } },
	  .count = 4 },
	{ "readable after writable", -EINVAL,
	  { { 0, 1, N | W, 1 }, { 0, 1, 0, 0 } } },
	{ "readable after readable, writable", -EINVAL,
	  { { 0, 1, N, 1 }, { 0, 1, N | W, 2 }, { 0, 1, N, 3 },
	    { 0, 1, W, 0 } } },
	{ "fits", 1, { { 0, 1, N, 1 }, { 0, 1, W, 0 } }, .cap = 2, .count = 2 },
	{ "too long", -EMSGSIZE,
	  { { 0, 1, N, 1 }, { 0, 1, W, 0 } }, .cap = 1 },
	{ "table and next", -EINVAL, { { RIG_GPA, 16, F_INDIRECT | N, 1 } } },
	/* 2.8.19: lists are of one kind */
	{ "table in a list", -EINVAL,
	  { { 0, 1, N, 1 }, TABLE(1) }, {}, PACKED },
	{ "table of nothing", -EINVAL, { { RIG_GPA, 0, F_INDIRECT, 0 } } },
	{ "table shorter than one", -EINVAL,
	  { { RIG_GPA, 15, F_INDIRECT, 0 } } },
	{ "table of one and a bit", -EINVAL,
	  { { RIG_GPA, 17, F_INDIRECT, 0 } } },
	{ "table too large", -EINVAL, { TABLE(65537) } },
	{ "table far too large", -EINVAL,
	  { { RIG_GPA, 0xfffffff0, F_INDIRECT, 0 } } },
	{ "table wraps", -EINVAL, { { U64_MAX - 15, 32, F_INDIRECT, 0 } } },
	{ "table at the very end", -EFAULT,
	  { { U64_MAX - 15, 16, F_INDIRECT, 0 } } },
	{ "table nowhere", -EFAULT, { { 0, 16, F_INDIRECT, 0 } } },
	{ "table half nowhere", -EFAULT,
	  { { RIG_GPA + 16 * (RIG_TABLE - 1), 32, F_INDIRECT, 0 } } },
	{ "table of one", 1, { TABLE(1) }, { { 5, 6, W, 0xffff } } },
	{ "table in a table", -EINVAL, { TABLE(1) }, { TABLE(1) }, SPLIT },
	{ "table in a table, later", -EINVAL, { TABLE(2) },
	  { { 0, 1, N, 1 }, TABLE(1) }, SPLIT },
	{ "table: flags that mean nothing", 1, { TABLE(2) },
	  { { 0, 1, 0xffff & ~W, 0 }, { 0, 1, 0xffff, 0 } }, PACKED },
	{ "next beyond the table", -EINVAL, { TABLE(2) },
	  { { 0, 1, N, 2 } }, SPLIT },
	{ "next at the table's end", 1, { TABLE(2) }, { { 0, 1, N, 1 } } },
	{ "table loops", -ELOOP, { TABLE(2) },
	  { { 0, 1, N, 1 }, { 0, 1, N, 0 } }, SPLIT },
	{ "table of one loops", -ELOOP, { TABLE(1) }, { { 0, 1, N, 0 } }, SPLIT },
	{ "table: too long first", -EMSGSIZE, { TABLE(4) },
	  { { 0, 1, N, 0 } }, .cap = 3 },
	{ "table: readable after writable", -EINVAL, { TABLE(2) },
	  { { 0, 1, N | W, 1 }, { 0, 1, 0, 0 } } },
	{ "readable table after writable", -EINVAL,
	  { { 0, 1, N | W, 1 }, TABLE(1) }, {}, SPLIT },
	{ "direct fills, table is too long", -EMSGSIZE,
	  { { 0, 1, N, 1 }, TABLE(1) }, {}, SPLIT, .cap = 1 },
};

/* Over the end of the ring, and of the index; @other: byte order, or lap. */
static struct rig *set_row(const struct row *row, bool packed, bool other)
{
	struct rig_cfg cfg = {
		.packed = packed, .num = 4, .cap = row->cap,
		.be = !packed && other,
		.base = packed ? 2 | other << 15 : 0xffff,
	};
	struct rig *g = rig_new(&cfg);
	const struct d *d, *t;
	unsigned int i;

	for (i = 0; i < 4; i++) {
		d = &row->desc[i];
		t = &row->table[i];
		if (packed) {
			rig_table(g, i, t->addr, t->len, 0xabcd, t->flags);
			rig_show(g, d->addr, d->len, 0xab00 + i, d->flags);
		} else {
			rig_table(g, i, t->addr, t->len, t->flags, t->next);
			rig_desc(g, i, d->addr, d->len, d->flags, d->next);
		}
	}
	if (!packed)
		rig_offer(g, row->head);
	return g;
}

/* The documented error, again and again, and the ring stays where it was. */
static void take_row(struct rig *g, const struct row *row)
{
	kvnet_ring_pos_t pos = kvnet_ring_pos(&g->ring);
	struct rig_watch w;
	unsigned int k;

	for (k = 0; k < 3; k++) {
		rig_watch(&w);
		g->reads = 0;
		EXPECT_EQ(rig_next(g), row->ret);
		/* flags, or index and heads; and the chain, or the ring once */
		EXPECT_TRUE(w.accesses <= (g->cfg.packed ? 1 : 2) + 4);
		EXPECT_TRUE(g->reads <= 4);
		if (row->ret == 1)
			break;
		EXPECT_EQ(kvnet_ring_pos(&g->ring), pos);
		EXPECT_EQ(kvnet_ring_base_get(&g->ring),
			  rig_base(&g->cfg, g->cfg.base));
	}
	EXPECT_EQ(shim_outside(), 0);
}

/* The driver mends its ways. */
static void mend(struct rig *g)
{
	if (g->cfg.packed) {
		g->avail_idx = g->cfg.base;
		rig_show(g, 77, 78, 3, 0);
	} else {
		rig_desc(g, 0, 77, 78, 0, 0);
		rig_avail(g, 0xffff, 0);
		rig_restart(g, 0xffff);
	}
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.seg[0].addr, 77);
}

static void malformed(bool packed)
{
	unsigned int i, count;

	for (i = 0; i < 2 * ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i / 2];
		struct rig *g;

		if (row->only == (packed ? SPLIT : PACKED))
			continue;
		g = set_row(row, packed, i & 1);
		unit_context("%s", row->what);
		take_row(g, row);
		count = row->count ? row->count : 1;
		if (row->ret != 1)
			mend(g);
		else
			EXPECT_EQ(g->chain.id, packed ? 0xab00 + count - 1 : 0);
		if (row->ret == 1)
			EXPECT_EQ(g->chain.count, count);
		rig_free(g);
	}
}

CASE_BOTH(ring_malformed_table, packed_malformed, malformed)

/* A ring that is one loop: as many steps as it, or the array, has room for. */
static void bounded_steps(bool packed)
{
	struct rig_cfg cfg = {
		.packed = packed, .num = 32768,
		.base = packed ? RIG_PACKED_NEW : 0,
	};
	struct rig *g = rig_new(&cfg);
	struct rig_watch w;
	unsigned int i;

	for (i = 0; i < cfg.num; i++)
		if (packed)
			rig_show(g, 0, 0, i, N);
		else
			rig_desc(g, i, 0, 0, N, (i + 1) % cfg.num);
	if (!packed)
		rig_offer(g, 0);
	rig_watch(&w);
	EXPECT_EQ(rig_next(g), -ELOOP);
	EXPECT_TRUE(w.accesses <= 2 + cfg.num);
	g->chain.cap = 100;
	rig_watch(&w);
	EXPECT_EQ(rig_next(g), -EMSGSIZE);
	EXPECT_TRUE(w.accesses <= 2 + 101);
	rig_free(g);
}

CASE_BOTH(ring_bounded_steps, packed_bounded_steps, bounded_steps)
