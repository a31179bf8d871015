// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: the receive policy keeps its scores within their bounds for any clock and any frames,
 *	divides by nothing, and coalesces no more frames than a part of the tap's ring
 * @bounds: none
 * @sources: worker/moderation.c
 * @unwind: 2
 * @quick: yes
 * @mutant: worker/moderation.c: return min(score + 1, (int)max); => return score + 1;
 * @mutant: worker/moderation.c: if (was_coalescing && frames) { => if (was_coalescing) {
 * @mutant: worker/moderation.h: room / KVNET_RX_MOD_ROOM_DIV); => room);
 */
#include "guest.h"
#include "moderation.h"

int main(void)
{
	unsigned int frames = any_u32(), room = any_u32(), n = kvnet_moderation_rx_frames(room);
	bool all_short = any_bool(), on;
	struct kvnet_rx_moderation m;
	u64 now = any_u64();

	ASSUME(m.latency_score <= KVNET_RX_MOD_POLLS);
	ASSUME(m.coalesce <= KVNET_RX_COALESCE_ON);

	kvnet_moderation_rx_update(&m, now, frames, all_short, any_long());

	ASSERT(m.latency_score <= KVNET_RX_MOD_POLLS);
	ASSERT(m.coalesce != KVNET_RX_COALESCE_ON && m.last_ns == now);
	/* a frame that waits for its reply, or long ones, must not be coalesced */
	ASSERT(IMPLIES(m.coalesce == KVNET_RX_COALESCE_MAY, all_short && frames && !m.latency_mode));

	on = kvnet_moderation_rx_coalesce(&m, any_u64(), any_u64(), room);
	ASSERT(n <= KVNET_RX_MOD_FRAMES_MAX && n <= room / KVNET_RX_MOD_ROOM_DIV);
	ASSERT(on == (m.coalesce == KVNET_RX_COALESCE_ON));
	ASSERT(IMPLIES(on, n));
	kvnet_moderation_rx_should_poll(&m, any_u64());
	/* the clock went back */
	ASSERT(kvnet_moderation_rx_should_poll(&m, now - 1));
	return 0;
}
