// SPDX-License-Identifier: GPL-2.0
/* Which calls are put off, and for how long. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "defer.h"
#include "unit.h"

#define CAP	400000

/* Of so many turns, how many put off; each of them ends as said. */
static unsigned int turns(struct kvnet_defer *d, unsigned int n, bool late)
{
	unsigned int off = 0;

	while (n--) {
		if (!kvnet_defer_pays(d))
			continue;
		off++;
		if (late)
			kvnet_defer_late(d);
		else
			kvnet_defer_moot(d);
	}
	return off;
}

CASE(as_long_as_it_is_of_use)
{
	struct kvnet_defer d = {};

	EXPECT_EQ(turns(&d, 1000, false), 1000);
}

/* A driver that waits for each call waits for few. */
CASE(of_no_use_but_for_a_try)
{
	struct kvnet_defer d = {};

	EXPECT_EQ(turns(&d, KVNET_DEFER_LATE, true), KVNET_DEFER_LATE);
	EXPECT_EQ(turns(&d, 10 * KVNET_DEFER_TRY, true), 10);
	EXPECT_EQ(turns(&d, KVNET_DEFER_TRY - 1, true), 0);
}

CASE(one_try_is_enough)
{
	struct kvnet_defer d = {};

	turns(&d, 1000, true);
	EXPECT_TRUE(turns(&d, 1000, false) > 1000 - KVNET_DEFER_TRY);
}

/* Now this, now that. */
CASE(half_of_them_late_is_no_reason_to_stop)
{
	struct kvnet_defer d = {};
	unsigned int i, off = 0;

	for (i = 0; i < 1000; i++)
		off += turns(&d, 1, i & 1);
	EXPECT_EQ(off, 1000);
}

/* What is sent meanwhile does not make it longer; what is owed next has time of its own. */
CASE(no_longer_than_since_it_is_owed)
{
	struct kvnet_defer d = {};
	u64 now = 1ULL << 40;

	kvnet_defer_begin(&d);
	EXPECT_EQ(kvnet_defer_left(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_defer_left(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_defer_left(&d, now + CAP - 1, CAP), 1);
	EXPECT_EQ(kvnet_defer_left(&d, now + CAP, CAP), 0);
	EXPECT_EQ(kvnet_defer_left(&d, now + (1ULL << 33), CAP), 0);
	/* A clock that goes back; and a shorter time, since then. */
	EXPECT_EQ(kvnet_defer_left(&d, now - 1, CAP), 0);
	EXPECT_EQ(kvnet_defer_left(&d, now + 100, 1000), 900);
	kvnet_defer_begin(&d);
	now += 5 * CAP;
	EXPECT_EQ(kvnet_defer_left(&d, now, CAP), CAP);
	EXPECT_EQ(kvnet_defer_left(&d, now + 1000, CAP), CAP - 1000);
}

CASE(as_long_as_a_packet_may_take_to_come)
{
	u32 gap;

	EXPECT_EQ(kvnet_defer_ns(0, 2, CAP), 2 * KVNET_DEFER_MIN);
	EXPECT_EQ(kvnet_defer_ns(2 * KVNET_DEFER_MIN, 3, CAP), 6 * KVNET_DEFER_MIN);
	EXPECT_EQ(kvnet_defer_ns(U32_MAX, 2, CAP), CAP);
	EXPECT_EQ(kvnet_defer_ns(1U << 31, 2, CAP), CAP);
	for (gap = 0; gap < 1000000; gap += 777) {
		EXPECT_TRUE(kvnet_defer_ns(gap, 2, CAP) <= CAP);
		EXPECT_EQ(kvnet_defer_ns(gap, 2, 1000), 1000);
	}
}

