/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xlate.h - guest addresses to the owner's memory
 *
 * Guest addresses are guest-physical and go by the memory table, or, behind an
 * IOMMU, I/O virtual and go by the IOTLB.
 */
#ifndef _KVNET_XLATE_H
#define _KVNET_XLATE_H

#include <linux/types.h>
#include <linux/uio.h>

#include "area.h"
#include "iotlb.h"
#include "mem.h"
#include "ring.h"

/**
 * struct kvnet_space - what guest addresses mean
 * @mem: the memory table
 * @iotlb: the IOTLB to go by instead, or NULL
 * @hint: where the last address was found
 * @miss: after -EAGAIN, the address that the IOTLB does not know
 * @miss_perm: after -EAGAIN, the access wanted: VHOST_ACCESS_*
 */
struct kvnet_space {
	struct kvnet_mem *mem;
	struct kvnet_iotlb *iotlb;
	u32 hint;
	u64 miss;
	u8 miss_perm;
};

/* The region that held the last address; behind an IOMMU none. */
static inline const struct kvnet_region *
kvnet_xlate_last(const struct kvnet_space *space)
{
	if (unlikely(space->iotlb || space->hint >= space->mem->n))
		return NULL;
	return &space->mem->region[space->hint];
}

/**
 * kvnet_xlate_in() - translate a segment that lies in a region
 * @region: the region, or NULL
 * @seg: the segment
 * @iov: filled in
 *
 * Return: false if it is empty, or does not lie there, or not all of it.
 */
static inline bool kvnet_xlate_in(const struct kvnet_region *region,
				  const struct kvnet_seg *seg,
				  struct iovec *iov)
{
	if (unlikely(!region || !seg->len ||
		     !kvnet_region_has(region, seg->addr) ||
		     seg->len - 1 > region->last - seg->addr))
		return false;
	iov->iov_base = (void __user *)(unsigned long)
			(region->hva + (seg->addr - region->gpa));
	iov->iov_len = seg->len;
	return true;
}

int kvnet_xlate_span(struct kvnet_space *space, u64 addr, u8 perm, u32 *len,
		     void __user **base);
int kvnet_xlate(struct kvnet_space *space, const struct kvnet_chain *chain,
		struct iovec *iov, unsigned int cap);
int kvnet_xlate_area(struct kvnet_space *space, u64 addr, u8 perm, u32 size,
		     struct kvnet_area *area);

#endif /* _KVNET_XLATE_H */
