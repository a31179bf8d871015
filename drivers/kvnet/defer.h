/* SPDX-License-Identifier: GPL-2.0 */
/*
 * defer.h - policy: is it of use to call a driver later, and how much later?
 *
 * A driver that sends again soon sees by itself that the last packet has been sent. One
 * that does not has been made to wait for nothing: the timer calls it then, for more than
 * a call at once costs, and maybe it could not send before.
 *
 * Numbers in, decisions out.
 */
#ifndef _KVNET_DEFER_H
#define _KVNET_DEFER_H

#include <linux/kernel.h>
#include <linux/types.h>

/* Calls by the timer until it is believed to be of no use; then one in some is a try. */
#define KVNET_DEFER_LATE	4
#define KVNET_DEFER_TRY		16

/* So many gaps between packets, at least and at most; and so many ns for a gap. */
#define KVNET_DEFER_GAPS	2
#define KVNET_DEFER_GAPS_MOST	4
#define KVNET_DEFER_MIN		25000

/**
 * struct kvnet_defer - what came of calls that were put off
 * @late: the timer made them, up to KVNET_DEFER_LATE; one less for each that was not
 *	  needed
 * @turns: since it is of no use
 * @since_ns: when a timer was first set for the call that is owed; 0: not yet
 */
struct kvnet_defer {
	u8 late;
	u8 turns;
	u64 since_ns;
};

/**
 * kvnet_defer_pays() - may the next call be put off?
 * @d: the policy; told once for each turn
 *
 * Return: true if so.
 */
static inline bool kvnet_defer_pays(struct kvnet_defer *d)
{
	return d->late < KVNET_DEFER_LATE || !(++d->turns % KVNET_DEFER_TRY);
}

/**
 * kvnet_defer_begin() - a call is put off, and none was owed
 * @d: the policy
 */
static inline void kvnet_defer_begin(struct kvnet_defer *d)
{
	d->since_ns = 0;
}

/**
 * kvnet_defer_left() - how long may the call wait that is owed?
 * @d: the policy; told whenever a timer is about to be set
 * @now_ns: the local clock
 * @cap_ns: the longest time, from the first timer on, whatever is sent meanwhile
 *
 * Return: ns; 0 also if the clock has gone back.
 */
static inline u32 kvnet_defer_left(struct kvnet_defer *d, u64 now_ns, u32 cap_ns)
{
	if (!d->since_ns)
		d->since_ns = now_ns;
	return cap_ns - min_t(u64, now_ns - d->since_ns, cap_ns);
}

/**
 * kvnet_defer_late() - the timer has made a call
 * @d: the policy
 */
static inline void kvnet_defer_late(struct kvnet_defer *d)
{
	if (d->late < KVNET_DEFER_LATE)
		d->late++;
}

/**
 * kvnet_defer_moot() - the driver has seen by itself what a call was owed for
 * @d: the policy
 */
static inline void kvnet_defer_moot(struct kvnet_defer *d)
{
	if (d->late)
		d->late--;
}

/**
 * kvnet_defer_ns() - how long to wait for the driver's next packet
 * @gap_ns: from packet to packet, as far as is known
 * @gaps: so many of them
 * @cap_ns: kvnet_defer_left()
 *
 * Return: ns.
 */
static inline u32 kvnet_defer_ns(u32 gap_ns, u32 gaps, u32 cap_ns)
{
	return min_t(u64, (u64)gaps * max(gap_ns, (u32)KVNET_DEFER_MIN), cap_ns);
}

#endif /* _KVNET_DEFER_H */
