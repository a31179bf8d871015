// SPDX-License-Identifier: GPL-2.0
/* A ring in memory of its own, see ring_rig.h. */
#include "ring_rig.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define CAP	70000

static void put16(const struct rig *g, u8 *p, u16 v)
{
	v = g->cfg.be ? htobe16(v) : htole16(v);
	memcpy(p, &v, sizeof(v));
}

static void put32(const struct rig *g, u8 *p, u32 v)
{
	v = g->cfg.be ? htobe32(v) : htole32(v);
	memcpy(p, &v, sizeof(v));
}

static void put64(const struct rig *g, u8 *p, u64 v)
{
	v = g->cfg.be ? htobe64(v) : htole64(v);
	memcpy(p, &v, sizeof(v));
}

static u16 get16(const struct rig *g, const u8 *p)
{
	u16 v;

	memcpy(&v, p, sizeof(v));
	return g->cfg.be ? be16toh(v) : le16toh(v);
}

static u32 get32(const struct rig *g, const u8 *p)
{
	u32 v;

	memcpy(&v, p, sizeof(v));
	return g->cfg.be ? be32toh(v) : le32toh(v);
}

size_t rig_desc_bytes(const struct rig_cfg *cfg)
{
	return 16 * (size_t)cfg->num;
}

size_t rig_avail_bytes(const struct rig_cfg *cfg)
{
	return cfg->packed ? 4 : 6 + 2 * (size_t)cfg->num;
}

size_t rig_used_bytes(const struct rig_cfg *cfg)
{
	return cfg->packed ? 4 : 6 + 8 * (size_t)cfg->num;
}

static int rig_read(void *ctx, u64 addr, void *dst, u32 len)
{
	struct rig *g = ctx;
	u64 off = addr - RIG_GPA;

	g->reads++;
	if (g->read_error)
		return g->read_error;
	if (off > sizeof(g->table) || len > sizeof(g->table) - off)
		return -EFAULT;
	memcpy(dst, g->table + off, len);
	if (g->poison)
		memset(g->table + off, 0xff, len);
	return 0;
}

static int cmp_u32(const void *a, const void *b)
{
	return *(const u32 *)a < *(const u32 *)b ? -1 : 1;
}

/*
 * Descriptors are cut anywhere, the others between fields of two bytes; of a
 * packed ring, between descriptors. What comes next for the driver is anywhere
 * for the owner, or goes on there.
 */
static void cut_area(struct rig *g, unsigned int nr, struct kvnet_area *a,
		     u8 *mem, u32 len)
{
	u32 at[KVNET_AREA_PIECES + 1] = { 0 }, i, n = 1;
	u32 unit = g->cfg.packed ? nr ? 4 : 16 : nr ? 2 : 1;
	u64 user = 0;

	for (i = 1; i < g->cfg.pieces; i++)
		at[n++] = unit * unit_below(len / unit);
	qsort(at, n, sizeof(at[0]), cmp_u32);
	at[n] = len;
	*a = (struct kvnet_area) { .len = len, .piece = g->piece[nr] };
	for (i = 0; i < n; i++) {
		if (at[i] == at[i + 1])
			continue;
		if (!user || !unit_chance(5))
			user = ((u64)unit_rand() << 30) + ((i * 3 + nr) << 20);
		a->piece[a->n].base = (void *)(uintptr_t)user;
		a->piece[a->n++].off = at[i];
		shim_map(user, mem + at[i], at[i + 1] - at[i]);
		user += at[i + 1] - at[i];
	}
}

void rig_map(struct rig *g)
{
	const struct rig_cfg *cfg = &g->cfg;
	u32 tail = cfg->event_idx || cfg->packed ? 0 : 2;
	struct kvnet_ring *r = &g->ring;

	shim_reset();
	if (cfg->pieces) {
		cut_area(g, 0, &r->desc, g->desc, rig_desc_bytes(cfg));
		cut_area(g, 1, &r->avail, g->avail,
			 rig_avail_bytes(cfg) - tail);
		cut_area(g, 2, &r->used, g->used, rig_used_bytes(cfg) - tail);
		return;
	}
	shim_window(g->desc, rig_desc_bytes(cfg));
	shim_window(g->avail, rig_avail_bytes(cfg) - tail);
	shim_window(g->used, rig_used_bytes(cfg) - tail);
	r->desc.base = g->desc;
	r->avail.base = g->avail;
	r->used.base = g->used;
	r->desc.kaddr = cfg->pinned ? g->desc : NULL;
	r->avail.kaddr = cfg->pinned ? g->avail : NULL;
	r->used.kaddr = cfg->pinned ? g->used : NULL;
}

u32 rig_base(const struct rig_cfg *cfg, u16 place)
{
	return cfg->packed ? (u32)place << 16 | place : place;
}

/* Behind the base all was used in this lap, ahead of it in the last one. */
static void past_laps(struct rig *g)
{
	u16 place = g->cfg.base;
	bool wrap = place & 0x8000;
	u32 i;

	for (i = 0; i < g->cfg.num; i++)
		rig_packed(g, i, 0, 0, 0,
			   rig_lap(i < (place & 0x7fff) ? wrap : !wrap, true));
}

struct rig *rig_new(const struct rig_cfg *cfg)
{
	struct rig *g = calloc(1, sizeof(*g));

	g->cfg = *cfg;
	g->desc = calloc(1, rig_desc_bytes(cfg));
	g->avail = calloc(1, rig_avail_bytes(cfg));
	g->used = calloc(1, rig_used_bytes(cfg));
	rig_map(g);

	g->ring.num = cfg->num;
	g->ring.le = !cfg->be;
	g->ring.packed = cfg->packed;
	g->ring.in_order = cfg->in_order;
	g->ring.event_idx = cfg->event_idx;
	g->ring.notify_on_empty = cfg->on_empty;
	g->chain.cap = cfg->cap ? cfg->cap : CAP;
	g->chain.seg = calloc(g->chain.cap, sizeof(*g->chain.seg));
	g->reader.read = rig_read;
	g->reader.ctx = g;

	g->avail_idx = cfg->base;
	if (cfg->packed) {
		past_laps(g);
	} else {
		rig_avail_idx(g, cfg->base);
		rig_set_used_idx(g, cfg->base);
	}
	kvnet_ring_base_set(&g->ring, rig_base(cfg, cfg->base));
	if (kvnet_ring_start(&g->ring))
		abort();
	return g;
}

void rig_restart(struct rig *g, u32 base)
{
	kvnet_ring_base_set(&g->ring, base);
	EXPECT_EQ(kvnet_ring_start(&g->ring), 0);
}

void rig_free(struct rig *g)
{
	shim_reset();
	free(g->desc);
	free(g->avail);
	free(g->used);
	free(g->chain.seg);
	free(g);
}

static void set_desc(const struct rig *g, u8 *p, u64 addr, u32 len, u16 flags,
		     u16 next)
{
	put64(g, p, addr);
	put32(g, p + 8, len);
	put16(g, p + 12, flags);
	put16(g, p + 14, next);
}

void rig_desc(struct rig *g, u32 i, u64 addr, u32 len, u16 flags, u16 next)
{
	set_desc(g, g->desc + 16 * i, addr, len, flags, next);
}

void rig_table(struct rig *g, u32 i, u64 addr, u32 len, u16 flags, u16 next)
{
	set_desc(g, g->table + 16 * i, addr, len, flags, next);
}

void rig_avail(struct rig *g, u16 pos, u16 head)
{
	put16(g, g->avail + 4 + 2 * (pos % g->cfg.num), head);
}

void rig_avail_idx(struct rig *g, u16 idx)
{
	put16(g, g->avail + 2, idx);
}

void rig_avail_flags(struct rig *g, u16 flags)
{
	put16(g, g->avail, flags);
}

void rig_used_event(struct rig *g, u16 event)
{
	put16(g, g->avail + 4 + 2 * g->cfg.num, event);
}

void rig_set_used_idx(struct rig *g, u16 idx)
{
	put16(g, g->used + 2, idx);
}

u16 rig_used_flags(const struct rig *g)
{
	return get16(g, g->used);
}

u16 rig_used_idx(const struct rig *g)
{
	return get16(g, g->used + 2);
}

u16 rig_avail_event(const struct rig *g)
{
	return get16(g, g->used + 4 + 8 * g->cfg.num);
}

struct kvnet_used rig_used(const struct rig *g, u16 pos)
{
	const u8 *p = g->used + 4 + 8 * (pos % g->cfg.num);

	return (struct kvnet_used) {
		.id = get32(g, p), .len = get32(g, p + 4),
	};
}

u16 rig_step(const struct rig *g, u16 place, u32 n)
{
	u32 pos = (place & 0x7fff) + n, laps = pos / g->cfg.num;

	if (!g->cfg.packed)
		return place + n;
	return (pos % g->cfg.num) | ((place & 0x8000) ^ (laps & 1) << 15);
}

u16 rig_use_place(const struct rig *g)
{
	return g->cfg.packed ? kvnet_ring_base_get(&g->ring) >> 16 :
			       rig_used_idx(g);
}

bool rig_has_used(const struct rig *g, u16 place, u16 id, u32 len)
{
	struct rig_packed d;
	struct kvnet_used used;

	if (!g->cfg.packed) {
		used = rig_used(g, place);
		return used.id == id && used.len == len;
	}
	d = rig_packed_at(g, place & 0x7fff);
	return rig_is_used(g, place) && d.id == id && d.len == len;
}

bool rig_shows_used(const struct rig *g, u16 place)
{
	return g->cfg.packed ? rig_is_used(g, place) : rig_used_idx(g) != place;
}

void rig_show(struct rig *g, u64 addr, u32 len, u16 id, u16 flags)
{
	rig_packed(g, g->avail_idx & 0x7fff, addr, len, id,
		   flags | rig_lap(g->avail_idx & 0x8000, false));
	g->avail_idx = rig_step(g, g->avail_idx, 1);
}

bool rig_is_used(const struct rig *g, u16 place)
{
	return (rig_packed_at(g, place & 0x7fff).flags & (F_AVAIL | F_USED)) ==
	       rig_lap(place & 0x8000, true);
}

void rig_offer(struct rig *g, u16 head)
{
	if (g->cfg.packed) {
		rig_show(g, 0x1000 + head, 1, head, 0);
		return;
	}
	rig_avail(g, g->avail_idx++, head);
	rig_avail_idx(g, g->avail_idx);
}

int rig_next(struct rig *g)
{
	return kvnet_ring_next(&g->ring, &g->chain, &g->reader);
}

void rig_packed(struct rig *g, u32 i, u64 addr, u32 len, u16 id, u16 flags)
{
	set_desc(g, g->desc + 16 * i, addr, len, id, flags);
}

struct rig_packed rig_packed_at(const struct rig *g, u32 i)
{
	const u8 *p = g->desc + 16 * i;

	return (struct rig_packed) {
		.addr = get32(g, p) | (u64)get32(g, p + 4) << 32,
		.len = get32(g, p + 8),
		.id = get16(g, p + 12), .flags = get16(g, p + 14),
	};
}

u16 rig_lap(bool wrap, bool used)
{
	return (wrap ? F_AVAIL : 0) | (wrap == used ? F_USED : 0);
}

void rig_driver_event(struct rig *g, u16 where, u16 flags)
{
	put16(g, g->avail, where);
	put16(g, g->avail + 2, flags);
}

u16 rig_device_event(const struct rig *g)
{
	return get16(g, g->used);
}

u16 rig_device_event_flags(const struct rig *g)
{
	return get16(g, g->used + 2);
}

int rig_put(struct rig *g, u16 id, u32 len)
{
	struct kvnet_used used = { .id = id, .len = len, .count = 1 };

	return kvnet_ring_put(&g->ring, &used, 1);
}

int rig_put_chain(struct rig *g, u32 len)
{
	struct kvnet_used used = {
		.id = g->chain.id, .len = len, .count = g->chain.count
	};

	return kvnet_ring_put(&g->ring, &used, 1);
}
