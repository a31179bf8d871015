// SPDX-License-Identifier: GPL-2.0
/* The memory table: regions sorted, disjoint, no wrap-around; lookup total. */
#include "memtable.h"

#include <limits.h>
#include <linux/err.h>
#include <linux/kernel.h>
#include <linux/uaccess.h>

#include "shim.h"
#include "unit.h"



struct row {
	const char *what;
	u32 n;
	struct vhost_memory_region r[3];
	int ret;
};

#define REGION(gpa, len, hva) \
	{ .guest_phys_addr = (gpa), .memory_size = (len), \
	  .userspace_addr = (hva) }

static const struct row rows[] = {
	{ "no region", 0, {}, 0 },
	{ "one byte at 0", 1, { REGION(0, 1, 0) }, 0 },
	{ "the last byte", 1, { REGION(U64_MAX, 1, 4096) }, 0 },
	{ "up to the last byte", 1, { REGION(U64_MAX - 4095, 4096, 4096) }, 0 },
	{ "wraps by one", 1, { REGION(U64_MAX - 4095, 4097, 4096) }, -EFAULT },
	{ "wraps to 0", 1, { REGION(U64_MAX, 2, 4096) }, -EFAULT },
	{ "wraps far", 1, { REGION(U64_MAX, U64_MAX, 0) }, -EFAULT },
	{ "empty", 1, { REGION(4096, 0, 4096) }, -EFAULT },
	{ "empty at 0", 1, { REGION(0, 0, 0) }, -EFAULT },
	{ "empty, second", 2,
	  { REGION(0, 4096, 0), REGION(4096, 0, 4096) }, -EFAULT },
	{ "owner's side wraps", 1, { REGION(0, 4096, U64_MAX - 4094) },
	  -EFAULT },
	{ "owner's side ends at the top", 1,
	  { REGION(0, 4096, U64_MAX - 4095) }, -EFAULT },
	{ "kernel address", 1, { REGION(0, 4096, 0xffff888000000000ULL) },
	  -EFAULT },
	{ "ends in the kernel", 1, { REGION(0, 4097, (1ULL << 47) - 4096) },
	  -EFAULT },
	{ "ends at the user's end", 1,
	  { REGION(0, 4096, (1ULL << 47) - 4096) }, 0 },
	{ "everything", 1, { REGION(0, U64_MAX, 0) }, -EFAULT },
	{ "all of the user's", 1, { REGION(0, 1ULL << 47, 0) }, 0 },
	{ "neighbours", 2,
	  { REGION(0, 4096, 0), REGION(4096, 4096, 65536) }, 0 },
	{ "neighbours, unsorted", 2,
	  { REGION(4096, 4096, 65536), REGION(0, 4096, 0) }, 0 },
	{ "neighbours of one byte", 3,
	  { REGION(2, 1, 0), REGION(0, 1, 1), REGION(1, 1, 2) }, 0 },
	{ "overlap by one", 2,
	  { REGION(0, 4097, 0), REGION(4096, 4096, 65536) }, -EINVAL },
	{ "overlap by one, unsorted", 2,
	  { REGION(4096, 4096, 65536), REGION(0, 4097, 0) }, -EINVAL },
	{ "the same twice", 2,
	  { REGION(4096, 4096, 0), REGION(4096, 4096, 0) }, -EINVAL },
	{ "one within another", 2,
	  { REGION(0, 65536, 0), REGION(4096, 1, 65536) }, -EINVAL },
	{ "first and third overlap", 3,
	  { REGION(0, 8192, 0), REGION(65536, 1, 0), REGION(8191, 2, 0) },
	  -EINVAL },
	{ "both ends of the world", 2,
	  { REGION(U64_MAX, 1, 0), REGION(0, 1, 1) }, 0 },
	{ "owner's side shared", 2,
	  { REGION(0, 4096, 0), REGION(65536, 4096, 0) }, 0 },
};

CASE(mem_build_table)
{
	struct kvnet_memtable *mem;
	unsigned int i;
	u32 k;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unit_context("%s", rows[i].what);
		shim_reset();
		mem = kvnet_memtable_build(rows[i].r, rows[i].n);
		EXPECT_EQ(IS_ERR(mem) ? PTR_ERR(mem) : 0, rows[i].ret);
		if (IS_ERR(mem)) {
			EXPECT_EQ(shim_alloc_live, 0);
			continue;
		}
		EXPECT_EQ(mem->n, rows[i].n);
		for (k = 1; k < mem->n; k++)
			EXPECT_TRUE(mem->region[k - 1].last <
				    mem->region[k].gpa);
		kvnet_memtable_free(mem);
		EXPECT_EQ(shim_alloc_live, 0);
	}
}

/* Nobody would be told of what goes at an address that the kernel calls by another name. */
CASE(mem_build_with_tags)
{
	const struct vhost_memory_region r[] = { REGION(0, 4096, 1ULL << 56 | 4096) };
	struct kvnet_memtable *mem;

	shim_reset();
	shim_tag = 0xffULL << 56;
	EXPECT_EQ(PTR_ERR(kvnet_memtable_build(r, 1)), -EFAULT);
	EXPECT_TRUE(!kvnet_memtable_is_user_range(r->userspace_addr, 1));
	mem = kvnet_memtable_build(rows[2].r, rows[2].n);
	EXPECT_TRUE(!IS_ERR(mem));
	kvnet_memtable_free(mem);
	/* x86 from 6.4 to 6.11: they are none yet, and nothing but the sign is looked at */
	shim_tag = 0;
	shim_user_end = U64_MAX >> 1;
	EXPECT_EQ(PTR_ERR(kvnet_memtable_build(r, 1)), -EFAULT);
	EXPECT_TRUE(!kvnet_memtable_is_user_range(r->userspace_addr, 1));
	EXPECT_TRUE(kvnet_memtable_is_user_range(TASK_SIZE_MAX - 4096, 4096));
	EXPECT_TRUE(!kvnet_memtable_is_user_range(TASK_SIZE_MAX - 4096, 4097));
	shim_reset();
}

/* Bits that are ignored may lie below what a process could have, and it may have less. */
CASE(mem_users_of_less)
{
	shim_reset();
	shim_tag = 1ULL << 40;
	EXPECT_TRUE(kvnet_memtable_is_user_range(4096, 4096));
	EXPECT_TRUE(!kvnet_memtable_is_user_range(1ULL << 40 | 4096, 4096));
	shim_reset();
	shim_user_end = 1ULL << 30;
	EXPECT_TRUE(kvnet_memtable_is_user_range((1ULL << 30) - 4096, 4096));
	EXPECT_TRUE(!kvnet_memtable_is_user_range((1ULL << 30) - 4096, 4097));
	EXPECT_TRUE(!kvnet_memtable_is_user_range(1ULL << 30, 1));
	shim_reset();
}

CASE(mem_build_no_memory)
{
	shim_reset();
	shim_alloc_budget = 0;
	EXPECT_EQ(PTR_ERR(kvnet_memtable_build(rows[1].r, 1)), -ENOMEM);
	EXPECT_EQ(shim_alloc_live, 0);
	shim_reset();
}

CASE(mem_find_borders)
{
	static const struct vhost_memory_region r[] = {
		REGION(U64_MAX, 1, 7), REGION(0, 1, 8), REGION(100, 10, 1000),
		REGION(110, 1, 5000), REGION(1ULL << 32, 4096, 8192),
	};
	static const struct { u64 addr; u64 hva; } want[] = {
		{ 0, 8 }, { 1, 0 }, { 99, 0 }, { 100, 1000 }, { 109, 1009 },
		{ 110, 5000 }, { 111, 0 }, { U32_MAX, 0 },
		{ 1ULL << 32, 8192 }, { (1ULL << 32) + 4095, 12287 },
		{ (1ULL << 32) + 4096, 0 }, { U64_MAX - 1, 0 }, { U64_MAX, 7 },
	};
	static const u32 hints[] = { 0, 1, 2, 3, 4, 5, 6, U32_MAX };
	const struct kvnet_region *found;
	struct kvnet_memtable *mem;
	unsigned int i, h;
	u32 hint;

	shim_reset();
	mem = kvnet_memtable_build(r, ARRAY_SIZE(r));
	if (!EXPECT_TRUE(!IS_ERR(mem)))
		return;
	for (i = 0; i < ARRAY_SIZE(want); i++) {
		for (h = 0; h < ARRAY_SIZE(hints); h++) {
			unit_context("row %u, hint %u", i, hints[h]);
			hint = hints[h];
			found = kvnet_memtable_find(mem, want[i].addr, &hint);
			EXPECT_EQ(!!found, !!want[i].hva);
			if (!found) {
				EXPECT_EQ(hint, hints[h]);
				continue;
			}
			EXPECT_EQ(found->hva + (want[i].addr - found->gpa),
				  want[i].hva);
			EXPECT_TRUE(found == &mem->region[hint]);
		}
	}
	kvnet_memtable_free(mem);
}

CASE(mem_find_in_nothing)
{
	struct kvnet_memtable *mem;
	u32 hint = 0;

	shim_reset();
	mem = kvnet_memtable_build(NULL, 0);
	EXPECT_TRUE(!IS_ERR(mem));
	EXPECT_TRUE(!kvnet_memtable_find(mem, 0, &hint));
	EXPECT_TRUE(!kvnet_memtable_find(mem, U64_MAX, &hint));
	kvnet_memtable_free(mem);
}
