// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_iotlb_find() returns the entry that has the address, exactly if there is one, with
 *	any hint; its hint finds the same entry again
 * @bounds: up to 3 entries
 * @sources: mem/iotlb.c
 * @unwind: 5
 * @options: --paths lifo
 * @quick: yes
 * @mutant: mem/iotlb.c: addr > tlb->entry[at].last) => addr - 1 > tlb->entry[at].last)
 * @mutant: mem/iotlb.c: if (tlb->entry[mid].last < addr) => if (tlb->entry[mid].last <= addr)
 * @mutant: mem/iotlb.c: *hint = at; => *hint = 0;
 */
#include "guest.h"
#include "iotlb_view.h"

int main(void)
{
	u32 n = any_count(ENTRIES), hint = any_u32(), old = hint;
	struct kvnet_iotlb *tlb = any_iotlb_of(n, n);
	const struct kvnet_iotlb_entry *e;
	u64 addr = any_u64();

	e = kvnet_iotlb_find(tlb, addr, &hint);

	ASSERT(!!e == iotlb_has(tlb->entry, n, addr));
	if (e) {
		ASSERT(hint < n && e == &tlb->entry[hint]);
		ASSERT(addr >= e->iova && addr <= e->last);
	} else {
		ASSERT(hint == old);
	}
	return 0;
}
