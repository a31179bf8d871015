/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frag.h - memory for frames that others will free
 *
 * Frames to the host are cut from a chunk of pages, each with a reference on it, as
 * the stack frees them: by put_page(). The kernel's own page_frag_alloc() would do,
 * but since Linux 6.13 it gives no fragment longer than a page unless there happens
 * to be room in its chunk; and it has one chunk only. A batch of frames takes
 * several, which are all back when the stack is through with it: new ones in their
 * place would have to be found and, on most kernels, be cleared.
 */
#ifndef _KVNET_FRAG_H
#define _KVNET_FRAG_H

#include <linux/types.h>

struct page;

/* The longest fragment, and the size of a chunk, if there is memory. */
#define KVNET_FRAG_MAX	32768UL

/* Chunks that are kept: enough for a batch of frames of an Ethernet's MTU. */
#define KVNET_FRAG_CHUNKS	6

/**
 * struct kvnet_frag_chunk - what fragments are cut from
 * @page: the chunk, or NULL
 * @size: of the chunk, in bytes
 * @refs: references on the chunk that are ours: one for each fragment that may
 *	  yet be cut from it, and one that keeps it
 */
struct kvnet_frag_chunk {
	struct page *page;
	u32 size;
	u32 refs;
};

/**
 * struct kvnet_frags - where fragments come from
 * @cur: the chunk that they are cut from now, or NULL
 * @offset: where in it the next fragment begins
 * @oldest: index of the chunk that makes room when none is back
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
