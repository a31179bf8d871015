/* SPDX-License-Identifier: GPL-2.0 */
#ifndef UNIT_SHIM_LINUX_VIRTIO_CONFIG_H
#define UNIT_SHIM_LINUX_VIRTIO_CONFIG_H

#include_next <linux/virtio_config.h>
#include <linux/bits.h>

#endif /* UNIT_SHIM_LINUX_VIRTIO_CONFIG_H */
