// SPDX-License-Identifier: GPL-2.0
/*
 * The device IOTLB: sorted, disjoint, bounded; it never knows more than it was
 * told, and forgets no more than the entries that are touched, and one to make room.
 */
#include "iotlb.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "shim.h"
#include "unit.h"

#define MAX_ROWS	6
#define SPACE		256	/* addresses of the model */
#define NOWHERE		U64_MAX

static void check_table(const struct kvnet_iotlb *tlb)
{
	u32 i;

	EXPECT_TRUE(tlb->n <= tlb->max);
	for (i = 0; i < tlb->n; i++)
		EXPECT_TRUE(tlb->entry[i].iova <= tlb->entry[i].last);
	for (i = 1; i < tlb->n; i++)
		EXPECT_TRUE(tlb->entry[i - 1].last < tlb->entry[i].iova);
}

struct row {
	const char *what;
	struct kvnet_iotlb_entry have[MAX_ROWS];
	struct kvnet_iotlb_entry op;	/* without perm: invalidate */
	struct kvnet_iotlb_entry want[MAX_ROWS];
	int ret;
};

#define TOP	U64_MAX
#define MID	(1ULL << 63)

static const struct row rows[] = {
	{ "everything", {}, { 0, TOP, 4096, 3 }, { { 0, TOP, 4096, 3 } } },
	{ "the first of everything", { { 0, TOP, 4096, 3 } }, { 0, 0 }, {} },
	{ "the last of everything", { { 0, TOP, 4096, 3 } }, { TOP, TOP }, {} },
	{ "the middle of everything", { { 0, TOP, 4096, 3 } }, { MID, MID }, {} },
	{ "forget everything",
	  { { 0, 0, 1, 1 }, { MID, MID + 9, 2, 2 }, { TOP, TOP, 3, 3 } },
	  { 0, TOP }, {} },
	{ "everything over some",
	  { { 0, 0, 1, 1 }, { MID, MID + 9, 2, 2 }, { TOP, TOP, 3, 3 } },
	  { 0, TOP, 4, 1 }, { { 0, TOP, 4, 1 } } },
	{ "a byte over everything", { { 0, TOP, 0, 3 } }, { 7, 7, 70, 1 },
	  { { 7, 7, 70, 1 } } },
	{ "the last byte over everything", { { 0, TOP, 0, 3 } },
	  { TOP, TOP, 70, 1 }, { { TOP, TOP, 70, 1 } } },
	{ "the first byte over everything", { { 0, TOP, 0, 3 } },
	  { 0, 0, 70, 1 }, { { 0, 0, 70, 1 } } },
	{ "wraps", { { 8, 15, 1, 1 } }, { 15, 14, 70, 1 },
	  { { 8, 15, 1, 1 } }, -EINVAL },
	{ "wraps around 2^64", { { 8, 15, 1, 1 } }, { TOP, 0, 70, 1 },
	  { { 8, 15, 1, 1 } }, -EINVAL },
	{ "forget what wraps", { { 0, 14, 1, 1 }, { 15, TOP, 1, 1 } }, { 15, 14 },
	  { { 0, 14, 1, 1 }, { 15, TOP, 1, 1 } } },
	{ "forget what wraps around 2^64", { { 1, TOP, 1, 1 } }, { TOP, 0 },
	  { { 1, TOP, 1, 1 } } },
	{ "neighbours are not joined", { { 8, 15, 108, 1 } },
	  { 16, 23, 116, 1 }, { { 8, 15, 108, 1 }, { 16, 23, 116, 1 } } },
	{ "a neighbour below", { { 8, 15, 108, 1 } }, { 0, 7, 100, 1 },
	  { { 0, 7, 100, 1 }, { 8, 15, 108, 1 } } },
	{ "the same again, elsewhere", { { 8, 15, 100, 1 } },
	  { 8, 15, 200, 2 }, { { 8, 15, 200, 2 } } },
	{ "over the left end", { { 8, 15, 100, 1 } }, { 4, 8, 200, 2 },
	  { { 4, 8, 200, 2 } } },
	{ "over the right end", { { 8, 15, 100, 1 } }, { 15, 19, 200, 2 },
	  { { 15, 19, 200, 2 } } },
	{ "the left end", { { 8, 15, 100, 1 } }, { 8, 9, 200, 2 },
	  { { 8, 9, 200, 2 } } },
	{ "the right end", { { 8, 15, 100, 1 } }, { 14, 15, 200, 2 },
	  { { 14, 15, 200, 2 } } },
	{ "the middle", { { 8, 15, 100, 1 } }, { 11, 12, 200, 2 },
	  { { 11, 12, 200, 2 } } },
	{ "over two and into two more",
	  { { 0, 3, 0, 1 }, { 4, 4, 50, 1 }, { 6, 7, 60, 1 }, { 8, 9, 80, 2 }, { 10, 10, 1, 1 } },
	  { 3, 8, 200, 3 }, { { 3, 8, 200, 3 }, { 10, 10, 1, 1 } } },
	{ "forget the left end", { { 8, 15, 100, 1 } }, { 0, 8 }, {} },
	{ "forget the right end", { { 8, 15, 100, 1 } }, { 15, TOP }, {} },
	{ "forget a neighbour's place", { { 8, 15, 100, 1 } }, { 16, 16 },
	  { { 8, 15, 100, 1 } } },
	{ "forget the place below", { { 8, 15, 100, 1 } }, { 0, 7 },
	  { { 8, 15, 100, 1 } } },
	{ "forget between", { { 0, 3, 0, 1 }, { 8, 9, 8, 1 } }, { 4, 7 },
	  { { 0, 3, 0, 1 }, { 8, 9, 8, 1 } } },
	{ "forget of three, all of one",
	  { { 0, 1, 0, 1 }, { 2, 3, 9, 1 }, { 4, 5, 50, 1 }, { 8, 9, 80, 2 } }, { 3, 8 },
	  { { 0, 1, 0, 1 } } },
	{ "forget one byte", { { 0, 0, 0, 1 }, { 1, 1, 5, 1 }, { 2, 2, 7, 1 } },
	  { 1, 1 }, { { 0, 0, 0, 1 }, { 2, 2, 7, 1 } } },
	{ "no access allowed", { { 0, 9, 0, 3 } }, { 2, 3 }, {} },
};

static bool same(const struct kvnet_iotlb_entry *a,
		 const struct kvnet_iotlb_entry *b)
{
	return a->iova == b->iova && a->last == b->last && a->hva == b->hva &&
	       a->perm == b->perm;
}

CASE(iotlb_ranges)
{
	struct kvnet_iotlb *tlb;
	unsigned int i;
	int ret;
	u32 k;

	shim_reset();
	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];

		unit_context("%s", row->what);
		tlb = kvnet_iotlb_alloc(2048);
		for (k = 0; row->have[k].perm; k++)
			EXPECT_EQ(kvnet_iotlb_update(tlb, &row->have[k]), 0);
		ret = 0;
		if (row->op.perm)
			ret = kvnet_iotlb_update(tlb, &row->op);
		else
			kvnet_iotlb_invalidate(tlb, row->op.iova, row->op.last);
		EXPECT_EQ(ret, row->ret);
		check_table(tlb);
		for (k = 0; row->want[k].perm && k < tlb->n; k++)
			EXPECT_TRUE(same(&tlb->entry[k], &row->want[k]));
		EXPECT_TRUE(!row->want[k].perm);
		EXPECT_EQ(tlb->n, k);
		kvnet_iotlb_free(tlb);
	}
	EXPECT_EQ(shim_alloc_live, 0);
}

CASE(iotlb_find_borders)
{
	static const struct kvnet_iotlb_entry e[] = {
		{ 0, 0, 10, 1 }, { 1, 9, 100, 1 }, { 11, 11, 200, 2 },
		{ MID, MID + 4095, 300, 3 }, { TOP, TOP, 400, 1 },
	};
	static const struct { u64 addr; int at; } want[] = {
		{ 0, 0 }, { 1, 1 }, { 9, 1 }, { 10, -1 }, { 11, 2 },
		{ 12, -1 }, { MID - 1, -1 }, { MID, 3 }, { MID + 4095, 3 },
		{ MID + 4096, -1 }, { TOP - 1, -1 }, { TOP, 4 },
	};
	static const u32 hints[] = { 0, 1, 2, 3, 4, 5, 16, U32_MAX };
	const struct kvnet_iotlb_entry *found;
	struct kvnet_iotlb *tlb;
	unsigned int i, h;
	u32 hint = 0;

	shim_reset();
	tlb = kvnet_iotlb_alloc(2048);
	EXPECT_TRUE(!kvnet_iotlb_find(tlb, 0, &hint));
	EXPECT_TRUE(!kvnet_iotlb_find(tlb, TOP, &hint));
	for (i = 0; i < ARRAY_SIZE(e); i++)
		EXPECT_EQ(kvnet_iotlb_update(tlb, &e[(i * 3) % 5]), 0);
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		for (h = 0; h < ARRAY_SIZE(hints); h++) {
			unit_context("row %u, hint %u", i, hints[h]);
			hint = hints[h];
			found = kvnet_iotlb_find(tlb, want[i].addr, &hint);
			if (want[i].at < 0) {
				EXPECT_TRUE(!found);
				EXPECT_EQ(hint, hints[h]);
			} else if (EXPECT_TRUE(!!found)) {
				EXPECT_TRUE(same(found, &e[want[i].at]));
				EXPECT_TRUE(found == &tlb->entry[hint]);
			}
		}
	}
	kvnet_iotlb_free(tlb);
}

/* Every address of the model's space, by what find() says of it. */
struct view {
	u64 hva[SPACE];		/* NOWHERE if it is not known */
	u64 iova[SPACE], last[SPACE];	/* of its entry */
	u8 perm[SPACE];
};

struct model {
	struct kvnet_iotlb *tlb;
	u64 origin;
	u64 next_hva;		/* all translations differ */
	struct view now;
};

static void look(const struct model *m, struct view *v)
{
	const struct kvnet_iotlb_entry *e;
	u32 i, hint = unit_rand();

	for (i = 0; i < SPACE; i++) {
		if (unit_chance(4))
			hint = unit_below(m->tlb->n + 2);
		e = kvnet_iotlb_find(m->tlb, m->origin + i, &hint);
		v->hva[i] = e ? e->hva + (m->origin + i - e->iova) : NOWHERE;
		v->iova[i] = e ? e->iova : TOP;
		v->last[i] = e ? e->last : 0;
		v->perm[i] = e ? e->perm : 0;
	}
}

/* What has gone and need not have must be one entry that made room. */
static void check_lost(const bool *lost, const struct view *was, bool evicts)
{
	u32 i, first = SPACE, last = 0;

	for (i = 0; i < SPACE; i++) {
		if (!lost[i])
			continue;
		first = min_t(u32, first, i);
		last = i;
	}
	if (first == SPACE)
		return;
	EXPECT_TRUE(evicts);
	for (i = first; i <= last; i++) {
		EXPECT_TRUE(lost[i]);
		EXPECT_EQ(was->hva[i], was->hva[first] + (i - first));
	}
}

static void step(struct model *m)
{
	u32 at = unit_below(SPACE), end, i, n = m->tlb->n;
	bool update = !unit_chance(3), lost[SPACE] = { false };
	struct kvnet_iotlb_entry e;
	struct view was = m->now;

	end = at + unit_below(unit_chance(3) ? 64 : 6);
	end = min_t(u32, end, SPACE - 1);
	e.iova = m->origin + at;
	e.last = m->origin + end;
	e.hva = m->next_hva;
	e.perm = 1 + unit_below(3);
	m->next_hva += 2 * SPACE;
	if (update)
		EXPECT_EQ(kvnet_iotlb_update(m->tlb, &e), 0);
	else
		kvnet_iotlb_invalidate(m->tlb, e.iova, e.last);
	EXPECT_TRUE(m->tlb->n <= n + update);
	check_table(m->tlb);
	look(m, &m->now);

	for (i = 0; i < SPACE; i++) {
		if (i >= at && i <= end) {
			EXPECT_EQ(m->now.hva[i], update ? e.hva + (i - at) : NOWHERE);
			EXPECT_EQ(m->now.perm[i], update ? e.perm : 0);
		} else if (was.iova[i] <= e.last && was.last[i] >= e.iova) {
			EXPECT_EQ(m->now.hva[i], NOWHERE);
		} else if (m->now.hva[i] == NOWHERE) {
			lost[i] = was.hva[i] != NOWHERE;
		} else {
			EXPECT_EQ(m->now.hva[i], was.hva[i]);
			EXPECT_EQ(m->now.perm[i], was.perm[i]);
		}
	}
	check_lost(lost, &was, update && m->tlb->n == m->tlb->max);
}

static void run_model(u32 max, u64 origin, u32 steps)
{
	struct model m = { .origin = origin, .next_hva = 1 << 20 };
	u32 i;

	shim_reset();
	m.tlb = kvnet_iotlb_alloc(max);
	look(&m, &m.now);
	for (i = 0; i < steps && !unit_failed(); i++) {
		unit_context("max %u, origin 0x%llx, step %u", max,
			     (unsigned long long)origin, i);
		step(&m);
	}
	kvnet_iotlb_free(m.tlb);
	EXPECT_EQ(shim_alloc_live, 0);
}

CASE(iotlb_random_against_model)
{
	static const u64 origins[] = { 0, MID - SPACE / 2, TOP - (SPACE - 1) };
	static const u32 sizes[] = { 1, 2, 3, 16, 17, 40, 2048 };
	unsigned int i, k;

	for (i = 0; i < ARRAY_SIZE(sizes); i++)
		for (k = 0; k < ARRAY_SIZE(origins); k++)
			run_model(sizes[i], origins[k], 1000);
}

CASE(iotlb_no_room_at_all)
{
	const struct kvnet_iotlb_entry e = { 0, TOP, 1, 3 };
	struct kvnet_iotlb *tlb;
	u32 hint = 0;

	shim_reset();
	tlb = kvnet_iotlb_alloc(0);
	EXPECT_EQ(kvnet_iotlb_update(tlb, &e), -ENOSPC);
	EXPECT_TRUE(!kvnet_iotlb_find(tlb, 0, &hint));
	kvnet_iotlb_invalidate(tlb, 0, TOP);
	EXPECT_EQ(tlb->n, 0);
	EXPECT_EQ(shim_alloc_live, 1);
	kvnet_iotlb_free(tlb);
	kvnet_iotlb_free(NULL);
	EXPECT_EQ(shim_alloc_live, 0);
}

CASE(iotlb_no_memory)
{
	shim_reset();
	shim_alloc_budget = 0;
	EXPECT_TRUE(!kvnet_iotlb_alloc(2048));
	shim_reset();
}

/* All entries are allocated at once: there is an end to what a parameter asks for. */
CASE(iotlb_limit_beyond_the_largest)
{
	struct kvnet_iotlb *tlb;

	shim_reset();
	tlb = kvnet_iotlb_alloc(U32_MAX);
	if (EXPECT_TRUE(!!tlb))
		EXPECT_EQ(tlb->max, KVNET_IOTLB_MAX);
	kvnet_iotlb_free(tlb);
	EXPECT_EQ(shim_alloc_live, 0);
}

/* Wherever new ones come, none of the old stays for ever. */
CASE(iotlb_everyone_is_a_victim)
{
	/* below, between and above the old */
	static const u32 from[] = { 0, 200000, 400000 };
	struct kvnet_iotlb_entry e = { .perm = 3 };
	struct kvnet_iotlb *tlb;
	u32 i, k, hint = 0;

	for (k = 0; k < ARRAY_SIZE(from); k++) {
		unit_context("new ones from %u on", from[k]);
		shim_reset();
		tlb = kvnet_iotlb_alloc(64);
		for (i = 0; tlb->n < 64; i++) {
			e.iova = e.last = 100000 * (1 + 2 * (i & 1)) + i;
			EXPECT_EQ(kvnet_iotlb_update(tlb, &e), 0);
		}
		for (i = 0; i < 5000; i++) {
			e.iova = e.last = from[k] + i;
			EXPECT_EQ(kvnet_iotlb_update(tlb, &e), 0);
			EXPECT_TRUE(!!kvnet_iotlb_find(tlb, e.iova, &hint));
			EXPECT_EQ(tlb->n, 64);
		}
		for (i = 0; i < 64; i++)
			EXPECT_TRUE(!kvnet_iotlb_find(tlb, 100000 * (1 + 2 *
						      (i & 1)) + i, &hint));
		kvnet_iotlb_free(tlb);
	}
}

CASE(iotlb_a_million_updates)
{
	struct kvnet_iotlb_entry e = { .perm = 3 };
	struct kvnet_iotlb *tlb;
	u32 i;

	shim_reset();
	tlb = kvnet_iotlb_alloc(32);
	for (i = 0; i < 1000000; i++) {
		e.iova = (u64)unit_rand() << 32 | unit_rand();
		e.last = e.iova + unit_below(1 << 20);
		if (e.last < e.iova)
			continue;
		if (unit_chance(8))
			kvnet_iotlb_invalidate(tlb, e.iova, e.last);
		else if (kvnet_iotlb_update(tlb, &e))
			break;
		if (tlb->n > 32)
			break;
	}
	EXPECT_EQ(i, 1000000);
	check_table(tlb);
	kvnet_iotlb_free(tlb);
	EXPECT_EQ(shim_alloc_live, 0);
}
