// SPDX-License-Identifier: GPL-2.0
/* apart.h: when both queues get a thread each, and when they are put together again. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "unit.h"

#include "apart.h"

#define TURN	100000ULL	/* ns */
#define ENOUGH	(KVNET_APART_WORK / TURN)

static struct kvnet_apart p;
static struct kvnet_work done;
static u64 now;

static void begin(void)
{
	kvnet_apart_reset(&p);
	done = (struct kvnet_work) {};
	now = 1ULL << 40;
	p.since_ns = now;
	p.begin_ns = now;
}

/* So many rounds of work of each queue at once, the time that passes beside. */
static bool rounds(unsigned int n, u64 a, u64 b, u64 beside)
{
	bool change = false;

	while (n--) {
		done.both[0] += a;
		done.both[1] += b;
		done.all += a + b;
		now += a + b + beside;
		change |= kvnet_apart_look(&p, now, &done);
	}
	return change;
}

static void part(void)
{
	begin();
	EXPECT_TRUE(rounds(ENOUGH / 2, TURN, TURN, 0));
	kvnet_apart_set(&p, now, true);
}

CASE(both_busy_part)
{
	begin();
	EXPECT_TRUE(!rounds(ENOUGH / 2 - 1, TURN, TURN, 0));
	EXPECT_TRUE(rounds(1, TURN, TURN, 0));
	/* the lesser one has a quarter */
	begin();
	EXPECT_TRUE(rounds(ENOUGH / 4, TURN, 3 * TURN, 0));
	begin();
	EXPECT_TRUE(rounds(ENOUGH / 4, 3 * TURN, TURN, 0));
}

CASE(one_busy_does_not)
{
	unsigned int i;

	begin();
	for (i = 0; i < 1000; i++)
		EXPECT_TRUE(!rounds(1, TURN, TURN / 4, 0));
	begin();
	for (i = 0; i < 1000; i++)
		EXPECT_TRUE(!rounds(1, 0, TURN, 0));
}

/* What comes together once in a while is no reason. */
CASE(little_to_do)
{
	unsigned int i;

	begin();
	for (i = 0; i < 10000; i++)
		EXPECT_TRUE(!rounds(1, TURN, TURN, 2 * KVNET_APART_TIMES * 2 * TURN));
	/* and has been forgotten when there is much */
	now += KVNET_APART_TIMES * KVNET_APART_WORK + 1;
	EXPECT_TRUE(!rounds(1, TURN, TURN, 0));
	EXPECT_TRUE(!rounds(ENOUGH / 2 - 1, TURN, TURN, 0));
	EXPECT_TRUE(rounds(1, TURN, TURN, 0));
}

CASE(not_where_others_wait_for_the_cpu)
{
	unsigned int i;
	bool change = false;

	begin();
	for (i = 0; i < ENOUGH / 2; i++) {
		done.crowded += TURN + 2 * (i % 2);
		change |= rounds(1, TURN, TURN, 0);
	}
	EXPECT_TRUE(!change);
	begin();
	for (i = 0; i < ENOUGH / 2; i++) {
		done.crowded += TURN;
		change |= rounds(1, TURN, TURN, 0);
	}
	EXPECT_TRUE(change);
}

CASE(apart_as_long_as_both_are_busy)
{
	part();
	EXPECT_TRUE(!rounds(10 * ENOUGH, TURN, TURN, 0));
	EXPECT_TRUE(!rounds(10 * ENOUGH, TURN, 7 * TURN, 0));
	/* a pause is no reason */
	now += 3600 * KVNET_APART_LONG;
	EXPECT_TRUE(!rounds(10 * ENOUGH, TURN, TURN, 1000 * TURN));
	EXPECT_TRUE(rounds(ENOUGH, TURN, 9 * TURN, 0));
}

/* By turns: work of both, but not at the same time. */
CASE(together_if_by_turns)
{
	bool change = false;
	unsigned int i;

	part();
	for (i = 0; i < ENOUGH && !change; i++) {
		done.all += TURN;
		now += TURN;
		change = kvnet_apart_look(&p, now, &done);
	}
	EXPECT_TRUE(change);
	EXPECT_EQ(i, ENOUGH);
}

CASE(together_if_crowded)
{
	part();
	done.crowded += KVNET_APART_WORK / 2 + 1;
	EXPECT_TRUE(rounds(ENOUGH / 2, TURN, TURN, 0));
	part();
	done.crowded += KVNET_APART_WORK / 2;
	EXPECT_TRUE(!rounds(ENOUGH / 2, TURN, TURN, 0));
}

/* The time until they part again. */
static u64 parts_after(void)
{
	u64 from = now;

	while (!rounds(1, TURN / 2, TURN / 2, 0))
		if (now - from > 2 * KVNET_APART_WAIT_MAX)
			return ~0ULL;
	kvnet_apart_set(&p, now, true);
	return now - from;
}

CASE(later_each_time_that_it_was_not_worth_it)
{
	u64 last = 0, took = 0;
	unsigned int i;

	part();
	for (i = 0; i < 12; i++) {
		now += KVNET_APART_WAIT_MIN;
		kvnet_apart_set(&p, now, false);
		took = parts_after();
		EXPECT_TRUE(took >= KVNET_APART_WAIT_MIN);
		EXPECT_TRUE(took >= last);
		last = took;
	}
	EXPECT_TRUE(took >= KVNET_APART_WAIT_MAX);
	EXPECT_TRUE(took < KVNET_APART_WAIT_MAX + 10 * KVNET_APART_WORK);
	/* it was, for once */
	now += KVNET_APART_LONG;
	kvnet_apart_set(&p, now, false);
	EXPECT_TRUE(parts_after() < KVNET_APART_WAIT_MIN + 10 * KVNET_APART_WORK);
}

/* One that could not be had, too. */
CASE(later_if_there_is_no_thread)
{
	begin();
	EXPECT_TRUE(rounds(ENOUGH / 2, TURN, TURN, 0));
	kvnet_apart_set(&p, now, false);
	EXPECT_TRUE(parts_after() >= KVNET_APART_WAIT_MIN);
	kvnet_apart_set(&p, now, false);
	EXPECT_TRUE(parts_after() >= 2 * KVNET_APART_WAIT_MIN);
}

/* A clock that goes back makes no decision by itself. */
CASE(the_clock_goes_back)
{
	begin();
	EXPECT_TRUE(!rounds(ENOUGH / 2 - 1, TURN, TURN, 0));
	now -= 50 * KVNET_APART_WORK;
	EXPECT_TRUE(!kvnet_apart_look(&p, now, &done));
	part();
	now -= 50 * KVNET_APART_WORK;
	EXPECT_TRUE(!rounds(10 * ENOUGH, TURN, TURN, 0));
}
