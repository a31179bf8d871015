/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_SLAB_H
#define UNIT_SHIM_LINUX_SLAB_H

#include <linux/overflow.h>
#include <linux/types.h>
#include <stdlib.h>

#include "../shim.h"

#define GFP_KERNEL		0
#define GFP_KERNEL_ACCOUNT	0

static inline void *kvzalloc(size_t size, int gfp)
{
	if (!shim_alloc_budget)
		return NULL;
	if (shim_alloc_budget > 0)
		shim_alloc_budget--;
	shim_alloc_live++;
	return calloc(1, size);
}

static inline void *kvmalloc_array(size_t n, size_t size, int gfp)
{
	return size && n > SIZE_MAX / size ? NULL : kvzalloc(n * size, gfp);
}

static inline void kvfree(const void *p)
{
	if (p)
		shim_alloc_live--;
	free((void *)p);
}

#endif /* UNIT_SHIM_LINUX_SLAB_H */
