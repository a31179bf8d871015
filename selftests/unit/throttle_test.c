// SPDX-License-Identifier: GPL-2.0
/* When softirqs call no longer, and for how long. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "moderation.h"
#include "unit.h"

#define MS	1000000ULL
#define SECOND	(1000 * MS)

static struct kvnet_throttle throttle;
static u64 now;

static void begin(void)
{
	throttle = (struct kvnet_throttle) {};
	now = 1000 * SECOND;
}

static bool is_throttled(void)
{
	return kvnet_moderation_is_throttled(&throttle, now);
}

/* Makes calls of @ns until the queue is throttled; returns how many. */
static unsigned int calls(unsigned int n, u64 ns)
{
	unsigned int i;

	for (i = 0; i < n && !is_throttled(); i++) {
		now += ns;
		EXPECT_TRUE(kvnet_moderation_throttle_account(&throttle, now, ns) == is_throttled());
	}
	return i;
}

CASE(quick_calls_never_throttle)
{
	begin();
	EXPECT_TRUE(!is_throttled());
	EXPECT_EQ(calls(1000000, 10000), 1000000);
	EXPECT_EQ(calls(1000000, KVNET_THROTTLE_QUICK_NS), 1000000);
	EXPECT_EQ(throttle.excess_ns, 0);
	/* Also when the clock starts at 0. */
	begin();
	now = 0;
	EXPECT_TRUE(!is_throttled());
}

/* By their sum; a single one is enough if it is long. */
CASE(slow_calls_throttle)
{
	begin();
	EXPECT_EQ(calls(1000, KVNET_THROTTLE_QUICK_NS + 2 * MS), 6);
	EXPECT_TRUE(is_throttled());
	EXPECT_EQ(throttle.excess_ns, 0);
	/* An excess of less than 1/32 of the time decays as fast as it grows. */
	begin();
	EXPECT_EQ(calls(1000000, KVNET_THROTTLE_QUICK_NS + 3200), 1000000);
	EXPECT_TRUE(calls(1000000, KVNET_THROTTLE_QUICK_NS + 6000) < 20000);
	begin();
	EXPECT_EQ(calls(1000, KVNET_THROTTLE_QUICK_NS + KVNET_THROTTLE_LIMIT_NS), 2);
	begin();
	EXPECT_EQ(calls(1000, KVNET_THROTTLE_QUICK_NS + KVNET_THROTTLE_LIMIT_NS + 1), 1);
	begin();
	EXPECT_EQ(calls(1000, 100 * MS), 1);
}

CASE(slow_calls_among_quick_ones_throttle)
{
	unsigned int i;

	begin();
	for (i = 0; i < 1000 && !is_throttled(); i++) {
		calls(9, 0);
		calls(1, 2 * MS);
	}
	EXPECT_EQ(i, 6);
	begin();
	for (i = 0; i < 1000 && !is_throttled(); i++) {
		calls(1, 8 * MS);
		calls(1000, 1000);
	}
	EXPECT_EQ(i, 2);
}

/* Of calls that are preempted for 8 ms, how many before the queue is throttled? */
static unsigned int preempted_calls(unsigned int n, u64 every_ns)
{
	unsigned int i;

	begin();
	for (i = 0; i < n && !is_throttled(); i++) {
		calls(1, KVNET_THROTTLE_QUICK_NS + 8 * MS);
		now += every_ns - KVNET_THROTTLE_QUICK_NS - 8 * MS;
	}
	return i;
}

/* A host that is a VM may be preempted. */
CASE(rare_preemption_decays)
{
	EXPECT_EQ(preempted_calls(1000, 270 * MS), 1000);
	EXPECT_TRUE(!is_throttled());
	EXPECT_TRUE(preempted_calls(1000, 120 * MS) < 3);
	/* Idle time is no credit. */
	begin();
	calls(1, 0);
	now += 1000 * SECOND;
	EXPECT_EQ(calls(1000, KVNET_THROTTLE_QUICK_NS + 2 * MS), 6);
}

/* Then the excess is zero. */
CASE(throttle_lasts_a_thousand_times_the_excess)
{
	u64 since, slow = 0;
	unsigned int i;

	begin();
	calls(1, KVNET_THROTTLE_QUICK_NS + 20 * MS);
	since = now;
	now = since + 20 * SECOND - 1;
	EXPECT_TRUE(is_throttled());
	now = since + 20 * SECOND;
	EXPECT_TRUE(!is_throttled());
	EXPECT_EQ(calls(1, KVNET_THROTTLE_QUICK_NS + KVNET_THROTTLE_LIMIT_NS), 1);
	EXPECT_TRUE(!is_throttled());

	begin();
	since = now;
	for (i = 0; now - since < 10000 * SECOND; i++, now += i % 7 * MS)
		slow += calls(1, 3 * MS) * 3 * MS;
	EXPECT_TRUE(slow > 0);
	EXPECT_TRUE(slow < 11 * SECOND);
}

/* A host that was stopped for an hour meanwhile. */
CASE(excess_of_one_call_is_bounded)
{
	begin();
	EXPECT_TRUE(kvnet_moderation_throttle_account(&throttle, now, 3600 * SECOND));
	EXPECT_TRUE(is_throttled());
	now += 1000 * SECOND;
	EXPECT_TRUE(!is_throttled());
	begin();
	calls(1, KVNET_THROTTLE_LIMIT_NS);
	EXPECT_TRUE(kvnet_moderation_throttle_account(&throttle, now, (1ULL << 63) - 1));
	now += 999 * SECOND;
	EXPECT_TRUE(is_throttled());
	now += 20 * SECOND;
	EXPECT_TRUE(!is_throttled());
}

CASE(clock_that_goes_back_has_no_excess)
{
	begin();
	calls(1, KVNET_THROTTLE_QUICK_NS);
	EXPECT_TRUE(!kvnet_moderation_throttle_account(&throttle, now, -1ULL));
	EXPECT_TRUE(!kvnet_moderation_throttle_account(&throttle, now, 1ULL << 63));
	EXPECT_TRUE(!is_throttled());
	EXPECT_EQ(throttle.excess_ns, 0);
	/* Nor does the excess decay. */
	calls(1, KVNET_THROTTLE_LIMIT_NS);
	now -= 500 * SECOND;
	EXPECT_EQ(calls(1, KVNET_THROTTLE_QUICK_NS + MS), 1);
	EXPECT_TRUE(is_throttled());
	/* Nor does the throttle last longer. */
	now += 2000 * SECOND;
	EXPECT_TRUE(!is_throttled());
	calls(1, 100 * MS);
	EXPECT_TRUE(is_throttled());
	now--;
	EXPECT_TRUE(!is_throttled());
}
