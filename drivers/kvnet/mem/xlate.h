/* SPDX-License-Identifier: GPL-2.0 */
/*
 * xlate.h - translation of guest addresses to the owner's addresses
 *
 * Guest addresses are guest-physical, translated by the memory table, or, behind an IOMMU,
 * I/O virtual, translated by the IOTLB. A context belongs to one queue.
 */
#ifndef _KVNET_XLATE_H
#define _KVNET_XLATE_H

#include <linux/types.h>
#include <linux/uio.h>

#include "area.h"
#include "iotlb.h"
#include "memtable.h"
#include "seg.h"

/* A queue's translation context */
struct kvnet_xlate_ctx {
	struct kvnet_memtable *mem;
	struct kvnet_iotlb *iotlb;	/* the IOTLB that translates instead of @mem, or NULL */
	/* index of the region or entry that was found last; any value is valid */
	u32 hint;
	/* after -EAGAIN, the I/O virtual address that the IOTLB does not have */
	u64 miss_addr;
	u8 miss_perm;			/* after -EAGAIN, the access wanted: VHOST_ACCESS_* */
};

/* The region of the last translation, a guess for the next; NULL behind an IOMMU. */
static inline const struct kvnet_region *
kvnet_xlate_last_region(const struct kvnet_xlate_ctx *ctx)
{
	if (unlikely(ctx->iotlb || ctx->hint >= ctx->mem->n))
		return NULL;
	return &ctx->mem->region[ctx->hint];
}

/* False if @region is NULL, or does not hold all of @seg, or @seg is empty. */
static inline bool kvnet_xlate_seg_in_region(const struct kvnet_region *region,
					     const struct kvnet_seg *seg, struct iovec *iov)
{
	if (unlikely(!region || !seg->len ||
		     !kvnet_memtable_region_has(region, seg->addr) ||
		     seg->len - 1 > region->last - seg->addr))
		return false;
	iov->iov_base = (void __user *)(unsigned long)
			(region->hva + (seg->addr - region->gpa));
	iov->iov_len = seg->len;
	return true;
}

int kvnet_xlate_span(struct kvnet_xlate_ctx *ctx, u64 addr, u8 perm, u32 *len, void __user **base);
int kvnet_xlate_segs(struct kvnet_xlate_ctx *ctx, const struct kvnet_seg *seg,
		     unsigned int n_out, unsigned int n_in, struct iovec *iov, unsigned int cap);
int kvnet_xlate_area(struct kvnet_xlate_ctx *ctx, u64 addr, u8 perm, u32 size,
		     struct kvnet_area *area);

#endif /* _KVNET_XLATE_H */
