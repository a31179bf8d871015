// SPDX-License-Identifier: GPL-2.0
/*
 * frag.c - memory for frames, see frag.h
 */
#include "frag.h"

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/page_ref.h>

/* Not worth an effort: there is another way. */
#define CHUNK_GFP	((GFP_KERNEL & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP | \
			 __GFP_NOWARN | __GFP_NORETRY | __GFP_NOMEMALLOC)

static u32 chunk_refs_for(u32 size)
{
	return size / SMP_CACHE_BYTES + 1;
}

/* As long as can be, or else no longer than is needed now. One page is worth an effort. */
static struct page *alloc_frag_chunk(u32 need, u32 *size)
{
	unsigned int order = get_order(KVNET_FRAG_MAX);
	struct page *page = alloc_pages(CHUNK_GFP, order);

	if (!page && (!order || get_order(need) < order)) {
		order = get_order(need);
		page = alloc_pages(order ? CHUNK_GFP : GFP_KERNEL, order);
	}
	*size = PAGE_SIZE << order;
	return page;
}

/*
 * Have all fragments come back? Whoever gave one back had done with it before, by
 * the full barrier in put_page().
 */
static bool chunk_is_idle(const struct kvnet_frag_chunk *c)
{
	return c->page && page_ref_count(c->page) == c->refs;
}

static void reuse_chunk(struct kvnet_frag_chunk *c)
{
	u32 refs = chunk_refs_for(c->size);

	page_ref_add(c->page, refs - c->refs);
	c->refs = refs;
}

static void release_chunk(struct kvnet_frag_chunk *c)
{
	if (!c->page)
		return;
	page_ref_sub(c->page, c->refs - 1);
	put_page(c->page);
	*c = (struct kvnet_frag_chunk) { .page = NULL };
}

/*
 * The first one that is back, so that no more are in use than there are frames on
 * their way, and these are warm. Else one that is new, in the place of the oldest
 * if there is no other.
 */
static struct kvnet_frag_chunk *get_next_chunk(struct kvnet_frags *f, u32 need)
{
	struct kvnet_frag_chunk *c, *free = NULL;

	for (c = f->chunk; c < f->chunk + KVNET_FRAG_CHUNKS; c++) {
		if (need <= c->size && chunk_is_idle(c)) {
			reuse_chunk(c);
			return c;
		}
		if (!c->page && !free)
			free = c;
	}
	if (!free) {
		free = &f->chunk[f->oldest];
		f->oldest = (f->oldest + 1) % KVNET_FRAG_CHUNKS;
		release_chunk(free);
	}
	free->page = alloc_frag_chunk(need, &free->size);
	if (!free->page)
		return NULL;
	free->refs = chunk_refs_for(free->size);
	page_ref_add(free->page, free->refs - 1);
	return free;
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
	struct kvnet_frag_chunk *c = f->cur;
	void *frag;

	if (unlikely(size > KVNET_FRAG_MAX))
		return NULL;
	if (unlikely(!c || size > c->size - f->offset)) {
		c = get_next_chunk(f, size);
		f->cur = c;
		f->offset = 0;
		if (!c)
			return NULL;
	}
	frag = page_address(c->page) + f->offset;
	f->offset += size;
	c->refs--;
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
 * kvnet_frag_drain() - let go of all chunks
 * @f: what is left of it; fragments live on
 */
void kvnet_frag_drain(struct kvnet_frags *f)
{
	unsigned int i;

	for (i = 0; i < KVNET_FRAG_CHUNKS; i++)
		release_chunk(&f->chunk[i]);
	*f = (struct kvnet_frags) { .offset = 0 };
}
