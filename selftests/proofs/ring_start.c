// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_start() of both layouts makes any base of the VMM and any ring of the driver
 *	into a sound state, which all other proofs begin with, or fails
 * @bounds: 1, 2 and 4 entries
 * @sources: vq/ring_split.c vq/ring_packed.c vq/chain.c mem/area.c
 * @unwind: 6
 * @quick: yes
 * @mutant: vq/ring_packed.c: pos_to_index(r->last_used) >= r->num) => pos_to_index(r->last_used) > r->num)
 * @mutant: vq/ring_split.c: r->head_n = 0;\n	r->kicks_enabled = false; => r->kicks_enabled = false;
 */
#include "any_ring.h"

int main(void)
{
	struct kvnet_ring r, any;
	u32 base = any_u32();
	int ret;

	if (any_bool())
		r = any_ring(true);
	else
		r = any_ring(false);
	/* what the last session has left, or nothing has set yet */
	any.num = r.num;
	any.packed = r.packed;
	any.desc = r.desc;
	any.avail = r.avail;
	any.used = r.used;
	any.event_idx = r.event_idx;
	r = any;
	kvnet_ring_base_set(&r, base);
	r.base_valid = any_bool();

	ret = kvnet_ring_start(&r);

	ASSERT(ret == 0 || ret == -EFAULT || (ret == -EINVAL && r.packed));
	ASSERT(IMPLIES(ret == 0, ring_is_sound(&r)));
	ASSERT(IMPLIES(ret == 0, !r.signalled_used_valid && !r.kicks_enabled));
	return 0;
}
