// SPDX-License-Identifier: GPL-2.0
/* How far the dirty log must reach for what is in the owner's memory. */
#include "dirty_log.h"

#include <linux/kernel.h>

#include "memtable.h"
#include "shim.h"
#include "unit.h"

#define END	(1ULL << 47)
/* of the guest's memory, has its bit at the end of the owner's, if the log is at 0 */
#define FAR	(END * 8 * KVNET_DIRTY_LOG_PAGE)

#define REGION(gpa, len, hva) \
	{ .guest_phys_addr = (gpa), .memory_size = (len), \
	  .userspace_addr = (hva) }

CASE(dirty_reach_of_owners_memory)
{
	const struct vhost_memory_region r[] = {
		REGION(0, 0x4000, 0x100000),
		REGION(FAR - 0x1000, 0x2000, 0x104000),
		/* the first once more, out of reach */
		REGION(FAR + 0x10000, 0x1000, 0x101000),
	};
	const struct { u64 base, hva, len; bool ok; } known[] = {
		{ 0, 0x100000, 0x1000, true },
		{ 0, 0x100000, 0x1001, false },
		{ 0, 0x102000, 0x3000, true },
		{ 0, 0x102000, 0x3001, false },
		{ 0, 0x105fff, 1, false },
		{ 0, 0x106000, 0x1000, true },	/* not the guest's */
		{ 0, 0x105000, 0, true },
		{ END - 1, 0x100000, 1, true },
		{ END, 0x100000, 1, false },
		{ END - 1, 0x104000, 1, false },
		{ 0, 0, U64_MAX, false },
	};
	struct kvnet_memtable *mem = kvnet_memtable_build(r, ARRAY_SIZE(r));
	unsigned int i;

	shim_reset();
	for (i = 0; i < ARRAY_SIZE(known); i++) {
		unit_context("row %u", i);
		EXPECT_EQ(kvnet_dirty_log_hva_ok(known[i].base, mem, known[i].hva,
						 known[i].len), known[i].ok);
	}
	kvnet_memtable_free(mem);
}
