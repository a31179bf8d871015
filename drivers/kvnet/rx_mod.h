/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rx_mod.h - policy: is the next frame a lone one?
 *
 * A lone frame is received where it comes in, for less than waking a worker costs. In
 * a stream it is the other way about: a worker that is awake anyway takes many at a
 * time, and whoever sends them does not wait. In a stream frames come in less than
 * some times the time that it takes to receive one so, and nothing that the guest
 * sends has been waited for. It takes some frames to tell, and some more to believe
 * the opposite.
 *
 * Who looks into the tap of a stream again and again takes the line that the next frame's
 * place is in from whoever writes it, each time; and to be woken for each of its frames costs
 * who sends them more than the frame. So a tap that has been emptied is left alone for
 * some frames: by a worker that spins, and if they are short and the guest answers none of
 * them, by one that sleeps meanwhile.
 *
 * Numbers and clock values in, decisions out.
 */
#ifndef _KVNET_RX_MOD_H
#define _KVNET_RX_MOD_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "ewma.h"

/* Frames of a stream are less far apart, in times that one takes; and in ns. */
#define KVNET_RX_MOD_GAP_FACTOR	12
#define KVNET_RX_MOD_GAP_MIN_NS	5000

/* A stream's tap is left alone for so long when it is empty, in ns. */
#define KVNET_RX_MOD_BACKOFF_NS	8000

/* Frames of a stream that wake nobody; a part of those that the tap has room for. */
#define KVNET_RX_MOD_FRAMES_MAX	32U
#define KVNET_RX_MOD_ROOM_DIV	4

/* Turns in a row until the other is believed. */
#define KVNET_RX_MOD_POLLS	8

/* Frames that come together, and are lone ones still. */
#define KVNET_RX_MOD_FEW_FRAMES	4

/* No lone frame is longer. */
#define KVNET_RX_MOD_SHORT_LEN	2048

/**
 * struct kvnet_rx_mod - what a receive queue has seen
 * @last_ns: when nothing was left last
 * @inline_ewma_ns: what a turn that is in place takes
 * @tx_count: packets that the guest had sent by then
 * @may_coalesce: the next frames are a stream's that can wait
 * @coalescing: they do, so nobody looks meanwhile
 * @holdoff_polls: turns of short frames without an answer until they may again
 * @backoff_polls: how many that are if too few come once more
 * @latency_score: for lone frames, up to KVNET_RX_MOD_POLLS
 * @latency_mode: what is believed
 * @inline_skip: what has kept the last frame from being received in place: KVNET_STAT_NONE or the
 *	counter
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

/**
 * kvnet_rx_mod_reset() - nothing has been seen
 * @c: filled in
 */
static inline void kvnet_rx_mod_reset(struct kvnet_rx_mod *c)
{
	*c = (struct kvnet_rx_mod) {
		.latency_score = KVNET_RX_MOD_POLLS,
		.latency_mode = true,
	};
}

/**
 * kvnet_rx_mod_note_inline() - a turn has been in place
 * @c: the place
 * @ns: that it took
 */
static inline void kvnet_rx_mod_note_inline(struct kvnet_rx_mod *c, u64 ns)
{
	kvnet_ewma_add(&c->inline_ewma_ns, ns);
}

/* A turn that was for lone frames. */
static inline void kvnet_rx_mod_raise_score(struct kvnet_rx_mod *c)
{
	if (c->latency_score < KVNET_RX_MOD_POLLS)
		c->latency_score++;
	if (c->latency_score == KVNET_RX_MOD_POLLS)
		c->latency_mode = true;
}

/* One that was not. */
static inline void kvnet_rx_mod_lower_score(struct kvnet_rx_mod *c)
{
	if (c->latency_score)
		c->latency_score--;
	if (!c->latency_score)
		c->latency_mode = false;
}

/**
 * kvnet_rx_mod_update() - a turn is over
 * @c: the place
 * @now_ns: the time, of a clock that may go back
 * @frames: how many there were
 * @all_short: all were short, and none is left
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
		/* Nobody has looked: they need not have come together. */
		since /= frames;
		few = true;
	} else if (!c->latency_mode) {
		/* By which frames of a stream are found later. */
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

/**
 * kvnet_rx_mod_should_poll() - is it time to look for frames?
 * @c: the place; the last turn has left none
 * @now_ns: as of kvnet_rx_mod_update()
 *
 * Return: true if so; false for a while, in a stream.
 */
static inline bool kvnet_rx_mod_should_poll(const struct kvnet_rx_mod *c, u64 now_ns)
{
	return c->latency_mode || now_ns - c->last_ns >= KVNET_RX_MOD_BACKOFF_NS;
}

/**
 * kvnet_rx_mod_start() - how many of the next frames may wait?
 * @c: the place; the last turn has left none
 * @now_ns: as of kvnet_rx_mod_update()
 * @max_ns: so long at most
 * @room: frames that the tap has room for
 *
 * Return: frames, of a stream: they do wait, then; 0: the next one is not to.
 */
static inline unsigned int kvnet_rx_mod_start(struct kvnet_rx_mod *c, u64 now_ns, u64 max_ns,
					      unsigned int room)
{
	unsigned int frames = min(KVNET_RX_MOD_FRAMES_MAX, room / KVNET_RX_MOD_ROOM_DIV);

	/* Else it is over, or pauses. */
	c->coalescing = c->may_coalesce && frames && now_ns - c->last_ns < max_ns;
	return c->coalescing ? frames : 0;
}

#endif /* _KVNET_RX_MOD_H */
