/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_HIGHMEM_H
#define UNIT_SHIM_LINUX_HIGHMEM_H

#include <linux/mm.h>

static inline void *kmap_local_page(struct page *page)
{
	shim_kmap_live++;
	return page->host;
}

static inline void kunmap_local(const void *map)
{
	shim_kmap_live--;
}

#endif /* UNIT_SHIM_LINUX_HIGHMEM_H */
