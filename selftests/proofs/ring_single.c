// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_next_single() of both layouts accesses nothing outside of a pinned ring and
 *	of the caller's arrays, takes no more than asked for, and distributes no more bytes
 * @bounds: 1, 2 and 4 entries; up to 3 chains
 * @sources: vq/ring_split.c vq/ring_packed.c vq/chain.c mem/area.c
 * @unwind: 6
 * @mutant: vq/ring_split.c: head &= r->num - 1;\n => head = __virtio16_to_cpu(le, r->heads[at]) + 1;\n
 * @mutant: vq/ring_packed.c: max = min(max, r->num - r->n_in_flight); => max = max;
 * @mutant: vq/ring_packed.c: if (++i == r->num) { => if (++i > r->num) {
 */
#include "any_ring.h"

#define MAX	3

int main(void)
{
	struct kvnet_ring r, old;
	struct kvnet_used used[MAX];
	struct kvnet_seg seg[MAX];
	unsigned int max = any_u32(), n, i;
	size_t len = any_u32(), sum = 0;

	ASSUME(max <= MAX);
	if (any_bool())
		r = any_ring(true);
	else
		r = any_ring(false);
	old = r;

	n = kvnet_ring_next_single(&r, seg, used, max, len);

	ASSERT(ring_is_sound(&r));
	ASSERT(n <= max);
	ASSERT(IMPLIES(n, r.desc.kaddr));
	for (i = 0; i < MAX && i < n; i++) {
		ASSERT(used[i].len <= seg[i].len);
		ASSERT(used[i].count == 1);
		ASSERT(IMPLIES(!r.packed, used[i].id < r.num));
		sum += used[i].len;
	}
	ASSERT(sum <= len);
	if (r.packed) {
		ASSERT(r.n_in_flight == old.n_in_flight + n);
	} else {
		ASSERT(r.last_avail == (u16)(old.last_avail + n));
	}
	ASSERT(r.last_used == old.last_used);
	return 0;
}
