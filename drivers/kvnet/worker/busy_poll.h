/* SPDX-License-Identifier: GPL-2.0 */
/*
 * busy_poll.h - policy: the budget of a poll, and how long a worker busy-polls
 *
 * Pure: no locks, no clock reads. A budget belongs to one poll, the window to its worker;
 * netlink reads @window_ns without a lock.
 */
#ifndef _KVNET_BUSY_POLL_H
#define _KVNET_BUSY_POLL_H

#include <linux/kernel.h>
#include <linux/types.h>

/*
 * A poll ends when any of these is spent, which bounds how long an ioctl waits for vq->lock.
 * Pieces (segments or descriptors) bound a driver that cuts each packet into a thousand;
 * 16 per packet are allowed.
 */
#define KVNET_BUDGET_PACKETS	256
#define KVNET_BUDGET_BYTES	(512 * 1024)
#define KVNET_BUDGET_PIECES	4096

/* Budget of an inline poll by a vCPU thread: it costs less than waking the worker. */
#define KVNET_BUDGET_VCPU_PACKETS	4
#define KVNET_BUDGET_VCPU_BYTES	4096
#define KVNET_BUDGET_VCPU_PIECES	16
/* So many times as much for a poll by timer, which sends all packets since the last poll. */
#define KVNET_BUDGET_VCPU_TIMER_FACTOR	16

/* What is left of a poll's budget; spent if any is <= 0 */
struct kvnet_budget {
	int packets;
	int bytes;
	int pieces;	/* descriptors read, or segments of memory */
};

/* Busy-poll window of a worker */
struct kvnet_busy_poll {
	u64 window_ns;	/* how long to busy-poll now, in ns; 0: not at all */
};

void kvnet_busy_poll_limit(struct kvnet_busy_poll *p, u64 max_ns);
bool kvnet_busy_poll_has_expired(const struct kvnet_busy_poll *p, u64 start_ns, u64 now_ns);
void kvnet_busy_poll_adapt(struct kvnet_busy_poll *p, u64 idle_ns, u64 max_ns);

static inline void kvnet_budget_start(struct kvnet_budget *b)
{
	b->packets = KVNET_BUDGET_PACKETS;
	b->bytes = KVNET_BUDGET_BYTES;
	b->pieces = KVNET_BUDGET_PIECES;
}

/* @by_timer: kick moderation is on, and the ring is polled by timer. */
static inline void kvnet_budget_start_vcpu(struct kvnet_budget *b, bool by_timer)
{
	unsigned int times = by_timer ? KVNET_BUDGET_VCPU_TIMER_FACTOR : 1;

	b->packets = KVNET_BUDGET_VCPU_PACKETS * times;
	b->bytes = KVNET_BUDGET_VCPU_BYTES * times;
	b->pieces = KVNET_BUDGET_VCPU_PIECES * times;
}

/* Could the vCPU thread have done this poll of the worker within its own budget? */
static inline bool kvnet_budget_was_small(const struct kvnet_budget *b)
{
	return b->packets >= KVNET_BUDGET_PACKETS - KVNET_BUDGET_VCPU_PACKETS &&
	       b->bytes >= KVNET_BUDGET_BYTES - KVNET_BUDGET_VCPU_BYTES &&
	       b->pieces >= KVNET_BUDGET_PIECES - KVNET_BUDGET_VCPU_PIECES;
}

static inline bool kvnet_budget_is_spent(const struct kvnet_budget *b)
{
	return b->packets <= 0 || b->bytes <= 0 || b->pieces <= 0;
}

/* For each packet that was sent, received or dropped. True: the poll may go on. */
static inline bool kvnet_budget_spend(struct kvnet_budget *b, size_t bytes, unsigned int pieces)
{
	b->packets--;
	b->bytes -= min_t(size_t, bytes, KVNET_BUDGET_BYTES);
	b->pieces -= min_t(unsigned int, pieces, KVNET_BUDGET_PIECES);
	return !kvnet_budget_is_spent(b);
}

#endif /* _KVNET_BUSY_POLL_H */
