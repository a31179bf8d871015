/* SPDX-License-Identifier: GPL-2.0 */
/*
 * frag.h - memory for frames that the network stack will free
 *
 * Frames to the host are fragments of a chunk of pages. Each has a page reference, which the
 * stack drops by put_page(). skb_page_frag_refill() and page_frag_alloc() have one chunk; a
 * batch takes several, all of which are idle again once the stack has freed the batch. To
 * reuse them saves allocating and, on most kernels, clearing new pages.
 */
#ifndef _KVNET_FRAG_H
#define _KVNET_FRAG_H

#include <linux/mm_types.h>
#include <linux/types.h>

/* Bytes of the longest fragment and of a chunk; without memory a chunk is a page. */
#define KVNET_FRAG_MAX	32768UL

/* Enough for 64 frames of 64 KiB in flight: 4 MiB at most. */
#define KVNET_FRAG_CHUNKS	128

/* As many as a ring of 256 has; more are freed, one in a jiffy, as soon as they are idle. */
#define KVNET_FRAG_CHUNKS_KEPT	16

/* The chunks of a queue; guarded by vq->lock. */
struct kvnet_frags {
	struct page_frag *cur;	/* fragments are cut from this one; NULL: none */
	unsigned int n;		/* chunks */
	unsigned long freed_at;	/* jiffies */
	struct page_frag chunk[KVNET_FRAG_CHUNKS];
};

void *kvnet_frag_alloc(struct kvnet_frags *f, u32 size);
void kvnet_frag_drain(struct kvnet_frags *f);

#endif /* _KVNET_FRAG_H */
