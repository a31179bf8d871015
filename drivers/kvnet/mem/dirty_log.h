/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dirty_log.h - the dirty log: pages of guest memory that the device has written
 *
 * One bit for each 4 KiB page, in memory of the VMM, which fetches and clears the bits while it
 * migrates the guest. A bit is set after its page has been written. So a VMM that clears a
 * bit and then copies the page copies what was written, or finds the bit set later.
 */
#ifndef _KVNET_DIRTY_LOG_H
#define _KVNET_DIRTY_LOG_H

#include <linux/types.h>

struct kvnet_memtable;
struct page;

#define KVNET_DIRTY_LOG_PAGE	4096

/* A queue's access to the log, protected by vq->lock */
struct kvnet_dirty_log {
	u64 base;		/* the owner's address of the log */
	struct page *page;	/* a pinned page of the log, or NULL */
	unsigned long addr;	/* the owner's address of @page */
	unsigned int n_marked;	/* bits set since kvnet_dirty_log_end() */
};

bool kvnet_dirty_log_range_ok(u64 base, u64 gpa, u64 len);
bool kvnet_dirty_log_hva_ok(u64 base, const struct kvnet_memtable *mem, u64 hva, u64 len);
int kvnet_dirty_log_mark(struct kvnet_dirty_log *d, u64 gpa, u64 len);
int kvnet_dirty_log_mark_hva(struct kvnet_dirty_log *d, const struct kvnet_memtable *mem,
			     u64 hva, u64 len);
unsigned int kvnet_dirty_log_end(struct kvnet_dirty_log *d);

#endif /* _KVNET_DIRTY_LOG_H */
