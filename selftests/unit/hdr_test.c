// SPDX-License-Identifier: GPL-2.0
/* The packet header: checksum bounds, num_buffers; what direct TX makes of it. */
#include "vnet_hdr.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_config.h>
#include <string.h>

#include "features.h"
#include "unit.h"

struct row {
	u16 start, offset, hdr_len;
	size_t len;
	int ret;
	u16 fixed;		/* hdr_len afterwards */
};

static const struct row rows[] = {
	/* TCP over IPv4 over Ethernet, hdr_len as Linux sets it */
	{ 34, 16, 54, 1514, 0, 54 },
	{ 34, 16, 0, 1514, 0, 52 },
	{ 34, 16, 51, 1514, 0, 52 },
	{ 34, 16, 52, 1514, 0, 52 },
	{ 34, 16, 53, 1514, 0, 53 },
	/* the checksum is the packet's last two bytes, or beyond */
	{ 34, 16, 0, 52, 0, 52 },
	{ 34, 16, 0, 51, -EINVAL, 0 },
	{ 0, 0, 0, 2, 0, 2 },
	{ 0, 0, 0, 1, -EINVAL, 0 },
	{ 0, 0, 0, 0, -EINVAL, 0 },
	/* sums that do not fit 16 bits do not come back as small ones */
	{ 65533, 0, 0, 70000, 0, 65535 },
	{ 65534, 0, 0, 70000, -EINVAL, 0 },
	{ 0, 65534, 0, 70000, -EINVAL, 0 },
	{ 65535, 65535, 0, 200000, -EINVAL, 0 },
	{ 65535, 3, 60, 70000, -EINVAL, 60 },
	{ 32768, 32768, 60, 70000, -EINVAL, 60 },
	{ 32768, 32765, 60, 70000, 0, 65535 },
};

static void fix_row(const struct row *row, bool le)
{
	struct virtio_net_hdr hdr, old;
	int ret;

	memset(&hdr, 0xa5, sizeof(hdr));
	hdr.flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
	hdr.csum_start = __cpu_to_virtio16(le, row->start);
	hdr.csum_offset = __cpu_to_virtio16(le, row->offset);
	hdr.hdr_len = __cpu_to_virtio16(le, row->hdr_len);
	old = hdr;

	ret = kvnet_vnet_hdr_fix(&hdr, row->len, le);
	EXPECT_EQ(ret, row->ret);
	EXPECT_EQ(__virtio16_to_cpu(le, hdr.hdr_len), row->fixed);
	/* nothing else has changed */
	hdr.hdr_len = old.hdr_len;
	EXPECT_TRUE(!memcmp(&hdr, &old, sizeof(hdr)));
}

CASE(hdr_fix_table)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unit_context("row %u", i);
		fix_row(&rows[i], true);
		fix_row(&rows[i], false);
	}
}

CASE(hdr_fix_only_with_needs_csum)
{
	struct virtio_net_hdr hdr, old;
	unsigned int flags;

	for (flags = 0; flags < 256; flags++) {
		if (flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)
			continue;
		memset(&hdr, 0xff, sizeof(hdr));
		hdr.flags = flags;
		old = hdr;
		EXPECT_EQ(kvnet_vnet_hdr_fix(&hdr, 0, flags & 8), 0);
		EXPECT_TRUE(!memcmp(&hdr, &old, sizeof(hdr)));
	}
}

CASE(hdr_fix_with_other_flags)
{
	struct virtio_net_hdr hdr = { .flags = 0xff };

	EXPECT_EQ(kvnet_vnet_hdr_fix(&hdr, 1, true), -EINVAL);
	EXPECT_EQ(kvnet_vnet_hdr_fix(&hdr, 2, true), 0);
}

static void set_buffers(size_t len, bool le)
{
	u8 hdr[KVNET_FEATURES_HDR_MAX + 1], want[sizeof(hdr)];

	unit_context("%zu bytes, little-endian %d", len, le);
	memset(hdr, 0xee, sizeof(hdr));
	memset(want, 0xee, sizeof(want));
	if (len >= 12) {
		want[10] = le ? 0x34 : 0x12;
		want[11] = le ? 0x12 : 0x34;
	}
	kvnet_vnet_hdr_set_num_buffers(hdr, len, 0x1234, le);
	EXPECT_TRUE(!memcmp(hdr, want, sizeof(hdr)));
}

CASE(hdr_set_buffers)
{
	static const size_t len[] = { 10, 12, KVNET_FEATURES_HDR_MAX };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(len); i++) {
		set_buffers(len[i], true);
		set_buffers(len[i], false);
	}
}

CASE(hdr_direct_tx_table)
{
	enum {
		CSUM = VIRTIO_NET_HDR_F_NEEDS_CSUM,
		TCP = VIRTIO_NET_HDR_GSO_TCPV4,
		ECN = VIRTIO_NET_HDR_GSO_ECN,
	};
	static const struct { u8 flags, gso_type; u16 hdr_len; bool odd; unsigned int linear; } rows[] = {
		/* no GSO: linear as far as there is room */
		{ 0, 0, 0, false, 256 },
		{ 0, 0, 1, true, 256 },
		{ 0, 0, 13, true, 256 },
		{ 0, 0, 14, false, 256 },
		{ CSUM, 0, 13, true, 256 },
		{ CSUM, 0, 54, false, 256 },
		/* GSO: the headers */
		{ CSUM, TCP, 0, false, 14 },
		{ CSUM, TCP, 13, true, 14 },
		{ CSUM, TCP, 14, false, 14 },
		{ CSUM, TCP | ECN, 54, false, 54 },
		{ 0xff, TCP, 256, false, 256 },
		{ CSUM, TCP, 257, false, 256 },
		{ CSUM, TCP, 0xffff, false, 256 },
		/* without a checksum, or of a tunnel */
		{ 0, TCP, 54, true, 54 },
		{ 0xff & ~CSUM, TCP, 54, true, 54 },
		{ CSUM, TCP | 0x20, 54, true, 54 },
		{ CSUM, TCP | 0x40, 54, true, 54 },
	};
	struct virtio_net_hdr hdr;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(rows); i++) {
		unit_context("row %u", i);
		memset(&hdr, 0xa5, sizeof(hdr));
		hdr.flags = rows[i].flags;
		hdr.gso_type = rows[i].gso_type;
		hdr.hdr_len = __cpu_to_virtio16(true, rows[i].hdr_len);
		EXPECT_EQ(kvnet_vnet_hdr_is_odd(&hdr), rows[i].odd);
		EXPECT_EQ(kvnet_vnet_hdr_linear_len(&hdr, 256), rows[i].linear);
	}
}
