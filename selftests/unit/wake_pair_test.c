// SPDX-License-Identifier: GPL-2.0
/*
 * Pair E of Documentation/ordering.rst: kvnet_source_wake() and
 * kvnet_source_expect(), the very functions (the Makefile takes them out of
 * worker.c), in all orders that a machine may give them.  Whoever asks for an event
 * and looks once more sees what has come, or is woken.
 */
#include <stdio.h>

#include <linux/bits.h>
#include <linux/kernel.h>
#include <linux/types.h>

#include "litmus.h"
#include "unit.h"

/* What the functions know of worker.h; where they wake a thread a bit is enough. */
typedef struct { long n; } atomic_long_t;

struct kvnet_worker {
	unsigned long ready;
};

struct kvnet_source {
	struct kvnet_worker *worker;
	unsigned int bit;
	unsigned int armed;
	atomic_long_t kicks;
	atomic_long_t wakes;
};

static bool test_and_set_bit(unsigned int nr, unsigned long *word)
{
	bool was;

	litmus_atomic();
	was = *word & BIT(nr);
	*word |= BIT(nr);
	return was;
}

#undef READ_ONCE
#undef WRITE_ONCE
#undef smp_mb
#define READ_ONCE(x)	((__typeof__(x))litmus_load(&(x), sizeof(x)))
#define WRITE_ONCE(x, v) litmus_store(&(x), sizeof(x), (v))
#define smp_mb()	litmus_mb()
#define atomic_long_inc(a) ((void)(a)->n++)
#define trace_kvnet_wake(...) ((void)0)
#define wake_up_process(task) ((void)0)
#define kvnet_thread_wake(thread) ((void)0)

#include "worker_pair.h"

static struct kvnet_worker worker;
static struct kvnet_source source;
static unsigned int news[2], event[2];	/* what the events are about */
static unsigned int asked;		/* for KVNET_EV_* */
static unsigned int seen[2];		/* by the second look */
static unsigned long lost, looked, woken;

static void reset(void)
{
	worker = (struct kvnet_worker) { 0 };
	source = (struct kvnet_source) { .worker = &worker, .bit = 1 };
	news[0] = 0;
	news[1] = 0;
}

static void comes(unsigned int i)
{
	WRITE_ONCE(news[i], 1);
	kvnet_source_wake(&source, event[i]);
}

static void first_comes(void)
{
	comes(0);
}

static void second_comes(void)
{
	comes(1);
}

static void asks(void)
{
	kvnet_source_expect(&source, asked);
	seen[0] = READ_ONCE(news[0]);
}

static void asks_for_both(void)
{
	asks();
	seen[1] = READ_ONCE(news[1]);
}

/* All have done what they had to do, and the thread goes to sleep. */
static void check_one(void)
{
	bool ready = worker.ready & BIT(source.bit);

	EXPECT_EQ(worker.ready & ~BIT(source.bit), 0);
	EXPECT_EQ(source.wakes.n, ready);
	looked += seen[0];
	woken += ready;
	lost += !seen[0] && !ready;
}

static void check_both(void)
{
	bool ready = worker.ready & BIT(source.bit);

	EXPECT_EQ(source.wakes.n, ready);
	looked += seen[0] && seen[1];
	woken += ready;
	lost += (!seen[0] || !seen[1]) && !ready;
}

static unsigned long try(const struct litmus *l, unsigned int for_what)
{
	unsigned long n;

	asked = for_what;
	lost = 0;
	looked = 0;
	woken = 0;
	n = litmus_all(l);
	printf("# %lu orders: seen in %lu, woken in %lu, lost in %lu\n", n,
	       looked, woken, lost);
	return n;
}

static const struct litmus one = {
	.reset = reset, .thread = { first_comes, asks }, .n = 2,
	.check = check_one,
};

/* Neither the one nor the other alone, and never neither. */
static void one_event(unsigned int what)
{
	event[0] = what;
	EXPECT_TRUE(try(&one, what) > 4);
	EXPECT_EQ(lost, 0);
	EXPECT_TRUE(looked > 0);
	EXPECT_TRUE(woken > 0);
}

CASE(a_kick_is_seen_or_wakes)
{
	one_event(KVNET_EV_KICK);
}

CASE(an_event_of_the_tap_is_seen_or_wakes)
{
	one_event(KVNET_EV_TAP);
}

/* Asked for or not: set-up that changed wakes. */
CASE(a_change_of_the_set_up_wakes)
{
	unsigned long n;

	event[0] = KVNET_EV_CTRL;
	n = try(&one, 0);
	EXPECT_EQ(woken, n);
}

CASE(an_event_that_is_not_asked_for_does_not_wake)
{
	event[0] = KVNET_EV_TAP;
	try(&one, KVNET_EV_KICK);
	EXPECT_EQ(woken, 0);
	event[0] = KVNET_EV_KICK;
	try(&one, 0);
	EXPECT_EQ(woken, 0);
}

CASE(of_two_events_none_is_lost_and_one_wakes)
{
	static const struct litmus two = {
		.reset = reset,
		.thread = { first_comes, second_comes, asks_for_both }, .n = 3,
		.check = check_both,
	};

	event[0] = KVNET_EV_KICK;
	event[1] = KVNET_EV_TAP;
	EXPECT_TRUE(try(&two, KVNET_EV_KICK | KVNET_EV_TAP) > 100);
	EXPECT_EQ(lost, 0);
}

/* What this test is good for: it notices when there is no barrier. */
CASE(without_barriers_it_is_lost)
{
	struct litmus weak = one;

	weak.weak = true;
	event[0] = KVNET_EV_KICK;
	try(&weak, KVNET_EV_KICK);
	EXPECT_TRUE(lost > 0);
}
