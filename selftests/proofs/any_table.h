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
	bool sound = tlb->n <= tlb->capacity && tlb->capacity <= tlb->max &&
		     tlb->next_victim <= tlb->max;
	const struct kvnet_iotlb_entry *e = tlb->entry;
	u32 i;

	for (i = 0; i < tlb->n && i < tlb->capacity; i++)
		sound = sound && e[i].last >= e[i].iova && (!i || e[i].iova > e[i - 1].last);
	return sound;
}

static struct kvnet_iotlb_entry iotlb_entry[ENTRIES];

static struct kvnet_iotlb any_iotlb(void)
{
	struct kvnet_iotlb tlb;

	ASSUME(tlb.capacity <= ENTRIES);
	__CPROVER_havoc_object(iotlb_entry);
	tlb.entry = iotlb_entry;
	ASSUME(iotlb_is_sound(&tlb));
	return tlb;
}

#endif /* PROOFS_ANY_TABLE_H */
