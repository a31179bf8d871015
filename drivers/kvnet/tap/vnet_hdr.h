/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vnet_hdr.h - struct virtio_net_hdr in front of each packet (virtio 1.3, 5.1.6)
 */
#ifndef _KVNET_VNET_HDR_H
#define _KVNET_VNET_HDR_H

#include <linux/if_ether.h>
#include <linux/types.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_net.h>

int kvnet_vnet_hdr_fix(struct virtio_net_hdr *hdr, size_t len, bool le);
void kvnet_vnet_hdr_set_num_buffers(void *hdr, size_t hdr_len, u16 n, bool le);

/*
 * Of direct TX, so little-endian. GSO of tunnels has a longer header. GSO without a checksum:
 * kernel versions differ in what tun makes of it. Headers shorter than Ethernet's: tun refuses
 * them in a packet that is sent alone.
 */
static inline bool kvnet_vnet_hdr_is_odd(const struct virtio_net_hdr *hdr)
{
	u16 hdr_len = __virtio16_to_cpu(true, hdr->hdr_len);

	return (hdr->gso_type && (!(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) ||
				  (hdr->gso_type & VIRTIO_NET_HDR_GSO_UDP_TUNNEL))) ||
	       (hdr_len && hdr_len < ETH_HLEN);
}

/*
 * Of direct TX. Returns how many bytes of a frame longer than @max are linear in its socket
 * buffer, at most @max. As with tun: the next tap takes the linear part of a GSO frame for the
 * length of its headers.
 */
static inline unsigned int kvnet_vnet_hdr_linear_len(const struct virtio_net_hdr *hdr,
						     unsigned int max)
{
	if (!hdr->gso_type)
		return max;
	return clamp_t(unsigned int, __virtio16_to_cpu(true, hdr->hdr_len), ETH_HLEN, max);
}

#endif /* _KVNET_VNET_HDR_H */
