/* SPDX-License-Identifier: GPL-2.0 */
/*
 * throttle.h - policy: may softirqs receive for a queue, and call its driver?
 *
 * A call wakes all tasks that wait for the VMM's eventfd, with interrupts off. The VMM decides
 * how many tasks these are. In a softirq the call steals the time of the frame's sender, or of
 * the task that runs on the CPU. So time beyond KVNET_THROTTLE_QUICK_NS per call is summed as
 * excess, which decays by 1/32 of the elapsed time. If the excess is above its limit, no
 * softirq works for the queue for a thousand times as long. So a VMM can steal at most 1/1000
 * of softirq time per queue (1/32 if it stays below the limit), and 100 us per call.
 *
 * A frame waits for its softirq: if a NAPI poll delivers the frame, until that poll has
 * served the frames of other devices. The worker could receive the frame meanwhile, on another
 * CPU. So the wait is added to the time of the call. The worker serves a queue whose frames
 * wait for more than 100 us plus 1/32 of the time between frames.
 *
 * If the host is itself a VM, its CPU may be preempted for some ms during a call or a wait.
 * Both take only some us, so this is rare. A single preemption of that length stays below the
 * limit and decays within a quarter of a second. Longer or more frequent ones activate the
 * throttle, and the worker serves the queue for ten seconds or more: that costs a wake-up per
 * frame, and no frame is lost.
 *
 * Pure: no locks, no clock reads. All state belongs to the running session.
 */
#ifndef _KVNET_THROTTLE_H
#define _KVNET_THROTTLE_H

#include <linux/kernel.h>
#include <linux/types.h>

/* Wait plus call, in ns, without excess. Usual are 1 to 10 us. */
#define KVNET_THROTTLE_QUICK_NS	100000

/* Limit of the excess, and the most that one call adds to it, in ns. */
#define KVNET_THROTTLE_LIMIT_NS	10000000
#define KVNET_THROTTLE_EXCESS_MAX_NS	1000000000

/* The excess decays by 1/32 of the elapsed time. */
#define KVNET_THROTTLE_DECAY_SHIFT	5

/* The throttle is active for so many times the excess. */
#define KVNET_THROTTLE_OFF_FACTOR	1000

/**
 * struct kvnet_throttle - throttle of a queue's softirqs; in a session
 * @start_ns: when the throttle was last activated, local clock
 * @duration_ns: for how long; 0: never activated
 * @last_call_ns: end of the last call from a softirq, local clock
 * @excess_ns: decaying excess time, at most KVNET_THROTTLE_LIMIT_NS
 *
 * Zeroed with the device only: a VMM must not reset it by a new configuration of the queue.
 */
struct kvnet_throttle {
	u64 start_ns;
	u64 duration_ns;
	u64 last_call_ns;
	u32 excess_ns;
};

/**
 * kvnet_throttle_account() - account for a call from a softirq
 * @t: throttle of the queue
 * @now_ns: local clock, which may go back
 * @ns: duration of the call, and of the wait for the softirq
 *
 * Return: true if this activates the throttle.
 */
static inline bool kvnet_throttle_account(struct kvnet_throttle *t, u64 now_ns, u64 ns)
{
	u64 excess = t->excess_ns, since = now_ns - t->last_call_ns;

	t->last_call_ns = now_ns;
	/* The clock went back, or another CPU's clock differs. */
	if ((s64)ns < 0)
		return false;
	if ((s64)since > 0)
		excess -= min_t(u64, excess, since >> KVNET_THROTTLE_DECAY_SHIFT);
	if (ns > KVNET_THROTTLE_QUICK_NS)
		excess += min_t(u64, ns - KVNET_THROTTLE_QUICK_NS, KVNET_THROTTLE_EXCESS_MAX_NS);
	if (excess <= KVNET_THROTTLE_LIMIT_NS) {
		t->excess_ns = excess;
		return false;
	}
	t->start_ns = now_ns;
	t->duration_ns = excess * KVNET_THROTTLE_OFF_FACTOR;
	t->excess_ns = 0;
	return true;
}

/* Is the queue throttled? False if the clock went back. */
static inline bool kvnet_throttle_is_active(const struct kvnet_throttle *t, u64 now_ns)
{
	return now_ns - t->start_ns < t->duration_ns;
}

#endif /* _KVNET_THROTTLE_H */
