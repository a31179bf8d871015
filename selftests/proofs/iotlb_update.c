// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: after kvnet_iotlb_update() the range is translated as asked for, and all other addresses
 *	as after kvnet_iotlb_invalidate(), but those of one entry, which is evicted in turn, and
 *	only if there is no room
 * @bounds: up to 1 entry before, and 2 after
 * @sources: mem/iotlb.c
 * @unwind: 4
 * @options: --paths lifo
 * @mutant: mem/iotlb.c: kvnet_iotlb_invalidate(tlb, entry->iova, entry->last); => kvnet_iotlb_invalidate(tlb, entry->iova, entry->iova);
 * @mutant: mem/iotlb.c: tlb->next_victim++ % tlb->n => tlb->next_victim % tlb->n
 * @mutant: mem/iotlb.c: tlb->next_victim++ % tlb->n => tlb->next_victim++ % (tlb->n + 1)
 * @mutant: mem/iotlb.c: if (tlb->n == tlb->max)\n => if (0)\n
 * @mutant: mem/iotlb.c: if (entry->last < entry->iova) => if (entry->last + 1 < entry->iova)
 */
#define ENTRIES	2
#include "guest.h"
#include "iotlb_view.h"

static void claim_updated(struct kvnet_iotlb *tlb)
{
	const u32 n = tlb->n, max = tlb->max, old_victim = tlb->next_victim;
	struct kvnet_iotlb_entry entry;
	u64 addr = any_u64();
	bool in_range = addr >= entry.iova && addr <= entry.last;
	bool had = iotlb_has(tlb->entry, n, addr), has, evicts, is_victim;
	struct iotlb_rest rest = iotlb_without(tlb, entry.iova, entry.last, addr);
	u32 victim = max ? old_victim % max : 0, i;
	const struct kvnet_iotlb_entry *e;
	int ret;

	evicts = max && rest.n == max;
	is_victim = evicts && rest.below == victim;

	ret = kvnet_iotlb_update(tlb, &entry);

	has = iotlb_has(tlb->entry, tlb->n, addr);
	ASSERT(iotlb_is_sound(tlb));
	ASSERT(tlb->max == max);
	if (ret) {
		ASSERT(ret == -EINVAL ? entry.last < entry.iova : ret == -ENOSPC && !max);
		ASSERT(tlb->n == n && has == had);
	} else {
		ASSERT(entry.last >= entry.iova);
		ASSERT(tlb->n == rest.n + !evicts);
		ASSERT(has == (in_range || (rest.has_addr && !is_victim)));
	}
	ASSERT(tlb->next_victim == old_victim + (!ret && evicts));
	for (i = 0; i < tlb->n; i++) {
		e = &tlb->entry[i];
		ASSERT(!ret && e->iova <= entry.last && e->last >= entry.iova ?
		       iotlb_entry_is(e, &entry) : iotlb_was_there(e, n));
	}
}

int main(void)
{
	u32 max = any_count(ENTRIES), n = any_count(min(max, (u32)1));

	claim_updated(any_iotlb_of(max, n));
	return 0;
}
