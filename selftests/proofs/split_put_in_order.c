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
#include "split_put.h"

int main(void)
{
	u32 n = any_u32(), nth = any_u32(), last;

	r = any_ring(false);
	r.in_order = true;
	__CPROVER_havoc_object(used);
	ASSUME(n <= USED_MAX && nth < r.num);
	elem_at = slot_of(nth);
	if (nth < n) {
		/* The slot of a batch's first buffer gets the element of its last one. */
		is_due = !nth || !used[nth - 1].skippable;
		for (last = nth; last + 1 < n && used[last].skippable; last++)
			;
		elem = elem_of(last);
	}

	put(n);
	return 0;
}
