// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_next() of a packed ring accesses nothing outside of the ring and the chain,
 *	ends within the ring's size, has never more in flight than the ring has, and leaves the
 *	ring as it was unless it returns a chain
 * @bounds: 1 to 4 entries; up to 3 segments; an indirect table of any length
 * @sources: vq/ring_packed.c vq/chain.c mem/area.c
 * @unwind: 6
 * @quick: yes
 * @mutant: vq/ring_packed.c: if (n == r->num) => if (n == r->num + 1)
 * @mutant: vq/ring_packed.c: if (i >= r->num) => if (i > r->num)
 * @mutant: vq/ring_packed.c: if (r->n_in_flight + chain->count > r->num) => if (r->n_in_flight > r->num)
 */
#include "any_ring.h"
#include "any_chain.h"

int main(void)
{
	struct kvnet_ring r = any_ring(true), old = r;
	struct kvnet_chain chain = any_chain();
	u32 at;
	int ret;

	ret = kvnet_ring_next(&r, &chain, &reader);

	ASSERT(ring_is_sound(&r));
	ASSERT(guest_reads <= 2 * r.num + 1);
	if (ret != 1) {
		ASSERT(ret == 0 || ret == -EFAULT || ret == -EINVAL || ret == -ELOOP ||
		      ret == -EMSGSIZE || ret == READER_ERROR);
		ASSERT(ring_is_unchanged(&r, &old));
		return 0;
	}
	ASSERT(chain.count >= 1 && chain.count <= r.num);
	ASSERT(chain.n_out + chain.n_in >= 1 && chain.n_out + chain.n_in <= chain.cap);
	at = (old.last_avail & 0x7fff) + chain.count;
	ASSERT((r.last_avail & 0x7fff) == (at < r.num ? at : at - r.num));
	ASSERT(((r.last_avail ^ old.last_avail) & 0x8000) == (at < r.num ? 0 : 0x8000));
	ASSERT(r.n_in_flight == old.n_in_flight + chain.count);
	old.last_avail = r.last_avail;
	old.n_in_flight = r.n_in_flight;
	old.n_avail_seen = r.n_avail_seen;
	ASSERT(ring_is_unchanged(&r, &old));
	return 0;
}
