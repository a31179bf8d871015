/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_MM_TYPES_H
#define UNIT_SHIM_LINUX_MM_TYPES_H

#include <linux/types.h>

struct page {
	void *host;
	int ref;
};

struct page_frag {
	struct page *page;
	u32 offset;
	u32 size;
};

#endif /* UNIT_SHIM_LINUX_MM_TYPES_H */
