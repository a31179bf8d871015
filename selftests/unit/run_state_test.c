// SPDX-License-Identifier: GPL-2.0
/*
 * run_state.h, in all orders that a machine may give its operations: a source has one
 * holder or none, and none only if nothing is left to do. (Pair E of
 * Documentation/ordering.rst.)
 */
#include <stdio.h>

#include <linux/kernel.h>
#include <linux/types.h>

#include "litmus.h"
#include "unit.h"

#include <linux/atomic.h>

#include "run_state.h"

#undef READ_ONCE
#undef WRITE_ONCE
#define READ_ONCE(x)	((__typeof__(x))litmus_load(&(x), sizeof(x)))
#define WRITE_ONCE(x, v) litmus_store(&(x), sizeof(x), (v))

enum { FIRST, SECOND, EVENTS };

/* that may be enabled; KVNET_EV_CTRL always is */
static const unsigned int events[] = { KVNET_EV_KICK, KVNET_EV_TAP, KVNET_EV_TIMER };

static struct kvnet_run_state claim;
static unsigned int news[EVENTS];	/* what the events are about */
static unsigned int event[EVENTS];
static int offer;			/* the inline context that could serve them */
static enum kvnet_run_context given[EVENTS];	/* to which context each gave it */
static unsigned int asked;		/* the events rested for */
static int begin;			/* the state before */
static unsigned int holders;		/* by whom it is held in the end */
static unsigned int seen[EVENTS];	/* by the look after the rest */
static bool saw_change;
static unsigned long lost, looked, woken, several;

static void reset(void)
{
	claim.state.counter = begin;
	news[FIRST] = 0;
	news[SECOND] = 0;
	seen[FIRST] = 0;
	seen[SECOND] = 0;
	given[FIRST] = KVNET_RUN_NONE;
	given[SECOND] = KVNET_RUN_NONE;
	holders = 0;
	saw_change = false;
}

static void comes(unsigned int i)
{
	WRITE_ONCE(news[i], 1);
	given[i] = kvnet_run_state_schedule_prep(&claim, event[i], offer);
	if (given[i] != KVNET_RUN_NONE)
		holders++;
}

static void first_comes(void)
{
	comes(FIRST);
}

static void second_comes(void)
{
	comes(SECOND);
}

/* The holder finds nothing and lets it rest, but for what has come meanwhile. */
static void rests(void)
{
	if (!kvnet_run_state_complete(&claim, asked)) {
		saw_change = true;
		holders++;
		return;
	}
	seen[FIRST] = READ_ONCE(news[FIRST]);
	seen[SECOND] = READ_ONCE(news[SECOND]);
	if ((seen[FIRST] || seen[SECOND]) && kvnet_run_state_reschedule(&claim))
		holders++;
}

/* A thread to which it was lent begins, or somebody calls that off. */
static void takes_lent(void)
{
	if (kvnet_run_state_grab_task_work(&claim))
		holders++;
}

static bool is_held(void)
{
	return claim.state.counter & KVNET_RUN_STATE_BUSY;
}

/* All have done what they had to do. Whoever holds it is going to look. */
static void check(void)
{
	bool all = (seen[FIRST] || !event[FIRST]) &&
		   (seen[SECOND] || !event[SECOND]);

	several += holders > 1;
	EXPECT_EQ(is_held(), holders > 0);
	looked += all;
	woken += holders && !all;
	lost += !holders && !all;
}

static unsigned long try(const struct litmus *l, unsigned int for_what)
{
	unsigned long n;

	asked = for_what;
	lost = 0;
	looked = 0;
	woken = 0;
	several = 0;
	n = litmus_all(l);
	printf("# %lu orders: seen in %lu, held in %lu, lost in %lu\n", n,
	       looked, woken, lost);
	return n;
}

static const struct litmus one = {
	.reset = reset, .thread = { first_comes, rests }, .n = 2, .check = check,
};

static const struct litmus two = {
	.reset = reset, .thread = { first_comes, second_comes, rests }, .n = 3,
	.check = check,
};

static void set_up(int state, unsigned int first, unsigned int second)
{
	begin = state;
	offer = 0;
	event[FIRST] = first;
	event[SECOND] = second;
}

/* Neither the one nor the other alone, and never neither. */
CASE(an_event_is_seen_or_ends_the_rest)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		set_up(KVNET_RUN_STATE_SCHED, events[i], 0);
		EXPECT_TRUE(try(&one, events[i]) > 4);
		EXPECT_EQ(lost, 0);
		EXPECT_EQ(several, 0);
		EXPECT_TRUE(looked > 0);
		EXPECT_TRUE(woken > 0);
	}
}

/* Rested for or not: set-up that changed has it run, whoever holds it. */
static void changes(void)
{
	if (!kvnet_run_state_complete(&claim, asked)) {
		saw_change = true;
		holders++;
	}
}

static void check_change(void)
{
	EXPECT_EQ(holders, 1);
	woken += !saw_change;
	looked += saw_change;
}

CASE(a_change_of_the_set_up_is_never_lost)
{
	static const struct litmus change = {
		.reset = reset, .thread = { first_comes, changes }, .n = 2,
		.check = check_change,
	};

	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_CTRL, 0);
	try(&change, 0);
	EXPECT_TRUE(woken > 0);
	EXPECT_TRUE(looked > 0);
}

/* Who has been told of a change has been told: it may rest then. */
static void rests_in_the_end(void)
{
	if (kvnet_run_state_complete(&claim, asked))
		return;
	saw_change = true;
	holders += !kvnet_run_state_complete(&claim, asked);
}

static void check_told_once(void)
{
	EXPECT_EQ(is_held(), holders > 0);
	EXPECT_EQ(holders, !saw_change);
	looked += saw_change;
}

CASE(a_change_is_told_once)
{
	static const struct litmus change = {
		.reset = reset, .thread = { first_comes, rests_in_the_end },
		.n = 2, .check = check_told_once,
	};

	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_CTRL, 0);
	try(&change, KVNET_EV_KICK);
	EXPECT_TRUE(looked > 0);
}

CASE(two_changes_are_as_one)
{
	static const struct litmus change = {
		.reset = reset, .thread = { first_comes, second_comes, changes },
		.n = 3, .check = check_change,
	};

	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_CTRL, KVNET_EV_CTRL);
	EXPECT_TRUE(try(&change, KVNET_EV_KICK) > 20);
}

static void check_dropped(void)
{
	woken += holders;
	EXPECT_EQ(claim.state.counter, asked);
}

CASE(an_event_that_is_not_rested_for_does_nothing)
{
	static const struct litmus drop = {
		.reset = reset, .thread = { first_comes, changes }, .n = 2,
		.check = check_dropped,
	};

	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_TAP, 0);
	try(&drop, KVNET_EV_KICK);
	EXPECT_EQ(woken, 0);
	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_KICK, 0);
	try(&drop, KVNET_EV_TIMER);
	EXPECT_EQ(woken, 0);
}

CASE(of_two_events_none_is_lost_and_one_gets_it)
{
	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_KICK, KVNET_EV_TAP);
	EXPECT_TRUE(try(&two, KVNET_EV_KICK | KVNET_EV_TAP) > 100);
	EXPECT_EQ(lost, 0);
	EXPECT_EQ(several, 0);
}

CASE(of_an_event_and_a_change_none_is_lost)
{
	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_KICK, KVNET_EV_CTRL);
	EXPECT_TRUE(try(&two, KVNET_EV_KICK) > 100);
	EXPECT_EQ(several, 0);
	/* Who holds it on account of the change looks for the kick, too. */
	EXPECT_EQ(lost, 0);
}

/*** lent ***/

/* Two kicks of a source at rest: it is lent once. */
static void check_lent(void)
{
	EXPECT_EQ(holders, 1);
	EXPECT_EQ(claim.state.counter, KVNET_RUN_STATE_TASK_WORK);
}

CASE(it_is_lent_once)
{
	static const struct litmus lend = {
		.reset = reset, .thread = { first_comes, second_comes }, .n = 2,
		.check = check_lent,
	};

	set_up(KVNET_EV_KICK | KVNET_EV_VCPU(KVNET_EV_KICK), KVNET_EV_KICK, KVNET_EV_KICK);
	offer = KVNET_EV_VCPU(KVNET_EV_KICK);
	EXPECT_TRUE(try(&lend, 0) > 1);
}

/* Begun or called off, never both. */
static void check_taken(void)
{
	EXPECT_EQ(holders, 1);
	EXPECT_EQ(claim.state.counter & KVNET_RUN_STATE_BUSY, KVNET_RUN_STATE_SCHED);
	woken += !!(claim.state.counter & KVNET_RUN_STATE_MISSED);
}

CASE(what_is_lent_is_begun_or_called_off)
{
	static const struct litmus take = {
		.reset = reset, .thread = { takes_lent, takes_lent, first_comes },
		.n = 3, .check = check_taken,
	};
	unsigned long n;

	set_up(KVNET_RUN_STATE_TASK_WORK, KVNET_EV_CTRL, 0);
	n = try(&take, 0);
	EXPECT_TRUE(n > 4);
	/* A change is kept for whoever it is. */
	EXPECT_EQ(woken, n);
	set_up(KVNET_RUN_STATE_TASK_WORK, KVNET_EV_KICK, 0);
	try(&take, 0);
	EXPECT_EQ(woken, 0);
}

/*** permission ***/

static enum kvnet_run_context expected;

static void check_context(void)
{
	EXPECT_EQ(given[FIRST], expected);
	EXPECT_EQ(claim.state.counter, expected == KVNET_RUN_NONE ? begin :
		  expected == KVNET_RUN_VCPU ? (int)KVNET_RUN_STATE_TASK_WORK :
		  (int)KVNET_RUN_STATE_SCHED);
}

/* The word that the event replaces decides, whatever the event has to offer. */
static void event_of_idle_work(int state, unsigned int what, int could,
			       enum kvnet_run_context context)
{
	static const struct litmus alone = {
		.reset = reset, .thread = { first_comes }, .n = 1, .check = check_context,
	};

	set_up(state, what, 0);
	offer = could;
	expected = context;
	EXPECT_TRUE(litmus_all(&alone) > 0);
}

CASE(context_needs_permission_and_offer)
{
	int vcpu, softirq;
	unsigned int i, e;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		e = events[i];
		vcpu = KVNET_EV_VCPU(e);
		softirq = KVNET_EV_SOFTIRQ(e);
		event_of_idle_work(e, e, 0, KVNET_RUN_WORKER);
		event_of_idle_work(e, e, vcpu, KVNET_RUN_WORKER);
		event_of_idle_work(e, e, softirq, KVNET_RUN_WORKER);
		event_of_idle_work(e | vcpu, e, 0, KVNET_RUN_WORKER);
		event_of_idle_work(e | vcpu, e, vcpu, KVNET_RUN_VCPU);
		event_of_idle_work(e | vcpu, e, softirq, KVNET_RUN_WORKER);
		event_of_idle_work(e | softirq, e, 0, KVNET_RUN_WORKER);
		event_of_idle_work(e | softirq, e, vcpu, KVNET_RUN_WORKER);
		event_of_idle_work(e | softirq, e, softirq, KVNET_RUN_SOFTIRQ);
		/* permission for another event, and events that are not enabled */
		e = events[(i + 1) % ARRAY_SIZE(events)];
		event_of_idle_work(e | events[i] | vcpu, e, KVNET_EV_VCPU(e), KVNET_RUN_WORKER);
		event_of_idle_work(events[i] | vcpu | softirq, e, KVNET_EV_VCPU(e), KVNET_RUN_NONE);
		event_of_idle_work(events[i] | vcpu | softirq, KVNET_EV_CTRL, 0, KVNET_RUN_WORKER);
	}
}

/* The word has no permission before: only what is published with the event may be used. */
static void check_permission(void)
{
	const int vcpu = KVNET_EV_VCPU(event[FIRST]), softirq = KVNET_EV_SOFTIRQ(event[FIRST]);

	check();
	if (given[FIRST] == KVNET_RUN_NONE)
		return;
	EXPECT_EQ(given[FIRST], asked & offer & vcpu ? KVNET_RUN_VCPU :
		  asked & offer & softirq ? KVNET_RUN_SOFTIRQ : KVNET_RUN_WORKER);
}

CASE(permission_comes_with_the_event)
{
	static const struct litmus publish = {
		.reset = reset, .thread = { first_comes, rests }, .n = 2,
		.check = check_permission,
	};
	unsigned int i, may, could;

	for (i = 0; i < ARRAY_SIZE(events); i++) {
		for (may = 0; may < 3; may++) {
			for (could = 0; could < 3; could++) {
				const unsigned int bits[] = {
					0, KVNET_EV_VCPU(events[i]), KVNET_EV_SOFTIRQ(events[i])
				};

				set_up(KVNET_RUN_STATE_SCHED, events[i], 0);
				offer = bits[could];
				EXPECT_TRUE(try(&publish, events[i] | bits[may]) > 4);
				EXPECT_EQ(lost, 0);
				EXPECT_EQ(several, 0);
				EXPECT_TRUE(woken > 0);
			}
		}
	}
}

/*** hints ***/

static int hint_of_kick, expected_hint;
static bool told_missed;

static void reads_hints(void)
{
	hint_of_kick = kvnet_run_state_inline_hint(&claim, KVNET_EV_KICK);
	told_missed = kvnet_run_state_has_missed(&claim);
	kvnet_run_state_reset(&claim);
}

static void check_hints(void)
{
	EXPECT_EQ(hint_of_kick, expected_hint);
	EXPECT_EQ(told_missed, begin == (KVNET_RUN_STATE_SCHED | KVNET_RUN_STATE_MISSED));
	EXPECT_EQ(claim.state.counter, 0);
}

CASE(hints_tell_permission_and_missed_changes)
{
	static const struct litmus hints = {
		.reset = reset, .thread = { reads_hints }, .n = 1, .check = check_hints,
	};
	const int kick = KVNET_EV_KICK, vcpu = KVNET_EV_VCPU(kick), softirq = KVNET_EV_SOFTIRQ(kick);
	const struct { int word, hint; } rows[] = {
		{ 0, 0 },
		{ kick, 0 },
		{ kick | vcpu, vcpu },
		{ kick | softirq, softirq },
		{ kick | KVNET_EV_TAP | KVNET_EV_VCPU(KVNET_EV_TAP) | softirq, softirq },
		{ KVNET_EV_TAP | KVNET_EV_SOFTIRQ(KVNET_EV_TAP), 0 },
		{ KVNET_RUN_STATE_TASK_WORK, 0 },
		{ KVNET_RUN_STATE_SCHED, 0 },
		{ KVNET_RUN_STATE_SCHED | KVNET_RUN_STATE_MISSED, 0 },
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unit_context("row %u", i);
		set_up(rows[i].word, 0, 0);
		expected_hint = rows[i].hint;
		EXPECT_TRUE(litmus_all(&hints) > 0);
	}
}

/*** the timer ***/

static unsigned int timer_started;

static void reset_timer(void)
{
	reset();
	timer_started = 0;
}

/* As kvnet_work_complete_for(): no recheck, but the timer is started afterwards. */
static void completes_for(void)
{
	if (!kvnet_run_state_complete(&claim, asked)) {
		holders++;
		return;
	}
	WRITE_ONCE(timer_started, 1);
}

static void timer_expires(void)
{
	if (!READ_ONCE(timer_started))
		return;
	woken++;
	comes(FIRST);
	EXPECT_TRUE(holders > 0);
}

static void check_timer(void)
{
	EXPECT_EQ(is_held(), holders > 0);
	EXPECT_TRUE(holders <= 1);
}

CASE(expired_timer_finds_its_event_enabled)
{
	static const struct litmus timer = {
		.reset = reset_timer, .thread = { timer_expires, completes_for }, .n = 2,
		.check = check_timer,
	};
	static const struct litmus change = {
		.reset = reset_timer, .thread = { timer_expires, completes_for, second_comes },
		.n = 3, .check = check_timer,
	};

	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_TIMER, 0);
	offer = KVNET_EV_VCPU(KVNET_EV_TIMER);
	try(&timer, KVNET_EV_TIMER | KVNET_EV_VCPU(KVNET_EV_TIMER));
	EXPECT_TRUE(woken > 0);
	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_TIMER, KVNET_EV_CTRL);
	try(&change, KVNET_EV_TIMER);
	EXPECT_TRUE(woken > 0);
}

/* What this test is good for: it notices when there is no barrier. */
static void rests_weakly(void)
{
	WRITE_ONCE(claim.state.counter, asked);
	seen[FIRST] = READ_ONCE(news[FIRST]);
	if (seen[FIRST] && kvnet_run_state_reschedule(&claim))
		holders++;
}

CASE(without_barriers_it_is_lost)
{
	struct litmus weak = one;

	weak.weak = true;
	set_up(KVNET_RUN_STATE_SCHED, KVNET_EV_KICK, 0);
	try(&weak, KVNET_EV_KICK);
	EXPECT_TRUE(lost > 0);

	weak = one;
	weak.thread[1] = rests_weakly;
	try(&weak, KVNET_EV_KICK);
	EXPECT_TRUE(lost > 0);
}
