/* SPDX-License-Identifier: GPL-2.0 */
/*
 * claim.h - who may run a source: one at a time, and never nobody
 *
 * A source rests, or somebody holds it. An event that it rests for ends the rest:
 * whoever brought the event holds the source then, and hands it to somebody who
 * runs it. Nobody else touches what is the holder's. Documentation/worker.rst
 * draws the states; selftests/unit/claim_test.c tries all orders.
 */
#ifndef _KVNET_CLAIM_H
#define _KVNET_CLAIM_H

#include <linux/atomic.h>
#include <linux/bits.h>
#include <linux/types.h>

/* What can end a rest. */
#define KVNET_EV_KICK	BIT(0)	/* the driver's kick */
#define KVNET_EV_TAP	BIT(1)	/* the tap became readable or writable */
#define KVNET_EV_TIME	BIT(2)	/* it is time to look again */
#define KVNET_EV_CTRL	BIT(3)	/* set-up changed; never ignored */

/* Else it rests, for the events in its lower bits. */
#define KVNET_CLAIM_HELD	BIT(8)	/* by its worker, or who hands it over */
#define KVNET_CLAIM_LENT	BIT(9)	/* by a thread that has not begun yet */
#define KVNET_CLAIM_CHANGED	BIT(10)	/* KVNET_EV_CTRL while it was held */

#define KVNET_CLAIM_BUSY	(KVNET_CLAIM_HELD | KVNET_CLAIM_LENT)

/**
 * struct kvnet_claim - who holds a source
 * @state: KVNET_CLAIM_*, or KVNET_EV_*
 */
struct kvnet_claim {
	atomic_t state;
};

/**
 * kvnet_claim_reset() - it rests, for nothing but KVNET_EV_CTRL
 * @c: the claim; nobody holds it, nor is there anybody who could
 */
static inline void kvnet_claim_reset(struct kvnet_claim *c)
{
	atomic_set(&c->state, 0);
}

/**
 * kvnet_claim_event() - an event
 * @c: the claim
 * @event: one KVNET_EV_*
 * @as: how to hold it, KVNET_CLAIM_HELD or KVNET_CLAIM_LENT
 *
 * One that is not rested for is dropped: whoever rests looks once more
 * afterwards. With kvnet_claim_rest() this makes pair E of
 * Documentation/ordering.rst.
 *
 * Context: any.
 * Return: true if the caller holds the source now.
 */
static inline bool kvnet_claim_event(struct kvnet_claim *c, int event, int as)
{
	int old, new;

	/* E: what the event is about, before the wish for it. */
	smp_mb();
	old = atomic_read(&c->state);
	do {
		if (event != KVNET_EV_CTRL && !(old & event))
			return false;
		new = old & KVNET_CLAIM_BUSY ? old | KVNET_CLAIM_CHANGED : as;
	} while (!atomic_try_cmpxchg(&c->state, &old, new));
	return !(old & KVNET_CLAIM_BUSY);
}

/**
 * kvnet_claim_rest() - the holder lets it rest
 * @c: the claim, held
 * @events: KVNET_EV_* that end the rest
 *
 * The caller looks for work after this, and for kvnet_claim_again() if there is.
 *
 * Return: false if the set-up has changed meanwhile: it is still held.
 */
static inline bool kvnet_claim_rest(struct kvnet_claim *c, int events)
{
	int old = KVNET_CLAIM_HELD;

	/* E: the wish before the second look; fully ordered if it succeeds. */
	if (atomic_try_cmpxchg(&c->state, &old, events))
		return true;
	atomic_xchg(&c->state, KVNET_CLAIM_HELD);
	return false;
}

/**
 * kvnet_claim_again() - who let it rest has found work after all
 * @c: the claim
 *
 * Return: true if the caller holds it again; else somebody else does.
 */
static inline bool kvnet_claim_again(struct kvnet_claim *c)
{
	int old = atomic_read(&c->state);

	do {
		if (old & KVNET_CLAIM_BUSY)
			return false;
	} while (!atomic_try_cmpxchg(&c->state, &old, KVNET_CLAIM_HELD));
	return true;
}

/**
 * kvnet_claim_take_lent() - begin what it was lent for, or call it off
 * @c: the claim
 *
 * Return: true if the caller holds it; else it was not lent, or not any more.
 */
static inline bool kvnet_claim_take_lent(struct kvnet_claim *c)
{
	int old = atomic_read(&c->state);

	do {
		if (!(old & KVNET_CLAIM_LENT))
			return false;
	} while (!atomic_try_cmpxchg(&c->state, &old,
				     old ^ KVNET_CLAIM_BUSY));
	return true;
}

/**
 * kvnet_claim_changed() - has the set-up changed since it is held?
 * @c: the claim
 *
 * Return: true if so; kvnet_claim_rest() will say it once more.
 */
static inline bool kvnet_claim_changed(const struct kvnet_claim *c)
{
	return atomic_read(&c->state) & KVNET_CLAIM_CHANGED;
}

#endif /* _KVNET_CLAIM_H */
