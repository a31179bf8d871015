// SPDX-License-Identifier: GPL-2.0
/*
 * Fragments where a page is longer than the longest of them, as arm64 may have it: a chunk
 * is one page, and worth an effort.
 */
#define PAGE_SHIFT	16

#include "frag.c"

#include <stdlib.h>

#include "unit.h"

unsigned long jiffies;

static struct page the_page;
static unsigned int n_tries;
static bool tight, none;

struct page *alloc_pages(unsigned int gfp, unsigned int order)
{
	n_tries++;
	EXPECT_EQ(order, 0);
	/* the one that there is: for who waits until it is free */
	if (none || the_page.ref || (tight && !(gfp & __GFP_DIRECT_RECLAIM)))
		return NULL;
	the_page.host = aligned_alloc(PAGE_SIZE, PAGE_SIZE);
	the_page.ref = 1;
	return &the_page;
}

struct page *virt_to_head_page(const void *p)
{
	return &the_page;
}

void put_page(struct page *page)
{
	EXPECT_TRUE(page->ref > 0);
	if (!--page->ref)
		free(page->host);
}

static void frags_of(u32 size)
{
	struct kvnet_frags f = {};
	unsigned int i, n = PAGE_SIZE / size;
	void *p[4];

	for (i = 0; i < n; i++) {
		p[i] = kvnet_frag_alloc(&f, size);
		EXPECT_TRUE(p[i]);
	}
	EXPECT_EQ(f.chunk[0].size, PAGE_SIZE);
	while (n--)
		if (p[n])
			put_page(&the_page);
	kvnet_frag_drain(&f);
	EXPECT_EQ(the_page.ref, 0);
}

CASE(frag_64k_page)
{
	tight = none = false;
	n_tries = 0;
	frags_of(KVNET_FRAG_MAX);
	frags_of(16384);
	EXPECT_EQ(n_tries, 2);
}

CASE(frag_64k_page_with_little_memory)
{
	tight = true;
	none = false;
	frags_of(KVNET_FRAG_MAX);
	frags_of(16384);
}

CASE(frag_64k_page_without_memory)
{
	struct kvnet_frags f = {};

	none = true;
	n_tries = 0;
	EXPECT_EQ(kvnet_frag_alloc(&f, 64), NULL);
	EXPECT_EQ(n_tries, 2);
	kvnet_frag_drain(&f);
}
