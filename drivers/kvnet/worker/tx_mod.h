/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tx_mod.h - policy: defer the call for transmitted packets (tx-usecs), and for how long?
 *
 * A driver that sends again soon reads the used ring then, and needs no call. If it does not
 * send, deferring was wrong: the timer's call costs more than an immediate one, and the
 * driver may have been waiting for it before it could send.
 *
 * Pure: no locks, no clock reads. All state belongs to the running session.
 */
#ifndef _KVNET_TX_MOD_H
#define _KVNET_TX_MOD_H

#include <linux/kernel.h>
#include <linux/types.h>

/* After so many calls by the timer deferring stops; then one poll in RETRY tries it again. */
#define KVNET_TX_MOD_LATE_MAX	4
#define KVNET_TX_MOD_RETRY	16

/* The timer's range, in gaps between packets, and the shortest gap that is assumed. */
#define KVNET_TX_MOD_GAPS_MIN	2
#define KVNET_TX_MOD_GAPS_MAX	4
#define KVNET_TX_MOD_GAP_MIN_NS	25000

/**
 * struct kvnet_tx_mod - history of deferred calls
 * @timer_calls: 0 to KVNET_TX_MOD_LATE_MAX; plus one for each call that the timer had to
 *		 make, minus one for each that the driver did not need
 * @skipped: polls counted while @timer_calls is at its maximum, modulo 256
 * @timer_since_ns: when the pending call's timer was first started, local clock; 0: not yet
 */
struct kvnet_tx_mod {
	u8 timer_calls;
	u8 skipped;
	u64 timer_since_ns;
};

/* To be called at most once per poll: it counts polls while deferring is off. */
static inline bool kvnet_tx_mod_may_defer(struct kvnet_tx_mod *c)
{
	return c->timer_calls < KVNET_TX_MOD_LATE_MAX || !(++c->skipped % KVNET_TX_MOD_RETRY);
}

/* A call is deferred, and none was pending. */
static inline void kvnet_tx_mod_note_deferred(struct kvnet_tx_mod *c)
{
	c->timer_since_ns = 0;
}

/**
 * kvnet_tx_mod_remaining_ns() - how long may the pending call still wait?
 * @c: the policy
 * @now_ns: local clock
 * @cap_ns: maximum delay in ns; it starts with the first timer, and further packets do not
 *	    extend it
 *
 * Return: ns; 0 if the clock went back.
 */
static inline u32 kvnet_tx_mod_remaining_ns(struct kvnet_tx_mod *c, u64 now_ns, u32 cap_ns)
{
	if (!c->timer_since_ns)
		c->timer_since_ns = now_ns;
	return cap_ns - min_t(u64, now_ns - c->timer_since_ns, cap_ns);
}

static inline void kvnet_tx_mod_note_timer_call(struct kvnet_tx_mod *c)
{
	if (c->timer_calls < KVNET_TX_MOD_LATE_MAX)
		c->timer_calls++;
}

/* The driver consumed the used buffers before the pending call was made. */
static inline void kvnet_tx_mod_note_unneeded(struct kvnet_tx_mod *c)
{
	if (c->timer_calls)
		c->timer_calls--;
}

/* How long to wait for the driver's next packet; @cap_ns is kvnet_tx_mod_remaining_ns(). */
static inline u32 kvnet_tx_mod_delay_ns(u32 gap_ns, u32 gaps, u32 cap_ns)
{
	return min_t(u64, (u64)gaps * max(gap_ns, (u32)KVNET_TX_MOD_GAP_MIN_NS), cap_ns);
}

#endif /* _KVNET_TX_MOD_H */
