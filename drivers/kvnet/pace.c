// SPDX-License-Identifier: GPL-2.0
/*
 * pace.c - when to ask for kicks, see pace.h
 *
 * All is measured in what a turn for one packet takes on this machine: a stream has
 * a packet in eight such times, or more often; the device looks again after four,
 * and later if it found little, up to thirty-two. So what a packet waits is of the
 * order of what it would cost the guest to kick.
 */
#include "pace.h"

#include <linux/kernel.h>

/* Of the cost of a turn, in ns: neither nothing nor a turn that was interrupted. */
#define COST_MIN	500
#define COST_MAX	8000

/* In turns: the gap of a stream, the first and the longest delay. */
#define GAP		8
#define DELAY_MIN	4
#define DELAY_MAX	32

/* Packets in a row that make a stream; an answer makes up for some. */
#define STREAK		16
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
	*p = (struct kvnet_pace) { .cost_ns = COST_MIN };
}

/**
 * kvnet_pace_turn() - a turn has sent packets
 * @p: the pace
 * @took_ns: the time that it took
 * @packets: how many
 */
void kvnet_pace_turn(struct kvnet_pace *p, u64 took_ns, unsigned int packets)
{
	u32 cost;

	p->packets += packets;
	if (packets != 1)
		return;
	cost = clamp_t(u64, took_ns, COST_MIN, COST_MAX);
	p->cost_ns += (s32)(cost - p->cost_ns) / 8;
}

/* No look has to be more than once in a few packets. */
static u32 next_delay(const struct kvnet_pace *p)
{
	u32 delay = p->delay_ns;

	if (p->packets < FEW)
		delay *= 2;
	else if (p->packets > MANY)
		delay /= 2;
	return clamp(delay, p->cost_ns * DELAY_MIN, p->cost_ns * DELAY_MAX);
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
	bool soon = now_ns - p->last_ns <= (u64)p->cost_ns * GAP;
	unsigned long answered = min(answers - p->answers, 1024UL);

	if (p->delay_ns)
		soon = p->packets;
	p->streak = soon ? min(p->streak + (int)min(p->packets, 64U), 2 * STREAK) : 0;
	p->streak = max(p->streak - ANSWER * (int)answered, 0);
	if (p->streak < STREAK)
		p->delay_ns = 0;
	else
		p->delay_ns = next_delay(p);
	p->packets = 0;
	p->answers = answers;
	p->last_ns = now_ns;
	return p->delay_ns;
}
