// SPDX-License-Identifier: GPL-2.0
/* Which operations a seed stands for: see abuse.h. */
#include "abuse.h"

static uint64_t spread(uint64_t seed, unsigned int nr)
{
	uint64_t x = seed + (nr + 1) * 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return (x ^ x >> 31) | 1;
}

static unsigned int count(const struct abuse_op *ops)
{
	unsigned int n = 0;

	while (ops[n].name)
		n++;
	return n;
}

static const struct abuse_op *op_at(unsigned int i)
{
	unsigned int first = count(abuse_set_up);

	return i < first ? &abuse_set_up[i] : &abuse_around[i - first];
}

unsigned int abuse_names(void)
{
	return count(abuse_set_up) + count(abuse_around);
}

const char *abuse_name(unsigned int op)
{
	return op_at(op)->name;
}

/* By their weights. */
static unsigned int choose(struct draw *d)
{
	unsigned int n = abuse_names(), sum = 0, at, i;

	for (i = 0; i < n; i++)
		sum += op_at(i)->weight;
	at = draw(d, sum);
	for (i = 0; at >= op_at(i)->weight; i++)
		at -= op_at(i)->weight;
	return i;
}

void abuse_do(struct world *w, uint64_t seed, unsigned int nr, struct genl *g)
{
	struct draw d = { .x = spread(seed, nr), .genl = g };
	unsigned int op = choose(&d);

	__atomic_fetch_add(&w->tally->done[op], 1, __ATOMIC_RELAXED);
	if (op_at(op)->fn(w, &w->dev[draw(&d, ABUSE_DEVS)], &d))
		__atomic_fetch_add(&w->tally->ok[op], 1, __ATOMIC_RELAXED);
}
