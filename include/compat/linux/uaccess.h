/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_UACCESS_H
#define _KVNET_COMPAT_UACCESS_H

#include_next <linux/uaccess.h>

/*
 * For copies whose size is known to fit: without hardened usercopy, whose lookup of the kernel
 * object takes longer than the copy of a short frame. Architectures that inline all of the
 * copy do not have the functions without the check.
 */
#ifdef INLINE_COPY_FROM_USER
#define compat_copy_from_user	copy_from_user
#else
#define compat_copy_from_user	_copy_from_user
#endif

#ifdef INLINE_COPY_TO_USER
#define compat_copy_to_user	copy_to_user
#else
#define compat_copy_to_user	_copy_to_user
#endif

#endif /* _KVNET_COMPAT_UACCESS_H */
