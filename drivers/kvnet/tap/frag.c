// SPDX-License-Identifier: GPL-2.0
/*
 * frag.c - chunks of pages, and the fragments that are cut from them, see frag.h
 *
 * The functions for a struct kvnet_frags need the lock that guards it, vq->lock of TX, and
 * may sleep. The stack frees fragments on any CPU, at any time, by put_page(): the chunk's
 * page reference count is all that both sides share.
 */
#include "frag.h"

#include <linux/cache.h>
#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/page_ref.h>

/* No direct reclaim: if it fails, a smaller order does, or the packet goes without a batch. */
#define CHUNK_GFP	((GFP_KERNEL & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP | \
			 __GFP_NOWARN | __GFP_NORETRY | __GFP_NOMEMALLOC)

static u32 chunk_refs_for(u32 size)
{
	return size / SMP_CACHE_BYTES + 1;
}

/* A whole chunk, or else only what @need takes. Order 0 may use direct reclaim. */
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
 * All fragments of the chunk are freed. The stack's accesses to a fragment come before its
 * put_page(), whose atomic operation is a full barrier.
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
 * The first idle chunk is reused: so the number of chunks in use follows the number of frames
 * in flight, and they stay in the CPU's cache. Without an idle chunk a new one is allocated,
 * which replaces the oldest if all are in use.
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
 * kvnet_frag_alloc() - cut a fragment from the current chunk
 * @f: the chunks
 * @size: in bytes, a multiple of the cache line
 *
 * Context: the lock that guards @f; may sleep.
 * Return: the fragment, aligned to the cache line, with one page reference, which
 * kvnet_frag_free() drops, or the stack that gets it as the head of a socket buffer; NULL
 * without memory, or if @size exceeds KVNET_FRAG_MAX.
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

void kvnet_frag_free(void *frag)
{
	put_page(virt_to_head_page(frag));
}

/* Fragments that are still in use keep their chunk's pages until they are freed. */
void kvnet_frag_drain(struct kvnet_frags *f)
{
	unsigned int i;

	for (i = 0; i < KVNET_FRAG_CHUNKS; i++)
		release_chunk(&f->chunk[i]);
	*f = (struct kvnet_frags) { .offset = 0 };
}
