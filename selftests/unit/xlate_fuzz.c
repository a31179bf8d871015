// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to what guest addresses mean, by a memory table or an IOTLB, and to a chain and
 * a ring's area: the pieces are those that a naive second translator finds, or the
 * error is.
 */
#include "xlate.h"

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/limits.h>

#include "fuzz.h"
#include "shim.h"
#include "unit.h"

#define MAX_REGIONS	8
#define MAX_SEGS	6
#define MAX_PLACES	150
#define MAX_PIECES	12
#define MAX_AREA	200

const char fuzz_name[] = "xlate";

static struct place {
	u64 first, last, hva;
	u8 perm;
} place[MAX_PLACES];
static u32 n_places;
static bool by_iotlb;

static struct iovec ref[MAX_AREA], got[MAX_PIECES + 1];
static u32 n_ref;
static u64 ref_miss;
static u8 ref_miss_perm;

/* One byte each, each somewhere else: more than an area may have pieces. */
static void make_comb(void)
{
	for (n_places = 0; n_places < MAX_PLACES; n_places++)
		place[n_places] = (struct place) { n_places, n_places, 1 + 2 * n_places, 3 };
}

/* Disjoint, now and then neighbours, wherever addresses are. */
static void read_places(struct input *in)
{
	u64 at = take8(in) & 1 ? take64(in) : 0, len;
	u32 n = take8(in) % (MAX_REGIONS + 1);

	for (n_places = 0; n_places < n; n_places++) {
		struct place *p = &place[n_places];

		p->first = at + take8(in) % 4;
		len = take8(in);
		len = len < 0xf0 ? len % 16 : (u64)len << (take8(in) % 56);
		p->last = p->first + len;
		/* not at 0, which stands for nowhere where a memory table is asked */
		p->hva = ((u64)take32(in) << (take8(in) % 8)) + 1;
		p->perm = take8(in) & 3;
		if (p->first < at || p->last < p->first || p->last == U64_MAX ||
		    p->hva + len >= shim_user_end)
			return;
		at = p->last + 1;
	}
}

static const struct place *place_of(u64 addr)
{
	u32 i;

	for (i = 0; i < n_places; i++)
		if (addr >= place[i].first && addr <= place[i].last)
			return &place[i];
	return NULL;
}

/* Pieces of a range; returns how many there are then, or an error. */
static int ref_pieces(u64 addr, u32 len, u8 perm, int used, unsigned int cap)
{
	const struct place *p;
	u64 part;

	if (len && addr + (len - 1) < addr)
		return -EFAULT;
	for (; len; len -= part, addr += part) {
		p = place_of(addr);
		if (!p && !by_iotlb)
			return -EFAULT;
		if (!p) {
			ref_miss = addr;
			ref_miss_perm = perm;
			return -EAGAIN;
		}
		if (by_iotlb && (p->perm & perm) != perm)
			return -EPERM;
		if (used >= cap)
			return -EMSGSIZE;
		part = min_t(u64, len - 1, p->last - addr) + 1;
		ref[used].iov_base = (void *)(p->hva + (addr - p->first));
		ref[used++].iov_len = part;
		n_ref = used;
	}
	return used;
}

static u64 read_addr(struct input *in)
{
	u8 what = take8(in);
	const struct place *p = &place[what % MAX_REGIONS];

	if (what >= 0xf0 || what % MAX_REGIONS >= n_places)
		return take64(in);
	return what & 8 ? p->last - take8(in) % 8 : p->first + take8(in) % 16;
}

static u32 read_len(struct input *in)
{
	u8 len = take8(in);

	return len < 0xf0 ? len % 24 : take32(in);
}

static void check_chain(struct kvnet_xlate_ctx *space, struct input *in)
{
	struct kvnet_seg seg[MAX_SEGS];
	unsigned int cap = take8(in) % (MAX_PIECES + 1), i, n, n_out;
	int want = 0, ret;

	n = take8(in) % (MAX_SEGS + 1);
	n_out = take8(in) % (n + 1);
	for (i = 0; i < n; i++) {
		seg[i].addr = read_addr(in);
		seg[i].len = read_len(in);
		if (want >= 0)
			want = ref_pieces(seg[i].addr, seg[i].len, i < n_out ?
					  VHOST_ACCESS_RO : VHOST_ACCESS_WO, want, cap);
	}
	got[cap].iov_len = 12345;
	ret = kvnet_xlate_segs(space, seg, n_out, n - n_out, got, cap);
	EXPECT_EQ(got[cap].iov_len, 12345);
	EXPECT_EQ(ret, want);
	for (i = 0; (int)i < ret; i++) {
		EXPECT_EQ((uintptr_t)got[i].iov_base, (uintptr_t)ref[i].iov_base);
		EXPECT_EQ(got[i].iov_len, ref[i].iov_len);
	}
	if (ret == -EAGAIN) {
		EXPECT_EQ(space->miss_addr, ref_miss);
		EXPECT_EQ(space->miss_perm, ref_miss_perm);
	}
}

/* All of it in order, and pieces only where it is not in one. */
static void check_area(struct kvnet_xlate_ctx *space, struct input *in)
{
	struct kvnet_area_piece piece[KVNET_AREA_PIECES];
	struct kvnet_area area = { .piece = piece };
	u64 addr = read_addr(in);
	u32 size = 1 + take8(in) % MAX_AREA, off, part, n = 1, i;
	u8 perm = 1 + take8(in) % 3;
	int want = ref_pieces(addr, size, perm, n_ref = 0, MAX_AREA);
	int ret = kvnet_xlate_area(space, addr, perm, size, &area);

	for (i = 1; i < n_ref; i++)
		n += ref[i].iov_base != ref[i - 1].iov_base + ref[i - 1].iov_len;
	if (n > KVNET_AREA_PIECES)
		want = -EMSGSIZE;
	i = 0;
	EXPECT_EQ(ret, min(want, 0));
	if (ret || want < 0)
		return;
	EXPECT_EQ(area.n, n);
	EXPECT_EQ(area.len, size);
	EXPECT_EQ(!!area.base, area.n == 1);
	for (off = 0; off < size; off += part) {
		part = ref[i].iov_len;
		EXPECT_EQ((uintptr_t)kvnet_area_find(&area, off, &part),
			  (uintptr_t)ref[i].iov_base);
		EXPECT_EQ(part, ref[i].iov_len);
		i++;
	}
	part = 1;
	EXPECT_TRUE(!kvnet_area_find(&area, size, &part));
}

static struct kvnet_memtable *table(void)
{
	struct vhost_memory_region region[MAX_PLACES];
	u32 i;

	for (i = 0; i < n_places; i++)
		region[i] = (struct vhost_memory_region) {
			.guest_phys_addr = place[i].first,
			.memory_size = place[i].last - place[i].first + 1,
			.userspace_addr = place[i].hva,
		};
	return kvnet_memtable_build(region, n_places);
}

static struct kvnet_iotlb *iotlb(void)
{
	struct kvnet_iotlb *tlb = kvnet_iotlb_alloc(MAX_PLACES);
	u32 i;

	for (i = n_places; i--;) {
		const struct kvnet_iotlb_entry entry = {
			.iova = place[i].first, .last = place[i].last,
			.hva = place[i].hva, .perm = place[i].perm,
		};

		EXPECT_EQ(kvnet_iotlb_update(tlb, &entry), 0);
	}
	return tlb;
}

void fuzz_one(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	struct kvnet_xlate_ctx space = { 0 };
	unsigned int i, n;
	u8 how;

	shim_reset();
	how = take8(&in);
	by_iotlb = how & 1;
	if (how < 0xf0)
		read_places(&in);
	else
		make_comb();
	space.mem = table();
	if (!EXPECT_TRUE(!IS_ERR(space.mem)))
		return;
	space.iotlb = by_iotlb ? iotlb() : NULL;
	space.hint = take32(&in);
	n = 1 + take8(&in) % 4;
	for (i = 0; i < n; i++) {
		check_chain(&space, &in);
		if (take8(&in) & 1)
			check_area(&space, &in);
	}
	kvnet_iotlb_free(space.iotlb);
	kvnet_memtable_free(space.mem);
	EXPECT_EQ(shim_alloc_live, 0);
}

#ifndef UNIT_LIBFUZZER
CASE_ROW(fuzz_translations, fuzz_random(100000, 160))
#endif
