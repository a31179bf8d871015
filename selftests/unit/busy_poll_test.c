// SPDX-License-Identifier: GPL-2.0
/* Busy polling: window <= maximum, 0 when idle, grows on hits; the budget. */
#include "busy_poll.h"

#include <linux/kernel.h>

#include "unit.h"

#define CAP	50000

CASE(poll_window_adapts)
{
	static const struct { u64 window, idle, max, want; } rows[] = {
		/* Without a maximum the worker never busy-polls. */
		{ 0, 0, 0, 0 },
		{ 0, 1, 0, 0 },
		{ 0, 4000, 0, 0 },
		{ 0, U64_MAX, 0, 0 },
		/* Work that came within the maximum doubles the window. */
		{ 0, 1, CAP, 4000 },
		{ 0, CAP, CAP, 4000 },
		{ 4000, CAP, CAP, 8000 },
		{ 8000, CAP, CAP, 16000 },
		{ 16000, CAP, CAP, 32000 },
		{ 32000, CAP, CAP, CAP },
		{ CAP, CAP, CAP, CAP },
		/* A window that suffices stays as it is. */
		{ 10000, 0, CAP, 10000 },
		{ 10000, 10000, CAP, 10000 },
		{ 10000, 10001, CAP, 20000 },
		/* Work that came later halves it; too short a window is none. */
		{ CAP, CAP + 1, CAP, CAP / 2 },
		{ 9000, CAP + 1, CAP, 4500 },
		{ 8000, CAP + 1, CAP, 4000 },
		{ 4500, CAP + 1, CAP, 0 },
		{ 4000, CAP + 1, CAP, 0 },
		{ 0, U64_MAX, CAP, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kvnet_busy_poll p = { .window_ns = rows[i].window };

		unit_context("row %u", i);
		kvnet_busy_poll_adapt(&p, rows[i].idle, rows[i].max);
		EXPECT_EQ(p.window_ns, rows[i].want);
	}
}

CASE(poll_set_cap_bounds_the_window)
{
	struct kvnet_busy_poll p = { .window_ns = CAP };

	kvnet_busy_poll_limit(&p, CAP * 2);
	EXPECT_EQ(p.window_ns, CAP);
	kvnet_busy_poll_limit(&p, 100);
	EXPECT_EQ(p.window_ns, 100);
	kvnet_busy_poll_limit(&p, CAP);
	EXPECT_EQ(p.window_ns, 100);
	kvnet_busy_poll_limit(&p, 0);
	EXPECT_EQ(p.window_ns, 0);
}

CASE(poll_expired_table)
{
	static const struct { u64 window, start, now; bool want; } rows[] = {
		{ 0, 0, 0, true },
		{ 0, 5, 6, true },
		{ 100, 1000, 1000, false },
		{ 100, 1000, 1099, false },
		{ 100, 1000, 1100, true },
		{ 100, 1000, 5000, true },
		{ 100, 1000, 999, true },
		{ 100, 1000, 0, true },
		{ 100, U64_MAX - 1, U64_MAX, false },
		{ 100, U64_MAX, 5, true },
		{ U64_MAX, 0, U64_MAX - 1, false },
		{ U64_MAX, 0, U64_MAX, true },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		struct kvnet_busy_poll p = {
			.window_ns = rows[i].window,
		};

		unit_context("row %u", i);
		EXPECT_EQ(kvnet_busy_poll_has_expired(&p, rows[i].start, rows[i].now),
			  rows[i].want);
	}
}

/* Any trace: never above the cap, never moved the wrong way. */
CASE(poll_random_traces)
{
	static const u64 caps[] = { 0, 1, 3999, 4000, 4001, 50000, 1000000 };
	struct kvnet_busy_poll p = { 0 };
	u64 old, idle, max = 0;
	unsigned int i;

	for (i = 0; i < 200000; i++) {
		if (unit_chance(100))
			max = caps[unit_below(ARRAY_SIZE(caps))];
		kvnet_busy_poll_limit(&p, max);
		idle = unit_below(unit_chance(3) ? 2000000 : max + 2);
		old = p.window_ns;
		kvnet_busy_poll_adapt(&p, idle, max);
		EXPECT_TRUE(p.window_ns <= max);
		if (idle > max)
			EXPECT_TRUE(p.window_ns <= old);
		else
			EXPECT_TRUE(p.window_ns >= old);
		if (idle <= old)
			EXPECT_EQ(p.window_ns, old);
	}
}

/* A trace of a queue that wakes, works steadily, and goes quiet. */
CASE(poll_recorded_trace)
{
	struct kvnet_busy_poll p = { 0 };
	u64 now = 0, start, spun = 0;
	unsigned int i;

	kvnet_busy_poll_limit(&p, CAP);
	for (i = 0; i < 1000; i++) {
		/* a packet every 20 us, then one a second */
		u64 gap = i < 500 ? 20000 : 1000000000;

		start = now;
		while (!kvnet_busy_poll_has_expired(&p, start, now) &&
		       now - start < gap)
			now += 1000;
		spun = now - start;
		now = start + gap;
		kvnet_busy_poll_adapt(&p, gap, CAP);
		if (i == 499)
			EXPECT_EQ(spun, 20000);
	}
	EXPECT_EQ(spun, 0);
}

/* A packet of 16 pieces is nothing special, one of 1024 is. */
CASE(budget_packets)
{
	static const struct { size_t bytes; unsigned int pieces, packets; } rows[] = {
		{ 0, 1, KVNET_BUDGET_PACKETS },
		{ 1, 1, KVNET_BUDGET_PACKETS },
		{ 60, 1, KVNET_BUDGET_PACKETS },
		{ 1514, 1, KVNET_BUDGET_PACKETS },
		{ 9014, 1, 59 },
		{ 65535, 1, 9 },
		{ 65536, 1, 8 },
		{ KVNET_BUDGET_BYTES - 1, 1, 2 },
		{ KVNET_BUDGET_BYTES, 1, 1 },
		{ KVNET_BUDGET_BYTES + 1, 1, 1 },
		{ (size_t)INT32_MAX + 1, 1, 1 },
		{ SIZE_MAX, 1, 1 },
		{ 60, 0, KVNET_BUDGET_PACKETS },
		{ 60, 16, KVNET_BUDGET_PACKETS },
		{ 60, 17, 241 },
		{ 60, 19, 216 },
		{ 60, 44, 94 },
		{ 60, 1024, 4 },
		{ 60, KVNET_BUDGET_PIECES - 1, 2 },
		{ 60, KVNET_BUDGET_PIECES, 1 },
		{ 60, KVNET_BUDGET_PIECES + 1, 1 },
		{ 60, (unsigned int)INT32_MAX + 1, 1 },
		{ 60, UINT32_MAX, 1 },
	};
	struct kvnet_budget b;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unit_context("row %u", i);
		kvnet_budget_start(&b);
		n = 1;
		while (kvnet_budget_spend(&b, rows[i].bytes, rows[i].pieces))
			n++;
		EXPECT_EQ(n, rows[i].packets);
		EXPECT_TRUE(b.packets >= 0 && b.bytes > -KVNET_BUDGET_BYTES - 1);
	}
}

/* Who has something else to do does less than a worker, of each. */
CASE(budget_inline)
{
	struct kvnet_budget b;
	unsigned int looks, n, most;

	for (looks = 0; looks < 2; looks++) {
		most = KVNET_BUDGET_VCPU_PACKETS * (looks ? KVNET_BUDGET_VCPU_TIMER_FACTOR : 1);
		EXPECT_TRUE(most < KVNET_BUDGET_PACKETS);
		kvnet_budget_start_vcpu(&b, looks);
		for (n = 1; kvnet_budget_spend(&b, 0, 0); n++)
			;
		EXPECT_EQ(n, most);
		kvnet_budget_start_vcpu(&b, looks);
		for (n = 1; kvnet_budget_spend(&b, 1024, 0); n++)
			;
		EXPECT_EQ(n, most);
		kvnet_budget_start_vcpu(&b, looks);
		for (n = 1; kvnet_budget_spend(&b, 0, 4); n++)
			;
		EXPECT_EQ(n, most);
		EXPECT_TRUE(kvnet_budget_is_spent(&b));
	}
}

/* What the thread that kicked could have done, it could have done all of. */
CASE(budget_little)
{
	static const struct {
		unsigned int packets;
		size_t bytes;
		unsigned int pieces;
		bool little;
	} rows[] = {
		{ 1, 60, 1, true },
		{ KVNET_BUDGET_VCPU_PACKETS, 60, 1, true },
		{ KVNET_BUDGET_VCPU_PACKETS + 1, 60, 1, false },
		{ 1, KVNET_BUDGET_VCPU_BYTES, 1, true },
		{ 1, KVNET_BUDGET_VCPU_BYTES + 1, 1, false },
		{ 1, 65536, 1, false },
		{ 1, 60, KVNET_BUDGET_VCPU_PIECES, true },
		{ 1, 60, KVNET_BUDGET_VCPU_PIECES + 1, false },
	};
	struct kvnet_budget b;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unit_context("row %u", i);
		kvnet_budget_start(&b);
		EXPECT_TRUE(kvnet_budget_was_small(&b));
		for (n = 0; n < rows[i].packets; n++)
			kvnet_budget_spend(&b, rows[i].bytes, rows[i].pieces);
		EXPECT_EQ(kvnet_budget_was_small(&b), rows[i].little);
	}
}
