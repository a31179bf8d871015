// SPDX-License-Identifier: GPL-2.0
/* All orders of a few threads' accesses: see litmus.h. */
#include "litmus.h"

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "unit.h"

#define STACK	(64 * 1024)
#define STORES	8	/* buffered by a thread */
#define STEPS	64	/* of a run */

struct store {
	void *p;
	size_t size;
	uint64_t value;
};

struct thread {
	ucontext_t context;
	char *stack;
	void (*fn)(void);
	bool done;
	bool seen;		/* about to do what others may see, or see of others */
	bool barrier;		/* once its stores are in memory */
	struct store store[STORES];
	unsigned int n;
};

/* A choice among those that there were. */
struct choice {
	unsigned int taken, of;
};

static const struct litmus *what;
static struct thread thread[LITMUS_THREADS], *self;
static ucontext_t scheduler;
static struct choice choice[STEPS];
static unsigned int step, known;

/* The scheduler decides when the thread goes on. */
static void pause_thread(bool seen, bool barrier)
{
	self->seen = seen;
	self->barrier = barrier;
	swapcontext(&self->context, &scheduler);
}

/* One of its own, that others do not see yet? */
static bool load_own(const void *p, uint64_t *value)
{
	unsigned int i;

	for (i = self->n; i--;)
		if (self->store[i].p == p) {
			*value = self->store[i].value;
			return true;
		}
	return false;
}

uint64_t litmus_load(const void *p, size_t size)
{
	uint64_t value = 0;

	if (load_own(p, &value))
		return value;
	pause_thread(true, false);
	if (!load_own(p, &value))
		memcpy(&value, p, size);
	return value;
}

void litmus_store(void *p, size_t size, uint64_t value)
{
	if (!EXPECT_TRUE(self->n < STORES))
		abort();
	self->store[self->n++] = (struct store) { p, size, value };
}

void litmus_mb(void)
{
	if (!what->weak)
		pause_thread(false, true);
}

void litmus_atomic(void)
{
	pause_thread(true, true);
}

static void run_thread(void)
{
	self->fn();
	self->done = true;
}

static void start_thread(unsigned int i)
{
	struct thread *t = &thread[i];

	if (!t->stack)
		t->stack = malloc(STACK);
	t->fn = what->thread[i];
	t->done = false;
	t->seen = false;
	t->barrier = false;
	t->n = 0;
	getcontext(&t->context);
	t->context.uc_stack.ss_sp = t->stack;
	t->context.uc_stack.ss_size = STACK;
	t->context.uc_link = &scheduler;
	makecontext(&t->context, run_thread, 0);
}

static bool may_run(const struct thread *t)
{
	return !t->done && !(t->barrier && t->n);
}

/* The oldest to its place? */
static bool may_drain(const struct thread *t, unsigned int nr)
{
	unsigned int i;

	for (i = 0; i < nr; i++)
		if (t->store[i].p == t->store[nr].p)
			return false;
	return true;
}

static void drain(struct thread *t, unsigned int nr)
{
	struct store s = t->store[nr];

	memcpy(s.p, &s.value, s.size);	/* little-endian */
	memmove(&t->store[nr], &t->store[nr + 1],
		(--t->n - nr) * sizeof(s));
}

/* Which of 'of' is next: as in the run before, as far as that is known. */
static unsigned int choose(unsigned int of)
{
	if (!EXPECT_TRUE(step < STEPS))
		abort();
	if (step == known)
		choice[known++] = (struct choice) { 0, of };
	else if (!EXPECT_EQ(choice[step].of, of))
		abort();
	return choice[step++].taken;
}

static void resume(struct thread *t)
{
	self = t;
	swapcontext(&scheduler, &t->context);
}

/* What nobody can see needs no turn of its own. */
static void run_unseen(void)
{
	unsigned int i;

	for (i = 0; i < what->n; i++)
		while (may_run(&thread[i]) && !thread[i].seen)
			resume(&thread[i]);
}

/* All that could happen next; do the one that is chosen. False: nothing can. */
static bool next_step(void)
{
	struct { struct thread *t; int store; } can[LITMUS_THREADS * (STORES + 1)];
	unsigned int n = 0, i, k;

	run_unseen();
	for (i = 0; i < what->n; i++) {
		struct thread *t = &thread[i];

		if (may_run(t)) {
			can[n].t = t;
			can[n++].store = -1;
		}
		for (k = 0; k < t->n; k++) {
			if (!may_drain(t, k))
				continue;
			can[n].t = t;
			can[n++].store = k;
		}
	}
	if (!n)
		return false;
	i = choose(n);
	if (can[i].store >= 0)
		drain(can[i].t, can[i].store);
	else
		resume(can[i].t);
	return true;
}

/* The next order: another choice, the last that there is. False: that was all. */
static bool next_order(void)
{
	while (known && choice[known - 1].taken + 1 == choice[known - 1].of)
		known--;
	if (!known)
		return false;
	choice[known - 1].taken++;
	return true;
}

unsigned long litmus_all(const struct litmus *l)
{
	unsigned long runs = 0;
	unsigned int i;

	what = l;
	known = 0;
	do {
		step = 0;
		l->reset();
		for (i = 0; i < l->n; i++)
			start_thread(i);
		while (next_step())
			;
		l->check();
		runs++;
	} while (next_order());
	for (i = 0; i < l->n; i++) {
		free(thread[i].stack);
		thread[i].stack = NULL;
	}
	return runs;
}
