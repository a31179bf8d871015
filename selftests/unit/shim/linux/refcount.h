/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_REFCOUNT_H
#define UNIT_SHIM_LINUX_REFCOUNT_H

#include <linux/types.h>

typedef struct refcount_struct {
	int refs;
} refcount_t;

static inline void refcount_set(refcount_t *r, int n)
{
	__atomic_store_n(&r->refs, n, __ATOMIC_RELAXED);
}

static inline void refcount_inc(refcount_t *r)
{
	__atomic_fetch_add(&r->refs, 1, __ATOMIC_RELAXED);
}

static inline bool refcount_dec_and_test(refcount_t *r)
{
	return __atomic_fetch_sub(&r->refs, 1, __ATOMIC_ACQ_REL) == 1;
}

#endif /* UNIT_SHIM_LINUX_REFCOUNT_H */
