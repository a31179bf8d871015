// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_memtable_find() finds a region exactly if one has the address, with any hint, and
 *	its hint is that region's
 * @bounds: up to 3 regions
 * @sources: mem/memtable.c
 * @unwind: 5
 * @mutant: mem/memtable.c: lo = mid + 1; => lo = mid + 2;
 * @mutant: mem/memtable.c: if (lo >= mem->n => if (lo > mem->n
 * @mutant: mem/memtable.h: return addr >= region->gpa && addr <= region->last; => return addr >= region->gpa && addr - 1 <= region->last;
 */
#include "guest.h"
#include "any_table.h"

int main(void)
{
	const struct kvnet_memtable *mem = any_memtable();
	const struct kvnet_region *r, *found;
	u32 hint = any_u32(), i;
	u64 addr = any_u64();
	bool has = false;

	found = kvnet_memtable_find(mem, addr, &hint);

	for (i = 0; i < mem->n; i++) {
		r = &mem->region[i];
		if (addr < r->gpa || addr > r->last)
			continue;
		has = true;
		ASSERT(hint == i && found == r);
	}
	ASSERT(has || !found);
	return 0;
}
