/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_VHOST_H
#define _KVNET_COMPAT_VHOST_H

#include_next <linux/vhost.h>
#include <linux/vhost_types.h>

/* Linux 6.17: feature bits beyond 63. */
#ifndef VHOST_GET_FEATURES_ARRAY
struct vhost_features_array {
	__u64 count;
	__u64 features[];
};

#define VHOST_GET_FEATURES_ARRAY \
	_IOR(VHOST_VIRTIO, 0x83, struct vhost_features_array)
#define VHOST_SET_FEATURES_ARRAY \
	_IOW(VHOST_VIRTIO, 0x83, struct vhost_features_array)
#endif

/* Linux 6.17, and 6.12.x */
#ifndef VHOST_SET_FORK_FROM_OWNER
#define VHOST_FORK_OWNER_KTHREAD	0
#define VHOST_FORK_OWNER_TASK		1
#define VHOST_SET_FORK_FROM_OWNER	_IOW(VHOST_VIRTIO, 0x84, __u8)
#define VHOST_GET_FORK_FROM_OWNER	_IOR(VHOST_VIRTIO, 0x85, __u8)
#endif

#endif /* _KVNET_COMPAT_VHOST_H */
