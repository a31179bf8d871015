/* SPDX-License-Identifier: GPL-2.0 */
/*
 * quick - the driver side of a ring that costs the guest next to nothing.
 *
 * Descriptor i is buffer i, for ever, and buffers are made available in this order.
 * A split ring's descriptors and avail entries are written once: one store offers
 * any number of them. The device writes over a packed ring's descriptors: there it is
 * one store for each, and the first one's comes last.
 *
 * Counts run freely; the ring's size is a power of two in both layouts.
 */
#ifndef SELFTESTS_QUICK_H
#define SELFTESTS_QUICK_H

#include "guest_ring.h"

struct quick {
	struct guest_ring *ring;	/* memory and layout; its bookkeeping rests */
	uint32_t mask;		/* size of the ring less 1 */
	uint64_t blank;		/* packed: a descriptor's tail, less id and lap */
	uint32_t shown;		/* buffers made available */
	uint32_t used;		/* packed: of these, seen to be used */
	uint32_t goal;		/* the guest sleeps until so many are used */
};

/* A new ring: buffer i is at gpa + i * step, 'len' bytes of it, with GR_DESC_F_*. */
void quick_start(struct quick *q, struct guest_ring *ring, uint64_t gpa,
		 unsigned int step, uint32_t len, uint16_t flags);
/* Buffers that are shown from now on have so many bytes. */
void quick_set_len(struct quick *q, uint32_t len);
/* Ask for a call when the goal is reached; to be set before quick_show(). */
void quick_want(struct quick *q, uint32_t goal);
/* Make 'count' more buffers available, in one step. */
void quick_show(struct quick *q, unsigned int count);
/* Has the goal been reached? */
bool quick_done(struct quick *q);

/*
 * Afterwards, for the last lap: where the next used entry is after that at 'at',
 * which must be for that buffer; of IN_ORDER for those before it, too.
 */
uint32_t quick_next(const struct quick *q, uint32_t at);
/* Bytes written to a buffer, or -1: there was no entry of its own. */
int64_t quick_written(const struct quick *q, uint32_t at);

#endif /* SELFTESTS_QUICK_H */
