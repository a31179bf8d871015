/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_cache.h - pages of the owner's memory that can be written without a page fault
 *
 * As KVM's gfn_to_pfn_cache. A softirq may neither sleep nor use the owner's address space:
 * it writes by kernel addresses of pages that the worker has cached before. No page is
 * pinned: whatever removes a page (munmap, swap, migration, KSM, fork, ballooning) first
 * invalidates it here by an mmu notifier, and waits at most for a write in progress.
 * Details: Documentation/memory.rst. Needs 64 bits and CONFIG_MMU_NOTIFIER, which KVM selects.
 */
#ifndef _KVNET_PAGE_CACHE_H
#define _KVNET_PAGE_CACHE_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "hva_map.h"

struct iovec;
struct kvnet_mm_cache;
struct sk_buff;

/**
 * struct kvnet_page_cache - a device's cached pages of the owner's memory
 * @mm_node: entry in the list of caches of @mm_cache
 * @lock: protects @map, the pages in it, and @recently_used; a softirq only tries to take it
 * @map: HVA to kernel address
 * @recently_used: used since @shrink_work last ran
 * @mm_cache: shared by all devices of the owner's address space; NULL until the first fill or
 *	      kvnet_page_cache_start(), and after kvnet_page_cache_stop()
 * @on_mm_release: called once, if @mm_cache is there, when the owner's memory goes: the last
 *		   thread that uses it exits, or calls execve(2). Atomic context; that thread may
 *		   be the worker, in its last mmput()
 * @shrink_work: empties the cache when it has not been used for a while
 * @n_invalidated: pages that the notifier has invalidated; written with @lock, for fdinfo
 */
struct kvnet_page_cache {
	struct list_head mm_node;
	spinlock_t lock;
	struct kvnet_hva_map map;
	bool recently_used;
	struct kvnet_mm_cache *mm_cache;
	void (*on_mm_release)(struct kvnet_page_cache *c);
	struct delayed_work shrink_work;
	unsigned long n_invalidated;
};

bool kvnet_page_cache_is_supported(void);
int kvnet_page_cache_start(struct kvnet_page_cache *c);
void kvnet_page_cache_stop(struct kvnet_page_cache *c);
void kvnet_page_cache_exit(void);
bool kvnet_page_cache_fill(struct kvnet_page_cache *c, const struct iovec *iov,
			   unsigned int n, size_t len);

bool kvnet_page_cache_covers(struct kvnet_page_cache *c, const struct iovec *iov,
			     unsigned int n, size_t len);
void kvnet_page_cache_copy_to(struct kvnet_page_cache *c, const struct iovec *iov,
			      size_t at, const void *src, size_t len);
int kvnet_page_cache_copy_skb_to(struct kvnet_page_cache *c, const struct iovec *iov,
				 size_t at, const struct sk_buff *skb);

#endif /* _KVNET_PAGE_CACHE_H */
