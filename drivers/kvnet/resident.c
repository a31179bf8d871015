// SPDX-License-Identifier: GPL-2.0
/*
 * resident.c - the owner's memory, reached without a fault; see resident.h
 */
#include "resident.h"

#include <linux/atomic.h>
#include <linux/cacheinfo.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmu_notifier.h>
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

#if IS_ENABLED(CONFIG_64BIT) && IS_ENABLED(CONFIG_MMU_NOTIFIER)

/**
 * struct kvnet_mm_pages - what all devices of an address space share
 * @mn: the kernel's notifier, with a reference for each device
 * @changes: invalidations of the address space: those under way, in the lower half; all
 *	     that have begun, in the upper half
 * @pages: pages that are known, of all devices
 * @lock: guards @devices
 * @devices: struct kvnet_resident
 */
struct kvnet_mm_pages {
	struct mmu_notifier mn;
	atomic64_t changes;
	atomic_long_t pages;
	spinlock_t lock;
	struct list_head devices;
};

#define CHANGE_BEGINS	((1LL << 32) + 1)

/* All that are not freed yet. */
static atomic_t n_objects = ATOMIC_INIT(0);

/*
 * r->lock. The releases here and in kvnet_pages_forget() pair with the acquires in
 * forget_in_all(): what sees no page sees all that has been written to it.
 */
static unsigned int forget(struct kvnet_resident *r, unsigned long first, unsigned long last)
{
	unsigned int n = r->table.n;

	kvnet_pages_forget(&r->table, first, last);
	n -= r->table.n;
	if (n)
		atomic_long_fetch_sub_release(n, &r->of->pages);
	return n;
}

/* A softirq writes to none of these pages any more on return. */
static void forget_in_all(struct kvnet_mm_pages *m, unsigned long first, unsigned long last)
{
	struct kvnet_resident *r;

	if (!atomic_long_read_acquire(&m->pages))
		return;
	spin_lock(&m->lock);
	list_for_each_entry(r, &m->devices, others) {
		/* Pairs with kvnet_pages_forget(). */
		if (!smp_load_acquire(&r->table.n))
			continue;
		spin_lock_bh(&r->lock);
		WRITE_ONCE(r->taken, r->taken + forget(r, first, last));
		spin_unlock_bh(&r->lock);
	}
	spin_unlock(&m->lock);
}

static void change_begins(struct kvnet_mm_pages *m, unsigned long first, unsigned long last)
{
	atomic64_add(CHANGE_BEGINS, &m->changes);
	/*
	 * Pairs with learn(), which makes its pages known and then looks for a change: either
	 * it sees this one, or this one sees its pages.
	 */
	smp_mb__after_atomic();
	forget_in_all(m, first, last);
}

static struct kvnet_mm_pages *to_pages(struct mmu_notifier *mn)
{
	return container_of(mn, struct kvnet_mm_pages, mn);
}

/* Spinlocks only: it may be the OOM killer that cannot wait. */
static int invalidate_start(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	change_begins(to_pages(mn), range->start, range->end - 1);
	return 0;
}

/* Pairs with the acquire in learn(): the page table has changed. */
static void invalidate_end(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	atomic64_dec_return_release(&to_pages(mn)->changes);
}

/* The last change, which does not end. */
static void release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct kvnet_mm_pages *m = to_pages(mn);
	struct kvnet_resident *r;

	change_begins(m, 0, ULONG_MAX);
	spin_lock(&m->lock);
	list_for_each_entry(r, &m->devices, others)
		r->gone(r);
	spin_unlock(&m->lock);
}

static struct mmu_notifier *alloc_notifier(struct mm_struct *mm)
{
	struct kvnet_mm_pages *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);

	if (!m)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&m->lock);
	INIT_LIST_HEAD(&m->devices);
	atomic_inc(&n_objects);
	return &m->mn;
}

static void free_notifier(struct mmu_notifier *mn)
{
	kfree(to_pages(mn));
	atomic_dec(&n_objects);
}

static const struct mmu_notifier_ops ops = {
	.release = release,
	.invalidate_range_start = invalidate_start,
	.invalidate_range_end = invalidate_end,
	.alloc_notifier = alloc_notifier,
	.free_notifier = free_notifier,
};

static void sweep(struct work_struct *work)
{
	struct kvnet_resident *r = container_of(to_delayed_work(work),
						struct kvnet_resident, sweep);
	bool again;

	spin_lock_bh(&r->lock);
	if (!r->used)
		forget(r, 0, ULONG_MAX);
	r->used = false;
	again = r->table.n;
	spin_unlock_bh(&r->lock);
	if (again)
		schedule_delayed_work(&r->sweep, SWEEP_AFTER);
}

/**
 * kvnet_resident_start() - hear of what happens to the caller's memory
 * @r: stopped, or initialised
 * @mm: the caller's address space
 * @cache: pages may be learnt, if there is memory for the table
 *
 * Context: the owner; may sleep.
 * Return: 0; -ERESTARTNOINTR: not while a signal is pending; or -errno: nothing will ever
 * be known.
 */
int kvnet_resident_start(struct kvnet_resident *r, struct mm_struct *mm, bool cache)
{
	struct mmu_notifier *mn;

	if (cache && !cpu_dcache_is_aliasing())
		r->table.page = kvcalloc(KVNET_PAGES, sizeof(*r->table.page),
					 GFP_KERNEL_ACCOUNT);
	mn = mmu_notifier_get(&ops, mm);
	if (IS_ERR(mn)) {
		kvfree(r->table.page);
		r->table.page = NULL;
		/* The first one of an address space takes all of its locks. */
		return mn == ERR_PTR(-EINTR) ? -ERESTARTNOINTR : PTR_ERR(mn);
	}
	INIT_DELAYED_WORK(&r->sweep, sweep);
	r->of = to_pages(mn);
	spin_lock(&r->of->lock);
	list_add(&r->others, &r->of->devices);
	spin_unlock(&r->of->lock);
	WRITE_ONCE(r->watching, !!r->table.page);
	return 0;
}

/**
 * kvnet_resident_stop() - know nothing
 * @r: in any state; neither worker nor softirq uses it any more
 *
 * Does not wait for an invalidation: the owner can have one under way all the time.
 *
 * Context: may sleep.
 */
void kvnet_resident_stop(struct kvnet_resident *r)
{
	struct kvnet_mm_pages *m = r->of;

	if (!m)
		return;
	WRITE_ONCE(r->watching, false);
	spin_lock(&m->lock);
	list_del(&r->others);
	spin_unlock(&m->lock);
	cancel_delayed_work_sync(&r->sweep);
	atomic_long_sub(r->table.n, &m->pages);
	kvfree(r->table.page);
	r->table = (struct kvnet_pages) {};
	r->of = NULL;
	mmu_notifier_put(&m->mn);
}

/**
 * kvnet_resident_exit() - nothing calls the module any more
 *
 * Context: module exit, all devices are stopped; may sleep.
 */
void kvnet_resident_exit(void)
{
	mmu_notifier_synchronize();
	/* It waits for readers, but a CPU's callback may come after another's. */
	while (atomic_read(&n_objects))
		fsleep(1000);
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

/*
 * Learn up to @n pages from @at on, as far as they are there and may be written; none while
 * the owner's memory changes.
 */
static void learn(struct kvnet_resident *r, unsigned long at, unsigned int n)
{
	/* Before the page table is looked at. */
	const s64 changes = atomic64_read_acquire(&r->of->changes);
	const unsigned long first = at;
	struct page *page[CLUSTER];
	int i, got;

	if ((u32)changes)
		return;
	got = compat_get_user_pages_there(at, n, FOLL_WRITE, page);
	if (got <= 0)
		return;
	spin_lock_bh(&r->lock);
	n = r->table.n;
	for (i = 0; i < got; i++, at += PAGE_SIZE) {
		if (!suits(page[i]))
			continue;
		/* It stays so while it is mapped: the table needs no notes. */
		folio_mark_dirty(page_folio(page[i]));
		kvnet_pages_put(&r->table, at, page_address(page[i]));
	}
	atomic_long_add(r->table.n - n, &r->of->pages);
	/* Pairs with change_begins(). */
	smp_mb__after_atomic();
	if (atomic64_read(&r->of->changes) != changes)
		forget(r, first, at - 1);
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

int kvnet_resident_start(struct kvnet_resident *r, struct mm_struct *mm, bool cache)
{
	return -EOPNOTSUPP;
}

void kvnet_resident_stop(struct kvnet_resident *r)
{
}

void kvnet_resident_exit(void)
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
