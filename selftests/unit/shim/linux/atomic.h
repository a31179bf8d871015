/* SPDX-License-Identifier: GPL-2.0 */
/* Atomic operations of what is tested in all orders, see litmus.h. */
#ifndef UNIT_SHIM_LINUX_ATOMIC_H
#define UNIT_SHIM_LINUX_ATOMIC_H

#include <linux/types.h>

#include "litmus.h"

#undef smp_mb
#define smp_mb()	litmus_mb()

typedef struct {
	int counter;
} atomic_t;

static inline int atomic_read(const atomic_t *v)
{
	return litmus_load(&v->counter, sizeof(v->counter));
}

static inline void atomic_set(atomic_t *v, int new)
{
	litmus_store(&v->counter, sizeof(v->counter), (unsigned int)new);
}

static inline int atomic_xchg(atomic_t *v, int new)
{
	int old;

	litmus_atomic();
	old = v->counter;
	v->counter = new;
	return old;
}

static inline bool atomic_try_cmpxchg(atomic_t *v, int *old, int new)
{
	bool same;

	litmus_atomic();
	same = v->counter == *old;
	if (same)
		v->counter = new;
	else
		*old = v->counter;
	return same;
}

#endif
