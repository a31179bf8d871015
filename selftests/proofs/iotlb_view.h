/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iotlb_view.h - what an IOTLB says of one address, and what has to remain of it
 *
 * No branches but on constants: the harnesses are proved path by path, and each path has its
 * number of entries.
 */
#ifndef PROOFS_IOTLB_VIEW_H
#define PROOFS_IOTLB_VIEW_H

#include "any_table.h"

/* A number up to @most, a constant on each path. */
static u32 any_count(u32 most)
{
	u32 n;

	for (n = 0; n < most; n++)
		if (any_bool())
			break;
	return n;
}

static struct kvnet_iotlb_entry old_entry[ENTRIES];

/* Sound, with @n entries, and room for @max. */
static struct kvnet_iotlb *any_iotlb_of(u32 max, u32 n)
{
	struct kvnet_iotlb *tlb = any_iotlb(max);
	u32 i;

	tlb->n = n;
	tlb->max = max;
	ASSUME(iotlb_is_sound(tlb));
	for (i = 0; i < n; i++)
		old_entry[i] = tlb->entry[i];
	return tlb;
}

static bool iotlb_has(const struct kvnet_iotlb_entry *entry, u32 n, u64 addr)
{
	bool has = false;
	u32 i;

	for (i = 0; i < n; i++)
		has |= addr >= entry[i].iova && addr <= entry[i].last;
	return has;
}

static bool iotlb_entry_is(const struct kvnet_iotlb_entry *a, const struct kvnet_iotlb_entry *b)
{
	return a->iova == b->iova && a->last == b->last && a->hva == b->hva && a->perm == b->perm;
}

static bool iotlb_was_there(const struct kvnet_iotlb_entry *e, u32 n)
{
	bool was = false;
	u32 i;

	for (i = 0; i < n; i++)
		was |= iotlb_entry_is(e, &old_entry[i]);
	return was;
}

/* What remains once no entry has an address of a range: */
struct iotlb_rest {
	u32 n;		/* entries, */
	u32 below;	/* those of them that end below the address looked at, */
	bool has_addr;	/* and whether one translates it */
};

static struct iotlb_rest iotlb_without(const struct kvnet_iotlb *tlb, u64 iova, u64 last, u64 addr)
{
	const struct kvnet_iotlb_entry *e;
	struct iotlb_rest rest = { 0 };
	bool stays;
	u32 i;

	for (i = 0; i < tlb->n; i++) {
		e = &tlb->entry[i];
		stays = e->last < iova || e->iova > last;
		rest.n += stays;
		rest.below += stays && e->last < addr;
		rest.has_addr |= stays && addr >= e->iova && addr <= e->last;
	}
	return rest;
}

#endif /* PROOFS_IOTLB_VIEW_H */
