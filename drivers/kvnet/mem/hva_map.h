/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hva_map.h - table of cached pages: HVA (owner's virtual address) to kernel address
 *
 * Direct-mapped: each page has one slot, and another page of the same slot evicts it. So a
 * lookup does not search, and an insert does not allocate. The lock of the page cache
 * protects the table; kvnet_hva_map_may_have*() take no lock, for the mmu notifier.
 */
#ifndef _KVNET_HVA_MAP_H
#define _KVNET_HVA_MAP_H

#include <linux/compiler.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/types.h>

#include <asm/barrier.h>

/* A power of two. Pages less than this many pages apart never share a slot. */
#define KVNET_HVA_MAP_SLOTS	2048

/* A page: its HVA, stale when @kaddr is NULL; its kernel address, or NULL: the slot is free */
struct kvnet_hva_slot {
	unsigned long hva;
	void *kaddr;
};

struct kvnet_hva_map {
	struct kvnet_hva_slot *slot;	/* KVNET_HVA_MAP_SLOTS entries */
	unsigned int n;			/* occupied slots; while it is 0, @slot may be NULL */
	unsigned long lowest;		/* HVA; no page is below, unless @n is 0 */
	unsigned long highest;		/* HVA; no page is above, unless @n is 0 */
};

static inline struct kvnet_hva_slot *kvnet_hva_map_slot(const struct kvnet_hva_map *t,
							unsigned long hva)
{
	return &t->slot[(hva >> PAGE_SHIFT) & (KVNET_HVA_MAP_SLOTS - 1)];
}

/*
 * May the page of @hva be cached? Any context, without a lock; the table, which has slots, may
 * change meanwhile. False: it is not cached, and the caller sees all that has been written
 * to the page through the table.
 */
static inline bool kvnet_hva_map_may_have(const struct kvnet_hva_map *t, unsigned long hva)
{
	/* Pairs with kvnet_hva_map_insert(). */
	return smp_load_acquire(&kvnet_hva_map_slot(t, hva)->hva) == (hva & PAGE_MASK);
}

/* As kvnet_hva_map_may_have(), for all pages from @first to @last, inclusive. */
static inline bool kvnet_hva_map_may_have_any(const struct kvnet_hva_map *t, unsigned long first,
					      unsigned long last)
{
	/* Pairs with kvnet_hva_map_invalidate(). */
	if (!smp_load_acquire(&t->n))
		return false;
	/* Pairs with kvnet_hva_map_insert(). */
	if (last < smp_load_acquire(&t->lowest))
		return false;
	/* Likewise. */
	return (first & PAGE_MASK) <= smp_load_acquire(&t->highest);
}

/* The lock of the cache. The page may evict another one. */
static inline void kvnet_hva_map_insert(struct kvnet_hva_map *t, unsigned long hva, void *kaddr)
{
	struct kvnet_hva_slot *p = kvnet_hva_map_slot(t, hva);

	hva &= PAGE_MASK;
	/* Pairs with kvnet_hva_map_may_have_any(): writes to pages below are complete. */
	smp_store_release(&t->lowest, t->n ? min(t->lowest, hva) : hva);
	/* Likewise: writes to pages above. */
	smp_store_release(&t->highest, t->n ? max(t->highest, hva) : hva);
	if (!p->kaddr)
		WRITE_ONCE(t->n, t->n + 1);
	/* Pairs with kvnet_hva_map_may_have(): writes to the evicted page are complete. */
	smp_store_release(&p->hva, hva);
	p->kaddr = kaddr;
}

/*
 * The kernel address of @hva, valid to the end of its page; NULL: not cached. The lock of the
 * cache, which the caller holds for as long as it uses the address.
 */
static inline void *kvnet_hva_map_lookup(const struct kvnet_hva_map *t, unsigned long hva)
{
	const struct kvnet_hva_slot *p;

	if (!t->n)
		return NULL;
	p = kvnet_hva_map_slot(t, hva);
	if (!p->kaddr || p->hva != (hva & PAGE_MASK))
		return NULL;
	return p->kaddr + (hva & ~PAGE_MASK);
}

/* The lock of the cache. Drops the pages of @first to @last, both inclusive. */
static inline void kvnet_hva_map_invalidate(struct kvnet_hva_map *t, unsigned long first,
					    unsigned long last)
{
	struct kvnet_hva_slot *p;
	unsigned long i, n;

	if (!t->n)
		return;
	first = max(first & PAGE_MASK, t->lowest);
	last = min(last, t->highest);
	if (first > last)
		return;
	n = (last - first) >> PAGE_SHIFT;
	n = n < KVNET_HVA_MAP_SLOTS ? n + 1 : KVNET_HVA_MAP_SLOTS;
	for (i = 0; i < n && t->n; i++) {
		p = kvnet_hva_map_slot(t, first + (i << PAGE_SHIFT));
		if (!p->kaddr || p->hva < first || p->hva > last)
			continue;
		p->kaddr = NULL;
		/* Pairs with kvnet_hva_map_may_have_any(), which takes no lock. */
		smp_store_release(&t->n, t->n - 1);
	}
}

#endif /* _KVNET_HVA_MAP_H */
