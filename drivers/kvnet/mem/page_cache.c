// SPDX-License-Identifier: GPL-2.0
/*
 * page_cache.c - write to the owner's memory without page faults, see page_cache.h
 *
 * The worker fills the cache, the sender's softirq writes through it. All devices of an
 * address space share one mmu notifier, which a device attaches to when it first fills its
 * cache: until then it costs the owner nothing. The notifier's callbacks run in the context that
 * changes the page table and take spinlocks only: the lock of struct kvnet_mm_cache, then that
 * of each struct kvnet_page_cache.
 */
#include "page_cache.h"

#include <linux/atomic.h>
#include <linux/cacheinfo.h>
#include <linux/delay.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/mmap_lock.h>
#include <linux/mmu_notifier.h>
#include <linux/rwsem.h>
#include <linux/sched.h>
#include <linux/skbuff.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/uio.h>

/* A cache is emptied if it has not been used for at least this long. */
#define SHRINK_AFTER	(20 * HZ)

/* Pages that are cached together: the neighbours are likely to be needed next. */
#define FILL_CLUSTER	16

#if IS_ENABLED(CONFIG_64BIT) && IS_ENABLED(CONFIG_MMU_NOTIFIER)

/* The mmu notifier of an address space, shared by its devices */
struct kvnet_mm_cache {
	/* the notifier; each device that is attached holds a reference */
	struct mmu_notifier mn;
	/* lower half: invalidations in progress; upper half: all that have begun */
	atomic64_t invalidations;
	/* cached pages of all devices; at 0 the notifier returns without taking @lock */
	atomic_long_t n_pages;
	spinlock_t lock;		/* protects @caches; taken outside the lock of a cache */
	struct list_head caches;	/* list of struct kvnet_page_cache, all that are attached */
};

#define INVALIDATION_BEGINS	((1LL << 32) + 1)

/* Not freed yet; kvnet_page_cache_exit() waits for 0. */
static atomic_t n_mm_caches = ATOMIC_INIT(0);

/*
 * c->lock. The releases here and in hva_map.h pair with the acquires in drop_cached_in_all()
 * and kvnet_hva_map_may_have*(): a notifier that finds a page not cached, without c->lock,
 * sees all that has been written to it.
 */
static unsigned int drop_cached(struct kvnet_page_cache *c, unsigned long first, unsigned long last)
{
	unsigned int n = c->map.n;

	kvnet_hva_map_invalidate(&c->map, first, last);
	n -= c->map.n;
	if (n)
		atomic_long_fetch_sub_release(n, &c->mm_cache->n_pages);
	return n;
}

static noinline void drop_cached_locked(struct kvnet_page_cache *c, unsigned long first,
					unsigned long last)
{
	spin_lock_bh(&c->lock);
	WRITE_ONCE(c->n_invalidated, c->n_invalidated + drop_cached(c, first, last));
	spin_unlock_bh(&c->lock);
}

/* Ballooning drops single pages: check one slot of each device, without its lock. */
static void drop_cached_page(struct kvnet_mm_cache *m, unsigned long at)
{
	struct kvnet_page_cache *c;

	list_for_each_entry(c, &m->caches, mm_node)
		if (kvnet_hva_map_may_have(&c->map, at))
			drop_cached_locked(c, at, at);
}

static void drop_cached_range(struct kvnet_mm_cache *m, unsigned long first, unsigned long last)
{
	struct kvnet_page_cache *c;

	list_for_each_entry(c, &m->caches, mm_node)
		if (kvnet_hva_map_may_have_any(&c->map, first, last))
			drop_cached_locked(c, first, last);
}

/* On return no softirq writes to these pages any more. */
static void drop_cached_in_all(struct kvnet_mm_cache *m, unsigned long first, unsigned long last)
{
	if (!atomic_long_read_acquire(&m->n_pages))
		return;
	spin_lock(&m->lock);
	if ((first ^ last) & PAGE_MASK)
		drop_cached_range(m, first, last);
	else
		drop_cached_page(m, first);
	spin_unlock(&m->lock);
}

static void begin_invalidation(struct kvnet_mm_cache *m, unsigned long first, unsigned long last)
{
	atomic64_add(INVALIDATION_BEGINS, &m->invalidations);
	/*
	 * Pairs with fill_cached_pages(), which adds its pages and then checks for a new
	 * invalidation: either it sees this one, or this one sees its pages.
	 */
	smp_mb__after_atomic();
	drop_cached_in_all(m, first, last);
}

static struct kvnet_mm_cache *mn_to_mm_cache(struct mmu_notifier *mn)
{
	return container_of(mn, struct kvnet_mm_cache, mn);
}

/* Spinlocks only: the caller may be the OOM reaper, which must not sleep. */
static int cache_invalidate_start(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	begin_invalidation(mn_to_mm_cache(mn), range->start, range->end - 1);
	return 0;
}

/* Pairs with the acquire in fill_cached_pages(), which then sees the changed page table. */
static void cache_invalidate_end(struct mmu_notifier *mn, const struct mmu_notifier_range *range)
{
	atomic64_dec_return_release(&mn_to_mm_cache(mn)->invalidations);
}

/* The last invalidation: it never ends, so the cache stays empty from here on. */
static void cache_mm_release(struct mmu_notifier *mn, struct mm_struct *mm)
{
	struct kvnet_mm_cache *m = mn_to_mm_cache(mn);
	struct kvnet_page_cache *c;

	begin_invalidation(m, 0, ULONG_MAX);
	spin_lock(&m->lock);
	list_for_each_entry(c, &m->caches, mm_node)
		c->on_mm_release(c);
	spin_unlock(&m->lock);
}

static struct mmu_notifier *alloc_mm_cache(struct mm_struct *mm)
{
	struct kvnet_mm_cache *m = kzalloc(sizeof(*m), GFP_KERNEL_ACCOUNT);

	if (!m)
		return ERR_PTR(-ENOMEM);
	spin_lock_init(&m->lock);
	INIT_LIST_HEAD(&m->caches);
	atomic_inc(&n_mm_caches);
	return &m->mn;
}

static void free_mm_cache(struct mmu_notifier *mn)
{
	kfree(mn_to_mm_cache(mn));
	atomic_dec(&n_mm_caches);
}

static const struct mmu_notifier_ops page_cache_mn_ops = {
	.release = cache_mm_release,
	.invalidate_range_start = cache_invalidate_start,
	.invalidate_range_end = cache_invalidate_end,
	.alloc_notifier = alloc_mm_cache,
	.free_notifier = free_mm_cache,
};

static void shrink_page_cache(struct work_struct *work)
{
	struct kvnet_page_cache *c = container_of(to_delayed_work(work),
						  struct kvnet_page_cache, shrink_work);
	bool reschedule;

	spin_lock_bh(&c->lock);
	if (!c->recently_used)
		drop_cached(c, 0, ULONG_MAX);
	c->recently_used = false;
	reschedule = c->map.n;
	spin_unlock_bh(&c->lock);
	if (reschedule)
		schedule_delayed_work(&c->shrink_work, SHRINK_AFTER);
}

/*
 * Caller uses the owner's address space, and holds its mmap_lock for writing. Returns 0; -ENOMEM;
 * -EINTR: a signal interrupted the kernel while it took all locks of the address space.
 *
 * The notifier sees an invalidation from beginning to end, or not at all. The kernel holds
 * mmap_lock, the lock of a VMA, or one of the reverse maps from the beginning of an invalidation
 * to its end, and registers a notifier with all of these held for writing
 * (mm_take_all_locks()). So @invalidations may begin at 0. An invalidation that the notifier has
 * not seen has ended before: fill_cached_pages() reads the page table as it left it.
 */
static int attach_to_mm(struct kvnet_page_cache *c)
{
	struct kvnet_hva_slot *slot;
	struct mmu_notifier *mn;

	slot = kvcalloc(KVNET_HVA_MAP_SLOTS, sizeof(*slot), GFP_KERNEL_ACCOUNT);
	if (!slot)
		return -ENOMEM;
	mn = mmu_notifier_get_locked(&page_cache_mn_ops, current->mm);
	if (IS_ERR(mn)) {
		kvfree(slot);
		return PTR_ERR(mn);
	}
	INIT_DELAYED_WORK(&c->shrink_work, shrink_page_cache);
	c->map.slot = slot;
	c->mm_cache = mn_to_mm_cache(mn);
	spin_lock(&c->mm_cache->lock);
	list_add(&c->mm_node, &c->mm_cache->caches);
	spin_unlock(&c->mm_cache->lock);
	return 0;
}

/*
 * Attaches to the mmu notifier: the owner, for on_mm_release, or the worker, with vq->lock, when
 * it first fills the cache. May sleep; the owner's death ends the wait for mmap_lock. Returns 0;
 * -ERESTARTNOINTR if a signal is pending; -ENOMEM.
 */
int kvnet_page_cache_start(struct kvnet_page_cache *c)
{
	struct mm_struct *mm = current->mm;
	int ret;

	if (mmap_write_lock_killable(mm))
		return -ERESTARTNOINTR;
	ret = attach_to_mm(c);
	mmap_write_unlock(mm);
	return ret == -EINTR ? -ERESTARTNOINTR : ret;
}

/*
 * May sleep. @c is in any state; neither the worker nor a softirq may use it any more. Does
 * not wait for an invalidation: the owner can always have one in progress.
 */
void kvnet_page_cache_stop(struct kvnet_page_cache *c)
{
	struct kvnet_mm_cache *m = c->mm_cache;

	if (!m)
		return;
	spin_lock(&m->lock);
	list_del(&c->mm_node);
	spin_unlock(&m->lock);
	cancel_delayed_work_sync(&c->shrink_work);
	atomic_long_sub(c->map.n, &m->n_pages);
	kvfree(c->map.slot);
	c->map = (struct kvnet_hva_map) {};
	c->mm_cache = NULL;
	mmu_notifier_put(&m->mn);
}

/* Module exit, all devices are stopped: on return no notifier calls the module any more. */
void kvnet_page_cache_exit(void)
{
	mmu_notifier_synchronize();
	/*
	 * It waits for a grace period, but free_notifier callbacks of one CPU may run after
	 * those of another.
	 */
	while (atomic_read(&n_mm_caches))
		fsleep(1000);
}

/*
 * Anonymous memory, shmem and hugetlb, but no device memory. The file system of any other
 * file has to be notified before a page that it writes back is written.
 */
static bool page_is_cacheable(struct page *page)
{
	struct folio *folio = page_folio(page);

	return !is_zone_device_page(page) && !PageHighMem(page) &&
	       (folio_test_swapbacked(folio) || folio_test_hugetlb(folio));
}

/*
 * Cache up to @n pages from @at on that are present and writable; none while an
 * invalidation is in progress.
 */
static void fill_cached_pages(struct kvnet_page_cache *c, unsigned long at, unsigned int n)
{
	/* Before the page table is read. Pairs with cache_invalidate_end(). */
	const s64 invalidations = atomic64_read_acquire(&c->mm_cache->invalidations);
	const unsigned long first = at;
	struct page *page[FILL_CLUSTER];
	int i, got;

	if ((u32)invalidations)
		return;
	got = compat_get_user_pages_nofault(at, n, FOLL_WRITE, page);
	if (got <= 0)
		return;
	spin_lock_bh(&c->lock);
	n = c->map.n;
	for (i = 0; i < got; i++, at += PAGE_SIZE) {
		if (!page_is_cacheable(page[i]))
			continue;
		/* It stays dirty while it is mapped: writes need not mark it again. */
		folio_mark_dirty(page_folio(page[i]));
		kvnet_hva_map_insert(&c->map, at, page_address(page[i]));
	}
	atomic_long_add(c->map.n - n, &c->mm_cache->n_pages);
	/* Pairs with begin_invalidation(). */
	smp_mb__after_atomic();
	if (atomic64_read(&c->mm_cache->invalidations) != invalidations)
		drop_cached(c, first, at - 1);
	c->recently_used = true;
	spin_unlock_bh(&c->lock);
	for (i = 0; i < got; i++)
		put_page(page[i]);
	schedule_delayed_work(&c->shrink_work, SHRINK_AFTER);
}

static bool page_is_cached(struct kvnet_page_cache *c, unsigned long at)
{
	bool ret;

	spin_lock_bh(&c->lock);
	ret = kvnet_hva_map_lookup(&c->map, at);
	spin_unlock_bh(&c->lock);
	return ret;
}

/* Returns false if the page of @at is not present. */
static bool fill_page_cluster(struct kvnet_page_cache *c, unsigned long at)
{
	unsigned long first = at & ~(FILL_CLUSTER * PAGE_SIZE - 1);

	if (page_is_cached(c, at))
		return true;
	fill_cached_pages(c, first, FILL_CLUSTER);
	/* A page that is not present, below @at, ends a fill: begin at @at. */
	if (!page_is_cached(c, at))
		fill_cached_pages(c, at & PAGE_MASK, FILL_CLUSTER - ((at - first) >> PAGE_SHIFT));
	return page_is_cached(c, at);
}

/**
 * kvnet_page_cache_fill() - cache pages that are likely to be written soon
 * @c: the owner's
 * @iov: segments of the owner's memory
 * @n: entries in @iov
 * @len: bytes of interest at most, from the first segment on
 *
 * Faults no page in. If a page is not present, others of the buffers are most likely not
 * present, either.
 *
 * Context: the worker, with vq->lock, in the owner's address space; may sleep, but not in a
 * page fault.
 * Return: false if it is not worth while to fill further buffers.
 */
bool kvnet_page_cache_fill(struct kvnet_page_cache *c, const struct iovec *iov,
			   unsigned int n, size_t len)
{
	unsigned long at, end;

	/* A later fill tries again, so as not to wait behind a change of the owner's memory. */
	if (!c->mm_cache &&
	    (rwsem_is_locked(&current->mm->mmap_lock) || kvnet_page_cache_start(c)))
		return false;
	for (; n-- && len; iov++) {
		at = (unsigned long)iov->iov_base;
		end = at + min(len, iov->iov_len);
		len -= end - at;
		for (; at < end; at = (at & PAGE_MASK) + PAGE_SIZE)
			if (!fill_page_cluster(c, at))
				return false;
	}
	return true;
}

bool kvnet_page_cache_is_supported(void)
{
	return !cpu_dcache_is_aliasing();
}

#else

bool kvnet_page_cache_is_supported(void)
{
	return false;
}

int kvnet_page_cache_start(struct kvnet_page_cache *c)
{
	return 0;
}

void kvnet_page_cache_stop(struct kvnet_page_cache *c)
{
}

void kvnet_page_cache_exit(void)
{
}

bool kvnet_page_cache_fill(struct kvnet_page_cache *c, const struct iovec *iov,
			   unsigned int n, size_t len)
{
	return false;
}

#endif

/*
 * True if @iov has @len bytes and all of their pages are cached. The caller holds c->lock
 * until it has written them. Any context but a hard interrupt.
 */
bool kvnet_page_cache_covers(struct kvnet_page_cache *c, const struct iovec *iov,
			     unsigned int n, size_t len)
{
	unsigned long at, end;

	lockdep_assert_held(&c->lock);
	c->recently_used = true;
	for (; n-- && len; iov++) {
		at = (unsigned long)iov->iov_base;
		end = at + min(len, iov->iov_len);
		len -= end - at;
		for (; at < end; at = (at & PAGE_MASK) + PAGE_SIZE)
			if (!kvnet_hva_map_lookup(&c->map, at))
				return false;
	}
	return !len;
}

/* The kernel address of byte @at of @iov; @room: bytes that are contiguous from there on. */
static void *find_cached_piece(const struct kvnet_page_cache *c, const struct iovec *iov,
			       size_t at, size_t *room)
{
	unsigned long where;

	for (; at >= iov->iov_len; iov++)
		at -= iov->iov_len;
	where = (unsigned long)iov->iov_base + at;
	*room = min(iov->iov_len - at, PAGE_SIZE - offset_in_page(where));
	return kvnet_hva_map_lookup(&c->map, where);
}

/*
 * kvnet_page_cache_covers() has returned true for @at + @len bytes, and the caller has not
 * released c->lock since. This cannot fail.
 */
void kvnet_page_cache_copy_to(struct kvnet_page_cache *c, const struct iovec *iov,
			      size_t at, const void *src, size_t len)
{
	size_t room;
	void *to;

	lockdep_assert_held(&c->lock);
	for (; len; len -= room, src += room, at += room) {
		to = find_cached_piece(c, iov, at, &room);
		room = min(room, len);
		memcpy(to, src, room);
	}
}

/*
 * As kvnet_page_cache_copy_to(), for a whole frame. -EFAULT: the frame's own data cannot be
 * read.
 */
int kvnet_page_cache_copy_skb_to(struct kvnet_page_cache *c, const struct iovec *iov,
				 size_t at, const struct sk_buff *skb)
{
	size_t off, room;
	void *to;
	int ret;

	lockdep_assert_held(&c->lock);
	for (off = 0; off < skb->len; off += room) {
		to = find_cached_piece(c, iov, at + off, &room);
		room = min_t(size_t, room, skb->len - off);
		ret = skb_copy_bits(skb, off, to, room);
		if (ret)
			return ret;
	}
	return 0;
}
