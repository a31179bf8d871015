// SPDX-License-Identifier: GPL-2.0
/*
 * Which of its areas a ring says that it has written, for the dirty log, against what it was
 * seen to write: neither less nor more.
 */
#include "ring.h"

#include <linux/errno.h>

#include "ring_rig.h"
#include "unit.h"

struct book {
	struct rig *g;
	bool used, desc;	/* written since it was asked last */
	bool elsewhere;
};

static bool note(void *ctx, const struct shim_event *ev)
{
	struct book *b = ctx;
	struct kvnet_ring *r = &b->g->ring;

	if (!ev->done || (ev->op != SHIM_STORE && ev->op != SHIM_COPY_OUT))
		return false;
	if (ev->addr - (uintptr_t)b->g->used < kvnet_ring_used_size(r))
		b->used = true;
	else if (r->packed && ev->addr - (uintptr_t)b->g->desc < kvnet_ring_desc_size(r))
		b->desc = true;
	else
		b->elsewhere = true;
	return false;
}

/* As the session does once it has marked them. */
static void check(struct book *b)
{
	struct kvnet_ring *r = &b->g->ring;

	EXPECT_EQ(r->wrote_used, b->used);
	EXPECT_EQ(r->wrote_desc, b->desc);
	r->wrote_used = false;
	r->wrote_desc = false;
	b->used = false;
	b->desc = false;
}

static void open_book(struct book *b, const struct rig_cfg *cfg)
{
	unit_context("num %u, %s, event_idx %d, pieces %u, base %u", cfg->num,
		     cfg->packed ? "packed" : "split", cfg->event_idx, cfg->pieces, cfg->base);
	/* rig_new() has started the ring */
	*b = (struct book) { .g = rig_new(cfg), .used = true };
	shim_hook(note, b);
}

static void close_book(struct book *b)
{
	EXPECT_TRUE(!b->elsewhere);
	EXPECT_EQ(shim_outside(), 0);
	rig_free(b->g);
}

static void some_verb(struct book *b)
{
	struct rig *g = b->g;
	struct kvnet_ring *r = &g->ring;
	struct kvnet_used used[4] = { 0 };
	unsigned int i, n = 1 + unit_below(min_t(u32, g->cfg.num, 4));

	switch (unit_below(7)) {
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
		kvnet_ring_pending(r);
		break;
	case 4:
		/* puts here are of anything: these come back by chance */
		if (r->packed && r->n_in_flight == g->cfg.num)
			break;
		rig_offer(g, 0);
		EXPECT_EQ(rig_next(g), 1);
		break;
	case 5:
		/* a session before it has told the log */
		check(b);
		rig_restart(g, kvnet_ring_base_get(r));
		break;
	default:
		for (i = 0; i < n; i++)
			used[i] = (struct kvnet_used) { .id = i, .count = 1 };
		EXPECT_EQ(kvnet_ring_put(r, used, n), 0);
	}
}

CASE(ring_written_against_what_was_seen)
{
	struct rig_cfg cfg = { 0 };
	unsigned int i, k;
	struct book b;

	for (cfg.num = 1; cfg.num <= 1024; cfg.num *= 4) {
		for (i = 0; i < 8 && !unit_failed(); i++) {
			cfg.event_idx = i & 1;
			cfg.pieces = i & 2 ? 10 : 0;
			cfg.packed = i & 4;
			cfg.base = cfg.packed ? RIG_PACKED_NEW : -(u16)unit_below(cfg.num + 40);
			open_book(&b, &cfg);
			for (k = 0; k < 300; k++) {
				some_verb(&b);
				if (unit_chance(2))
					check(&b);
			}
			check(&b);
			close_book(&b);
		}
	}
}

/* Stopped, and started by another driver: what the other ring wrote was another's. */
CASE(ring_written_before_a_start_is_forgotten)
{
	const struct kvnet_used used = { .count = 1 };
	struct rig_cfg cfg = { .num = 8 };
	struct book b;
	int i;

	for (i = 0; i < 2; i++) {
		cfg.packed = i;
		cfg.base = i ? RIG_PACKED_NEW : 0;
		open_book(&b, &cfg);
		EXPECT_EQ(kvnet_ring_put(&b.g->ring, &used, 1), 0);
		b.g->ring.wrote_desc = true;
		b.desc = false;
		rig_restart(b.g, i ? 0x80008000 : 0);
		check(&b);
		close_book(&b);
	}
}
