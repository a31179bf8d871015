// SPDX-License-Identifier: GPL-2.0
/*
 * The driver side of a split virtqueue: see guest_ring.h.
 *
 * Section numbers are those of the virtio 1.3 specification.
 */
#define _DEFAULT_SOURCE
#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest_ring.h"

/*
 * 2.7.13.4.1 wants a barrier between "idx written" and "suppression read".
 * ThreadSanitizer does not model fences, but it does model a read-modify-write.
 */
static void full_barrier(struct guest_ring *r)
{
#if defined(__SANITIZE_THREAD__)
	__atomic_fetch_add(&r->fence, 1, __ATOMIC_SEQ_CST);
#else
	(void)r;
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

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

static uint16_t get16(const uint16_t *p)
{
	return le16toh(__atomic_load_n(p, __ATOMIC_RELAXED));
}

static uint16_t get16_acquire(const uint16_t *p)
{
	return le16toh(__atomic_load_n(p, __ATOMIC_ACQUIRE));
}

static void put16(uint16_t *p, uint16_t v)
{
	__atomic_store_n(p, htole16(v), __ATOMIC_RELAXED);
}

static void put16_release(uint16_t *p, uint16_t v)
{
	__atomic_store_n(p, htole16(v), __ATOMIC_RELEASE);
}

size_t gr_desc_bytes(unsigned int num)
{
	return 16 * (size_t)num;
}

size_t gr_avail_bytes(unsigned int num)
{
	return 6 + 2 * (size_t)num;
}

size_t gr_used_bytes(unsigned int num)
{
	return 6 + 8 * (size_t)num;
}

static size_t round_to(size_t v, size_t align)
{
	return (v + align - 1) / align * align;
}

size_t gr_block_bytes(unsigned int num, size_t align)
{
	return round_to(gr_desc_bytes(num) + gr_avail_bytes(num), align) +
	       round_to(gr_used_bytes(num), align);
}

void gr_block_cut(struct gr_cfg *cfg, void *block, size_t align)
{
	char *p = block;

	cfg->desc = p;
	cfg->avail = p + gr_desc_bytes(cfg->num);
	cfg->used = p + round_to(gr_desc_bytes(cfg->num) +
				 gr_avail_bytes(cfg->num), align);
}

int gr_init(struct guest_ring *r, const struct gr_cfg *cfg)
{
	unsigned int i;

	memset(r, 0, sizeof(*r));
	if (!cfg->num || cfg->num > GR_NUM_MAX || cfg->num & (cfg->num - 1))
		return -EINVAL;
	if ((uintptr_t)cfg->desc % 16 || (uintptr_t)cfg->avail % 2 ||
	    (uintptr_t)cfg->used % 4)
		return -EINVAL;
	r->cfg = *cfg;
	r->slot = calloc(cfg->num, sizeof(*r->slot));
	r->link = calloc(cfg->num, sizeof(*r->link));
	r->ind_free = calloc(cfg->ind_tables + 1, sizeof(*r->ind_free));
	if (!r->slot || !r->link || !r->ind_free) {
		gr_exit(r);
		return -ENOMEM;
	}
	for (i = 0; i < cfg->num; i++)
		r->link[i] = i + 1;
	for (i = 0; i < cfg->ind_tables; i++)
		r->ind_free[i] = i;
	r->ind_left = cfg->ind_tables;
	r->num_free = cfg->num;
	memset(cfg->desc, 0, gr_desc_bytes(cfg->num));
	memset(cfg->avail, 0, gr_avail_bytes(cfg->num));
	memset(cfg->used, 0, gr_used_bytes(cfg->num));
	return 0;
}

void gr_exit(struct guest_ring *r)
{
	free(r->slot);
	free(r->link);
	free(r->ind_free);
	memset(r, 0, sizeof(*r));
}

void gr_start_at(struct guest_ring *r, uint16_t base)
{
	r->avail_idx = base;
	r->shown_idx = base;
	r->kick_idx = base;
	r->used_idx = base;
	put16(used_idx(r), base);
	put16_release(avail_idx(r), base);
	put16(used_event(r), base);
}

uint64_t gr_gpa(const struct guest_ring *r, const void *ptr, size_t len)
{
	if (r->cfg.to_gpa)
		return r->cfg.to_gpa(r->cfg.ctx, ptr, len);
	return (uint64_t)(uintptr_t)ptr + r->cfg.offset;
}

static void fill_desc(struct guest_ring *r, struct gr_desc *d,
		      const struct gr_buf *b)
{
	d->addr = htole64(gr_gpa(r, b->ptr, b->len));
	d->len = htole32(b->len);
	d->flags = htole16(b->write ? GR_DESC_F_WRITE : 0);
	d->next = 0;
}

static void chain_desc(struct gr_desc *d, uint16_t next)
{
	d->flags |= htole16(GR_DESC_F_NEXT);
	d->next = htole16(next);
}

/* 2.7.5.3: a table of its own, entries in order, referred to by *d */
static int fill_indirect(struct guest_ring *r, struct gr_desc *d,
			 const struct gr_buf *buf, unsigned int n)
{
	int table = r->ind_free[--r->ind_left];
	struct gr_desc *t = (struct gr_desc *)r->cfg.ind +
			    (size_t)table * r->cfg.ind_max;
	unsigned int i;

	for (i = 0; i < n; i++) {
		fill_desc(r, &t[i], &buf[i]);
		if (i + 1 < n)
			chain_desc(&t[i], i + 1);
	}
	d->addr = htole64(gr_gpa(r, t, n * sizeof(*t)));
	d->len = htole32(n * sizeof(*t));
	d->flags = htole16(GR_DESC_F_INDIRECT);
	d->next = 0;
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
	unsigned int head, i, d, need;
	struct gr_desc *desc = r->cfg.desc;
	struct gr_slot *s;
	int ret;

	ret = check_buffer(r, buf, n);
	if (ret)
		return ret;
	if (direct > n)
		direct = n;
	need = direct + (direct < n);
	if (n - direct > r->cfg.ind_max)
		return -EINVAL;
	if (need > r->num_free || (direct < n && !r->ind_left))
		return -ENOSPC;

	head = r->free_head;
	s = &r->slot[head];
	s->token = token;
	s->ind = -1;
	s->busy = true;
	s->writable = 0;
	for (i = 0; i < n; i++)
		s->writable += buf[i].write ? buf[i].len : 0;

	for (i = 0, d = head; i < need; i++) {
		if (i < direct)
			fill_desc(r, &desc[d], &buf[i]);
		else
			s->ind = fill_indirect(r, &desc[d], &buf[i], n - i);
		if (i + 1 < need) {
			chain_desc(&desc[d], r->link[d]);
			d = r->link[d];
		}
	}
	r->free_head = r->link[d];
	r->link[d] = d;		/* a link to itself ends the chain */
	r->num_free -= need;

	put16(avail_entry(r, r->avail_idx++), head);
	return head;
}

void gr_publish(struct guest_ring *r)
{
	/* 2.7.13.3.1: descriptors and entries before idx */
	put16_release(avail_idx(r), r->avail_idx);
	r->shown_idx = r->avail_idx;
	full_barrier(r);
}

bool gr_kick_needed(struct guest_ring *r)
{
	uint16_t from = r->kick_idx, added = r->shown_idx - from;

	r->kick_idx = r->shown_idx;
	if (!added)
		return false;
	if (!r->cfg.event_idx)
		return !(get16(used_flags(r)) & GR_USED_F_NO_NOTIFY);
	/* 2.7.10.1: yes if one of the entries written had idx == avail_event */
	return (uint16_t)(get16(avail_event(r)) - from) < added;
}

static int rule(struct guest_ring *r, const char *what)
{
	if (!r->broken)
		r->broken = what;
	return -EPROTO;
}

static void release_chain(struct guest_ring *r, unsigned int head)
{
	struct gr_slot *s = &r->slot[head];
	unsigned int d = head;

	if (s->ind >= 0)
		r->ind_free[r->ind_left++] = s->ind;
	s->busy = false;
	r->num_free++;
	while (r->link[d] != d) {
		d = r->link[d];
		r->num_free++;
	}
	r->link[d] = r->free_head;
	r->free_head = head;
}

int gr_get_used(struct guest_ring *r, struct gr_done *done)
{
	const struct gr_used_elem *e;
	uint16_t idx = get16_acquire(used_idx(r)), flags = get16(used_flags(r));
	uint32_t id, len;

	if (idx == r->used_idx)
		return 0;
	if ((uint16_t)(idx - r->used_idx) > (uint16_t)(r->shown_idx -
						       r->used_idx))
		return rule(r, "used idx runs ahead of avail idx");
	/* 2.7.10.1: with EVENT_IDX, too, the driver ignores the lower bit */
	if (flags & ~GR_USED_F_NO_NOTIFY)
		return rule(r, "used flags: reserved bit");

	e = used_entry(r, r->used_idx);
	id = le32toh(e->id);
	len = le32toh(e->len);
	if (id >= r->cfg.num)
		return rule(r, "used id is no descriptor");
	if (!r->slot[id].busy)
		return rule(r, "used id was not available (returned twice?)");
	if (len > r->slot[id].writable)
		return rule(r, "used len exceeds the writable part");

	done->head = id;
	done->len = len;
	done->token = r->slot[id].token;
	release_chain(r, id);
	r->used_idx++;
	return 1;
}

unsigned int gr_used_waiting(const struct guest_ring *r)
{
	return (uint16_t)(get16_acquire(used_idx(r)) - r->used_idx);
}

bool gr_used_pending(const struct guest_ring *r)
{
	return gr_used_waiting(r) != 0;
}

void gr_call_off(struct guest_ring *r)
{
	/* 2.7.7.1: with EVENT_IDX flags stay 0, an event far behind is silent */
	if (r->cfg.event_idx)
		put16(used_event(r), r->used_idx - 1);
	else
		put16(avail_flags(r), GR_AVAIL_F_NO_INTERRUPT);
}

bool gr_call_on(struct guest_ring *r, unsigned int after)
{
	if (r->cfg.event_idx)
		put16(used_event(r), r->used_idx + after);
	else
		put16(avail_flags(r), 0);
	full_barrier(r);
	return gr_used_waiting(r) > (r->cfg.event_idx ? after : 0);
}

struct gr_desc *gr_raw_desc(struct guest_ring *r, unsigned int i)
{
	return (struct gr_desc *)r->cfg.desc + i;
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
	put16(avail_entry(r, pos), head);
}

void gr_raw_avail_idx(struct guest_ring *r, uint16_t idx)
{
	put16_release(avail_idx(r), idx);
	full_barrier(r);
}

void gr_raw_avail_flags(struct guest_ring *r, uint16_t flags)
{
	put16(avail_flags(r), flags);
}

void gr_raw_used_event(struct guest_ring *r, uint16_t event)
{
	put16(used_event(r), event);
}

uint16_t gr_raw_used_idx(const struct guest_ring *r)
{
	return get16_acquire(used_idx(r));
}

uint16_t gr_raw_used_flags(const struct guest_ring *r)
{
	return get16(used_flags(r));
}

uint16_t gr_raw_avail_event(const struct guest_ring *r)
{
	return get16(avail_event(r));
}

struct gr_used_elem gr_raw_used(const struct guest_ring *r, uint16_t pos)
{
	struct gr_used_elem e = *used_entry(r, pos);

	e.id = le32toh(e.id);
	e.len = le32toh(e.len);
	return e;
}
