// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to a memory table as a VMM might set it: it is refused for what it should be,
 * or each address leads where a search through the VMM's own list would.
 */
#include "memtable.h"

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "fuzz.h"
#include "shim.h"
#include "unit.h"

#define MAX_REGIONS	9

typedef unsigned __int128 u128;

const char fuzz_name[] = "memtable";

static struct vhost_memory_region region[MAX_REGIONS];
static u32 n_regions;

static void read_regions(struct input *in)
{
	u8 wild = take8(in);
	u32 i;

	n_regions = take8(in) % (MAX_REGIONS + 1);
	for (i = 0; i < n_regions; i++) {
		struct vhost_memory_region *r = &region[i];

		*r = (struct vhost_memory_region) {
			.guest_phys_addr = wild & 1 ? take64(in) : take8(in),
			.memory_size = wild & 2 ? take64(in) : take8(in) % 32,
			.userspace_addr = wild & 4 ? take64(in) : take16(in),
		};
		/* up to the end of all addresses, and beyond */
		if (wild & 8)
			r->guest_phys_addr = -r->guest_phys_addr;
		if (wild & 16)
			r->userspace_addr = shim_user_end - r->userspace_addr;
	}
}

static u128 end_of(u64 first, u64 len)
{
	return (u128)first + len;
}

static int want(void)
{
	const struct vhost_memory_region *a, *b;

	for (a = region; a < region + n_regions; a++)
		if (!a->memory_size || a->userspace_addr & shim_tag ||
		    end_of(a->guest_phys_addr, a->memory_size) > (u128)1 << 64 ||
		    end_of(a->userspace_addr, a->memory_size) > shim_user_end)
			return -EFAULT;
	for (a = region; a < region + n_regions; a++)
		for (b = a + 1; b < region + n_regions; b++)
			if (a->guest_phys_addr < end_of(b->guest_phys_addr, b->memory_size) &&
			    b->guest_phys_addr < end_of(a->guest_phys_addr, a->memory_size))
				return -EINVAL;
	return 0;
}

static void look(const struct kvnet_memtable *mem, u64 addr, u32 hint)
{
	const struct vhost_memory_region *r;
	u32 was = hint;
	const struct kvnet_region *found = kvnet_memtable_find(mem, addr, &hint);

	for (r = region; r < region + n_regions; r++) {
		if (addr < r->guest_phys_addr ||
		    addr >= end_of(r->guest_phys_addr, r->memory_size))
			continue;
		if (!EXPECT_TRUE(found))
			return;
		EXPECT_TRUE(hint < mem->n && found == &mem->region[hint]);
		EXPECT_EQ(found->gpa, r->guest_phys_addr);
		EXPECT_EQ(found->last, r->guest_phys_addr + (r->memory_size - 1));
		EXPECT_EQ(found->hva, r->userspace_addr);
		return;
	}
	EXPECT_TRUE(!found);
	EXPECT_EQ(hint, was);
}

void fuzz_one(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	const struct vhost_memory_region *r;
	struct kvnet_memtable *mem;
	unsigned int i;
	int ret;
	u8 how;

	shim_reset();
	how = take8(&in);
	read_regions(&in);
	shim_tag = how & 1 ? 0xff00 : 0;
	shim_alloc_budget = how & 2 ? 0 : -1;
	ret = shim_alloc_budget ? want() : -ENOMEM;
	mem = kvnet_memtable_build(region, n_regions);
	EXPECT_EQ(IS_ERR(mem) ? PTR_ERR(mem) : 0, ret);
	if (IS_ERR(mem)) {
		EXPECT_EQ(shim_alloc_live, 0);
		return;
	}
	for (r = region; r < region + n_regions; r++)
		for (i = 0; i < 6; i++)
			look(mem, r->guest_phys_addr + (i & 1 ? r->memory_size : 0) + i / 2 - 1,
			     take8(&in) % (MAX_REGIONS + 2));
	look(mem, 0, U32_MAX);
	look(mem, U64_MAX, 0);
	look(mem, take64(&in), take32(&in));
	kvnet_memtable_free(mem);
	EXPECT_EQ(shim_alloc_live, 0);
}

#ifndef UNIT_LIBFUZZER
CASE_ROW(fuzz_tables, fuzz_random(100000, 120))
#endif
