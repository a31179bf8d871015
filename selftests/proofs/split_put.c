// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_put() of a split ring writes only into the used ring, each element where the
 *	driver looks for it, and the index last (virtio 1.3, 2.7.8.2); on error it leaves the ring
 *	as it was; it keeps the distance for kvnet_ring_should_call(), or says that it is lost
 * @bounds: 1 and 2 entries; up to 3 chains; without VIRTIO_F_IN_ORDER
 * @sources: vq/ring_split.c vq/chain.c mem/area.c
 * @unwind: 5
 * @mutant: vq/ring_split.c: if (n > r->num) => if (n > r->num + 1)
 * @mutant: vq/ring_split.c: unsigned int part = min_t(unsigned int, n, r->num - at);\n	int => unsigned int part = min_t(unsigned int, n, r->num);\n	int
 * @mutant: vq/ring_split.c: if ((u16)(idx - r->signalled_used) < n) => if (idx < r->signalled_used)
 * @mutant: vq/ring_split.c: write_used_elems(r, 0, used + part, n - part) => write_used_elems(r, 0, used, n - part)
 */
#define GUEST_HOOKS
#define RING_MAX	2
#include "any_ring.h"

#define USED_MAX	(RING_MAX + 1)

static struct kvnet_used used[USED_MAX];
static struct kvnet_ring r;
static bool index_written, elem_written;
static u16 used_idx;
static uintptr_t elem_at;	/* where one of the elements belongs */
static u64 elem;		/* and what it is */

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
		ASSERT(((const u64 *)val)[(elem_at - at) / 8] == elem);
		elem_written = true;
	}
}

int main(void)
{
	u32 n = any_u32(), nth = any_u32(), since = any_u32();
	struct kvnet_ring old;
	int ret;

	r = any_ring(false);
	r.in_order = false;
	old = r;
	__CPROVER_havoc_object(used);
	ASSUME(n <= USED_MAX);
	ASSUME(IMPLIES(r.signalled_used_valid,
		       since <= U16_MAX && (u16)since == (u16)(r.last_used - r.signalled_used)));
	ASSUME(nth < n);
	elem_at = guest_windows[2].start + 4 + 8 * ((u16)(r.last_used + nth) % r.num);
	elem = r.le ? used[nth].id | (u64)used[nth].len << 32 :
		      __builtin_bswap64((u64)used[nth].id << 32 | used[nth].len);

	ret = kvnet_ring_put(&r, used, n);

	ASSERT(ring_is_sound(&r));
	ASSERT(ret == 0 || ret == -EFAULT || (ret == -EINVAL && n > r.num));
	if (ret) {
		ASSERT(!index_written);
		ASSERT(ring_is_unchanged(&r, &old));
		return 0;
	}
	ASSERT(elem_written && index_written);
	ASSERT(r.last_used == (u16)(old.last_used + n));
	ASSERT(used_idx == (r.le ? r.last_used : __builtin_bswap16(r.last_used)));
	if (r.signalled_used_valid)
		ASSERT(since + n <= U16_MAX &&
		      (u16)(since + n) == (u16)(r.last_used - r.signalled_used));
	ASSERT(IMPLIES(old.signalled_used_valid && since + n <= U16_MAX, r.signalled_used_valid));
	return 0;
}
