/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_PAGE_REF_H
#define UNIT_SHIM_LINUX_PAGE_REF_H

#include <linux/mm.h>

static inline int page_ref_count(const struct page *page)
{
	return page->ref;
}

#endif /* UNIT_SHIM_LINUX_PAGE_REF_H */
