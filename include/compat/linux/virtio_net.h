/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_VIRTIO_NET_H
#define _KVNET_COMPAT_VIRTIO_NET_H

#include_next <linux/virtio_net.h>

/* Linux 6.17 */
#ifndef VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO
#define VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO	65
#endif
#ifndef VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO
#define VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO	67
#endif
#ifndef VIRTIO_NET_HDR_GSO_UDP_TUNNEL
#define VIRTIO_NET_HDR_GSO_UDP_TUNNEL		0x60	/* of IPv4 or of IPv6 */
#endif

#endif /* _KVNET_COMPAT_VIRTIO_NET_H */
