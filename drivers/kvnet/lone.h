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
 * place is in from whoever writes it, each time. So a tap that has been emptied is left
 * alone for some frames.
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
 * @score: for lone frames, up to KVNET_LONE_TURNS
 * @lone: what is believed
 * @why: what has kept the last frame from being received in place, a counter; or 0
 */
struct kvnet_lone {
	u64 last_ns;
	u32 cost_ns;
	unsigned long answers;
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
	bool apart;

	/* By which frames of a stream are found later. */
	if (!p->lone)
		gap += KVNET_LONE_PAUSE;
	apart = now_ns - p->last_ns >= gap || answers != p->answers;
	p->last_ns = now_ns;
	p->answers = answers;
	if (small && !frames)
		return;
	if (small && frames <= KVNET_LONE_FRAMES && apart) {
		if (p->score < KVNET_LONE_TURNS)
			p->score++;
		if (p->score == KVNET_LONE_TURNS)
			p->lone = true;
		return;
	}
	if (p->score)
		p->score--;
	if (!p->score)
		p->lone = false;
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

#endif /* _KVNET_LONE_H */
