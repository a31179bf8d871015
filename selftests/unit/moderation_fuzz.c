// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to packets, calls and clocks, which a guest and a VMM decide: moderation keeps within
 * its bounds, whatever they are.
 */
#include "moderation.h"

#include "fuzz.h"
#include "unit.h"

const char fuzz_name[] = "moderation";

static struct kvnet_rx_moderation rx;
static struct kvnet_tx_moderation tx;
static struct kvnet_throttle throttle;
static u64 now;
static unsigned long count;	/* of the other direction */

static void step_rx(u8 op, struct input *in)
{
	unsigned int frames = take8(in) % 40, room = take16(in);
	bool on;

	kvnet_moderation_rx_update(&rx, now, frames, op & 16, count);
	EXPECT_TRUE(rx.latency_score <= KVNET_RX_MOD_POLLS);
	EXPECT_TRUE(rx.coalesce == KVNET_RX_COALESCE_NO || (op & 16 && frames && !rx.latency_mode));
	on = kvnet_moderation_rx_coalesce(&rx, now + 2 * take16(in), 100000, room);
	EXPECT_TRUE(!on || kvnet_moderation_rx_frames(room));
	EXPECT_EQ(on, rx.coalesce == KVNET_RX_COALESCE_ON);
	EXPECT_TRUE(kvnet_moderation_rx_should_poll(&rx, now - 1));
	kvnet_moderation_note_inline(&rx.inline_ns, take16(in));
}

static void step_tx(u8 op, struct input *in)
{
	u32 packets = op & 16 ? 1 : take8(in), max = take32(in), delay;

	kvnet_moderation_tx_note_sent(&tx, packets, op & 32 ? 3000 * packets : packets);
	delay = kvnet_moderation_tx_update(&tx, now, count);
	EXPECT_TRUE(!delay || (delay >= 5000 && delay <= 250000));
	EXPECT_TRUE(!kvnet_moderation_tx_is_stream(&tx) || !delay);
	kvnet_moderation_note_inline(&tx.inline_ns, op & 64 ? packets : max);
	EXPECT_TRUE(tx.stream_threshold >= KVNET_TX_MOD_STREAM && tx.stream_threshold <= 1024);
	if (kvnet_moderation_tx_may_defer(&tx)) {
		kvnet_moderation_tx_note_deferred(&tx);
		EXPECT_TRUE(kvnet_moderation_tx_call_delay(&tx, now, max) <= max);
		kvnet_moderation_tx_note_call(&tx, op & 64);
		EXPECT_TRUE(tx.timer_calls <= KVNET_TX_MOD_LATE_MAX);
	}
}

static void step_throttle(struct input *in)
{
	u64 ns = take8(in) & 1 ? -(u64)take16(in) : take32(in) >> (take8(in) & 31);
	bool on = kvnet_moderation_throttle_account(&throttle, now, ns);

	EXPECT_TRUE(throttle.excess_ns <= KVNET_THROTTLE_LIMIT_NS);
	EXPECT_TRUE(!on || (kvnet_moderation_is_throttled(&throttle, now) && !throttle.excess_ns));
	EXPECT_TRUE(!on || ns > KVNET_THROTTLE_QUICK_NS);
}

void fuzz_one(const u8 *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	u8 op;

	kvnet_moderation_rx_reset(&rx);
	kvnet_moderation_tx_reset(&tx);
	throttle = (struct kvnet_throttle) {};
	now = take32(&in);
	count = 0;
	while (in.left) {
		op = take8(&in);
		/* on by less than a second; now and then it goes back */
		now += op & 4 ? take16(&in) : op & 8 ? take32(&in) >> 2 : -(u64)take8(&in);
		count += op >> 7;
		if (op & 1)
			step_rx(op, &in);
		else if (op & 2)
			step_tx(op, &in);
		else
			step_throttle(&in);
	}
}

#ifndef UNIT_LIBFUZZER
CASE(fuzz_moderation)
{
	fuzz_random(30000, 400);
}
#endif
