// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: kvnet_vnet_hdr_fix() lets no checksum field pass that lies beyond the packet or beyond
 *	hdr_len, and changes only hdr_len; kvnet_vnet_hdr_set_num_buffers() writes only into a
 *	header that has the field
 * @bounds: none
 * @sources: tap/vnet_hdr.c
 * @unwind: 2
 * @quick: yes
 * @mutant: tap/vnet_hdr.c: if (need > len => if (need > len + 1
 * @mutant: tap/vnet_hdr.c: hdr->hdr_len = __cpu_to_virtio16(le, need); => hdr->hdr_len = __cpu_to_virtio16(!le, need);
 * @mutant: tap/vnet_hdr.c: if (hdr_len >= sizeof(*mrg)) => if (hdr_len >= sizeof(*mrg) - 2)
 */
#include "guest.h"
#include "vnet_hdr.h"

static u16 field(bool le, u16 val)
{
	return le ? val : (u16)(val << 8 | val >> 8);
}

int main(void)
{
	struct virtio_net_hdr hdr, old;
	size_t len = any_long();
	bool le = any_bool();
	char few[sizeof(struct virtio_net_hdr)];
	struct virtio_net_hdr_mrg_rxbuf all;
	u32 end;

	old = hdr;
	if (!kvnet_vnet_hdr_fix(&hdr, len, le) && (hdr.flags & VIRTIO_NET_HDR_F_NEEDS_CSUM)) {
		end = (u32)field(le, hdr.csum_start) + field(le, hdr.csum_offset) + 2;
		ASSERT(end <= len);
		ASSERT(end <= field(le, hdr.hdr_len));
		ASSERT(field(le, hdr.hdr_len) >= field(le, old.hdr_len));
	}
	ASSERT(hdr.flags == old.flags && hdr.gso_type == old.gso_type &&
	      hdr.gso_size == old.gso_size && hdr.csum_start == old.csum_start &&
	      hdr.csum_offset == old.csum_offset);
	kvnet_vnet_hdr_is_odd(&hdr);

	kvnet_vnet_hdr_set_num_buffers(few, sizeof(few), any_u16(), le);
	kvnet_vnet_hdr_set_num_buffers(&all, sizeof(all), 5, le);
	ASSERT(field(le, all.num_buffers) == 5);
	return 0;
}
