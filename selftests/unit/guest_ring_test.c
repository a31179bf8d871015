// SPDX-License-Identifier: GPL-2.0
/*
 * The driver side of lib/guest_ring*.c by itself: when it kicks, and that no
 * device gets away with breaking a rule. The device is written here by hand.
 */
#include "guest_ring.h"

#include <endian.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define NUM	8
#define LEN	100

struct side {
	struct guest_ring r;
	struct gr_cfg cfg;
	void *block;
	int id[NUM];
};

static void open_side(struct side *s, struct gr_cfg cfg, uint16_t n)
{
	s->cfg = cfg;
	s->cfg.num = cfg.num ? cfg.num : NUM;
	s->block = aligned_alloc(64, 64 + (gr_block_bytes(&s->cfg, 64) & ~63ul));
	gr_block_cut(&s->cfg, s->block, 64);
	EXPECT_EQ(gr_init(&s->r, &s->cfg), 0);
	gr_start_at(&s->r, n);
}

static void close_side(struct side *s)
{
	gr_exit(&s->r);
	free(s->block);
}

static int add(struct side *s, unsigned int n)
{
	struct gr_buf buf[NUM];
	unsigned int i;

	for (i = 0; i < n; i++)
		buf[i] = (struct gr_buf) { s, LEN, true };
	return gr_add(&s->r, buf, n, GR_ALL_DIRECT, s);
}

static void add_shown(struct side *s, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		s->id[i] = add(s, 1);
	gr_publish(&s->r);
}

/* The used entry of the device: the pos-th, in the first lap. */
static void use(struct side *s, unsigned int pos, uint16_t id, uint32_t len)
{
	struct gr_used_elem *e = (void *)((char *)s->cfg.used + 4);

	if (s->cfg.packed) {
		gr_raw_set_packed(gr_raw_desc(&s->r, pos), 0, len, id,
				  GR_DESC_F_WRITE | gr_raw_lap(true, true));
		return;
	}
	e[pos] = (struct gr_used_elem) { htole32(id), htole32(len) };
	((uint16_t *)s->cfg.used)[1] = htole16(pos + 1);
}

static void bad(struct side *s, const char *what)
{
	struct gr_done done;

	EXPECT_EQ(gr_get_used(&s->r, &done), -EPROTO);
	if (!EXPECT_TRUE(s->r.broken && strstr(s->r.broken, what)))
		unit_fail(__FILE__, __LINE__, "%s", s->r.broken);
	close_side(s);
}

CASE(guest_used_rules)
{
	struct gr_done done;
	unsigned int i;
	struct side s;

	for (i = 0; i < 4; i++) {
		struct gr_cfg cfg = { .packed = i & 1, .in_order = i & 2 };

		unit_context("packed %d, in_order %d", cfg.packed, cfg.in_order);
		open_side(&s, cfg, 0);
		add_shown(&s, 2);
		use(&s, 0, NUM, 0);
		bad(&s, "none of ours");

		open_side(&s, cfg, 0);
		add_shown(&s, 2);
		use(&s, 0, cfg.packed ? 3 : 2, 0);
		bad(&s, "not available");

		open_side(&s, cfg, 0);
		add_shown(&s, 2);
		use(&s, 0, s.id[0], LEN + 1);
		bad(&s, "exceeds");

		open_side(&s, cfg, 0);
		add_shown(&s, 2);
		use(&s, 0, s.id[0], LEN);
		EXPECT_EQ(gr_get_used(&s.r, &done), 1);
		EXPECT_EQ(done.len, LEN);
		use(&s, 1, s.id[0], LEN);
		bad(&s, "twice");

		/* placed, but not shown */
		open_side(&s, cfg, 0);
		use(&s, 0, add(&s, 1), LEN);
		bad(&s, cfg.packed ? "nothing was available" : "runs ahead");
	}
}

/* Of a batch there is as much as the last one says; the others are full. */
CASE(guest_in_order_batches)
{
	struct gr_done done;
	unsigned int i, k;
	struct side s;

	for (i = 0; i < 2; i++) {
		struct gr_cfg cfg = { .packed = i, .in_order = true };

		unit_context("packed %d", cfg.packed);
		open_side(&s, cfg, 0);
		add_shown(&s, 5);
		use(&s, 0, s.id[2], 7);
		if (!i)		/* as far as the batch goes */
			((uint16_t *)s.cfg.used)[1] = htole16(3);
		for (k = 0; k < 3; k++) {
			EXPECT_EQ(gr_used_waiting(&s.r), 3 - k);
			EXPECT_EQ(gr_get_used(&s.r, &done), 1);
			EXPECT_EQ(done.head, s.id[k]);
			EXPECT_EQ(done.len, k < 2 ? LEN : 7);
		}
		EXPECT_EQ(gr_get_used(&s.r, &done), 0);
		EXPECT_EQ(s.r.skipped, 2);
		use(&s, 3, s.id[3], 8);
		EXPECT_EQ(gr_get_used(&s.r, &done), 1);
		EXPECT_EQ(done.head, s.id[3]);
		EXPECT_EQ(done.len, 8);
		close_side(&s);
	}
	/* split: an index that does not go as far as the batch */
	open_side(&s, (struct gr_cfg) { .in_order = true }, 0);
	add_shown(&s, 5);
	use(&s, 0, s.id[2], 7);
	bad(&s, "less than the batch");
}

static void set_device_event(struct side *s, uint16_t where, uint16_t flags)
{
	struct gr_event *e = s->cfg.used;

	e->where = htole16(where);
	e->flags = htole16(flags);
}

/* Give all back, in order, so that there is room. */
static void use_all(struct side *s, struct gr_place *at)
{
	struct gr_done done;

	while (s->r.num_free < s->cfg.num) {
		unsigned int id = s->r.order[s->r.order_out];

		gr_raw_set_packed(gr_raw_desc(&s->r, at->pos), 0, 0, id,
				  gr_raw_lap(at->wrap, true));
		at->pos += s->r.slot[id].count;
		if (at->pos >= s->cfg.num) {
			at->pos -= s->cfg.num;
			at->wrap = !at->wrap;
		}
		if (!EXPECT_EQ(gr_get_used(&s->r, &done), 1))
			return;
	}
}

/* A kick if one of the descriptors shown is the one named, step by step. */
CASE(guest_kicks_packed)
{
	unsigned int i, k, n, count;
	struct gr_place at;
	struct side s;
	bool want;

	for (i = 0; i < 2000 && !unit_failed(); i++) {
		unsigned int num = 1 + unit_below(20), start = unit_below(100);
		uint16_t where = unit_below(num) | unit_below(2) << 15;

		open_side(&s, (struct gr_cfg) { .packed = true, .num = num,
						.event_idx = true }, start);
		at = s.r.next_avail;
		unit_context("num %u, start %u, where %x", num, start, where);
		for (k = 0; k < 6; k++) {
			struct gr_place p = s.r.next_avail;

			n = 0;
			while (s.r.num_free && !unit_chance(4)) {
				count = 1 + unit_below(s.r.num_free < NUM ?
						       s.r.num_free : NUM);
				if (add(&s, count) >= 0)
					n += count;
			}
			for (want = false; n; n--) {
				want |= where == (p.pos | p.wrap << 15);
				p.wrap ^= ++p.pos == num;
				p.pos %= num;
			}
			gr_publish(&s.r);
			set_device_event(&s, where, GR_EVENT_DESC);
			EXPECT_EQ(gr_kick_needed(&s.r), want);
			EXPECT_TRUE(!gr_kick_needed(&s.r));
			use_all(&s, &at);
		}
		EXPECT_TRUE(!s.r.broken);
		close_side(&s);
	}
}

CASE(guest_kick_rules_packed)
{
	static const struct {
		uint16_t where, flags;
		bool event_idx, kick;
		const char *broken;
	} rows[] = {
		{ 0x1234, GR_EVENT_ENABLE, false, true, NULL },
		{ 0x1234, GR_EVENT_ENABLE, true, true, NULL },
		{ 0x8000, GR_EVENT_DISABLE, true, false, NULL },
		{ 0x8000, GR_EVENT_DISABLE, false, false, NULL },
		{ 0x8000, GR_EVENT_DESC, true, true, NULL },
		{ 0x0000, GR_EVENT_DESC, true, false, NULL },
		{ 0x8001, GR_EVENT_DESC, true, false, NULL },
		{ 0x8000, GR_EVENT_DESC, false, true, "without EVENT_IDX" },
		{ NUM, GR_EVENT_DESC, true, true, "no such descriptor" },
		{ 0x8000, 3, true, true, "reserved" },
		{ 0x8000, 4, true, true, "reserved" },
	};
	unsigned int i;
	struct side s;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		unit_context("row %u", i);
		open_side(&s, (struct gr_cfg) { .packed = true, .event_idx =
						rows[i].event_idx }, 0);
		add_shown(&s, 1);
		set_device_event(&s, rows[i].where, rows[i].flags);
		EXPECT_EQ(gr_kick_needed(&s.r), rows[i].kick);
		if (rows[i].broken)
			EXPECT_TRUE(s.r.broken && strstr(s.r.broken,
							 rows[i].broken));
		else
			EXPECT_TRUE(!s.r.broken);
		close_side(&s);
	}
}

/*
 * The place that the device is to call at is one of descriptors: two buffers of
 * three have passed it, so the device will not call for those that follow.
 */
CASE(guest_asks_for_a_call_too_late)
{
	unsigned int after;
	struct side s;
	int id[4], i;

	for (after = 0; after < 8; after++) {
		unit_context("after %u", after);
		open_side(&s, (struct gr_cfg) { .packed = true, .num = 12,
						.event_idx = true }, 0);
		for (i = 0; i < 4; i++)
			id[i] = add(&s, 3);
		gr_publish(&s.r);
		use(&s, 0, id[0], 1);
		use(&s, 3, id[1], 1);
		EXPECT_EQ(gr_call_on(&s.r, after), after < 6);
		close_side(&s);
	}
}
