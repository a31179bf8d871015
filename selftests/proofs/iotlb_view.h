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

/* @entry has room for @capacity entries: one more lies behind its object. */
static struct kvnet_iotlb any_iotlb_of(struct kvnet_iotlb_entry *entry, u32 max, u32 capacity,
				       u32 n)
{
	struct kvnet_iotlb tlb = { .n = n, .capacity = capacity, .max = max, .entry = entry };
	u32 i;

	tlb.next_victim = any_u32();
	ASSUME(iotlb_is_sound(&tlb));
	for (i = 0; i < n; i++)
		old_entry[i] = entry[i];
	return tlb;
}

/* The end of an array of any entries. */
static struct kvnet_iotlb_entry *any_entries(u32 n)
{
	__CPROVER_havoc_object(iotlb_entry);
	return iotlb_entry + (ENTRIES - n);
}

static bool iotlb_has(const struct kvnet_iotlb_entry *entry, u32 n, u64 addr)
{
	bool has = false;
	u32 i;

	for (i = 0; i < n; i++)
		has |= addr >= entry[i].iova && addr <= entry[i].last;
	return has;
}

/* Whatever @part translates, @whole translates to the same. */
static bool iotlb_is_part(const struct kvnet_iotlb_entry *part,
			  const struct kvnet_iotlb_entry *whole)
{
	return part->iova >= whole->iova && part->last <= whole->last &&
	       part->hva == whole->hva + (part->iova - whole->iova) && part->perm == whole->perm;
}

static bool iotlb_was_there(const struct kvnet_iotlb_entry *e, u32 n)
{
	bool was = false;
	u32 i;

	for (i = 0; i < n; i++)
		was |= iotlb_is_part(e, &old_entry[i]);
	return was;
}

/* What remains once nothing translates a range: */
struct iotlb_rest {
	u32 n;		/* entries, */
	u32 below;	/* those of them that end below the address looked at, */
	bool has_addr;	/* and whether one translates it */
};

/* An entry around the range becomes two, or, if there is no room, the larger of both. */
static struct iotlb_rest iotlb_without(const struct kvnet_iotlb *tlb, u64 iova, u64 last, u64 addr)
{
	const bool full = tlb->n == tlb->capacity;
	const struct kvnet_iotlb_entry *e;
	struct iotlb_rest rest = { 0 };
	bool left, right, both, right_is_larger;
	u32 i;

	for (i = 0; i < tlb->n; i++) {
		e = &tlb->entry[i];
		both = full && e->iova < iova && e->last > last;
		right_is_larger = e->last - (last + 1) > (iova - 1) - e->iova;
		left = e->iova < iova && !(both && right_is_larger);
		right = e->last > last && !(both && !right_is_larger);
		rest.n += left + right;
		rest.below += left && (e->last < addr || iova - 1 < addr);
		rest.below += right && e->last < addr;
		rest.has_addr |= addr >= e->iova && addr <= e->last &&
				 ((left && addr < iova) || (right && addr > last));
	}
	return rest;
}

#endif /* PROOFS_IOTLB_VIEW_H */
