// SPDX-License-Identifier: GPL-2.0
/*
 * Fragments: they do not overlap, live as long as somebody has them, a chunk is
 * used again when all of it is free, and there is a way on with little memory.
 */
#include "frag.h"

#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

#define MAX_PAGES	600
#define ALL		(~0u)

/* The test's memory: freed pages are freed, so that the sanitizer watches. */
static struct page pages[MAX_PAGES];
static size_t page_size[MAX_PAGES];
static unsigned int n_live, n_allocs, largest_order;

struct page *alloc_pages(unsigned int gfp, unsigned int order)
{
	unsigned int i = 0;

	if (largest_order == ALL || order > largest_order)
		return NULL;
	/* a chunk has to be one, and is not worth an effort */
	if (order)
		EXPECT_TRUE(gfp & __GFP_COMP && !(gfp & __GFP_DIRECT_RECLAIM));
	while (pages[i].ref)
		i++;
	page_size[i] = PAGE_SIZE << order;
	pages[i].host = aligned_alloc(PAGE_SIZE, page_size[i]);
	pages[i].ref = 1;
	n_live++;
	n_allocs++;
	return &pages[i];
}

struct page *virt_to_head_page(const void *p)
{
	unsigned int i = 0;

	while (!pages[i].ref || p < pages[i].host ||
	       p >= pages[i].host + page_size[i])
		i++;
	return &pages[i];
}

void put_page(struct page *page)
{
	EXPECT_TRUE(page->ref > 0);
	if (--page->ref)
		return;
	free(page->host);
	n_live--;
}

/* As the stack does it. */
static void free_frag(void *frag)
{
	put_page(virt_to_head_page(frag));
}

unsigned long jiffies = 1000;

static struct kvnet_frags start(unsigned int order)
{
	n_allocs = 0;
	largest_order = order;
	EXPECT_EQ(n_live, 0);
	return (struct kvnet_frags) {};
}

/* Takes @n chunks. */
static void hold_chunks(struct kvnet_frags *f, void **p, unsigned int n)
{
	while (n--)
		*p++ = kvnet_frag_alloc(f, KVNET_FRAG_MAX);
}

static void free_frags(void **p, unsigned int n)
{
	while (n--)
		free_frag(*p++);
}

static void drain_all(struct kvnet_frags *f)
{
	kvnet_frag_drain(f);
	EXPECT_EQ(n_live, 0);
}

CASE(frags_do_not_overlap)
{
	static struct { u8 *p, fill; u32 size; } held[200];
	struct kvnet_frags f = start(3);
	unsigned int i, k, round;
	u32 j;

	for (round = 0; round < 20000; round++) {
		i = unit_below(ARRAY_SIZE(held));
		if (unit_chance(50))
			largest_order = unit_below(4);
		if (held[i].p) {
			for (j = 0; j < held[i].size; j += 63)
				EXPECT_EQ(held[i].p[j], held[i].fill);
			free_frag(held[i].p);
			held[i].p = NULL;
			continue;
		}
		held[i].size = 64 * (1 + unit_below(unit_chance(4) ? 512 : 32));
		held[i].fill = round;
		held[i].p = kvnet_frag_alloc(&f, held[i].size);
		if (held[i].p)
			memset(held[i].p, round, held[i].size);
		else
			EXPECT_TRUE(largest_order < 3 && held[i].size > PAGE_SIZE);
	}
	kvnet_frag_drain(&f);
	for (k = 0; k < ARRAY_SIZE(held); k++)
		if (held[k].p)
			free_frag(held[k].p);
	memset(held, 0, sizeof(held));
	EXPECT_EQ(n_live, 0);
}

CASE(frag_chunk_is_used_up)
{
	struct kvnet_frags f = start(3);
	static void *p[1024];
	unsigned int i;

	/* the smallest ones: 512 of a chunk */
	for (i = 0; i < 1024; i++)
		p[i] = kvnet_frag_alloc(&f, 64);
	EXPECT_EQ(n_allocs, 2);
	free_frags(p, ARRAY_SIZE(p));
	EXPECT_EQ(n_live, 2);
	drain_all(&f);
}

CASE(frag_chunk_is_used_again)
{
	static const u32 sizes[] = { 64, 4096, 20480, KVNET_FRAG_MAX };
	struct kvnet_frags f = start(3);
	unsigned int i, k;
	void *p, *late;

	for (k = 0; k < ARRAY_SIZE(sizes); k++)
		for (i = 0; i < 2000; i++) {
			p = kvnet_frag_alloc(&f, sizes[k]);
			EXPECT_TRUE(p);
			free_frag(p);
		}
	EXPECT_EQ(n_allocs, 1);
	/* but not while somebody has a part of it */
	late = kvnet_frag_alloc(&f, KVNET_FRAG_MAX);
	p = kvnet_frag_alloc(&f, KVNET_FRAG_MAX);
	EXPECT_TRUE(p != late);
	EXPECT_EQ(n_allocs, 2);
	free_frag(late);
	free_frag(p);
	kvnet_frag_drain(&f);
	drain_all(&f);
}

/* A batch takes more than one, and when it is through, the next has the same. */
CASE(frag_chunks_of_a_batch_are_used_again)
{
	struct kvnet_frags f = start(3);
	unsigned int i, round;
	void *p[64];

	for (round = 0; round < 100; round++) {
		for (i = 0; i < ARRAY_SIZE(p); i++)
			p[i] = kvnet_frag_alloc(&f, 1984);
		free_frags(p, ARRAY_SIZE(p));
	}
	EXPECT_EQ(n_allocs, 4);
	drain_all(&f);
}

/* Frames that nobody gives back do not make it keep more. */
CASE(frag_chunks_are_few)
{
	struct kvnet_frags f = start(3);
	static void *p[500];

	hold_chunks(&f, p, ARRAY_SIZE(p));
	EXPECT_EQ(n_live, ARRAY_SIZE(p));
	free_frags(p, ARRAY_SIZE(p));
	EXPECT_EQ(n_live, KVNET_FRAG_CHUNKS);
	drain_all(&f);
}

/* With so many in flight that the stack frees in order, each chunk is used again when it is free. */
CASE(frag_chunks_in_flight_are_used_in_turn)
{
	struct kvnet_frags f = start(3);
	void *p[40], *next;
	unsigned int i;

	hold_chunks(&f, p, ARRAY_SIZE(p));
	for (i = 0; i < 1000; i++) {
		free_frag(p[i % ARRAY_SIZE(p)]);
		next = kvnet_frag_alloc(&f, KVNET_FRAG_MAX);
		EXPECT_EQ(next, p[i % ARRAY_SIZE(p)]);
	}
	EXPECT_EQ(n_allocs, ARRAY_SIZE(p));
	free_frags(p, ARRAY_SIZE(p));
	drain_all(&f);
}

/* When few are in flight again, they are in the first chunks. */
CASE(frag_first_chunk_is_used_as_soon_as_it_is_idle)
{
	struct kvnet_frags f = start(3);
	void *p[KVNET_FRAG_CHUNKS_KEPT], *few[2];
	unsigned int i;

	hold_chunks(&f, p, ARRAY_SIZE(p));
	free_frags(p, ARRAY_SIZE(p));
	for (i = 0; i < 10; i++) {
		hold_chunks(&f, few, 2);
		EXPECT_TRUE(few[0] == p[0] && few[1] == p[1]);
		free_frags(few, 2);
	}
	drain_all(&f);
}

/* Of those that nobody gives back the oldest is let go of, one after the other. */
CASE(frag_oldest_is_let_go)
{
	struct kvnet_frags f = start(3);
	void *p[KVNET_FRAG_CHUNKS + 2];
	unsigned int i;

	hold_chunks(&f, p, ARRAY_SIZE(p));
	EXPECT_EQ(n_live, ARRAY_SIZE(p));
	for (i = 0; i < 2; i++) {
		free_frag(p[i]);
		EXPECT_EQ(n_live, ARRAY_SIZE(p) - 1 - i);
	}
	free_frags(p + i, ARRAY_SIZE(p) - i);
	EXPECT_EQ(n_live, KVNET_FRAG_CHUNKS);
	drain_all(&f);
}

/* A burst's chunks are not kept: one in a jiffy goes, until as many are left as are always kept. */
CASE(frag_chunks_of_a_burst_are_freed)
{
	struct kvnet_frags f = start(3);
	void *p[KVNET_FRAG_CHUNKS];
	unsigned int i, live = KVNET_FRAG_CHUNKS;

	hold_chunks(&f, p, ARRAY_SIZE(p));
	/* While all but one are in use, that one is used again. */
	for (i = 0; i < 10; i++, jiffies++) {
		free_frag(p[0]);
		p[0] = kvnet_frag_alloc(&f, KVNET_FRAG_MAX);
		free_frag(p[live - 1]);
		p[live - 1] = kvnet_frag_alloc(&f, KVNET_FRAG_MAX);
	}
	EXPECT_EQ(n_allocs, live);
	free_frags(p, ARRAY_SIZE(p));
	for (i = 0; i < 2 * KVNET_FRAG_CHUNKS; i++) {
		free_frag(kvnet_frag_alloc(&f, KVNET_FRAG_MAX));
		if (i % 2) {
			jiffies++;
			continue;
		}
		if (live > KVNET_FRAG_CHUNKS_KEPT)
			live--;
		EXPECT_EQ(n_live, live);
	}
	EXPECT_EQ(live, KVNET_FRAG_CHUNKS_KEPT);
	EXPECT_EQ(n_allocs, KVNET_FRAG_CHUNKS);
	/* A burst again, as large as the last one. */
	hold_chunks(&f, p, ARRAY_SIZE(p));
	EXPECT_EQ(n_live, KVNET_FRAG_CHUNKS);
	free_frags(p, ARRAY_SIZE(p));
	drain_all(&f);
}

/* A device that is given back, and has another owner. */
CASE(frags_after_a_drain)
{
	struct kvnet_frags f = start(3);
	unsigned int i;
	void *p;

	for (i = 0; i < 3; i++) {
		p = kvnet_frag_alloc(&f, 64);
		EXPECT_TRUE(p);
		free_frag(p);
		kvnet_frag_drain(&f);
		EXPECT_EQ(n_live, 0);
	}
	EXPECT_EQ(n_allocs, 3);
}

CASE(frag_longest)
{
	struct kvnet_frags f = start(3);
	void *p = kvnet_frag_alloc(&f, KVNET_FRAG_MAX);

	EXPECT_TRUE(p);
	EXPECT_EQ(kvnet_frag_alloc(&f, KVNET_FRAG_MAX + 64), NULL);
	free_frag(p);
	drain_all(&f);
}

CASE(frags_with_little_memory)
{
	struct kvnet_frags f = start(0);
	void *p = kvnet_frag_alloc(&f, 4096), *q;

	EXPECT_TRUE(p);
	EXPECT_EQ(kvnet_frag_alloc(&f, 4096 + 64), NULL);
	q = kvnet_frag_alloc(&f, 64);
	EXPECT_TRUE(q);
	EXPECT_EQ(kvnet_frag_alloc(&f, KVNET_FRAG_MAX), NULL);
	largest_order = ALL;
	EXPECT_EQ(kvnet_frag_alloc(&f, 64), NULL);
	free_frag(p);
	free_frag(q);
	EXPECT_EQ(n_live, 2);
	/* and when there is some again */
	largest_order = 3;
	p = kvnet_frag_alloc(&f, KVNET_FRAG_MAX);
	EXPECT_TRUE(p);
	free_frag(p);
	drain_all(&f);
}
