// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: after kvnet_iotlb_invalidate() no address of the range is translated, all others as
 *	before, unless they are in the smaller of two parts of an entry for which there was no
 *	room; entries remain sorted and disjoint, and there are no more than necessary
 * @bounds: up to 3 entries
 * @sources: mem/iotlb.c
 * @unwind: 5
 * @options: --paths lifo
 * @mutant: mem/iotlb.c: e->last = iova - 1; => e->last = iova;
 * @mutant: mem/iotlb.c: rest.hva += last + 1 - rest.iova; => rest.hva += last - rest.iova;
 * @mutant: mem/iotlb.c: if (at < tlb->n && e->iova <= last) { => if (at < tlb->n && e->iova < last) {
 */
#include "guest.h"
#include "iotlb_view.h"

int main(void)
{
	u64 iova = any_u64(), last = any_u64(), addr = any_u64();
	u32 capacity = any_count(ENTRIES), n = any_count(capacity), i;
	struct kvnet_iotlb tlb = any_iotlb_of(any_entries(capacity), any_u32(), capacity, n);
	const struct kvnet_iotlb old = tlb;
	struct iotlb_rest rest = iotlb_without(&tlb, iova, last, addr);
	bool had = iotlb_has(tlb.entry, n, addr);

	kvnet_iotlb_invalidate(&tlb, iova, last);

	ASSERT(iotlb_is_sound(&tlb));
	ASSERT(tlb.capacity == old.capacity && tlb.max == old.max && tlb.entry == old.entry &&
	       tlb.next_victim == old.next_victim);
	ASSERT(tlb.n == (last < iova ? n : rest.n));
	ASSERT(iotlb_has(tlb.entry, tlb.n, addr) == (last < iova ? had : rest.has_addr));
	for (i = 0; i < tlb.n; i++)
		ASSERT(iotlb_was_there(&tlb.entry[i], n));
	return 0;
}
