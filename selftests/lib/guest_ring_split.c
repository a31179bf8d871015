// SPDX-License-Identifier: GPL-2.0
/*
 * The driver side of a split virtqueue: see guest_ring.h.
 *
 * Section numbers are those of the virtio 1.3 specification.
 */
#define _DEFAULT_SOURCE
#include "guest_ring_layout.h"

/* struct virtq_avail { flags, idx, ring[num], used_event }, all le16 */
static uint16_t *avail_flags(const struct guest_ring *r)
{
	return r->cfg.avail;
}

static uint16_t *avail_idx(const struct guest_ring *r)
{
	return (uint16_t *)r->cfg.avail + 1;
}

static uint16_t *avail_entry(const struct guest_ring *r, uint16_t pos)
{
	return (uint16_t *)r->cfg.avail + 2 + pos % r->cfg.num;
}

static uint16_t *used_event(const struct guest_ring *r)
{
	return (uint16_t *)r->cfg.avail + 2 + r->cfg.num;
}

/* struct virtq_used { flags, idx, elem[num], avail_event } */
static uint16_t *used_flags(const struct guest_ring *r)
{
	return r->cfg.used;
}

static uint16_t *used_idx(const struct guest_ring *r)
{
	return (uint16_t *)r->cfg.used + 1;
}

static struct gr_used_elem *used_entry(const struct guest_ring *r, uint16_t pos)
{
	return (struct gr_used_elem *)((char *)r->cfg.used + 4) +
	       pos % r->cfg.num;
}

static uint16_t *avail_event(const struct guest_ring *r)
{
	return (uint16_t *)((char *)r->cfg.used + 4 +
			    sizeof(struct gr_used_elem) * r->cfg.num);
}

void gr_split_start(struct guest_ring *r, uint16_t n)
{
	gr_put16(used_idx(r), n);
	gr_put16_release(avail_idx(r), n);
	gr_put16(used_event(r), n);
}

/*
 * 2.7.5: with IN_ORDER descriptors are taken in ring order; without, those
 * that came back last go first.
 */
static unsigned int next_free(const struct guest_ring *r, unsigned int d)
{
	return r->cfg.in_order ? (d + 1) % r->cfg.num : r->link[d];
}

unsigned int gr_split_place(struct guest_ring *r, const struct gr_buf *buf,
			    unsigned int n, unsigned int direct, int *table)
{
	unsigned int need = direct + (direct < n), head = r->free_head, d = head;
	struct gr_desc *desc = r->cfg.desc;
	uint16_t flags, next;
	unsigned int i;
	uint64_t gpa;

	for (i = 0; i < need; i++) {
		flags = i + 1 < need ? GR_DESC_F_NEXT : 0;
		next = i + 1 < need ? next_free(r, d) : 0;
		if (i < direct) {
			flags |= buf[i].write ? GR_DESC_F_WRITE : 0;
			gr_raw_set(&desc[d], gr_gpa(r, buf[i].ptr, buf[i].len),
				   buf[i].len, flags, next);
		} else {
			*table = gr_fill_table(r, &buf[i], n - i, &gpa);
			gr_raw_set(&desc[d], gpa, 16 * (n - i),
				   GR_DESC_F_INDIRECT, 0);
		}
		if (i + 1 < need)
			d = next;
	}
	r->free_head = next_free(r, d);
	r->link[d] = d;		/* a link to itself ends the chain */
	gr_put16(avail_entry(r, r->avail_idx), head);
	return head;
}

void gr_split_release(struct guest_ring *r, unsigned int head)
{
	unsigned int d = head;

	if (r->cfg.in_order)
		return;
	while (r->link[d] != d)
		d = r->link[d];
	r->link[d] = r->free_head;
	r->free_head = head;
}

void gr_split_publish(struct guest_ring *r)
{
	/* 2.7.13.3.1: descriptors and entries before idx */
	gr_put16_release(avail_idx(r), r->avail_idx);
}

bool gr_split_kick_needed(struct guest_ring *r)
{
	uint16_t from = r->kick_idx, added = r->shown_idx - from;

	r->kick_idx = r->shown_idx;
	if (!added)
		return false;
	if (!r->cfg.event_idx)
		return !(gr_get16(used_flags(r)) & GR_USED_F_NO_NOTIFY);
	/* 2.7.10.1: yes if one of the entries written had idx == avail_event */
	return (uint16_t)(gr_get16(avail_event(r)) - from) < added;
}

int gr_split_look(struct guest_ring *r, struct gr_used_elem *e)
{
	uint16_t idx = gr_get16_acquire(used_idx(r));

	if (idx == r->used_idx)
		return 0;
	if ((uint16_t)(idx - r->used_idx) > (uint16_t)(r->shown_idx -
						       r->used_idx))
		return gr_rule(r, "used idx runs ahead of avail idx");
	/* 2.7.10.1: with EVENT_IDX, too, the driver ignores the lower bit */
	if (gr_get16(used_flags(r)) & ~GR_USED_F_NO_NOTIFY)
		return gr_rule(r, "used flags: reserved bit");
	*e = gr_raw_used(r, r->used_idx);
	return 1;
}

uint16_t gr_split_used_idx(const struct guest_ring *r)
{
	return gr_get16_acquire(used_idx(r));
}

unsigned int gr_split_waiting(const struct guest_ring *r)
{
	return (uint16_t)(gr_get16_acquire(used_idx(r)) - r->used_idx);
}

bool gr_split_watch(const struct guest_ring *r, struct gr_watch *w,
		    struct gr_used_elem *e)
{
	if (gr_get16_acquire(used_idx(r)) == w->idx)
		return false;
	*e = gr_raw_used(r, w->idx++);
	return true;
}

void gr_split_call(struct guest_ring *r, bool on, unsigned int after)
{
	/* 2.7.7.1: with EVENT_IDX flags stay 0, an event far behind is silent */
	if (r->cfg.event_idx)
		gr_put16(used_event(r), r->used_idx + (on ? after : 0xffff));
	else
		gr_put16(avail_flags(r), on ? 0 : GR_AVAIL_F_NO_INTERRUPT);
}

void gr_raw_set(struct gr_desc *d, uint64_t gpa, uint32_t len, uint16_t flags,
		uint16_t next)
{
	d->addr = htole64(gpa);
	d->len = htole32(len);
	d->flags = htole16(flags);
	d->next = htole16(next);
}

void gr_raw_avail(struct guest_ring *r, uint16_t pos, uint16_t head)
{
	gr_put16(avail_entry(r, pos), head);
}

void gr_raw_avail_idx(struct guest_ring *r, uint16_t idx)
{
	gr_put16_release(avail_idx(r), idx);
	gr_full_barrier(r);
}

void gr_raw_avail_flags(struct guest_ring *r, uint16_t flags)
{
	gr_put16(avail_flags(r), flags);
}

void gr_raw_used_event(struct guest_ring *r, uint16_t event)
{
	gr_put16(used_event(r), event);
}

uint16_t gr_raw_used_flags(const struct guest_ring *r)
{
	return gr_get16(used_flags(r));
}

uint16_t gr_raw_avail_event(const struct guest_ring *r)
{
	return gr_get16(avail_event(r));
}

struct gr_used_elem gr_raw_used(const struct guest_ring *r, uint16_t pos)
{
	struct gr_used_elem e = *used_entry(r, pos);

	e.id = le32toh(e.id);
	e.len = le32toh(e.len);
	return e;
}
