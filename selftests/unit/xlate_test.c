// SPDX-License-Identifier: GPL-2.0
/* Translation: lengths add up, byte for byte the same memory, or an error. */
#include "xlate.h"

#include <linux/err.h>
#include <linux/kernel.h>

#include "shim.h"
#include "unit.h"

#define GUARD	((void *)0x5a5a)

static const struct vhost_memory_region layout[] = {
	{ .guest_phys_addr = 0, .memory_size = 16, .userspace_addr = 1000 },
	{ .guest_phys_addr = 16, .memory_size = 1, .userspace_addr = 2000 },
	{ .guest_phys_addr = 17, .memory_size = 1, .userspace_addr = 3000 },
	{ .guest_phys_addr = 18, .memory_size = 30, .userspace_addr = 4000 },
	{ .guest_phys_addr = 64, .memory_size = 64, .userspace_addr = 5000 },
	/* the owner's side goes on where the region before ends */
	{ .guest_phys_addr = 128, .memory_size = 8, .userspace_addr = 5064 },
	{ .guest_phys_addr = 1ULL << 32, .memory_size = 1ULL << 33,
	  .userspace_addr = 1ULL << 40 },
	{ .guest_phys_addr = U64_MAX - 7, .memory_size = 8,
	  .userspace_addr = 9000 },
};

static struct kvnet_memtable *build(void)
{
	shim_reset();
	return kvnet_memtable_build(layout, ARRAY_SIZE(layout));
}

/* Segments of one direction, by the memory table. */
static int xlate(struct kvnet_memtable *mem, u32 *hint, const struct kvnet_seg *seg,
		 unsigned int n, struct iovec *iov, unsigned int cap)
{
	struct kvnet_xlate_ctx space = { .mem = mem, .hint = *hint };
	int ret = kvnet_xlate_segs(&space, seg, n, 0, iov, cap);

	*hint = space.hint;
	return ret;
}

struct row {
	const char *what;
	u64 addr;
	u32 len;
	unsigned int cap;
	int ret;
	struct { u64 base; u64 len; } iov[4];
};

static const struct row rows[] = {
	{ "nothing", 0, 0, 4, 0, {} },
	{ "nothing, nowhere", 1000, 0, 4, 0, {} },
	{ "nothing, no room", 0, 0, 0, 0, {} },
	{ "a whole region", 0, 16, 4, 1, { { 1000, 16 } } },
	{ "the last byte", 15, 1, 4, 1, { { 1015, 1 } } },
	{ "over a border", 15, 2, 4, 2, { { 1015, 1 }, { 2000, 1 } } },
	{ "over three borders", 14, 5, 4, 4,
	  { { 1014, 2 }, { 2000, 1 }, { 3000, 1 }, { 4000, 1 } } },
	{ "no room for the fourth", 14, 5, 3, -EMSGSIZE, {} },
	{ "no room at all", 0, 1, 0, -EMSGSIZE, {} },
	{ "a one-byte region", 16, 1, 4, 1, { { 2000, 1 } } },
	{ "into a hole", 47, 2, 4, -EFAULT, {} },
	{ "up to a hole", 47, 1, 4, 1, { { 4029, 1 } } },
	{ "from a hole", 63, 2, 4, -EFAULT, {} },
	{ "in a hole", 50, 4, 4, -EFAULT, {} },
	{ "a hole, no room", 50, 4, 0, -EFAULT, {} },
	{ "neighbours are not joined", 127, 2, 4, 2,
	  { { 5063, 1 }, { 5064, 1 } } },
	{ "4 GiB - 1", 1ULL << 32, U32_MAX, 4, 1, { { 1ULL << 40, U32_MAX } } },
	{ "4 GiB - 1, off 1", (1ULL << 32) + 1, U32_MAX, 4, 1,
	  { { (1ULL << 40) + 1, U32_MAX } } },
	{ "4 GiB - 1, past the end", (3ULL << 32) - 1, U32_MAX, 4, -EFAULT,
	  {} },
	{ "the last bytes", U64_MAX - 7, 8, 4, 1, { { 9000, 8 } } },
	{ "the very last byte", U64_MAX, 1, 4, 1, { { 9007, 1 } } },
};

CASE(xlate_one_segment)
{
	static const u32 hints[] = { 0, 1, 3, 7, 8, U32_MAX };
	struct kvnet_memtable *mem = build();
	struct iovec iov[5];
	unsigned int i, h;
	int ret, k;
	u32 hint;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		struct kvnet_seg seg = { row->addr, row->len };

		for (h = 0; h < ARRAY_SIZE(hints); h++) {
			unit_context("%s, hint %u", row->what, hints[h]);
			hint = hints[h];
			iov[row->cap].iov_base = GUARD;
			ret = xlate(mem, &hint, &seg, 1, iov, row->cap);
			EXPECT_EQ(ret, row->ret);
			EXPECT_TRUE(iov[row->cap].iov_base == GUARD);
			for (k = 0; k < ret; k++) {
				EXPECT_EQ((uintptr_t)iov[k].iov_base,
					  row->iov[k].base);
				EXPECT_EQ(iov[k].iov_len, row->iov[k].len);
			}
		}
	}
	kvnet_memtable_free(mem);
}

CASE(xlate_segment_that_ends_with_its_region_needs_no_lookup)
{
	struct kvnet_memtable *mem = build();
	struct kvnet_seg seg = { 64 + 60, 4 };
	struct iovec iov;

	EXPECT_TRUE(kvnet_xlate_seg_in_region(&mem->region[4], &seg, &iov));
	EXPECT_EQ((uintptr_t)iov.iov_base, 5060);
	EXPECT_EQ(iov.iov_len, 4);
	seg.len = 5;
	EXPECT_TRUE(!kvnet_xlate_seg_in_region(&mem->region[4], &seg, &iov));
	kvnet_memtable_free(mem);
}

CASE(xlate_no_segment)
{
	struct kvnet_memtable *mem = build();
	u32 hint = 0;

	EXPECT_EQ(xlate(mem, &hint, NULL, 0, NULL, 0), 0);
	kvnet_memtable_free(mem);
}

CASE(xlate_empty_table)
{
	struct kvnet_seg seg = { 0, 1 };
	struct kvnet_memtable *mem;
	struct iovec iov[1];
	u32 hint = 0;

	shim_reset();
	mem = kvnet_memtable_build(NULL, 0);
	EXPECT_EQ(xlate(mem, &hint, &seg, 1, iov, 1), -EFAULT);
	kvnet_memtable_free(mem);
}

/* Guest memory ends at 2^64: nothing goes on at address 0. */
CASE(xlate_segment_wraps)
{
	struct kvnet_seg seg = { U64_MAX - 3, 8 };
	struct kvnet_memtable *mem = build();
	struct iovec iov[4];
	u32 hint = 0;

	EXPECT_EQ(xlate(mem, &hint, &seg, 1, iov, 4), -EFAULT);
	kvnet_memtable_free(mem);
}
