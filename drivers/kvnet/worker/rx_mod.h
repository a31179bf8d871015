/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rx_mod.h - policy: inline RX or the worker, and coalescing of a stream's frames
 *
 * Latency mode: a single frame is received in its sender's softirq, which costs less than
 * waking the worker. In a stream the worker is better: it is awake anyway, receives many
 * frames per poll, and does not delay the sender. Frames are a stream if they are closer than
 * some times the cost of one inline poll, and the guest sends nothing in between. The mode
 * has hysteresis: it flips after KVNET_RX_MOD_POLLS polls.
 *
 * Polling the empty ring of a stream's tap pulls the producer's cache line for every frame,
 * and a wake-up per frame costs the sender more than the frame. So a busy-polling worker that
 * has emptied such a tap does not read it for KVNET_RX_MOD_BACKOFF_NS. If the frames are short
 * and the guest replies to none, they are coalesced, and the worker sleeps meanwhile.
 *
 * Pure: no locks, no clock reads. All state belongs to the running session; rx_pending()
 * reads it without a session.
 */
#ifndef _KVNET_RX_MOD_H
#define _KVNET_RX_MOD_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "ewma.h"

/* Gaps of a stream are below the larger of GAP_FACTOR inline polls and GAP_MIN_NS. */
#define KVNET_RX_MOD_GAP_FACTOR	12
#define KVNET_RX_MOD_GAP_MIN_NS	5000

/* A busy-polling worker does not read the tap of a stream for so long, in ns. */
#define KVNET_RX_MOD_BACKOFF_NS	8000

/* Maximum of coalesced frames; they may fill at most 1/ROOM_DIV of the tap's ring. */
#define KVNET_RX_MOD_FRAMES_MAX	32U
#define KVNET_RX_MOD_ROOM_DIV	4

/* Polls until the mode flips; also polls without coalescing after a long frame or a reply. */
#define KVNET_RX_MOD_POLLS	8

/* So many frames in one poll are no stream yet. */
#define KVNET_RX_MOD_FEW_FRAMES	4

/* Longest frame for inline RX and, on average, for coalescing, in bytes. */
#define KVNET_RX_MOD_SHORT_LEN	2048

/**
 * struct kvnet_rx_mod - receive policy of a queue; in a session
 * @last_ns: local clock of the last kvnet_rx_mod_update()
 * @inline_ewma_ns: EWMA of an inline poll of one frame; 0: none yet
 * @tx_count: packets that the guest had sent at @last_ns
 * @may_coalesce: the last frames were a stream that may be coalesced
 * @coalescing: coalescing is in effect since the last poll
 * @holdoff_polls: polls of short frames without a reply until coalescing is tried again
 * @backoff_polls: @holdoff_polls after coalescing: 0, or 1, 3, 7 .. 255 if it brings few frames
 * @latency_score: 0 to KVNET_RX_MOD_POLLS: plus one for a poll without a stream, else minus one
 * @latency_mode: true from the highest score until the lowest: inline RX is allowed
 * @inline_skip: why the last frame was not received inline: a counter, or KVNET_STAT_NONE
 */
struct kvnet_rx_mod {
	u64 last_ns;
	u32 inline_ewma_ns;
	unsigned long tx_count;
	bool may_coalesce;
	bool coalescing;
	u8 holdoff_polls;
	u8 backoff_polls;
	u8 latency_score;
	bool latency_mode;
	u8 inline_skip;
};

static inline void kvnet_rx_mod_reset(struct kvnet_rx_mod *c)
{
	*c = (struct kvnet_rx_mod) {
		.latency_score = KVNET_RX_MOD_POLLS,
		.latency_mode = true,
	};
}

static inline void kvnet_rx_mod_note_inline(struct kvnet_rx_mod *c, u64 ns)
{
	kvnet_ewma_add(&c->inline_ewma_ns, ns);
}

static inline void kvnet_rx_mod_raise_score(struct kvnet_rx_mod *c)
{
	if (c->latency_score < KVNET_RX_MOD_POLLS)
		c->latency_score++;
	if (c->latency_score == KVNET_RX_MOD_POLLS)
		c->latency_mode = true;
}

static inline void kvnet_rx_mod_lower_score(struct kvnet_rx_mod *c)
{
	if (c->latency_score)
		c->latency_score--;
	if (!c->latency_score)
		c->latency_mode = false;
}

/**
 * kvnet_rx_mod_update() - account for a poll
 * @c: receive policy of the queue
 * @now_ns: local clock, which may go back
 * @frames: frames of this poll
 * @all_short: as @small of kvnet_rx_update_mode()
 * @tx_count: packets that the guest has sent so far
 */
static inline void kvnet_rx_mod_update(struct kvnet_rx_mod *c, u64 now_ns,
				    unsigned int frames, bool all_short,
				    unsigned long tx_count)
{
	u32 gap = max_t(u32, KVNET_RX_MOD_GAP_FACTOR * c->inline_ewma_ns, KVNET_RX_MOD_GAP_MIN_NS);
	u32 since = min_t(u64, now_ns - c->last_ns, U32_MAX);
	bool few = frames <= KVNET_RX_MOD_FEW_FRAMES, was_coalescing = c->coalescing;
	bool far_apart, guest_sent = tx_count != c->tx_count;

	c->coalescing = false;
	c->may_coalesce = false;
	if (was_coalescing) {
		c->backoff_polls = few ? min(2 * c->backoff_polls + 1, 255) : 0;
		c->holdoff_polls = c->backoff_polls;
	}
	if (was_coalescing && frames) {
		/* The tap was not polled meanwhile, so the frames came spread over that time. */
		since /= frames;
		few = true;
	} else if (!c->latency_mode) {
		/* kvnet_rx_mod_should_poll() delays the poll of a stream by that. */
		gap += KVNET_RX_MOD_BACKOFF_NS;
	}
	far_apart = since >= gap || guest_sent;
	c->last_ns = now_ns;
	c->tx_count = tx_count;
	if (all_short && !frames)
		return;
	if (!all_short || guest_sent)
		c->holdoff_polls = max_t(u8, c->holdoff_polls, KVNET_RX_MOD_POLLS);
	if (all_short && few && far_apart) {
		kvnet_rx_mod_raise_score(c);
		return;
	}
	kvnet_rx_mod_lower_score(c);
	if (all_short && !c->holdoff_polls)
		c->may_coalesce = !c->latency_mode;
	else if (all_short)
		c->holdoff_polls--;
}

/* May the busy-polling worker read the tap's ring again, which the last poll left empty? */
static inline bool kvnet_rx_mod_should_poll(const struct kvnet_rx_mod *c, u64 now_ns)
{
	return c->latency_mode || now_ns - c->last_ns >= KVNET_RX_MOD_BACKOFF_NS;
}

/**
 * kvnet_rx_mod_start() - start coalescing, if the last frames were a stream
 * @c: receive policy of the queue, whose tap the last poll left empty
 * @now_ns: as of kvnet_rx_mod_update()
 * @max_ns: rx_usecs, in ns
 * @room: size of the tap's ring, in frames
 *
 * Return: frames that need not wake the worker, which then needs a timer; 0: none.
 */
static inline unsigned int kvnet_rx_mod_start(struct kvnet_rx_mod *c, u64 now_ns, u64 max_ns,
					      unsigned int room)
{
	unsigned int frames = min(KVNET_RX_MOD_FRAMES_MAX, room / KVNET_RX_MOD_ROOM_DIV);

	/* After a longer gap the stream is over or pauses. */
	c->coalescing = c->may_coalesce && frames && now_ns - c->last_ns < max_ns;
	return c->coalescing ? frames : 0;
}

#endif /* _KVNET_RX_MOD_H */
