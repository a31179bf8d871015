/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iotlb.h - I/O virtual to owner's virtual addresses, as the VMM has told
 *
 * A cache of what the VMM's IOMMU would answer: what is not here has to be
 * asked for, and what is here may be thrown out to make room. Readers hold the
 * lock of a queue, writers those of all queues of the device.
 */
#ifndef _KVNET_IOTLB_H
#define _KVNET_IOTLB_H

#include <linux/types.h>

/**
 * struct kvnet_iotlb_entry - a translation
 * @iova: I/O virtual address of the first byte
 * @last: I/O virtual address of the last byte
 * @hva: where the owner has mapped it
 * @perm: VHOST_ACCESS_*
 */
struct kvnet_iotlb_entry {
	u64 iova;
	u64 last;
	u64 hva;
	u8 perm;
};

/**
 * struct kvnet_iotlb - translations, disjoint and sorted by address
 * @n: entries in @entry
 * @capacity: entries that @entry has room for
 * @max: entries that there may ever be
 * @next_victim: the next to be thrown out, modulo @n
 * @entry: the translations
 */
struct kvnet_iotlb {
	u32 n;
	u32 capacity;
	u32 max;
	u32 next_victim;
	struct kvnet_iotlb_entry *entry;
};

struct kvnet_iotlb *kvnet_iotlb_alloc(u32 max);
void kvnet_iotlb_free(struct kvnet_iotlb *tlb);
int kvnet_iotlb_update(struct kvnet_iotlb *tlb,
		       const struct kvnet_iotlb_entry *entry);
void kvnet_iotlb_invalidate(struct kvnet_iotlb *tlb, u64 iova, u64 last);
const struct kvnet_iotlb_entry *
kvnet_iotlb_find(const struct kvnet_iotlb *tlb, u64 addr, u32 *hint);

#endif /* _KVNET_IOTLB_H */
