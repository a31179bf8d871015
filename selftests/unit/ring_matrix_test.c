// SPDX-License-Identifier: GPL-2.0
/*
 * Two readings of the specification meet: the driver of lib/guest_ring*.c and
 * the device of ring_*.c, over {layout} x {event_idx} x {indirect} x {in order} x
 * {byte order} x {size}, each across the wrap of the 16-bit index or of the
 * ring; some of them pinned, and once more with areas in pieces, which move now
 * and then. Now and then the device stops, and another one goes on from its base.
 *
 * The driver speaks little-endian only. For a big-endian ring it has areas of
 * its own, which are carried over, swapped, whenever the other side's turn
 * comes.
 */
#include "ring.h"

#include <linux/errno.h>
#include <stdlib.h>
#include <string.h>

#include "guest_ring.h"
#include "ring_rig.h"
#include "ring_swap.h"
#include "unit.h"

#define OFFSET		0x100000000000ULL	/* gpa - pointer */
#define MAX_SEGS	8
#define MAX_TABLES	128

struct sent {
	struct gr_buf buf[MAX_SEGS];
	unsigned int n;
	unsigned int head;
	u32 count;		/* descriptors in the ring */
	u32 room;		/* that the device may write */
	u32 written;		/* what the device says it wrote */
};

struct pair {
	struct rig *rig;
	struct guest_ring guest;
	struct gr_cfg cfg;
	bool indirect;
	u8 *desc, *avail, *used;	/* the driver's, if big-endian */
	struct gr_desc *tables, *swapped;
	struct kvnet_reader reader;

	/* in the order made available, by free-running number modulo n_kept */
	struct sent *sent;
	u32 n_kept, n_sent, n_popped, n_done;
	/* what the device holds and will give back, in any order or not */
	u32 *held;
	u32 n_held;
	bool asked;		/* has should_call() been asked since the start? */
};

static struct sent *sent_of(const struct pair *p, u32 number)
{
	return &p->sent[number & (p->n_kept - 1)];
}

static void to_device(struct pair *p)
{
	u32 num = p->rig->cfg.num;

	if (!p->rig->cfg.be)
		return;
	swap_desc(p->rig->desc, p->desc, num);
	swap16s(p->rig->avail, p->avail, 3 + num);
	if (p->indirect)
		swap_desc(p->swapped, p->tables, MAX_TABLES * MAX_SEGS);
}

static void to_driver(struct pair *p)
{
	if (p->rig->cfg.be)
		swap_used(p->used, p->rig->used, p->rig->cfg.num);
}

static int read_table(void *ctx, u64 addr, void *dst, u32 len)
{
	struct pair *p = ctx;
	u64 off = addr - OFFSET - (uintptr_t)p->tables;
	const void *from = p->rig->cfg.be ? p->swapped : p->tables;

	if (off + len > MAX_TABLES * MAX_SEGS * sizeof(struct gr_desc))
		return -EFAULT;
	memcpy(dst, (const u8 *)from + off, len);
	return 0;
}

static void pair_init(struct pair *p, const struct rig_cfg *cfg, bool indirect)
{
	struct rig_cfg rig = *cfg;
	u32 num = cfg->num;

	memset(p, 0, sizeof(*p));
	if (cfg->packed)	/* a place, for a while */
		rig.base = RIG_PACKED_NEW;
	p->rig = rig_new(&rig);
	p->indirect = indirect;
	/* a power of two, for numbers wrap */
	for (p->n_kept = 64; p->n_kept < 2 * num;)
		p->n_kept *= 2;
	p->sent = calloc(p->n_kept, sizeof(*p->sent));
	p->held = calloc(num, sizeof(*p->held));
	p->tables = calloc(MAX_TABLES * MAX_SEGS, sizeof(*p->tables));
	p->swapped = calloc(MAX_TABLES * MAX_SEGS, sizeof(*p->swapped));
	p->reader.read = read_table;
	p->reader.ctx = p;
	p->desc = calloc(1, rig_desc_bytes(cfg));
	p->avail = calloc(1, rig_avail_bytes(cfg));
	p->used = calloc(1, rig_used_bytes(cfg));
	p->cfg = (struct gr_cfg) {
		.num = num, .event_idx = cfg->event_idx, .lax = true,
		.packed = cfg->packed, .in_order = cfg->in_order,
		.desc = cfg->be ? p->desc : p->rig->desc,
		.avail = cfg->be ? p->avail : p->rig->avail,
		.used = cfg->be ? p->used : p->rig->used,
		.ind = p->tables, .offset = OFFSET,
		.ind_tables = indirect ? MAX_TABLES : 0,
		.ind_max = indirect ? MAX_SEGS : 0,
	};
	EXPECT_EQ(gr_init(&p->guest, &p->cfg), 0);
	gr_start_at(&p->guest, cfg->base);
	to_device(p);
	if (!cfg->packed)
		rig_set_used_idx(p->rig, cfg->base);
	kvnet_ring_base_set(&p->rig->ring, gr_base_at(&p->cfg, cfg->base));
	EXPECT_EQ(kvnet_ring_start(&p->rig->ring), 0);
	to_driver(p);
}

static void pair_exit(struct pair *p)
{
	EXPECT_EQ(shim_outside(), 0);
	gr_exit(&p->guest);
	rig_free(p->rig);
	free(p->sent);
	free(p->held);
	free(p->tables);
	free(p->swapped);
	free(p->desc);
	free(p->avail);
	free(p->used);
}

/* Some buffer of some shape; false if the ring is full. */
static bool driver_add(struct pair *p)
{
	struct sent *s = sent_of(p, p->n_sent);
	unsigned int i, n_out, direct = GR_ALL_DIRECT;
	int head;

	s->n = 1 + unit_below(unit_chance(2) ? 2 : MAX_SEGS);
	if (!p->indirect)
		s->n = min_t(u32, s->n, p->rig->cfg.num);
	else if (p->rig->cfg.num == 1 || unit_chance(2))
		direct = p->rig->cfg.num == 1 ? 0 : unit_below(3);
	n_out = unit_below(s->n + 1);
	for (i = 0; i < s->n; i++) {
		/* never looked into: only where it is matters */
		s->buf[i].ptr = (void *)(uintptr_t)(1 + unit_rand());
		s->buf[i].len = unit_below(100000);
		s->buf[i].write = i >= n_out;
	}
	head = gr_add(&p->guest, s->buf, s->n, direct,
		      (void *)(uintptr_t)(p->n_sent + 1));
	if (head < 0) {
		EXPECT_EQ(head, -ENOSPC);
		return false;
	}
	s->head = head;
	s->room = 0;
	for (i = 0; i < s->n; i++)
		s->room += s->buf[i].write ? s->buf[i].len : 0;
	p->n_sent++;
	return true;
}

static void check_chain(struct pair *p, struct sent *s)
{
	const struct kvnet_chain *c = &p->rig->chain;
	unsigned int i;

	s->count = p->guest.slot[s->head].count;
	EXPECT_EQ(c->count, s->count);
	EXPECT_EQ(c->id, s->head);
	if (!EXPECT_EQ(c->n_out + c->n_in, s->n))
		return;
	for (i = 0; i < s->n; i++) {
		EXPECT_EQ(c->seg[i].addr, (uintptr_t)s->buf[i].ptr + OFFSET);
		EXPECT_EQ(c->seg[i].len, s->buf[i].len);
		EXPECT_EQ(i >= c->n_out, s->buf[i].write);
	}
}

/* The short way to the next chain, now and then, where it leads there. */
static bool short_way(struct pair *p)
{
	struct kvnet_chain *c = &p->rig->chain;
	struct kvnet_used used;

	if (unit_chance(2) ||
	    !kvnet_ring_next_single(&p->rig->ring, c->seg, &used, 1, 1))
		return false;
	c->id = used.id;
	c->count = 1;
	c->n_out = 0;
	c->n_in = 1;
	return true;
}

static int device_next(struct pair *p)
{
	if (short_way(p))
		return 1;
	return kvnet_ring_next(&p->rig->ring, &p->rig->chain, &p->reader);
}

static void device_pop(struct pair *p, u32 want)
{
	kvnet_ring_pos_t pos = kvnet_ring_pos(&p->rig->ring);
	u32 k, n = min_t(u32, want, p->n_sent - p->n_popped);

	/* now and then all of it for nothing */
	if (unit_chance(3)) {
		for (k = 0; k < n; k++)
			EXPECT_EQ(device_next(p), 1);
		kvnet_ring_rewind(&p->rig->ring, pos);
	}
	for (k = 0; k < n; k++) {
		if (!EXPECT_EQ(device_next(p), 1))
			return;
		check_chain(p, sent_of(p, p->n_popped));
		p->held[p->n_held++] = p->n_popped++;
	}
	if (n < want)
		EXPECT_EQ(device_next(p), 0);
}

/* The one to give back next. */
static struct sent *let_go(struct pair *p)
{
	u32 k = p->cfg.in_order ? 0 : unit_below(p->n_held), number;

	number = p->held[k];
	p->n_held--;
	if (p->cfg.in_order)
		memmove(p->held, p->held + 1, p->n_held * sizeof(*p->held));
	else
		p->held[k] = p->held[p->n_held];
	return sent_of(p, number);
}

/* How many entries or descriptors the ring has moved on by. */
static u32 device_put(struct pair *p, u32 n)
{
	static struct kvnet_used used[32768];
	u32 i, moved = 0;
	struct sent *s;

	n = min_t(u32, n, p->n_held);
	for (i = 0; i < n; i++) {
		s = let_go(p);
		s->written = s->room && unit_chance(2) ?
			     unit_below(s->room + 1) : s->room;
		used[i].id = s->head;
		used[i].len = s->written;
		used[i].count = s->count;
		used[i].skippable = s->written == s->room;
		moved += p->cfg.packed ? s->count : 1;
	}
	EXPECT_EQ(kvnet_ring_put(&p->rig->ring, used, n), 0);
	return moved;
}

/* Another device, which knows the base and no more. */
static void device_restart(struct pair *p)
{
	struct kvnet_ring *r = &p->rig->ring;
	u32 base = kvnet_ring_base_get(r);

	/* with nothing in the upper half this would be taken for a short form */
	if (p->cfg.packed && p->n_held && !(base >> 16))
		return;
	if (p->n_popped == p->n_sent && !p->n_held)
		EXPECT_EQ(base, gr_base(&p->guest));
	if (p->cfg.packed && base == 0x80008000 && unit_chance(2))
		base = 0x8000;
	memset(r, 0x77, offsetof(struct kvnet_ring, num));
	kvnet_ring_base_set(r, base);
	EXPECT_EQ(kvnet_ring_base_get(r) & 0xffff, base & 0xffff);
	EXPECT_EQ(kvnet_ring_start(r), 0);
	p->asked = false;
	to_driver(p);
}

static void driver_collect(struct pair *p, u32 n)
{
	struct gr_done done;
	u32 i, number;
	int ret = 1;

	for (i = 0; i < n && ret == 1; i++) {
		ret = gr_get_used(&p->guest, &done);
		if (!EXPECT_EQ(ret, 1))
			break;
		number = (uintptr_t)done.token - 1;
		EXPECT_EQ(done.head, sent_of(p, number)->head);
		EXPECT_EQ(done.len, sent_of(p, number)->written);
		p->n_done++;
	}
	EXPECT_EQ(gr_get_used(&p->guest, &done), 0);
	EXPECT_TRUE(!p->guest.broken);
}

/* One turn of each side, with the notifications that it must come to. */
static void turn(struct pair *p)
{
	struct kvnet_ring *r = &p->rig->ring;
	u32 num = p->rig->cfg.num, k, n, before, moved;
	enum { OFF, ON, EACH } wish = unit_below(3);
	bool armed, wanted;
	int call;

	/* the device sleeps, or it is at work */
	armed = p->n_popped == p->n_sent && unit_chance(2);
	EXPECT_EQ(kvnet_ring_kick_off(r), 0);
	if (armed)
		EXPECT_EQ(kvnet_ring_kick_on(r), 0);
	to_driver(p);

	n = 1 + unit_below(unit_chance(3) ? num : min_t(u32, num, 6));
	before = p->n_sent;
	for (k = 0; k < n && driver_add(p); k++)
		;
	gr_publish(&p->guest);
	n = p->n_sent - before;
	wanted = gr_kick_needed(&p->guest);
	if (armed)
		EXPECT_EQ(wanted, n > 0);
	else if (!p->cfg.event_idx)
		EXPECT_TRUE(!wanted);
	/* how many more buffers the driver waits for */
	k = p->cfg.event_idx && wish == ON ?
	    unit_below(p->cfg.packed ? min_t(u32, num, 4) : 4) : 0;
	if (wish == ON)
		EXPECT_TRUE(!gr_call_on(&p->guest, k));
	else if (wish == EACH)
		EXPECT_TRUE(!gr_call_each(&p->guest));
	else
		gr_call_off(&p->guest);
	to_device(p);

	if (n)
		EXPECT_TRUE(kvnet_ring_pending(r));
	device_pop(p, unit_below(2 * num));
	before = p->n_held;
	moved = device_put(p, unit_below(2 * num));
	n = before - p->n_held;
	call = kvnet_ring_should_call(r);
	/* whatever it was when it was asked before is not known */
	if (wish != OFF && moved > k)
		EXPECT_EQ(call, 1);
	else if (p->asked && p->cfg.event_idx && wish == ON)
		EXPECT_EQ(call, 0);
	else if (wish == OFF && (p->cfg.packed || !p->cfg.event_idx))
		EXPECT_EQ(call, 0);
	p->asked = true;
	to_driver(p);
	driver_collect(p, n);
	if (unit_chance(12))
		device_restart(p);
}

static void run_pair(const struct rig_cfg *cfg, bool indirect)
{
	/* indices wrap within the first num + 200; once more where that is cheap */
	u32 chains = (cfg->num < 4096 ? 2 : 1) * cfg->num + 400, turns = 0;
	struct pair p;

	unit_context("num %u, %s, be %d, event_idx %d, indirect %d, "
		     "in_order %d, base %u, pinned %d, pieces %u",
		     cfg->num, cfg->packed ? "packed" : "split", cfg->be,
		     cfg->event_idx, indirect, cfg->in_order, cfg->base,
		     cfg->pinned, cfg->pieces);
	pair_init(&p, cfg, indirect);
	while (p.n_done < chains && !unit_failed() && turns++ < 20000) {
		turn(&p);
		if (cfg->pieces && unit_chance(8)) {
			EXPECT_EQ(shim_outside(), 0);
			rig_map(p.rig);
		}
	}
	EXPECT_TRUE(p.n_done >= chains);
	/* it makes use of the right to skip entries */
	EXPECT_TRUE(!cfg->in_order || cfg->num == 1 || p.guest.skipped);
	pair_exit(&p);
}

/* All powers of two; packed: and others. */
static u32 next_size(const struct rig_cfg *cfg)
{
	u32 num = cfg->num;

	if (!cfg->packed)
		return num ? 2 * num : 1;
	if (num < 10)
		return num + 1;
	if (num == KVNET_RING_MAX - 1)
		return KVNET_RING_MAX;
	num += num / 3 + unit_below(num / 2);
	return num == KVNET_RING_MAX ? num + 1 :
	       num > 20000 && cfg->num < KVNET_RING_MAX ?
	       KVNET_RING_MAX - 1 : num;
}

static void run_matrix(struct rig_cfg cfg, bool pieces)
{
	unsigned int i, ways = 8;

	for (cfg.num = next_size(&cfg); cfg.num <= KVNET_RING_MAX;
	     cfg.num = next_size(&cfg)) {
		for (i = 0; i < ways && !unit_failed(); i++) {
			cfg.event_idx = i & 1;
			cfg.in_order = i & 4;
			cfg.base = -(u16)unit_below(cfg.num + 200);
			/* makes no difference */
			if (pieces && !cfg.packed)
				cfg.be = unit_chance(2);
			cfg.pinned = !pieces && unit_chance(2);
			if (pieces)
				cfg.pieces = unit_chance(3) ? KVNET_AREA_PIECES :
					     2 + unit_below(8);
			run_pair(&cfg, i & 2);
		}
	}
}

CASE_ROW(ring_matrix_little_endian, run_matrix((struct rig_cfg) { 0 }, false))
CASE_ROW(ring_matrix_big_endian, run_matrix((struct rig_cfg) { .be = true }, false))
CASE_ROW(ring_matrix_in_pieces, run_matrix((struct rig_cfg) { 0 }, true))
CASE_ROW(ring_matrix_packed, run_matrix((struct rig_cfg) { .packed = true }, false))
CASE_ROW(ring_matrix_packed_in_pieces, run_matrix((struct rig_cfg) { .packed = true }, true))
