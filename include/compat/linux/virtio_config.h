/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_VIRTIO_CONFIG_H
#define _KVNET_COMPAT_VIRTIO_CONFIG_H

#include_next <linux/virtio_config.h>

/* Linux 6.3; virtio 1.2, 2.6.1 "Virtqueue Reset". */
#ifndef VIRTIO_F_RING_RESET
#define VIRTIO_F_RING_RESET	40
#endif

#endif /* _KVNET_COMPAT_VIRTIO_CONFIG_H */
