/* SPDX-License-Identifier: GPL-2.0 */
/*
 * unit - the macros that test bodies are written against
 *
 *   CASE(name) { EXPECT_EQ(a, b); EXPECT_TRUE(c); }
 *
 * Output is TAP. Arguments: substrings of the names of the cases to run.
 * Environment: UNIT_SEED repeats a run; UNIT_LONG: so many times as long, where
 * it is chance that finds something.
 */
#ifndef UNIT_UNIT_H
#define UNIT_UNIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct unit_case {
	const char *name;
	void (*fn)(void);
	struct unit_case *next;
};

void unit_register(struct unit_case *c);
void unit_fail(const char *file, int line, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* What a failure prints beside its place; stays until the next or the end. */
void unit_context(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
bool unit_failed(void);
uint32_t unit_rand(void);
/* Another sequence from here on; returns what continues this one. */
uint64_t unit_seed(uint64_t seed);
/* n times UNIT_LONG */
uint32_t unit_rounds(uint32_t n);

static inline uint32_t unit_below(uint32_t n)
{
	return unit_rand() % n;
}

static inline bool unit_chance(uint32_t one_in)
{
	return !unit_below(one_in);
}

#define CASE(id)							\
	static void id(void);						\
	static struct unit_case id##_case = { .name = #id, .fn = id };	\
	__attribute__((constructor)) static void id##_register(void)	\
	{								\
		unit_register(&id##_case);				\
	}								\
	static void id(void)

/* A case that is one call. */
#define CASE_ROW(id, call)	CASE(id) { call; }

/* The same of either layout: fn(false) of a split ring, fn(true) of a packed one. */
#define CASE_BOTH(split, packed, fn)					\
	CASE_ROW(split, fn(false))					\
	CASE_ROW(packed, fn(true))

#define EXPECT_TRUE(cond) __extension__ ({				\
	bool ok_ = (cond);						\
									\
	if (!ok_)							\
		unit_fail(__FILE__, __LINE__, "expected: %s", #cond);	\
	ok_; })

#define EXPECT_EQ(a, b) __extension__ ({				\
	long long a_ = (long long)(a), b_ = (long long)(b);		\
									\
	if (a_ != b_)							\
		unit_fail(__FILE__, __LINE__,				\
			  "expected %s == %s: %lld, %lld (0x%llx, 0x%llx)", \
			  #a, #b, a_, b_, a_, b_);			\
	a_ == b_; })

#endif /* UNIT_UNIT_H */
