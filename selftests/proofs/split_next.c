// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_next() of a split ring accesses nothing outside of the ring and the chain,
 *	ends within the ring's size, and leaves the ring as it was unless it returns a chain
 * @bounds: 1, 2 and 4 entries; up to 3 segments; an indirect table of any length
 * @sources: vq/ring_split.c vq/chain.c mem/area.c
 * @unwind: 6
 * @mutant: vq/ring_split.c: if (steps == r->num) => if (steps == r->num + 1)
 * @mutant: vq/ring_split.c: return head < r->num ? head => return head <= r->num ? head
 * @mutant: vq/ring_split.c: n = min_t(u32, n, r->num - at); => n = min_t(u32, n, r->num);
 */
#include "any_ring.h"
#include "any_chain.h"

int main(void)
{
	struct kvnet_ring r = any_ring(false), old = r;
	struct kvnet_chain chain = any_chain();
	int ret;

	ret = kvnet_ring_next(&r, &chain, &reader);

	ASSERT(ring_is_sound(&r));
	ASSERT(guest_reads <= 2 * r.num + 2);
	if (ret != 1) {
		ASSERT(ret == 0 || ret == -EFAULT || ret == -EINVAL || ret == -ELOOP ||
		      ret == -EMSGSIZE || ret == READER_ERROR);
		ASSERT(ring_is_unchanged(&r, &old));
		return 0;
	}
	ASSERT(chain.id < r.num);
	ASSERT(chain.count >= 1 && chain.count <= r.num);
	ASSERT(chain.n_out + chain.n_in >= 1 && chain.n_out + chain.n_in <= chain.cap);
	old.last_avail++;
	ASSERT(ring_is_unchanged(&r, &old));
	return 0;
}
