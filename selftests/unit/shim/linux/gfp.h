/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_GFP_H
#define UNIT_SHIM_LINUX_GFP_H

#include <linux/types.h>

#define __GFP_DIRECT_RECLAIM	0x01
#define __GFP_COMP		0x02
#define __GFP_NOWARN		0x04
#define __GFP_NORETRY		0x08
#define __GFP_NOMEMALLOC	0x10
#define GFP_KERNEL		__GFP_DIRECT_RECLAIM

struct page;

/* The test that wants pages has them. */
struct page *alloc_pages(unsigned int gfp, unsigned int order);

static inline struct page *alloc_page(unsigned int gfp)
{
	return alloc_pages(gfp, 0);
}

#endif /* UNIT_SHIM_LINUX_GFP_H */
