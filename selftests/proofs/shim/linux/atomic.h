/* SPDX-License-Identifier: GPL-2.0 */
/* Before each access other contexts may run; the harness looks at each change. */
#ifndef PROOFS_SHIM_LINUX_ATOMIC_H
#define PROOFS_SHIM_LINUX_ATOMIC_H

#include <asm/barrier.h>
#include <linux/types.h>

typedef struct {
	int counter;
} atomic_t;

/* The harness defines both. */
static void others_run(void);
static void word_changes(int old, int new);

static inline int atomic_read(const atomic_t *v)
{
	others_run();
	return v->counter;
}

static inline void atomic_set(atomic_t *v, int new)
{
	others_run();
	word_changes(v->counter, new);
	v->counter = new;
}

static inline int atomic_xchg(atomic_t *v, int new)
{
	int old;

	others_run();
	old = v->counter;
	word_changes(old, new);
	v->counter = new;
	return old;
}

static inline bool atomic_try_cmpxchg(atomic_t *v, int *old, int new)
{
	others_run();
	if (v->counter != *old) {
		*old = v->counter;
		return false;
	}
	word_changes(*old, new);
	v->counter = new;
	return true;
}

#endif /* PROOFS_SHIM_LINUX_ATOMIC_H */
