// SPDX-License-Identifier: GPL-2.0
/* vnet_hdr.c - pure functions on the kernel's copy of a packet header, see vnet_hdr.h */
#include "vnet_hdr.h"

#include <linux/errno.h>
#include <linux/stddef.h>
#include <linux/virtio_byteorder.h>

/**
 * kvnet_vnet_hdr_fix() - make the guest driver's header valid for the stack
 * @hdr: the kernel's copy of the header
 * @len: bytes of the packet behind the header
 * @le: fields are little-endian
 *
 * The stack makes hdr_len bytes linear, and the checksum field must be among them. hdr_len is
 * only a hint of the driver (virtio 1.3, 5.1.6.2), and is enlarged if it is too small.
 *
 * Return: 0, or -EINVAL if the checksum field lies beyond the packet.
 */
int kvnet_vnet_hdr_fix(struct virtio_net_hdr *hdr, size_t len, bool le)
{
	u32 need;

	if (!(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return 0;
	need = (u32)__virtio16_to_cpu(le, hdr->csum_start) +
	       __virtio16_to_cpu(le, hdr->csum_offset) + 2;
	if (need > len || need > U16_MAX)
		return -EINVAL;
	if (need > __virtio16_to_cpu(le, hdr->hdr_len))
		hdr->hdr_len = __cpu_to_virtio16(le, need);
	return 0;
}

/* A header of 10 bytes (legacy, without VIRTIO_NET_F_MRG_RXBUF) has no such field. */
void kvnet_vnet_hdr_set_num_buffers(void *hdr, size_t hdr_len, u16 n, bool le)
{
	struct virtio_net_hdr_mrg_rxbuf *mrg = hdr;

	if (hdr_len >= sizeof(*mrg))
		mrg->num_buffers = __cpu_to_virtio16(le, n);
}
