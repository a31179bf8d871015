// SPDX-License-Identifier: GPL-2.0
/* features.c - pure functions on feature bits, see features.h */
#include "features.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vhost_types.h>
#include <linux/virtio_config.h>
#include <linux/virtio_net.h>
#include <linux/virtio_ring.h>

/*
 * Bit 27 is VIRTIO_F_ANY_LAYOUT to a legacy driver, and VHOST_NET_F_VIRTIO_NET_HDR to the VMM,
 * which removes it from the driver's features before VHOST_SET_FEATURES.
 */
static const u8 offered_bits[] = {
	VIRTIO_NET_F_MRG_RXBUF,
	VIRTIO_F_NOTIFY_ON_EMPTY,
	VHOST_F_LOG_ALL,
	VHOST_NET_F_VIRTIO_NET_HDR,
	VIRTIO_RING_F_INDIRECT_DESC,
	VIRTIO_RING_F_EVENT_IDX,
	VIRTIO_F_VERSION_1,
	VIRTIO_F_ACCESS_PLATFORM,
	VIRTIO_F_RING_PACKED,
	VIRTIO_F_IN_ORDER,
	VIRTIO_F_RING_RESET,
	VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO,
	VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO,
};

/* For VHOST_GET_FEATURES: the features that a VMM may set. */
struct kvnet_features kvnet_features_offered(void)
{
	struct kvnet_features all = {};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(offered_bits); i++)
		all.word[offered_bits[i] / 64] |= BIT_ULL(offered_bits[i] % 64);
	return all;
}

/*
 * For VHOST_SET_FEATURES. Returns -EOPNOTSUPP for a feature that is not offered, and for a
 * packed ring without VIRTIO_F_VERSION_1: a legacy driver has none.
 */
int kvnet_features_check(const struct kvnet_features *f)
{
	const struct kvnet_features all = kvnet_features_offered();
	unsigned int i;

	for (i = 0; i < KVNET_FEATURES_WORDS; i++)
		if (f->word[i] & ~all.word[i])
			return -EOPNOTSUPP;
	if (kvnet_features_has(f, VIRTIO_F_RING_PACKED) &&
	    !kvnet_features_has(f, VIRTIO_F_VERSION_1))
		return -EOPNOTSUPP;
	return 0;
}

/*
 * Byte order of rings and headers: little-endian since virtio 1.0. A legacy driver uses the
 * guest's own, which the VMM has set (@legacy_le).
 */
bool kvnet_features_is_le(const struct kvnet_features *f, bool legacy_le)
{
	return kvnet_features_has(f, VIRTIO_F_VERSION_1) || legacy_le;
}

/*
 * Length in bytes of the header between driver and device (virtio 1.4, 5.1.9): 24 with the
 * offsets of a UDP tunnel, which follow the hash fields even if these are not negotiated; 12
 * with num_buffers; else 10.
 */
size_t kvnet_features_hdr_len(const struct kvnet_features *f)
{
	if (kvnet_features_has(f, VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO) ||
	    kvnet_features_has(f, VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO))
		return KVNET_FEATURES_HDR_MAX;
	if (kvnet_features_has(f, VIRTIO_NET_F_MRG_RXBUF) ||
	    kvnet_features_has(f, VIRTIO_F_VERSION_1))
		return sizeof(struct virtio_net_hdr_mrg_rxbuf);
	return sizeof(struct virtio_net_hdr);
}

/*
 * Length in bytes of the header between kvnet and the tap: as that of the driver, or 0 if the
 * tap has no header. Then RX makes an empty one, and TX drops the driver's.
 */
size_t kvnet_features_tap_hdr_len(const struct kvnet_features *f)
{
	return kvnet_features_has(f, VHOST_NET_F_VIRTIO_NET_HDR) ?
	       0 : kvnet_features_hdr_len(f);
}
