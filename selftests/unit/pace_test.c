// SPDX-License-Identifier: GPL-2.0
/* When the driver is asked for kicks, and when the device looks by itself. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "pace.h"
#include "unit.h"

#define COST	1000	/* of a turn, in ns */

static struct kvnet_pace pace;
static u64 now;
static unsigned long answers;

static void begin(void)
{
	unsigned int i;

	kvnet_pace_reset(&pace);
	now = 1000000000;
	answers = 5;
	/* Far apart: it learns what a turn takes. */
	for (i = 0; i < 100; i++) {
		now += 10000000;
		kvnet_pace_turn(&pace, COST, 1);
		EXPECT_EQ(kvnet_pace_rest(&pace, now, answers), 0);
	}
	EXPECT_TRUE(pace.cost_ns > COST * 9 / 10 && pace.cost_ns <= COST);
}

/* Returns how many kicks there were before the first look. */
static unsigned int kicks_of_stream(u64 gap, unsigned int max)
{
	unsigned int i;

	for (i = 0; i < max; i++) {
		now += gap;
		kvnet_pace_turn(&pace, COST, 1);
		if (kvnet_pace_rest(&pace, now, answers))
			break;
	}
	return i;
}

/* Packets come evenly; returns the longest that one waits. */
static u32 look(u64 gap, unsigned int looks)
{
	u32 delay = pace.delay_ns, most = 0;
	unsigned int i;
	u64 left = 0;

	for (i = 0; i < looks && delay; i++) {
		now += delay;
		left += delay;
		kvnet_pace_turn(&pace, COST, left / gap);
		left %= gap;
		delay = kvnet_pace_rest(&pace, now, answers);
		most = max(most, delay);
	}
	return delay ? most : 0;
}

CASE(lone_packets_are_kicked_for)
{
	begin();
	EXPECT_EQ(kicks_of_stream(COST * 10, 1000), 1000);
}

CASE(a_stream_is_looked_for)
{
	begin();
	EXPECT_TRUE(kicks_of_stream(COST * 3, 1000) < 20);
}

CASE(a_look_finds_some_packets)
{
	begin();
	kicks_of_stream(COST * 2, 100);
	EXPECT_TRUE(look(COST * 2, 1000) > 0);
	EXPECT_TRUE(pace.delay_ns >= COST * 15 && pace.delay_ns <= COST * 32);

	begin();
	kicks_of_stream(COST / 4, 100);
	EXPECT_TRUE(look(COST / 4, 1000) > 0);
	EXPECT_TRUE(pace.delay_ns <= COST * 8);
}

CASE(no_packet_waits_for_long)
{
	u64 gap;

	for (gap = COST / 64 + 1; gap < COST * 8; gap += COST / 64) {
		begin();
		kicks_of_stream(gap, 100);
		EXPECT_TRUE(look(gap, 200) <= COST * 32);
	}
	/* Also if a turn has taken very long. */
	kvnet_pace_reset(&pace);
	for (gap = 0; gap < 100; gap++)
		kvnet_pace_turn(&pace, 1000000000, 1);
	now = 0;
	kicks_of_stream(1000, 100);
	EXPECT_TRUE(pace.delay_ns > 0);
	EXPECT_TRUE(look(1000000, 5) <= 32 * 8000);
}

CASE(a_stream_that_ends_is_kicked_for_again)
{
	begin();
	kicks_of_stream(COST, 100);
	EXPECT_TRUE(pace.delay_ns > 0);
	now += pace.delay_ns;
	kvnet_pace_turn(&pace, COST, 0);
	EXPECT_EQ(kvnet_pace_rest(&pace, now, answers), 0);
	/* And the next packet is a lone one. */
	now += COST;
	kvnet_pace_turn(&pace, COST, 1);
	EXPECT_EQ(kvnet_pace_rest(&pace, now, answers), 0);
}

/* Requests, however fast they are. */
CASE(what_is_answered_is_kicked_for)
{
	unsigned int i;

	begin();
	for (i = 0; i < 1000; i++) {
		now += COST;
		answers++;
		kvnet_pace_turn(&pace, COST, 1);
		EXPECT_EQ(kvnet_pace_rest(&pace, now, answers), 0);
	}
}

/* A stream to which something comes back now and then is one. */
CASE(few_answers_do_not_matter)
{
	unsigned int i, kicks = 0;

	begin();
	for (i = 0; i < 1000; i++) {
		now += COST;
		answers += i % 32 == 0;
		kvnet_pace_turn(&pace, COST, 1);
		kicks += !kvnet_pace_rest(&pace, now, answers);
	}
	EXPECT_TRUE(kicks < 300);
}

CASE(an_answer_to_a_stream_ends_it)
{
	begin();
	kicks_of_stream(COST, 100);
	EXPECT_TRUE(pace.delay_ns > 0);
	now += pace.delay_ns;
	answers += 4;
	kvnet_pace_turn(&pace, COST, 4);
	EXPECT_EQ(kvnet_pace_rest(&pace, now, answers), 0);
}

CASE(long_packets_end_it)
{
	begin();
	kicks_of_stream(COST, 100);
	kvnet_pace_slow(&pace);
	now += COST;
	EXPECT_EQ(kvnet_pace_rest(&pace, now, answers), 0);
}

/* The clock goes back, the counter of answers wraps: no more than a kick too many. */
CASE(strange_numbers)
{
	begin();
	now = 0;
	kvnet_pace_turn(&pace, COST, 1);
	EXPECT_EQ(kvnet_pace_rest(&pace, now, answers), 0);
	answers = 2;
	kvnet_pace_turn(&pace, ~0ULL, ~0U);
	EXPECT_EQ(kvnet_pace_rest(&pace, ~0ULL, answers), 0);
	EXPECT_TRUE(pace.cost_ns <= 8000);
	EXPECT_TRUE(kicks_of_stream(COST, 1000) < 40);
}
