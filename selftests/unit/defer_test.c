// SPDX-License-Identifier: GPL-2.0
/* Which calls are put off, and for how long. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "tx_mod.h"
#include "unit.h"

#define CAP	400000

/* Of so many turns, how many put off; each of them ends as said. */
static unsigned int turns(struct kvnet_tx_mod *d, unsigned int n, bool late)
{
	unsigned int off = 0;

	while (n--) {
		if (!kvnet_tx_mod_may_defer(d))
			continue;
		off++;
		if (late)
			kvnet_tx_mod_note_timer_call(d);
		else
			kvnet_tx_mod_note_unneeded(d);
	}
	return off;
}

CASE(as_long_as_it_is_of_use)
{
	struct kvnet_tx_mod d = {};

	EXPECT_EQ(turns(&d, 1000, false), 1000);
}

/* A driver that waits for each call waits for few. */
CASE(of_no_use_but_for_a_try)
{
	struct kvnet_tx_mod d = {};

	EXPECT_EQ(turns(&d, KVNET_TX_MOD_LATE_MAX, true), KVNET_TX_MOD_LATE_MAX);
	EXPECT_EQ(turns(&d, 10 * KVNET_TX_MOD_RETRY, true), 10);
	EXPECT_EQ(turns(&d, KVNET_TX_MOD_RETRY - 1, true), 0);
}

CASE(one_try_is_enough)
{
	struct kvnet_tx_mod d = {};

	turns(&d, 1000, true);
	EXPECT_TRUE(turns(&d, 1000, false) > 1000 - KVNET_TX_MOD_RETRY);
}

/* Now this, now that. */
CASE(half_of_them_late_is_no_reason_to_stop)
{
	struct kvnet_tx_mod d = {};
	unsigned int i, off = 0;

	for (i = 0; i < 1000; i++)
		off += turns(&d, 1, i & 1);
	EXPECT_EQ(off, 1000);
}

/* What is sent meanwhile does not make it longer; what is owed next has time of its own. */
CASE(no_longer_than_since_it_is_owed)
{
	struct kvnet_tx_mod d = {};
	u64 now = 1ULL << 40;

	kvnet_tx_mod_note_deferred(&d);
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now + CAP - 1, CAP), 1);
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now + CAP, CAP), 0);
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now + (1ULL << 33), CAP), 0);
	/* A clock that goes back; and a shorter time, since then. */
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now - 1, CAP), 0);
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now + 100, 1000), 900);
	kvnet_tx_mod_note_deferred(&d);
	now += 5 * CAP;
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_tx_mod_remaining_ns(&d, now + 1000, CAP), CAP - 1000);
}

CASE(as_long_as_a_packet_may_take_to_come)
{
	u32 gap;

	EXPECT_EQ(kvnet_tx_mod_delay_ns(0, 2, CAP), 2 * KVNET_TX_MOD_GAP_MIN_NS);
	EXPECT_EQ(kvnet_tx_mod_delay_ns(2 * KVNET_TX_MOD_GAP_MIN_NS, 3, CAP),
		  6 * KVNET_TX_MOD_GAP_MIN_NS);
	EXPECT_EQ(kvnet_tx_mod_delay_ns(U32_MAX, 2, CAP), CAP);
	EXPECT_EQ(kvnet_tx_mod_delay_ns(1U << 31, 2, CAP), CAP);
	for (gap = 0; gap < 1000000; gap += 777) {
		EXPECT_TRUE(kvnet_tx_mod_delay_ns(gap, 2, CAP) <= CAP);
		EXPECT_EQ(kvnet_tx_mod_delay_ns(gap, 2, 1000), 1000);
	}
}

