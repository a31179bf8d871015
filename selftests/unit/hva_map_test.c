// SPDX-License-Identifier: GPL-2.0
/* The map of pages: an entry may be lost, but what it returns is what was inserted last. */
#include "hva_map.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <linux/kernel.h>
#include <linux/mm.h>

#include "unit.h"

#define SPAN		((unsigned long)KVNET_HVA_MAP_SLOTS * PAGE_SIZE)
#define MODEL		96

static struct kvnet_hva_slot place[KVNET_HVA_MAP_SLOTS];
static struct kvnet_hva_map table;

/* All pages that the test knows, and where the last one told was; NULL: nowhere. */
static struct {
	unsigned long at;
	char *kaddr;
} model[MODEL];

static char kernel_memory[1 << 16];

static void begin(void)
{
	unsigned int i;

	memset(place, 0, sizeof(place));
	table = (struct kvnet_hva_map) { .slot = place };
	/* Some that meet, some that are neighbours, the first and the last of all. */
	for (i = 0; i < MODEL; i++) {
		model[i].at = i % 3 * SPAN + i / 3 * PAGE_SIZE;
		model[i].kaddr = NULL;
	}
	model[MODEL - 1].at = ULONG_MAX & PAGE_MASK;
	model[MODEL - 2].at = (ULONG_MAX & PAGE_MASK) - PAGE_SIZE;
}

static unsigned int taken(void)
{
	unsigned int i, n = 0;

	for (i = 0; i < KVNET_HVA_MAP_SLOTS; i++)
		n += !!place[i].kaddr;
	return n;
}

/* What it finds is right; and what met nothing since is found. */
static void check(unsigned int just_put)
{
	unsigned long in = unit_below(PAGE_SIZE);
	unsigned int i;
	char *p;

	for (i = 0; i < MODEL; i++) {
		p = kvnet_hva_map_lookup(&table, model[i].at + in);
		if (p)
			EXPECT_TRUE(model[i].kaddr && p == model[i].kaddr + in &&
				    kvnet_hva_map_may_have(&table, model[i].at + in) &&
				    kvnet_hva_map_may_have_any(&table, model[i].at + in,
							      model[i].at + in));
	}
	if (just_put < MODEL)
		EXPECT_TRUE(kvnet_hva_map_lookup(&table, model[just_put].at));
	EXPECT_EQ(table.n, taken());
}

static void forget(unsigned long first, unsigned long last)
{
	unsigned int i;

	kvnet_hva_map_invalidate(&table, first, last);
	for (i = 0; i < MODEL; i++)
		if (model[i].at + PAGE_SIZE - 1 >= first && model[i].at <= last)
			model[i].kaddr = NULL;
}

CASE(what_it_says_is_true)
{
	unsigned int i, k, m;

	begin();
	for (i = 0; i < 20000 && !unit_failed(); i++) {
		k = unit_below(MODEL);
		m = unit_below(MODEL);
		unit_context("step %u", i);
		if (unit_below(3)) {
			model[k].kaddr = kernel_memory + unit_below(4096);
			kvnet_hva_map_insert(&table, model[k].at + unit_below(PAGE_SIZE),
					     model[k].kaddr);
			check(k);
			continue;
		}
		if (unit_chance(50))
			forget(0, ULONG_MAX);
		else if (model[k].at <= model[m].at)
			forget(model[k].at + unit_below(PAGE_SIZE),
			       model[m].at + (model[m].at == model[k].at ?
					      PAGE_SIZE - 1 : unit_below(PAGE_SIZE)));
		check(MODEL);
	}
}

/* One page, of which the ends of the range touch no more than a byte. */
CASE(a_byte_is_a_page)
{
	const unsigned long at = 7 * PAGE_SIZE;

	begin();
	kvnet_hva_map_insert(&table, at, kernel_memory);
	kvnet_hva_map_invalidate(&table, at - PAGE_SIZE, at - 1);
	EXPECT_TRUE(kvnet_hva_map_lookup(&table, at));
	kvnet_hva_map_invalidate(&table, at + PAGE_SIZE, ULONG_MAX);
	EXPECT_TRUE(kvnet_hva_map_lookup(&table, at + PAGE_SIZE - 1));
	kvnet_hva_map_invalidate(&table, at + PAGE_SIZE - 1, at + PAGE_SIZE - 1);
	EXPECT_TRUE(!kvnet_hva_map_lookup(&table, at));
	EXPECT_EQ(table.n, 0);
	kvnet_hva_map_insert(&table, at, kernel_memory);
	kvnet_hva_map_invalidate(&table, at - PAGE_SIZE, at);
	EXPECT_TRUE(!kvnet_hva_map_lookup(&table, at));
}

/* A page below the range, in the place that one of the range would have. */
CASE(occupied_slot_stays)
{
	const unsigned long at = 7 * PAGE_SIZE, next = at + SPAN + PAGE_SIZE;

	begin();
	kvnet_hva_map_insert(&table, at, kernel_memory);
	kvnet_hva_map_insert(&table, next, kernel_memory);
	kvnet_hva_map_invalidate(&table, at + SPAN, next);
	EXPECT_TRUE(kvnet_hva_map_lookup(&table, at));
	EXPECT_TRUE(!kvnet_hva_map_lookup(&table, next));
	EXPECT_EQ(table.n, 1);
}

/* Many more pages than places, from the middle of the table. */
CASE(long_ranges)
{
	unsigned long i;

	begin();
	for (i = 0; i < 3UL * KVNET_HVA_MAP_SLOTS; i++)
		kvnet_hva_map_insert(&table, i * PAGE_SIZE, kernel_memory);
	EXPECT_EQ(table.n, KVNET_HVA_MAP_SLOTS);
	EXPECT_TRUE(!kvnet_hva_map_lookup(&table, 5 * PAGE_SIZE));
	kvnet_hva_map_invalidate(&table, SPAN / 2, 3 * SPAN - PAGE_SIZE - 1);
	EXPECT_EQ(table.n, 1);
	EXPECT_TRUE(kvnet_hva_map_lookup(&table, 3 * SPAN - PAGE_SIZE));
}

/* As a reader sees them who has no lock. */
CASE(page_that_is_known_may_be_known)
{
	const unsigned long at = 7 * PAGE_SIZE, end = PAGE_SIZE - 1;

	begin();
	EXPECT_TRUE(!kvnet_hva_map_may_have(&table, at));
	kvnet_hva_map_insert(&table, at, kernel_memory);
	EXPECT_TRUE(kvnet_hva_map_may_have(&table, at));
	EXPECT_TRUE(kvnet_hva_map_may_have(&table, at + end));
	EXPECT_TRUE(!kvnet_hva_map_may_have(&table, at - 1));
	EXPECT_TRUE(!kvnet_hva_map_may_have(&table, at + PAGE_SIZE));
	/* the same place */
	EXPECT_TRUE(!kvnet_hva_map_may_have(&table, at + SPAN));
	kvnet_hva_map_insert(&table, at + SPAN, kernel_memory);
	EXPECT_TRUE(!kvnet_hva_map_may_have(&table, at));
	EXPECT_TRUE(kvnet_hva_map_may_have(&table, at + SPAN));
}

CASE(range_beyond_all_pages_is_not_known)
{
	const unsigned long at = 7 * PAGE_SIZE, end = PAGE_SIZE - 1;

	begin();
	EXPECT_TRUE(!kvnet_hva_map_may_have_any(&table, 0, ULONG_MAX));
	kvnet_hva_map_insert(&table, at, kernel_memory);
	EXPECT_TRUE(kvnet_hva_map_may_have_any(&table, 0, at));
	EXPECT_TRUE(kvnet_hva_map_may_have_any(&table, at + end, ULONG_MAX));
	EXPECT_TRUE(!kvnet_hva_map_may_have_any(&table, 0, at - 1));
	EXPECT_TRUE(!kvnet_hva_map_may_have_any(&table, at + PAGE_SIZE, ULONG_MAX));
	kvnet_hva_map_insert(&table, 3 * at, kernel_memory);
	EXPECT_TRUE(kvnet_hva_map_may_have_any(&table, 2 * at, ULONG_MAX));
	EXPECT_TRUE(kvnet_hva_map_may_have_any(&table, 0, 2 * at));
}

CASE(without_slots)
{
	table = (struct kvnet_hva_map) {};
	EXPECT_TRUE(!kvnet_hva_map_lookup(&table, 0));
	kvnet_hva_map_invalidate(&table, 0, ULONG_MAX);
	EXPECT_EQ(table.n, 0);
}
