/* SPDX-License-Identifier: GPL-2.0 */
/*
 * kick_mod.h - policy: enable the driver's kicks, or poll the ring by timer?
 *
 * A guest that kicks for each packet of a stream may spend more on the kicks than on the
 * packets. For such a stream kicks stay suppressed, and a timer polls the ring. A single
 * packet, or a reply to a received frame, is never delayed.
 *
 * Pure: no locks, no clock reads. All state belongs to the running session.
 */
#ifndef _KVNET_KICK_MOD_H
#define _KVNET_KICK_MOD_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "ewma.h"

/* Packets in a row that make a stream; frames to the guest cancel some of them. */
#define KVNET_KICK_MOD_STREAM	16

/* The gap between packets of a stream is shorter than so many inline polls take. */
#define KVNET_KICK_MOD_GAP_FACTOR	8

/**
 * struct kvnet_kick_mod - kick moderation of a transmit queue, under vq->lock
 * @last_ns: local clock of the last kvnet_kick_mod_update()
 * @gap_ns: EWMA of the time between packets, while kicks are enabled
 * @vcpu_ewma_ns: EWMA of an inline poll by the kicking vCPU thread; 0: none yet
 * @delay_ns: time until the ring is polled again; 0: kicks are enabled
 * @stream_packets: packets in a row, less those that received frames cancel
 * @stream_threshold: @stream_packets at which moderation is tried; doubles on failure
 * @packets: packets since @last_ns
 * @found_few: the last poll by timer found too few packets, or there was none yet
 * @rx_count: frames that the guest had received at @last_ns
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

static inline void kvnet_kick_mod_note_sent(struct kvnet_kick_mod *m, unsigned int packets)
{
	m->packets += packets;
}

/* Long packets, or many per kick, need no moderation: start over with kicks enabled. */
static inline void kvnet_kick_mod_note_long(struct kvnet_kick_mod *m)
{
	m->packets = 0;
	m->stream_packets = 0;
	m->delay_ns = 0;
}

static inline void kvnet_kick_mod_note_vcpu(struct kvnet_kick_mod *m, u64 ns)
{
	kvnet_ewma_add(&m->vcpu_ewma_ns, ns);
}

/* A stream is left to the worker: its packets are close together and wait for no replies. */
static inline bool kvnet_kick_mod_is_stream(const struct kvnet_kick_mod *m)
{
	return !m->delay_ns && m->stream_packets >= KVNET_KICK_MOD_STREAM &&
	       (!m->vcpu_ewma_ns || m->gap_ns < KVNET_KICK_MOD_GAP_FACTOR * m->vcpu_ewma_ns);
}

#endif /* _KVNET_KICK_MOD_H */
