// SPDX-License-Identifier: GPL-2.0
/*
 * What a ring says that it has written, for the dirty log, against what it was
 * seen to write: all of it, nothing outside the area, and nothing else but the
 * other field beside flags or index.
 */
#include "ring.h"

#include <linux/errno.h>
#include <stdlib.h>
#include <string.h>

#include "ring_rig.h"
#include "unit.h"

#define HEADER	4	/* flags and index */

struct book {
	struct rig *g;
	u32 size;		/* of the used area */
	u8 *written;		/* by byte, since it was asked last */
	bool elsewhere;
};

static bool note(void *ctx, const struct shim_event *ev)
{
	struct book *b = ctx;
	size_t off = ev->addr - (uintptr_t)b->g->used;

	if (!ev->done || (ev->op != SHIM_STORE && ev->op != SHIM_COPY_OUT))
		return false;
	if (off + ev->len <= b->size)
		memset(b->written + off, 1, ev->len);
	else
		b->elsewhere = true;
	return false;
}

static struct book *open_book(const struct rig_cfg *cfg)
{
	struct book *b = calloc(1, sizeof(*b));

	unit_context("num %u, event_idx %d, pieces %u, base %u", cfg->num,
		     cfg->event_idx, cfg->pieces, cfg->base);
	b->g = rig_new(cfg);
	b->size = kvnet_ring_used_size(&b->g->ring);
	b->written = calloc(1, b->size);
	/* rig_new() has started the ring */
	memset(b->written, 1, 2);
	shim_hook(note, b);
	return b;
}

static void close_book(struct book *b)
{
	EXPECT_TRUE(!b->elsewhere);
	EXPECT_EQ(shim_outside(), 0);
	rig_free(b->g);
	free(b->written);
	free(b);
}

/* Ask, and compare with the book; the spans do not overlap. */
static void check_spans(struct book *b)
{
	struct kvnet_ring_span span[KVNET_RING_SPANS + 1];
	struct kvnet_ring *r = &b->g->ring;
	u8 *named = calloc(1, b->size);
	unsigned int n, i;
	u32 k, extra = 0;

	memset(span, 0x5a, sizeof(span));
	n = kvnet_ring_written(r, span);
	EXPECT_TRUE(n <= KVNET_RING_SPANS);
	EXPECT_EQ(span[n].off, 0x5a5a5a5a);
	for (i = 0; i < n && i < KVNET_RING_SPANS; i++) {
		EXPECT_TRUE(span[i].area == &r->used);
		if (!EXPECT_TRUE(span[i].len && span[i].len <= b->size &&
				 span[i].off <= b->size - span[i].len))
			continue;
		for (k = span[i].off; k < span[i].off + span[i].len; k++)
			named[k]++;
	}
	for (k = 0; k < b->size; k++) {
		if (b->written[k] && !EXPECT_EQ(named[k], 1))
			break;
		if (!b->written[k] && named[k])
			extra += k < HEADER ? 1 : HEADER;
	}
	EXPECT_TRUE(extra < HEADER);
	EXPECT_EQ(kvnet_ring_written(r, span), 0);
	memset(b->written, 0, b->size);
	free(named);
}

static void put_some(struct book *b, u32 n)
{
	static struct kvnet_used used[KVNET_RING_MAX];

	EXPECT_EQ(kvnet_ring_put(&b->g->ring, used, n), 0);
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
		EXPECT_EQ(kvnet_ring_written(r, span), 1);
		EXPECT_EQ(span[0].off, 0);
		EXPECT_EQ(kvnet_ring_written(r, span), 0);
		/* the wish for a kick */
		kvnet_ring_kick_on(r);
		EXPECT_EQ(kvnet_ring_written(r, span), 1);
		EXPECT_EQ(span[0].off, cfg.event_idx ? 4 + 8 * 4 : 0);
		EXPECT_TRUE(span[0].len >= 2);
		kvnet_ring_kick_on(r);
		EXPECT_EQ(kvnet_ring_written(r, span), 0);
		kvnet_ring_kick_off(r);
		EXPECT_EQ(kvnet_ring_written(r, span), !cfg.event_idx);
		/* entries at the ring's end, and index */
		EXPECT_EQ(rig_put(b->g, 0, 0), 0);
		EXPECT_EQ(kvnet_ring_written(r, span), 2);
		EXPECT_EQ(span[0].off, 0);
		EXPECT_EQ(span[0].len, 4);
		EXPECT_EQ(span[1].off, 4 + 8 * 3);
		EXPECT_EQ(span[1].len, 8);
		/* questions write nothing */
		kvnet_ring_should_call(r);
		kvnet_ring_pending(r);
		rig_offer(b->g, 0);
		EXPECT_EQ(rig_next(b->g), 1);
		EXPECT_EQ(kvnet_ring_written(r, span), 0);
		/* all at once, over the end */
		put_some(b, 2);
		kvnet_ring_written(r, span);
		put_some(b, 4);
		kvnet_ring_kick_on(r);
		EXPECT_EQ(kvnet_ring_written(r, span), 3 + cfg.event_idx);
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
		for (i = 0; i < 4 && !unit_failed(); i++) {
			cfg.event_idx = i & 1;
			cfg.pieces = i & 2 ? 10 : 0;
			cfg.be = unit_chance(2);
			cfg.base = -(u16)unit_below(cfg.num + 40);
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

	for (i = 0; i < 4 * ARRAY_SIZE(sizes); i++) {
		cfg.num = sizes[i / 4];
		cfg.event_idx = i & 1;
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
	b->size = kvnet_ring_used_size(r);
	check_spans(b);
	close_book(b);
}

/*
 * Stopped, and started by another driver: the ring may be smaller, and there is
 * no avail_event without EVENT_IDX. What the other ring wrote was another's.
 */
CASE(ring_written_by_another_driver)
{
	struct rig_cfg cfg = { .num = 8, .event_idx = true };
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct book *b = open_book(&cfg);
		struct kvnet_ring *r = &b->g->ring;

		EXPECT_EQ(kvnet_ring_kick_on(r), 0);
		put_some(b, 5);
		r->event_idx = i & 1;
		r->num = i & 2 ? 8 : 2;
		b->size = kvnet_ring_used_size(r);
		memset(b->written, 0, b->size);
		EXPECT_EQ(kvnet_ring_start(r), 0);
		check_spans(b);
		kvnet_ring_kick_on(r);
		put_some(b, 2);
		check_spans(b);
		close_book(b);
	}
}
