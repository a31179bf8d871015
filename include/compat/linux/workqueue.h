/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_WORKQUEUE_H
#define _KVNET_COMPAT_WORKQUEUE_H

#include_next <linux/workqueue.h>
#include <linux/version.h>

/* Whose threads have any CPU. It has got another name; the newest kernels complain of the old. */
#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 18, 0)
#define compat_unbound_wq	system_unbound_wq
#else
#define compat_unbound_wq	system_dfl_wq
#endif

#endif /* _KVNET_COMPAT_WORKQUEUE_H */
