// SPDX-License-Identifier: GPL-2.0
/* The feature table. Bit numbers are the specification's, not a header's. */
#include "features.h"

#include <linux/errno.h>
#include <linux/kernel.h>

#include "unit.h"

static const u8 promised[] = {
	15,	/* VIRTIO_NET_F_MRG_RXBUF */
	24,	/* VIRTIO_F_NOTIFY_ON_EMPTY */
	26,	/* VHOST_F_LOG_ALL */
	27,	/* VIRTIO_F_ANY_LAYOUT */
	28,	/* VIRTIO_F_INDIRECT_DESC */
	29,	/* VIRTIO_F_EVENT_IDX */
	32,	/* VIRTIO_F_VERSION_1 */
	33,	/* VIRTIO_F_ACCESS_PLATFORM */
	34,	/* VIRTIO_F_RING_PACKED */
	35,	/* VIRTIO_F_IN_ORDER */
	40,	/* VIRTIO_F_RING_RESET */
	65,	/* VIRTIO_NET_F_GUEST_UDP_TUNNEL_GSO */
	67,	/* VIRTIO_NET_F_HOST_UDP_TUNNEL_GSO */
};

static struct kvnet_features only(unsigned int bit)
{
	struct kvnet_features f = {};

	f.word[bit / 64] = BIT_ULL(bit % 64);
	return f;
}

static bool is_promised(unsigned int bit)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(promised); i++)
		if (promised[i] == bit)
			return true;
	return false;
}

CASE(features_offered)
{
	struct kvnet_features offered = kvnet_features_offered();
	unsigned int bit;

	for (bit = 0; bit < 128; bit++) {
		unit_context("bit %u", bit);
		EXPECT_EQ(kvnet_features_has(&offered, bit), is_promised(bit));
	}
}

CASE(features_check)
{
	struct kvnet_features offered = kvnet_features_offered(), f = {};
	unsigned int bit;

	EXPECT_EQ(kvnet_features_check(&f), 0);
	EXPECT_EQ(kvnet_features_check(&offered), 0);
	for (bit = 0; bit < 128; bit++) {
		int want = is_promised(bit) ? 0 : -EOPNOTSUPP;

		unit_context("bit %u", bit);
		f = only(bit);
		/* a legacy driver knows no packed ring */
		EXPECT_EQ(kvnet_features_check(&f),
			  bit == 34 ? -EOPNOTSUPP : want);
		f = offered;
		f.word[bit / 64] |= BIT_ULL(bit % 64);
		EXPECT_EQ(kvnet_features_check(&f), want);
		f.word[bit / 64] &= ~BIT_ULL(bit % 64);
		EXPECT_EQ(kvnet_features_check(&f),
			  bit == 32 ? -EOPNOTSUPP : 0);
	}
}

/* Little-endian since virtio 1.0, before that as told. */
CASE(features_byte_order)
{
	struct kvnet_features none = {}, v1 = only(32), not_v1 = {
		.word = { ~BIT_ULL(32), ~0ULL },
	};

	EXPECT_TRUE(kvnet_features_is_le(&v1, false));
	EXPECT_TRUE(kvnet_features_is_le(&v1, true));
	EXPECT_TRUE(!kvnet_features_is_le(&none, false));
	EXPECT_TRUE(kvnet_features_is_le(&none, true));
	EXPECT_TRUE(!kvnet_features_is_le(&not_v1, false));
}

static size_t hdr_len(unsigned int bit, unsigned int another)
{
	struct kvnet_features f = only(bit);

	f.word[another / 64] |= BIT_ULL(another % 64);
	return kvnet_features_hdr_len(&f);
}

/* 5.1.6.1: with num_buffers, with hash and tunnel */
CASE(features_hdr_len)
{
	struct kvnet_features none = {};
	unsigned int bit;

	EXPECT_EQ(kvnet_features_hdr_len(&none), 10);
	EXPECT_EQ(hdr_len(15, 32), 12);
	EXPECT_EQ(hdr_len(32, 65), 24);
	EXPECT_EQ(hdr_len(15, 67), 24);
	EXPECT_EQ(hdr_len(65, 67), 24);
	for (bit = 0; bit < 128; bit++) {
		unit_context("bit %u", bit);
		EXPECT_EQ(hdr_len(bit, bit), bit == 15 || bit == 32 ? 12 :
			  bit == 65 || bit == 67 ? 24 : 10);
	}
}

/* Bit 27 is two things: to a VMM, that the backend has no header of its own. */
CASE(features_tap_hdr_len)
{
	struct kvnet_features f;
	unsigned int bit;

	for (bit = 0; bit < 128; bit++) {
		unit_context("bit %u", bit);
		f = only(bit);
		EXPECT_EQ(kvnet_features_tap_hdr_len(&f),
			  bit == 27 ? 0 : hdr_len(bit, bit));
		EXPECT_EQ(kvnet_features_hdr_len(&f), hdr_len(bit, 27));
		f.word[0] |= BIT_ULL(27);
		EXPECT_EQ(kvnet_features_tap_hdr_len(&f), 0);
	}
}
