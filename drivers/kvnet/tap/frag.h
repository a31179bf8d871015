/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frag.h - memory for frames that the network stack will free
 *
 * Frames to the host are fragments of a chunk of pages. Each has a page reference, which the
 * stack drops by put_page(). page_frag_alloc() does the same, but since Linux 6.13 it returns
 * no fragment longer than a page unless its chunk happens to have room, and it has only one
 * chunk. A batch takes several chunks, all of which are idle again once the stack has freed
 * the batch: to reuse them saves allocating and, on most kernels, clearing new pages.
 */
#ifndef _KVNET_FRAG_H
#define _KVNET_FRAG_H

#include <linux/types.h>

struct page;

/* Bytes of the longest fragment and of a chunk; without memory a chunk is smaller. */
#define KVNET_FRAG_MAX	32768UL

/* Enough chunks for a batch of frames of Ethernet's MTU. */
#define KVNET_FRAG_CHUNKS	6

/**
 * struct kvnet_frag_chunk - pages that fragments are cut from
 * @page: the head page, or NULL
 * @size: of the chunk, in bytes
 * @refs: page references that the chunk holds: one for each fragment that may yet be cut
 *	  from it, and one that keeps it
 */
struct kvnet_frag_chunk {
	struct page *page;
	u32 size;
	u32 refs;
};

/**
 * struct kvnet_frags - the chunks of a queue; guarded by vq->lock
 * @cur: current chunk, an element of @chunk, or NULL
 * @offset: offset of the next fragment in @cur, in bytes
 * @oldest: index of the chunk that is replaced next if none is idle
 * @chunk: all chunks
 */
struct kvnet_frags {
	struct kvnet_frag_chunk *cur;
	u32 offset;
	u32 oldest;
	struct kvnet_frag_chunk chunk[KVNET_FRAG_CHUNKS];
};

void *kvnet_frag_alloc(struct kvnet_frags *f, u32 size);
void kvnet_frag_free(void *frag);
void kvnet_frag_drain(struct kvnet_frags *f);

#endif /* _KVNET_FRAG_H */
