/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_MM_H
#define _KVNET_COMPAT_MM_H

#include_next <linux/mm.h>
#include <linux/version.h>

/*
 * Up to @n pages from @at on, as far as they are there and do as @flags (FOLL_WRITE) say, each
 * with a reference. Linux 6.5 and older bring in huge pages of hugetlbfs even so (FOLL_NOFAULT), if
 * they do more than look into the page tables.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define compat_get_user_pages_nofault(at, n, flags, page) \
	get_user_pages_fast_only(at, n, flags, page)
#else
#define compat_get_user_pages_nofault(at, n, flags, page) \
	get_user_pages_fast(at, n, (flags) | FOLL_NOFAULT, page)
#endif

#endif /* _KVNET_COMPAT_MM_H */
