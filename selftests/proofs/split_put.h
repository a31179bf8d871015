/* SPDX-License-Identifier: GPL-2.0 */
/*
 * split_put.h - kvnet_ring_put() of a split ring, and what it writes
 *
 * Define RING_MAX, if needed, before this header.
 */
#ifndef _PROOF_SPLIT_PUT_H
#define _PROOF_SPLIT_PUT_H

#define GUEST_HOOKS
#include "any_ring.h"

#define USED_MAX	3

static struct kvnet_used used[USED_MAX];
static struct kvnet_ring r;
static bool index_written, elem_written;
static u16 used_idx;
static uintptr_t elem_at;	/* one of the slots of the used ring */
static bool is_due;		/* it is to be written, */
static u64 elem;		/* and with this */

static void guest_has_read(uintptr_t at, const void *val, size_t len)
{
	ASSERT(false);
}

static void guest_has_written(uintptr_t at, const void *val, size_t len)
{
	uintptr_t start = guest_windows[2].start;

	/* nothing after the index: it makes all visible */
	ASSERT(!index_written);
	if (at == start + 2) {
		ASSERT(len == 2);
		used_idx = *(const u16 *)val;
		index_written = true;
		return;
	}
	ASSERT(at >= start + 4 && at + len <= start + 4 + 8 * r.num);
	if (elem_at - at < len) {
		ASSERT(is_due && ((const u64 *)val)[(elem_at - at) / 8] == elem);
		elem_written = true;
	}
}

static uintptr_t slot_of(u32 nth)
{
	return guest_windows[2].start + 4 + 8 * ((u16)(r.last_used + nth) % r.num);
}

static u64 elem_of(u32 nth)
{
	return r.le ? used[nth].id | (u64)used[nth].len << 32 :
		      __builtin_bswap64((u64)used[nth].id << 32 | used[nth].len);
}

/* False if it fails, and leaves the ring as it was. */
static bool put(u32 n)
{
	struct kvnet_ring old = r;
	int ret = kvnet_ring_put(&r, used, n);

	ASSERT(ring_is_sound(&r));
	ASSERT(ret == 0 || ret == -EFAULT || (ret == -EINVAL && n > r.num));
	if (ret) {
		ASSERT(!index_written);
		ASSERT(ring_is_unchanged(&r, &old));
		return false;
	}
	ASSERT(elem_written == is_due && index_written);
	ASSERT(r.last_used == (u16)(old.last_used + n));
	ASSERT(used_idx == (r.le ? r.last_used : __builtin_bswap16(r.last_used)));
	return true;
}

#endif /* _PROOF_SPLIT_PUT_H */
