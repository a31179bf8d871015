// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to a ring's contents, a list of verbs, and a schedule of changes and
 * faults that strike while the device reads. Whatever they are: every verb ends
 * within its bound, touches only what it may, gives a valid chain or one of the
 * documented errors, and does not move after an error. While nothing changes,
 * it also agrees with a naive second walker.
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
#define MAX_OPS		32
#define FAULT		0xfff	/* a strike there is a fault, not a change */

struct strike {
	u16 at;			/* the access, from 0 */
	u16 where;
	u8 value;
};

struct fuzz {
	struct rig *g;
	struct strike strike[MAX_STRIKES];
	unsigned int n_strikes;
	unsigned int accesses, total;
	bool faulted;
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

/* From the base on, most of them in the lap that makes them available. */
static void fill_packed(struct rig *g, struct input *in, bool tame)
{
	u16 flags, place = g->cfg.base;
	u32 i, len;
	u64 addr;

	rig_driver_event(g, take16(in), take8(in) & (tame ? 3 : 0xff));
	for (i = 0; i < g->cfg.num; i++) {
		flags = take8(in);
		len = take8(in);
		addr = take8(in);
		if (flags & F_INDIRECT) {
			addr = RIG_GPA + 16 * (addr % RIG_TABLE);
			len *= flags & 64 ? 1 : 16;
		}
		if (tame && flags < 0x80)
			flags &= flags & F_INDIRECT ? ~F_NEXT : 7;
		flags |= take8(in) << 8;
		if (tame || flags & 0x100)
			flags = (flags & ~(F_AVAIL | F_USED)) |
				rig_lap(place & 0x8000, !(flags & 0x1e00));
		rig_packed(g, place & 0x7fff, addr, len, take16(in), flags);
		place = rig_step(g, place, 1);
	}
}

/* Of a split ring, or of a table, which has @n. */
static void fill_desc(struct rig *g, struct input *in, bool tame, bool table, u32 i, u32 n)
{
	u16 flags = take8(in), next = take8(in);
	u32 len = take16(in);
	u64 addr = take8(in);

	if (tame) {
		/* a few still stray */
		next = next == 0xff ? n : next % n;
		flags &= table && flags < 0xf0 ? 3 : 7;
	} else {
		next |= take8(in) << 8;
		addr |= (u64)take16(in) << 48;
		len |= (u32)take16(in) << 16;
	}
	if (flags & F_INDIRECT && addr < 0xf0) {
		addr = RIG_GPA + 16 * (addr % RIG_TABLE);
		len = tame ? 16 * (len % n) : len;
		if (tame && flags < 0x80)
			flags &= ~F_NEXT;
	}
	(table ? rig_table : rig_desc)(g, i, addr, len, flags, next);
}

static void fill_split(struct rig *g, struct input *in, bool tame)
{
	u32 num = g->cfg.num, n = take8(in), i;
	u16 head;

	n = tame ? n % (num + 1) : n | take8(in) << 8;
	rig_avail_flags(g, take16(in));
	rig_used_event(g, g->cfg.base + take8(in));
	for (i = 0; i < num; i++) {
		head = take8(in);
		if (!tame)
			head |= take8(in) << 8;
		else
			head = head == 0xff ? num : head % num;
		rig_avail(g, g->cfg.base + i, head);
		fill_desc(g, in, tame, false, i, num);
	}
	rig_avail_idx(g, g->cfg.base + n);
}

/*
 * Wild bytes everywhere, or only what gets past the first checks.  What decides most comes
 * first: an input of libFuzzer's is short.
 */
static void fill(struct rig *g, struct input *in, bool tame)
{
	u32 i, n;

	(g->cfg.packed ? fill_packed : fill_split)(g, in, tame);
	n = 1 + take8(in) % RIG_TABLE;
	for (i = 0; i < RIG_TABLE && in->left; i++)
		fill_desc(g, in, tame, true, i, n);
}

/* Of what a split ring knows to be there nothing is left: a next call may know more. */
static bool all_taken(const struct kvnet_ring *r)
{
	return !r->packed && (u16)(r->last_avail - r->head_first) >= r->head_n;
}

/* Several at once are what one after the other would be. */
static void check_several(const struct kvnet_ring *before)
{
	struct kvnet_ring at_once = *before, singly = *before;
	struct kvnet_used a[3], b;
	struct kvnet_seg p[3], q;
	size_t len = 1 + unit_below(100);
	unsigned int i, n;

	n = kvnet_ring_next_single(&at_once, p, a, 3, len);
	for (i = 0; i < n; i++) {
		if (!EXPECT_EQ(kvnet_ring_next_single(&singly, &q, &b, 1, len), 1))
			return;
		EXPECT_EQ(a[i].id, b.id);
		EXPECT_EQ(a[i].len, b.len);
		EXPECT_EQ(p[i].addr, q.addr);
		EXPECT_EQ(p[i].len, q.len);
		len -= b.len;
	}
	if (i && all_taken(&at_once))
		return;
	if (i < 3 && len)
		EXPECT_EQ(kvnet_ring_next_single(&singly, &q, &b, 1, len), 0);
	EXPECT_EQ(at_once.last_avail, singly.last_avail);
	EXPECT_EQ(at_once.n_in_flight, singly.n_in_flight);
	EXPECT_EQ(at_once.n_avail_seen, singly.n_avail_seen);
}

/* The short way takes a chain only if it is one that next() takes, all the same. */
static void check_plain(const struct rig *g, struct kvnet_ring before, int ret)
{
	const struct kvnet_chain *c = &g->chain;
	const u16 was = before.last_avail;
	struct kvnet_used used;
	struct kvnet_seg seg;

	/* areas are where they are, whoever may reach them */
	before.desc.kaddr = g->desc;
	check_several(&before);
	if (!kvnet_ring_next_single(&before, &seg, &used, 1, 100)) {
		EXPECT_EQ(before.last_avail, was);
		return;
	}
	if (!EXPECT_EQ(ret, 1))
		return;
	EXPECT_EQ(c->n_out, 0);
	EXPECT_EQ(c->n_in, 1);
	EXPECT_EQ(c->count, 1);
	EXPECT_EQ(used.id, c->id);
	EXPECT_EQ(used.count, 1);
	EXPECT_EQ(used.len, min_t(u32, seg.len, 100));
	EXPECT_EQ(seg.addr, c->seg[0].addr);
	EXPECT_EQ(seg.len, c->seg[0].len);
	EXPECT_EQ(before.last_avail, g->ring.last_avail);
	EXPECT_EQ(before.n_in_flight, g->ring.n_in_flight);
	EXPECT_EQ(before.n_avail_seen, g->ring.n_avail_seen);
}

static void do_next(struct fuzz *f)
{
	struct rig *g = f->g;
	u16 pos = kvnet_ring_base_get(&g->ring);
	struct kvnet_chain *c = &g->chain;
	struct kvnet_ring before = g->ring;
	struct ref ref;
	unsigned int n;
	int ret, want = f->n_strikes ? 2 : ref_next(g, &ref);

	/* more than the ring has: nothing that the walker knows of */
	if (g->cfg.packed && want == 1 && g->ring.n_in_flight + ref.count > g->cfg.num)
		want = -1;
	f->accesses = 0;
	g->reads = 0;
	ret = rig_next(g);
	if (!f->n_strikes && c->cap)
		check_plain(g, before, ret);
	EXPECT_TRUE(f->accesses <= 2 + min_t(u32, g->cfg.num, c->cap + 1));
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

static void do_put(struct fuzz *f, u8 arg)
{
	struct kvnet_used used[256] = { { 0 } };
	struct rig *g = f->g;
	u32 n = arg % (g->cfg.num + 1);
	u16 idx = rig_used_idx(g);
	int ret;

	f->accesses = 0;
	f->faulted = false;
	ret = kvnet_ring_put(&g->ring, used, n);
	EXPECT_EQ(ret, f->faulted ? -EFAULT : 0);
	EXPECT_EQ(rig_used_idx(g), (u16)(idx + (ret ? 0 : n)));
	EXPECT_TRUE(f->accesses <= 3 + (g->cfg.in_order ? n : n / 16));
}

/* Chains of one and more; now and then more than there can be. */
static void do_put_packed(struct fuzz *f, u8 arg)
{
	struct kvnet_used used[16] = { { 0 } };
	struct rig *g = f->g;
	u16 at = kvnet_ring_base_get(&g->ring) >> 16;
	u32 n = arg, sum = 0, i;
	int ret;

	for (i = 0; i < n; i++) {
		used[i].count = 1 + (i * 5 + arg) % 3;
		used[i].skippable = i & 1;
		used[i].len = arg * i;
		sum += used[i].count;
	}
	f->accesses = 0;
	f->faulted = false;
	ret = kvnet_ring_put(&g->ring, used, n);
	EXPECT_EQ(ret, sum > g->cfg.num ? -EINVAL : f->faulted ? -EFAULT : 0);
	if (!ret)
		at = rig_step(g, at, sum);
	EXPECT_EQ(kvnet_ring_base_get(&g->ring) >> 16, at);
	EXPECT_TRUE(f->accesses <= 2 * n + 1);
}

static void do_op(struct fuzz *f, u8 op, kvnet_ring_pos_t *pos)
{
	struct kvnet_ring *r = &f->g->ring;
	u32 before = kvnet_ring_base_get(r);
	int ret = 0;

	f->accesses = 0;
	switch (op & 15) {
	case 8:
		if (r->packed)
			do_put_packed(f, op >> 4);
		else
			do_put(f, op >> 4);
		return;
	case 9:
		ret = kvnet_ring_kick_on(r);
		EXPECT_TRUE(f->accesses <= 2 + r->packed);
		break;
	case 10:
		ret = kvnet_ring_kick_off(r);
		EXPECT_TRUE(ret <= 0 && f->accesses <= 1);
		break;
	case 11:
		ret = kvnet_ring_should_call(r);
		EXPECT_TRUE(f->accesses <= 1 + r->packed);
		break;
	case 12:
		kvnet_ring_pending(r);
		EXPECT_EQ(f->accesses, !f->g->cfg.pinned);
		break;
	case 13:
		kvnet_ring_rewind(r, *pos);
		return;
	case 14:
		*pos = kvnet_ring_pos(r);
		break;
	case 15:
		ret = kvnet_ring_start(r);
		EXPECT_TRUE(ret <= 0 && f->accesses <= 3);
		if (r->packed && before == 0x8000)	/* the short form */
			return;
		break;
	default:
		do_next(f);
		return;
	}
	EXPECT_TRUE(ret == 0 || ret == 1 || ret == -EFAULT || ret == -EINVAL);
	EXPECT_EQ(kvnet_ring_base_get(r), before);
}

void fuzz_one(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	u8 flags = take8(&in), ops[MAX_OPS];
	struct rig_cfg cfg = {
		.event_idx = flags & 1, .be = flags & 2, .on_empty = flags & 4,
		.packed = flags & 32, .in_order = flags & 64,
		/* then nobody sees the accesses but AddressSanitizer */
		.pinned = flags & 128,
	};
	struct fuzz f = { 0 };
	kvnet_ring_pos_t pos;
	unsigned int i, n_ops;
	u8 size_byte = take8(&in);

	cfg.num = cfg.packed ? 1 + size_byte % 130 : 1U << (size_byte & 7);
	cfg.cap = 1 + take8(&in) % MAX_CAP;
	cfg.base = take16(&in);
	if (cfg.packed) {
		cfg.base = (cfg.base & 0x7fff) % cfg.num | (cfg.base & 0x8000);
		cfg.be = false;
	}
	f.g = rig_new(&cfg);
	pos = kvnet_ring_pos(&f.g->ring);
	f.n_strikes = flags & 16 ? take8(&in) % (MAX_STRIKES + 1) : 0;
	for (i = 0; i < f.n_strikes; i++) {
		f.strike[i].at = take8(&in);
		f.strike[i].where = take16(&in) & 0xfff;
		f.strike[i].value = take8(&in);
	}
	n_ops = 1 + take8(&in) % MAX_OPS;
	for (i = 0; i < n_ops; i++)
		ops[i] = take8(&in);
	fill(f.g, &in, flags & 8);

	shim_hook(hook, &f);
	for (i = 0; i < n_ops; i++)
		do_op(&f, ops[i], &pos);
	EXPECT_EQ(shim_outside(), 0);
	rig_free(f.g);
}

#ifndef UNIT_LIBFUZZER
#define INPUTS		40000
#define MAX_SIZE	900

/* Inputs that look like themselves in one byte, and the empty one. */
CASE(fuzz_uniform)
{
	u8 data[MAX_SIZE] = { 0 };
	unsigned int i;

	fuzz_check(data, 0);
	for (i = 0; i < 256 * 8 && !unit_failed(); i++) {
		memset(data, i, sizeof(data));
		data[1] = i >> 8;
		fuzz_check(data, sizeof(data));
	}
}

CASE(fuzz_rings)
{
	u8 data[MAX_SIZE];
	size_t size, k;
	unsigned int i;

	for (i = 0; i < INPUTS && !unit_failed(); i++) {
		size = 8 + unit_below(MAX_SIZE - 8);
		for (k = 0; k < size; k++)
			data[k] = unit_rand();
		/* mostly well-behaved, mostly undisturbed, mostly next() */
		data[0] |= unit_below(8) ? 8 : 0;
		data[0] &= unit_below(3) ? ~16 : 255;
		fuzz_check(data, size);
	}
}
#endif
