/* SPDX-License-Identifier: GPL-2.0 */
/* any_table.h - any memory table and any IOTLB, as their invariants say */
#ifndef PROOFS_ANY_TABLE_H
#define PROOFS_ANY_TABLE_H

#include "proof.h"
#include "iotlb.h"
#include "memtable.h"

#include <linux/slab.h>

#define REGIONS	3

/* Sorted, disjoint, not empty, and each in the owner's half of the address space. */
static bool memtable_is_sound(const struct kvnet_memtable *mem)
{
	const struct kvnet_region *r;
	u32 i;

	for (i = 0; i < mem->n; i++) {
		r = &mem->region[i];
		if (r->last < r->gpa || r->hva >= 1ULL << 47 ||
		    r->last - r->gpa >= (1ULL << 47) - r->hva)
			return false;
		if (i && r->gpa <= mem->region[i - 1].last)
			return false;
	}
	return true;
}

/* What lies behind its regions has any content, and the longest table has nothing there. */
static struct kvnet_memtable *any_memtable(void)
{
	struct kvnet_memtable *mem = malloc(struct_size(mem, region, REGIONS));

	ASSUME(mem && mem->n <= REGIONS);
	ASSUME(memtable_is_sound(mem));
	return mem;
}

#ifndef ENTRIES
#define ENTRIES	3
#endif

/* One expression, not branches: some harnesses are proved path by path. */
static bool iotlb_is_sound(const struct kvnet_iotlb *tlb)
{
	const struct kvnet_iotlb_entry *e = tlb->entry;
	bool sound = tlb->n <= tlb->max;
	u32 i;

	for (i = 0; i < tlb->n && i < tlb->max; i++)
		sound = sound && e[i].last >= e[i].iova && (!i || e[i].iova > e[i - 1].last);
	return sound;
}

/* For each size an object of its own, so that one entry more lies behind it. */
static struct kvnet_iotlb iotlb_0;
static struct { struct kvnet_iotlb tlb; struct kvnet_iotlb_entry entry[1]; } iotlb_1;
static struct { struct kvnet_iotlb tlb; struct kvnet_iotlb_entry entry[2]; } iotlb_2;
static struct { struct kvnet_iotlb tlb; struct kvnet_iotlb_entry entry[3]; } iotlb_3;

/* Any content, with room for @max entries. */
static struct kvnet_iotlb *any_iotlb(u32 max)
{
	struct kvnet_iotlb *tlb = max == 0 ? &iotlb_0 : max == 1 ? &iotlb_1.tlb :
				  max == 2 ? &iotlb_2.tlb : &iotlb_3.tlb;

	__CPROVER_havoc_object(tlb);
	tlb->max = max;
	return tlb;
}

#endif /* PROOFS_ANY_TABLE_H */
