// SPDX-License-Identifier: GPL-2.0
/*
 * Rings of 1 to 4 entries, both sides, every order of what the two may do up to
 * a depth: nothing is lost, doubled or out of order, and who sleeps is woken.
 */
#include "ring.h"

#include <linux/errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guest_ring.h"
#include "ring_rig.h"
#include "unit.h"

#ifndef DEPTH
#define DEPTH	8
#endif
#define MAX	4
#define LEN	8

enum op { ADD1, ADD2, TAKE, NEXT, PUT, PUT_OTHER, KICK_ON, KICK_OFF, CALL_ON,
	  CALL_OFF, N_OPS };

static const char *const names[] = { "add1", "add2", "take", "next", "put",
	"put_other", "kick_on", "kick_off", "call_on", "call_off" };

/* What must be so, whatever the ring looks like. */
struct model {
	u8 added;			/* numbers of buffers, all told */
	u8 fetched;
	u8 seen;			/* split: by the avail index */
	struct kvnet_used held[MAX];
	u8 held_number[MAX], n_held;
	u8 back[MAX], n_back;		/* given back, not yet taken */
	bool wish;			/* for kicks, it stands */
	bool armed;			/* the device sleeps */
	bool driver_armed;
};

/* All that changes. */
struct state {
	struct model m;
	struct kvnet_ring ring;
	struct guest_ring guest;
	u8 desc[16 * MAX], avail[6 + 2 * MAX], used[6 + 8 * MAX];
	struct gr_slot slot[MAX];
	struct gr_done taken[MAX];
	struct gr_withheld withheld[MAX];
	u16 link[MAX], order[MAX];
};

static struct model m;
static struct rig *g;
static struct guest_ring guest;
static enum op path[DEPTH];
static unsigned long visited;

#define EACH_PART(s, f) do {						\
	f(&(s)->m, &m, sizeof(m));					\
	f(&(s)->ring, &g->ring, sizeof(g->ring));			\
	f(&(s)->guest, &guest, sizeof(guest));				\
	f((s)->desc, g->desc, rig_desc_bytes(&g->cfg));			\
	f((s)->avail, g->avail, rig_avail_bytes(&g->cfg));		\
	f((s)->used, g->used, rig_used_bytes(&g->cfg));			\
	f((s)->slot, guest.slot, g->cfg.num * sizeof(guest.slot[0]));	\
	f((s)->taken, guest.taken, g->cfg.num * sizeof(guest.taken[0])); \
	f((s)->withheld, guest.withheld,				\
	  g->cfg.num * sizeof(guest.withheld[0]));			\
	f((s)->link, guest.link, g->cfg.num * sizeof(guest.link[0]));	\
	f((s)->order, guest.order, g->cfg.num * sizeof(guest.order[0])); \
} while (0)

static void copy_there(void *s, const void *here, size_t n)
{
	memcpy(s, here, n);
}

static void copy_back(const void *s, void *here, size_t n)
{
	memcpy(here, s, n);
}

/* All of these: false if it cannot be done now. */
static bool add(unsigned int n)
{
	struct gr_buf buf[2] = {
		{ .ptr = &m, .len = LEN, .write = true },
		{ .ptr = &g, .len = LEN, .write = true },
	};
	bool kick;

	if (n > g->cfg.num || gr_add(&guest, buf, n, GR_ALL_DIRECT,
				     (void *)(uintptr_t)(m.added + 1)) < 0)
		return false;
	m.added++;
	gr_publish(&guest);
	kick = gr_kick_needed(&guest);
	if (m.armed)
		EXPECT_TRUE(kick);
	if (g->cfg.event_idx)
		m.armed = false;
	return true;
}

static bool take(void)
{
	struct gr_done done;
	int ret = gr_get_used(&guest, &done);

	if (!EXPECT_EQ(ret, m.n_back > 0) || !ret)
		return false;
	EXPECT_EQ((uintptr_t)done.token, m.back[0] + 1);
	EXPECT_TRUE(done.len >= LEN && done.len % LEN == 0);
	memmove(m.back, m.back + 1, --m.n_back);
	return true;
}

static bool next(void)
{
	int ret = rig_next(g);

	if (m.seen == m.fetched)
		m.seen = m.added;
	if (!EXPECT_EQ(ret, m.added > m.fetched) || !ret)
		return false;
	m.held[m.n_held] = (struct kvnet_used) {
		.id = g->chain.id, .count = g->chain.count, .skippable = true,
		.len = LEN * g->chain.n_in,
	};
	m.held_number[m.n_held++] = m.fetched++;
	return true;
}

static void give_back(unsigned int from, unsigned int n)
{
	unsigned int i;
	int call;

	EXPECT_EQ(kvnet_ring_put(&g->ring, m.held + from, n), 0);
	for (i = from; i < from + n; i++)
		m.back[m.n_back++] = m.held_number[i];
	m.n_held -= n;
	for (i = from; i < m.n_held; i++) {
		m.held[i] = m.held[i + n];
		m.held_number[i] = m.held_number[i + n];
	}
	call = kvnet_ring_should_call(&g->ring);
	if (m.driver_armed)
		EXPECT_EQ(call, 1);
	if (g->cfg.event_idx)
		m.driver_armed = false;
}

/* Out of order, or all in one batch. */
static bool put_other(void)
{
	if (m.n_held < 2)
		return false;
	if (g->cfg.in_order)
		give_back(0, m.n_held);
	else
		give_back(m.n_held - 1, 1);
	return true;
}

static bool kick_on(void)
{
	u8 seen = g->cfg.packed ? m.fetched : m.seen;
	int ret = kvnet_ring_kick_on(&g->ring);

	EXPECT_EQ(ret, m.added > seen);
	m.seen = m.added;
	if (!m.wish)
		m.armed = !g->cfg.event_idx || !ret;
	m.wish = true;
	return true;
}

static bool do_op(enum op op)
{
	switch (op) {
	case ADD1:
	case ADD2:
		return add(op == ADD1 ? 1 : 2);
	case TAKE:
		return take();
	case NEXT:
		return next();
	case PUT:
		if (m.n_held)
			give_back(0, 1);
		return true;
	case PUT_OTHER:
		return put_other();
	case KICK_ON:
		return kick_on();
	case KICK_OFF:
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
		m.wish = false;
		m.armed = false;
		return true;
	case CALL_ON:
		EXPECT_EQ(gr_call_on(&guest, 0), m.n_back > 0);
		m.driver_armed = !g->cfg.event_idx || !m.n_back;
		return true;
	default:
		gr_call_off(&guest);
		m.driver_armed = false;
		return true;
	}
}

static void tell_path(unsigned int depth)
{
	unsigned int i;

	printf("#");
	for (i = 0; i <= depth; i++)
		printf(" %s", names[path[i]]);
	printf("\n");
}

/* What changes nothing leads nowhere new. */
static bool idle(enum op op)
{
	return (op == PUT && !m.n_held) || (op == KICK_OFF && !m.wish) ||
	       (op == KICK_ON && m.wish && m.seen == m.added);
}

static void explore(unsigned int depth)
{
	struct state here;
	unsigned int op;

	if (depth == DEPTH)
		return;
	EACH_PART(&here, copy_there);
	for (op = 0; op < N_OPS && !unit_failed(); op++) {
		if (idle(op) || (depth && op == CALL_OFF &&
				 path[depth - 1] == CALL_ON))
			continue;
		path[depth] = op;
		visited++;
		if (do_op(op) && !unit_failed())
			explore(depth + 1);
		EXPECT_TRUE(!guest.broken);
		if (unit_failed())
			tell_path(depth);
		else
			EACH_PART(&here, copy_back);
	}
}

/* From a little before the end of a lap, of either wrap counter. */
static void small(struct rig_cfg cfg, u16 before)
{
	struct gr_cfg driver = {
		.num = cfg.num, .event_idx = cfg.event_idx,
		.packed = cfg.packed, .in_order = cfg.in_order, .offset = 4096,
	};
	u16 n = (before & 1 ? 2 : 1) * cfg.num - before % cfg.num;

	unit_context("num %u, %s, event_idx %d, in_order %d, %u before the end",
		     cfg.num, cfg.packed ? "packed" : "split", cfg.event_idx,
		     cfg.in_order, before);
	cfg.base = cfg.packed ? RIG_PACKED_NEW : 0;
	g = rig_new(&cfg);
	driver.desc = g->desc;
	driver.avail = g->avail;
	driver.used = g->used;
	memset(&m, 0, sizeof(m));
	EXPECT_EQ(gr_init(&guest, &driver), 0);
	gr_start_at(&guest, n);
	rig_restart(g, gr_base_at(&driver, n));
	explore(0);
	EXPECT_EQ(shim_outside(), 0);
	gr_exit(&guest);
	rig_free(g);
}

static void all_small(bool packed)
{
	struct rig_cfg cfg = { .packed = packed };
	unsigned int i;

	visited = 0;
	for (cfg.num = 1; cfg.num <= MAX; cfg.num++) {
		if (!packed && cfg.num == 3)
			continue;
		for (i = 0; i < 4 && !unit_failed(); i++) {
			cfg.event_idx = i & 1;
			cfg.in_order = i & 2;
			/* one after the other in the runs, both in time */
			small(cfg, 1 + unit_below(2 * cfg.num));
		}
	}
	printf("# %lu steps\n", visited);
}

CASE_BOTH(small_split, small_packed, all_small)
