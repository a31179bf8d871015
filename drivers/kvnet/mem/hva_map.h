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

#include <linux/mm.h>
#include <linux/types.h>

#include <asm/barrier.h>

/* A power of two. Pages less than this many pages apart never share a slot. */
#define KVNET_HVA_MAP_SLOTS	2048

/**
 * struct kvnet_hva_slot - a page
 * @hva: its HVA; stale when @kaddr is NULL
 * @kaddr: its kernel address; NULL: the slot is free
 */
struct kvnet_hva_slot {
	unsigned long hva;
	void *kaddr;
};

/**
 * struct kvnet_hva_map - the table
 * @slot: KVNET_HVA_MAP_SLOTS entries; NULL: nothing can be cached
 * @n: occupied slots
 * @lowest: HVA; no page is below, unless @n is 0
 * @highest: HVA; no page is above, unless @n is 0
 */
struct kvnet_hva_map {
	struct kvnet_hva_slot *slot;
	unsigned int n;
	unsigned long lowest;
	unsigned long highest;
};

static inline unsigned int kvnet_hva_map_index(unsigned long hva)
{
	return (hva >> PAGE_SHIFT) & (KVNET_HVA_MAP_SLOTS - 1);
}

/*
 * May the page of @hva be cached? Any context, without a lock; the table, which has slots, may
 * change meanwhile. False: it is not cached, and the caller sees all that has been written
 * to the page through the table.
 */
static inline bool kvnet_hva_map_may_have(const struct kvnet_hva_map *t, unsigned long hva)
{
	/* Pairs with kvnet_hva_map_insert(). */
	return smp_load_acquire(&t->slot[kvnet_hva_map_index(hva)].hva) == (hva & PAGE_MASK);
}

/* As kvnet_hva_map_may_have(), for all pages from @first to @last, inclusive. */
static inline bool kvnet_hva_map_may_have_any(const struct kvnet_hva_map *t, unsigned long first,
					      unsigned long last)
{
	/* Pairs with clear_hva_slot(). */
	if (!smp_load_acquire(&t->n))
		return false;
	/* Pairs with widen_hva_bounds(). */
	if (last < smp_load_acquire(&t->lowest))
		return false;
	/* Likewise. */
	return (first & PAGE_MASK) <= smp_load_acquire(&t->highest);
}

void kvnet_hva_map_insert(struct kvnet_hva_map *t, unsigned long hva, void *kaddr);
void *kvnet_hva_map_lookup(const struct kvnet_hva_map *t, unsigned long hva);
void kvnet_hva_map_invalidate(struct kvnet_hva_map *t, unsigned long first,
			      unsigned long last);

#endif /* _KVNET_HVA_MAP_H */
