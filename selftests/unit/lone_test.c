// SPDX-License-Identifier: GPL-2.0
/* Which frames are lone ones. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "moderation.h"
#include "unit.h"

/* Of a stream, frames that are so far apart are not. */
#define APART	(KVNET_RX_MOD_GAP_MIN_NS + KVNET_RX_MOD_BACKOFF_NS)

/* As long as anybody waits. */
#define LONG	100000

static struct kvnet_rx_moderation lone;
static unsigned long answers;
static u64 now;

static void begin(void)
{
	kvnet_moderation_rx_reset(&lone);
	now = 1000000000;
	answers = 0;
}

static unsigned long lone_cost(void)
{
	return ewma_kvnet_ns_read(&lone.inline_ns);
}

static void turns(unsigned int n, u64 gap, unsigned int frames, bool small)
{
	while (n--) {
		now += gap;
		kvnet_moderation_rx_update(&lone, now, frames, small, answers);
	}
}

CASE(lone_at_first_and_as_long_as_they_are)
{
	begin();
	EXPECT_TRUE(lone.latency_mode);
	turns(1000, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	EXPECT_TRUE(lone.latency_mode);
	turns(1000, KVNET_RX_MOD_GAP_MIN_NS, KVNET_RX_MOD_FEW_FRAMES, true);
	EXPECT_TRUE(lone.latency_mode);
}

CASE(a_stream_is_found_out)
{
	begin();
	turns(KVNET_RX_MOD_POLLS + 1, KVNET_RX_MOD_GAP_MIN_NS - 1, 1, true);
	EXPECT_TRUE(!lone.latency_mode);
	begin();
	turns(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS, KVNET_RX_MOD_FEW_FRAMES + 1, true);
	EXPECT_TRUE(!lone.latency_mode);
	begin();
	turns(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS, 1, false);
	EXPECT_TRUE(!lone.latency_mode);
	/* One that the guest has no buffers for. */
	begin();
	turns(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS, 0, false);
	EXPECT_TRUE(!lone.latency_mode);
}

/* One burst among requests is no stream, and one pause in a stream is no end. */
CASE(it_takes_some_to_believe)
{
	unsigned int i;

	begin();
	for (i = 0; i < 100; i++) {
		turns(KVNET_RX_MOD_POLLS - 1, 1, 1, true);
		EXPECT_TRUE(lone.latency_mode);
		turns(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	}
	turns(KVNET_RX_MOD_POLLS, 1, 1, true);
	for (i = 0; i < 100; i++) {
		EXPECT_TRUE(!lone.latency_mode);
		turns(KVNET_RX_MOD_POLLS - 1, APART, 1, true);
		EXPECT_TRUE(!lone.latency_mode);
		turns(KVNET_RX_MOD_POLLS, 1, 1, true);
	}
	turns(KVNET_RX_MOD_POLLS, APART, 1, true);
	EXPECT_TRUE(lone.latency_mode);
}

/* Its frames are found when the tap has been left alone for long enough: no sign of its end. */
CASE(a_stream_is_left_alone_for_a_while)
{
	begin();
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&lone, now));
	turns(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	EXPECT_TRUE(!kvnet_moderation_rx_should_poll(&lone, now));
	EXPECT_TRUE(!kvnet_moderation_rx_should_poll(&lone, now + KVNET_RX_MOD_BACKOFF_NS - 1));
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&lone, now + KVNET_RX_MOD_BACKOFF_NS));
	/* A clock that goes back does not keep anybody waiting. */
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&lone, now - 1));
	turns(1000, APART - 1, 1, true);
	EXPECT_TRUE(!lone.latency_mode);
	turns(KVNET_RX_MOD_POLLS, APART, 1, true);
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&lone, now));
}

static bool may_wait(void)
{
	return kvnet_moderation_rx_coalesce(&lone, now, LONG, 1000);
}

/* Not the first ones; and who is woken now looks at those that come now. */
CASE(frames_of_a_stream_may_wait)
{
	unsigned int i;

	begin();
	for (i = 0; i <= KVNET_RX_MOD_POLLS; i++) {
		EXPECT_TRUE(!may_wait());
		turns(1, 1, 1, true);
	}
	EXPECT_TRUE(may_wait());
	for (i = 0; i < 100; i++) {
		turns(1, LONG, 32, true);
		EXPECT_TRUE(may_wait());
	}
	EXPECT_TRUE(!lone.latency_mode);
}

static unsigned int turns_until_it_may(void)
{
	unsigned int n;

	for (n = 0; n < 1000 && !may_wait(); n++)
		turns(1, 1, 1, true);
	return n;
}

/* One that is long, or answered, and those that come next may be of something else. */
CASE(not_those_of_others)
{
	begin();
	turns(1000, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	EXPECT_TRUE(!may_wait());
	turns(1000, 1, 32, false);
	EXPECT_TRUE(!may_wait());
	EXPECT_EQ(turns_until_it_may(), KVNET_RX_MOD_POLLS + 1);
	turns(1, 1, 1, false);
	EXPECT_EQ(turns_until_it_may(), KVNET_RX_MOD_POLLS + 1);
	/* The guest has sent something. */
	answers++;
	turns(1, 1, 32, true);
	EXPECT_EQ(turns_until_it_may(), KVNET_RX_MOD_POLLS + 1);
	turns(1, 1, 32, true);
	EXPECT_TRUE(may_wait());
	/* It is over. */
	turns(1, LONG, 0, true);
	EXPECT_TRUE(!may_wait());
}

/* Who has spun for as long has waited; and a clock that goes back is no reason to. */
CASE(nobody_waits_twice)
{
	begin();
	turns(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	EXPECT_TRUE(kvnet_moderation_rx_coalesce(&lone, now + LONG - 1, LONG, 1000));
	EXPECT_TRUE(!kvnet_moderation_rx_coalesce(&lone, now + LONG, LONG, 1000));
	EXPECT_TRUE(!kvnet_moderation_rx_coalesce(&lone, now - 1, LONG, 1000));
	EXPECT_TRUE(!kvnet_moderation_rx_coalesce(&lone, now, 0, 1000));
}

/* Else the tap drops the others, and tells nobody. */
CASE(no_more_wait_than_there_is_room_for)
{
	unsigned int room;

	begin();
	turns(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	for (room = 0; room < 1000; room++)
		EXPECT_EQ(kvnet_moderation_rx_coalesce(&lone, now, LONG, room),
			  room < 128 ? room / 4 : 32);
	EXPECT_EQ(kvnet_moderation_rx_coalesce(&lone, now, LONG, ~0U), 32);
	/* None have waited: they have come together. */
	turns(1, 1, 1, true);
	for (room = 0; room < KVNET_RX_MOD_POLLS; room++) {
		lone.may_coalesce = true;
		EXPECT_EQ(kvnet_moderation_rx_coalesce(&lone, now, LONG, 3), 0);
		turns(1, 8 * APART, 8, true);
	}
	EXPECT_TRUE(!lone.latency_mode);
}

/* Each time that it was for too few it is tried later; once for some, and all is forgotten. */
CASE(waits_for_nothing_are_fewer_and_fewer)
{
	unsigned int i, n, most = 0;

	begin();
	turns(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	for (i = 0; i < 12; i++) {
		n = turns_until_it_may();
		EXPECT_TRUE(n >= most && n <= 300);
		EXPECT_TRUE(i < 2 || i > 7 || n > most);
		most = n;
		/* Nothing, or next to nothing. */
		turns(1, LONG, i % 2 ? KVNET_RX_MOD_FEW_FRAMES : 0, true);
		EXPECT_TRUE(!may_wait());
	}
	EXPECT_TRUE(most >= 200);
	/* Nor sooner for an answer, or a long one. */
	answers++;
	turns(1, 1, 8, true);
	turns(1, 1, 8, false);
	EXPECT_TRUE(turns_until_it_may() >= 200);
	turns(1, LONG, 0, true);
	EXPECT_TRUE(turns_until_it_may() < 300);
	turns(1, 1, KVNET_RX_MOD_FEW_FRAMES + 1, true);
	EXPECT_TRUE(may_wait());
	turns(1, LONG, 0, true);
	EXPECT_TRUE(turns_until_it_may() <= 3);
}

/* Those that have waited need not have come together; and a stream that has become slow ends. */
CASE(far_apart_while_nobody_looked)
{
	unsigned int i;

	begin();
	turns(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	for (i = 0; i < 100; i++) {
		EXPECT_TRUE(may_wait());
		turns(1, 8 * (KVNET_RX_MOD_GAP_MIN_NS - 1), 8, true);
	}
	EXPECT_TRUE(!lone.latency_mode);
	for (i = 0; i < KVNET_RX_MOD_POLLS; i++) {
		EXPECT_TRUE(!lone.latency_mode);
		lone.may_coalesce = true;
		EXPECT_TRUE(may_wait());
		turns(1, 8 * KVNET_RX_MOD_GAP_MIN_NS, 8, true);
	}
	EXPECT_TRUE(lone.latency_mode);
	EXPECT_TRUE(!may_wait());
	/* Those after them have not waited. */
	begin();
	turns(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	EXPECT_TRUE(may_wait());
	turns(1, 1, 8, true);
	turns(KVNET_RX_MOD_POLLS, 8 * APART, 8, true);
	EXPECT_TRUE(!lone.latency_mode);
}

/* A look that finds nothing tells nothing. */
CASE(nothing_is_no_frame)
{
	begin();
	turns(1000, 1, 0, true);
	EXPECT_TRUE(lone.latency_mode);
	turns(KVNET_RX_MOD_POLLS, 1, 1, true);
	turns(1000, APART, 0, true);
	EXPECT_TRUE(!lone.latency_mode);
}

/* What is far apart depends on what a frame costs. */
CASE(a_slow_host_needs_more_time)
{
	begin();
	kvnet_moderation_note_inline(&lone.inline_ns, KVNET_RX_MOD_GAP_MIN_NS);
	turns(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS * KVNET_RX_MOD_GAP_FACTOR, 1, true);
	EXPECT_TRUE(lone.latency_mode);
	turns(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS * KVNET_RX_MOD_GAP_FACTOR - 1, 1, true);
	EXPECT_TRUE(!lone.latency_mode);
}

/* Requests are no stream, however fast they are. */
CASE(requests_are_lone_ones)
{
	unsigned int i;

	begin();
	kvnet_moderation_note_inline(&lone.inline_ns, KVNET_RX_MOD_GAP_MIN_NS);
	for (i = 0; i < 100; i++) {
		answers++;
		turns(1, 1, 1, true);
	}
	EXPECT_TRUE(lone.latency_mode);
}

/* But one answer is not for ever; and the count of all of them wraps. */
CASE(an_answer_is_to_one_frame)
{
	begin();
	answers = ~0UL;
	turns(1, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	turns(KVNET_RX_MOD_POLLS - 1, 1, 1, true);
	answers += 2;
	turns(1, 1, 1, true);
	EXPECT_TRUE(lone.latency_mode);
	turns(KVNET_RX_MOD_POLLS, 1, 1, true);
	EXPECT_TRUE(!lone.latency_mode);
}

/* What a frame costs is what some have cost, and no time is believed that is absurd. */
CASE(cost_is_learnt)
{
	unsigned int i;

	begin();
	kvnet_moderation_note_inline(&lone.inline_ns, 8000);
	kvnet_moderation_note_inline(&lone.inline_ns, 16000);
	EXPECT_EQ(lone_cost(), 9000);
	for (i = 0; i < 100; i++)
		kvnet_moderation_note_inline(&lone.inline_ns, 16000);
	EXPECT_EQ(lone_cost(), 15999);
	for (i = 0; i < 100; i++)
		kvnet_moderation_note_inline(&lone.inline_ns, ~0ULL - i % 2 * (1ULL << 32));
	EXPECT_TRUE(lone_cost() <= 1000000);
	begin();
	kvnet_moderation_note_inline(&lone.inline_ns, (1ULL << 32) + 1);
	turns(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_FACTOR * 1000000, 1, true);
	EXPECT_TRUE(lone.latency_mode);
	turns(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_FACTOR * 1000000 - 1, 1, true);
	EXPECT_TRUE(!lone.latency_mode);
	/* Another backend has its own. */
	begin();
	turns(1000, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	EXPECT_TRUE(lone.latency_mode);
}
