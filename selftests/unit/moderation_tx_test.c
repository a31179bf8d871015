// SPDX-License-Identifier: GPL-2.0
/* When kicks stay suppressed and a timer polls the ring; which calls are deferred for how long. */
#include <string.h>

#include <linux/kernel.h>
#include <linux/types.h>

#include "moderation.h"
#include "unit.h"

#define US	1000ULL

static struct kvnet_tx_moderation m;
static u64 now;
static unsigned long replies;

static struct {
	unsigned int kicks, polls, empty;
	u32 longest, shortest;
} count;

static void begin(void)
{
	kvnet_moderation_tx_reset(&m);
	now = 1000000000;
	replies = 5;
	memset(&count, 0, sizeof(count));
	count.shortest = ~0U;
}

/*
 * A guest that needs @gap for a packet and @cost for each kick sends so many packets, and the
 * device does as moderation says. Each @every'th packet has a reply.
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
			count.polls++;
			count.empty += !n;
		} else {
			now += gap + cost;
			left = 0;
			n = 1;
			count.kicks++;
		}
		if (every)
			replies += (sent + n) / every - sent / every;
		sent += n;
		kvnet_moderation_tx_note_sent(&m, n, 0);
		delay = kvnet_moderation_tx_update(&m, now, replies);
		count.longest = max(count.longest, delay);
		if (delay)
			count.shortest = min(count.shortest, delay);
	}
}

CASE(single_packets_are_not_moderated)
{
	begin();
	run(60000 * US, 0, 1000, 0);
	EXPECT_EQ(count.kicks, 1000);
	EXPECT_EQ(count.polls, 0);
}

/* On hardware, and on a host where an exit costs a hundred times as much. */
CASE(expensive_kicks_are_moderated)
{
	begin();
	run(1 * US, 3 * US, 100000, 0);
	EXPECT_TRUE(count.kicks <= 17);
	EXPECT_TRUE(count.longest <= 20 * US);
	begin();
	run(25 * US, 30 * US, 100000, 0);
	EXPECT_TRUE(count.kicks <= 17);
	EXPECT_TRUE(100000 / count.polls >= 8);
	begin();
	run(50 * US, 500 * US, 100000, 0);
	EXPECT_TRUE(count.kicks <= 17);
	EXPECT_TRUE(100000 / count.polls >= 4);
}

CASE(poll_by_timer_finds_7_to_120_packets)
{
	u64 gap;

	for (gap = 50; gap < 20 * US; gap += 50) {
		begin();
		run(gap, 3 * gap, 50000, 0);
		EXPECT_TRUE(50000 / count.polls >= 7);
		/* Above 64 packets the delay halves. */
		EXPECT_TRUE(50000 / count.polls <= 120);
		EXPECT_TRUE(count.shortest >= 5 * US);
	}
}

/* Moderation is tried now and then, and no more. */
CASE(cheap_kicks_are_not_moderated)
{
	u64 gap;

	for (gap = 3 * US; gap < 2000 * US; gap += gap / 3) {
		begin();
		run(gap, gap / 10, 20000, 0);
		EXPECT_TRUE(count.polls < 40);
		EXPECT_TRUE(count.kicks > 19000);
	}
}

/* Trials go on, if seldom: what kicks cost may change. */
CASE(kicks_that_become_expensive_are_moderated)
{
	begin();
	run(10 * US, US, 100000, 0);
	EXPECT_TRUE(count.kicks > 99000);
	count.kicks = 0;
	run(1 * US, 3 * US, 100000, 0);
	EXPECT_TRUE(count.kicks < 1100);
}

CASE(faster_stream_shortens_the_delay)
{
	begin();
	run(50 * US, 500 * US, 1000, 0);
	EXPECT_TRUE(m.delay_ns > 100 * US);
	run(100, 300, 100000, 0);
	EXPECT_TRUE(m.delay_ns < 20 * US);
	EXPECT_TRUE(count.shortest >= 5 * US);
}

/* A guest that sends so many at a time, and then waits until they are sent. */
static unsigned int bulk(unsigned int each, unsigned int times)
{
	unsigned int polls = 0;
	u32 delay;

	while (times--) {
		now += 300 * each;
		kvnet_moderation_tx_note_sent(&m, each, 0);
		delay = kvnet_moderation_tx_update(&m, now, replies);
		polls += !!delay;
		now += max(delay, (u32)(30 * US));
	}
	return polls;
}

CASE(bulk_is_not_moderated)
{
	begin();
	EXPECT_EQ(bulk(1024, 1000), 0);
	EXPECT_EQ(bulk(64, 1000), 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 0);
	EXPECT_TRUE(bulk(63, 1000) > 0);
}

/* It was moderated while it kicked for each packet; now the timer would only delay it. */
CASE(stream_that_becomes_bulk_enables_kicks)
{
	begin();
	run(25 * US, 30 * US, 1000, 0);
	EXPECT_TRUE(m.delay_ns > 0);
	EXPECT_TRUE(bulk(1024, 1000) < 10);
	EXPECT_EQ(m.delay_ns, 0);
}

CASE(single_packet_ends_a_stream)
{
	begin();
	run(10 * US, 100 * US, 10, 0);
	run(60000 * US, 0, 1, 0);
	run(10 * US, 100 * US, 10, 0);
	EXPECT_EQ(count.polls, 0);
	EXPECT_EQ(m.delay_ns, 0);
}

/* Also after a pause whose ns do not fit into 32 bits. */
CASE(packet_after_a_long_pause_is_no_part_of_the_stream_before)
{
	begin();
	run(10 * US, 0, KVNET_TX_MOD_STREAM, 0);
	run(5000000 * US, 0, 1, 0);
	EXPECT_EQ(m.delay_ns, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 0);
}

CASE(delay_after_a_pause_follows_the_new_gap)
{
	begin();
	run(40 * US, 0, 10, 0);
	run(60000 * US, 0, 1, 0);
	run(4 * US, 0, KVNET_TX_MOD_STREAM, 0);
	EXPECT_EQ(m.delay_ns, 8 * US);
}

CASE(delay_of_polls_that_find_few_packets_doubles)
{
	begin();
	run(25 * US, 30 * US, 1 + KVNET_TX_MOD_STREAM, 0);
	EXPECT_EQ(m.delay_ns, 2 * 55 * US);
	now += m.delay_ns;
	kvnet_moderation_tx_note_sent(&m, 5, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&m, now, replies), 4 * 55 * US);
}

CASE(delay_is_bounded)
{
	u64 gap;

	for (gap = 10; gap < 3000 * US; gap += gap / 4 + 1) {
		begin();
		run(gap, 10 * gap, 3000, 0);
		EXPECT_TRUE(count.longest <= 250 * US);
	}
}

CASE(stream_that_ends_enables_kicks)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	EXPECT_TRUE(m.delay_ns > 0);
	/* One poll without packets may be by chance. */
	now += m.delay_ns;
	EXPECT_TRUE(kvnet_moderation_tx_update(&m, now, replies) > 0);
	now += m.delay_ns;
	EXPECT_EQ(kvnet_moderation_tx_update(&m, now, replies), 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 0);
	/* The next packet is a single one. */
	now += 100;
	kvnet_moderation_tx_note_sent(&m, 1, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&m, now, replies), 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 0);
}

CASE(guest_that_waits_for_each_packet_is_not_moderated)
{
	unsigned int i, polls = 0;
	u32 delay = 0;

	begin();
	for (i = 0; i < 2000; i++) {
		now += max(delay, (u32)(500 * US) - delay);
		kvnet_moderation_tx_note_sent(&m, 1, 0);
		delay = kvnet_moderation_tx_update(&m, now, replies);
		polls += !!delay;
	}
	EXPECT_TRUE(polls < 40);
}

CASE(requests_are_not_moderated)
{
	begin();
	run(1 * US, 3 * US, 10000, 1);
	EXPECT_EQ(count.polls, 0);
	begin();
	run(1 * US, 3 * US, 10000, 6);
	EXPECT_EQ(count.polls, 0);
}

CASE(stream_with_few_replies_is_moderated)
{
	begin();
	run(1 * US, 3 * US, 10000, 64);
	EXPECT_TRUE(count.kicks < 1000);
}

CASE(reply_ends_moderation)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	EXPECT_TRUE(m.delay_ns > 0);
	now += m.delay_ns;
	replies += 4;
	kvnet_moderation_tx_note_sent(&m, 8, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&m, now, replies), 0);
}

CASE(very_many_replies_end_moderation)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	now += m.delay_ns;
	replies += 1UL << 32;
	kvnet_moderation_tx_note_sent(&m, 8, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&m, now, replies), 0);
}

CASE(long_packets_end_moderation)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	kvnet_moderation_tx_note_sent(&m, 2, 2 * KVNET_MODERATION_SHORT_LEN + 1);
	now += US;
	EXPECT_EQ(kvnet_moderation_tx_update(&m, now, replies), 0);
}

CASE(long_packet_is_no_part_of_the_stream_after)
{
	begin();
	run(10 * US, 0, 1, 0);
	now += 10 * US;
	kvnet_moderation_tx_note_sent(&m, 1, KVNET_MODERATION_SHORT_LEN + 1);
	EXPECT_EQ(kvnet_moderation_tx_update(&m, now, replies), 0);
	run(10 * US, 0, KVNET_TX_MOD_STREAM - 1, 0);
	EXPECT_EQ(m.delay_ns, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 0);
}

CASE(kicks_without_packets_do_not_count)
{
	unsigned int i;

	begin();
	for (i = 0; i < 1000; i++)
		EXPECT_EQ(kvnet_moderation_tx_update(&m, ++now, replies), 0);
	EXPECT_EQ(m.stream_packets, 0);
}

/* Then the worker sends it, and not the kicking vCPU thread. */
CASE(failed_moderation_leaves_a_stream)
{
	unsigned int i, single = 0;

	begin();
	for (i = 0; i < 1000; i++) {
		run(10 * US, 0, 1, 0);
		single += !kvnet_moderation_tx_is_stream(&m) && !m.delay_ns;
	}
	EXPECT_TRUE(single < 20);
	replies += 1000;
	run(10 * US, 0, 1, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 0);
}

CASE(packets_far_apart_are_no_stream)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		begin();
		kvnet_moderation_note_inline(&m.inline_ns, 1000);
		run(KVNET_TX_MOD_GAP_FACTOR * 1000 - i, 0, 15, 0);
		m.stream_threshold = 1024;
		run(KVNET_TX_MOD_GAP_FACTOR * 1000 - i, 0, 100, 0);
		EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), i);
	}
}

/* Without a measured poll each gap is one of a stream. */
CASE(reset_forgets_the_cost_of_inline_polls)
{
	begin();
	kvnet_moderation_note_inline(&m.inline_ns, 1000);
	begin();
	m.stream_threshold = 1024;
	run(2 * KVNET_TX_MOD_GAP_FACTOR * 1000, 0, 100, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 1);
}

CASE(cost_of_an_inline_poll_counts_as_a_millisecond_at_most)
{
	begin();
	kvnet_moderation_note_inline(&m.inline_ns, 1ULL << 30);
	EXPECT_EQ(ewma_kvnet_ns_read(&m.inline_ns), 1000 * US);
}

/* It does not take many of them. */
CASE(packets_that_come_closer_are_a_stream)
{
	begin();
	kvnet_moderation_note_inline(&m.inline_ns, 1000);
	m.stream_threshold = 1024;
	run(2 * KVNET_TX_MOD_GAP_FACTOR * 1000, 0, 100, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 0);
	run(1000, 0, 20, 0);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 1);
}

/* The timer's vCPU thread may send them. */
CASE(moderated_packets_are_no_stream)
{
	begin();
	run(1 * US, 3 * US, 1000, 0);
	EXPECT_TRUE(m.delay_ns > 0);
	EXPECT_TRUE(m.stream_packets >= KVNET_TX_MOD_STREAM);
	EXPECT_EQ(kvnet_moderation_tx_is_stream(&m), 0);
}

/* Also counters that wrap. */
CASE(clock_that_goes_back_costs_few_kicks)
{
	begin();
	run(1 * US, 3 * US, 10, 0);
	now = 0;
	kvnet_moderation_tx_note_sent(&m, 1, 0);
	EXPECT_EQ(kvnet_moderation_tx_update(&m, now, replies), 0);
	replies = 2;
	kvnet_moderation_tx_note_sent(&m, ~0U, 0);
	EXPECT_TRUE(kvnet_moderation_tx_update(&m, ~0ULL, replies) <= 250 * US);
	EXPECT_TRUE(kvnet_moderation_tx_update(&m, 5, replies) <= 250 * US);
	begin();
	run(1 * US, 3 * US, 100000, 0);
	EXPECT_TRUE(count.kicks <= 17);
}

/* tx-usecs, in ns */
#define TX_USECS_NS	400000

/* Of @n polls, how many deferred their call; each call ends as said. */
static unsigned int deferred(struct kvnet_tx_moderation *d, unsigned int n, bool by_timer)
{
	unsigned int calls = 0;

	while (n--) {
		if (!kvnet_moderation_tx_may_defer(d))
			continue;
		calls++;
		kvnet_moderation_tx_note_call(d, by_timer);
	}
	return calls;
}

CASE(calls_not_needed_stay_deferred)
{
	struct kvnet_tx_moderation d = {};

	EXPECT_EQ(deferred(&d, 1000, false), 1000);
}

/* A driver that waits for each call has to wait for few. */
CASE(late_calls_stop_deferring_but_for_trials)
{
	struct kvnet_tx_moderation d = {};

	EXPECT_EQ(deferred(&d, KVNET_TX_MOD_LATE_MAX, true), KVNET_TX_MOD_LATE_MAX);
	EXPECT_EQ(deferred(&d, 10 * KVNET_TX_MOD_RETRY, true), 10);
	EXPECT_EQ(deferred(&d, KVNET_TX_MOD_RETRY - 1, true), 0);
}

CASE(trial_that_works_resumes_deferring)
{
	struct kvnet_tx_moderation d = {};

	deferred(&d, 1000, true);
	EXPECT_TRUE(deferred(&d, 1000, false) > 1000 - KVNET_TX_MOD_RETRY);
}

CASE(alternating_calls_stay_deferred)
{
	struct kvnet_tx_moderation d = {};
	unsigned int i, calls = 0;

	for (i = 0; i < 1000; i++)
		calls += deferred(&d, 1, i & 1);
	EXPECT_EQ(calls, 1000);
}

/* Further packets do not extend it; the next call has its own. */
CASE(call_delay_is_bounded_since_the_first_timer)
{
	struct kvnet_tx_moderation d = {};

	now = 1ULL << 40;
	ewma_kvnet_ns_add(&d.gap_ns, TX_USECS_NS);
	kvnet_moderation_tx_note_deferred(&d);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now, TX_USECS_NS), TX_USECS_NS);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now, TX_USECS_NS), TX_USECS_NS);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + TX_USECS_NS - 1, TX_USECS_NS), 1);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + TX_USECS_NS, TX_USECS_NS), 0);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + (1ULL << 33), TX_USECS_NS), 0);
	/* The clock goes back; tx-usecs is lowered. */
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now - 1, TX_USECS_NS), 0);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + 100, 1000), 900);
	kvnet_moderation_tx_note_deferred(&d);
	now += 5 * TX_USECS_NS;
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now, TX_USECS_NS), TX_USECS_NS);
	EXPECT_EQ(kvnet_moderation_tx_call_delay(&d, now + 1000, TX_USECS_NS), TX_USECS_NS - 1000);
}

static u32 delay_after_gap(u32 gap, u32 max)
{
	struct kvnet_tx_moderation d = {};

	ewma_kvnet_ns_add(&d.gap_ns, gap);
	return kvnet_moderation_tx_call_delay(&d, 1ULL << 40, max);
}

CASE(call_delay_is_four_gaps)
{
	u32 gap;

	EXPECT_EQ(delay_after_gap(0, TX_USECS_NS), KVNET_TX_MOD_GAPS * KVNET_TX_MOD_GAP_MIN_NS);
	EXPECT_EQ(delay_after_gap(KVNET_TX_MOD_GAP_MIN_NS - 1, TX_USECS_NS),
		  KVNET_TX_MOD_GAPS * KVNET_TX_MOD_GAP_MIN_NS);
	EXPECT_EQ(delay_after_gap(3 * KVNET_TX_MOD_GAP_MIN_NS, TX_USECS_NS),
		  3 * KVNET_TX_MOD_GAPS * KVNET_TX_MOD_GAP_MIN_NS);
	/* The longest gap of a stream. */
	EXPECT_EQ(delay_after_gap(50000000, TX_USECS_NS), TX_USECS_NS);
	for (gap = 0; gap < 1000000; gap += 777) {
		EXPECT_TRUE(delay_after_gap(gap, TX_USECS_NS) <= TX_USECS_NS);
		EXPECT_EQ(delay_after_gap(gap, 1000), 1000);
	}
}
