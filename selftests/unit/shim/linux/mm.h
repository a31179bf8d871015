/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_MM_H
#define UNIT_SHIM_LINUX_MM_H

#include <linux/errno.h>
#include <linux/mm_types.h>
#include <linux/overflow.h>
#include <linux/types.h>

#include "../shim.h"

/* The test that wants others says so first. */
#ifndef PAGE_SHIFT
#define PAGE_SHIFT		12
#endif
#define PAGE_SIZE		(1UL << PAGE_SHIFT)
#define PAGE_MASK		(~(PAGE_SIZE - 1))
#define offset_in_page(p)	((unsigned long)(p) & ~PAGE_MASK)
#define FOLL_WRITE		1

/* The test that wants pages has them, see linux/gfp.h. */
struct page *virt_to_head_page(const void *p);
void put_page(struct page *page);

static inline void get_page(struct page *page)
{
	page->ref++;
}

static inline void *page_address(const struct page *page)
{
	return page->host;
}

static inline unsigned int get_order(unsigned long size)
{
	unsigned int order = 0;

	while (PAGE_SIZE << order < size)
		order++;
	return order;
}

static inline int pin_user_pages_fast(unsigned long addr, int n,
				      unsigned int flags, struct page **page)
{
	/* one page, to be written to: what else is there to ask for? */
	if (n != 1 || flags != FOLL_WRITE || offset_in_page(addr))
		return -EINVAL;
	return shim_pin(addr, page);
}

static inline void unpin_user_pages_dirty_lock(struct page **page,
					       unsigned long n, bool dirty)
{
	while (n--)
		shim_unpin(*page++, dirty);
}

#endif /* UNIT_SHIM_LINUX_MM_H */
