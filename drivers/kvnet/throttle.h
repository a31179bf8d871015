/* SPDX-License-Identifier: GPL-2.0 */
/*
 * throttle.h - policy: may a softirq receive for a queue, and call the driver?
 *
 * A call wakes all tasks that wait for the VMM's eventfd, with interrupts off. The VMM decides
 * how many they are, and in a softirq the time is that of the frame's sender, or of the task
 * that the CPU runs. So what calls take beyond what is usual is a debt, which time pays back,
 * 32 times as slowly. If it grows too large, no softirq works for the queue for a thousand
 * times as long. So a VMM whose debt grows may have a thousandth of others' time with each
 * queue, a VMM that takes care that it does not grow a 32nd; and any VMM 100 us of each call.
 *
 * A frame waits for its softirq: where a NAPI poll brings the frame, until the poll is through
 * with the frames of other devices. The worker could receive it meanwhile, on another CPU. So
 * what a frame has waited is added to what the call takes. The worker gets a queue whose frames
 * wait for more than 100 us and a 32nd of the time from one frame to the next.
 *
 * Both are also slow if the host itself, in a VM, is kept from running meanwhile, for a
 * few ms. They take some us, so that is rarely in the midst of one; once is no reason
 * yet, and a quarter of a second later it is paid back. Where it is longer than the debt may
 * be, or comes more often, a worker does all for some seconds: it costs a wake-up for a
 * frame, and nothing is lost.
 *
 * Numbers and clock values in, decisions out.
 */
#ifndef _KVNET_THROTTLE_H
#define _KVNET_THROTTLE_H

#include <linux/kernel.h>
#include <linux/types.h>

/* A wait and a call that take no longer together are quick, in ns. Usual are 1 to 10 us. */
#define KVNET_THROTTLE_QUICK_NS	100000

/* A debt that is too large, and the largest that is believed. */
#define KVNET_THROTTLE_LIMIT_NS	10000000
#define KVNET_THROTTLE_EXCESS_MAX_NS	1000000000

/* Time pays it back, so much more slowly: 1/32. */
#define KVNET_THROTTLE_DECAY_SHIFT	5

/* No softirq works for the queue for so many times the debt. */
#define KVNET_THROTTLE_OFF_FACTOR	1000

/**
 * struct kvnet_throttle - what a queue's calls by softirqs, and the waits before, have taken
 * @start_ns: when there were to be no more for a while
 * @duration_ns: for how long; 0: there was no reason yet
 * @last_call_ns: when the last one was over
 * @excess_ns: what they have taken too much
 *
 * It begins as zeroes and ends with the device: other set-up is no better, but another
 * device is.
 */
struct kvnet_throttle {
	u64 start_ns;
	u64 duration_ns;
	u64 last_call_ns;
	u32 excess_ns;
};

/**
 * kvnet_throttle_account() - a softirq has worked for the queue
 * @t: the policy
 * @now_ns: the time, of a clock that may go back
 * @ns: what the call took, and how long the softirq's work had waited
 *
 * Return: true if that was too much: no softirq is to work for the queue, for a while.
 */
static inline bool kvnet_throttle_account(struct kvnet_throttle *t, u64 now_ns, u64 ns)
{
	u64 excess = t->excess_ns, since = now_ns - t->last_call_ns;

	t->last_call_ns = now_ns;
	/* The clock has gone back, or is another CPU's: nothing is known. */
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

/**
 * kvnet_throttle_is_active() - is no softirq to work for the queue?
 * @t: the policy
 * @now_ns: as of kvnet_throttle_account()
 *
 * Return: true if so; false if it may, also if the clock has gone back.
 */
static inline bool kvnet_throttle_is_active(const struct kvnet_throttle *t, u64 now_ns)
{
	return now_ns - t->start_ns < t->duration_ns;
}

#endif /* _KVNET_THROTTLE_H */
