// SPDX-License-Identifier: GPL-2.0
/* When softirqs call no more, and for how long. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "moderation.h"
#include "unit.h"

#define MS	1000000ULL
#define SECOND	(1000 * MS)

static struct kvnet_throttle bar;
static u64 now;

static void begin(void)
{
	bar = (struct kvnet_throttle) {};
	now = 1000 * SECOND;
}

static bool is_up(void)
{
	return kvnet_moderation_is_throttled(&bar, now);
}

/* So many, unless there are to be no more; returns how many there were. */
static unsigned int calls(unsigned int n, u64 ns)
{
	unsigned int i;

	for (i = 0; i < n && !is_up(); i++) {
		now += ns;
		EXPECT_TRUE(kvnet_moderation_throttle_account(&bar, now, ns) == is_up());
	}
	return i;
}

CASE(quick_calls_are_for_ever)
{
	begin();
	EXPECT_TRUE(!is_up());
	EXPECT_EQ(calls(1000000, 10000), 1000000);
	EXPECT_EQ(calls(1000000, KVNET_THROTTLE_QUICK_NS), 1000000);
	EXPECT_EQ(bar.excess_ns, 0);
	/* Also at the beginning of time. */
	begin();
	now = 0;
	EXPECT_TRUE(!is_up());
}

/* As soon as they have taken too much together; and once is enough if it is that long. */
CASE(slow_calls_are_not)
{
	begin();
	EXPECT_EQ(calls(1000, KVNET_THROTTLE_QUICK_NS + 2 * MS), 6);
	EXPECT_TRUE(is_up());
	/* Those of which less than 1/32 is too much are paid back meanwhile. */
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

/* Nor if some between them are quick, however many, and whether anybody was called. */
CASE(slow_ones_among_quick_ones)
{
	unsigned int i;

	begin();
	for (i = 0; i < 1000 && !is_up(); i++) {
		calls(9, 0);
		calls(1, 2 * MS);
	}
	EXPECT_EQ(i, 6);
	begin();
	for (i = 0; i < 1000 && !is_up(); i++) {
		calls(1, 8 * MS);
		calls(1000, 1000);
	}
	EXPECT_EQ(i, 2);
}

/* How many there were before that was too much. */
static unsigned int pauses(unsigned int n, u64 every_ns)
{
	unsigned int i;

	begin();
	for (i = 0; i < n && !is_up(); i++) {
		calls(1, KVNET_THROTTLE_QUICK_NS + 8 * MS);
		now += every_ns - KVNET_THROTTLE_QUICK_NS - 8 * MS;
	}
	return i;
}

/* Who is kept from running now and then, for as long as a scheduler may, need not care. */
CASE(a_pause_now_and_then_is_paid_back)
{
	EXPECT_EQ(pauses(1000, 270 * MS), 1000);
	EXPECT_TRUE(!is_up());
	EXPECT_TRUE(pauses(1000, 120 * MS) < 3);
	/* Nothing is paid for ahead. */
	begin();
	calls(1, 0);
	now += 1000 * SECOND;
	EXPECT_EQ(calls(1000, KVNET_THROTTLE_QUICK_NS + 2 * MS), 6);
}

/* A thousand times as long, and then it is forgotten. */
CASE(a_thousandth_of_the_time)
{
	u64 since, slow = 0;
	unsigned int i;

	begin();
	calls(1, KVNET_THROTTLE_QUICK_NS + 20 * MS);
	since = now;
	now = since + 20 * SECOND - 1;
	EXPECT_TRUE(is_up());
	now = since + 20 * SECOND;
	EXPECT_TRUE(!is_up());
	EXPECT_EQ(calls(1, KVNET_THROTTLE_QUICK_NS + KVNET_THROTTLE_LIMIT_NS), 1);
	EXPECT_TRUE(!is_up());

	begin();
	since = now;
	for (i = 0; now - since < 10000 * SECOND; i++, now += i % 7 * MS)
		slow += calls(1, 3 * MS) * 3 * MS;
	EXPECT_TRUE(slow > 0);
	EXPECT_TRUE(slow < 11 * SECOND);
}

/* A host that was stopped meanwhile, for an hour. */
CASE(no_time_is_believed_that_is_absurd)
{
	begin();
	EXPECT_TRUE(kvnet_moderation_throttle_account(&bar, now, 3600 * SECOND));
	EXPECT_TRUE(is_up());
	now += 1000 * SECOND;
	EXPECT_TRUE(!is_up());
	begin();
	calls(1, KVNET_THROTTLE_LIMIT_NS);
	EXPECT_TRUE(kvnet_moderation_throttle_account(&bar, now, (1ULL << 63) - 1));
	now += 999 * SECOND;
	EXPECT_TRUE(is_up());
	now += 20 * SECOND;
	EXPECT_TRUE(!is_up());
}

CASE(a_clock_that_goes_back)
{
	begin();
	calls(1, KVNET_THROTTLE_QUICK_NS);
	EXPECT_TRUE(!kvnet_moderation_throttle_account(&bar, now, -1ULL));
	EXPECT_TRUE(!kvnet_moderation_throttle_account(&bar, now, 1ULL << 63));
	EXPECT_TRUE(!is_up());
	EXPECT_EQ(bar.excess_ns, 0);
	/* Nor does it pay anything back. */
	calls(1, KVNET_THROTTLE_LIMIT_NS);
	now -= 500 * SECOND;
	EXPECT_EQ(calls(1, KVNET_THROTTLE_QUICK_NS + MS), 1);
	EXPECT_TRUE(is_up());
	/* Nor is it any reason to wait. */
	now += 2000 * SECOND;
	EXPECT_TRUE(!is_up());
	calls(1, 100 * MS);
	EXPECT_TRUE(is_up());
	now--;
	EXPECT_TRUE(!is_up());
}
