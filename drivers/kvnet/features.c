// SPDX-License-Identifier: GPL-2.0
/*
 * features.c - the feature table, see features.h
 */
#include "features.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vhost_types.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

/*
 * Bit 27 is VIRTIO_F_ANY_LAYOUT to a legacy driver and
 * VHOST_NET_F_VIRTIO_NET_HDR to the VMM, which clears it from what the driver
 * acknowledged before it tells us.
 */
static const u8 offered[] = {
	VIRTIO_NET_F_MRG_RXBUF,
	VIRTIO_F_NOTIFY_ON_EMPTY,
	VHOST_NET_F_VIRTIO_NET_HDR,
	VIRTIO_RING_F_INDIRECT_DESC,
	VIRTIO_RING_F_EVENT_IDX,
	VIRTIO_F_VERSION_1,
	VIRTIO_F_RING_RESET,
};

/**
 * kvnet_features_offered() - for VHOST_GET_FEATURES
 *
 * Return: the feature bits that a VMM may set.
 */
u64 kvnet_features_offered(void)
{
	u64 all = 0;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offered); i++)
		all |= BIT_ULL(offered[i]);
	return all;
}

/**
 * kvnet_features_check() - may the VMM set these?
 * @features: from VHOST_SET_FEATURES
 *
 * Return: 0, or -EOPNOTSUPP if one of them is not offered.
 */
int kvnet_features_check(u64 features)
{
	return features & ~kvnet_features_offered() ? -EOPNOTSUPP : 0;
}

/**
 * kvnet_features_le() - byte order of rings and headers
 * @features: as acknowledged by the driver
 *
 * Return: true if little-endian: always since virtio 1.0, and on a
 * little-endian host before that (the legacy interface is guest-native).
 */
bool kvnet_features_le(u64 features)
{
	return (features & BIT_ULL(VIRTIO_F_VERSION_1)) ||
	       virtio_legacy_is_little_endian();
}
