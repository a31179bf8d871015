// SPDX-License-Identifier: GPL-2.0
/*
 * frag.c - memory for frames, see frag.h
 */
#include "frag.h"

#include <linux/cache.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/page_ref.h>

/* Not worth an effort: there is another way. */
#define GFP_LARGE	((GFP_KERNEL & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP | \
			 __GFP_NOWARN | __GFP_NORETRY | __GFP_NOMEMALLOC)

static u32 refs_for(u32 size)
{
	return size / SMP_CACHE_BYTES + 1;
}

/* A chunk, or else no more than is needed now. */
static struct page *alloc_chunk(u32 need, u32 *size)
{
	unsigned int order = get_order(KVNET_FRAG_MAX);
	struct page *page = alloc_pages(GFP_LARGE, order);

	if (!page && get_order(need) < order) {
		order = get_order(need);
		page = alloc_pages(order ? GFP_LARGE : GFP_KERNEL, order);
	}
	*size = PAGE_SIZE << order;
	return page;
}

/*
 * Have all fragments come back? Whoever gave one back had done with it before, by
 * the full barrier in put_page().
 */
static bool use_again(struct kvnet_frags *f, u32 need)
{
	u32 refs = refs_for(f->size);

	if (!f->page || need > f->size || page_ref_count(f->page) != f->refs)
		return false;
	page_ref_add(f->page, refs - f->refs);
	f->refs = refs;
	f->at = 0;
	return true;
}

static bool refill(struct kvnet_frags *f, u32 need)
{
	if (use_again(f, need))
		return true;
	kvnet_frag_drain(f);
	f->page = alloc_chunk(need, &f->size);
	if (!f->page)
		return false;
	f->refs = refs_for(f->size);
	page_ref_add(f->page, f->refs - 1);
	return true;
}

/**
 * kvnet_frag_alloc() - cut off a fragment
 * @f: where from
 * @size: bytes, a multiple of the cache line, at most KVNET_FRAG_MAX
 *
 * Return: the fragment, for whoever frees it by kvnet_frag_free() or, in the
 * stack, as the head of a socket buffer; or NULL: no memory.
 */
void *kvnet_frag_alloc(struct kvnet_frags *f, u32 size)
{
	void *frag;

	if (size > KVNET_FRAG_MAX)
		return NULL;
	if ((!f->page || size > f->size - f->at) && !refill(f, size))
		return NULL;
	frag = page_address(f->page) + f->at;
	f->at += size;
	f->refs--;
	return frag;
}

/**
 * kvnet_frag_free() - give a fragment back
 * @frag: from kvnet_frag_alloc()
 */
void kvnet_frag_free(void *frag)
{
	put_page(virt_to_head_page(frag));
}

/**
 * kvnet_frag_drain() - let go of the chunk
 * @f: what is left of it; fragments live on
 */
void kvnet_frag_drain(struct kvnet_frags *f)
{
	if (!f->page)
		return;
	page_ref_sub(f->page, f->refs - 1);
	put_page(f->page);
	*f = (struct kvnet_frags) { .page = NULL };
}
