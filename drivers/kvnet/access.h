/* SPDX-License-Identifier: GPL-2.0 */
/*
 * access.h - the four accessors through which a ring touches its metadata
 *
 * The ring's areas (descriptors, avail, used) are reached by nothing else, so
 * that another way of reaching them is another version of this page only.
 * Here: plain user access, from a thread that has entered the owner's address
 * space. Each may sleep on a page fault and returns 0 or -EFAULT.
 */
#ifndef _KVNET_ACCESS_H
#define _KVNET_ACCESS_H

#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/virtio_types.h>

static inline int kvnet_load16(const __virtio16 __user *p, __virtio16 *val)
{
	return get_user(*val, p);
}

static inline int kvnet_store16(__virtio16 __user *p, __virtio16 val)
{
	return put_user(val, p);
}

static inline int kvnet_copy_in(void *dst, const void __user *src, size_t len)
{
	return copy_from_user(dst, src, len) ? -EFAULT : 0;
}

static inline int kvnet_copy_out(void __user *dst, const void *src, size_t len)
{
	return copy_to_user(dst, src, len) ? -EFAULT : 0;
}

#endif /* _KVNET_ACCESS_H */
