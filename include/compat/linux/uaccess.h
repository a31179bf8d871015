/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_UACCESS_H
#define _KVNET_COMPAT_UACCESS_H

#include_next <linux/uaccess.h>

/*
 * Copies of no more than there is: hardened usercopy need not find out whose
 * memory it is, which takes longer than the copy of a short frame. Not there where
 * architectures want all of it inline.
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
