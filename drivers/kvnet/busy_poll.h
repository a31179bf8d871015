/* SPDX-License-Identifier: GPL-2.0 */
/*
 * busy_poll.h - policy: how much at a time, and how long to look before sleeping
 *
 * Numbers and clock values in, decisions out.
 */
#ifndef _KVNET_BUSY_POLL_H
#define _KVNET_BUSY_POLL_H

#include <linux/kernel.h>
#include <linux/types.h>

/*
 * A turn ends when any is spent, so that a caller which waits for the queue's lock
 * does not wait for long. Pieces are for drivers that
 * cut a packet into a thousand: 16 in each packet are not too many.
 */
#define KVNET_BUDGET_PACKETS	256
#define KVNET_BUDGET_BYTES	(512 * 1024)
#define KVNET_BUDGET_PIECES	4096

/* The same, of the thread that kicked: less than it costs to wake another. */
#define KVNET_BUDGET_VCPU_PACKETS	4
#define KVNET_BUDGET_VCPU_BYTES	4096
#define KVNET_BUDGET_VCPU_PIECES	16
/* So many times as much if it is for all packets of a while. */
#define KVNET_BUDGET_VCPU_TIMER_FACTOR	16

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
 * struct kvnet_busy_poll - the spin window of a worker
 * @max_ns: the longest window, in ns; 0: never spin
 * @window_ns: how long to spin now, in ns, at most @max_ns
 */
struct kvnet_busy_poll {
	u64 max_ns;
	u64 window_ns;
};

void kvnet_busy_poll_set_max(struct kvnet_busy_poll *p, u64 max_ns);
bool kvnet_busy_poll_has_expired(const struct kvnet_busy_poll *p, u64 start_ns, u64 now_ns);
void kvnet_busy_poll_adapt(struct kvnet_busy_poll *p, u64 idle_ns);

/**
 * kvnet_budget_start() - a new turn of the worker
 * @b: the budget
 */
static inline void kvnet_budget_start(struct kvnet_budget *b)
{
	b->packets = KVNET_BUDGET_PACKETS;
	b->bytes = KVNET_BUDGET_BYTES;
	b->pieces = KVNET_BUDGET_PIECES;
}

/**
 * kvnet_budget_start_vcpu() - a turn of a thread that has something else to do
 * @b: the budget
 * @by_timer: nobody has kicked: it looks from time to time
 */
static inline void kvnet_budget_start_vcpu(struct kvnet_budget *b, bool by_timer)
{
	unsigned int times = by_timer ? KVNET_BUDGET_VCPU_TIMER_FACTOR : 1;

	b->packets = KVNET_BUDGET_VCPU_PACKETS * times;
	b->bytes = KVNET_BUDGET_VCPU_BYTES * times;
	b->pieces = KVNET_BUDGET_VCPU_PIECES * times;
}

/**
 * kvnet_budget_was_small() - was there so little in a turn of the worker that the thread
 *	that kicked could have done it?
 * @b: what is left of the budget
 *
 * Return: true if so.
 */
static inline bool kvnet_budget_was_small(const struct kvnet_budget *b)
{
	return b->packets >= KVNET_BUDGET_PACKETS - KVNET_BUDGET_VCPU_PACKETS &&
	       b->bytes >= KVNET_BUDGET_BYTES - KVNET_BUDGET_VCPU_BYTES &&
	       b->pieces >= KVNET_BUDGET_PIECES - KVNET_BUDGET_VCPU_PIECES;
}

/**
 * kvnet_budget_is_spent() - did the turn end with its budget?
 * @b: the budget
 *
 * Return: true if so.
 */
static inline bool kvnet_budget_is_spent(const struct kvnet_budget *b)
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
	b->bytes -= min_t(size_t, bytes, KVNET_BUDGET_BYTES);
	b->pieces -= min_t(unsigned int, pieces, KVNET_BUDGET_PIECES);
	return !kvnet_budget_is_spent(b);
}

#endif /* _KVNET_BUSY_POLL_H */
