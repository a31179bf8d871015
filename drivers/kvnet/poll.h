/* SPDX-License-Identifier: GPL-2.0 */
/*
 * poll.h - policy: how much at a time, and how long to look before sleeping
 *
 * Numbers and clock values in, decisions out.
 */
#ifndef _KVNET_POLL_H
#define _KVNET_POLL_H

#include <linux/kernel.h>
#include <linux/types.h>

/*
 * A turn ends when any is spent, so that a caller which waits for the queue's lock
 * does not wait for long. Pieces are for drivers that
 * cut a packet into a thousand: 16 in each packet are not too many.
 */
#define KVNET_TURN_PACKETS	256
#define KVNET_TURN_BYTES	(512 * 1024)
#define KVNET_TURN_PIECES	4096

/* The same, of the thread that kicked: less than it costs to wake another. */
#define KVNET_LENT_PACKETS	4
#define KVNET_LENT_BYTES	4096
#define KVNET_LENT_PIECES	16
/* So many times as much if it is for all packets of a while. */
#define KVNET_LENT_LOOK		16

/**
 * struct kvnet_budget - what is left of a turn
 * @packets: packets
 * @bytes: bytes
 * @pieces: descriptors to look at, or pieces of memory
 */
struct kvnet_budget {
	int packets;
	int bytes;
	int pieces;
};

/**
 * struct kvnet_poll - the spin window of a worker
 * @cap: the longest window, in ns; 0: never spin
 * @window: how long to spin now, in ns, at most @cap
 */
struct kvnet_poll {
	u64 cap;
	u64 window;
};

void kvnet_poll_set_cap(struct kvnet_poll *p, u64 cap_ns);
bool kvnet_poll_expired(const struct kvnet_poll *p, u64 start_ns, u64 now_ns);
void kvnet_poll_learn(struct kvnet_poll *p, u64 idle_ns);

/**
 * kvnet_budget_start() - a new turn of the worker
 * @b: the budget
 */
static inline void kvnet_budget_start(struct kvnet_budget *b)
{
	b->packets = KVNET_TURN_PACKETS;
	b->bytes = KVNET_TURN_BYTES;
	b->pieces = KVNET_TURN_PIECES;
}

/**
 * kvnet_budget_start_lent() - a turn of a thread that has something else to do
 * @b: the budget
 * @looks: nobody has kicked: it looks from time to time
 */
static inline void kvnet_budget_start_lent(struct kvnet_budget *b, bool looks)
{
	unsigned int times = looks ? KVNET_LENT_LOOK : 1;

	b->packets = KVNET_LENT_PACKETS * times;
	b->bytes = KVNET_LENT_BYTES * times;
	b->pieces = KVNET_LENT_PIECES * times;
}

/**
 * kvnet_budget_little() - was there so little in a turn of the worker that the thread
 *	that kicked could have done it?
 * @b: what is left of the budget
 *
 * Return: true if so.
 */
static inline bool kvnet_budget_little(const struct kvnet_budget *b)
{
	return b->packets >= KVNET_TURN_PACKETS - KVNET_LENT_PACKETS &&
	       b->bytes >= KVNET_TURN_BYTES - KVNET_LENT_BYTES &&
	       b->pieces >= KVNET_TURN_PIECES - KVNET_LENT_PIECES;
}

/**
 * kvnet_budget_spent() - did the turn end with its budget?
 * @b: the budget
 *
 * Return: true if so.
 */
static inline bool kvnet_budget_spent(const struct kvnet_budget *b)
{
	return b->packets <= 0 || b->bytes <= 0 || b->pieces <= 0;
}

/**
 * kvnet_budget_spend() - account for a packet, sent, received or dropped
 * @b: the budget
 * @bytes: its length
 * @pieces: that it was in, or would have gone into
 *
 * Return: true if the turn may go on.
 */
static inline bool kvnet_budget_spend(struct kvnet_budget *b, size_t bytes,
				      unsigned int pieces)
{
	b->packets--;
	b->bytes -= min_t(size_t, bytes, KVNET_TURN_BYTES);
	b->pieces -= min_t(unsigned int, pieces, KVNET_TURN_PIECES);
	return !kvnet_budget_spent(b);
}

#endif /* _KVNET_POLL_H */
