/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_BITOPS_H
#define UNIT_SHIM_LINUX_BITOPS_H

#include <linux/bits.h>
#include <linux/types.h>

#define BITS_PER_LONG	(8 * sizeof(long))

/* of 0: 0 */
static inline int fls64(u64 x)
{
	return x ? 64 - __builtin_clzll(x) : 0;
}

static inline bool test_bit(unsigned long nr, const unsigned long *map)
{
	return __atomic_load_n(&map[nr / BITS_PER_LONG], __ATOMIC_RELAXED) &
	       BIT(nr % BITS_PER_LONG);
}

static inline void set_bit(unsigned long nr, unsigned long *map)
{
	__atomic_fetch_or(&map[nr / BITS_PER_LONG], BIT(nr % BITS_PER_LONG),
			  __ATOMIC_RELAXED);
}

#endif /* UNIT_SHIM_LINUX_BITOPS_H */
