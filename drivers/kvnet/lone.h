/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lone.h - policy: is the next frame a lone one?
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
#ifndef _KVNET_LONE_H
#define _KVNET_LONE_H

#include <linux/kernel.h>
#include <linux/types.h>

#include "cost.h"

/* Frames of a stream are less far apart, in times that one takes; and in ns. */
#define KVNET_LONE_TIMES	12
#define KVNET_LONE_GAP		5000

/* A stream's tap is left alone for so long when it is empty, in ns. */
#define KVNET_LONE_PAUSE	8000

/* Frames of a stream that wake nobody; a part of those that the tap has room for. */
#define KVNET_LONE_WAIT		32U
#define KVNET_LONE_ROOM		4

/* Turns in a row until the other is believed. */
#define KVNET_LONE_TURNS	8

/* Frames that come together, and are lone ones still. */
#define KVNET_LONE_FRAMES	4

/* No lone frame is longer. */
#define KVNET_LONE_LEN		2048

/**
 * struct kvnet_lone - what a receive queue has seen
 * @last_ns: when nothing was left last
 * @cost_ns: what a turn that is in place takes
 * @answers: packets that the guest had sent by then
 * @waits: the next frames are a stream's that can wait
 * @rested: they do, so nobody looks meanwhile
 * @tries: turns of short frames without an answer until they may again
 * @poor: how many that are if too few come once more
 * @score: for lone frames, up to KVNET_LONE_TURNS
 * @lone: what is believed
 * @why: what has kept the last frame from being received in place: KVNET_STAT_NONE or the counter
 */
struct kvnet_lone {
	u64 last_ns;
	u32 cost_ns;
	unsigned long answers;
	bool waits;
	bool rested;
	u8 tries;
	u8 poor;
	u8 score;
	bool lone;
	u8 why;
};

/**
 * kvnet_lone_reset() - nothing has been seen
 * @p: filled in
 */
static inline void kvnet_lone_reset(struct kvnet_lone *p)
{
	*p = (struct kvnet_lone) {
		.score = KVNET_LONE_TURNS,
		.lone = true,
	};
}

/**
 * kvnet_lone_took() - a turn has been in place
 * @p: the place
 * @ns: that it took
 */
static inline void kvnet_lone_took(struct kvnet_lone *p, u64 ns)
{
	kvnet_cost_add(&p->cost_ns, ns);
}

/* A turn that was for lone frames. */
static inline void kvnet_lone_more(struct kvnet_lone *p)
{
	if (p->score < KVNET_LONE_TURNS)
		p->score++;
	if (p->score == KVNET_LONE_TURNS)
		p->lone = true;
}

/* One that was not. */
static inline void kvnet_lone_less(struct kvnet_lone *p)
{
	if (p->score)
		p->score--;
	if (!p->score)
		p->lone = false;
}

/**
 * kvnet_lone_turn() - a turn is over
 * @p: the place
 * @now_ns: the time, of a clock that may go back
 * @frames: how many there were
 * @small: all were short, and none is left
 * @answers: packets that the guest has sent so far
 */
static inline void kvnet_lone_turn(struct kvnet_lone *p, u64 now_ns,
				    unsigned int frames, bool small,
				    unsigned long answers)
{
	u32 gap = max_t(u32, KVNET_LONE_TIMES * p->cost_ns, KVNET_LONE_GAP);
	u32 since = min_t(u64, now_ns - p->last_ns, U32_MAX);
	bool few = frames <= KVNET_LONE_FRAMES, rested = p->rested;
	bool apart, answered = answers != p->answers;

	p->rested = false;
	p->waits = false;
	if (rested) {
		p->poor = few ? min(2 * p->poor + 1, 255) : 0;
		p->tries = p->poor;
	}
	if (rested && frames) {
		/* Nobody has looked: they need not have come together. */
		since /= frames;
		few = true;
	} else if (!p->lone) {
		/* By which frames of a stream are found later. */
		gap += KVNET_LONE_PAUSE;
	}
	apart = since >= gap || answered;
	p->last_ns = now_ns;
	p->answers = answers;
	if (small && !frames)
		return;
	if (!small || answered)
		p->tries = max_t(u8, p->tries, KVNET_LONE_TURNS);
	if (small && few && apart) {
		kvnet_lone_more(p);
		return;
	}
	kvnet_lone_less(p);
	if (small && !p->tries)
		p->waits = !p->lone;
	else if (small)
		p->tries--;
}

/**
 * kvnet_lone_look() - is it time to look for frames?
 * @p: the place; the last turn has left none
 * @now_ns: as of kvnet_lone_turn()
 *
 * Return: true if so; false for a while, in a stream.
 */
static inline bool kvnet_lone_look(const struct kvnet_lone *p, u64 now_ns)
{
	return p->lone || now_ns - p->last_ns >= KVNET_LONE_PAUSE;
}

/**
 * kvnet_lone_wait() - how many of the next frames may wait?
 * @p: the place; the last turn has left none
 * @now_ns: as of kvnet_lone_turn()
 * @most_ns: so long at most
 * @room: frames that the tap has room for
 *
 * Return: frames, of a stream: they do wait, then; 0: the next one is not to.
 */
static inline unsigned int kvnet_lone_wait(struct kvnet_lone *p, u64 now_ns, u64 most_ns,
					   unsigned int room)
{
	unsigned int frames = min(KVNET_LONE_WAIT, room / KVNET_LONE_ROOM);

	/* Else it is over, or pauses. */
	p->rested = p->waits && frames && now_ns - p->last_ns < most_ns;
	return p->rested ? frames : 0;
}

#endif /* _KVNET_LONE_H */
