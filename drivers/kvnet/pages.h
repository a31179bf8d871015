/* SPDX-License-Identifier: GPL-2.0 */
/*
 * pages.h - a table of pages: where the kernel reaches what an owner's address means
 *
 * It forgets: each page has one place in it, from which another page drives it out.
 * So nothing is searched for, and nothing is allocated once it is there.
 */
#ifndef _KVNET_PAGES_H
#define _KVNET_PAGES_H

#include <linux/types.h>

/* Places; a power of two. Two pages less far apart do not meet. */
#define KVNET_PAGES	2048

/**
 * struct kvnet_page - a place
 * @at: the owner's address of the page, if there is one
 * @kaddr: the kernel's address of it; NULL: none
 */
struct kvnet_page {
	unsigned long at;
	void *kaddr;
};

/**
 * struct kvnet_pages - a table
 * @page: KVNET_PAGES places; NULL: nothing can be kept
 * @n: places taken
 * @lowest: no page is below, unless @n is 0
 * @highest: nor above
 */
struct kvnet_pages {
	struct kvnet_page *page;
	unsigned int n;
	unsigned long lowest;
	unsigned long highest;
};

void kvnet_pages_put(struct kvnet_pages *t, unsigned long at, void *kaddr);
void *kvnet_pages_find(const struct kvnet_pages *t, unsigned long at);
void kvnet_pages_forget(struct kvnet_pages *t, unsigned long first,
			unsigned long last);

#endif /* _KVNET_PAGES_H */
