// SPDX-License-Identifier: GPL-2.0
/*
 * resident.c - the owner's memory, reached without a fault; see resident.h
 */
#include "resident.h"

#include <linux/cacheinfo.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uio.h>

/* What has not been used for so long is forgotten. */
#define SWEEP_AFTER	(20 * HZ)

/* Pages around one that is wanted are likely to be wanted next. */
#define CLUSTER		16

/* So many that are not there, and it is not worth while to look for more. */
#define MISSING		1

/**
 * kvnet_resident_init() - before first use
 * @r: zeroed
 */
void kvnet_resident_init(struct kvnet_resident *r)
{
	spin_lock_init(&r->lock);
}

#if KVNET_HAVE_RESIDENT

/* Nobody writes there any more when it returns. */
static bool take_back(struct mmu_interval_notifier *watch,
		      const struct mmu_notifier_range *range, unsigned long seq)
{
	struct kvnet_resident *r = container_of(watch, struct kvnet_resident,
						watch);
	unsigned int before;

	spin_lock_bh(&r->lock);
	mmu_interval_set_seq(watch, seq);
	before = r->table.n;
	kvnet_pages_forget(&r->table, range->start, range->end - 1);
	WRITE_ONCE(r->taken, r->taken + before - r->table.n);
	spin_unlock_bh(&r->lock);
	return true;
}

static const struct mmu_interval_notifier_ops watch_ops = {
	.invalidate = take_back,
};

static void sweep(struct work_struct *work)
{
	struct kvnet_resident *r = container_of(to_delayed_work(work),
						struct kvnet_resident, sweep);
	bool again;

	spin_lock_bh(&r->lock);
	if (!r->used)
		kvnet_pages_forget(&r->table, 0, ULONG_MAX);
	r->used = false;
	again = r->table.n;
	spin_unlock_bh(&r->lock);
	if (again)
		schedule_delayed_work(&r->sweep, SWEEP_AFTER);
}

/**
 * kvnet_resident_start() - pages of the caller's memory may be learnt
 * @r: stopped, or initialised
 * @mm: the caller's address space
 *
 * Context: the owner; may sleep.
 * Return: 0; -ERESTARTNOINTR: not while a signal is pending; or -errno: nothing will ever
 * be known.
 */
int kvnet_resident_start(struct kvnet_resident *r, struct mm_struct *mm)
{
	int ret;

	if (cpu_dcache_is_aliasing())
		return -EOPNOTSUPP;
	r->table.page = kvcalloc(KVNET_PAGES, sizeof(*r->table.page),
				 GFP_KERNEL_ACCOUNT);
	if (!r->table.page)
		return -ENOMEM;
	ret = mmu_interval_notifier_insert(&r->watch, mm, 0, ULONG_MAX,
					   &watch_ops);
	if (ret) {
		kvfree(r->table.page);
		r->table.page = NULL;
		/* The first watcher of an address space takes all of its locks. */
		return ret == -EINTR ? -ERESTARTNOINTR : ret;
	}
	INIT_DELAYED_WORK(&r->sweep, sweep);
	WRITE_ONCE(r->watching, true);
	return 0;
}

/**
 * kvnet_resident_stop() - know nothing
 * @r: in any state; nobody uses it any more
 *
 * Context: may sleep.
 */
void kvnet_resident_stop(struct kvnet_resident *r)
{
	if (!r->watching)
		return;
	WRITE_ONCE(r->watching, false);
	cancel_delayed_work_sync(&r->sweep);
	mmu_interval_notifier_remove(&r->watch);
	kvfree(r->table.page);
	r->table = (struct kvnet_pages) {};
}

/*
 * A page of a file that is written back must not be written without its file system
 * knowing; a device's has no memory of ours behind it.
 */
static bool suits(struct page *page)
{
	struct folio *folio = page_folio(page);

	return !is_zone_device_page(page) && !PageHighMem(page) &&
	       (folio_test_swapbacked(folio) || folio_test_hugetlb(folio));
}

/* Learn up to @n pages from @at on, as far as they are there and may be written. */
static void learn(struct kvnet_resident *r, unsigned long at, unsigned int n)
{
	struct page *page[CLUSTER];
	unsigned long seq;
	int i, got;

	seq = mmu_interval_read_begin(&r->watch);
	got = compat_get_user_pages_there(at, n, FOLL_WRITE, page);
	if (got <= 0)
		return;
	spin_lock_bh(&r->lock);
	for (i = 0; i < got; i++, at += PAGE_SIZE) {
		if (mmu_interval_read_retry(&r->watch, seq) || !suits(page[i]))
			continue;
		/* It stays so while it is mapped: the table needs no notes. */
		folio_mark_dirty(page_folio(page[i]));
		kvnet_pages_put(&r->table, at, page_address(page[i]));
	}
	r->used = true;
	spin_unlock_bh(&r->lock);
	for (i = 0; i < got; i++)
		put_page(page[i]);
	schedule_delayed_work(&r->sweep, SWEEP_AFTER);
}

static bool known(struct kvnet_resident *r, unsigned long at)
{
	bool ret;

	spin_lock_bh(&r->lock);
	ret = kvnet_pages_find(&r->table, at);
	spin_unlock_bh(&r->lock);
	return ret;
}

/* False if the page is not there. */
static bool learn_around(struct kvnet_resident *r, unsigned long at)
{
	unsigned long first = at & ~(CLUSTER * PAGE_SIZE - 1);

	if (known(r, at))
		return true;
	learn(r, first, CLUSTER);
	/* One that is missing ends it. */
	if (!known(r, at))
		learn(r, at & PAGE_MASK, CLUSTER - ((at - first) >> PAGE_SHIFT));
	return known(r, at);
}

/**
 * kvnet_resident_learn() - find pages that are likely to be written soon
 * @r: the owner's; @r->watching
 * @iov: pieces of the owner's memory
 * @n: entries in @iov
 * @len: bytes of interest, from the first one on, at most
 *
 * No page is brought in for this; and where some are not there, others are not.
 *
 * Context: in the owner's address space; may sleep, not in a page fault.
 * Return: false if it is not worth while to look for more.
 */
bool kvnet_resident_learn(struct kvnet_resident *r, const struct iovec *iov,
			  unsigned int n, size_t len)
{
	unsigned int missing = 0;
	unsigned long at, end;

	for (; n-- && len && missing < MISSING; iov++) {
		at = (unsigned long)iov->iov_base;
		end = at + min(len, iov->iov_len);
		len -= end - at;
		for (; at < end; at = (at & PAGE_MASK) + PAGE_SIZE)
			missing += !learn_around(r, at);
	}
	return missing < MISSING;
}

#else

int kvnet_resident_start(struct kvnet_resident *r, struct mm_struct *mm)
{
	return -EOPNOTSUPP;
}

void kvnet_resident_stop(struct kvnet_resident *r)
{
}

bool kvnet_resident_learn(struct kvnet_resident *r, const struct iovec *iov,
			  unsigned int n, size_t len)
{
	return false;
}

#endif

/**
 * kvnet_resident_has() - can it be written?
 * @r: the owner's
 * @iov: pieces of the owner's memory
 * @n: entries in @iov
 * @len: bytes from the first one on
 *
 * Context: any but a hard interrupt; @r->lock, till it has been written.
 * Return: true if so.
 */
bool kvnet_resident_has(struct kvnet_resident *r, const struct iovec *iov,
			unsigned int n, size_t len)
{
	unsigned long at, end;

	lockdep_assert_held(&r->lock);
	r->used = true;
	for (; n-- && len; iov++) {
		at = (unsigned long)iov->iov_base;
		end = at + min(len, iov->iov_len);
		len -= end - at;
		for (; at < end; at = (at & PAGE_MASK) + PAGE_SIZE)
			if (!kvnet_pages_find(&r->table, at))
				return false;
	}
	return !len;
}

/* The place of byte @at of a packet; how much there is in one piece goes to @room. */
static void *piece(const struct kvnet_resident *r, const struct iovec *iov,
		   size_t at, size_t *room)
{
	unsigned long where;

	for (; at >= iov->iov_len; iov++)
		at -= iov->iov_len;
	where = (unsigned long)iov->iov_base + at;
	*room = min(iov->iov_len - at, PAGE_SIZE - offset_in_page(where));
	return kvnet_pages_find(&r->table, where);
}

/**
 * kvnet_resident_put() - write to the owner's memory
 * @r: the owner's
 * @iov: pieces of the owner's memory
 * @at: first byte in them
 * @src: what to write
 * @len: bytes; kvnet_resident_has() has said that they can be written
 *
 * Context: as for kvnet_resident_has().
 */
void kvnet_resident_put(struct kvnet_resident *r, const struct iovec *iov,
			size_t at, const void *src, size_t len)
{
	size_t room;
	void *to;

	lockdep_assert_held(&r->lock);
	for (; len; len -= room, src += room, at += room) {
		to = piece(r, iov, at, &room);
		room = min(room, len);
		memcpy(to, src, room);
	}
}

/**
 * kvnet_resident_put_skb() - kvnet_resident_put() of a frame
 * @r: the owner's
 * @iov: pieces of the owner's memory
 * @at: first byte in them
 * @skb: the frame; kvnet_resident_has() has said that all of it can be written
 *
 * Context: as for kvnet_resident_has().
 * Return: 0 or -EFAULT.
 */
int kvnet_resident_put_skb(struct kvnet_resident *r, const struct iovec *iov,
			   size_t at, const struct sk_buff *skb)
{
	size_t off, room;
	void *to;
	int ret;

	lockdep_assert_held(&r->lock);
	for (off = 0; off < skb->len; off += room) {
		to = piece(r, iov, at + off, &room);
		room = min_t(size_t, room, skb->len - off);
		ret = skb_copy_bits(skb, off, to, room);
		if (ret)
			return ret;
	}
	return 0;
}
