/* SPDX-License-Identifier: GPL-2.0 */
/*
 * resident.h - pages of the owner's memory that can be written without a fault
 *
 * A softirq may neither sleep nor enter the owner's address space: it writes to pages that
 * a worker has found before. Nothing is pinned: whatever takes a page away (munmap, swap,
 * migration, KSM, fork, a balloon) has the page forgotten first, and waits for no more
 * than a write that is under way. Documentation/memory.rst tells more. It needs 64 bits and
 * CONFIG_MMU_NOTIFIER, which KVM selects.
 */
#ifndef _KVNET_RESIDENT_H
#define _KVNET_RESIDENT_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/workqueue.h>

#include "pages.h"

struct iovec;
struct kvnet_mm_pages;
struct mm_struct;
struct sk_buff;

/**
 * struct kvnet_resident - what is known of an owner's memory
 * @lock: guards @table and what it tells, also against softirqs, which only try it
 * @table: the pages
 * @used: looked at since the last sweep
 * @watching: pages may be learnt; const while there is an owner
 * @of: what all devices of the owner share; NULL: stopped
 * @others: in the list of those
 * @gone: called once when the owner's memory goes: the last thread that has it
 *	  exits, or calls execve(2). Atomic context; it may be the worker's own thread, in
 *	  its last mmput(). Not called any more once kvnet_resident_stop() has returned.
 * @sweep: forgets everything when it has not been used for a while
 * @taken: pages taken back, for the statistics
 */
struct kvnet_resident {
	spinlock_t lock;
	struct kvnet_pages table;
	bool used;
	bool watching;
	struct kvnet_mm_pages *of;
	struct list_head others;
	void (*gone)(struct kvnet_resident *r);
	struct delayed_work sweep;
	unsigned long taken;
};

void kvnet_resident_init(struct kvnet_resident *r);
int kvnet_resident_start(struct kvnet_resident *r, struct mm_struct *mm, bool cache);
void kvnet_resident_stop(struct kvnet_resident *r);
void kvnet_resident_exit(void);
bool kvnet_resident_learn(struct kvnet_resident *r, const struct iovec *iov,
			  unsigned int n, size_t len);

bool kvnet_resident_has(struct kvnet_resident *r, const struct iovec *iov,
			unsigned int n, size_t len);
void kvnet_resident_put(struct kvnet_resident *r, const struct iovec *iov,
			size_t at, const void *src, size_t len);
int kvnet_resident_put_skb(struct kvnet_resident *r, const struct iovec *iov,
			   size_t at, const struct sk_buff *skb);

#endif /* _KVNET_RESIDENT_H */
