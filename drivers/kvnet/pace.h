/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pace.h - policy: when to ask a driver for kicks, and when to look instead
 *
 * A guest that sends packet after packet, and kicks for each, spends more on the
 * kicks than on the packets. While it does so the device asks for none, and looks
 * again after a while. A lone packet, and one that is an answer, never waits.
 *
 * Numbers and clock values in, decisions out.
 */
#ifndef _KVNET_PACE_H
#define _KVNET_PACE_H

#include <linux/types.h>

/**
 * struct kvnet_pace - what a transmit queue has been doing
 * @last_ns: when its last turn ended
 * @cost_ns: what a turn for a packet takes, about
 * @delay_ns: how long to wait before the next look; 0: the driver kicks
 * @streak: packets that came soon after one another, as far as nothing answered
 * @packets: since the last time that nothing was left
 * @answers: frames that the guest had received by then
 */
struct kvnet_pace {
	u64 last_ns;
	u32 cost_ns;
	u32 delay_ns;
	int streak;
	unsigned int packets;
	unsigned long answers;
};

void kvnet_pace_reset(struct kvnet_pace *p);
void kvnet_pace_turn(struct kvnet_pace *p, u64 took_ns, unsigned int packets);
u32 kvnet_pace_rest(struct kvnet_pace *p, u64 now_ns, unsigned long answers);

/**
 * kvnet_pace_slow() - forget what was going on: there is more than lone packets
 * @p: the pace
 *
 * A turn ended with its budget; packets that long need no pace.
 */
static inline void kvnet_pace_slow(struct kvnet_pace *p)
{
	p->streak = 0;
	p->delay_ns = 0;
}

#endif /* _KVNET_PACE_H */
