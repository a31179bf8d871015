// SPDX-License-Identifier: GPL-2.0
/*
 * moderation.c - latency mode, coalescing, deferred calls, kicks, throttle; see moderation.h
 */
#include "moderation.h"

#include <linux/kernel.h>

/* Kick moderation, in ns. A packet after a gap above GAP_MAX_NS belongs to no stream. */
#define GAP_MAX_NS	50000000
#define DELAY_MIN_NS	5000
#define DELAY_MAX_NS	250000

/* Packets in a row before a trial; each frame to the guest cancels PACKETS_PER_REPLY. */
#define THRESHOLD_MIN	KVNET_TX_MOD_STREAM
#define THRESHOLD_MAX	1024
#define PACKETS_PER_REPLY	8

/* Packets per poll by timer: below FEW the delay doubles, above MANY it halves. */
#define POLL_FEW	8
#define POLL_MANY	64

/* A score goes up to @max and down to 0. */
static u8 step_score(u8 score, u8 max, bool up)
{
	if (up)
		return min(score + 1, (int)max);
	return score ? score - 1 : 0;
}

void kvnet_moderation_rx_reset(struct kvnet_rx_moderation *m)
{
	*m = (struct kvnet_rx_moderation) {
		.latency_score = KVNET_RX_MOD_POLLS,
		.latency_mode = true,
	};
}

/*
 * Accounts for a poll that received @frames. @all_short: they were short on average, and only
 * the budget or an uncached page left any. @tx_count: packets that the guest has sent so far.
 */
void kvnet_moderation_rx_update(struct kvnet_rx_moderation *m, u64 now_ns, unsigned int frames,
				bool all_short, unsigned long tx_count)
{
	u32 gap = max_t(u32, KVNET_RX_MOD_GAP_FACTOR * ewma_kvnet_ns_read(&m->inline_ns),
			KVNET_RX_MOD_GAP_MIN_NS);
	u32 since = min_t(u64, now_ns - m->last_ns, U32_MAX);
	bool few = frames <= KVNET_RX_MOD_FEW_FRAMES, guest_sent = tx_count != m->tx_count;
	bool is_stream, was_coalescing = m->coalesce == KVNET_RX_COALESCE_ON;

	m->last_ns = now_ns;
	m->tx_count = tx_count;
	m->coalesce = KVNET_RX_COALESCE_NO;
	if (was_coalescing) {
		m->backoff_polls = few ? min(2 * m->backoff_polls + 1, 255) : 0;
		m->holdoff_polls = m->backoff_polls;
	}
	if (was_coalescing && frames) {
		/* The tap was not polled meanwhile, so the frames came spread over that time. */
		since /= frames;
		few = true;
	} else if (!m->latency_mode) {
		/* kvnet_moderation_rx_should_poll() delays the poll of a stream by that. */
		gap += KVNET_RX_MOD_BACKOFF_NS;
	}
	if (all_short && !frames)
		return;
	if (!all_short || guest_sent)
		m->holdoff_polls = max_t(u8, m->holdoff_polls, KVNET_RX_MOD_POLLS);

	is_stream = !all_short || !few || (since < gap && !guest_sent);
	m->latency_score = step_score(m->latency_score, KVNET_RX_MOD_POLLS, !is_stream);
	if (m->latency_score == KVNET_RX_MOD_POLLS)
		m->latency_mode = true;
	else if (!m->latency_score)
		m->latency_mode = false;
	if (is_stream && all_short && m->holdoff_polls)
		m->holdoff_polls--;
	else if (is_stream && all_short && !m->latency_mode)
		m->coalesce = KVNET_RX_COALESCE_MAY;
}

/*
 * Starts coalescing if the last frames were a stream, and the last poll left the tap empty.
 * @max_ns: rx-usecs, in ns. @room: size of the tap's ring, in frames. True: the worker need not be
 * woken for the next kvnet_moderation_rx_frames(), and needs a timer.
 */
bool kvnet_moderation_rx_coalesce(struct kvnet_rx_moderation *m, u64 now_ns, u64 max_ns,
				  unsigned int room)
{
	bool on;

	if (m->coalesce == KVNET_RX_COALESCE_NO)
		return false;
	/* After a longer gap the stream is over or pauses. */
	on = kvnet_moderation_rx_frames(room) && now_ns - m->last_ns < max_ns;
	m->coalesce = on ? KVNET_RX_COALESCE_ON : KVNET_RX_COALESCE_MAY;
	return on;
}

void kvnet_moderation_tx_reset(struct kvnet_tx_moderation *m)
{
	*m = (struct kvnet_tx_moderation) { .stream_threshold = THRESHOLD_MIN };
}

/* Long packets, or many per kick, need no moderation: start over with kicks enabled. */
static void stop_kick_moderation(struct kvnet_tx_moderation *m)
{
	m->packets = 0;
	m->stream_packets = 0;
	m->delay_ns = 0;
}

void kvnet_moderation_tx_note_sent(struct kvnet_tx_moderation *m, unsigned int packets,
				   unsigned int bytes)
{
	if (bytes > packets * KVNET_MODERATION_SHORT_LEN)
		stop_kick_moderation(m);
	else
		m->packets += packets;
}

static void update_after_kick(struct kvnet_tx_moderation *m, u64 gap_ns)
{
	if (gap_ns > GAP_MAX_NS || m->packets >= POLL_MANY) {
		m->stream_packets = 0;
		return;
	}
	if (!m->stream_packets)
		ewma_kvnet_ns_init(&m->gap_ns);
	ewma_kvnet_ns_add(&m->gap_ns, gap_ns);
	m->stream_packets = min(m->stream_packets + m->packets, (u32)THRESHOLD_MAX);
	if (m->stream_packets < m->stream_threshold)
		return;
	m->found_few = true;
	m->delay_ns = clamp_t(u32, 2 * ewma_kvnet_ns_read(&m->gap_ns), DELAY_MIN_NS, DELAY_MAX_NS);
}

/* Is moderation worth it: do packets come at least 1.5 times as often as with kicks? */
static void update_after_poll(struct kvnet_tx_moderation *m, u64 since_ns)
{
	bool found_few = m->packets < 2 ||
			 2ULL * m->packets * ewma_kvnet_ns_read(&m->gap_ns) < 3 * since_ns;

	/* One poll may find few by chance; only the first of a trial decides alone. */
	if (found_few && m->found_few) {
		m->stream_packets = m->packets ? KVNET_TX_MOD_STREAM : KVNET_TX_MOD_STREAM / 2;
		m->delay_ns = 0;
		m->stream_threshold = min(2 * m->stream_threshold, (u32)THRESHOLD_MAX);
		return;
	}
	m->found_few = found_few;
	if (!found_few)
		m->stream_threshold = THRESHOLD_MIN;
	if (m->packets < POLL_FEW)
		m->delay_ns = min(2 * m->delay_ns, (u32)DELAY_MAX_NS);
	else if (m->packets > POLL_MANY && m->delay_ns > DELAY_MIN_NS)
		m->delay_ns = max(m->delay_ns / 2, (u32)DELAY_MIN_NS);
	else if (m->packets > POLL_MANY)
		stop_kick_moderation(m);
}

/* Packets that reply to received frames, or wait for them, are not a stream. */
static void discount_replies(struct kvnet_tx_moderation *m, unsigned long frames)
{
	u32 discount = PACKETS_PER_REPLY * min(frames, 1000UL);

	if (m->delay_ns && discount >= m->packets) {
		m->delay_ns = 0;
		m->stream_packets = 0;
	}
	m->stream_packets -= min(m->stream_packets, discount);
}

/*
 * The ring is empty: enable kicks, or poll it by timer? The host cannot measure what a kick
 * costs the guest, but it can try: after some packets in a row kicks stay suppressed, and the
 * ring is polled after twice the gap between packets. If that fails, the next trial needs
 * twice as many packets. @rx_count: frames that the guest has received so far. Returns after
 * how many ns to poll again; 0: enable kicks.
 */
u32 kvnet_moderation_tx_update(struct kvnet_tx_moderation *m, u64 now_ns, unsigned long rx_count)
{
	u64 since = min(now_ns - m->last_ns, 1ULL << 32);

	if (rx_count != m->rx_count)
		discount_replies(m, rx_count - m->rx_count);
	if (m->delay_ns)
		update_after_poll(m, since);
	else if (m->packets)
		update_after_kick(m, (u32)min(since, (u64)U32_MAX) / m->packets);
	m->packets = 0;
	m->rx_count = rx_count;
	m->last_ns = now_ns;
	return m->delay_ns;
}

/*
 * In how many ns is the timer to make the pending call? @max_ns is tx-usecs in ns: it starts
 * with the call's first timer, and further packets do not extend it. 0 if the clock went back.
 */
u32 kvnet_moderation_tx_call_delay(struct kvnet_tx_moderation *m, u64 now_ns, u32 max_ns)
{
	u32 gap_ns = max_t(u32, ewma_kvnet_ns_read(&m->gap_ns), KVNET_TX_MOD_GAP_MIN_NS);

	if (!m->call_since_ns)
		m->call_since_ns = now_ns;
	max_ns -= min_t(u64, now_ns - m->call_since_ns, max_ns);
	return min(KVNET_TX_MOD_GAPS * gap_ns, max_ns);
}

/* The timer made the pending call, or it was not needed: the driver had consumed all before. */
void kvnet_moderation_tx_note_call(struct kvnet_tx_moderation *m, bool by_timer)
{
	m->timer_calls = step_score(m->timer_calls, KVNET_TX_MOD_LATE_MAX, by_timer);
}

/*
 * Accounts for a call from a softirq, which took @ns together with the wait for the softirq.
 * Returns true if this activates the throttle.
 */
bool kvnet_moderation_throttle_account(struct kvnet_throttle *t, u64 now_ns, u64 ns)
{
	u64 excess = t->excess_ns, since = now_ns - t->last_call_ns;

	t->last_call_ns = now_ns;
	/* The clock went back, or another CPU's clock differs. */
	if ((s64)ns < 0)
		return false;
	if ((s64)since > 0)
		excess -= min_t(u64, excess, since >> KVNET_THROTTLE_DECAY_SHIFT);
	if (ns > KVNET_THROTTLE_QUICK_NS)
		excess += min_t(u64, ns - KVNET_THROTTLE_QUICK_NS, KVNET_THROTTLE_EXCESS_MAX_NS);
	if (excess <= KVNET_THROTTLE_LIMIT_NS) {
		t->excess_ns = excess;
		return false;
	}
	t->start_ns = now_ns;
	t->duration_ns = excess * KVNET_THROTTLE_OFF_FACTOR;
	t->excess_ns = 0;
	return true;
}
