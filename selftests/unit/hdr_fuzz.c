// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to a packet's header: it is refused, or says no more than it did but for how
 * long its headers are, and a checksum lies within them and within the packet.
 */
#include "vnet_hdr.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <string.h>

#include "features.h"
#include "fuzz.h"
#include "unit.h"

const char fuzz_name[] = "hdr";

static u16 get16(const void *p, bool le)
{
	const u8 *b = p;

	return le ? b[0] | b[1] << 8 : b[1] | b[0] << 8;
}

static void check_fix(const u8 *bytes, u32 len, bool le)
{
	struct virtio_net_hdr hdr, was;
	u32 end;
	int ret;

	memcpy(&hdr, bytes, sizeof(hdr));
	was = hdr;
	EXPECT_EQ(kvnet_vnet_hdr_is_odd(&hdr),
		  (hdr.gso_type && (!(hdr.flags & 1) || hdr.gso_type & 0x60)) ||
		  (get16(&hdr.hdr_len, true) && get16(&hdr.hdr_len, true) < 14));
	EXPECT_EQ(kvnet_vnet_hdr_linear_len(&hdr, 256), !hdr.gso_type ? 256 :
		  min_t(u32, max_t(u32, get16(&hdr.hdr_len, true), 14), 256));
	ret = kvnet_vnet_hdr_fix(&hdr, len, le);
	end = (u32)get16(&was.csum_start, le) + get16(&was.csum_offset, le) + 2;
	if (!(was.flags & 1)) {
		EXPECT_EQ(ret, 0);
		end = 0;
	} else {
		EXPECT_EQ(ret, end > len || end > 0xffff ? -EINVAL : 0);
	}
	if (ret) {
		EXPECT_TRUE(!memcmp(&hdr, &was, sizeof(hdr)));
		return;
	}
	EXPECT_EQ(get16(&hdr.hdr_len, le), max_t(u32, get16(&was.hdr_len, le), end));
	hdr.hdr_len = was.hdr_len;
	EXPECT_TRUE(!memcmp(&hdr, &was, sizeof(hdr)));
}

static void check_buffers(const u8 *bytes, size_t hdr_len, u16 n, bool le)
{
	u8 hdr[KVNET_FEATURES_HDR_MAX] __attribute__((aligned(8)));

	memcpy(hdr, bytes, sizeof(hdr));
	kvnet_vnet_hdr_set_num_buffers(hdr, hdr_len, n, le);
	if (hdr_len >= 12) {
		EXPECT_EQ(get16(hdr + 10, le), n);
		memcpy(hdr + 10, bytes + 10, 2);
	}
	EXPECT_TRUE(!memcmp(hdr, bytes, sizeof(hdr)));
}

void fuzz_one(const u8 *data, size_t size)
{
	static const size_t lens[] = { 10, 12, KVNET_FEATURES_HDR_MAX };
	struct input in = { .p = data, .left = size };
	u8 how = take8(&in), bytes[KVNET_FEATURES_HDR_MAX];
	u32 len = how & 2 ? take32(&in) : take16(&in);
	size_t i;

	for (i = 0; i < sizeof(bytes); i++)
		bytes[i] = take8(&in);
	if (how & 4)
		bytes[0] |= 1;
	check_fix(bytes, len, how & 1);
	check_buffers(bytes, lens[how >> 3 & 1 ? 2 : how >> 4 & 1], take16(&in), how & 1);
}

#ifndef UNIT_LIBFUZZER
CASE(fuzz_headers)
{
	fuzz_random(300000, 40);
}
#endif
