// SPDX-License-Identifier: GPL-2.0
/*
 * pages.c - a table of pages, see pages.h
 */
#include "pages.h"

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include <asm/barrier.h>

static struct kvnet_page *place(const struct kvnet_pages *t, unsigned long at)
{
	return &t->page[(at >> PAGE_SHIFT) & (KVNET_PAGES - 1)];
}

static void widen(struct kvnet_pages *t, unsigned long at)
{
	t->lowest = t->n ? min(t->lowest, at) : at;
	t->highest = t->n ? max(t->highest, at) : at;
}

/**
 * kvnet_pages_put() - remember a page
 * @t: the table
 * @at: the owner's address, anywhere in the page
 * @kaddr: the kernel's address of the page
 */
void kvnet_pages_put(struct kvnet_pages *t, unsigned long at, void *kaddr)
{
	struct kvnet_page *p;

	if (!t->page)
		return;
	p = place(t, at);
	widen(t, at & PAGE_MASK);
	if (!p->kaddr)
		WRITE_ONCE(t->n, t->n + 1);
	p->at = at & PAGE_MASK;
	p->kaddr = kaddr;
}

/**
 * kvnet_pages_find() - where is it?
 * @t: the table
 * @at: the owner's address
 *
 * Return: the kernel's address, good as far as the page goes; NULL: not known.
 */
void *kvnet_pages_find(const struct kvnet_pages *t, unsigned long at)
{
	const struct kvnet_page *p;

	if (!t->n)
		return NULL;
	p = place(t, at);
	if (!p->kaddr || p->at != (at & PAGE_MASK))
		return NULL;
	return p->kaddr + (at & ~PAGE_MASK);
}

static void forget(struct kvnet_pages *t, struct kvnet_page *p,
		   unsigned long first, unsigned long last)
{
	if (!p->kaddr || p->at < first || p->at > last)
		return;
	p->kaddr = NULL;
	smp_store_release(&t->n, t->n - 1); /* for a reader without a lock */
}

/**
 * kvnet_pages_forget() - forget a range
 * @t: the table
 * @first: the owner's address; of this page and the next ones
 * @last: up to the one that this is in, not below @first
 */
void kvnet_pages_forget(struct kvnet_pages *t, unsigned long first,
			unsigned long last)
{
	unsigned long i, n;

	if (!t->n)
		return;
	first = max(first & PAGE_MASK, t->lowest);
	last = min(last, t->highest);
	if (first > last)
		return;
	n = (last - first) >> PAGE_SHIFT;
	n = n < KVNET_PAGES ? n + 1 : KVNET_PAGES;
	for (i = 0; i < n && t->n; i++)
		forget(t, place(t, first + (i << PAGE_SHIFT)), first, last);
}
