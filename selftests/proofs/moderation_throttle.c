// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_moderation_throttle_account() keeps the excess within its limit, and throttles
 *	for a time in proportion to it, whatever the clock does; no undefined behaviour
 * @bounds: none
 * @sources: worker/moderation.c
 * @unwind: 2
 * @quick: yes
 * @mutant: worker/moderation.c: if (excess <= KVNET_THROTTLE_LIMIT_NS) => if (excess <= 2 * KVNET_THROTTLE_LIMIT_NS)
 * @mutant: worker/moderation.c: excess -= min_t(u64, excess, since => excess -= max_t(u64, excess, since
 */
#include "guest.h"
#include "moderation.h"

int main(void)
{
	struct kvnet_throttle t, old;
	u64 now = any_u64(), ns = any_u64();
	bool active;

	ASSUME(t.excess_ns <= KVNET_THROTTLE_LIMIT_NS);
	old = t;

	active = kvnet_moderation_throttle_account(&t, now, ns);

	ASSERT(t.excess_ns <= KVNET_THROTTLE_LIMIT_NS);
	ASSERT(t.last_call_ns == now);
	ASSERT(IMPLIES(active, t.start_ns == now && t.excess_ns == 0));
	ASSERT(IMPLIES(active, t.duration_ns > (u64)KVNET_THROTTLE_LIMIT_NS * KVNET_THROTTLE_OFF_FACTOR));
	ASSERT(IMPLIES(active, kvnet_moderation_is_throttled(&t, now)));
	ASSERT(IMPLIES(!active, t.start_ns == old.start_ns && t.duration_ns == old.duration_ns));
	/* a call that took no longer than usual adds nothing */
	ASSERT(IMPLIES(ns <= KVNET_THROTTLE_QUICK_NS, !active && t.excess_ns <= old.excess_ns));
	return 0;
}
