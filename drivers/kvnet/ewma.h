/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ewma.h - what something takes, by and large
 *
 * The rules that choose who sends and who receives measure themselves against it. One
 * time that was interrupted must not count for much, nor the first for ever.
 */
#ifndef _KVNET_EWMA_H
#define _KVNET_EWMA_H

#include <linux/kernel.h>
#include <linux/types.h>

/* No longer than that is believed. */
#define KVNET_EWMA_MAX_NS	1000000

/**
 * kvnet_ewma_add() - it has been done once more
 * @avg_ns: what it took so far, on average; 0: not known
 * @ns: what it took now
 */
static inline void kvnet_ewma_add(u32 *avg_ns, u64 ns)
{
	u32 sample_ns = min_t(u64, ns, KVNET_EWMA_MAX_NS);

	*avg_ns = *avg_ns ? *avg_ns - *avg_ns / 8 + sample_ns / 8 : sample_ns;
}

#endif /* _KVNET_EWMA_H */
