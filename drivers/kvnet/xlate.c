// SPDX-License-Identifier: GPL-2.0
/*
 * xlate.c - address translation, see xlate.h
 */
#include "xlate.h"

#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/vhost_types.h>

static void __user *hva_to_user_ptr(u64 hva)
{
	return (void __user *)(unsigned long)hva;
}

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
	*base = hva_to_user_ptr(e->hva + (addr - e->iova));
	return 0;
}

/**
 * kvnet_xlate_span() - where is a piece of guest memory, as far as it is in one?
 * @ctx: what addresses mean
 * @addr: guest address
 * @perm: access wanted, VHOST_ACCESS_RO or VHOST_ACCESS_WO
 * @len: bytes wanted, not 0; shortened to what is there in one piece
 * @base: filled in: the owner's address
 *
 * Return: 0; -EFAULT for an address that no region holds; -EAGAIN for one that
 * the IOTLB does not know; -EPERM for one that it does not allow.
 */
int kvnet_xlate_span(struct kvnet_xlate_ctx *ctx, u64 addr, u8 perm, u32 *len,
		     void __user **base)
{
	if (ctx->iotlb)
		return find_iotlb_span(ctx, addr, perm, len, base);
	*base = kvnet_memtable_find_span(ctx->mem, addr, len, &ctx->hint);
	return *base ? 0 : -EFAULT;
}

/* Wherever it is, and in as many pieces as it is. */
static noinline int xlate_seg_slow(struct kvnet_xlate_ctx *ctx,
				   const struct kvnet_seg *seg, u8 perm,
				   struct iovec *iov, unsigned int cap)
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
 * kvnet_xlate_chain() - translate a chain, splitting segments where regions end
 * @ctx: what addresses mean
 * @chain: what to translate
 * @iov: filled in; neighbours in the owner's memory are not joined
 * @cap: entries in @iov
 *
 * The lengths in @iov add up to those in @chain. Segments of no length vanish.
 *
 * Return: entries used in @iov; -EFAULT for an address that wraps around;
 * -EMSGSIZE if @iov is too small; as kvnet_xlate_span(). @iov means nothing
 * after an error.
 */
int kvnet_xlate_chain(struct kvnet_xlate_ctx *ctx, const struct kvnet_chain *chain,
		      struct iovec *iov, unsigned int cap)
{
	const struct kvnet_region *region = kvnet_xlate_last_region(ctx);
	const struct kvnet_seg *seg = chain->seg;
	unsigned int i, used = 0;
	int ret;

	for (i = 0; i < chain->n_out + chain->n_in; i++, seg++) {
		/* Nearly every one is where the one before it was. */
		if (likely(used < cap &&
			   kvnet_xlate_seg_in_region(region, seg, &iov[used]))) {
			used++;
			continue;
		}
		ret = xlate_seg_slow(ctx, seg, i < chain->n_out ?
				     VHOST_ACCESS_RO : VHOST_ACCESS_WO,
				     iov + used, cap - used);
		if (ret < 0)
			return ret;
		used += ret;
		region = kvnet_xlate_last_region(ctx);
	}
	return used;
}

/**
 * kvnet_xlate_area() - find all of a ring's area behind an IOMMU
 * @ctx: what addresses mean
 * @addr: I/O virtual address
 * @perm: access wanted
 * @size: bytes, not 0
 * @area: filled in; has room for KVNET_AREA_PIECES pieces
 *
 * Return: 0; -EFAULT for an area that wraps around; -EMSGSIZE for one in too
 * many pieces; as kvnet_xlate_span().
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
