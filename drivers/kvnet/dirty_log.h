/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dirty_log.h - the dirty log: which pages of guest memory has the device written?
 *
 * One bit for each 4 KiB page, in memory of the VMM, which takes and clears
 * them as it copies the guest elsewhere. A bit is set after its page has been
 * written: whoever clears it then copies what was written, or finds it set.
 */
#ifndef _KVNET_DIRTY_LOG_H
#define _KVNET_DIRTY_LOG_H

#include <linux/types.h>

struct kvnet_memtable;
struct page;

#define KVNET_DIRTY_LOG_PAGE	4096

/**
 * struct kvnet_dirty_log - access to a log
 * @base: the log in the owner's memory
 * @page: a page of it, pinned, or NULL
 * @addr: the owner's address of @page
 * @n_marked: bits set since kvnet_dirty_log_end()
 */
struct kvnet_dirty_log {
	u64 base;
	struct page *page;
	unsigned long addr;
	unsigned int n_marked;
};

/**
 * kvnet_dirty_log_needs_end() - is there anything for kvnet_dirty_log_end() to do?
 * @d: the log
 *
 * Return: true if so.
 */
static inline bool kvnet_dirty_log_needs_end(const struct kvnet_dirty_log *d)
{
	return d->page || d->n_marked;
}

bool kvnet_dirty_log_range_ok(u64 base, u64 gpa, u64 len);
bool kvnet_dirty_log_hva_ok(u64 base, const struct kvnet_memtable *mem, u64 hva, u64 len);
int kvnet_dirty_log_mark(struct kvnet_dirty_log *d, u64 gpa, u64 len);
int kvnet_dirty_log_mark_hva(struct kvnet_dirty_log *d, const struct kvnet_memtable *mem,
			     u64 hva, u64 len);
unsigned int kvnet_dirty_log_end(struct kvnet_dirty_log *d);

#endif /* _KVNET_DIRTY_LOG_H */
