// SPDX-License-Identifier: GPL-2.0
/* Programs: see program.h. */
#include "program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST_PIECE	64	/* operations that are changed at once */
#define PIECE_TEXT	(1 + 16 + 1 + 2 + 1 + 2)

/*** new ***/

static uint64_t new_gene(program_dice dice)
{
	return dice();
}

void program_random(struct program *p, program_dice dice)
{
	unsigned int i;

	for (p->n = 0; p->n < PROGRAM_OPS; p->n += i) {
		uint64_t gene = new_gene(dice);

		for (i = 0; i < PROGRAM_PER_GENE; i++) {
			p->op[p->n + i].gene = gene;
			p->op[p->n + i].place = i;
		}
	}
	program_name(p);
}

/*** text ***/

/* How many operations from 'at' on are of one gene, and follow each other. */
static unsigned int piece(const struct program *p, unsigned int at)
{
	unsigned int n = 1;

	while (at + n < p->n && p->op[at + n].gene == p->op[at].gene &&
	       p->op[at + n].place == p->op[at].place + n)
		n++;
	return n;
}

void program_name(struct program *p)
{
	unsigned int at, n, first, len = 0;

	p->text[0] = 0;
	for (at = 0; at < p->n && len + PIECE_TEXT < sizeof(p->text); at += n) {
		n = piece(p, at);
		first = p->op[at].place;
		len += sprintf(p->text + len, "%s%llx", at ? "." : "",
			       (unsigned long long)p->op[at].gene);
		if (n == 1)
			len += sprintf(p->text + len, ":%u", first);
		else if (n < PROGRAM_PER_GENE)
			len += sprintf(p->text + len, ":%u-%u", first, first + n - 1);
	}
	p->n = at;
}

bool program_read(struct program *p, const char *text)
{
	unsigned long from, to;
	uint64_t gene;
	char *end;

	for (p->n = 0; *text; text = *end == '.' ? end + 1 : end) {
		gene = strtoull(text, &end, 16);
		if (end == text)
			break;
		from = 0;
		to = PROGRAM_PER_GENE - 1;
		if (*end == ':') {
			from = strtoul(end + 1, &end, 10);
			to = *end == '-' ? strtoul(end + 1, &end, 10) : from;
		}
		for (; from <= to && from < PROGRAM_PER_GENE && p->n < PROGRAM_OPS; from++) {
			p->op[p->n].gene = gene;
			p->op[p->n++].place = from;
		}
		if (*end && *end != '.')
			break;
	}
	program_name(p);
	return p->n;
}

/*** of others ***/

static unsigned int below(program_dice dice, unsigned int n)
{
	return dice() % n;
}

/* As often one operation as up to 2, 4, 8... */
static unsigned int some_length(program_dice dice)
{
	unsigned int n = 1;

	while (n < LONGEST_PIECE && below(dice, 4))
		n *= 2;
	return 1 + below(dice, n);
}

/* Room for n operations at 'at'; what is pushed beyond the end is lost. Those there are. */
static unsigned int make_room(struct program *p, unsigned int at, unsigned int n)
{
	unsigned int tail;

	if (n > PROGRAM_OPS - at)
		n = PROGRAM_OPS - at;
	tail = p->n - at;
	if (tail > PROGRAM_OPS - at - n)
		tail = PROGRAM_OPS - at - n;
	memmove(&p->op[at + n], &p->op[at], tail * sizeof(p->op[0]));
	p->n = at + n + tail;
	return n;
}

static void fill(struct program *p, unsigned int at, unsigned int n, program_dice dice)
{
	uint64_t gene = new_gene(dice);
	unsigned int i, first = below(dice, PROGRAM_PER_GENE - n + 1);

	for (i = 0; i < n && at + i < p->n; i++) {
		p->op[at + i].gene = gene;
		p->op[at + i].place = first + i;
	}
}

static void change(struct program *p, program_dice dice)
{
	fill(p, below(dice, p->n), some_length(dice), dice);
}

static void insert(struct program *p, program_dice dice)
{
	unsigned int at = below(dice, p->n + 1);

	fill(p, at, make_room(p, at, some_length(dice)), dice);
}

static void leave_out(struct program *p, program_dice dice)
{
	unsigned int at = below(dice, p->n), n = some_length(dice);

	if (n > p->n - at)
		n = p->n - at;
	if (n == p->n)
		return;
	memmove(&p->op[at], &p->op[at + n], (p->n - at - n) * sizeof(p->op[0]));
	p->n -= n;
}

/* Some of another, which may be itself, somewhere in between. */
static void borrow(struct program *p, const struct program *from, program_dice dice)
{
	unsigned int at = below(dice, p->n + 1), first = below(dice, from->n);
	unsigned int n = some_length(dice);

	if (n > from->n - first)
		n = from->n - first;
	n = make_room(p, at, n);
	memcpy(&p->op[at], &from->op[first], n * sizeof(p->op[0]));
}

/* The beginning of one, the end of another. */
static void splice(struct program *p, const struct program *end, program_dice dice)
{
	unsigned int at = 1 + below(dice, p->n), first = below(dice, end->n);
	unsigned int n = end->n - first;

	if (n > PROGRAM_OPS - at)
		n = PROGRAM_OPS - at;
	memcpy(&p->op[at], &end->op[first], n * sizeof(p->op[0]));
	p->n = at + n;
}

/* Who came later, mostly: they have more in them. */
static const struct program *some_kept(const struct programs *all, program_dice dice)
{
	unsigned int a = below(dice, all->n), b = below(dice, all->n);

	return &all->kept_one[a > b ? a : b];
}

static void change_some(struct program *p, const struct programs *all, program_dice dice)
{
	unsigned int changes;

	for (changes = 1 + below(dice, 6); changes; changes--) {
		const struct program *other = some_kept(all, dice);

		switch (below(dice, 8)) {
		case 0:
		case 1:
			change(p, dice);
			break;
		case 2:
		case 3:
			insert(p, dice);
			break;
		case 4:
			leave_out(p, dice);
			break;
		case 5:
		case 6:
			borrow(p, other, dice);
			break;
		default:
			splice(p, other, dice);
		}
	}
}

/*
 * One that is new finds most as long as little is known, and changes to those kept when
 * all that is easy has been found: whatever finds more, and the others not never.
 */
static unsigned int some_way(struct programs *all, program_dice dice)
{
	unsigned int i, weight[PROGRAM_WAYS], sum = 0, at;

	if (!all->n)
		return PROGRAM_NEW;
	for (i = 0; i < PROGRAM_WAYS; i++) {
		if (all->tried[i] >= 32) {
			all->tried[i] /= 2;
			all->paid[i] /= 2;
		}
		weight[i] = 64 * (all->paid[i] + 1) / (all->tried[i] + 1);
		sum += ++weight[i];
	}
	at = below(dice, sum);
	for (i = 0; at >= weight[i]; i++)
		at -= weight[i];
	return i;
}

void program_next(struct program *p, struct programs *all, program_dice dice)
{
	all->way = some_way(all, dice);
	all->tried[all->way]++;
	program_random(p, dice);
	if (all->way == PROGRAM_NEW)
		return;
	if (all->way == PROGRAM_HALF) {
		splice(p, some_kept(all, dice), dice);
	} else {
		*p = *some_kept(all, dice);
		change_some(p, all, dice);
	}
	program_name(p);
}

void program_keep(struct programs *all, const struct program *p, program_dice dice)
{
	unsigned int at = all->n;

	if (at < PROGRAMS_KEPT)
		all->n++;
	else
		at = below(dice, PROGRAMS_KEPT);
	all->kept_one[at] = *p;
	all->kept++;
	all->paid[all->way]++;
}
