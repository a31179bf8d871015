/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_EVENTFD_H
#define _KVNET_COMPAT_EVENTFD_H

#include_next <linux/eventfd.h>
#include <linux/version.h>

/* Linux 6.8 dropped the count, which was always 1. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 8, 0) && !defined(eventfd_signal)
#define eventfd_signal(ctx)	eventfd_signal(ctx, 1)
#endif

#endif /* _KVNET_COMPAT_EVENTFD_H */
