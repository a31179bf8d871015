// SPDX-License-Identifier: GPL-2.0
/* Which calls are put off, and for how long. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "moderation.h"
#include "unit.h"

#define CAP	400000

/* Of so many turns, how many put off; each of them ends as said. */
static unsigned int turns(struct kvnet_tx_moderation *d, unsigned int n, bool late)
{
	unsigned int off = 0;

	while (n--) {
		if (!kvnet_moderation_tx_may_defer(d))
			continue;
		off++;
		if (late)
			kvnet_moderation_tx_note_call(d, true);
		else
			kvnet_moderation_tx_note_call(d, false);
	}
	return off;
}

CASE(as_long_as_it_is_of_use)
{
	struct kvnet_tx_moderation d = {};

	EXPECT_EQ(turns(&d, 1000, false), 1000);
}

/* A driver that waits for each call waits for few. */
CASE(of_no_use_but_for_a_try)
{
	struct kvnet_tx_moderation d = {};

	EXPECT_EQ(turns(&d, KVNET_TX_MOD_LATE_MAX, true), KVNET_TX_MOD_LATE_MAX);
	EXPECT_EQ(turns(&d, 10 * KVNET_TX_MOD_RETRY, true), 10);
	EXPECT_EQ(turns(&d, KVNET_TX_MOD_RETRY - 1, true), 0);
}

CASE(one_try_is_enough)
{
	struct kvnet_tx_moderation d = {};

	turns(&d, 1000, true);
	EXPECT_TRUE(turns(&d, 1000, false) > 1000 - KVNET_TX_MOD_RETRY);
}

/* Now this, now that. */
CASE(half_of_them_late_is_no_reason_to_stop)
{
	struct kvnet_tx_moderation d = {};
	unsigned int i, off = 0;

	for (i = 0; i < 1000; i++)
		off += turns(&d, 1, i & 1);
	EXPECT_EQ(off, 1000);
}

/* What is sent meanwhile does not make it longer; what is owed next has time of its own. */
CASE(no_longer_than_since_it_is_owed)
{
	struct kvnet_tx_moderation d = {};
	u64 now = 1ULL << 40;

	ewma_kvnet_ns_add(&d.gap_ns, CAP);
	kvnet_moderation_tx_note_deferred(&d);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + CAP - 1, CAP), 1);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + CAP, CAP), 0);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + (1ULL << 33), CAP), 0);
	/* A clock that goes back; and a shorter time, since then. */
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now - 1, CAP), 0);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + 100, 1000), 900);
	kvnet_moderation_tx_note_deferred(&d);
	now += 5 * CAP;
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + 1000, CAP), CAP - 1000);
}

/* With packets so far apart. */
static u32 delay(u32 gap, u32 cap)
{
	struct kvnet_tx_moderation d = {};

	ewma_kvnet_ns_add(&d.gap_ns, gap);
	return kvnet_moderation_tx_call_delay(&d, 1ULL << 40, cap);
}

CASE(as_long_as_a_packet_may_take_to_come)
{
	u32 gap;

	EXPECT_EQ(delay(0, CAP), KVNET_TX_MOD_GAPS * KVNET_TX_MOD_GAP_MIN_NS);
	EXPECT_EQ(delay(KVNET_TX_MOD_GAP_MIN_NS - 1, CAP),
		  KVNET_TX_MOD_GAPS * KVNET_TX_MOD_GAP_MIN_NS);
	EXPECT_EQ(delay(3 * KVNET_TX_MOD_GAP_MIN_NS, CAP),
		  3 * KVNET_TX_MOD_GAPS * KVNET_TX_MOD_GAP_MIN_NS);
	/* The longest gap of a stream. */
	EXPECT_EQ(delay(50000000, CAP), CAP);
	for (gap = 0; gap < 1000000; gap += 777) {
		EXPECT_TRUE(delay(gap, CAP) <= CAP);
		EXPECT_EQ(delay(gap, 1000), 1000);
	}
}
