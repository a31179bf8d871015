// SPDX-License-Identifier: GPL-2.0
/* The programs of the fuzzer of system calls: within bounds, and to be repeated. */
#include "../uapi/program.h"

#include <stdio.h>
#include <string.h>

#include "unit.h"

static struct program p, q;
static struct programs all, same;
static uint64_t own;

/* A dice that the test can throw again. */
static uint32_t dice(void)
{
	own = own * 6364136223846793005ull + 1442695040888963407ull;
	return own >> 32;
}

static bool is_one(const struct program *a)
{
	unsigned int i;

	if (!EXPECT_TRUE(a->n >= 1 && a->n <= PROGRAM_OPS) ||
	    !EXPECT_TRUE(strnlen(a->text, PROGRAM_TEXT) < PROGRAM_TEXT))
		return false;
	for (i = 0; i < a->n; i++)
		if (!EXPECT_TRUE(a->op[i].place < PROGRAM_PER_GENE))
			return false;
	return true;
}

static bool equal(const struct program *a, const struct program *b)
{
	unsigned int i;

	if (a->n != b->n || strcmp(a->text, b->text))
		return false;
	for (i = 0; i < a->n; i++)
		if (a->op[i].gene != b->op[i].gene || a->op[i].place != b->op[i].place)
			return false;
	return true;
}

CASE(a_new_one_is_whole_genes)
{
	own = unit_rand();
	program_random(&p, dice);
	EXPECT_TRUE(is_one(&p));
	EXPECT_EQ(p.n, PROGRAM_OPS);
	EXPECT_TRUE(!strchr(p.text, ':'));
	EXPECT_EQ(p.op[0].place, 0);
	EXPECT_EQ(p.op[PROGRAM_OPS - 1].place, PROGRAM_PER_GENE - 1);
}

CASE(a_text_says_what_is_in_it)
{
	EXPECT_TRUE(program_read(&p, "1f3a.20c:7-12.20c:3"));
	EXPECT_EQ(p.n, PROGRAM_PER_GENE + 6 + 1);
	EXPECT_EQ(p.op[63].gene, 0x1f3a);
	EXPECT_EQ(p.op[63].place, 63);
	EXPECT_EQ(p.op[64].gene, 0x20c);
	EXPECT_EQ(p.op[64].place, 7);
	EXPECT_EQ(p.op[69].place, 12);
	EXPECT_EQ(p.op[70].place, 3);
	EXPECT_TRUE(!strcmp(p.text, "1f3a.20c:7-12.20c:3"));
}

CASE(a_bad_text_is_read_within_bounds)
{
	static const char *const bad[] = {
		"", ".", "x", ":", "1:", "1:64", "1:99999999999999999999", "1:3-",
		"1:5-4", "1:0-99999999999", "1:-1", "1.x.2", "1:2:3", "1-2", "-1",
		"ffffffffffffffffffffffffffff",
	};
	char text[2000] = "";
	unsigned int i;

	for (i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		unit_context("%s", bad[i]);
		if (program_read(&p, bad[i]))
			is_one(&p);
		else
			EXPECT_EQ(p.n, 0);
	}
	unit_context("too long");
	for (i = 0; i < 600; i++)
		strcat(text, "1.");
	EXPECT_TRUE(program_read(&p, text));
	EXPECT_EQ(p.n, PROGRAM_OPS);
	is_one(&p);
}

/* The longest genes, and no two operations that follow each other. */
CASE(what_its_text_has_no_room_for_is_no_part)
{
	unsigned int i;

	p.n = PROGRAM_OPS;
	for (i = 0; i < PROGRAM_OPS; i++) {
		p.op[i].gene = ~0ull - i;
		p.op[i].place = 63;
	}
	program_name(&p);
	is_one(&p);
	EXPECT_TRUE(p.n < PROGRAM_OPS && p.n > PROGRAM_TEXT / 24 - 2);
	EXPECT_TRUE(program_read(&q, p.text));
	EXPECT_TRUE(equal(&p, &q));
}

/* One generation after the other; every one can be repeated by its text. */
CASE(children_are_within_bounds)
{
	unsigned int i, made = 0;

	own = unit_rand();
	memset(&all, 0, sizeof(all));
	for (i = 0; i < unit_rounds(5000); i++) {
		program_next(&p, &all, dice);
		if (!is_one(&p) || !EXPECT_TRUE(program_read(&q, p.text)) ||
		    !EXPECT_TRUE(equal(&p, &q)))
			return;
		made += all.way != PROGRAM_NEW;
		if (unit_chance(3))
			program_keep(&all, &p, dice);
		EXPECT_TRUE(all.n <= PROGRAMS_KEPT && all.n <= all.kept);
	}
	EXPECT_EQ(all.n, PROGRAMS_KEPT);
	EXPECT_TRUE(made > i / 3 && made < 9 * i / 10);
}

/* What finds something is done more often, and what does not still now and then. */
CASE(what_pays_is_what_is_done)
{
	unsigned int way, i, n[PROGRAM_WAYS];

	for (way = 0; way < PROGRAM_WAYS; way++) {
		unit_context("way %u", way);
		own = unit_rand();
		memset(&all, 0, sizeof(all));
		memset(n, 0, sizeof(n));
		program_random(&p, dice);
		program_keep(&all, &p, dice);
		for (i = 0; i < 2000; i++) {
			program_next(&p, &all, dice);
			n[all.way]++;
			if (all.way == way)
				program_keep(&all, &p, dice);
		}
		EXPECT_TRUE(n[way] > 1500);
		for (i = 0; i < PROGRAM_WAYS; i++)
			EXPECT_TRUE(n[i] > 10);
	}
}

/* The same dice, and the same of them kept: the same programs. */
CASE(a_run_can_be_repeated)
{
	uint64_t seed = unit_rand(), other = unit_rand();
	unsigned int i;

	own = seed;
	memset(&all, 0, sizeof(all));
	for (i = 0; i < 400; i++) {
		program_next(&p, &all, dice);
		if (p.text[0] % 2)
			program_keep(&all, &p, dice);
	}
	memset(&same, 0, sizeof(same));
	memset(&p, 0xa5, sizeof(p));	/* nothing of the one before is left in it */
	own = seed;
	for (i = 0; i < 400; i++) {
		program_next(&p, &same, dice);
		if (p.text[0] % 2)
			program_keep(&same, &p, dice);
	}
	EXPECT_EQ(same.n, all.n);
	for (i = 0; i < all.n; i++)
		EXPECT_TRUE(equal(&all.kept_one[i], &same.kept_one[i]));
	own = other == seed ? other + 1 : other;
	program_random(&q, dice);
	EXPECT_TRUE(!equal(&q, &all.kept_one[0]));
}

/* Each part of a child is of one of its parents, or of one gene that is new. */
CASE(children_are_like_their_parents)
{
	unsigned int i, k, inherited = 0, total = 0;

	own = unit_rand();
	memset(&all, 0, sizeof(all));
	program_read(&p, "a1.a2.a3.a4");
	program_keep(&all, &p, dice);
	program_read(&p, "b1.b2.b3.b4");
	program_keep(&all, &p, dice);
	for (i = 0; i < 500; i++) {
		program_next(&q, &all, dice);
		if (!strchr(q.text, ':'))
			continue;
		for (k = 0; k < q.n; k++)
			inherited += (q.op[k].gene & ~15ull) == 0xa0 ||
				     (q.op[k].gene & ~15ull) == 0xb0;
		total += q.n;
	}
	EXPECT_TRUE(total && inherited > total / 2 && inherited < total);
}
