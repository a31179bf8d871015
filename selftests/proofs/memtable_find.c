// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_memtable_find_span() finds a region exactly if one has the address, with any hint,
 *	and neither the address nor the length that it returns leaves the region
 * @bounds: up to 3 regions
 * @sources: mem/memtable.c
 * @unwind: 5
 * @mutant: mem/memtable.c: lo = mid + 1; => lo = mid + 2;
 * @mutant: mem/memtable.c: if (lo >= mem->n => if (lo > mem->n
 * @mutant: mem/memtable.h: *len = min_t(u64, *len - 1, region->last - addr) + 1; => *len = min_t(u64, *len, region->last - addr + 2);
 */
#include "guest.h"
#include "any_table.h"

int main(void)
{
	const struct kvnet_memtable *mem = any_memtable();
	u32 hint = any_u32(), len = any_u32(), wanted = len, i;
	const struct kvnet_region *r;
	u64 addr = any_u64(), hva;
	bool found = false;

	ASSUME(len);
	hva = (uintptr_t)kvnet_memtable_find_span(mem, addr, &len, &hint);

	for (i = 0; i < mem->n; i++) {
		r = &mem->region[i];
		if (addr < r->gpa || addr > r->last)
			continue;
		found = true;
		ASSERT(hint == i);
		ASSERT(hva == r->hva + (addr - r->gpa));
		ASSERT(len >= 1 && len <= wanted && len - 1 <= r->last - addr);
		ASSERT(len == wanted || len - 1 == r->last - addr);
	}
	ASSERT(found || (!hva && len == wanted));
	return 0;
}
