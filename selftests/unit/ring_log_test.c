// SPDX-License-Identifier: GPL-2.0
/*
 * What a ring says that it has written, for the dirty log, against what it was
 * seen to write: all of it, nothing outside the areas, and nothing else but the
 * other field beside flags or index; of a packed ring, nothing but descriptors
 * that have been passed since, and the device's wish.
 */
#include "ring.h"

#include <linux/errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring_rig.h"
#include "unit.h"

#define HEADER	4	/* flags and index */

/* What has been written of an area, by byte, since it was asked last. */
struct page {
	const struct kvnet_area *area;
	u8 *mem;
	u32 size;
	u8 *written;
};

struct book {
	struct rig *g;
	struct page page[2];	/* device area, descriptors */
	u32 passed;		/* packed: descriptors used since */
	bool elsewhere;
};

static bool note(void *ctx, const struct shim_event *ev)
{
	struct book *b = ctx;
	struct page *p;
	size_t off;

	if (!ev->done || (ev->op != SHIM_STORE && ev->op != SHIM_COPY_OUT))
		return false;
	for (p = b->page; p < b->page + 1 + b->g->cfg.packed; p++) {
		off = ev->addr - (uintptr_t)p->mem;
		if (off < p->size && off + ev->len <= p->size) {
			memset(p->written + off, 1, ev->len);
			return false;
		}
	}
	b->elsewhere = true;
	return false;
}

static struct book *open_book(const struct rig_cfg *cfg)
{
	struct book *b = calloc(1, sizeof(*b));
	struct kvnet_ring *r;

	unit_context("num %u, %s, event_idx %d, pieces %u, base %u", cfg->num,
		     cfg->packed ? "packed" : "split", cfg->event_idx,
		     cfg->pieces, cfg->base);
	b->g = rig_new(cfg);
	r = &b->g->ring;
	b->page[0] = (struct page) { &r->used, b->g->used,
				     kvnet_ring_used_size(r) };
	b->page[1] = (struct page) { &r->desc, b->g->desc,
				     kvnet_ring_desc_size(r) };
	b->page[0].written = calloc(1, b->page[0].size);
	b->page[1].written = calloc(1, b->page[1].size);
	/* rig_new() has started the ring */
	memset(b->page[0].written + (cfg->packed ? 2 : 0), 1, 2);
	shim_hook(note, b);
	return b;
}

static void close_book(struct book *b)
{
	EXPECT_TRUE(!b->elsewhere);
	EXPECT_EQ(shim_outside(), 0);
	rig_free(b->g);
	free(b->page[0].written);
	free(b->page[1].written);
	free(b);
}

static void check_page(struct book *b, struct page *p,
		       const struct kvnet_ring_span *span, unsigned int n)
{
	u8 *named = calloc(1, p->size);
	u32 k, extra = 0, most = HEADER - 1;

	for (; n; n--, span++) {
		if (span->area != p->area)
			continue;
		if (!EXPECT_TRUE(span->len && span->len <= p->size &&
				 span->off <= p->size - span->len))
			continue;
		for (k = span->off; k < span->off + span->len; k++)
			named[k]++;
	}
	for (k = 0; k < p->size; k++) {
		if (p->written[k] && !EXPECT_EQ(named[k], 1))
			break;
		if (!p->written[k] && named[k])
			extra += k < HEADER || p != b->page ? 1 : HEADER;
	}
	/* each that was passed has at least its address left alone */
	if (p != b->page)
		most = 16 * b->passed;
	EXPECT_TRUE(extra <= most);
	memset(p->written, 0, p->size);
	free(named);
}

/* Ask, and compare with the book; the spans do not overlap. */
static void check_spans(struct book *b)
{
	struct kvnet_ring_span span[KVNET_RING_SPANS + 1];
	struct kvnet_ring *r = &b->g->ring;
	unsigned int n, i;
	struct page *p;

	memset(span, 0x5a, sizeof(span));
	n = kvnet_ring_collect_written(r, span);
	EXPECT_TRUE(n <= KVNET_RING_SPANS);
	EXPECT_EQ(span[n].off, 0x5a5a5a5a);
	for (i = 0; i < n && i < KVNET_RING_SPANS; i++)
		EXPECT_TRUE(span[i].area == b->page[0].area ||
			    (b->g->cfg.packed &&
			     span[i].area == b->page[1].area));
	for (p = b->page; p < b->page + 2; p++)
		check_page(b, p, span, n);
	EXPECT_EQ(kvnet_ring_collect_written(r, span), 0);
	b->passed = 0;
}

static void put_some(struct book *b, u32 n)
{
	static struct kvnet_used used[KVNET_RING_MAX];
	u32 i, sum, left = n;

	for (i = 0; i < n && left; i++) {
		sum = b->g->cfg.packed && unit_chance(3) ?
		      1 + unit_below(min_t(u32, left, 4)) : 1;
		used[i] = (struct kvnet_used) { .id = i, .count = sum };
		left -= sum;
	}
	EXPECT_EQ(kvnet_ring_put(&b->g->ring, used, i), 0);
	b->passed = min(b->passed + n, b->g->ring.num);
}

CASE(ring_written_by_verb)
{
	struct kvnet_ring_span span[KVNET_RING_SPANS];
	struct rig_cfg cfg = { .num = 4, .base = 0xffff };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct book *b;
		struct kvnet_ring *r;

		cfg.event_idx = i & 1;
		b = open_book(&cfg);
		r = &b->g->ring;
		/* the start */
		EXPECT_EQ(kvnet_ring_collect_written(r, span), 1);
		EXPECT_EQ(span[0].off, 0);
		EXPECT_EQ(kvnet_ring_collect_written(r, span), 0);
		/* the wish for a kick */
		kvnet_ring_kick_on(r);
		EXPECT_EQ(kvnet_ring_collect_written(r, span), 1);
		EXPECT_EQ(span[0].off, cfg.event_idx ? 4 + 8 * 4 : 0);
		EXPECT_TRUE(span[0].len >= 2);
		kvnet_ring_kick_on(r);
		EXPECT_EQ(kvnet_ring_collect_written(r, span), 0);
		kvnet_ring_kick_off(r);
		EXPECT_EQ(kvnet_ring_collect_written(r, span), !cfg.event_idx);
		/* entries at the ring's end, and index */
		EXPECT_EQ(rig_put(b->g, 0, 0), 0);
		EXPECT_EQ(kvnet_ring_collect_written(r, span), 2);
		EXPECT_EQ(span[0].off, 0);
		EXPECT_EQ(span[0].len, 4);
		EXPECT_EQ(span[1].off, 4 + 8 * 3);
		EXPECT_EQ(span[1].len, 8);
		/* questions write nothing */
		kvnet_ring_should_call(r);
		kvnet_ring_pending(r);
		rig_offer(b->g, 0);
		EXPECT_EQ(rig_next(b->g), 1);
		EXPECT_EQ(kvnet_ring_collect_written(r, span), 0);
		/* all at once, over the end */
		put_some(b, 2);
		kvnet_ring_collect_written(r, span);
		put_some(b, 4);
		kvnet_ring_kick_on(r);
		EXPECT_EQ(kvnet_ring_collect_written(r, span), 3 + cfg.event_idx);
		close_book(b);
	}
}

static void some_verb(struct book *b)
{
	struct kvnet_ring *r = &b->g->ring;
	u32 num = b->g->cfg.num;

	switch (unit_below(8)) {
	case 0:
		EXPECT_TRUE(kvnet_ring_kick_on(r) >= 0);
		break;
	case 1:
		EXPECT_EQ(kvnet_ring_kick_off(r), 0);
		break;
	case 2:
		EXPECT_TRUE(kvnet_ring_should_call(r) >= 0);
		break;
	case 3:
		/* puts here are of anything: these come back by chance */
		if (r->packed && r->n_in_flight == num)
			break;
		rig_offer(b->g, 0);
		EXPECT_EQ(rig_next(b->g), 1);
		break;
	default:
		put_some(b, 1 + unit_below(unit_chance(6) ? num :
					   min_t(u32, num, 9)));
	}
}

CASE(ring_written_against_what_was_seen)
{
	unsigned int i, k, rounds;
	struct rig_cfg cfg = { 0 };
	struct book *b;

	for (cfg.num = 1; cfg.num <= KVNET_RING_MAX; cfg.num *= 2) {
		for (i = 0; i < 8 && !unit_failed(); i++) {
			cfg.event_idx = i & 1;
			cfg.pieces = i & 2 ? 10 : 0;
			cfg.packed = i & 4;
			cfg.be = !cfg.packed && unit_chance(2);
			cfg.base = -(u16)unit_below(cfg.num + 40);
			if (cfg.packed)
				cfg.base = cfg.base % cfg.num |
					   unit_below(2) << 15;
			b = open_book(&cfg);
			rounds = cfg.num > 1024 ? 30 : 300;
			for (k = 0; k < rounds; k++) {
				some_verb(b);
				if (unit_chance(3))
					check_spans(b);
			}
			check_spans(b);
			close_book(b);
		}
	}
}

/* A log that is opened late: what went before must not hide what comes. */
CASE(ring_written_not_asked_for_long)
{
	static const u32 sizes[] = { 1, 4, 256, 32768 };
	struct rig_cfg cfg = { 0 };
	unsigned int i;
	u32 left, last;
	struct book *b;

	for (i = 0; i < 8 * ARRAY_SIZE(sizes); i++) {
		cfg.num = sizes[i / 8];
		cfg.event_idx = i & 1;
		cfg.packed = i & 4;
		cfg.base = cfg.packed ? RIG_PACKED_NEW : 0;
		b = open_book(&cfg);
		/* a turn of the index, more or less */
		left = 65536 - (i & 2 ? 1 : min_t(u32, cfg.num / 2, 6));
		while (left) {
			last = min_t(u32, left, cfg.num);
			put_some(b, last);
			left -= last;
		}
		put_some(b, min_t(u32, cfg.num, i & 2 ? 1 : 10));
		check_spans(b);
		put_some(b, 1);
		check_spans(b);
		close_book(b);
	}
}

/* Features may change while it runs: what was avail_event is not there. */
CASE(ring_written_without_event_idx)
{
	struct rig_cfg cfg = { .num = 4, .event_idx = true };
	struct book *b = open_book(&cfg);
	struct kvnet_ring *r = &b->g->ring;

	check_spans(b);
	EXPECT_EQ(kvnet_ring_kick_on(r), 0);
	put_some(b, 1);
	r->event_idx = false;
	b->page[0].size = kvnet_ring_used_size(r);
	check_spans(b);
	close_book(b);
}

/* There is room in the memory of a split one. */
static void change_layout(struct book *b, bool packed)
{
	struct rig *g = b->g;

	if (g->cfg.packed && !packed) {
		free(g->avail);
		free(g->used);
		g->cfg.packed = false;
		g->avail = calloc(1, rig_avail_bytes(&g->cfg));
		g->used = calloc(1, rig_used_bytes(&g->cfg));
		free(b->page[0].written);
		b->page[0].written = calloc(1, rig_used_bytes(&g->cfg));
		b->page[0].mem = g->used;
	}
	g->cfg.packed = packed;
	g->ring.packed = packed;
	rig_map(g);
	shim_hook(note, b);
	b->page[0].size = kvnet_ring_used_size(&g->ring);
	b->page[1].size = kvnet_ring_desc_size(&g->ring);
}

/*
 * Stopped, and started by another driver: the ring may be smaller, of the other
 * layout, and there is no avail_event without EVENT_IDX. What the other ring wrote
 * was another's.
 */
CASE(ring_written_by_another_driver)
{
	struct rig_cfg cfg = { .num = 8, .event_idx = true };
	unsigned int i;

	for (i = 0; i < 16; i++) {
		struct kvnet_ring *r;
		struct book *b;

		cfg.packed = i & 4;
		cfg.base = cfg.packed ? RIG_PACKED_NEW : 0;
		b = open_book(&cfg);
		r = &b->g->ring;

		EXPECT_EQ(kvnet_ring_kick_on(r), 0);
		put_some(b, 5);
		r->event_idx = i & 1;
		r->num = i & 2 ? 8 : 2;
		change_layout(b, i & 8);
		memset(b->page[0].written, 0, b->page[0].size);
		memset(b->page[1].written, 0, b->page[1].size);
		b->passed = 0;
		rig_restart(b->g, r->packed ? 0x80008000 : 0);
		check_spans(b);
		kvnet_ring_kick_on(r);
		put_some(b, 2);
		check_spans(b);
		close_book(b);
	}
}
