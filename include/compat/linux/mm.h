/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_MM_H
#define _KVNET_COMPAT_MM_H

#include_next <linux/mm.h>
#include <linux/version.h>

/*
 * Get a reference on each of up to @n pages from @at on, if they are present and permit what
 * @flags (FOLL_WRITE) asks for. Up to Linux 6.5 FOLL_NOFAULT still faults in pages of hugetlbfs
 * on the slow path, so only the lock-free walk of the page tables is used there.
 */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 6, 0)
#define compat_get_user_pages_nofault(at, n, flags, page) \
	get_user_pages_fast_only(at, n, flags, page)
#else
#define compat_get_user_pages_nofault(at, n, flags, page) \
	get_user_pages_fast(at, n, (flags) | FOLL_NOFAULT, page)
#endif

#endif /* _KVNET_COMPAT_MM_H */
