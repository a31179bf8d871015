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
#define RING_MAX	2
#include "split_put.h"

int main(void)
{
	u32 n = any_u32(), nth = any_u32(), since = any_u32();
	bool was_valid;

	r = any_ring(false);
	r.in_order = false;
	was_valid = r.signalled_used_valid;
	__CPROVER_havoc_object(used);
	ASSUME(n <= USED_MAX);
	ASSUME(IMPLIES(was_valid,
		       since <= U16_MAX && (u16)since == (u16)(r.last_used - r.signalled_used)));
	ASSUME(nth < n);
	elem_at = slot_of(nth);
	is_due = true;
	elem = elem_of(nth);

	if (!put(n))
		return 0;
	if (r.signalled_used_valid)
		ASSERT(since + n <= U16_MAX &&
		      (u16)(since + n) == (u16)(r.last_used - r.signalled_used));
	ASSERT(IMPLIES(was_valid && since + n <= U16_MAX, r.signalled_used_valid));
	return 0;
}
