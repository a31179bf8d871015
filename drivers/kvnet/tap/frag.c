// SPDX-License-Identifier: GPL-2.0
/*
 * frag.c - chunks of pages, and the fragments that are cut from them, see frag.h
 *
 * The stack frees fragments on any CPU, at any time, by put_page(): the page reference count
 * of a chunk is all that both sides share. One reference keeps the chunk.
 */
#include "frag.h"

#include <linux/compiler.h>
#include <linux/gfp.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/page_ref.h>

/* No direct reclaim: if it fails, the packet gets a page, or goes without a batch. */
#define CHUNK_GFP	((GFP_KERNEL & ~__GFP_DIRECT_RECLAIM) | __GFP_COMP | \
			 __GFP_NOWARN | __GFP_NORETRY | __GFP_NOMEMALLOC)

static bool alloc_chunk_pages(struct page_frag *c, u32 need)
{
	unsigned int order = get_order(KVNET_FRAG_MAX);

	c->offset = 0;
	c->page = alloc_pages(CHUNK_GFP, order);
	if (!c->page && need <= PAGE_SIZE) {
		order = 0;
		c->page = alloc_page(GFP_KERNEL);
	}
	c->size = PAGE_SIZE << order;
	return c->page;
}

static bool chunk_is_idle(const struct page_frag *c)
{
	return page_ref_count(c->page) == 1;
}

/* Frees the last chunk, if it is one of a burst: @c is idle, too. */
static void free_spare_chunk(struct kvnet_frags *f, const struct page_frag *c)
{
	const struct page_frag *last = &f->chunk[f->n - 1];
	unsigned long now = jiffies;

	if (f->n <= KVNET_FRAG_CHUNKS_KEPT || c == last || !chunk_is_idle(last) ||
	    f->freed_at == now)
		return;
	f->freed_at = now;
	f->n--;
	put_page(last->page);
}

/*
 * The first chunk is reused as soon as it is idle, else the next idle one behind the current: so
 * the number of chunks in use follows the number of frames in flight, they stay in the CPU's
 * cache, and few are looked at. Without an idle chunk a new one is allocated. If there are
 * enough, it replaces the one behind the current, which is in use for the longest time.
 *
 * The stack's accesses to a fragment come before its put_page(), whose atomic operation is a
 * full barrier.
 */
static struct page_frag *get_next_chunk(struct kvnet_frags *f, u32 need)
{
	unsigned int at = 0, i;
	struct page_frag *c, next;

	if (f->cur && !chunk_is_idle(f->chunk))
		at = f->cur - f->chunk + 1;
	for (i = 0; i < f->n; i++, at++) {
		at = at < f->n ? at : 0;
		c = f->chunk + at;
		if (need <= c->size && chunk_is_idle(c)) {
			free_spare_chunk(f, c);
			c->offset = 0;
			return c;
		}
	}
	if (!alloc_chunk_pages(&next, need))
		return NULL;
	if (f->n < KVNET_FRAG_CHUNKS) {
		c = f->chunk + f->n++;
	} else {
		c = f->chunk + at % KVNET_FRAG_CHUNKS;
		put_page(c->page);
	}
	*c = next;
	return c;
}

/*
 * Caller holds the lock that guards @f; may sleep. @size is a multiple of the cache line.
 * Returns a fragment, aligned to the cache line, with one page reference, which skb_free_frag()
 * drops, or the stack that gets it as the head of a socket buffer; NULL without memory, or if
 * @size exceeds KVNET_FRAG_MAX.
 */
void *kvnet_frag_alloc(struct kvnet_frags *f, u32 size)
{
	struct page_frag *c = f->cur;
	void *frag;

	if (unlikely(size > KVNET_FRAG_MAX))
		return NULL;
	if (unlikely(!c || size > c->size - c->offset)) {
		c = get_next_chunk(f, size);
		f->cur = c;
		if (!c)
			return NULL;
	}
	frag = page_address(c->page) + c->offset;
	c->offset += size;
	get_page(c->page);
	return frag;
}

/* Fragments that are still in use keep their chunk's pages until they are freed. */
void kvnet_frag_drain(struct kvnet_frags *f)
{
	unsigned int i;

	for (i = 0; i < f->n; i++)
		put_page(f->chunk[i].page);
	*f = (struct kvnet_frags) {};
}
