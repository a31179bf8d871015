// SPDX-License-Identifier: GPL-2.0
/*
 * A split ring whose memory is gone or changes behind our back, at each access
 * in turn; and the order of accesses and barriers.
 */
#include "ring.h"

#include <linux/errno.h>
#include <string.h>

#include "ring_rig.h"
#include "unit.h"

static struct rig *good_chain_in(bool event_idx, unsigned int pieces)
{
	struct rig_cfg cfg = {
		.num = 4, .event_idx = event_idx, .pieces = pieces,
	};
	struct rig *g = rig_new(&cfg);
	unsigned int i;

	rig_desc(g, 2, 10, 11, F_NEXT, 0);
	rig_desc(g, 0, 20, 21, F_NEXT, 3);
	rig_desc(g, 3, RIG_GPA, 16 * 40, F_INDIRECT, 0);
	for (i = 0; i < 40; i++)
		rig_table(g, i, i, i, F_WRITE | (i < 39 ? F_NEXT : 0), i + 1);
	rig_offer(g, 2);
	rig_offer(g, 2);
	return g;
}

static struct rig *good_chain(bool event_idx)
{
	return good_chain_in(event_idx, 0);
}

/* What has been read is destroyed at once: nothing may be read again. */
CASE(ring_reads_each_field_once)
{
	struct rig *g = good_chain(false);
	struct rig_watch w;
	unsigned int i;

	rig_watch(&w);
	w.poison = true;
	g->poison = true;
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 2);
	EXPECT_EQ(g->chain.n_out, 2);
	EXPECT_EQ(g->chain.n_in, 40);
	EXPECT_EQ(g->chain.seg[1].len, 21);
	for (i = 0; i < 40; i++)
		EXPECT_EQ(g->chain.seg[2 + i].addr, i);
	/* index, heads, three descriptors; the table is read in chunks */
	EXPECT_EQ(w.accesses, 5);
	EXPECT_TRUE(g->reads <= 40);
	/* the index and the heads are not read again for the second chain */
	rig_desc(g, 2, 30, 31, 0, 0);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 2);
	EXPECT_EQ(w.accesses, 6);

	rig_avail_flags(g, 0);
	rig_watch(&w);
	w.poison = true;
	EXPECT_EQ(kvnet_ring_should_call(&g->ring), 1);
	EXPECT_EQ(w.accesses, 1);
	rig_avail_idx(g, g->avail_idx);
	rig_watch(&w);
	w.poison = true;
	EXPECT_TRUE(!kvnet_ring_pending(&g->ring));
	EXPECT_EQ(w.accesses, 1);
	rig_free(g);
}

static void next_faults(struct rig *g)
{
	kvnet_ring_pos_t pos = kvnet_ring_pos(&g->ring);
	struct rig_watch w;

	EACH_FAULT(w, rig_next(g), {
		EXPECT_EQ(kvnet_ring_pos(&g->ring), pos);
		EXPECT_EQ(kvnet_ring_base_get(&g->ring), 0);
	});
	EXPECT_EQ(kvnet_ring_base_get(&g->ring), 1);
	EXPECT_EQ(g->chain.n_in, 40);
	rig_free(g);
}

CASE(ring_next_faults)
{
	next_faults(good_chain(false));
	next_faults(good_chain_in(false, 40));
	next_faults(good_chain_in(true, 5));
}

/* Nothing is made visible, and the same put can be done again. */
static void put_faults(unsigned int pieces)
{
	struct rig_cfg cfg = { .num = 64, .base = 0xfff0, .pieces = pieces };
	struct rig *g = rig_new(&cfg);
	struct kvnet_used used[64];
	struct rig_watch w;
	unsigned int k;

	/* two parts of the ring, more than one copy each */
	rig_put(g, 0, 0);
	for (k = 0; k < 64; k++)
		used[k] = (struct kvnet_used) { .id = 1000 + k, .len = k };
	EACH_FAULT(w, kvnet_ring_put(&g->ring, used, 64), {
		EXPECT_EQ(rig_used_idx(g), 0xfff1);
	});
	EXPECT_EQ(rig_used_idx(g), 0x31);
	for (k = 0; k < 64; k++)
		EXPECT_EQ(rig_used(g, 0xfff1 + k).id, 1000 + k);
	rig_free(g);
}

CASE(ring_put_faults)
{
	put_faults(0);
	put_faults(30);
}

CASE(ring_kick_faults)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct rig *g = good_chain_in(i & 1, i < 2 ? 0 : 9);
		struct rig_watch w;

		EACH_FAULT(w, kvnet_ring_kick_on(&g->ring), {});
		kvnet_ring_kick_off(&g->ring);
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);
		rig_free(g);
	}
}

CASE(ring_kick_off_faults)
{
	struct rig *g = good_chain(false);
	struct rig_watch w;

	kvnet_ring_kick_on(&g->ring);
	rig_watch(&w);
	w.fail_at = 1;
	EXPECT_EQ(kvnet_ring_kick_off(&g->ring), -EFAULT);
	EXPECT_EQ(w.accesses, 1);
	rig_free(g);

	/* with EVENT_IDX there is nothing to write */
	g = good_chain(true);
	kvnet_ring_kick_on(&g->ring);
	rig_watch(&w);
	EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
	EXPECT_EQ(w.accesses, 0);
	rig_free(g);
}

CASE(ring_should_call_faults)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct rig *g = good_chain(i);
		struct rig_watch w;

		kvnet_ring_should_call(&g->ring);
		rig_put(g, 0, 0);
		EACH_FAULT(w, kvnet_ring_should_call(&g->ring), {});
		rig_free(g);
	}
}

CASE(ring_start_faults)
{
	struct rig *g = good_chain(false);
	struct rig_watch w;

	EACH_FAULT(w, kvnet_ring_start(&g->ring), {});
	EXPECT_EQ(rig_next(g), 1);
	rig_free(g);
}

/* If it cannot be read, go and find out. */
CASE(ring_pending_faults)
{
	struct rig *g = good_chain(false);
	struct rig_watch w;

	while (rig_next(g) == 1)
		;
	EXPECT_TRUE(!kvnet_ring_pending(&g->ring));
	rig_watch(&w);
	w.fail_at = 1;
	EXPECT_TRUE(kvnet_ring_pending(&g->ring));
	rig_free(g);
}

/* No memory at all behind one of the areas. */
CASE(ring_areas_unmapped)
{
	unsigned int gone;

	for (gone = 0; gone < 3; gone++) {
		struct rig *g = good_chain(false);
		const void *desc = gone == 0 ? NULL : g->desc;
		const void *avail = gone == 1 ? NULL : g->avail;
		const void *used = gone == 2 ? NULL : g->used;

		unit_context("area %u", gone);
		shim_reset();
		shim_window(desc, rig_desc_bytes(&g->cfg));
		shim_window(avail, rig_avail_bytes(&g->cfg));
		shim_window(used, rig_used_bytes(&g->cfg));
		EXPECT_EQ(rig_next(g), gone == 2 ? 1 : -EFAULT);
		EXPECT_EQ(rig_put(g, 0, 0), gone == 2 ? -EFAULT : 0);
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), gone ? -EFAULT : 0);
		EXPECT_EQ(kvnet_ring_start(&g->ring), gone ? -EFAULT : 0);
		rig_free(g);
	}
}

/* Barrier A: the index, then the barrier, then the entries. */
CASE(ring_order_of_next)
{
	struct rig *g = good_chain(false);
	struct rig_watch w;
	int idx, rmb, head, desc;

	rig_watch(&w);
	EXPECT_EQ(rig_next(g), 1);
	idx = rig_when(&w, SHIM_LOAD, g->avail + 2);
	rmb = rig_when(&w, SHIM_RMB, NULL);
	head = rig_when(&w, SHIM_COPY_IN, g->avail + 4);
	desc = rig_when(&w, SHIM_COPY_IN, g->desc + 16 * 2);
	EXPECT_TRUE(idx >= 0 && idx < rmb && rmb < head && head < desc);
	rig_free(g);
}

/* Barrier A when it was kick_on that saw the index. */
CASE(ring_order_of_kick_on_and_next)
{
	struct rig *g = good_chain(true);
	struct rig_watch w;
	int event, mb, idx, rmb, head;

	rig_watch(&w);
	EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 1);
	EXPECT_EQ(rig_next(g), 1);
	event = rig_when(&w, SHIM_STORE, g->used + 4 + 8 * 4);
	mb = rig_when(&w, SHIM_MB, NULL);
	idx = rig_when(&w, SHIM_LOAD, g->avail + 2);
	rmb = rig_when(&w, SHIM_RMB, NULL);
	head = rig_when(&w, SHIM_COPY_IN, g->avail + 4);
	/* barrier C between the request and the second look */
	EXPECT_TRUE(event >= 0 && event < mb && mb < idx);
	EXPECT_TRUE(idx < rmb && rmb < head);
	rig_free(g);
}

/* Barrier B: the entries, then the barrier, then the index. */
CASE(ring_order_of_put)
{
	struct rig *g = good_chain(false);
	struct rig_watch w;
	int elem, wmb, idx;

	rig_watch(&w);
	EXPECT_EQ(rig_put(g, 0, 0), 0);
	elem = rig_when(&w, SHIM_COPY_OUT, g->used + 4);
	wmb = rig_when(&w, SHIM_WMB, NULL);
	idx = rig_when(&w, SHIM_STORE, g->used + 2);
	EXPECT_TRUE(elem >= 0 && elem < wmb && wmb < idx);
	rig_free(g);
}

/* Barrier D: the used index, then the barrier, then the driver's wish. */
CASE(ring_order_of_should_call)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct rig *g = good_chain(i);
		struct rig_watch w;
		int idx, mb, wish;

		kvnet_ring_should_call(&g->ring);
		rig_watch(&w);
		EXPECT_EQ(rig_put(g, 0, 0), 0);
		kvnet_ring_should_call(&g->ring);
		idx = rig_when(&w, SHIM_STORE, g->used + 2);
		mb = rig_when(&w, SHIM_MB, NULL);
		wish = rig_when(&w, SHIM_LOAD, i ? g->avail + 4 + 2 * 4 :
				g->avail);
		EXPECT_TRUE(idx >= 0 && idx < mb && mb < wish);
		rig_free(g);
	}
}
