/* SPDX-License-Identifier: GPL-2.0 */
/*
 * cost.h - what something takes, by and large
 *
 * The rules that choose who sends and who receives measure themselves against it. One
 * time that was interrupted must not count for much, nor the first for ever.
 */
#ifndef _KVNET_COST_H
#define _KVNET_COST_H

#include <linux/kernel.h>
#include <linux/types.h>

/* No longer than that is believed. */
#define KVNET_COST_MAX	1000000

/**
 * kvnet_cost_add() - it has been done once more
 * @cost_ns: what it took so far, on average; 0: not known
 * @ns: what it took now
 */
static inline void kvnet_cost_add(u32 *cost_ns, u64 ns)
{
	u32 cost = min_t(u64, ns, KVNET_COST_MAX);

	*cost_ns = *cost_ns ? *cost_ns - *cost_ns / 8 + cost / 8 : cost;
}

#endif /* _KVNET_COST_H */
