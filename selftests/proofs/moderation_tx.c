// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: the transmit policy keeps delay, threshold and scores within their bounds for any clock
 *	and any packets, and divides by nothing
 * @bounds: up to 2^16 packets in a poll
 * @sources: worker/moderation.c
 * @unwind: 2
 * @quick: yes
 * @mutant: worker/moderation.c: m->delay_ns = min(2 * m->delay_ns, (u32)DELAY_MAX_NS); => m->delay_ns = 2 * m->delay_ns;
 * @mutant: worker/moderation.c: else if (m->packets)\n => else\n
 * @mutant: worker/moderation.c: max_ns -= min_t(u64, now_ns - m->call_since_ns, max_ns); => max_ns -= now_ns - m->call_since_ns;
 */
#include "guest.h"
#include "moderation.h"

#define DELAY_MIN	5000
#define DELAY_MAX	250000
#define THRESHOLD_MAX	1024

static bool is_sound(const struct kvnet_tx_moderation *m)
{
	return (!m->delay_ns || (m->delay_ns >= DELAY_MIN && m->delay_ns <= DELAY_MAX)) &&
	       m->stream_packets <= THRESHOLD_MAX &&
	       m->stream_threshold >= KVNET_TX_MOD_STREAM && m->stream_threshold <= THRESHOLD_MAX &&
	       m->timer_calls <= KVNET_TX_MOD_LATE_MAX;
}

int main(void)
{
	struct kvnet_tx_moderation m;
	u32 max = any_u32(), delay;

	ASSUME(is_sound(&m) && m.packets <= 1 << 16);

	switch (any_u8()) {
	case 0:
		delay = kvnet_moderation_tx_update(&m, any_u64(), any_long());
		ASSERT(delay == m.delay_ns && !m.packets);
		break;
	case 1:
		ASSERT(kvnet_moderation_tx_call_delay(&m, any_u64(), max) <= max);
		break;
	case 2:
		kvnet_moderation_tx_note_sent(&m, any_u16(), any_u32());
		break;
	case 3:
		kvnet_moderation_tx_note_call(&m, any_bool());
		break;
	default:
		kvnet_moderation_tx_may_defer(&m);
		ASSERT(IMPLIES(kvnet_moderation_tx_is_stream(&m), !m.delay_ns));
		break;
	}
	ASSERT(is_sound(&m));
	return 0;
}
