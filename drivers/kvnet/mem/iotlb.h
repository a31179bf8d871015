/* SPDX-License-Identifier: GPL-2.0 */
/*
 * iotlb.h - the device IOTLB: I/O virtual to owner's virtual addresses
 *
 * A cache of the translations of the VMM's IOMMU, filled by VHOST_IOTLB_UPDATE. An address
 * without an entry is an IOTLB miss (iotlb_miss.h); an entry may be evicted to add another.
 * Readers hold the lock of a queue, writers those of all queues of the device.
 */
#ifndef _KVNET_IOTLB_H
#define _KVNET_IOTLB_H

#include <linux/types.h>

/* Most entries of an IOTLB, 32 MiB: they are allocated at once. */
#define KVNET_IOTLB_MAX	1048576U

/* A translation */
struct kvnet_iotlb_entry {
	u64 iova;	/* I/O virtual address of the first byte */
	u64 last;	/* I/O virtual address of the last byte, inclusive */
	u64 hva;	/* the owner's address of the first byte */
	u8 perm;	/* VHOST_ACCESS_* */
};

/* Translations, disjoint and sorted by address */
struct kvnet_iotlb {
	u32 n;				/* entries in @entry */
	u32 max;			/* room in @entry, const */
	u32 next_victim;		/* index of the entry to evict next, modulo @n */
	struct kvnet_iotlb_entry entry[];
};

struct kvnet_iotlb *kvnet_iotlb_alloc(u32 max);
void kvnet_iotlb_free(struct kvnet_iotlb *tlb);
int kvnet_iotlb_update(struct kvnet_iotlb *tlb, const struct kvnet_iotlb_entry *entry);
void kvnet_iotlb_invalidate(struct kvnet_iotlb *tlb, u64 iova, u64 last);
const struct kvnet_iotlb_entry *
kvnet_iotlb_find(const struct kvnet_iotlb *tlb, u64 addr, u32 *hint);

#endif /* _KVNET_IOTLB_H */
