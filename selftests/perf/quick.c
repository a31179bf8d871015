// SPDX-License-Identifier: GPL-2.0
/* The driver side of a ring that costs little: see quick.h. */
#include <endian.h>

#include "ksft.h"
#include "quick.h"

#define LAP	((uint64_t)(GR_PACKED_F_AVAIL | GR_PACKED_F_USED) << 48)

/* What follows a packed descriptor's address: length, id and flags, in one piece. */
static uint64_t *tail(const struct quick *q, uint32_t at)
{
	return (uint64_t *)gr_raw_desc(q->ring, at & q->mask) + 1;
}

static bool wrap_of(const struct quick *q, uint32_t at)
{
	return !(at & (q->mask + 1));
}

static uint64_t lap(const struct quick *q, uint32_t at, bool used)
{
	uint16_t avail = wrap_of(q, at) ? GR_PACKED_F_AVAIL : GR_PACKED_F_USED;

	if (used)
		return wrap_of(q, at) ? LAP : 0;
	return (uint64_t)avail << 48;
}

void quick_start(struct quick *q, struct guest_ring *ring, uint64_t gpa,
		 unsigned int step, uint32_t len, uint16_t flags)
{
	unsigned int num = ring->cfg.num, i;
	struct gr_desc *d;

	ASSERT(!(num & (num - 1)));
	*q = (struct quick) {
		.ring = ring,
		.mask = num - 1,
		.blank = (uint64_t)flags << 48 | len,
	};
	for (i = 0; i < num; i++) {
		d = gr_raw_desc(ring, i);
		if (ring->cfg.packed) {
			d->addr = htole64(gpa + (uint64_t)i * step);
			continue;
		}
		gr_raw_set(d, gpa + (uint64_t)i * step, len, flags, 0);
		gr_raw_avail(ring, i, i);
	}
}

void quick_set_len(struct quick *q, uint32_t len)
{
	unsigned int i;

	q->blank = (q->blank & ~(uint64_t)UINT32_MAX) | len;
	for (i = 0; i <= q->mask && !q->ring->cfg.packed; i++)
		gr_raw_desc(q->ring, i)->len = htole32(len);
}

void quick_want(struct quick *q, uint32_t goal)
{
	uint32_t at = goal - 1;

	q->goal = goal;
	if (q->ring->cfg.packed)
		gr_raw_driver_event(q->ring, (at & q->mask) |
				    (wrap_of(q, at) ? GR_EVENT_WRAP : 0),
				    GR_EVENT_DESC);
	else
		gr_raw_used_event(q->ring, at);
}

/* 2.8.6: the flags of the first one come after all else */
static void show_packed(struct quick *q, unsigned int count)
{
	uint32_t at = q->shown + count;

	while (at-- != q->shown)
		__atomic_store_n(tail(q, at),
				 htole64(q->blank | lap(q, at, false) |
					 (uint64_t)(at & q->mask) << 32),
				 __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
}

void quick_show(struct quick *q, unsigned int count)
{
	if (q->ring->cfg.packed)
		show_packed(q, count);
	else
		gr_raw_avail_idx(q->ring, q->shown + count);
	q->shown += count;
}

/* Where the next entry is; this one, for buffer 'id', stands at 'at'. */
static uint32_t after(const struct quick *q, uint32_t at, uint32_t id)
{
	if (q->ring->cfg.in_order)
		return at + ((id - at) & q->mask) + 1;
	ASSERT_EQ(id, at & q->mask);
	return at + 1;
}

/* The driver learns of each by its own flags (2.8.1), in order. */
static bool done_packed(struct quick *q)
{
	uint64_t seen;

	while ((int32_t)(q->goal - q->used) > 0) {
		seen = le64toh(__atomic_load_n(tail(q, q->used),
					       __ATOMIC_ACQUIRE));
		if ((seen & LAP) != lap(q, q->used, true))
			return false;
		q->used = after(q, q->used, seen >> 32 & 0xffff);
	}
	return true;
}

bool quick_done(struct quick *q)
{
	if (q->ring->cfg.packed)
		return done_packed(q);
	return (int16_t)(gr_raw_used_idx(q->ring) - q->goal) >= 0;
}

static struct gr_used_elem entry(const struct quick *q, uint32_t at)
{
	uint64_t seen;

	if (!q->ring->cfg.packed)
		return gr_raw_used(q->ring, at);
	seen = le64toh(*tail(q, at));
	return (struct gr_used_elem) {
		.id = seen >> 32 & 0xffff,
		.len = seen >> 48 & GR_DESC_F_WRITE ? (uint32_t)seen : 0,
	};
}

uint32_t quick_next(const struct quick *q, uint32_t at)
{
	return after(q, at, entry(q, at).id);
}

int64_t quick_written(const struct quick *q, uint32_t at)
{
	struct gr_used_elem e = entry(q, at);

	return after(q, at, e.id) == at + 1 ? (int64_t)e.len : -1;
}
