// SPDX-License-Identifier: GPL-2.0
/*
 * xlate.c - address translation, see xlate.h
 */
#include "xlate.h"

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vhost_types.h>

static int find_iotlb_span(struct kvnet_xlate_ctx *ctx, u64 addr, u8 perm, u32 *len,
			   void __user **base)
{
	const struct kvnet_iotlb_entry *e;

	e = kvnet_iotlb_find(ctx->iotlb, addr, &ctx->hint);
	if (!e) {
		ctx->miss_addr = addr;
		ctx->miss_perm = perm;
		return -EAGAIN;
	}
	if ((e->perm & perm) != perm)
		return -EPERM;
	/* last - addr cannot wrap; + 1 could, at 2^64 */
	*len = min_t(u64, *len - 1, e->last - addr) + 1;
	*base = (void __user *)(unsigned long)(e->hva + (addr - e->iova));
	return 0;
}

/*
 * Translates as much of a range as is contiguous. @perm: access wanted, VHOST_ACCESS_RO or
 * VHOST_ACCESS_WO, checked by the IOTLB only; @len: bytes wanted, not 0, shortened at the end of
 * the region or IOTLB entry. Returns 0; -EFAULT without a region; -EAGAIN for an IOTLB miss,
 * which @ctx describes; -EPERM if the IOTLB entry does not allow @perm. Any session; does not
 * sleep.
 */
int kvnet_xlate_span(struct kvnet_xlate_ctx *ctx, u64 addr, u8 perm, u32 *len, void __user **base)
{
	const struct kvnet_region *region;

	if (ctx->iotlb)
		return find_iotlb_span(ctx, addr, perm, len, base);
	region = kvnet_memtable_find(ctx->mem, addr, &ctx->hint);
	if (!region)
		return -EFAULT;
	/* As above. */
	*len = min_t(u64, *len - 1, region->last - addr) + 1;
	*base = (void __user *)(unsigned long)(region->hva + (addr - region->gpa));
	return 0;
}

/* Slow path: the segment crosses regions, is not in the last one, or is empty. */
static noinline int xlate_seg_slow(struct kvnet_xlate_ctx *ctx, const struct kvnet_seg *seg,
				   u8 perm, struct iovec *iov, unsigned int cap)
{
	unsigned int used = 0;
	void __user *base;
	u64 addr = seg->addr;
	u32 left, part;
	int ret;

	if (seg->len && addr + (seg->len - 1) < addr)
		return -EFAULT;
	for (left = seg->len; left; left -= part, addr += part) {
		part = left;
		ret = kvnet_xlate_span(ctx, addr, perm, &part, &base);
		if (ret)
			return ret;
		if (used >= cap)
			return -EMSGSIZE;
		iov[used].iov_base = base;
		iov[used].iov_len = part;
		used++;
	}
	return used;
}

/**
 * kvnet_xlate_segs() - translate a chain, and split its segments where regions end
 * @ctx: the translation context
 * @seg: @n_out device-readable segments, then @n_in writable ones
 * @n_out: number of readable segments
 * @n_in: number of writable segments
 * @iov: filled in, adjacent segments are not merged; undefined after an error
 * @cap: entries in @iov
 *
 * The lengths in @iov add up to those in @seg. Empty segments are dropped.
 *
 * Return: entries used in @iov; -EFAULT for a segment that wraps around; -EMSGSIZE if @iov
 * is too small; or an error of kvnet_xlate_span().
 */
int kvnet_xlate_segs(struct kvnet_xlate_ctx *ctx, const struct kvnet_seg *seg,
		     unsigned int n_out, unsigned int n_in, struct iovec *iov, unsigned int cap)
{
	const struct kvnet_region *region = kvnet_xlate_last_region(ctx);
	unsigned int i, used = 0;
	int ret;

	for (i = 0; i < n_out + n_in; i++, seg++) {
		/* Fast path: most segments are in the region of the one before. */
		if (likely(used < cap &&
			   kvnet_xlate_seg_in_region(region, seg, &iov[used]))) {
			used++;
			continue;
		}
		ret = xlate_seg_slow(ctx, seg, i < n_out ? VHOST_ACCESS_RO : VHOST_ACCESS_WO,
				     iov + used, cap - used);
		if (ret < 0)
			return ret;
		used += ret;
		region = kvnet_xlate_last_region(ctx);
	}
	return used;
}

/*
 * Translates a ring's area of @size bytes, not 0, behind an IOMMU; @area has room for
 * KVNET_AREA_PIECES pieces. Returns 0; -EFAULT if it wraps around; -EMSGSIZE if it has too many
 * pieces; or an error of kvnet_xlate_span().
 */
int kvnet_xlate_area(struct kvnet_xlate_ctx *ctx, u64 addr, u8 perm, u32 size,
		     struct kvnet_area *area)
{
	void __user *base, *next = NULL;
	u32 off, part, n = 0;
	int ret;

	if (addr + (size - 1) < addr)
		return -EFAULT;
	for (off = 0; off < size; off += part) {
		part = size - off;
		ret = kvnet_xlate_span(ctx, addr + off, perm, &part, &base);
		if (ret)
			return ret;
		if (!n || base != next) {
			if (n == KVNET_AREA_PIECES)
				return -EMSGSIZE;
			area->piece[n].base = base;
			area->piece[n].off = off;
			n++;
		}
		next = base + part;
	}
	area->len = size;
	area->n = n;
	area->base = n == 1 ? area->piece[0].base : NULL;
	return 0;
}
