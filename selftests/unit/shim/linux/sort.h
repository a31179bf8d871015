/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_SORT_H
#define UNIT_SHIM_LINUX_SORT_H

#include <linux/types.h>
#include <stdlib.h>

static inline void sort(void *base, size_t num, size_t size,
			int (*cmp)(const void *, const void *), void *swap)
{
	qsort(base, num, size, cmp);
}

#endif /* UNIT_SHIM_LINUX_SORT_H */
