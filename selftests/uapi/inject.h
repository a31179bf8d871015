/* SPDX-License-Identifier: GPL-2.0 */
/* Allocations that fail, on a kernel with CONFIG_FAILSLAB and debugfs; else a skip. */
#ifndef SELFTESTS_INJECT_H
#define SELFTESTS_INJECT_H

#include <stdbool.h>

bool inject_put(const char *path, const char *text);
/* Of tasks that are marked for it, with this probability ("0": see the next). */
void inject_knobs(const char *probability);
/* The n-th from now on, of this thread; 0: none. */
void inject_nth(unsigned int n);
/* How many until that one; 0: it has failed. */
unsigned int inject_left(void);

static inline bool inject_hit(void)
{
	return !inject_left();
}

#endif /* SELFTESTS_INJECT_H */
