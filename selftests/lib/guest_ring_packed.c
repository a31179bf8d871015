// SPDX-License-Identifier: GPL-2.0
/*
 * The driver side of a packed virtqueue: see guest_ring.h.
 *
 * Section numbers are those of the virtio 1.3 specification.
 */
#define _DEFAULT_SOURCE
#include "guest_ring_layout.h"

#define BOTH	(GR_PACKED_F_AVAIL | GR_PACKED_F_USED)

static struct gr_packed_desc *desc_at(const struct guest_ring *r,
				      unsigned int pos)
{
	return (struct gr_packed_desc *)r->cfg.desc + pos;
}

static void advance(const struct guest_ring *r, struct gr_place *p,
		    unsigned int n)
{
	p->pos += n;
	while (p->pos >= r->cfg.num) {
		p->pos -= r->cfg.num;
		p->wrap = !p->wrap;
	}
}

/* Places on a circle of two laps, those of wrap counter 1 first. */
static unsigned int on_circle(const struct guest_ring *r, unsigned int pos,
			      bool wrap)
{
	return pos + (wrap ? 0 : r->cfg.num);
}

/* How many steps it is from p to (pos, wrap), never back. */
static unsigned int ahead(const struct guest_ring *r, const struct gr_place *p,
			  unsigned int pos, bool wrap)
{
	unsigned int circle = 2 * r->cfg.num;

	return (on_circle(r, pos, wrap) + circle -
		on_circle(r, p->pos, p->wrap)) % circle;
}

/* 2.8.1: available are bits that differ, used are bits that are the same */
uint16_t gr_raw_lap(bool wrap, bool used)
{
	if (used)
		return wrap ? BOTH : 0;
	return wrap ? GR_PACKED_F_AVAIL : GR_PACKED_F_USED;
}

struct gr_place gr_packed_place_of(const struct gr_cfg *cfg, uint16_t n)
{
	return (struct gr_place) { n % cfg->num, !(n / cfg->num % 2) };
}

/* What is behind has been used in this lap, what is ahead in the last one. */
void gr_packed_start(struct guest_ring *r, uint16_t n)
{
	struct gr_place at = gr_packed_place_of(&r->cfg, n);
	unsigned int i;

	r->next_avail = at;
	r->next_used = at;
	r->kick_from = at;
	for (i = 0; i < r->cfg.num; i++)
		desc_at(r, i)->flags = htole16(gr_raw_lap(i < at.pos ? at.wrap :
							  !at.wrap, true));
}

/*
 * 2.8.6: the id is in the last descriptor, the flags of the first one come after
 * all else. The other ids are noise.
 */
unsigned int gr_packed_place(struct guest_ring *r, const struct gr_buf *buf,
			     unsigned int n, int *table)
{
	unsigned int id = r->free_head, need = table ? 1 : n, i;
	uint16_t flags, *to;
	uint64_t gpa;

	r->free_head = r->link[id];
	for (i = 0; i < need; i++) {
		struct gr_packed_desc *d = desc_at(r, r->next_avail.pos);

		if (table) {
			*table = gr_fill_table(r, buf, n, &gpa);
			d->addr = htole64(gpa);
			d->len = htole32(16 * n);
			flags = GR_DESC_F_INDIRECT;
		} else {
			gr_fill(r, (struct gr_desc *)d, &buf[i]);
			flags = buf[i].write ? GR_DESC_F_WRITE : 0;
		}
		d->id = htole16(i + 1 < need ? id ^ 0x5a5a : id);
		flags |= i + 1 < need ? GR_DESC_F_NEXT : 0;
		flags |= gr_raw_lap(r->next_avail.wrap, false);
		to = &d->flags;
		if (i)
			gr_put16(to, flags);
		else
			r->withheld[r->n_withheld++] = (struct gr_withheld) {
				r->next_avail.pos, flags };
		advance(r, &r->next_avail, 1);
	}
	r->kick_descs += need;
	return id;
}

/* One buffer after the other: the device may see some of them. */
void gr_packed_publish(struct guest_ring *r)
{
	unsigned int i;

	for (i = 0; i < r->n_withheld; i++)
		gr_put16_release(&desc_at(r, r->withheld[i].pos)->flags,
				 r->withheld[i].flags);
	r->n_withheld = 0;
}

struct gr_event gr_raw_device_event(const struct guest_ring *r)
{
	const struct gr_event *e = r->cfg.used;
	struct gr_event seen;

	/* the place is written before the flags that make it count */
	seen.flags = gr_get16_acquire(&e->flags);
	seen.where = gr_get16(&e->where);
	return seen;
}

/* 2.8.10, 2.8.14 */
bool gr_packed_kick_needed(struct guest_ring *r)
{
	struct gr_event e = gr_raw_device_event(r);
	unsigned int descs = r->kick_descs, pos = e.where & ~GR_EVENT_WRAP;
	struct gr_place from = r->kick_from;

	r->kick_idx = r->shown_idx;
	r->kick_from = r->next_avail;
	r->kick_descs = 0;
	if (e.flags & ~3 || e.flags == 3) {
		gr_rule(r, "device event flags: reserved");
		return true;
	}
	if (!descs || e.flags == GR_EVENT_DISABLE)
		return false;
	if (e.flags == GR_EVENT_ENABLE)
		return true;
	if (!r->cfg.event_idx)
		gr_rule(r, "device event: a descriptor without EVENT_IDX");
	if (pos >= r->cfg.num) {
		gr_rule(r, "device event: no such descriptor");
		return true;
	}
	return ahead(r, &from, pos, e.where & GR_EVENT_WRAP) < descs;
}

static bool used_at(const struct guest_ring *r, const struct gr_place *p)
{
	uint16_t flags = gr_get16_acquire(&desc_at(r, p->pos)->flags);

	return (flags & BOTH) == gr_raw_lap(p->wrap, true);
}

/* 2.8.4: without WRITE nothing is written, and the length means nothing */
static struct gr_used_elem entry_at(const struct guest_ring *r,
				    const struct gr_place *p)
{
	const struct gr_packed_desc *d = desc_at(r, p->pos);
	bool wrote = gr_get16(&d->flags) & GR_DESC_F_WRITE;

	return (struct gr_used_elem) {
		.id = gr_get16(&d->id), .len = wrote ? le32toh(d->len) : 0,
	};
}

int gr_packed_look(struct guest_ring *r, struct gr_used_elem *e)
{
	if (!used_at(r, &r->next_used))
		return 0;
	if (r->shown_idx == r->used_idx)
		return gr_rule(r, "used, but nothing was available");
	*e = entry_at(r, &r->next_used);
	return 1;
}

void gr_packed_release(struct guest_ring *r, unsigned int id)
{
	advance(r, &r->next_used, r->slot[id].count);
	r->link[id] = r->free_head;
	r->free_head = id;
}

/* Descriptors of the k-th outstanding buffer, in the order made available. */
static unsigned int count_of(const struct guest_ring *r, unsigned int k)
{
	unsigned int id = r->order[(r->order_out + k) % r->cfg.num];

	return r->slot[id].count;
}

unsigned int gr_packed_waiting(const struct guest_ring *r, unsigned int max,
			       struct gr_place *end)
{
	uint16_t out = r->shown_idx - r->used_idx;
	unsigned int n = 0, batch = r->batch;
	struct gr_used_elem e;

	*end = r->next_used;
	for (;;) {
		for (; batch; batch--)
			advance(r, end, count_of(r, n++));
		if (n >= max || !used_at(r, end))
			return n;
		e = entry_at(r, end);
		batch = gr_batch_of(r, n, e.id);
		if (!batch || n >= out) {	/* hostile, or misused */
			advance(r, end, 1);
			return n + 1;
		}
		if (!r->cfg.in_order) {
			advance(r, end, r->slot[e.id].count);
			batch = 0;
			n++;
		}
	}
}

/*
 * Is it too late for gr_packed_call() to ask for that place? Buffers of several
 * descriptors get there with fewer of them.
 */
bool gr_packed_passed(const struct guest_ring *r, unsigned int after)
{
	struct gr_place end;

	gr_packed_waiting(r, after + 1, &end);
	return ahead(r, &r->next_used, end.pos, end.wrap) > after;
}

bool gr_packed_watch(const struct guest_ring *r, struct gr_watch *w,
		     struct gr_used_elem *e)
{
	if (!used_at(r, &w->at))
		return false;
	*e = entry_at(r, &w->at);
	advance(r, &w->at, e->id < r->cfg.num ? r->slot[e->id].count : 1);
	w->idx++;
	return true;
}

/*
 * What counts is the place of the used descriptor, which depends on the lengths
 * of the chains that are used before: as if each had only one.
 */
void gr_packed_call(struct guest_ring *r, uint16_t mode, unsigned int after)
{
	struct gr_place at = r->next_used;

	advance(r, &at, after);
	gr_raw_driver_event(r, at.pos | (at.wrap ? GR_EVENT_WRAP : 0), mode);
}

void gr_raw_set_packed(struct gr_desc *d, uint64_t gpa, uint32_t len,
		       uint16_t id, uint16_t flags)
{
	struct gr_packed_desc *p = (struct gr_packed_desc *)d;

	p->addr = htole64(gpa);
	p->len = htole32(len);
	p->id = htole16(id);
	gr_put16(&p->flags, flags);
}

void gr_raw_show(struct guest_ring *r, unsigned int pos, uint16_t flags)
{
	gr_put16_release(&desc_at(r, pos)->flags, flags);
	gr_full_barrier(r);
}

void gr_raw_driver_event(struct guest_ring *r, uint16_t where, uint16_t flags)
{
	struct gr_event *e = r->cfg.avail;

	gr_put16(&e->where, where);
	gr_put16_release(&e->flags, flags);
}
