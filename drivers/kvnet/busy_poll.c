// SPDX-License-Identifier: GPL-2.0
/*
 * busy_poll.c - budget and spin window, see busy_poll.h
 *
 * The window follows how long the worker was idle between two pieces of work,
 * spinning and sleeping together: work that came within the cap was worth
 * spinning for, so the window grows; work that came later was not, so the
 * window shrinks. (The idea of KVM's halt polling.)
 */
#include "busy_poll.h"

#include <linux/compiler.h>
#include <linux/kernel.h>

/* The first window after none, in ns. */
#define WINDOW_MIN_NS	4000

/**
 * kvnet_busy_poll_set_max() - bound the window
 * @p: the policy
 * @max_ns: the longest window; 0 turns spinning off
 */
void kvnet_busy_poll_set_max(struct kvnet_busy_poll *p, u64 max_ns)
{
	p->max_ns = max_ns;
	WRITE_ONCE(p->window_ns, min(p->window_ns, max_ns));
}

/**
 * kvnet_busy_poll_has_expired() - has the worker spun for long enough?
 * @p: the policy
 * @start_ns: when it began
 * @now_ns: the time now, of the same clock
 *
 * Return: true to stop spinning; also if the clock went back.
 */
bool kvnet_busy_poll_has_expired(const struct kvnet_busy_poll *p, u64 start_ns, u64 now_ns)
{
	return now_ns < start_ns || now_ns - start_ns >= p->window_ns;
}

/**
 * kvnet_busy_poll_adapt() - adapt to how long the worker had nothing to do
 * @p: the policy
 * @idle_ns: from the end of the last work to the beginning of the next
 */
void kvnet_busy_poll_adapt(struct kvnet_busy_poll *p, u64 idle_ns)
{
	if (idle_ns <= p->window_ns)
		return;
	if (idle_ns > p->max_ns) {
		WRITE_ONCE(p->window_ns, p->window_ns / 2 < WINDOW_MIN_NS ? 0 : p->window_ns / 2);
		return;
	}
	WRITE_ONCE(p->window_ns, min(max_t(u64, p->window_ns * 2, WINDOW_MIN_NS), p->max_ns));
}
