// SPDX-License-Identifier: GPL-2.0
/*
 * busy_poll.c - the adaptive busy-poll window, see busy_poll.h
 *
 * The window follows the worker's idle time between two polls with work, busy-polling and
 * sleeping together. Work that came within the maximum was worth busy-polling for, so the
 * window grows; work that came later was not, so the window shrinks (as KVM's halt polling).
 */
#include "busy_poll.h"

#include <linux/compiler.h>
#include <linux/kernel.h>

/* The first window after none, in ns. */
#define WINDOW_MIN_NS	4000

/* @max_ns is kvnet_work.busy_poll_us, in ns, which may have changed; 0: never busy-poll. */
void kvnet_busy_poll_limit(struct kvnet_busy_poll *p, u64 max_ns)
{
	if (unlikely(p->window_ns > max_ns))
		WRITE_ONCE(p->window_ns, max_ns);
}

/* True, too, if the clock went back. */
bool kvnet_busy_poll_has_expired(const struct kvnet_busy_poll *p, u64 start_ns, u64 now_ns)
{
	return now_ns < start_ns || now_ns - start_ns >= p->window_ns;
}

/* @max_ns: as in the last kvnet_busy_poll_limit(). */
void kvnet_busy_poll_adapt(struct kvnet_busy_poll *p, u64 idle_ns, u64 max_ns)
{
	if (idle_ns <= p->window_ns)
		return;
	if (idle_ns > max_ns) {
		WRITE_ONCE(p->window_ns, p->window_ns / 2 < WINDOW_MIN_NS ? 0 : p->window_ns / 2);
		return;
	}
	WRITE_ONCE(p->window_ns, min(max_t(u64, p->window_ns * 2, WINDOW_MIN_NS), max_ns));
}
