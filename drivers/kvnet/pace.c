// SPDX-License-Identifier: GPL-2.0
/*
 * pace.c - when to ask for kicks, see pace.h
 *
 * What a kick costs cannot be seen from here; but it can be tried. After some packets
 * in a row the device does not ask for a kick, and looks after twice the time in which
 * one packet came. If they come half as often again as with kicks, or more, and a look
 * is for more than one, it goes on like that; else it goes back, and waits for twice as
 * many before it tries again. A kick for very many packets costs nothing that is worth
 * a try.
 */
#include "pace.h"

#include <linux/kernel.h>

/* In ns. A packet after a longer gap is a lone one. */
#define GAP_MAX		50000000
#define DELAY_MIN	5000
#define DELAY_MAX	250000

/* Packets in a row before a try; what an answer makes up for. */
#define PATIENCE_MIN	KVNET_PACE_STREAK
#define PATIENCE_MAX	1024
#define ANSWER		8

/* Packets of a look: fewer, and the next is later; more, and it is sooner. */
#define FEW		8
#define MANY		64

/**
 * kvnet_pace_reset() - a queue begins
 * @p: the pace
 */
void kvnet_pace_reset(struct kvnet_pace *p)
{
	*p = (struct kvnet_pace) { .patience = PATIENCE_MIN };
}

/* The driver has kicked for some packets. */
static void kicked(struct kvnet_pace *p, u64 gap_ns)
{
	if (gap_ns > GAP_MAX || p->packets >= MANY) {
		p->streak = 0;
		return;
	}
	if (p->streak)
		p->gap_ns += ((int)gap_ns - (int)p->gap_ns) / 8;
	else
		p->gap_ns = gap_ns;
	p->streak = min(p->streak + p->packets, (u32)PATIENCE_MAX);
	if (p->streak < p->patience)
		return;
	p->poor = true;
	p->delay_ns = clamp(2 * p->gap_ns, (u32)DELAY_MIN, (u32)DELAY_MAX);
}

/* The device has looked after some time. */
static void looked(struct kvnet_pace *p, u64 since_ns)
{
	bool poor = p->packets < 2 ||
		    2 * (u64)p->packets * p->gap_ns < 3 * since_ns;

	/* Once may be by chance. */
	if (poor && p->poor) {
		p->streak = p->packets ? KVNET_PACE_STREAK : KVNET_PACE_STREAK / 2;
		p->delay_ns = 0;
		p->patience = min(2 * p->patience, (u32)PATIENCE_MAX);
		return;
	}
	p->poor = poor;
	if (!poor)
		p->patience = PATIENCE_MIN;
	if (p->packets < FEW)
		p->delay_ns = min(2 * p->delay_ns, (u32)DELAY_MAX);
	else if (p->packets > MANY && p->delay_ns > DELAY_MIN)
		p->delay_ns = max(p->delay_ns / 2, (u32)DELAY_MIN);
	else if (p->packets > MANY)
		kvnet_pace_slow(p);
}

/* Frames to the guest: what it sends may be their answers, or they its. */
static void answered(struct kvnet_pace *p, unsigned long frames)
{
	u32 worth = ANSWER * min(frames, 1000UL);

	if (p->delay_ns && worth >= p->packets) {
		p->delay_ns = 0;
		p->streak = 0;
	}
	p->streak -= min(p->streak, worth);
}

/**
 * kvnet_pace_rest() - nothing is left to send: what to wait for?
 * @p: the pace
 * @now_ns: the time, of a clock that may go back
 * @answers: frames that the guest has received so far
 *
 * Return: in how many ns to look again; 0: ask the driver for a kick.
 */
u32 kvnet_pace_rest(struct kvnet_pace *p, u64 now_ns, unsigned long answers)
{
	u64 since = min(now_ns - p->last_ns, 1ULL << 32);

	if (answers != p->answers)
		answered(p, answers - p->answers);
	if (p->delay_ns)
		looked(p, since);
	else if (p->packets)
		kicked(p, (u32)min(since, (u64)U32_MAX) / p->packets);
	p->packets = 0;
	p->answers = answers;
	p->last_ns = now_ns;
	return p->delay_ns;
}
