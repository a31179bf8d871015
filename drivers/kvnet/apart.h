/* SPDX-License-Identifier: GPL-2.0 */
/*
 * apart.h - policy: one thread for both queues, or one for each
 *
 * Two threads pay where both queues have work at the same time, and the CPUs are there
 * for it: then they do in half the time what one does in turns. Where one queue has
 * little to do beside the other, or they have it by turns (requests and answers), or
 * the threads take a CPU from each other or somebody else, one thread does it for less.
 * What there is to do is measured by the time that it takes. Each time it was not worth
 * it, it is tried later.
 *
 * Numbers and clock values in, decisions out.
 */
#ifndef _KVNET_APART_H
#define _KVNET_APART_H

#include <linux/kernel.h>
#include <linux/types.h>

/* So much work is enough to tell, in ns. */
#define KVNET_APART_WORK	2000000ULL

/* The lesser of both is to be one so-much-th of all work: to part, and to stay apart. */
#define KVNET_APART_PART	4
#define KVNET_APART_STAY	8

/* One thread that has not so much to do in so many times that time need not be two. */
#define KVNET_APART_TIMES	32

/* How long to wait before it is tried again, in ns; and what has been worth it. */
#define KVNET_APART_WAIT_MIN	16000000ULL
#define KVNET_APART_WAIT_MAX	4000000000ULL
#define KVNET_APART_LONG	1000000000ULL

/**
 * struct kvnet_work - what has been done so far, in ns; may only grow
 * @both: of each queue, while the other one had work, too
 * @all: of both queues, in any case
 * @crowded: of @all, while another thread waited for that CPU
 */
struct kvnet_work {
	u64 both[2];
	u64 all;
	u64 crowded;
};

/**
 * struct kvnet_apart - what is believed
 * @apart: each queue has a thread
 * @begin_ns: since when what is done counts
 * @begin: what had been done by then
 * @since_ns: since when it is as it is
 * @wait_ns: how long it has to have been so before they part
 */
struct kvnet_apart {
	bool apart;
	u64 begin_ns;
	struct kvnet_work begin;
	u64 since_ns;
	u64 wait_ns;
};

/**
 * kvnet_apart_reset() - one thread, and nothing has been done
 * @p: filled in
 */
static inline void kvnet_apart_reset(struct kvnet_apart *p)
{
	*p = (struct kvnet_apart) {};
}

/**
 * kvnet_apart_look() - would it be better the other way?
 * @p: what is believed
 * @now_ns: the time, of a clock that may go back a little
 * @done: what has been done so far
 *
 * Return: true if so: kvnet_apart_set() is to follow, if that can be.
 */
static inline bool kvnet_apart_look(struct kvnet_apart *p, u64 now_ns,
				    const struct kvnet_work *done)
{
	u64 a = done->both[0] - p->begin.both[0];
	u64 b = done->both[1] - p->begin.both[1];
	u64 all = done->all - p->begin.all;
	u64 crowded = done->crowded - p->begin.crowded;
	u64 took = now_ns > p->begin_ns ? now_ns - p->begin_ns : 0;

	if (!p->apart && took > KVNET_APART_TIMES * KVNET_APART_WORK) {
		all = 0;
	} else if (all < KVNET_APART_WORK) {
		return false;
	}
	p->begin_ns = now_ns;
	p->begin = *done;
	if (p->apart)
		return min(a, b) * KVNET_APART_STAY < all || crowded * 2 > all;
	return all && min(a, b) * KVNET_APART_PART >= all && crowded * 2 <= all &&
	       now_ns - p->since_ns >= p->wait_ns;
}

/**
 * kvnet_apart_set() - now it is so
 * @p: what is believed
 * @now_ns: the time
 * @apart: each queue has a thread; or it could not have one
 */
static inline void kvnet_apart_set(struct kvnet_apart *p, u64 now_ns, bool apart)
{
	if (!apart && p->apart && now_ns - p->since_ns >= KVNET_APART_LONG)
		p->wait_ns = KVNET_APART_WAIT_MIN;
	else if (!apart)
		p->wait_ns = clamp(p->wait_ns * 2, KVNET_APART_WAIT_MIN,
				   KVNET_APART_WAIT_MAX);
	p->apart = apart;
	p->since_ns = now_ns;
}

#endif /* _KVNET_APART_H */
