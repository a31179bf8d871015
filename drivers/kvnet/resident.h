/* SPDX-License-Identifier: GPL-2.0 */
/*
 * resident.h - pages of the owner's memory that can be written without a fault
 *
 * Who may neither sleep nor enter the owner's address space writes to pages that
 * somebody else has found before. Nothing is pinned: whatever takes a page away
 * (munmap, swap, migration, KSM, fork, a balloon) takes the mapping back first, and
 * waits for no more than a write that is under way. Documentation/memory.rst tells
 * more. It needs 64 bits and CONFIG_MMU_NOTIFIER, which KVM selects.
 */
#ifndef _KVNET_RESIDENT_H
#define _KVNET_RESIDENT_H

#include <linux/mmu_notifier.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "pages.h"

struct iovec;
struct sk_buff;

#if IS_ENABLED(CONFIG_64BIT) && IS_ENABLED(CONFIG_MMU_NOTIFIER)
#define KVNET_HAVE_RESIDENT	1
#else
#define KVNET_HAVE_RESIDENT	0
#endif

/**
 * struct kvnet_resident - what is known of an owner's memory
 * @lock: guards @table and what it tells, also against softirqs
 * @table: the pages
 * @used: looked at since the last sweep
 * @watch: hears of what happens to the owner's memory, while @watching
 * @watching: const while there is an owner
 * @sweep: forgets everything when it has not been used for a while
 * @taken: pages taken back, for the statistics
 */
struct kvnet_resident {
	spinlock_t lock;
	struct kvnet_pages table;
	bool used;
#if KVNET_HAVE_RESIDENT
	struct mmu_interval_notifier watch;
#endif
	bool watching;
	struct delayed_work sweep;
	unsigned long taken;
};

void kvnet_resident_init(struct kvnet_resident *r);
int kvnet_resident_start(struct kvnet_resident *r, struct mm_struct *mm);
void kvnet_resident_stop(struct kvnet_resident *r);
bool kvnet_resident_learn(struct kvnet_resident *r, const struct iovec *iov,
			  unsigned int n, size_t len);

bool kvnet_resident_has(struct kvnet_resident *r, const struct iovec *iov,
			unsigned int n, size_t len);
void kvnet_resident_put(struct kvnet_resident *r, const struct iovec *iov,
			size_t at, const void *src, size_t len);
int kvnet_resident_put_skb(struct kvnet_resident *r, const struct iovec *iov,
			   size_t at, const struct sk_buff *skb);

#endif /* _KVNET_RESIDENT_H */
