// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to a ring, and to what its driver and its device do there, step by step. The driver
 * offers chains: direct, indirect or both, of any length, in any order; with a flaw, if the
 * input says so. It asks for calls, and overwrites any byte, also while the device reads, or
 * unmaps it. Whatever it does: every verb ends within its bound, touches only what it may,
 * gives a valid chain or one of the documented errors, and does not move after an error.
 * Until a byte is overwritten, it also agrees with a naive second walker.
 *
 * A fuzz target, see fuzz.h.
 */
#include "ring.h"

#include <linux/errno.h>
#include <string.h>

#include "fuzz.h"
#include "ring_fuzz_ref.h"
#include "unit.h"

#define MAX_STRIKES	8
#define MAX_STEPS	256
#define MAX_FETCHED	128
#define FAULT		0xfff	/* a strike there is a fault, not a change */

/* What is wrong with a chain. */
enum flaw {
	NO_FLAW,
	FAR_NEXT,		/* leads out of the ring, or of the table */
	LOOP,
	DIRECTION,		/* of one descriptor, the other one */
	NESTED,			/* one is indirect */
	ANY_FLAGS,
	FAR_HEAD,
	AHEAD,			/* more is available than the ring has */
	EMPTY_TABLE,
	ODD_TABLE,
	LONG_TABLE,		/* longer than the memory there */
	ENDLESS_TABLE,		/* longer than a table may be */
	WRAPPED_TABLE,		/* beyond the last address */
	FLAWS,
};

struct strike {
	unsigned int at;	/* the access, from 0 */
	u16 where;
	u8 value;
};

struct fuzz {
	struct rig *g;
	struct strike strike[MAX_STRIKES];
	unsigned int n_strikes;
	unsigned int accesses, total;
	bool faulted;
	bool wild;		/* what is there may be another thing at each look */
	/* the driver's: the next descriptor, and how many descriptors, or chains, are not used */
	u32 desc, offered;
	u32 uncalled;		/* used since should_call() */
	/* the device's: chains not put yet, and how many there were at @pos */
	struct kvnet_used fetched[MAX_FETCHED];
	unsigned int n_fetched, n_at_pos;
	kvnet_ring_pos_t pos;
	bool pos_valid;
	unsigned int parts;	/* most accesses that one becomes */
};

const char fuzz_name[] = "ring";

static bool within(const struct shim_event *ev, const u8 *area, size_t len)
{
	return ev->addr >= (uintptr_t)area &&
	       ev->addr + ev->len <= (uintptr_t)area + len;
}

static void strike_at(struct fuzz *f, const struct strike *s)
{
	struct rig *g = f->g;
	size_t where = s->where, desc = rig_desc_bytes(&g->cfg),
	       avail = rig_avail_bytes(&g->cfg);

	if (where < desc)
		g->desc[where] = s->value;
	else if (where - desc < avail)
		g->avail[where - desc] = s->value;
	else
		g->table[(where - desc - avail) % sizeof(g->table)] = s->value;
}

static bool hook(void *ctx, const struct shim_event *ev)
{
	struct fuzz *f = ctx;
	struct rig *g = f->g;
	bool fault = false, ok;
	unsigned int i;

	if (ev->done)
		return false;
	ok = within(ev, g->used, rig_used_bytes(&g->cfg));
	if (g->cfg.packed)	/* all but the address may be written */
		ok |= within(ev, g->desc, rig_desc_bytes(&g->cfg)) &&
		      (ev->addr - (uintptr_t)g->desc) % 16 >= 8;
	if (ev->op == SHIM_LOAD || ev->op == SHIM_COPY_IN)
		ok |= within(ev, g->desc, rig_desc_bytes(&g->cfg)) ||
		      within(ev, g->avail, rig_avail_bytes(&g->cfg));
	EXPECT_TRUE(ok);
	for (i = 0; i < f->n_strikes; i++) {
		if (f->strike[i].at != f->total)
			continue;
		fault |= f->strike[i].where == FAULT;
		if (f->strike[i].where != FAULT)
			strike_at(f, &f->strike[i]);
	}
	f->accesses++;
	f->total++;
	f->faulted |= fault;
	return fault;
}

/* One of the ring, from the next one on, or of a table. */
static void put_desc(struct fuzz *f, bool table, u32 i, u64 addr, u32 len, u16 flags, u16 next)
{
	struct rig *g = f->g;

	if (!g->cfg.packed)
		(table ? rig_table : rig_desc)(g, i, addr, len, flags, next);
	else if (table)		/* the id comes first, and means nothing */
		rig_table(g, i, addr, len, next, flags & ~F_NEXT);
	else
		rig_show(g, addr, len, next, flags);
}

/*
 * @n descriptors, in order or from behind, of the ring or of the table, at @first. @more: one
 * that is indirect follows. Packed: the buffer's id is @id.
 */
static void put_descs(struct fuzz *f, struct input *in, bool table, u32 first, u32 n, bool more,
		      u16 id, enum flaw flaw)
{
	u8 shape = take8(in), len = take8(in), which = take8(in) % n;
	u32 n_out = more ? n : take8(in) % (n + 1), i, at, next;
	u32 mask = table ? U32_MAX : f->g->cfg.num - 1;
	u16 flags;

	for (i = 0; i < n; i++) {
		at = shape & 1 && i ? n - i : i;
		next = i + 1 == n ? n : shape & 1 ? n - i - 1 : i + 1;
		if (!table)
			next += first;
		flags = (i < n_out ? 0 : F_WRITE) | (i + 1 < n || more ? F_NEXT : 0);
		if (i == which && flaw == DIRECTION)
			flags ^= F_WRITE;
		if (i == which && flaw == NESTED)
			flags |= F_INDIRECT;
		if (i == which && flaw == ANY_FLAGS)
			flags ^= take16(in);
		if (i + 1 == n && flaw == LOOP) {
			flags |= F_NEXT;
			next = table ? 0 : first;
		}
		next &= mask;
		if (i == which && flaw == FAR_NEXT)
			next = table ? n : f->g->cfg.num;
		put_desc(f, table, (first + at) & mask, shape & 2 ? take64(in) : 0x1000 * i,
			 shape & 4 ? take32(in) : len * 8, flags, f->g->cfg.packed ? id : next);
	}
}

/* For a table of @n, behind which there is no memory. */
static void put_indirect(struct fuzz *f, u32 i, u32 n, u16 id, u16 flags, enum flaw flaw)
{
	u64 addr = RIG_GPA + 16 * (RIG_TABLE - n);
	u32 len = 16 * n;

	if (flaw == EMPTY_TABLE)
		len = 0;
	if (flaw == ODD_TABLE)
		len += 4;
	if (flaw == LONG_TABLE)
		len = sizeof(f->g->table);
	if (flaw == ENDLESS_TABLE)
		len = 16 * 65537;
	if (flaw == WRAPPED_TABLE)
		addr = -8;
	put_desc(f, false, i, addr, len, flags | F_INDIRECT, f->g->cfg.packed ? id : 0);
}

/* The driver offers a chain, if there is room. */
static void offer(struct fuzz *f, struct input *in, bool flaws)
{
	struct rig *g = f->g;
	u8 what = take8(in), flaw = take8(in) % 64, id = take8(in);
	bool indirect = what & 0x80, at_table = indirect && flaw & 32;
	u32 head = f->desc, n, m = 0;

	flaw = flaws && flaw % 32 < FLAWS ? flaw % 32 : NO_FLAW;
	/* of the ring: before the indirect one there may be others, where it is not packed */
	n = indirect ? g->cfg.packed && flaw != NESTED ? 0 : what & 3 : 1 + (what & 0x7f) % g->cfg.num;
	n = min(n, g->cfg.num - 1 + !indirect);
	if (f->offered + (g->cfg.packed ? n + indirect : 1) > g->cfg.num)
		return;
	if (indirect) {
		m = 1 + take8(in) % RIG_TABLE;
		put_descs(f, in, true, RIG_TABLE - m, m, false, id, at_table ? flaw : NO_FLAW);
	}
	if (n)
		put_descs(f, in, false, head, n, indirect, id, at_table ? NO_FLAW : flaw);
	if (indirect)
		put_indirect(f, (head + n) & (g->cfg.num - 1), m, id,
			     flaw == NESTED && !at_table ? F_NEXT : 0, flaw);
	f->offered += g->cfg.packed ? n + indirect : 1;
	f->desc += n + indirect;
	if (g->cfg.packed)
		return;
	f->desc &= g->cfg.num - 1;
	rig_avail(g, g->avail_idx++, flaw == FAR_HEAD ? g->cfg.num + id : head);
	rig_avail_idx(g, g->avail_idx + (flaw == AHEAD ? g->cfg.num : 0));
}

/* When the driver wants to be called: near where the device is, or anywhere. */
static void want_calls(struct fuzz *f, struct input *in)
{
	struct rig *g = f->g;
	u8 how = take8(in);
	u16 where = how & 0x80 ? take16(in) : rig_step(g, rig_use_place(g), how >> 3 & 7);

	if (g->cfg.packed) {
		rig_driver_event(g, where, how & 7);
	} else {
		rig_used_event(g, where - 4);
		rig_avail_flags(g, how & 1);
	}
}

/* A byte that changes now, or at an access to come; or that access fails. */
static void disturb(struct fuzz *f, struct input *in)
{
	u8 when = take8(in);
	struct strike s = {
		.at = f->total + (when & 31),
		.where = when & 0x40 ? FAULT : take16(in) & 0xfff,
		.value = take8(in),
	};

	f->wild = true;
	if (when & 0x80 && s.where < FAULT)
		strike_at(f, &s);
	else if (f->n_strikes < MAX_STRIKES)
		f->strike[f->n_strikes++] = s;
}

static void do_next(struct fuzz *f)
{
	struct rig *g = f->g;
	u16 pos = kvnet_ring_base_get(&g->ring);
	struct kvnet_chain *c = &g->chain;
	struct ref ref;
	unsigned int n;
	int ret, want = f->wild ? 2 : ref_next(g, &ref);

	/* more than the ring has: nothing that the walker knows of */
	if (g->cfg.packed && want == 1 && g->ring.n_in_flight + ref.count > g->cfg.num)
		want = -1;
	g->reads = 0;
	ret = rig_next(g);
	EXPECT_TRUE(f->accesses <= (2 + min_t(u32, g->cfg.num, c->cap + 1)) * f->parts);
	EXPECT_TRUE(g->reads <= c->cap + 1);
	if (ret == 1)
		pos = g->cfg.packed ? rig_step(g, pos, c->count) : pos + 1;
	EXPECT_EQ((u16)kvnet_ring_base_get(&g->ring), pos);
	EXPECT_TRUE(ret == 1 || ret == 0 || ret == -EFAULT || ret == -EINVAL ||
		    ret == -ELOOP || ret == -EMSGSIZE);
	if (want != 2)
		EXPECT_EQ(ret < 0 ? -1 : ret, want);
	if (ret != 1)
		return;
	f->fetched[f->n_fetched++] = (struct kvnet_used) { .id = c->id, .count = c->count };
	n = c->n_out + c->n_in;
	EXPECT_TRUE(n && n <= c->cap && c->count && c->count <= g->cfg.num);
	if (!g->cfg.packed)
		EXPECT_TRUE(c->id < g->cfg.num);
	if (want == 1) {
		if (g->cfg.packed)
			EXPECT_EQ(c->id, ref.id);
		EXPECT_EQ(c->count, ref.count);
		EXPECT_EQ(c->n_out, ref.n_out);
		EXPECT_EQ(c->n_in, ref.n_in);
		while (n--) {
			EXPECT_EQ(c->seg[n].addr, ref.seg[n].addr);
			EXPECT_EQ(c->seg[n].len, ref.seg[n].len);
		}
	}
}

/* The short way takes what next() takes, one after the other. */
static void check_single(struct rig *g, const struct kvnet_used *used, const struct kvnet_seg *seg,
			 unsigned int n, size_t len)
{
	const struct kvnet_chain *c = &g->chain;
	unsigned int i;

	for (i = 0; i < n; i++) {
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_TRUE(!c->n_out && c->n_in == 1 && c->count == 1 && used[i].count == 1);
		EXPECT_EQ(used[i].id, c->id);
		EXPECT_EQ(used[i].len, min_t(size_t, seg[i].len, len));
		EXPECT_EQ(seg[i].addr, c->seg[0].addr);
		EXPECT_EQ(seg[i].len, c->seg[0].len);
		len -= used[i].len;
	}
}

/* As if the ring were pinned: areas are where they are, whoever may reach them. */
static void do_single(struct fuzz *f, unsigned int max)
{
	struct kvnet_used *used = f->fetched + f->n_fetched;
	struct kvnet_ring *r = &f->g->ring, before = *r, after;
	unsigned int n, left = min(max, MAX_FETCHED - f->n_fetched);
	struct kvnet_area desc = r->desc, avail = r->avail;
	struct kvnet_seg seg[16];
	size_t len = 8 << max;

	r->desc.kaddr = f->g->desc;
	r->avail.kaddr = f->g->avail;
	n = kvnet_ring_next_single(r, seg, used, left, len);
	EXPECT_TRUE(n <= left && !f->accesses);
	r->desc = desc;
	r->avail = avail;
	/* what was read ahead is not read again */
	if (!r->packed && (u16)(before.last_avail - before.head_first) < before.head_n)
		EXPECT_EQ(r->head_first, before.head_first);
	f->n_fetched += n;
	if (f->wild)
		return;
	after = *r;
	*r = before;
	check_single(f->g, used, seg, n, len);
	EXPECT_EQ(r->last_avail, after.last_avail);
	EXPECT_EQ(r->n_in_flight, after.n_in_flight);
	EXPECT_EQ(r->n_avail_seen, after.n_avail_seen);
	*r = after;
}

/* What the driver sees then: of a batch in order only the last one, where the first one is. */
static void check_used(const struct rig *g, const struct kvnet_used *used, u32 n, u16 place)
{
	u32 i, batch, slots, k;

	for (i = 0; i < n; i += batch) {
		batch = g->cfg.in_order ? kvnet_chain_used_batch(used + i, n - i) : 1;
		EXPECT_TRUE(rig_has_used(g, place, used[i + batch - 1].id, used[i + batch - 1].len));
		for (slots = 0, k = i; k < i + batch; k++)
			slots += g->cfg.packed ? used[k].count : 1;
		place = rig_step(g, place, slots);
	}
	if (!g->cfg.packed)
		EXPECT_EQ(rig_used_idx(g), place);
}

/* The oldest that were fetched; now and then some that were not. */
static void do_put(struct fuzz *f, struct input *in)
{
	struct rig *g = f->g;
	u8 how = take8(in), lens = take8(in);
	struct kvnet_used *used = f->fetched, any[256] = { { 0 } };
	u32 n = min(how & 0x3fU, f->n_fetched), slots = 0, most, i;
	u16 place = rig_use_place(g);
	bool made_up = f->wild && how & 0x80;
	int ret;

	if (made_up) {
		used = any;
		n = (how & 0x7f) % (g->cfg.num + 2);
	}
	for (i = 0; i < n; i++) {
		if (made_up)
			used[i].count = 1 + i % 2;
		used[i].len = lens * i;
		used[i].skippable = lens >> i % 8 & 1;
		slots += g->cfg.packed ? used[i].count : 1;
	}
	f->faulted = false;
	ret = kvnet_ring_put(&g->ring, used, n);
	EXPECT_EQ(ret, slots > g->cfg.num ? -EINVAL : f->faulted ? -EFAULT : 0);
	most = g->cfg.packed ? 2 * n + 1 : 3 + (g->cfg.in_order ? n : n / 16);
	EXPECT_TRUE(f->accesses <= most * f->parts);
	EXPECT_EQ(rig_use_place(g), rig_step(g, place, ret ? 0 : slots));
	if (ret)
		return;
	if (!f->wild)
		check_used(g, used, n, place);
	f->pos_valid &= !n;
	f->uncalled += slots;
	f->offered -= min(f->offered, slots);
	if (made_up)
		return;
	f->n_fetched -= n;
	memmove(used, used + n, f->n_fetched * sizeof(*used));
}

static void do_should_call(struct fuzz *f, bool defer)
{
	struct kvnet_ring *r = &f->g->ring;
	struct kvnet_call_mark mark = kvnet_ring_call_mark(r);
	u32 uncalled = r->packed ? min(f->uncalled, 2 * r->num) : f->uncalled;
	int ret;

	if (r->signalled_used_valid && !f->wild)
		EXPECT_EQ(kvnet_ring_count_uncalled(r), uncalled);
	ret = kvnet_ring_should_call(r);
	EXPECT_TRUE(ret == 0 || ret == 1 || (ret == -EFAULT && f->wild));
	EXPECT_TRUE(f->accesses <= 1 + r->packed);
	if (defer) {
		kvnet_ring_call_rewind(r, mark);
		if (!f->wild)
			EXPECT_EQ(kvnet_ring_should_call(r), ret);
		kvnet_ring_call_rewind(r, mark);
	} else if (r->signalled_used_valid && !kvnet_ring_count_uncalled(r)) {
		f->uncalled = 0;
	}
}

/* Where it is, as a new ring, or from anywhere. */
static void do_start(struct fuzz *f, u8 how, struct input *in)
{
	struct kvnet_ring *r = &f->g->ring, before = *r;
	u32 base = kvnet_ring_base_get(r);
	int ret;

	if (how & 1) {
		kvnet_ring_base_set(r, 0);
		r->base_valid = false;
		EXPECT_EQ(kvnet_ring_base_get(r), r->packed ? 0x80008000 : 0);
	}
	if (how & 2)
		kvnet_ring_base_set(r, take32(in));
	ret = kvnet_ring_start(r);
	EXPECT_TRUE(ret == 0 || (ret == -EFAULT && f->wild) || (ret == -EINVAL && how & 2));
	EXPECT_TRUE(f->accesses <= 3);
	/* a packed ring has a short form */
	if (!(how & 3) && !(r->packed && base == 0x8000))
		EXPECT_EQ(kvnet_ring_base_get(r), base);
	if (ret)
		*r = before;
	f->wild |= how & 3;
	f->pos_valid = false;
	f->n_fetched = 0;
	f->uncalled = 0;
}

static void do_kick(struct fuzz *f, bool on)
{
	struct kvnet_ring *r = &f->g->ring;
	int ret = on ? kvnet_ring_kick_on(r) : kvnet_ring_kick_off(r);

	EXPECT_TRUE(ret == 0 || (on && ret == 1) || ret == -EFAULT || (on && ret == -EINVAL));
	EXPECT_TRUE(f->accesses <= (on ? 2 + r->packed : 1));
}

/* A step of the driver, or of the device; does it leave the device where it is? */
static bool do_step(struct fuzz *f, struct input *in, u8 temper)
{
	struct kvnet_ring *r = &f->g->ring;
	u8 op = take8(in);

	f->accesses = 0;
	switch (op & 15) {
	case 0: case 1: case 2: case 3:
		offer(f, in, temper & 1);
		return true;
	case 4: case 5:
		if (f->n_fetched < MAX_FETCHED)
			do_next(f);
		return false;
	case 6:
		do_single(f, 1 + (op >> 4));
		return false;
	case 7: case 8:
		do_put(f, in);
		return false;
	case 9:
		do_kick(f, true);
		return true;
	case 10:
		do_kick(f, false);
		return true;
	case 11:
		do_should_call(f, op & 16);
		return true;
	case 12:
		kvnet_ring_pending(r);
		EXPECT_EQ(f->accesses, !f->g->cfg.pinned);
		return true;
	case 13:
		if (op & 16 && f->pos_valid) {
			kvnet_ring_rewind(r, f->pos);
			f->n_fetched = f->n_at_pos;
			return false;
		}
		f->pos = kvnet_ring_pos(r);
		f->n_at_pos = f->n_fetched;
		f->pos_valid = true;
		return true;
	case 14:
		want_calls(f, in);
		return true;
	default:
		if (op & 16)
			do_start(f, temper & 2 ? op >> 6 : 0, in);
		else if (temper & 2)
			disturb(f, in);
		return false;
	}
}

void fuzz_one(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	u8 flags = take8(&in), temper = take8(&in), num = take8(&in);
	struct rig_cfg cfg = {
		.packed = flags & 1, .event_idx = flags & 2, .in_order = flags & 4,
		.on_empty = flags & 8, .be = flags & 16 && !(flags & 1),
		/* then nobody sees the accesses but AddressSanitizer */
		.pinned = flags & 32,
		.pieces = flags & 32 || !(flags & 64) ? 0 : 2 + (flags >> 7) * 7,
	};
	struct fuzz f = { 0 };
	unsigned int i;
	u32 before;
	u64 seed;

	cfg.num = cfg.packed ? 1 + num % 130 : 1U << (num & 7);
	cfg.cap = 1 + take8(&in) % MAX_CAP;
	cfg.base = take16(&in);
	if (cfg.packed)
		cfg.base = (cfg.base & 0x7fff) % cfg.num | (cfg.base & 0x8000);
	/* where the areas are cut */
	seed = unit_seed(temper);
	f.g = rig_new(&cfg);
	unit_seed(seed);
	EXPECT_EQ(kvnet_ring_avail_size(&f.g->ring),
		  rig_avail_bytes(&cfg) - (cfg.packed || cfg.event_idx ? 0 : 2));
	f.parts = 1 + cfg.pieces;

	shim_hook(hook, &f);
	for (i = 0; in.left && i < MAX_STEPS; i++) {
		before = kvnet_ring_base_get(&f.g->ring);
		if (do_step(&f, &in, temper))
			EXPECT_EQ(kvnet_ring_base_get(&f.g->ring), before);
	}
	EXPECT_EQ(shim_outside(), 0);
	rig_free(f.g);
}

#ifndef UNIT_LIBFUZZER
CASE(fuzz_rings)
{
	fuzz_check(NULL, 0);
	fuzz_random(40000, 500);
}
#endif
