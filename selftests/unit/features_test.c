// SPDX-License-Identifier: GPL-2.0
/* The feature table. Bit numbers are the specification's, not a header's. */
#include "features.h"

#include <linux/errno.h>
#include <linux/kernel.h>

#include "unit.h"

static const u8 promised[] = {
	15,	/* VIRTIO_NET_F_MRG_RXBUF */
	24,	/* VIRTIO_F_NOTIFY_ON_EMPTY */
	27,	/* VIRTIO_F_ANY_LAYOUT */
	28,	/* VIRTIO_F_INDIRECT_DESC */
	29,	/* VIRTIO_F_EVENT_IDX */
	32,	/* VIRTIO_F_VERSION_1 */
	40,	/* VIRTIO_F_RING_RESET */
};

static const u8 withheld[] = {
	26,	/* VHOST_F_LOG_ALL: no dirty log */
	30,	/* once UNUSED */
	33,	/* VIRTIO_F_ACCESS_PLATFORM: no IOTLB */
	34,	/* VIRTIO_F_RING_PACKED */
	35,	/* VIRTIO_F_IN_ORDER */
	63,
};

CASE(features_offered)
{
	u64 offered = kvnet_features_offered();
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(promised); i++) {
		unit_context("bit %u", promised[i]);
		EXPECT_TRUE(offered & BIT_ULL(promised[i]));
	}
	for (i = 0; i < ARRAY_SIZE(withheld); i++) {
		unit_context("bit %u", withheld[i]);
		EXPECT_TRUE(!(offered & BIT_ULL(withheld[i])));
	}
}

CASE(features_check)
{
	u64 offered = kvnet_features_offered();
	unsigned int bit;

	EXPECT_EQ(kvnet_features_check(0), 0);
	EXPECT_EQ(kvnet_features_check(offered), 0);
	EXPECT_EQ(kvnet_features_check(~0ULL), -EOPNOTSUPP);
	for (bit = 0; bit < 64; bit++) {
		int want = offered & BIT_ULL(bit) ? 0 : -EOPNOTSUPP;

		unit_context("bit %u", bit);
		EXPECT_EQ(kvnet_features_check(BIT_ULL(bit)), want);
		EXPECT_EQ(kvnet_features_check(offered | BIT_ULL(bit)), want);
		EXPECT_EQ(kvnet_features_check(offered & ~BIT_ULL(bit)), 0);
	}
}

CASE(features_byte_order)
{
	const u16 probe = 1;
	bool host_le = *(const u8 *)&probe == 1;

	EXPECT_TRUE(kvnet_features_le(BIT_ULL(32)));
	EXPECT_TRUE(kvnet_features_le(~0ULL));
	EXPECT_EQ(kvnet_features_le(0), host_le);
	EXPECT_EQ(kvnet_features_le(~BIT_ULL(32)), host_le);
}
