/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pace.h - policy: when to ask a driver for kicks, and when to look instead
 *
 * A guest that sends packet after packet, and kicks for each, may spend more on the
 * kicks than on the packets. While it does so the device asks for none, and looks
 * again after a while. A lone packet, and one that is an answer, never waits.
 *
 * Numbers and clock values in, decisions out.
 */
#ifndef _KVNET_PACE_H
#define _KVNET_PACE_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "cost.h"

/* Packets in a row that are a stream; an answer makes up for some. */
#define KVNET_PACE_STREAK	16

/* Far apart is so many times what it takes to send one. */
#define KVNET_PACE_APART	8

/**
 * struct kvnet_pace - what a transmit queue has been doing
 * @last_ns: when nothing was left last
 * @gap_ns: from packet to packet, while the driver kicks
 * @cost_ns: what it takes a thread that kicks to send a packet itself; 0: not known
 * @delay_ns: how long to wait before the next look; 0: the driver kicks
 * @streak: packets in a row, as far as nothing answered
 * @patience: so many have to come before looking is tried
 * @poor: the last look found too little
 * @packets: since the last time that nothing was left
 * @answers: frames that the guest had received by then
 */
struct kvnet_pace {
	u64 last_ns;
	u32 gap_ns;
	u32 cost_ns;
	u32 delay_ns;
	u32 streak;
	u32 patience;
	u32 packets;
	bool poor;
	unsigned long answers;
};

void kvnet_pace_reset(struct kvnet_pace *p);
u32 kvnet_pace_rest(struct kvnet_pace *p, u64 now_ns, unsigned long answers);

/**
 * kvnet_pace_sent() - packets have been sent
 * @p: the pace
 * @packets: how many
 */
static inline void kvnet_pace_sent(struct kvnet_pace *p, unsigned int packets)
{
	p->packets += packets;
}

/**
 * kvnet_pace_slow() - forget what was going on: the packets are long
 * @p: the pace
 */
static inline void kvnet_pace_slow(struct kvnet_pace *p)
{
	p->packets = 0;
	p->streak = 0;
	p->delay_ns = 0;
}

/**
 * kvnet_pace_took() - a thread that kicked has sent a packet itself
 * @p: the pace
 * @ns: in this time
 */
static inline void kvnet_pace_took(struct kvnet_pace *p, u64 ns)
{
	kvnet_cost_add(&p->cost_ns, ns);
}

/**
 * kvnet_pace_streams() - does the driver kick for one packet after another?
 * @p: the pace
 *
 * Return: true if so: they are no lone packets, nor requests, nor are they far apart.
 */
static inline bool kvnet_pace_streams(const struct kvnet_pace *p)
{
	return !p->delay_ns && p->streak >= KVNET_PACE_STREAK &&
	       (!p->cost_ns || p->gap_ns < KVNET_PACE_APART * p->cost_ns);
}

#endif /* _KVNET_PACE_H */
