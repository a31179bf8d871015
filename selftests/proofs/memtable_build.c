// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_memtable_build() makes a sorted table of disjoint regions of user memory, or
 *	fails and keeps no memory, whatever the VMM asks for
 * @bounds: up to 2 regions
 * @sources: mem/memtable.c
 * @unwind: 4
 * @options: --memory-leak-check
 * @mutant: mem/memtable.c: if (mem->region[i].gpa <= mem->region[i - 1].last) { => if (mem->region[i].gpa < mem->region[i - 1].last) {
 * @mutant: mem/memtable.c: from->guest_phys_addr + (len - 1) < len - 1 => from->guest_phys_addr + (len - 1) < len - 2
 * @mutant: mem/memtable.c: err_free:\n	kvfree(mem); => err_free:
 */
#include "guest.h"
#include "any_table.h"

#include <linux/err.h>

int main(void)
{
	struct vhost_memory_region from[2];
	struct kvnet_memtable *mem;
	u32 n = any_u32();

	ASSUME(n <= 2);
	mem = kvnet_memtable_build(from, n);

	if (IS_ERR(mem)) {
		ASSERT(PTR_ERR(mem) == -ENOMEM || PTR_ERR(mem) == -EFAULT || PTR_ERR(mem) == -EINVAL);
		return 0;
	}
	ASSERT(mem->n == n);
	ASSERT(memtable_is_sound(mem));
	kvnet_memtable_free(mem);
	return 0;
}
