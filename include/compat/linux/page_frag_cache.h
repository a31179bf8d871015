/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_PAGE_FRAG_CACHE_H
#define _KVNET_COMPAT_PAGE_FRAG_CACHE_H

#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/version.h>

/* Linux 6.13 gave the cache a header of its own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
#include_next <linux/page_frag_cache.h>
#endif

/* Linux 6.10 exported it. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 10, 0) && \
	!defined(page_frag_cache_drain)
static inline void page_frag_cache_drain(struct page_frag_cache *nc)
{
	if (!nc->va)
		return;
	__page_frag_cache_drain(virt_to_head_page(nc->va), nc->pagecnt_bias);
	nc->va = NULL;
}
#endif

#endif /* _KVNET_COMPAT_PAGE_FRAG_CACHE_H */
