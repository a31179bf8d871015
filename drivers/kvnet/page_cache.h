/* SPDX-License-Identifier: GPL-2.0 */
/*
 * page_cache.h - pages of the owner's memory that can be written without a fault
 *
 * A softirq may neither sleep nor enter the owner's address space: it writes to pages that
 * a worker has found before. Nothing is pinned: whatever takes a page away (munmap, swap,
 * migration, KSM, fork, a balloon) has the page forgotten first, and waits for no more
 * than a write that is under way. Documentation/memory.rst tells more. It needs 64 bits and
 * CONFIG_MMU_NOTIFIER, which KVM selects.
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
struct mm_struct;
struct sk_buff;

/**
 * struct kvnet_page_cache - what is known of an owner's memory
 * @active_node: in the list of those of an address space that have places in @map
 * @lock: guards @map and what it tells, also against softirqs, which only try it
 * @map: the pages
 * @recently_used: looked at since the last sweep
 * @enabled: pages may be learnt; const while there is an owner
 * @mm_cache: what all devices of the owner share; NULL: stopped
 * @mm_node: in the list of those
 * @on_mm_release: called once when the owner's memory goes: the last thread that has it
 *		   exits, or calls execve(2). Atomic context; it may be the worker's own thread, in
 *		   its last mmput(). Not called any more once kvnet_page_cache_stop() has returned.
 * @shrink_work: forgets everything when it has not been used for a while
 * @n_invalidated: pages taken back, for the statistics
 */
struct kvnet_page_cache {
	struct list_head active_node;
	spinlock_t lock;
	struct kvnet_hva_map map;
	bool recently_used;
	bool enabled;
	struct kvnet_mm_cache *mm_cache;
	struct list_head mm_node;
	void (*on_mm_release)(struct kvnet_page_cache *r);
	struct delayed_work shrink_work;
	unsigned long n_invalidated;
};

void kvnet_page_cache_init(struct kvnet_page_cache *c);
int kvnet_page_cache_start(struct kvnet_page_cache *c, struct mm_struct *mm, bool may_fill);
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
