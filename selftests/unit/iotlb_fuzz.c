// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to updates and invalidations as a VMM might send them: no translation is found
 * that does not hold, the newest is, and there are never more than there may be. A
 * model knows of each of 256 cells what holds there.
 */
#include "iotlb.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>
#include <string.h>

#include "fuzz.h"
#include "shim.h"
#include "unit.h"

#define CELLS	256

const char fuzz_name[] = "iotlb";

/* A cell is so many addresses: all 2^64 of them, or some anywhere. */
static u64 base;
static unsigned int shift;

static bool known[CELLS];
static struct {
	u64 hva;
	u8 perm;
} model[CELLS];

static u64 first_of(unsigned int cell)
{
	return base + ((u64)cell << shift);
}

static u64 last_of(unsigned int cell)
{
	return first_of(cell) + (1ULL << shift) - 1;
}

static void find(const struct kvnet_iotlb *tlb, u64 addr, unsigned int cell, u32 hint,
		 bool must)
{
	const struct kvnet_iotlb_entry *e = kvnet_iotlb_find(tlb, addr, &hint);

	EXPECT_TRUE(e || !must);
	if (!e)
		return;
	EXPECT_TRUE(addr >= e->iova && addr <= e->last);
	EXPECT_TRUE(known[cell]);
	EXPECT_EQ(e->hva + (addr - e->iova), model[cell].hva + (addr - first_of(cell)));
	EXPECT_EQ(e->perm, model[cell].perm);
	EXPECT_TRUE(e == &tlb->entry[hint]);
}

static void check(const struct kvnet_iotlb *tlb)
{
	u32 i;

	EXPECT_TRUE(tlb->n <= tlb->max);
	for (i = 0; i < tlb->n; i++) {
		EXPECT_TRUE(tlb->entry[i].iova <= tlb->entry[i].last);
		EXPECT_TRUE(!i || tlb->entry[i - 1].last < tlb->entry[i].iova);
	}
}

/* Each cell that an entry has, and where it ends. */
static void whole(const struct kvnet_iotlb *tlb, const struct kvnet_iotlb_entry *e)
{
	unsigned int first = (e->iova - base) >> shift, last = (e->last - base) >> shift, i;

	if (!EXPECT_TRUE(first <= last && last < CELLS))
		return;
	EXPECT_TRUE(e->iova == first_of(first) && e->last == last_of(last));
	for (i = first; i <= last; i++) {
		EXPECT_TRUE(known[i] && e->perm == model[i].perm);
		EXPECT_EQ(e->hva + (first_of(i) - e->iova), model[i].hva);
	}
	find(tlb, e->iova, first, e->hva, true);
	find(tlb, e->last, last, e->hva >> 8, true);
	if (first)
		find(tlb, e->iova - 1, first - 1, first, false);
	if (last + 1 < CELLS)
		find(tlb, e->last + 1, last + 1, last, false);
}

static void update(struct kvnet_iotlb *tlb, u8 a, u8 b, struct input *in)
{
	const struct kvnet_iotlb_entry entry = {
		.iova = first_of(a), .last = last_of(b), .hva = take32(in),
		.perm = take8(in) & 3,
	};
	unsigned int i;
	int ret;

	ret = kvnet_iotlb_update(tlb, &entry);

	if (entry.last < entry.iova) {
		EXPECT_EQ(ret, -EINVAL);
		return;
	}
	EXPECT_EQ(ret, tlb->max ? 0 : -ENOSPC);
	for (i = a; i <= b; i++) {
		known[i] = !ret;
		model[i].hva = entry.hva + (first_of(i) - entry.iova);
		model[i].perm = entry.perm;
		find(tlb, i & 1 ? first_of(i) : last_of(i), i, take8(in), !ret);
	}
}

static void invalidate(struct kvnet_iotlb *tlb, u8 a, u8 b)
{
	unsigned int i;

	kvnet_iotlb_invalidate(tlb, first_of(a), last_of(b));
	for (i = a; i <= b; i++)
		known[i] = false;
}

void fuzz_one(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	u8 where = take8(&in), op, a, b;
	struct kvnet_iotlb *tlb;
	unsigned int i;

	shim_reset();
	shift = where & 1 ? 56 : where & 2 ? 12 : 0;
	base = where & 1 ? 0 : where & 4 ? -((u64)CELLS << shift) : take64(&in) >> 16;
	memset(known, 0, sizeof(known));
	tlb = kvnet_iotlb_alloc(take8(&in) % 40);
	while (in.left) {
		op = take8(&in);
		a = take8(&in);
		b = op & 0x80 ? take8(&in) : min(a + (op >> 3 & 15), CELLS - 1);
		switch (op & 3) {
		case 0:
			invalidate(tlb, a, b);
			break;
		case 1:
			find(tlb, first_of(a), a, take32(&in), false);
			find(tlb, last_of(a), a, b, false);
			break;
		default:
			update(tlb, a, b, &in);
		}
		check(tlb);
	}
	for (i = 0; i < tlb->n; i++)
		whole(tlb, &tlb->entry[i]);
	kvnet_iotlb_free(tlb);
	EXPECT_EQ(shim_alloc_live, 0);
}

#ifndef UNIT_LIBFUZZER
CASE_ROW(fuzz_messages, fuzz_random(30000, 300))
#endif
