/* SPDX-License-Identifier: GPL-2.0 */
/* any_ring.h - any state that a ring can be in, with areas of exactly its size */
#ifndef PROOFS_ANY_RING_H
#define PROOFS_ANY_RING_H

#include "guest.h"
#include "ring.h"

#ifndef RING_MAX
#define RING_MAX	4	/* entries */
#endif

static void any_area(struct kvnet_area *a, unsigned int window, size_t len, bool pinned)
{
	void *at = guest_area(window, len);

	*a = (struct kvnet_area) { .len = len, .kaddr = pinned ? at : NULL, .base = at };
}

/* Each session field has any value that keeps ring_is_sound(), which each operation keeps. */
static bool ring_is_sound(const struct kvnet_ring *r)
{
	if (!r->packed)
		return r->head_n <= KVNET_RING_PREFETCH;
	return (r->last_avail & 0x7fff) < r->num && (r->last_used & 0x7fff) < r->num &&
	       r->n_avail_seen <= r->num && r->n_in_flight <= r->num &&
	       r->used_since_call <= 2 * r->num;
}

static struct kvnet_ring any_ring(bool packed)
{
	bool pinned = any_bool();
	struct kvnet_ring r;

	r.packed = packed;
	if (packed)
		ASSUME(r.num >= 1 && r.num <= RING_MAX);
	else
		ASSUME(r.num == 1 || r.num == 2 || r.num == RING_MAX);
	any_area(&r.desc, 0, kvnet_ring_desc_size(&r), pinned);
	any_area(&r.avail, 1, kvnet_ring_avail_size(&r), pinned);
	any_area(&r.used, 2, kvnet_ring_used_size(&r), pinned);
	ASSUME(ring_is_sound(&r));
	return r;
}

/* All that later operations and the VMM see; not what has been read ahead. */
static bool ring_is_unchanged(const struct kvnet_ring *r, const struct kvnet_ring *old)
{
	return r->last_avail == old->last_avail && r->last_used == old->last_used &&
	       r->signalled_used == old->signalled_used &&
	       r->signalled_used_valid == old->signalled_used_valid &&
	       r->kicks_enabled == old->kicks_enabled && r->n_avail_seen == old->n_avail_seen &&
	       r->n_in_flight == old->n_in_flight && r->used_since_call == old->used_since_call &&
	       r->wrote_used == old->wrote_used && r->wrote_desc == old->wrote_desc &&
	       r->num == old->num;
}

#endif /* PROOFS_ANY_RING_H */
