/* SPDX-License-Identifier: GPL-2.0 */
/*
 * dirty.h - the dirty log: which pages of guest memory has the device written?
 *
 * One bit for each 4 KiB page, in memory of the VMM, which takes and clears
 * them as it copies the guest elsewhere. A bit is set after its page has been
 * written: whoever clears it then copies what was written, or finds it set.
 */
#ifndef _KVNET_DIRTY_H
#define _KVNET_DIRTY_H

#include <linux/types.h>

struct kvnet_mem;
struct page;

#define KVNET_DIRTY_PAGE	4096

/**
 * struct kvnet_dirty - access to a log
 * @base: the log in the owner's memory
 * @page: a page of it, pinned, or NULL
 * @addr: the owner's address of @page
 * @marks: bits set since kvnet_dirty_end()
 */
struct kvnet_dirty {
	u64 base;
	struct page *page;
	unsigned long addr;
	unsigned int marks;
};

/**
 * kvnet_dirty_begun() - is there anything for kvnet_dirty_end() to do?
 * @d: the log
 *
 * Return: true if so.
 */
static inline bool kvnet_dirty_begun(const struct kvnet_dirty *d)
{
	return d->page || d->marks;
}

bool kvnet_dirty_ok(u64 base, u64 gpa, u64 len);
bool kvnet_dirty_hva_ok(u64 base, const struct kvnet_mem *mem, u64 hva, u64 len);
int kvnet_dirty_mark(struct kvnet_dirty *d, u64 gpa, u64 len);
int kvnet_dirty_mark_hva(struct kvnet_dirty *d, const struct kvnet_mem *mem,
			 u64 hva, u64 len);
unsigned int kvnet_dirty_end(struct kvnet_dirty *d);

#endif /* _KVNET_DIRTY_H */
