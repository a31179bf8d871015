// SPDX-License-Identifier: GPL-2.0
/*
 * Translation behind an IOMMU: by the IOTLB and by nothing else, as far as it
 * allows; a miss names the very address and the access wanted.
 */
#include "xlate.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vhost_types.h>
#include <string.h>

#include "shim.h"
#include "unit.h"

#define RO	VHOST_ACCESS_RO
#define WO	VHOST_ACCESS_WO
#define RW	VHOST_ACCESS_RW
#define TOP	U64_MAX

static struct kvnet_xlate_ctx space_of(const struct kvnet_iotlb_entry *e, u32 n)
{
	/* what must not be asked */
	static struct kvnet_memtable no_mem;
	struct kvnet_xlate_ctx space = {
		.mem = &no_mem, .hint = unit_rand(), .miss_addr = 0x5a5a,
		.miss_perm = 0x5a,
	};

	space.iotlb = kvnet_iotlb_alloc(2048);
	while (n--)
		EXPECT_EQ(kvnet_iotlb_update(space.iotlb, e++), 0);
	return space;
}

static void expect_miss(const struct kvnet_xlate_ctx *space, u64 addr, u8 perm)
{
	EXPECT_EQ(space->miss_addr, addr);
	EXPECT_EQ(space->miss_perm, perm);
}

static const struct kvnet_iotlb_entry layout[] = {
	{ 0, 15, 1000, RO }, { 16, 31, 2000, WO }, { 32, 47, 3000, RW },
	/* goes on for the owner too */
	{ 48, 63, 3016, RW },
	{ 80, 95, 4000, 0 }, { 1ULL << 32, (3ULL << 32) - 1, 1ULL << 40, RW },
	{ TOP - 15, TOP, 5000, RW },
};

struct row {
	u64 addr;
	u32 len;
	u8 perm;
	int ret;
	u64 at;			/* the owner's address; or the miss */
	u32 part;
};

static const struct row rows[] = {
	{ 0, 1, RO, 0, 1000, 1 }, { 0, 16, RO, 0, 1000, 16 },
	{ 0, 17, RO, 0, 1000, 16 }, { 15, U32_MAX, RO, 0, 1015, 1 },
	{ 0, 1, WO, -EPERM }, { 16, 1, RO, -EPERM }, { 16, 1, WO, 0, 2000, 1 },
	{ 0, 1, RW, -EPERM }, { 16, 1, RW, -EPERM }, { 32, 1, RO, 0, 3000, 1 },
	{ 32, 1, WO, 0, 3000, 1 }, { 32, 1, RW, 0, 3000, 1 },
	{ 32, 32, RW, 0, 3000, 16 }, { 64, 1, RO, -EAGAIN, 64 },
	{ 79, 100, WO, -EAGAIN, 79 }, { 80, 1, RO, -EPERM },
	{ 80, 1, WO, -EPERM }, { 96, 1, RW, -EAGAIN, 96 },
	{ 1ULL << 32, U32_MAX, RO, 0, 1ULL << 40, U32_MAX },
	{ (3ULL << 32) - 1, 2, RO, 0, (1ULL << 40) + (2ULL << 32) - 1, 1 },
	{ 3ULL << 32, 2, WO, -EAGAIN, 3ULL << 32 },
	{ TOP, 1, RO, 0, 5015, 1 }, { TOP, U32_MAX, RO, 0, 5015, 1 },
	{ TOP - 15, 16, WO, 0, 5000, 16 }, { TOP - 16, 16, WO, -EAGAIN, TOP - 16 },
};

CASE(xlate_iotlb_span)
{
	struct kvnet_xlate_ctx space;
	void *base;
	unsigned int i, h;
	u32 len;

	shim_reset();
	space = space_of(layout, ARRAY_SIZE(layout));
	for (i = 0; i < ARRAY_SIZE(rows) * 9; i++) {
		const struct row *row = &rows[i / 9];

		h = i % 9;
		unit_context("row %u, hint %u", i / 9, h);
		space.hint = h < 8 ? h : U32_MAX;
		space.miss_addr = 0x5a5a;
		space.miss_perm = 0x5a;
		len = row->len;
		EXPECT_EQ(kvnet_xlate_span(&space, row->addr, row->perm, &len,
					   &base), row->ret);
		if (row->ret == -EAGAIN)
			expect_miss(&space, row->at, row->perm);
		else
			expect_miss(&space, 0x5a5a, 0x5a);
		if (row->ret)
			continue;
		EXPECT_EQ((uintptr_t)base, row->at);
		EXPECT_EQ(len, row->part);
	}
	kvnet_iotlb_free(space.iotlb);
}

/* All 2^64 addresses in one: as many bytes as none. */
CASE(xlate_iotlb_everything)
{
	const struct kvnet_iotlb_entry e = { 0, TOP, 0, RW };
	struct kvnet_xlate_ctx space;
	void *base;
	u32 len = 100;

	shim_reset();
	space = space_of(&e, 1);
	EXPECT_EQ(kvnet_xlate_span(&space, 0, RO, &len, &base), 0);
	EXPECT_EQ(len, 100);
	EXPECT_EQ(kvnet_xlate_span(&space, TOP - 9, RO, &len, &base), 0);
	EXPECT_EQ(len, 10);
	EXPECT_EQ((uintptr_t)base, TOP - 9);
	kvnet_iotlb_free(space.iotlb);
}

struct chain_row {
	const char *what;
	struct kvnet_seg seg[4];
	unsigned int n_out, n_in, cap;
	int ret;
	u64 miss;
	u8 perm;
};

static const struct chain_row chains[] = {
	{ "out", { { 0, 16 } }, 1, 0, 8, 1 },
	{ "in", { { 16, 16 } }, 0, 1, 8, 1 },
	{ "out and in", { { 0, 16 }, { 16, 16 } }, 1, 1, 8, 2 },
	{ "not to be written", { { 16, 16 } }, 1, 0, 8, -EPERM },
	{ "not to be read", { { 0, 16 } }, 0, 1, 8, -EPERM },
	{ "the second is not to be read", { { 0, 1 }, { 0, 1 } }, 1, 1, 8,
	  -EPERM },
	{ "runs into what is not to be read", { { 15, 2 } }, 1, 0, 8, -EPERM },
	{ "into the unknown", { { 40, 25 } }, 1, 0, 8, -EAGAIN, 64, RO },
	{ "into the unknown, written", { { 40, 25 } }, 0, 1, 8, -EAGAIN, 64,
	  WO },
	{ "unknown, second", { { 32, 1 }, { 70, 9 } }, 1, 1, 8, -EAGAIN, 70,
	  WO },
	{ "unknown, after no room", { { 32, 1 }, { 70, 9 } }, 1, 1, 1, -EAGAIN,
	  70, WO },
	{ "no room", { { 32, 1 }, { 32, 1 } }, 1, 1, 1, -EMSGSIZE },
	/* nothing is looked for behind the first that there is no room for */
	{ "no room, then unknown", { { 40, 25 } }, 0, 1, 1, -EMSGSIZE },
	{ "no room, then unknown, second", { { 40, 16 }, { 70, 9 } }, 0, 2, 1,
	  -EMSGSIZE },
	{ "neighbours are not joined", { { 40, 16 } }, 0, 1, 8, 2 },
	{ "the last byte", { { TOP, 1 } }, 1, 0, 8, 1 },
	{ "wraps", { { TOP, 2 } }, 1, 0, 8, -EFAULT },
	{ "wraps, unknown", { { TOP - 100, 200 } }, 1, 0, 8, -EFAULT },
	{ "empty, unknown", { { 70, 0 } }, 1, 0, 8, 0 },
};

CASE(xlate_iotlb_chain)
{
	struct kvnet_xlate_ctx space;
	struct iovec iov[8];
	unsigned int i;

	shim_reset();
	space = space_of(layout, ARRAY_SIZE(layout));
	for (i = 0; i < ARRAY_SIZE(chains); i++) {
		const struct chain_row *row = &chains[i];

		unit_context("%s", row->what);
		EXPECT_EQ(kvnet_xlate_segs(&space, row->seg, row->n_out, row->n_in, iov, row->cap),
			  row->ret);
		if (row->ret == -EAGAIN)
			expect_miss(&space, row->miss, row->perm);
	}
	kvnet_iotlb_free(space.iotlb);
}

/* The answer to each miss in turn leads through the whole of it. */
CASE(xlate_iotlb_miss_by_miss)
{
	struct kvnet_seg seg[2] = { { 1000, 100 }, { 5000, 50 } };
	struct kvnet_iotlb_entry e;
	struct kvnet_xlate_ctx space;
	struct iovec iov[150];
	unsigned int i;

	shim_reset();
	space = space_of(NULL, 0);
	for (i = 0; i < 150; i++) {
		EXPECT_EQ(kvnet_xlate_segs(&space, seg, 1, 1, iov, 150), -EAGAIN);
		expect_miss(&space, i < 100 ? 1000 + i : 4900 + i,
			    i < 100 ? RO : WO);
		e.iova = e.last = space.miss_addr;
		e.perm = space.miss_perm;
		e.hva = 100000 + 2 * i;
		EXPECT_EQ(kvnet_iotlb_update(space.iotlb, &e), 0);
	}
	EXPECT_EQ(kvnet_xlate_segs(&space, seg, 1, 1, iov, 149), -EMSGSIZE);
	EXPECT_EQ(kvnet_xlate_segs(&space, seg, 1, 1, iov, 150), 150);
	for (i = 0; i < 150; i++)
		EXPECT_EQ((uintptr_t)iov[i].iov_base, 100000 + 2 * i);
	kvnet_iotlb_free(space.iotlb);
}

static struct kvnet_area_piece pieces[KVNET_AREA_PIECES + 1];

static struct kvnet_area new_area(void)
{
	memset(pieces, 0x5a, sizeof(pieces));
	return (struct kvnet_area) { .piece = pieces };
}

CASE(xlate_area_one_piece)
{
	struct kvnet_area a = new_area();
	struct kvnet_xlate_ctx space;
	u32 len = 8;

	shim_reset();
	space = space_of(layout, ARRAY_SIZE(layout));
	/* two translations, one piece */
	EXPECT_EQ(kvnet_xlate_area(&space, 33, RW, 31, &a), 0);
	EXPECT_EQ(a.n, 1);
	EXPECT_EQ(a.len, 31);
	EXPECT_EQ((uintptr_t)a.base, 3001);
	EXPECT_EQ((uintptr_t)kvnet_area_find(&a, 1, &len), 3002);
	EXPECT_EQ(len, 8);
	/* then in two: nothing is left of the one */
	EXPECT_EQ(kvnet_xlate_area(&space, 16, WO, 32, &a), 0);
	EXPECT_EQ(a.n, 2);
	EXPECT_EQ(a.len, 32);
	EXPECT_TRUE(!a.base);
	EXPECT_EQ((uintptr_t)kvnet_area_find(&a, 15, &len), 2015);
	EXPECT_EQ(len, 1);
	kvnet_iotlb_free(space.iotlb);
}

CASE(xlate_area_errors)
{
	static const struct row errors[] = {
		{ 40, 24 + 1, RO, -EAGAIN, 64 }, { 40, 24 + 1, WO, -EAGAIN, 64 },
		{ 79, 1, WO, -EAGAIN, 79 }, { 15, 2, RO, -EPERM },
		{ 0, 1, WO, -EPERM }, { 80, 1, RO, -EPERM },
		{ TOP, 2, RO, -EFAULT }, { TOP - 100, 102, RO, -EFAULT },
		{ TOP - 15, 16, RO, 0 }, { TOP - 16, 17, RO, -EAGAIN, TOP - 16 },
		{ TOP, 1, RO, 0 },
	};
	struct kvnet_area a = new_area();
	struct kvnet_xlate_ctx space;
	unsigned int i;

	shim_reset();
	space = space_of(layout, ARRAY_SIZE(layout));
	for (i = 0; i < ARRAY_SIZE(errors); i++) {
		unit_context("row %u", i);
		EXPECT_EQ(kvnet_xlate_area(&space, errors[i].addr,
					   errors[i].perm, errors[i].len, &a),
			  errors[i].ret);
		if (errors[i].ret == -EAGAIN)
			expect_miss(&space, errors[i].at, errors[i].perm);
	}
	kvnet_iotlb_free(space.iotlb);
}

/* The owner's address 0 is one as any other. */
CASE(xlate_area_at_owners_zero)
{
	const struct kvnet_iotlb_entry e = { 64, 127, 0, RW };
	struct kvnet_area a = new_area();
	struct kvnet_xlate_ctx space;
	__virtio16 val;
	u8 mem[64] = { 1, 2, 3, 4 };

	shim_reset();
	shim_map(0, mem, sizeof(mem));
	space = space_of(&e, 1);
	EXPECT_EQ(kvnet_xlate_area(&space, 64, RO, 64, &a), 0);
	EXPECT_EQ(kvnet_area_load16(&a, 2, &val), 0);
	EXPECT_TRUE(!memcmp(&val, mem + 2, 2));
	kvnet_iotlb_free(space.iotlb);
}

/* Single pages that do not go on: up to KVNET_AREA_PIECES of them. */
CASE(xlate_area_too_many_pieces)
{
	struct kvnet_iotlb_entry e = { .perm = RW };
	struct kvnet_area a = new_area();
	struct kvnet_xlate_ctx space;
	u32 i, size = KVNET_AREA_PIECES * 4096;

	shim_reset();
	space = space_of(NULL, 0);
	for (i = 0; i <= KVNET_AREA_PIECES; i++) {
		e.iova = i * 4096;
		e.last = e.iova + 4095;
		e.hva = (1000 - 2 * i) * 4096;
		EXPECT_EQ(kvnet_iotlb_update(space.iotlb, &e), 0);
	}
	EXPECT_EQ(kvnet_xlate_area(&space, 0, RO, size, &a), 0);
	EXPECT_EQ(a.n, KVNET_AREA_PIECES);
	EXPECT_EQ(kvnet_xlate_area(&space, 1, RO, size, &a), -EMSGSIZE);
	EXPECT_EQ(kvnet_xlate_area(&space, 0, RO, size + 1, &a), -EMSGSIZE);
	EXPECT_EQ((uintptr_t)pieces[KVNET_AREA_PIECES].base,
		  0x5a5a5a5a5a5a5a5a);
	/* many translations that go on are few pieces */
	for (i = 0; i <= KVNET_AREA_PIECES; i++) {
		e.iova = i * 4096;
		e.last = e.iova + 4095;
		e.hva = (1000 + i + (i > 70)) * 4096;
		EXPECT_EQ(kvnet_iotlb_update(space.iotlb, &e), 0);
	}
	EXPECT_EQ(kvnet_xlate_area(&space, 1, RO, size, &a), 0);
	EXPECT_EQ(a.n, 2);
	EXPECT_EQ(a.piece[1].off, 71 * 4096 - 1);
	kvnet_iotlb_free(space.iotlb);
	EXPECT_EQ(shim_alloc_live, 0);
}
