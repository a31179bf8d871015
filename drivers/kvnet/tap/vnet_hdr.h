/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vnet_hdr.h - struct virtio_net_hdr in front of each packet (virtio 1.3, 5.1.6)
 */
#ifndef _KVNET_VNET_HDR_H
#define _KVNET_VNET_HDR_H

#include <linux/types.h>
#include <linux/virtio_net.h>

int kvnet_vnet_hdr_fix(struct virtio_net_hdr *hdr, size_t len, bool le);
void kvnet_vnet_hdr_set_num_buffers(void *hdr, size_t hdr_len, u16 n, bool le);

#endif /* _KVNET_VNET_HDR_H */
