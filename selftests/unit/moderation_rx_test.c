// SPDX-License-Identifier: GPL-2.0
/* Which frames are received inline, and which are coalesced. */
#include <linux/kernel.h>
#include <linux/types.h>

#include "moderation.h"
#include "unit.h"

/* The gap that ends a stream: the worker polls its tap that much later. */
#define APART	(KVNET_RX_MOD_GAP_MIN_NS + KVNET_RX_MOD_BACKOFF_NS)

/* rx-usecs, in ns */
#define RX_USECS_NS	100000

static struct kvnet_rx_moderation m;
static unsigned long sent;
static u64 now;

static void begin(void)
{
	kvnet_moderation_rx_reset(&m);
	now = 1000000000;
	sent = 0;
}

static unsigned long inline_cost(void)
{
	return ewma_kvnet_ns_read(&m.inline_ns);
}

static void polls(unsigned int n, u64 gap, unsigned int frames, bool small)
{
	while (n--) {
		now += gap;
		kvnet_moderation_rx_update(&m, now, frames, small, sent);
	}
}

CASE(frames_far_apart_keep_latency_mode)
{
	begin();
	EXPECT_TRUE(m.latency_mode);
	polls(1000, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	EXPECT_TRUE(m.latency_mode);
	polls(1000, KVNET_RX_MOD_GAP_MIN_NS, KVNET_RX_MOD_FEW_FRAMES, true);
	EXPECT_TRUE(m.latency_mode);
}

CASE(stream_ends_latency_mode)
{
	begin();
	polls(KVNET_RX_MOD_POLLS + 1, KVNET_RX_MOD_GAP_MIN_NS - 1, 1, true);
	EXPECT_TRUE(!m.latency_mode);
	begin();
	polls(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS, KVNET_RX_MOD_FEW_FRAMES + 1, true);
	EXPECT_TRUE(!m.latency_mode);
	begin();
	polls(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS, 1, false);
	EXPECT_TRUE(!m.latency_mode);
	/* A frame that the guest has no buffers for. */
	begin();
	polls(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS, 0, false);
	EXPECT_TRUE(!m.latency_mode);
}

/* One burst among requests is no stream, and one pause does not end a stream. */
CASE(mode_flips_after_eight_polls_that_agree)
{
	unsigned int i;

	begin();
	for (i = 0; i < 100; i++) {
		polls(KVNET_RX_MOD_POLLS - 1, 1, 1, true);
		EXPECT_TRUE(m.latency_mode);
		polls(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	}
	polls(KVNET_RX_MOD_POLLS, 1, 1, true);
	for (i = 0; i < 100; i++) {
		EXPECT_TRUE(!m.latency_mode);
		polls(KVNET_RX_MOD_POLLS - 1, APART, 1, true);
		EXPECT_TRUE(!m.latency_mode);
		polls(KVNET_RX_MOD_POLLS, 1, 1, true);
	}
	polls(KVNET_RX_MOD_POLLS, APART, 1, true);
	EXPECT_TRUE(m.latency_mode);
}

/* The worker finds the frames of a stream that much later, which does not end the stream. */
CASE(tap_of_a_stream_is_not_polled_for_a_while)
{
	begin();
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&m, now));
	polls(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	EXPECT_TRUE(!kvnet_moderation_rx_should_poll(&m, now));
	EXPECT_TRUE(!kvnet_moderation_rx_should_poll(&m, now + KVNET_RX_MOD_BACKOFF_NS - 1));
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&m, now + KVNET_RX_MOD_BACKOFF_NS));
	/* A clock that goes back does not stop polling. */
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&m, now - 1));
	polls(1000, APART - 1, 1, true);
	EXPECT_TRUE(!m.latency_mode);
	polls(KVNET_RX_MOD_POLLS, APART, 1, true);
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&m, now));
}

static bool may_coalesce(void)
{
	return kvnet_moderation_rx_coalesce(&m, now, RX_USECS_NS, 1000);
}

/* Not the first ones; and a worker that is woken receives what has come meanwhile. */
CASE(frames_of_a_stream_are_coalesced)
{
	unsigned int i;

	begin();
	for (i = 0; i <= KVNET_RX_MOD_POLLS; i++) {
		EXPECT_TRUE(!may_coalesce());
		polls(1, 1, 1, true);
	}
	EXPECT_TRUE(may_coalesce());
	for (i = 0; i < 100; i++) {
		polls(1, RX_USECS_NS, 32, true);
		EXPECT_TRUE(may_coalesce());
	}
	EXPECT_TRUE(!m.latency_mode);
}

static unsigned int polls_until_coalescing(void)
{
	unsigned int n;

	for (n = 0; n < 1000 && !may_coalesce(); n++)
		polls(1, 1, 1, true);
	return n;
}

/* Frames after a long one or a reply may belong to something else. */
CASE(long_frames_and_replies_suspend_coalescing)
{
	begin();
	polls(1000, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	EXPECT_TRUE(!may_coalesce());
	polls(1000, 1, 32, false);
	EXPECT_TRUE(!may_coalesce());
	EXPECT_EQ(polls_until_coalescing(), KVNET_RX_MOD_POLLS + 1);
	polls(1, 1, 1, false);
	EXPECT_EQ(polls_until_coalescing(), KVNET_RX_MOD_POLLS + 1);
	/* The guest has sent something. */
	sent++;
	polls(1, 1, 32, true);
	EXPECT_EQ(polls_until_coalescing(), KVNET_RX_MOD_POLLS + 1);
	polls(1, 1, 32, true);
	EXPECT_TRUE(may_coalesce());
	/* The stream is over. */
	polls(1, RX_USECS_NS, 0, true);
	EXPECT_TRUE(!may_coalesce());
}

/* A worker that has busy-polled for rx-usecs does not coalesce; nor if the clock goes back. */
CASE(gap_of_rx_usecs_prevents_coalescing)
{
	begin();
	polls(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	EXPECT_TRUE(kvnet_moderation_rx_coalesce(&m, now + RX_USECS_NS - 1, RX_USECS_NS, 1000));
	EXPECT_TRUE(!kvnet_moderation_rx_coalesce(&m, now + RX_USECS_NS, RX_USECS_NS, 1000));
	EXPECT_TRUE(!kvnet_moderation_rx_coalesce(&m, now - 1, RX_USECS_NS, 1000));
	EXPECT_TRUE(!kvnet_moderation_rx_coalesce(&m, now, 0, 1000));
}

/* A full tap would drop frames. */
CASE(coalesced_frames_leave_room_in_the_tap)
{
	unsigned int room;

	begin();
	polls(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	for (room = 0; room < 1000; room++)
		EXPECT_EQ(kvnet_moderation_rx_frames(room), room < 128 ? room / 4 : 32);
	EXPECT_EQ(kvnet_moderation_rx_frames(~0U), 32);
	EXPECT_TRUE(!kvnet_moderation_rx_coalesce(&m, now, RX_USECS_NS, 3));
	EXPECT_TRUE(kvnet_moderation_rx_coalesce(&m, now, RX_USECS_NS, 4));
	/* These frames have not been coalesced: they came together. */
	polls(1, 1, 1, true);
	for (room = 0; room < KVNET_RX_MOD_POLLS; room++) {
		m.coalesce = KVNET_RX_COALESCE_MAY;
		EXPECT_TRUE(!kvnet_moderation_rx_coalesce(&m, now, RX_USECS_NS, 3));
		polls(1, 8 * APART, 8, true);
	}
	EXPECT_TRUE(!m.latency_mode);
}

/* A trial that brings few frames doubles the time to the next; one that brings more resets it. */
CASE(coalescing_of_few_frames_backs_off)
{
	unsigned int i, n, most = 0;

	begin();
	polls(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	for (i = 0; i < 12; i++) {
		n = polls_until_coalescing();
		EXPECT_TRUE(n >= most && n <= 300);
		EXPECT_TRUE(i < 2 || i > 7 || n > most);
		most = n;
		/* No frame, or few. */
		polls(1, RX_USECS_NS, i % 2 ? KVNET_RX_MOD_FEW_FRAMES : 0, true);
		EXPECT_TRUE(!may_coalesce());
	}
	EXPECT_TRUE(most >= 200);
	/* A reply or a long frame does not shorten that. */
	sent++;
	polls(1, 1, 8, true);
	polls(1, 1, 8, false);
	EXPECT_TRUE(polls_until_coalescing() >= 200);
	polls(1, RX_USECS_NS, 0, true);
	EXPECT_TRUE(polls_until_coalescing() < 300);
	polls(1, 1, KVNET_RX_MOD_FEW_FRAMES + 1, true);
	EXPECT_TRUE(may_coalesce());
	polls(1, RX_USECS_NS, 0, true);
	EXPECT_TRUE(polls_until_coalescing() <= 3);
}

/* They came spread over the time since the last poll; a stream that becomes slow ends. */
CASE(coalesced_frames_count_as_spread)
{
	unsigned int i;

	begin();
	polls(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	for (i = 0; i < 100; i++) {
		EXPECT_TRUE(may_coalesce());
		polls(1, 8 * (KVNET_RX_MOD_GAP_MIN_NS - 1), 8, true);
	}
	EXPECT_TRUE(!m.latency_mode);
	for (i = 0; i < KVNET_RX_MOD_POLLS; i++) {
		EXPECT_TRUE(!m.latency_mode);
		m.coalesce = KVNET_RX_COALESCE_MAY;
		EXPECT_TRUE(may_coalesce());
		polls(1, 8 * KVNET_RX_MOD_GAP_MIN_NS, 8, true);
	}
	EXPECT_TRUE(m.latency_mode);
	EXPECT_TRUE(!may_coalesce());
	/* The frames after them have not been coalesced. */
	begin();
	polls(KVNET_RX_MOD_POLLS + 1, 1, 1, true);
	EXPECT_TRUE(may_coalesce());
	polls(1, 1, 8, true);
	polls(KVNET_RX_MOD_POLLS, 8 * APART, 8, true);
	EXPECT_TRUE(!m.latency_mode);
}

CASE(poll_without_frames_changes_nothing)
{
	begin();
	polls(1000, 1, 0, true);
	EXPECT_TRUE(m.latency_mode);
	polls(KVNET_RX_MOD_POLLS, 1, 1, true);
	polls(1000, APART, 0, true);
	EXPECT_TRUE(!m.latency_mode);
}

CASE(gap_of_a_stream_grows_with_the_cost)
{
	begin();
	kvnet_moderation_note_inline(&m.inline_ns, KVNET_RX_MOD_GAP_MIN_NS);
	polls(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS * KVNET_RX_MOD_GAP_FACTOR, 1, true);
	EXPECT_TRUE(m.latency_mode);
	polls(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_MIN_NS * KVNET_RX_MOD_GAP_FACTOR - 1, 1, true);
	EXPECT_TRUE(!m.latency_mode);
}

/* However fast they are. */
CASE(requests_keep_latency_mode)
{
	unsigned int i;

	begin();
	kvnet_moderation_note_inline(&m.inline_ns, KVNET_RX_MOD_GAP_MIN_NS);
	for (i = 0; i < 100; i++) {
		sent++;
		polls(1, 1, 1, true);
	}
	EXPECT_TRUE(m.latency_mode);
}

/* The count of the guest's packets may wrap. */
CASE(reply_counts_for_one_poll)
{
	begin();
	sent = ~0UL;
	polls(1, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	polls(KVNET_RX_MOD_POLLS - 1, 1, 1, true);
	sent += 2;
	polls(1, 1, 1, true);
	EXPECT_TRUE(m.latency_mode);
	polls(KVNET_RX_MOD_POLLS, 1, 1, true);
	EXPECT_TRUE(!m.latency_mode);
}

/* A single poll that was interrupted counts for little. */
CASE(inline_cost_is_an_average)
{
	unsigned int i;

	begin();
	kvnet_moderation_note_inline(&m.inline_ns, 8000);
	kvnet_moderation_note_inline(&m.inline_ns, 16000);
	EXPECT_EQ(inline_cost(), 9000);
	for (i = 0; i < 100; i++)
		kvnet_moderation_note_inline(&m.inline_ns, 16000);
	EXPECT_EQ(inline_cost(), 15999);
	for (i = 0; i < 100; i++)
		kvnet_moderation_note_inline(&m.inline_ns, ~0ULL - i % 2 * (1ULL << 32));
	EXPECT_TRUE(inline_cost() <= 1000000);
	begin();
	kvnet_moderation_note_inline(&m.inline_ns, (1ULL << 32) + 1);
	polls(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_FACTOR * 1000000, 1, true);
	EXPECT_TRUE(m.latency_mode);
	polls(KVNET_RX_MOD_POLLS, KVNET_RX_MOD_GAP_FACTOR * 1000000 - 1, 1, true);
	EXPECT_TRUE(!m.latency_mode);
	/* A new backend starts without an average. */
	begin();
	polls(1000, KVNET_RX_MOD_GAP_MIN_NS, 1, true);
	EXPECT_TRUE(m.latency_mode);
}
