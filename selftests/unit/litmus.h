/* SPDX-License-Identifier: GPL-2.0 */
/*
 * litmus - all that a few threads may see of each other, one after the other
 *
 * A machine that reorders as much as those which Linux runs on may reorder a store
 * behind what follows it: each thread has a buffer of stores that the others do not
 * see yet, and that reach memory at any time, in order only if they are to the same
 * place.  A full barrier, or an atomic operation that is one, waits for the buffer
 * to be empty.  litmus_all() runs the threads again and again, until each order of
 * their accesses and of the buffers' stores has been seen once.
 *
 * Between two accesses a thread may do what it likes, but what it does must depend
 * on nothing else than what it has loaded.
 */
#ifndef UNIT_LITMUS_H
#define UNIT_LITMUS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LITMUS_THREADS	3

struct litmus {
	void (*reset)(void);		/* before each run */
	void (*thread[LITMUS_THREADS])(void);
	unsigned int n;
	void (*check)(void);		/* after it: all stores are in memory */
	bool weak;			/* a barrier does nothing: what would be */
};

/* Returns how many orders there are. */
unsigned long litmus_all(const struct litmus *what);

/* For the threads. */
uint64_t litmus_load(const void *p, size_t size);
void litmus_store(void *p, size_t size, uint64_t value);
void litmus_mb(void);
/* What follows, up to the next call, is an atomic operation and a full barrier. */
void litmus_atomic(void);

#endif /* UNIT_LITMUS_H */
