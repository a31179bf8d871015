// SPDX-License-Identifier: GPL-2.0
/*
 * The driver side of a virtqueue, what both layouts share: see guest_ring.h.
 *
 * Section numbers are those of the virtio 1.3 specification.
 */
#define _DEFAULT_SOURCE
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest_ring_layout.h"

size_t gr_desc_bytes(const struct gr_cfg *cfg)
{
	return 16 * (size_t)cfg->num;
}

size_t gr_avail_bytes(const struct gr_cfg *cfg)
{
	return cfg->packed ? sizeof(struct gr_event) : 6 + 2 * (size_t)cfg->num;
}

size_t gr_used_bytes(const struct gr_cfg *cfg)
{
	return cfg->packed ? sizeof(struct gr_event) : 6 + 8 * (size_t)cfg->num;
}

static size_t round_to(size_t v, size_t align)
{
	return (v + align - 1) / align * align;
}

static size_t used_offset(const struct gr_cfg *cfg, size_t align)
{
	return round_to(gr_desc_bytes(cfg) + gr_avail_bytes(cfg), align);
}

size_t gr_block_bytes(const struct gr_cfg *cfg, size_t align)
{
	return used_offset(cfg, align) + round_to(gr_used_bytes(cfg), align);
}

void gr_block_cut(struct gr_cfg *cfg, void *block, size_t align)
{
	char *p = block;

	cfg->desc = p;
	cfg->avail = p + gr_desc_bytes(cfg);
	cfg->used = p + used_offset(cfg, align);
}

static bool cfg_is_good(const struct gr_cfg *cfg)
{
	if (!cfg->num || cfg->num > GR_NUM_MAX)
		return false;
	if (!cfg->packed && cfg->num & (cfg->num - 1))
		return false;
	return !((uintptr_t)cfg->desc % 16) &&
	       !((uintptr_t)cfg->avail % (cfg->packed ? 4 : 2)) &&
	       !((uintptr_t)cfg->used % 4);
}

int gr_init(struct guest_ring *r, const struct gr_cfg *cfg)
{
	unsigned int i;

	memset(r, 0, sizeof(*r));
	if (!cfg_is_good(cfg))
		return -EINVAL;
	r->cfg = *cfg;
	r->slot = calloc(cfg->num, sizeof(*r->slot));
	r->link = calloc(cfg->num, sizeof(*r->link));
	r->order = calloc(cfg->num, sizeof(*r->order));
	r->taken = calloc(cfg->num, sizeof(*r->taken));
	r->withheld = calloc(cfg->num, sizeof(*r->withheld));
	r->ind_free = calloc(cfg->ind_tables + 1, sizeof(*r->ind_free));
	if (!r->slot || !r->link || !r->order || !r->taken || !r->withheld ||
	    !r->ind_free) {
		gr_exit(r);
		return -ENOMEM;
	}
	/* ids of packed buffers start from the last: no one's place */
	for (i = 0; i < cfg->num; i++)
		r->link[i] = cfg->packed ? i - 1 : i + 1;
	r->free_head = cfg->packed ? cfg->num - 1 : 0;
	for (i = 0; i < cfg->ind_tables; i++)
		r->ind_free[i] = i;
	r->ind_left = cfg->ind_tables;
	r->num_free = cfg->num;
	memset(cfg->desc, 0, gr_desc_bytes(cfg));
	memset(cfg->avail, 0, gr_avail_bytes(cfg));
	memset(cfg->used, 0, gr_used_bytes(cfg));
	r->next_avail.wrap = true;
	r->next_used.wrap = true;
	r->kick_from.wrap = true;
	return 0;
}

void gr_exit(struct guest_ring *r)
{
	free(r->slot);
	free(r->link);
	free(r->order);
	free(r->taken);
	free(r->withheld);
	free(r->ind_free);
	memset(r, 0, sizeof(*r));
}

void gr_start_at(struct guest_ring *r, uint16_t n)
{
	r->avail_idx = n;
	r->shown_idx = n;
	r->kick_idx = n;
	r->used_idx = n;
	if (r->cfg.packed)
		gr_packed_start(r, n);
	else
		gr_split_start(r, n);
}

static uint32_t packed_base(struct gr_place p)
{
	uint32_t half = p.pos | (p.wrap ? GR_EVENT_WRAP : 0);

	return half << 16 | half;
}

uint32_t gr_base_at(const struct gr_cfg *cfg, uint16_t n)
{
	return cfg->packed ? packed_base(gr_packed_place_of(cfg, n)) : n;
}

uint32_t gr_base(const struct guest_ring *r)
{
	struct gr_place end;

	if (!r->cfg.packed)
		return gr_raw_used_idx(r);
	gr_packed_waiting(r, ~0u, &end);
	return packed_base(end);
}

uint64_t gr_gpa(const struct guest_ring *r, const void *ptr, size_t len)
{
	if (r->cfg.to_gpa)
		return r->cfg.to_gpa(r->cfg.ctx, ptr, len);
	return (uint64_t)(uintptr_t)ptr + r->cfg.offset;
}

void gr_fill(struct guest_ring *r, struct gr_desc *d, const struct gr_buf *b)
{
	d->addr = htole64(gr_gpa(r, b->ptr, b->len));
	d->len = htole32(b->len);
}

/*
 * 2.7.5.3: entries in order, linked all the same. 2.8.7: entries in order, no
 * flag but WRITE; the id means nothing.
 */
int gr_fill_table(struct guest_ring *r, const struct gr_buf *buf,
		  unsigned int n, uint64_t *gpa)
{
	int table = r->ind_free[--r->ind_left];
	struct gr_desc *t = (struct gr_desc *)r->cfg.ind +
			    (size_t)table * r->cfg.ind_max;
	uint16_t flags;
	unsigned int i;

	for (i = 0; i < n; i++) {
		gr_fill(r, &t[i], &buf[i]);
		flags = buf[i].write ? GR_DESC_F_WRITE : 0;
		if (r->cfg.packed)
			gr_raw_set_packed(&t[i], le64toh(t[i].addr), buf[i].len,
					  0xa5a5 ^ i, flags);
		else if (i + 1 < n)
			gr_raw_set(&t[i], le64toh(t[i].addr), buf[i].len,
				   flags | GR_DESC_F_NEXT, i + 1);
		else
			gr_raw_set(&t[i], le64toh(t[i].addr), buf[i].len,
				   flags, 0);
	}
	*gpa = gr_gpa(r, t, n * sizeof(*t));
	return table;
}

/* 2.7.4.2: readable elements first; 2.7.5.3.1: no chain longer than the queue */
static int check_buffer(const struct guest_ring *r, const struct gr_buf *buf,
			unsigned int n)
{
	bool seen_write = false;
	uint64_t total = 0;
	unsigned int i;

	if (!n || (n > r->cfg.num && !r->cfg.lax))
		return -EINVAL;
	for (i = 0; i < n; i++) {
		if (seen_write && !buf[i].write)
			return -EINVAL;
		seen_write |= buf[i].write;
		total += buf[i].len;
	}
	return total > UINT32_MAX ? -EINVAL : 0;
}

int gr_add(struct guest_ring *r, const struct gr_buf *buf, unsigned int n,
	   unsigned int direct, void *token)
{
	unsigned int i, id, need;
	struct gr_slot *s;
	int ret, table = -1;

	ret = check_buffer(r, buf, n);
	if (ret)
		return ret;
	if (direct > n)
		direct = n;
	if (direct < n && r->cfg.packed)
		direct = 0;
	need = direct + (direct < n);
	if (n - direct > r->cfg.ind_max)
		return -EINVAL;
	if (need > r->num_free || (direct < n && !r->ind_left))
		return -ENOSPC;

	if (r->cfg.packed)
		id = gr_packed_place(r, buf, n, direct < n ? &table : NULL);
	else
		id = gr_split_place(r, buf, n, direct, &table);
	s = &r->slot[id];
	s->token = token;
	s->ind = table;
	s->busy = true;
	s->count = need;
	s->writable = 0;
	for (i = 0; i < n; i++)
		s->writable += buf[i].write ? buf[i].len : 0;
	r->num_free -= need;
	r->order[r->order_in] = id;
	r->order_in = (r->order_in + 1) % r->cfg.num;
	r->avail_idx++;
	return id;
}

void gr_publish(struct guest_ring *r)
{
	if (r->cfg.packed)
		gr_packed_publish(r);
	else
		gr_split_publish(r);
	r->shown_idx = r->avail_idx;
	gr_full_barrier(r);
}

bool gr_kick_needed(struct guest_ring *r)
{
	return r->cfg.packed ? gr_packed_kick_needed(r) :
			       gr_split_kick_needed(r);
}

int gr_rule(struct guest_ring *r, const char *what)
{
	if (!r->broken)
		r->broken = what;
	return -EPROTO;
}

unsigned int gr_batch_of(const struct guest_ring *r, unsigned int from,
			 unsigned int id)
{
	uint16_t shown = r->shown_idx - r->used_idx, k;

	if (id >= r->cfg.num || !r->slot[id].busy)
		return 0;
	if (!r->cfg.in_order)
		return 1;
	for (k = from; k < shown; k++)
		if (r->order[(r->order_out + k) % r->cfg.num] == id)
			return k + 1 - from;
	return 0;
}

static void take(struct guest_ring *r, unsigned int id, uint32_t len,
		 struct gr_done *done)
{
	struct gr_slot *s = &r->slot[id];

	*done = (struct gr_done) { .head = id, .len = len, .token = s->token };
	r->taken[r->taken_at] = *done;
	r->taken_at = (r->taken_at + 1) % r->cfg.num;
	if (s->ind >= 0)
		r->ind_free[r->ind_left++] = s->ind;
	s->busy = false;
	r->num_free += s->count;
	if (r->cfg.packed)
		gr_packed_release(r, id);
	else
		gr_split_release(r, id);
	r->order_out = (r->order_out + 1) % r->cfg.num;
	r->used_idx++;
}

/* 2.7.9, 2.8.8: those for which there is no entry have been used completely */
static void take_of_batch(struct guest_ring *r, struct gr_done *done)
{
	unsigned int id = r->order[r->order_out];
	bool last = --r->batch == 0;

	r->skipped += !last;
	take(r, id, last ? r->batch_len : r->slot[id].writable, done);
}

int gr_get_used(struct guest_ring *r, struct gr_done *done)
{
	struct gr_used_elem e;
	unsigned int n;
	int ret;

	if (r->batch) {
		take_of_batch(r, done);
		return 1;
	}
	ret = r->cfg.packed ? gr_packed_look(r, &e) : gr_split_look(r, &e);
	if (ret <= 0)
		return ret;
	if (e.id >= r->cfg.num)
		return gr_rule(r, "used id is none of ours");
	if (!r->slot[e.id].busy)
		return gr_rule(r, "used id was not available (returned twice?)");
	if (e.len > r->slot[e.id].writable)
		return gr_rule(r, "used len exceeds the writable part");
	if (!r->cfg.in_order) {
		take(r, e.id, e.len, done);
		return 1;
	}
	n = gr_batch_of(r, 0, e.id);
	if (!n)
		return gr_rule(r, "used id was not shown");
	if (!r->cfg.packed && n > gr_split_waiting(r))
		return gr_rule(r, "used idx is less than the batch");
	r->batch = n;
	r->batch_len = e.len;
	take_of_batch(r, done);
	return 1;
}

unsigned int gr_used_waiting(const struct guest_ring *r)
{
	struct gr_place end;

	return r->cfg.packed ? gr_packed_waiting(r, ~0u, &end) :
			       gr_split_waiting(r);
}

bool gr_used_pending(const struct guest_ring *r)
{
	struct gr_place end;

	return r->cfg.packed ? gr_packed_waiting(r, 1, &end) :
			       gr_split_waiting(r);
}

const struct gr_done *gr_taken(const struct guest_ring *r, unsigned int k)
{
	return &r->taken[(r->taken_at + r->cfg.num - k) % r->cfg.num];
}

void gr_call_off(struct guest_ring *r)
{
	if (r->cfg.packed)
		gr_packed_call(r, GR_EVENT_DISABLE, 0);
	else
		gr_split_call(r, false, 0);
}

static bool more_than(struct guest_ring *r, unsigned int after)
{
	gr_full_barrier(r);
	if (!r->cfg.event_idx)
		after = 0;
	return r->cfg.packed ? gr_packed_passed(r, after) :
			       gr_split_waiting(r) > after;
}

bool gr_call_on(struct guest_ring *r, unsigned int after)
{
	if (r->cfg.packed)
		gr_packed_call(r, r->cfg.event_idx ? GR_EVENT_DESC :
						     GR_EVENT_ENABLE, after);
	else
		gr_split_call(r, true, after);
	return more_than(r, after);
}

bool gr_call_each(struct guest_ring *r)
{
	if (!r->cfg.packed)
		return gr_call_on(r, 0);
	gr_packed_call(r, GR_EVENT_ENABLE, 0);
	return more_than(r, 0);
}

void gr_watch_start(const struct guest_ring *r, struct gr_watch *w)
{
	w->at = r->next_used;
	w->idx = r->used_idx;
}

bool gr_watch_next(const struct guest_ring *r, struct gr_watch *w,
		   struct gr_used_elem *e)
{
	return r->cfg.packed ? gr_packed_watch(r, w, e) :
			       gr_split_watch(r, w, e);
}

struct gr_desc *gr_raw_desc(struct guest_ring *r, unsigned int i)
{
	return (struct gr_desc *)r->cfg.desc + i;
}

uint16_t gr_raw_used_idx(const struct guest_ring *r)
{
	return r->cfg.packed ? r->used_idx + gr_used_waiting(r) :
			       gr_split_used_idx(r);
}

void gr_raw_offer(struct guest_ring *r, uint64_t gpa, uint32_t len,
		  uint16_t flags)
{
	struct gr_desc *d = gr_raw_desc(r, 0);

	if (r->cfg.packed) {
		gr_raw_set_packed(d, gpa, len, 0, 0);
		gr_raw_show(r, 0, flags | gr_raw_lap(true, false));
		return;
	}
	gr_raw_set(d, gpa, len, flags, 0);
	gr_raw_avail(r, 0, 0);
	gr_raw_avail_idx(r, 1);
}

const void *gr_used_place(const struct guest_ring *r)
{
	return r->cfg.packed ? (struct gr_desc *)r->cfg.desc + r->next_used.pos :
			       r->cfg.used;
}
