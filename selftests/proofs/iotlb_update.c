// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: after kvnet_iotlb_update() of an IOTLB that has its largest capacity, the range is
 *	translated as asked for, and all other addresses as after kvnet_iotlb_invalidate(), but
 *	those of one entry, which is evicted in turn, and only if there is no room
 * @bounds: up to 1 entry before, and 2 after
 * @sources: mem/iotlb.c
 * @unwind: 4
 * @options: --paths lifo
 * @mutant: mem/iotlb.c: kvnet_iotlb_invalidate(tlb, entry->iova, entry->last); => kvnet_iotlb_invalidate(tlb, entry->iova + 1, entry->last);
 * @mutant: mem/iotlb.c: tlb->next_victim++; => tlb->next_victim = 0;
 * @mutant: mem/iotlb.c: tlb->next_victim %= tlb->n; => tlb->next_victim %= tlb->n + 1;
 * @mutant: mem/iotlb.c: if (tlb->n < tlb->capacity)\n		return 0; => if (tlb->n <= tlb->capacity)\n		return 0;
 * @mutant: mem/iotlb.c: if (entry->last < entry->iova) => if (entry->last + 1 < entry->iova)
 */
#define ENTRIES	2
#include "guest.h"
#include "iotlb_view.h"

static void claim_updated(struct kvnet_iotlb *tlb)
{
	const struct kvnet_iotlb old = *tlb;
	struct kvnet_iotlb_entry entry;
	u64 addr = any_u64();
	bool in_range = addr >= entry.iova && addr <= entry.last;
	bool had = iotlb_has(tlb->entry, tlb->n, addr), has, evicts, is_victim;
	struct iotlb_rest rest = iotlb_without(tlb, entry.iova, entry.last, addr);
	u32 victim = old.max ? old.next_victim % old.max : 0, i;
	const struct kvnet_iotlb_entry *e;
	int ret;

	evicts = old.max && rest.n == old.max;
	is_victim = evicts && rest.below == victim;

	ret = kvnet_iotlb_update(tlb, &entry);

	has = iotlb_has(tlb->entry, tlb->n, addr);
	ASSERT(iotlb_is_sound(tlb));
	ASSERT(tlb->max == old.max && tlb->capacity >= old.capacity);
	if (ret == -EINVAL) {
		ASSERT(entry.last < entry.iova);
		ASSERT(tlb->n == old.n && has == had);
	} else if (ret) {
		ASSERT(ret == -ENOSPC ? !old.max : ret == -ENOMEM && old.capacity < old.max);
		ASSERT(tlb->n == rest.n && rest.n == old.capacity && has == rest.has_addr);
	} else {
		ASSERT(entry.last >= entry.iova);
		ASSERT(tlb->n == rest.n + !evicts);
		ASSERT(has == (in_range || (rest.has_addr && !is_victim)));
	}
	ASSERT(tlb->next_victim == (!ret && evicts ? victim + 1 : old.next_victim));
	for (i = 0; i < tlb->n; i++) {
		e = &tlb->entry[i];
		ASSERT(!ret && e->iova <= entry.last && e->last >= entry.iova ?
		       iotlb_is_part(e, &entry) : iotlb_was_there(e, old.n));
	}
}

int main(void)
{
	u32 max = any_count(ENTRIES), n = any_count(min(max, (u32)1));
	struct kvnet_iotlb tlb = any_iotlb_of(any_entries(max), max, max, n);

	claim_updated(&tlb);
	return 0;
}
