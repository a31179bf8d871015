// SPDX-License-Identifier: GPL-2.0
/*
 * A ring whose memory is gone or changes behind our back, at each access in turn;
 * and the order of accesses and barriers of a split one.
 */
#include "ring.h"

#include <linux/errno.h>
#include <string.h>

#include "ring_rig.h"
#include "unit.h"

/* What has been read is destroyed at once: nothing may be read again. */
CASE(ring_reads_each_field_once)
{
	struct rig *g = rig_good(false, false, 0);
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

/* The ring stays where it was, and the same chain can be fetched after all. */
static void next_faults(bool packed)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct rig *g = rig_good(packed, i & 1, 10 * (i / 2));
		kvnet_ring_pos_t pos = kvnet_ring_pos(&g->ring);
		u32 base = kvnet_ring_base_get(&g->ring);
		struct rig_watch w;

		EACH_FAULT(w, rig_next(g), {
			EXPECT_EQ(kvnet_ring_pos(&g->ring), pos);
			EXPECT_EQ(kvnet_ring_base_get(&g->ring), base);
		});
		EXPECT_TRUE(kvnet_ring_pos(&g->ring) != pos);
		EXPECT_EQ(g->chain.id, 2);
		EXPECT_EQ(g->chain.n_out, 2);
		EXPECT_EQ(g->chain.n_in, packed ? 1 : 40);
		rig_free(g);
	}
}

CASE_BOTH(ring_next_faults, packed_next_faults, next_faults)

/* Of a read ahead that failed nothing is believed: what has been read before is used up. */
CASE(ring_read_ahead_faults)
{
	struct rig_cfg cfg = { .num = 16 };
	struct rig *g = rig_new(&cfg);
	struct rig_watch w;
	unsigned int i;

	for (i = 0; i < 16; i++)
		rig_desc(g, i, 0x1000 * i, 100, 0, 0);
	rig_offer(g, 5);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 5);
	for (i = 7; i < 12; i++)
		rig_offer(g, i);
	/* the index can be read, the entries cannot */
	rig_watch(&w);
	w.fail_at = 2;
	EXPECT_EQ(rig_next(g), -EFAULT);
	shim_hook(NULL, NULL);
	for (i = 7; i < 12; i++) {
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(g->chain.id, i);
	}
	EXPECT_EQ(rig_next(g), 0);
	rig_free(g);
}

/* Not even where nothing has been read before, nor of an entry that was read in part. */
CASE(ring_first_read_ahead_faults)
{
	struct rig_cfg cfg = { .num = 512 };
	struct rig *g = rig_new(&cfg);
	struct rig_watch w;

	rig_desc(g, 5, 0x1000, 100, 0, 0);
	rig_desc(g, 0x105, 0x5000, 100, 0, 0);
	rig_offer(g, 0x105);
	rig_watch(&w);
	w.fail_at = 2;
	EXPECT_EQ(rig_next(g), -EFAULT);
	shim_hook(NULL, NULL);
	EXPECT_EQ(rig_next(g), 1);
	EXPECT_EQ(g->chain.id, 0x105);
	rig_free(g);
}

/*
 * Nothing is made visible, and the same put can be done again; over the end of
 * the ring, and of more than one copy.
 */
static void put_faults(const struct rig_cfg *cfg, u32 n)
{
	struct rig *g = rig_new(cfg);
	u16 at = rig_use_place(g);
	struct kvnet_used used[64];
	struct rig_watch w;
	unsigned int k;

	for (k = 0; k < n; k++)
		used[k] = (struct kvnet_used) {
			.id = 1000 + k, .len = k + 1, .count = 1,
		};
	EACH_FAULT(w, kvnet_ring_put(&g->ring, used, n), {
		EXPECT_EQ(rig_use_place(g), at);
		EXPECT_TRUE(!rig_shows_used(g, at));
	});
	EXPECT_EQ(rig_use_place(g), rig_step(g, at, n));
	for (k = 0; k < n; k++)
		EXPECT_TRUE(rig_has_used(g, rig_step(g, at, k), 1000 + k,
					 k + 1));
	rig_free(g);
}

CASE(ring_put_faults)
{
	struct rig_cfg cfg = { .num = 64, .base = 0xfff1 };

	put_faults(&cfg, 64);
	put_faults(&cfg, 1);
	cfg.pieces = 30;
	put_faults(&cfg, 64);
}

/* Of buffers used in order some are silent: one of them speaks for all. */
CASE(ring_put_in_order_faults)
{
	const struct rig_cfg cfg = { .num = 64, .base = 0xfff1, .in_order = true };
	struct rig *g = rig_new(&cfg);
	u16 at = rig_use_place(g);
	struct kvnet_used used[64];
	struct rig_watch w;
	unsigned int k;

	for (k = 0; k < 64; k++)
		used[k] = (struct kvnet_used) {
			.id = 1000 + k, .len = k + 1, .count = 1, .skippable = k % 8 < 4,
		};
	EACH_FAULT(w, kvnet_ring_put(&g->ring, used, 64), {
		EXPECT_EQ(rig_use_place(g), at);
		EXPECT_TRUE(!rig_shows_used(g, at));
	});
	EXPECT_EQ(rig_use_place(g), rig_step(g, at, 64));
	for (k = 0; k < 64; k++) {
		unsigned int last = k % 8 ? k : k + 4;
		bool shown = rig_has_used(g, rig_step(g, at, k), 1000 + last, last + 1);

		EXPECT_EQ(shown, k % 8 == 0 || k % 8 > 4);
	}
	rig_free(g);
}

CASE(packed_put_faults)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		struct rig_cfg cfg = {
			.packed = true, .num = 64, .base = 30,
			.pieces = i & 1 ? 20 : 0, .in_order = i & 2,
		};

		put_faults(&cfg, 50);
	}
}

/* Of every other verb. With EVENT_IDX kick_off has nothing to write. */
static void other_faults(bool packed)
{
	unsigned int i;

	for (i = 0; i < 4; i++) {
		bool event_idx = i & 1;
		struct rig *g = rig_good(packed, event_idx, i < 2 ? 0 : 9);
		struct rig_watch w;

		EACH_FAULT(w, kvnet_ring_kick_on(&g->ring), {});
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), 0);
		kvnet_ring_kick_on(&g->ring);
		rig_watch(&w);
		w.fail_at = 1;
		EXPECT_EQ(kvnet_ring_kick_off(&g->ring), event_idx ? 0 : -EFAULT);
		EXPECT_EQ(w.accesses, !event_idx);
		shim_hook(NULL, NULL);

		EACH_FAULT(w, kvnet_ring_start(&g->ring), {});
		rig_watch(&w);
		w.fail_at = 1;
		EXPECT_TRUE(kvnet_ring_pending(&g->ring));
		shim_hook(NULL, NULL);
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(rig_next(g), 1);
		EXPECT_EQ(kvnet_ring_kick_on(&g->ring), 0);

		if (packed)
			rig_driver_event(g, 0x8005, event_idx ? 2 : 0);
		kvnet_ring_should_call(&g->ring);
		rig_put(g, 0, 0);
		EACH_FAULT(w, kvnet_ring_should_call(&g->ring), {});
		rig_free(g);
	}
}

CASE_BOTH(ring_other_faults, packed_other_faults, other_faults)

/* If it cannot be read, go and find out: whatever the index was. */
CASE(ring_pending_faults)
{
	struct rig *g = rig_good(false, false, 0);
	struct rig_watch w;
	unsigned int idx;

	while (rig_next(g) == 1)
		;
	EXPECT_TRUE(!kvnet_ring_pending(&g->ring));
	for (idx = 0; idx <= U16_MAX; idx++) {
		g->ring.avail_idx = idx;
		rig_watch(&w);
		w.fail_at = 1;
		EXPECT_TRUE(kvnet_ring_pending(&g->ring));
	}
	rig_free(g);
}

/* No memory at all behind one of the areas. */
CASE(ring_areas_unmapped)
{
	unsigned int gone;

	for (gone = 0; gone < 3; gone++) {
		struct rig *g = rig_good(false, false, 0);
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
	struct rig *g = rig_good(false, false, 0);
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
	struct rig *g = rig_good(false, true, 0);
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
	struct rig *g = rig_good(false, false, 0);
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
		struct rig *g = rig_good(false, i, 0);
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
