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
/* Allocations of marked tasks fail with this probability ("0": by injector_nth() alone). */
void inject_knobs(const char *probability);
/*
 * After inject_knobs(): of marked tasks, all allocations of more than one page fail. Returns how
 * often one may still do so: a number that falls with each.
 */
long inject_high_order(void);

/*
 * Makes the n-th call of a thread of this process fail: the kernel's (allocations, user
 * copies), or the module's, if it is built for that (failing/kvnet_failing.c).
 */
struct injector {
	int fd;
	pid_t tid;
	bool module;
	bool again;
};

/* The kernel (skips the case without), or the module: false without. */
bool injector_open(struct injector *in, pid_t tid, bool module);
/* The n-th from now on; 0: none. */
void injector_nth(const struct injector *in, unsigned int n);
/* How many until that one; 0: it has failed. */
unsigned int injector_left(const struct injector *in);
bool injector_hit(const struct injector *in);
/*
 * Ends that after a step that returned ret: did a call fail?  If the step succeeded all the
 * same, the n-th may have been pages for a slab, which has objects now, so that another
 * allocation is the n-th next time.  So injector_next() returns the same number once more.
 */
bool injector_end(struct injector *in, int ret);
unsigned int injector_next(const struct injector *in, unsigned int n);
void injector_close(struct injector *in);
/* Of a line for each call: how often it has failed, or how many are held there. */
unsigned int inject_count(const char *path, const char *call);
#define INJECT_HOLD	"/sys/module/kvnet/parameters/hold"

#define FOR_EACH_INJECTOR(in, thread)					\
	for (int i_ = 0; i_ < 2; i_++)					\
		for (bool ok_ = injector_open(in, thread, i_); ok_;	\
		     injector_close(in), ok_ = false)

/* Errors that a step may return when a call of it fails: no memory, file, eventfd or room. */
static inline bool inject_clean(int ret)
{
	return ret == -ENOMEM || ret == -EAGAIN || ret == -ENOBUFS || ret == -EFAULT ||
	       ret == -EBADF || ret == -ENOTSOCK || ret == -EMSGSIZE;
}

#endif /* SELFTESTS_INJECT_H */
