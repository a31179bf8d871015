// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_ring_collect_written() of both layouts gives spans within the ring's areas, which
 *	cover each used entry or descriptor that has not been logged
 * @bounds: 1, 2 and 4 entries
 * @sources: vq/ring_split.c vq/ring_packed.c vq/chain.c mem/area.c
 * @unwind: 6
 * @quick: yes
 * @mutant: vq/ring_split.c: u16 at = (r->last_used - n) & (r->num - 1);\n	u32 part => u16 at = (r->last_used - n) & r->num;\n	u32 part
 * @mutant: vq/ring_packed.c: (n - part) * size }; => n * size };
 * @mutant: vq/ring_packed.c: (end - part) * size, part * size }; => (end - part) * size, (part - 1) * size };
 */
#include "any_ring.h"

int main(void)
{
	struct kvnet_ring_span span[KVNET_RING_SPANS];
	const struct kvnet_area *area;
	struct kvnet_ring r, old;
	bool covered = false;
	unsigned int n, i;
	u32 nth = any_u32(), off, size;

	if (any_bool())
		r = any_ring(true);
	else
		r = any_ring(false);
	old = r;

	n = kvnet_ring_collect_written(&r, span);

	ASSERT(n <= KVNET_RING_SPANS);
	ASSERT(!r.unlogged && !r.wrote_event && ring_is_sound(&r));
	/* one of those that were written last */
	ASSUME(nth < old.unlogged);
	if (r.packed) {
		area = &r.desc;
		size = 16;
		off = size * (((r.last_used & 0x7fff) + r.num - 1 - nth) % r.num);
	} else {
		area = &r.used;
		size = 8;
		off = 4 + size * ((u16)(r.last_used - 1 - nth) % r.num);
	}
	for (i = 0; i < KVNET_RING_SPANS && i < n; i++) {
		ASSERT(span[i].off <= span[i].area->len &&
		      span[i].len <= span[i].area->len - span[i].off);
		if (span[i].area == area && off >= span[i].off &&
		    off + size <= span[i].off + span[i].len)
			covered = true;
	}
	ASSERT(covered);
	return 0;
}
