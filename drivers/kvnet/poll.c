// SPDX-License-Identifier: GPL-2.0
/*
 * poll.c - budget and spin window, see poll.h
 *
 * The window follows how long the worker was idle between two pieces of work,
 * spinning and sleeping together: work that came within the cap was worth
 * spinning for, so the window grows; work that came later was not, so the
 * window shrinks. (The idea of KVM's halt polling.)
 */
#include "poll.h"

#include <linux/compiler.h>
#include <linux/kernel.h>

/* The first window after none, in ns. */
#define WINDOW_MIN	4000

/**
 * kvnet_poll_set_cap() - bound the window
 * @p: the policy
 * @cap_ns: the longest window; 0 turns spinning off
 */
void kvnet_poll_set_cap(struct kvnet_poll *p, u64 cap_ns)
{
	p->cap = cap_ns;
	WRITE_ONCE(p->window, min(p->window, cap_ns));
}

/**
 * kvnet_poll_expired() - has the worker spun for long enough?
 * @p: the policy
 * @start_ns: when it began
 * @now_ns: the time now, of the same clock
 *
 * Return: true to stop spinning; also if the clock went back.
 */
bool kvnet_poll_expired(const struct kvnet_poll *p, u64 start_ns, u64 now_ns)
{
	return now_ns < start_ns || now_ns - start_ns >= p->window;
}

/**
 * kvnet_poll_learn() - adapt to how long the worker had nothing to do
 * @p: the policy
 * @idle_ns: from the end of the last work to the beginning of the next
 */
void kvnet_poll_learn(struct kvnet_poll *p, u64 idle_ns)
{
	if (idle_ns <= p->window)
		return;
	if (idle_ns > p->cap) {
		WRITE_ONCE(p->window, p->window / 2 < WINDOW_MIN ? 0 : p->window / 2);
		return;
	}
	WRITE_ONCE(p->window, min(max_t(u64, p->window * 2, WINDOW_MIN), p->cap));
}
