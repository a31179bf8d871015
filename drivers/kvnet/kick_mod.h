/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kick_mod.h - policy: when to ask a driver for kicks, and when to look instead
 *
 * A guest that sends packet after packet, and kicks for each, may spend more on the
 * kicks than on the packets. While it does so the device asks for none, and looks
 * again after a while. A lone packet, and one that is an answer, never waits.
 *
 * Numbers and clock values in, decisions out.
 */
#ifndef _KVNET_KICK_MOD_H
#define _KVNET_KICK_MOD_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "ewma.h"

/* Packets in a row that are a stream; an answer makes up for some. */
#define KVNET_KICK_MOD_STREAM	16

/* Far apart is so many times what it takes to send one. */
#define KVNET_KICK_MOD_GAP_FACTOR	8

/**
 * struct kvnet_kick_mod - what a transmit queue has been doing
 * @last_ns: when nothing was left last
 * @gap_ns: from packet to packet, while the driver kicks
 * @vcpu_ewma_ns: what it takes a thread that kicks to send a packet itself; 0: not known
 * @delay_ns: how long to wait before the next look; 0: the driver kicks
 * @stream_packets: packets in a row, as far as nothing answered
 * @stream_threshold: so many have to come before looking is tried
 * @found_few: the last look found too little
 * @packets: since the last time that nothing was left
 * @rx_count: frames that the guest had received by then
 */
struct kvnet_kick_mod {
	u64 last_ns;
	u32 gap_ns;
	u32 vcpu_ewma_ns;
	u32 delay_ns;
	u32 stream_packets;
	u32 stream_threshold;
	u32 packets;
	bool found_few;
	unsigned long rx_count;
};

void kvnet_kick_mod_reset(struct kvnet_kick_mod *m);
u32 kvnet_kick_mod_update(struct kvnet_kick_mod *m, u64 now_ns, unsigned long rx_count);

/**
 * kvnet_kick_mod_note_sent() - packets have been sent
 * @m: the pace
 * @packets: how many
 */
static inline void kvnet_kick_mod_note_sent(struct kvnet_kick_mod *m, unsigned int packets)
{
	m->packets += packets;
}

/**
 * kvnet_kick_mod_note_long() - forget what was going on: the packets are long
 * @m: the pace
 */
static inline void kvnet_kick_mod_note_long(struct kvnet_kick_mod *m)
{
	m->packets = 0;
	m->stream_packets = 0;
	m->delay_ns = 0;
}

/**
 * kvnet_kick_mod_note_vcpu() - a thread that kicked has sent a packet itself
 * @m: the pace
 * @ns: in this time
 */
static inline void kvnet_kick_mod_note_vcpu(struct kvnet_kick_mod *m, u64 ns)
{
	kvnet_ewma_add(&m->vcpu_ewma_ns, ns);
}

/**
 * kvnet_kick_mod_is_stream() - does the driver kick for one packet after another?
 * @m: the pace
 *
 * Return: true if so: they are no lone packets, nor requests, nor are they far apart.
 */
static inline bool kvnet_kick_mod_is_stream(const struct kvnet_kick_mod *m)
{
	return !m->delay_ns && m->stream_packets >= KVNET_KICK_MOD_STREAM &&
	       (!m->vcpu_ewma_ns || m->gap_ns < KVNET_KICK_MOD_GAP_FACTOR * m->vcpu_ewma_ns);
}

#endif /* _KVNET_KICK_MOD_H */
