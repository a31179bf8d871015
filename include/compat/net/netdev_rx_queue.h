/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_NETDEV_RX_QUEUE_H
#define _KVNET_COMPAT_NETDEV_RX_QUEUE_H

#include <linux/version.h>

/* Linux 6.6: a header of its own. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 6, 0)
#include_next <net/netdev_rx_queue.h>
#else
#include <linux/netdevice.h>
#endif

#endif /* _KVNET_COMPAT_NETDEV_RX_QUEUE_H */
