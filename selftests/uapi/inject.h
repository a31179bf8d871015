/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Allocations that fail, and copies from and to user memory, if the kernel has that:
 * on one with CONFIG_FAILSLAB and debugfs; else a skip.
 */
#ifndef SELFTESTS_INJECT_H
#define SELFTESTS_INJECT_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

bool inject_put(const char *path, const char *text);
/* Of tasks that are marked for it, with this probability ("0": see the next). */
void inject_knobs(const char *probability);
/* The n-th from now on, of this thread; 0: none. */
void inject_nth(unsigned int n);
/* How many until that one; 0: it has failed. */
unsigned int inject_left(void);

/* The same for another thread of this process: a file to be closed. */
int inject_other(pid_t tid);
void inject_other_nth(int fd, unsigned int n);
bool inject_other_hit(int fd);

static inline bool inject_hit(void)
{
	return !inject_left();
}

/* What may be said of something that failed. */
static inline bool inject_clean(int ret)
{
	return ret == -ENOMEM || ret == -EAGAIN || ret == -ENOBUFS || ret == -EFAULT;
}

#endif /* SELFTESTS_INJECT_H */
