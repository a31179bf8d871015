// SPDX-License-Identifier: GPL-2.0
/*
 * dirty_log.c - the dirty log, see dirty_log.h
 *
 * The worker writes the log in a queue's session; so does the owner when it starts a queue. One
 * page of the log stays pinned between marks, until kvnet_dirty_log_end().
 */
#include "dirty_log.h"

#include <linux/bitops.h>
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/uaccess.h>

#include "memtable.h"

/*
 * Would the log of a guest-physical range lie in user memory, mapped or not? @base: the owner's
 * address of the log.
 */
bool kvnet_dirty_log_range_ok(u64 base, u64 gpa, u64 len)
{
	u64 first = gpa / KVNET_DIRTY_LOG_PAGE / 8, at, last;

	if (!len)
		return true;
	last = (gpa + (len - 1)) / KVNET_DIRTY_LOG_PAGE / 8;
	if (check_add_overflow(base, first, &at) || (unsigned long)at != at ||
	    gpa + (len - 1) < gpa)
		return false;
	return access_ok((void __user *)(unsigned long)at, last - first + 1);
}

static void unpin_log_page(struct kvnet_dirty_log *d)
{
	if (d->page)
		unpin_user_pages_dirty_lock(&d->page, 1, true);
	d->page = NULL;
}

static int pin_log_page(struct kvnet_dirty_log *d, unsigned long addr)
{
	if (d->page && d->addr == addr)
		return 0;
	unpin_log_page(d);
	if (pin_user_pages_fast(addr, 1, FOLL_WRITE, &d->page) != 1) {
		d->page = NULL;
		return -EFAULT;
	}
	d->addr = addr;
	return 0;
}

/* Sets the bits of pages @nr to @last that are in the same page of the log; advances @nr. */
static int set_log_bits(struct kvnet_dirty_log *d, u64 *nr, u64 last)
{
	unsigned long at = d->base + *nr / 8, bit;
	void *map;
	int ret;

	ret = pin_log_page(d, at & PAGE_MASK);
	if (ret)
		return ret;
	map = kmap_local_page(d->page);
	bit = offset_in_page(at) * 8 + *nr % 8;
	for (; *nr <= last && bit < PAGE_SIZE * 8; (*nr)++, bit++) {
		if (!test_bit(bit, map)) {
			set_bit(bit, map);
			d->n_marked++;
		}
	}
	kunmap_local(map);
	return 0;
}

/*
 * Sets the bits of guest-physical memory that has been written. Returns 0, or -EFAULT if the log
 * cannot be written. The queue's session; may sleep in a page fault.
 */
int kvnet_dirty_log_mark(struct kvnet_dirty_log *d, u64 gpa, u64 len)
{
	u64 nr = gpa / KVNET_DIRTY_LOG_PAGE, last;
	int ret;

	if (!len)
		return 0;
	last = (gpa + (len - 1)) / KVNET_DIRTY_LOG_PAGE;
	/*
	 * G: order the write to guest memory before the read of its bit; pairs with the VMM's
	 * atomic exchange of the bits before it copies the page. So a bit that is found set
	 * need not be set again.
	 */
	smp_mb();
	while (nr <= last) {
		ret = set_log_bits(d, &nr, last);
		if (ret)
			return ret;
	}
	return 0;
}

/* The part of [@hva, @hva + @len) in a region: returns its length, 0 if none; sets @gpa. */
static u64 clip_to_region(const struct kvnet_region *r, u64 hva, u64 len, u64 *gpa)
{
	u64 first = max(hva, r->hva);
	u64 last = min(hva + (len - 1), r->hva + (r->last - r->gpa));

	if (!len || first > last)
		return 0;
	*gpa = r->gpa + (first - r->hva);
	return last - first + 1;
}

/*
 * kvnet_dirty_log_range_ok() for a range of the owner's memory; true also for what is not in
 * @mem, and so is not the guest's.
 */
bool kvnet_dirty_log_hva_ok(u64 base, const struct kvnet_memtable *mem, u64 hva, u64 len)
{
	u64 gpa, part;
	u32 i;

	for (i = 0; i < mem->n; i++) {
		part = clip_to_region(&mem->region[i], hva, len, &gpa);
		if (part && !kvnet_dirty_log_range_ok(base, gpa, part))
			return false;
	}
	return true;
}

/*
 * kvnet_dirty_log_mark() for a range of the owner's memory. A page may be in several regions
 * of @mem: all are marked. 0 also for what is not in @mem.
 */
int kvnet_dirty_log_mark_hva(struct kvnet_dirty_log *d, const struct kvnet_memtable *mem,
			     u64 hva, u64 len)
{
	u64 gpa, part;
	int ret = 0;
	u32 i;

	for (i = 0; i < mem->n && !ret; i++) {
		part = clip_to_region(&mem->region[i], hva, len, &gpa);
		if (part)
			ret = kvnet_dirty_log_mark(d, gpa, part);
	}
	return ret;
}

/* Session; may sleep. Unpins the log; returns how many bits were set since the last call. */
unsigned int kvnet_dirty_log_end(struct kvnet_dirty_log *d)
{
	unsigned int marks = d->n_marked;

	unpin_log_page(d);
	d->n_marked = 0;
	return marks;
}
