// SPDX-License-Identifier: GPL-2.0
/* Polling policy: window <= cap, 0 when idle, grows on hits; the budget. */
#include "poll.h"

#include <linux/kernel.h>

#include "unit.h"

#define CAP	50000

/* Spins that it takes to reach the cap or 0: no policy needs more. */
#define SOON	64

CASE(poll_zero_cap_never_spins)
{
	static const u64 idle[] = { 0, 1, 4000, 1000000, U64_MAX };
	struct kvnet_poll p = { 0 };
	unsigned int i;

	kvnet_poll_set_cap(&p, 0);
	for (i = 0; i < ARRAY_SIZE(idle); i++) {
		kvnet_poll_learn(&p, idle[i]);
		EXPECT_EQ(p.window, 0);
		EXPECT_TRUE(kvnet_poll_expired(&p, 100, 100));
	}
}

CASE(poll_grows_on_hits)
{
	struct kvnet_poll p = { 0 };
	u64 old;
	unsigned int i;

	kvnet_poll_set_cap(&p, CAP);
	EXPECT_EQ(p.window, 0);
	for (i = 0; i < SOON && p.window < CAP; i++) {
		old = p.window;
		kvnet_poll_learn(&p, CAP);
		EXPECT_TRUE(p.window > old && p.window <= CAP);
	}
	EXPECT_EQ(p.window, CAP);
	kvnet_poll_learn(&p, CAP);
	EXPECT_EQ(p.window, CAP);
}

CASE(poll_shrinks_to_zero_when_idle)
{
	struct kvnet_poll p = { .cap = CAP, .window = CAP };
	unsigned int i;
	u64 old;

	for (i = 0; i < SOON && p.window; i++) {
		old = p.window;
		kvnet_poll_learn(&p, CAP + 1);
		EXPECT_TRUE(p.window < old);
	}
	EXPECT_EQ(p.window, 0);
	kvnet_poll_learn(&p, U64_MAX);
	EXPECT_EQ(p.window, 0);
}

CASE(poll_keeps_a_window_that_suffices)
{
	struct kvnet_poll p = { .cap = CAP, .window = 10000 };

	kvnet_poll_learn(&p, 0);
	EXPECT_EQ(p.window, 10000);
	kvnet_poll_learn(&p, 10000);
	EXPECT_EQ(p.window, 10000);
	kvnet_poll_learn(&p, 10001);
	EXPECT_TRUE(p.window > 10000);
}

CASE(poll_set_cap_bounds_the_window)
{
	struct kvnet_poll p = { .cap = CAP, .window = CAP };

	kvnet_poll_set_cap(&p, CAP * 2);
	EXPECT_EQ(p.window, CAP);
	kvnet_poll_set_cap(&p, 100);
	EXPECT_EQ(p.window, 100);
	kvnet_poll_set_cap(&p, CAP);
	EXPECT_EQ(p.window, 100);
	kvnet_poll_set_cap(&p, 0);
	EXPECT_EQ(p.window, 0);
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
		struct kvnet_poll p = {
			.cap = rows[i].window, .window = rows[i].window,
		};

		unit_context("row %u", i);
		EXPECT_EQ(kvnet_poll_expired(&p, rows[i].start, rows[i].now),
			  rows[i].want);
	}
}

/* Any trace: never above the cap, never moved the wrong way. */
CASE(poll_random_traces)
{
	static const u64 caps[] = { 0, 1, 3999, 4000, 4001, 50000, 1000000 };
	struct kvnet_poll p = { 0 };
	u64 old, idle;
	unsigned int i;

	for (i = 0; i < 200000; i++) {
		if (unit_chance(100))
			kvnet_poll_set_cap(&p,
					   caps[unit_below(ARRAY_SIZE(caps))]);
		idle = unit_below(unit_chance(3) ? 2000000 : p.cap + 2);
		old = p.window;
		kvnet_poll_learn(&p, idle);
		EXPECT_TRUE(p.window <= p.cap);
		if (idle > p.cap)
			EXPECT_TRUE(p.window <= old);
		else
			EXPECT_TRUE(p.window >= old);
		if (idle <= old)
			EXPECT_EQ(p.window, old);
	}
}

/* A trace of a queue that wakes, works steadily, and goes quiet. */
CASE(poll_recorded_trace)
{
	struct kvnet_poll p = { 0 };
	u64 now = 0, start, spun = 0;
	unsigned int i;

	kvnet_poll_set_cap(&p, CAP);
	for (i = 0; i < 1000; i++) {
		/* a packet every 20 us, then one a second */
		u64 gap = i < 500 ? 20000 : 1000000000;

		start = now;
		while (!kvnet_poll_expired(&p, start, now) &&
		       now - start < gap)
			now += 1000;
		spun = now - start;
		now = start + gap;
		kvnet_poll_learn(&p, gap);
		if (i == 499)
			EXPECT_EQ(spun, 20000);
	}
	EXPECT_EQ(spun, 0);
}

CASE(budget_packets)
{
	struct kvnet_budget b;
	unsigned int i, n = 0;

	kvnet_budget_start(&b);
	for (i = 0; i < KVNET_TURN_PACKETS * 2; i++) {
		n++;
		if (!kvnet_budget_spend(&b, 0, 1))
			break;
	}
	EXPECT_EQ(n, KVNET_TURN_PACKETS);
	kvnet_budget_start(&b);
	EXPECT_TRUE(kvnet_budget_spend(&b, 0, 1));
}

CASE(budget_bytes)
{
	static const size_t sizes[] = { 1, 60, 1514, 9014, 65535, 65536,
		KVNET_TURN_BYTES - 1, KVNET_TURN_BYTES, KVNET_TURN_BYTES + 1,
		(size_t)INT32_MAX + 1, SIZE_MAX };
	size_t want, n;
	struct kvnet_budget b;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		unit_context("%zu bytes", sizes[i]);
		want = (KVNET_TURN_BYTES - 1) / sizes[i] + 1;
		want = min_t(size_t, want, KVNET_TURN_PACKETS);
		kvnet_budget_start(&b);
		n = 1;
		while (kvnet_budget_spend(&b, sizes[i], 1))
			n++;
		EXPECT_EQ(n, want);
		EXPECT_TRUE(b.packets >= 0 && b.bytes > -KVNET_TURN_BYTES - 1);
	}
}

/* A packet of 16 pieces is nothing special, one of 1024 is. */
CASE(budget_pieces)
{
	static const unsigned int pieces[] = { 0, 1, 16, 17, 19, 44, 1024,
		KVNET_TURN_PIECES - 1, KVNET_TURN_PIECES,
		KVNET_TURN_PIECES + 1, (unsigned int)INT32_MAX + 1, UINT32_MAX };
	struct kvnet_budget b;
	unsigned int i, n, want;

	for (i = 0; i < ARRAY_SIZE(pieces); i++) {
		unit_context("%u pieces", pieces[i]);
		want = pieces[i] ? (KVNET_TURN_PIECES - 1) / pieces[i] + 1 :
				   KVNET_TURN_PACKETS;
		want = min_t(unsigned int, want, KVNET_TURN_PACKETS);
		kvnet_budget_start(&b);
		n = 1;
		while (kvnet_budget_spend(&b, 60, pieces[i]))
			n++;
		EXPECT_EQ(n, want);
		if (pieces[i] <= 16)
			EXPECT_EQ(n, KVNET_TURN_PACKETS);
	}
}

/* Half as long each time; but a window too short for anything to come is none. */
CASE(poll_window_ends)
{
	struct kvnet_poll p = { 0 };

	kvnet_poll_set_cap(&p, CAP);
	kvnet_poll_learn(&p, 1);
	EXPECT_EQ(p.window, 4000);
	kvnet_poll_learn(&p, CAP + 1);
	EXPECT_EQ(p.window, 0);
	p.window = 9000;
	kvnet_poll_learn(&p, CAP + 1);
	EXPECT_EQ(p.window, 4500);
	kvnet_poll_learn(&p, CAP + 1);
	EXPECT_EQ(p.window, 0);
}

/* Who has something else to do does less than a worker, of each. */
CASE(budget_lent)
{
	struct kvnet_budget b;
	unsigned int looks, n, most;

	for (looks = 0; looks < 2; looks++) {
		most = KVNET_LENT_PACKETS * (looks ? KVNET_LENT_LOOK : 1);
		EXPECT_TRUE(most < KVNET_TURN_PACKETS);
		kvnet_budget_start_lent(&b, looks);
		for (n = 1; kvnet_budget_spend(&b, 0, 0); n++)
			;
		EXPECT_EQ(n, most);
		kvnet_budget_start_lent(&b, looks);
		for (n = 1; kvnet_budget_spend(&b, 1024, 0); n++)
			;
		EXPECT_EQ(n, most);
		kvnet_budget_start_lent(&b, looks);
		for (n = 1; kvnet_budget_spend(&b, 0, 4); n++)
			;
		EXPECT_EQ(n, most);
		EXPECT_TRUE(kvnet_budget_spent(&b));
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
		{ KVNET_LENT_PACKETS, 60, 1, true },
		{ KVNET_LENT_PACKETS + 1, 60, 1, false },
		{ 1, KVNET_LENT_BYTES, 1, true },
		{ 1, KVNET_LENT_BYTES + 1, 1, false },
		{ 1, 65536, 1, false },
		{ 1, 60, KVNET_LENT_PIECES, true },
		{ 1, 60, KVNET_LENT_PIECES + 1, false },
	};
	struct kvnet_budget b;
	unsigned int i, n;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unit_context("row %u", i);
		kvnet_budget_start(&b);
		EXPECT_TRUE(kvnet_budget_little(&b));
		for (n = 0; n < rows[i].packets; n++)
			kvnet_budget_spend(&b, rows[i].bytes, rows[i].pieces);
		EXPECT_EQ(kvnet_budget_little(&b), rows[i].little);
	}
}
