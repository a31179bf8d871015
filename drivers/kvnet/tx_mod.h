/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tx_mod.h - policy: is it of use to call a driver later, and how much later?
 *
 * A driver that sends again soon sees by itself that the last packet has been sent. One
 * that does not has been made to wait for nothing: the timer calls it then, for more than
 * a call at once costs, and maybe it could not send before.
 *
 * Numbers in, decisions out.
 */
#ifndef _KVNET_TX_MOD_H
#define _KVNET_TX_MOD_H

#include <linux/kernel.h>
#include <linux/types.h>

/* Calls by the timer until it is believed to be of no use; then one in some is a try. */
#define KVNET_TX_MOD_LATE_MAX	4
#define KVNET_TX_MOD_RETRY	16

/* So many gaps between packets, at least and at most; and so many ns for a gap. */
#define KVNET_TX_MOD_GAPS_MIN	2
#define KVNET_TX_MOD_GAPS_MAX	4
#define KVNET_TX_MOD_GAP_MIN_NS	25000

/**
 * struct kvnet_tx_mod - what came of calls that were put off
 * @timer_calls: the timer made them, up to KVNET_TX_MOD_LATE_MAX; one less for each that was not
 *		 needed
 * @skipped: since it is of no use
 * @timer_since_ns: when a timer was first set for the call that is owed; 0: not yet
 */
struct kvnet_tx_mod {
	u8 timer_calls;
	u8 skipped;
	u64 timer_since_ns;
};

/**
 * kvnet_tx_mod_may_defer() - may the next call be put off?
 * @c: the policy; told once for each turn
 *
 * Return: true if so.
 */
static inline bool kvnet_tx_mod_may_defer(struct kvnet_tx_mod *c)
{
	return c->timer_calls < KVNET_TX_MOD_LATE_MAX || !(++c->skipped % KVNET_TX_MOD_RETRY);
}

/**
 * kvnet_tx_mod_note_deferred() - a call is put off, and none was owed
 * @c: the policy
 */
static inline void kvnet_tx_mod_note_deferred(struct kvnet_tx_mod *c)
{
	c->timer_since_ns = 0;
}

/**
 * kvnet_tx_mod_remaining_ns() - how long may the call wait that is owed?
 * @c: the policy; told whenever a timer is about to be set
 * @now_ns: the local clock
 * @cap_ns: the longest time, from the first timer on, whatever is sent meanwhile
 *
 * Return: ns; 0 also if the clock has gone back.
 */
static inline u32 kvnet_tx_mod_remaining_ns(struct kvnet_tx_mod *c, u64 now_ns, u32 cap_ns)
{
	if (!c->timer_since_ns)
		c->timer_since_ns = now_ns;
	return cap_ns - min_t(u64, now_ns - c->timer_since_ns, cap_ns);
}

/**
 * kvnet_tx_mod_note_timer_call() - the timer has made a call
 * @c: the policy
 */
static inline void kvnet_tx_mod_note_timer_call(struct kvnet_tx_mod *c)
{
	if (c->timer_calls < KVNET_TX_MOD_LATE_MAX)
		c->timer_calls++;
}

/**
 * kvnet_tx_mod_note_unneeded() - the driver has seen by itself what a call was owed for
 * @c: the policy
 */
static inline void kvnet_tx_mod_note_unneeded(struct kvnet_tx_mod *c)
{
	if (c->timer_calls)
		c->timer_calls--;
}

/**
 * kvnet_tx_mod_delay_ns() - how long to wait for the driver's next packet
 * @gap_ns: from packet to packet, as far as is known
 * @gaps: so many of them
 * @cap_ns: kvnet_tx_mod_remaining_ns()
 *
 * Return: ns.
 */
static inline u32 kvnet_tx_mod_delay_ns(u32 gap_ns, u32 gaps, u32 cap_ns)
{
	return min_t(u64, (u64)gaps * max(gap_ns, (u32)KVNET_TX_MOD_GAP_MIN_NS), cap_ns);
}

#endif /* _KVNET_TX_MOD_H */
