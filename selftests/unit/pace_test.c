// SPDX-License-Identifier: GPL-2.0
/* When the driver is asked for kicks, and when the device looks by itself. */
#include <string.h>

#include <linux/kernel.h>
#include <linux/types.h>

#include "moderation.h"
#include "unit.h"

#define US	1000ULL

static struct kvnet_tx_moderation pace;
static u64 now;
static unsigned long answers;

static struct {
	unsigned int kicks, looks, empty;
	u32 longest, shortest;
} count;

static void begin(void)
{
	kvnet_moderation_tx_reset(&pace);
	now = 1000000000;
	answers = 5;
	memset(&count, 0, sizeof(count));
	count.shortest = ~0U;
}

static unsigned long cost(void)
{
	return ewma_kvnet_ns_read(&pace.inline_ns);
}

/*
 * A guest that makes a packet in 'gap' and takes 'cost' for each kick, and a device
 * that does as it is told, for so many packets; each 'every'th is answered.
 */
static void run(u64 gap, u64 cost, unsigned int packets, unsigned int every)
{
	unsigned int sent = 0, n;
	u64 left = 0;
	u32 delay = 0;

	while (sent < packets) {
		if (delay) {
			now += delay;
			left += delay;
			n = left / gap;
			left %= gap;
			count.looks++;
			count.empty += !n;
		} else {
			now += gap + cost;
			left = 0;
			n = 1;
			count.kicks++;
		}
		if (every)
			answers += (sent + n) / every - sent / every;
		sent += n;
		kvnet_moderation_tx_note_sent(&pace, n, 0);
		delay = kvnet_moderation_tx_update(&pace, now, answers);
		count.longest = max(count.longest, delay);
		if (delay)
			count.shortest = min(count.shortest, delay);
	}
}

CASE(lone_packets_are_kicked_for)
{
	begin();
	run(60000 * US, 0, 1000, 0);
	EXPECT_EQ(count.kicks, 1000);
	EXPECT_EQ(count.looks, 0);
}

/* On silicon, and where an exit costs a hundred times as much. */
CASE(a_guest_that_kicks_cost_much_is_looked_after)
{
	begin();
	run(1 * US, 3 * US, 100000, 0);
	EXPECT_TRUE(count.kicks <= 17);
	EXPECT_TRUE(count.longest <= 20 * US);
	begin();
	run(25 * US, 30 * US, 100000, 0);
	EXPECT_TRUE(count.kicks <= 17);
	EXPECT_TRUE(100000 / count.looks >= 8);
	begin();
	run(50 * US, 500 * US, 100000, 0);
	EXPECT_TRUE(count.kicks <= 17);
	EXPECT_TRUE(100000 / count.looks >= 4);
}

CASE(a_look_finds_some_packets_and_not_too_many)
{
	u64 gap;

	for (gap = 50; gap < 20 * US; gap += 50) {
		begin();
		run(gap, 3 * gap, 50000, 0);
		EXPECT_TRUE(50000 / count.looks >= 7);
		/* Of more than sixty-four kicks take a part. */
		EXPECT_TRUE(50000 / count.looks <= 120);
		EXPECT_TRUE(count.shortest >= 5 * US);
	}
}

/* Kicks cost it next to nothing: it is tried now and then, and no more. */
CASE(a_guest_that_kicks_cost_little_is_not)
{
	u64 gap;

	for (gap = 3 * US; gap < 2000 * US; gap += gap / 3) {
		begin();
		run(gap, gap / 10, 20000, 0);
		EXPECT_TRUE(count.looks < 40);
		EXPECT_TRUE(count.kicks > 19000);
	}
}

/* It is tried for ever, if seldom: what kicks cost may change. */
CASE(a_guest_that_kicks_cost_more_by_now_is_looked_after)
{
	begin();
	run(10 * US, US, 100000, 0);
	EXPECT_TRUE(count.kicks > 99000);
	count.kicks = 0;
	run(1 * US, 3 * US, 100000, 0);
	EXPECT_TRUE(count.kicks < 1100);
}

CASE(a_guest_that_has_become_fast_is_looked_after_sooner)
{
	begin();
	run(50 * US, 500 * US, 1000, 0);
	EXPECT_TRUE(pace.delay_ns > 100 * US);
	run(100, 300, 100000, 0);
	EXPECT_TRUE(pace.delay_ns < 20 * US);
	EXPECT_TRUE(count.shortest >= 5 * US);
}

/* A guest that sends so many at a time, and then waits until they are sent. */
static unsigned int bulk(unsigned int each, unsigned int times)
{
	unsigned int looks = 0;
	u32 delay;

	while (times--) {
		now += 300 * each;
		kvnet_moderation_tx_note_sent(&pace, each, 0);
		delay = kvnet_moderation_tx_update(&pace, now, answers);
		looks += !!delay;
		now += max(delay, (u32)(30 * US));
	}
	return looks;
}

CASE(a_kick_for_many_needs_no_look)
{
	begin();
	EXPECT_EQ(bulk(1024, 1000), 0);
	EXPECT_EQ(bulk(64, 1000), 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&pace), 0);
	EXPECT_TRUE(bulk(63, 1000) > 0);
}

/* It was looked after while it kicked for each; now a look comes when it has waited. */
CASE(what_has_become_bulk_is_kicked_for)
{
	begin();
	run(25 * US, 30 * US, 1000, 0);
	EXPECT_TRUE(pace.delay_ns > 0);
	EXPECT_TRUE(bulk(1024, 1000) < 10);
	EXPECT_EQ(pace.delay_ns, 0);
}

CASE(a_lone_packet_ends_a_streak)
{
	begin();
	run(10 * US, 100 * US, 10, 0);
	run(60000 * US, 0, 1, 0);
	run(10 * US, 100 * US, 10, 0);
	EXPECT_EQ(count.looks, 0);
	EXPECT_EQ(pace.delay_ns, 0);
}

CASE(no_packet_waits_for_long)
{
	u64 gap;

	for (gap = 10; gap < 3000 * US; gap += gap / 4 + 1) {
		begin();
		run(gap, 10 * gap, 3000, 0);
		EXPECT_TRUE(count.longest <= 250 * US);
	}
}

CASE(a_stream_that_ends_is_kicked_for_again)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	EXPECT_TRUE(pace.delay_ns > 0);
	/* Nothing once may be by chance. */
	now += pace.delay_ns;
	EXPECT_TRUE(kvnet_moderation_tx_update(&pace, now, answers) > 0);
	now += pace.delay_ns;
	EXPECT_EQ(kvnet_moderation_tx_update(&pace, now, answers), 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&pace), 0);
	/* And the next packet is a lone one. */
	now += 100;
	kvnet_moderation_tx_note_sent(&pace, 1, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&pace, now, answers), 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&pace), 0);
}

/* Requests, however fast they are. */
CASE(a_guest_that_waits_for_each_packet_is_kicked_for)
{
	unsigned int i, looks = 0;
	u32 delay = 0;

	begin();
	for (i = 0; i < 2000; i++) {
		now += max(delay, (u32)(500 * US) - delay);
		kvnet_moderation_tx_note_sent(&pace, 1, 0);
		delay = kvnet_moderation_tx_update(&pace, now, answers);
		looks += !!delay;
	}
	EXPECT_TRUE(looks < 40);
}

CASE(what_is_answered_is_kicked_for)
{
	begin();
	run(1 * US, 3 * US, 10000, 1);
	EXPECT_EQ(count.looks, 0);
	begin();
	run(1 * US, 3 * US, 10000, 6);
	EXPECT_EQ(count.looks, 0);
}

/* A stream to which something comes back now and then is one. */
CASE(few_answers_do_not_matter)
{
	begin();
	run(1 * US, 3 * US, 10000, 64);
	EXPECT_TRUE(count.kicks < 1000);
}

CASE(an_answer_to_a_stream_ends_it)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	EXPECT_TRUE(pace.delay_ns > 0);
	now += pace.delay_ns;
	answers += 4;
	kvnet_moderation_tx_note_sent(&pace, 8, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&pace, now, answers), 0);
}

/* However many they are. */
CASE(very_many_answers_to_a_stream_end_it)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	now += pace.delay_ns;
	answers += 1UL << 32;
	kvnet_moderation_tx_note_sent(&pace, 8, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&pace, now, answers), 0);
}

CASE(long_packets_end_it)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	kvnet_moderation_tx_note_sent(&pace, 2, 2 * KVNET_MODERATION_SHORT_LEN + 1);
	now += US;
	EXPECT_EQ(kvnet_moderation_tx_update(&pace, now, answers), 0);
}

/* A kick for nothing is none. */
CASE(kicks_without_packets)
{
	unsigned int i;

	begin();
	for (i = 0; i < 1000; i++)
		EXPECT_EQ(kvnet_moderation_tx_update(&pace, ++now, answers), 0);
	EXPECT_EQ(pace.stream_packets, 0);
}

/* Also where looking is of no use it is not for the thread that kicks. */
CASE(a_stream_is_one_when_looking_was_of_no_use)
{
	unsigned int i, lone = 0;

	begin();
	for (i = 0; i < 1000; i++) {
		run(10 * US, 0, 1, 0);
		lone += !kvnet_moderation_tx_is_stream(&pace) && !pace.delay_ns;
	}
	EXPECT_TRUE(lone < 20);
	answers += 1000;
	run(10 * US, 0, 1, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&pace), 0);
}

/* Kicked for, one by one, by a guest that has time for it. */
CASE(packets_far_apart_are_no_stream)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		begin();
		kvnet_moderation_note_inline(&pace.inline_ns, 1000);
		run(KVNET_TX_MOD_GAP_FACTOR * 1000 - i, 0, 15, 0);
		pace.stream_threshold = 1024;
		run(KVNET_TX_MOD_GAP_FACTOR * 1000 - i, 0, 100, 0);
		EXPECT_EQ(kvnet_moderation_tx_is_stream(&pace), i);
	}
}

/* They may become a stream, and it does not take many to tell. */
CASE(packets_that_come_closer_are_a_stream)
{
	begin();
	kvnet_moderation_note_inline(&pace.inline_ns, 1000);
	pace.stream_threshold = 1024;
	run(2 * KVNET_TX_MOD_GAP_FACTOR * 1000, 0, 100, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&pace), 0);
	run(1000, 0, 20, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&pace), 1);
}

/* One that is looked after already is not kicked for. */
CASE(a_guest_that_is_looked_after_does_not_kick)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	EXPECT_TRUE(pace.delay_ns > 0);
	EXPECT_TRUE(pace.stream_packets >= KVNET_TX_MOD_STREAM);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&pace), 0);
}

/* What a packet costs is what some have cost, and no time is believed that is absurd. */
CASE(cost_is_learnt)
{
	unsigned int i;

	begin();
	kvnet_moderation_note_inline(&pace.inline_ns, 8000);
	kvnet_moderation_note_inline(&pace.inline_ns, 16000);
	EXPECT_EQ(cost(), 9000);
	for (i = 0; i < 100; i++)
		kvnet_moderation_note_inline(&pace.inline_ns, 16000);
	EXPECT_EQ(cost(), 15999);
	begin();
	EXPECT_EQ(cost(), 0);
	kvnet_moderation_note_inline(&pace.inline_ns, (1ULL << 32) + 1);
	EXPECT_EQ(cost(), 1000000);
}

/* The clock goes back, counters wrap: no more than a kick too many. */
CASE(strange_numbers)
{
	begin();
	run(1 * US, 3 * US, 10, 0);
	now = 0;
	kvnet_moderation_tx_note_sent(&pace, 1, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&pace, now, answers), 0);
	answers = 2;
	kvnet_moderation_tx_note_sent(&pace, ~0U, 0);
	EXPECT_TRUE(kvnet_moderation_tx_update(&pace, ~0ULL, answers) <= 250 * US);
	EXPECT_TRUE(kvnet_moderation_tx_update(&pace, 5, answers) <= 250 * US);
	begin();
	run(1 * US, 3 * US, 100000, 0);
	EXPECT_TRUE(count.kicks <= 17);
}
