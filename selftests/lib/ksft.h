/* SPDX-License-Identifier: GPL-2.0 */
/*
 * ksft - a small TAP harness for tests that may hang or upset a kernel.
 *
 * Every CASE runs in a process of its own, with a deadline, between two marks
 * in the kernel log; a splat between the marks fails the case.
 *
 *   CASE(name) { EXPECT_EQ(a, b); ASSERT(c); ... }      KSFT_MAIN()
 *
 * Arguments: substrings of the names of the cases to run; -l lists, -x inverts.
 * Environment: KSFT_SEED (random seed), KSFT_SLOW (deadlines times this, by
 * default 3: a machine may be slow and busy), KSFT_LONG (rounds times this, also 1/3:
 * what is repeated for chance alone), KSFT_NO_KMSG=1 (no marks, no log verdict),
 * KSFT_STOP=1 (end at the first failure), KSFT_LEAKS=end (what is leaked is looked for by
 * who runs the tests, when all are over).
 */
#ifndef SELFTESTS_KSFT_H
#define SELFTESTS_KSFT_H

/* What most tests need of libc; with _GNU_SOURCE, which the Makefiles define. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

enum { KSFT_PASS = 0, KSFT_FAIL = 1, KSFT_SKIP = 4 };

struct ksft_case {
	const char *name;
	void (*fn)(void);
	unsigned int seconds;
	struct ksft_case *next;
};

void ksft_register(struct ksft_case *c);
/* node may be NULL; $KVNET_DEV goes before it */
int ksft_run(int argc, char **argv, const char *node);
void ksft_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Is each of them this one? Fails, and names the first that is not. */
void ksft_all_bytes(const char *what, const void *at, uint8_t byte, size_t len);
void ksft_note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void ksft_skip(const char *fmt, ...)
	__attribute__((noreturn, format(printf, 1, 2)));
void ksft_abort(void) __attribute__((noreturn));
bool ksft_failed(void);
/*
 * Writes to a file of the kernel's, such as a parameter of a module. When the case is over,
 * whatever ends it, what was there before is written back. Returns the first byte of what it
 * said until now.
 */
char ksft_file_set(const char *path, const char *value);
/* The kernel's log from now on; what is bad in it is printed, counted, and it is closed. */
int ksft_kmsg_open(void);
int ksft_kmsg_verdict(int fd);

uint64_t ksft_now_ms(void);
/*
 * How long a test waits before it calls something lost: 'ms' times KSFT_SLOW. What is
 * waited for less than a second may as well not come, and is not waited for longer.
 */
unsigned int ksft_patience(unsigned int ms);
/* n times KSFT_LONG, at least one */
unsigned int ksft_rounds(unsigned int n);
uint32_t ksft_random(void);
/* From here on as after any other call with this seed, which is not 0. */
void ksft_random_from(uint32_t seed);
static inline uint32_t ksft_below(uint32_t n)
{
	return ksft_random() % n;
}

static inline bool ksft_percent(uint32_t n)
{
	return ksft_below(100) < n;
}

#define CASE_TIMED(id, secs)						\
	static void id(void);						\
	static struct ksft_case id##_case = {				\
		.name = #id, .fn = id, .seconds = secs };		\
	__attribute__((constructor)) static void id##_register(void)	\
	{								\
		ksft_register(&id##_case);				\
	}								\
	static void id(void)

#define CASE(id) CASE_TIMED(id, 20)

/* A case that is one call. */
#define CASE_ROW_TIMED(id, secs, call)	CASE_TIMED(id, secs) { call; }
#define CASE_ROW(id, call)		CASE(id) { call; }

/* A device node without which there is nothing to test: all is skipped. */
#ifndef KSFT_NODE
#define KSFT_NODE	NULL
#endif

#define KSFT_MAIN()							\
	int main(int argc, char **argv)					\
	{								\
		return ksft_run(argc, argv, KSFT_NODE);			\
	}

#define FAIL(...) ksft_fail(__FILE__, __LINE__, __VA_ARGS__)

#define EXPECT(cond) \
	((cond) ? true : (FAIL("expected: %s", #cond), false))

/* Texts are those of the caller: a constant keeps its name. */
#define EXPECT_TEXT(a, op, b, text_a, text_b) __extension__ ({		\
	long long a_ = (long long)(a), b_ = (long long)(b);		\
	bool ok_ = a_ op b_;						\
	if (!ok_)							\
		FAIL("expected %s %s %s: %lld, %lld (0x%llx, 0x%llx)",	\
		     text_a, #op, text_b, a_, b_, a_, b_);		\
	ok_; })

#define EXPECT_OP(a, op, b) EXPECT_TEXT(a, op, b, #a, #b)
#define EXPECT_EQ(a, b) EXPECT_TEXT(a, ==, b, #a, #b)
#define EXPECT_GE(a, b) EXPECT_TEXT(a, >=, b, #a, #b)
#define EXPECT_LE(a, b) EXPECT_TEXT(a, <=, b, #a, #b)

#define ASSERT(cond) do { if (!EXPECT(cond)) ksft_abort(); } while (0)
#define ASSERT_EQ(a, b) do {						\
		if (!EXPECT_TEXT(a, ==, b, #a, #b))			\
			ksft_abort();					\
	} while (0)
/* For calls that set errno. */
#define ASSERT_SYS(expr) __extension__ ({				\
	__typeof__(expr) r_ = (expr);					\
	if (r_ < 0) {							\
		FAIL("%s: %s", #expr, strerror(errno));			\
		ksft_abort();						\
	}								\
	r_; })

/* Poll for a condition with a deadline; false when it did not come true. */
#define WAIT_FOR(ms, cond) __extension__ ({				\
	uint64_t end_ = ksft_now_ms() + ksft_patience(ms);		\
	unsigned int turn_ = 0;						\
	bool ok_;							\
	while (!(ok_ = (cond)) && ksft_now_ms() < end_)			\
		ksft_relax(turn_++);					\
	ok_ || (cond); })

void ksft_relax(unsigned int turn);

#endif /* SELFTESTS_KSFT_H */
