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

/*
 * Who has the n-th thing fail that a thread of this process does: the kernel, or the
 * module itself, if it is built for that (failing/kvnet_failing.c).
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
bool injector_hit(const struct injector *in);
/*
 * No more, of a call that returned ret: did one fail?  What could be done without may have
 * been pages for a slab, which has objects now: what came after them is the n-th then.  So
 * injector_next() says the same number once more.
 */
bool injector_end(struct injector *in, int ret);
unsigned int injector_next(const struct injector *in, unsigned int n);
void injector_close(struct injector *in);
/* Of a line for each call: how often it has failed, or how many are held there. */
unsigned int inject_count(const char *path, const char *call);
#define INJECT_FAILED	"/sys/module/kvnet/parameters/failed"
#define INJECT_HOLD	"/sys/module/kvnet/parameters/hold"

#define FOR_EACH_INJECTOR(in, thread)					\
	for (int i_ = 0; i_ < 2; i_++)					\
		for (bool ok_ = injector_open(in, thread, i_); ok_;	\
		     injector_close(in), ok_ = false)

static inline bool inject_hit(void)
{
	return !inject_left();
}

/* What may be said of what failed: not there, a file or eventfd; no room, in a message. */
static inline bool inject_clean(int ret)
{
	return ret == -ENOMEM || ret == -EAGAIN || ret == -ENOBUFS || ret == -EFAULT ||
	       ret == -EBADF || ret == -ENOTSOCK || ret == -EMSGSIZE;
}

#endif /* SELFTESTS_INJECT_H */
