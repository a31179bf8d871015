// SPDX-License-Identifier: GPL-2.0
/*
 * kick_mod.c - kick moderation, see kick_mod.h
 *
 * The host cannot measure what a kick costs the guest, but it can try. After some packets
 * in a row the device leaves kicks suppressed, and polls the ring after twice the gap between
 * packets. Moderation stays on while packets come at least 1.5 times as often as with kicks,
 * and a poll finds at least two. Otherwise kicks are enabled again, and the next trial needs
 * twice as many packets. A driver that kicks once for very many packets is not moderated.
 */
#include "kick_mod.h"

#include <linux/kernel.h>

/* In ns. A packet after a longer gap belongs to no stream. */
#define GAP_MAX_NS	50000000
#define DELAY_MIN_NS	5000
#define DELAY_MAX_NS	250000

/* Packets in a row before a trial; each frame to the guest cancels PACKETS_PER_REPLY. */
#define THRESHOLD_MIN	KVNET_KICK_MOD_STREAM
#define THRESHOLD_MAX	1024
#define PACKETS_PER_REPLY	8

/* Packets per poll: below FEW the delay doubles, above MANY it halves. */
#define POLL_FEW	8
#define POLL_MANY	64

void kvnet_kick_mod_reset(struct kvnet_kick_mod *m)
{
	*m = (struct kvnet_kick_mod) { .stream_threshold = THRESHOLD_MIN };
}

static void update_after_kick(struct kvnet_kick_mod *m, u64 gap_ns)
{
	if (gap_ns > GAP_MAX_NS || m->packets >= POLL_MANY) {
		m->stream_packets = 0;
		return;
	}
	if (m->stream_packets)
		m->gap_ns += ((int)gap_ns - (int)m->gap_ns) / 8;
	else
		m->gap_ns = gap_ns;
	m->stream_packets = min(m->stream_packets + m->packets, (u32)THRESHOLD_MAX);
	if (m->stream_packets < m->stream_threshold)
		return;
	m->found_few = true;
	m->delay_ns = clamp(2 * m->gap_ns, (u32)DELAY_MIN_NS, (u32)DELAY_MAX_NS);
}

static void update_after_poll(struct kvnet_kick_mod *m, u64 since_ns)
{
	bool found_few = m->packets < 2 ||
			 2 * (u64)m->packets * m->gap_ns < 3 * since_ns;

	/* One poll may find few by chance; only the first of a trial decides alone. */
	if (found_few && m->found_few) {
		m->stream_packets = m->packets ? KVNET_KICK_MOD_STREAM : KVNET_KICK_MOD_STREAM / 2;
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
		kvnet_kick_mod_note_long(m);
}

/* Packets that reply to received frames, or wait for them, are not a stream. */
static void discount_replies(struct kvnet_kick_mod *m, unsigned long frames)
{
	u32 discount = PACKETS_PER_REPLY * min(frames, 1000UL);

	if (m->delay_ns && discount >= m->packets) {
		m->delay_ns = 0;
		m->stream_packets = 0;
	}
	m->stream_packets -= min(m->stream_packets, discount);
}

/**
 * kvnet_kick_mod_update() - the ring is empty: enable kicks, or poll by timer?
 * @m: kick moderation of the queue
 * @now_ns: local clock, which may go back
 * @rx_count: frames that the guest has received so far
 *
 * Return: after how many ns to poll again with kicks suppressed; 0: enable kicks.
 */
u32 kvnet_kick_mod_update(struct kvnet_kick_mod *m, u64 now_ns, unsigned long rx_count)
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
