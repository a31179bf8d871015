// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_put() of a split ring with VIRTIO_F_IN_ORDER writes the element of a batch's
 *	last buffer into the slot of its first, into no other slot, and the index last (virtio 1.3,
 *	2.7.8.2 and 2.7.9); a batch ends at the first buffer that must not be skipped; on error
 *	the ring is left as it was
 * @bounds: 1, 2 and 4 entries; up to 3 chains
 * @sources: vq/ring_split.c vq/chain.c mem/area.c
 * @unwind: 5
 * @options: --unwindset write_used_in_order.0:4,write_used_in_order.1:3
 *	--unwindset write_used_chunks.0:4,write_used_chunks.1:2,write_used_elems.0:4
 *	--unwindset kvnet_chain_used_batch.0:3
 * @mutant: vq/ring_split.c: write_used_wrapped(r, i, used + last, 1) => write_used_wrapped(r, last, used + last, 1)
 * @mutant: vq/ring_split.c: ret = write_used_wrapped(r, i, used + i, run); => ret = write_used_wrapped(r, i, used, run);
 * @mutant: vq/ring_split.c: kvnet_chain_used_batch(used + i, n - i) - 1; => kvnet_chain_used_batch(used, n - i) - 1;
 * @mutant: vq/ring_split.c: i = last + 1;\n	} => i = last;\n	}
 * @mutant: vq/chain.h: i < n - 1 && used[i].skippable; i++) => i < n && used[i].skippable; i++)
 */
#define GUEST_HOOKS
#include "any_ring.h"

#define USED_MAX	3

static struct kvnet_used used[USED_MAX];
static struct kvnet_ring r;
static bool index_written, elem_written;
static u16 used_idx;
static uintptr_t elem_at;	/* one of the slots */
static bool is_first;		/* it belongs to the first chain of a batch, */
static u64 elem;		/* and this is the element of the last */

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
		ASSERT(is_first && ((const u64 *)val)[(elem_at - at) / 8] == elem);
		elem_written = true;
	}
}

int main(void)
{
	u32 n = any_u32(), nth = any_u32(), last;
	struct kvnet_ring old;
	int ret;

	r = any_ring(false);
	r.in_order = true;
	old = r;
	__CPROVER_havoc_object(used);
	ASSUME(n <= USED_MAX && nth < r.num);
	elem_at = guest_windows[2].start + 4 + 8 * ((u16)(r.last_used + nth) % r.num);
	if (nth < n) {
		is_first = !nth || !used[nth - 1].skippable;
		for (last = nth; last + 1 < n && used[last].skippable; last++)
			;
		elem = r.le ? used[last].id | (u64)used[last].len << 32 :
			      __builtin_bswap64((u64)used[last].id << 32 | used[last].len);
	}

	ret = kvnet_ring_put(&r, used, n);

	ASSERT(ring_is_sound(&r));
	ASSERT(ret == 0 || ret == -EFAULT || (ret == -EINVAL && n > r.num));
	if (ret) {
		ASSERT(!index_written);
		ASSERT(ring_is_unchanged(&r, &old));
		return 0;
	}
	ASSERT(elem_written == is_first && index_written);
	ASSERT(r.last_used == (u16)(old.last_used + n));
	ASSERT(used_idx == (r.le ? r.last_used : __builtin_bswap16(r.last_used)));
	return 0;
}
