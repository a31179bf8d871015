/* SPDX-License-Identifier: GPL-2.0 */
/* A split ring's areas in the other byte order. */
#ifndef UNIT_RING_SWAP_H
#define UNIT_RING_SWAP_H

#include <linux/types.h>

#include "guest_ring.h"

static inline void swap_desc(void *to, const void *from, u32 n)
{
	const struct gr_desc *f = from;
	struct gr_desc *t = to;
	u32 i;

	for (i = 0; i < n; i++) {
		t[i].addr = __builtin_bswap64(f[i].addr);
		t[i].len = __builtin_bswap32(f[i].len);
		t[i].flags = __builtin_bswap16(f[i].flags);
		t[i].next = __builtin_bswap16(f[i].next);
	}
}

static inline void swap16s(void *to, const void *from, u32 n)
{
	const u16 *f = from;
	u16 *t = to;
	u32 i;

	for (i = 0; i < n; i++)
		t[i] = __builtin_bswap16(f[i]);
}

static inline void swap_used(void *to, const void *from, u32 num)
{
	const u32 *f = (const u32 *)((const u8 *)from + 4);
	u32 *t = (u32 *)((u8 *)to + 4);
	u32 i;

	swap16s(to, from, 2);
	for (i = 0; i < 2 * num; i++)
		t[i] = __builtin_bswap32(f[i]);
	swap16s(t + 2 * num, f + 2 * num, 1);
}

#endif /* UNIT_RING_SWAP_H */
