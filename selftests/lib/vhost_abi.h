/* SPDX-License-Identifier: GPL-2.0 */
/* What <linux/vhost.h> of newer kernels has, for builds with older headers. */
#ifndef SELFTESTS_VHOST_ABI_H
#define SELFTESTS_VHOST_ABI_H

#include <linux/vhost.h>

#ifndef VHOST_NEW_WORKER	/* 6.5 */
#define VHOST_NEW_WORKER	_IOR(VHOST_VIRTIO, 0x8, unsigned int)
#define VHOST_FREE_WORKER	_IOW(VHOST_VIRTIO, 0x9, unsigned int)
#define VHOST_ATTACH_VRING_WORKER _IOW(VHOST_VIRTIO, 0x15, unsigned int[2])
#define VHOST_GET_VRING_WORKER	_IOWR(VHOST_VIRTIO, 0x16, unsigned int[2])
#endif

#ifndef VHOST_GET_FEATURES_ARRAY	/* 6.17; the type's array has no size */
#define VHOST_GET_FEATURES_ARRAY _IOR(VHOST_VIRTIO, 0x83, __u64)
#define VHOST_SET_FEATURES_ARRAY _IOW(VHOST_VIRTIO, 0x83, __u64)
#endif

#ifndef VHOST_SET_FORK_FROM_OWNER	/* 6.17 */
#define VHOST_FORK_OWNER_KTHREAD	0
#define VHOST_FORK_OWNER_TASK		1
#define VHOST_SET_FORK_FROM_OWNER	_IOW(VHOST_VIRTIO, 0x84, __u8)
#define VHOST_GET_FORK_FROM_OWNER	_IOR(VHOST_VIRTIO, 0x85, __u8)
#endif

#ifndef VIRTIO_F_IN_ORDER
#define VIRTIO_F_IN_ORDER	35
#endif
#ifndef VIRTIO_F_RING_RESET
#define VIRTIO_F_RING_RESET	40
#endif
#ifndef VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO	/* 6.17 */
#define VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO	65
#define VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO	67
#endif

/* struct vhost_features_array with some room */
struct abi_features {
	__u64 count;
	__u64 word[4];
};

#endif /* SELFTESTS_VHOST_ABI_H */
