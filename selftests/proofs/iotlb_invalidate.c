// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: after kvnet_iotlb_invalidate() no address of the range is translated: each entry that has
 *	one is gone, and all others are as before, sorted and disjoint
 * @bounds: up to 2 entries
 * @sources: mem/iotlb.c
 * @unwind: 5
 * @options: --paths lifo
 * @mutant: mem/iotlb.c: tlb->entry[at + count].iova <= last) => tlb->entry[at + count].iova < last)
 * @mutant: mem/iotlb.c: tlb->entry[at + count].iova <= last) => tlb->entry[at + count].last <= last)
 * @mutant: mem/iotlb.c: at + count < tlb->n && => at + count < tlb->max &&
 */
#define ENTRIES	2
#include "guest.h"
#include "iotlb_view.h"

int main(void)
{
	u64 iova = any_u64(), last = any_u64(), addr = any_u64();
	u32 max = any_count(ENTRIES), n = any_count(max), victim, i;
	struct kvnet_iotlb *tlb = any_iotlb_of(max, n);
	struct iotlb_rest rest = iotlb_without(tlb, iova, last, addr);

	ASSUME(iova <= last);
	victim = tlb->next_victim;

	kvnet_iotlb_invalidate(tlb, iova, last);

	ASSERT(iotlb_is_sound(tlb));
	ASSERT(tlb->max == max && tlb->next_victim == victim && tlb->n == rest.n);
	ASSERT(iotlb_has(tlb->entry, tlb->n, addr) == rest.has_addr);
	for (i = 0; i < tlb->n; i++)
		ASSERT(iotlb_was_there(&tlb->entry[i], n));
	return 0;
}
