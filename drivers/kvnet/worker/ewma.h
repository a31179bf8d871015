/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ewma.h - moving average of durations, weight 1/8
 *
 * The moderation policies compare gaps with the average cost of an inline poll. A poll that
 * was interrupted must not count for much, and the first poll not for ever.
 */
#ifndef _KVNET_EWMA_H
#define _KVNET_EWMA_H

#include <linux/kernel.h>
#include <linux/types.h>

/* Samples are clamped to this. */
#define KVNET_EWMA_MAX_NS	1000000

/* An average of 0 means no sample yet. */
static inline void kvnet_ewma_add(u32 *avg_ns, u64 ns)
{
	u32 sample_ns = min_t(u64, ns, KVNET_EWMA_MAX_NS);

	*avg_ns = *avg_ns ? *avg_ns - *avg_ns / 8 + sample_ns / 8 : sample_ns;
}

#endif /* _KVNET_EWMA_H */
