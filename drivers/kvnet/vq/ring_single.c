// SPDX-License-Identifier: GPL-2.0
/*
 * ring_single.c - single-descriptor fast path for receive buffers, both layouts
 *
 * For pinned rings. It stops before a descriptor of any other kind: kvnet_ring_next() reads
 * that again, and validates it.
 */
#include "ring.h"

#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/virtio_byteorder.h>

#define WRAP	BIT(VRING_PACKED_EVENT_F_WRAP_CTR)
#define F_AVAIL	BIT(VRING_PACKED_DESC_F_AVAIL)
#define F_USED	BIT(VRING_PACKED_DESC_F_USED)

static inline size_t add_single_seg(struct kvnet_seg *seg, struct kvnet_used *used, u64 addr,
				    u32 part, u16 id, size_t len)
{
	seg->addr = addr;
	seg->len = part;
	part = min_t(size_t, part, len);
	*used = (struct kvnet_used) { .id = id, .count = 1, .len = part };
	return len - part;
}

/* Entries read ahead have been observed as available: A is in fetch_avail_idx(). */
unsigned int kvnet_ring_split_next_single(struct kvnet_ring *r, struct kvnet_seg *seg,
					  struct kvnet_used *used, unsigned int max,
					  size_t len)
{
	u16 first = r->last_avail - r->head_first;
	const bool le = r->le;
	unsigned int n, at;
	struct kvnet_desc d;
	u64 addr, rest;
	u32 head;

	if (!kvnet_area_is_mapped(&r->desc) || first >= r->head_n)
		return 0;
	max = min_t(unsigned int, max, r->head_n - first);
	for (n = 0; n < max && len; n++) {
		at = (first + n) & (KVNET_RING_PREFETCH - 1);
		head = __virtio16_to_cpu(le, r->heads[at]);
		if (head >= r->num)
			break;
		head &= r->num - 1;
		if (kvnet_area_load_pair(&r->desc, head * sizeof(struct vring_desc),
					 &addr, &rest))
			break;
		d = kvnet_chain_decode_desc(addr, rest, le);
		if (d.flags != VRING_DESC_F_WRITE)
			break;
		len = add_single_seg(seg++, used++, d.addr, d.len, head, len);
	}
	r->last_avail += n;
	return n;
}

unsigned int kvnet_ring_packed_next_single(struct kvnet_ring *r,
					   struct kvnet_seg *seg,
					   struct kvnet_used *used, unsigned int max,
					   size_t len)
{
	const u16 mask = F_AVAIL | F_USED | VRING_DESC_F_NEXT |
			 VRING_DESC_F_WRITE | VRING_DESC_F_INDIRECT;
	u16 wrap = r->last_avail & WRAP, flags;
	u32 i = r->last_avail & ~WRAP, at;
	unsigned int n;
	__virtio16 val;
	u64 addr, rest;

	if (!kvnet_area_is_mapped(&r->desc) || r->n_in_flight >= r->num)
		return 0;
	max = min(max, r->num - r->n_in_flight);
	for (n = 0; n < max && len; n++) {
		at = i * sizeof(struct vring_packed_desc);
		if (kvnet_area_load16(&r->desc, at +
				      offsetof(struct vring_packed_desc, flags),
				      &val))
			break;
		flags = __virtio16_to_cpu(true, val);
		if ((flags & mask) != ((wrap ? F_AVAIL : F_USED) |
				       VRING_DESC_F_WRITE))
			break;
		/* A: the rest is read after the flags; with the driver's wmb. */
		smp_rmb();
		if (kvnet_area_load_pair(&r->desc, at, &addr, &rest))
			break;
		rest = le64_to_cpu((__force __le64)rest);
		len = add_single_seg(seg++, used++, le64_to_cpu((__force __le64)addr),
				     rest, rest >> 32, len);
		if (++i == r->num) {
			i = 0;
			wrap ^= WRAP;
		}
	}
	r->last_avail = i | wrap;
	r->n_in_flight += n;
	r->n_avail_seen -= min_t(unsigned int, r->n_avail_seen, n);
	return n;
}
