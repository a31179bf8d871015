// SPDX-License-Identifier: GPL-2.0
/*
 * hva_map.c - table of cached pages, see hva_map.h
 */
#include "hva_map.h"

#include <linux/compiler.h>
#include <linux/limits.h>
#include <linux/minmax.h>
#include <linux/mm.h>

#include <asm/barrier.h>

static struct kvnet_hva_slot *find_hva_slot(const struct kvnet_hva_map *t, unsigned long hva)
{
	return &t->slot[kvnet_hva_map_index(hva)];
}

static void widen_hva_bounds(struct kvnet_hva_map *t, unsigned long hva)
{
	/* Pairs with kvnet_hva_map_may_have_any(): writes to pages below are complete. */
	smp_store_release(&t->lowest, t->n ? min(t->lowest, hva) : hva);
	/* Likewise: writes to pages above. */
	smp_store_release(&t->highest, t->n ? max(t->highest, hva) : hva);
}

/* The lock of the cache. The page may evict another one. Without slots this does nothing. */
void kvnet_hva_map_insert(struct kvnet_hva_map *t, unsigned long hva, void *kaddr)
{
	struct kvnet_hva_slot *p;

	if (!t->slot)
		return;
	p = find_hva_slot(t, hva);
	widen_hva_bounds(t, hva & PAGE_MASK);
	if (!p->kaddr)
		WRITE_ONCE(t->n, t->n + 1);
	/* Pairs with kvnet_hva_map_may_have(): writes to the evicted page are complete. */
	smp_store_release(&p->hva, hva & PAGE_MASK);
	p->kaddr = kaddr;
}

/*
 * The kernel address of @hva, valid to the end of its page; NULL: not cached. The lock of the
 * cache, which the caller holds for as long as it uses the address.
 */
void *kvnet_hva_map_lookup(const struct kvnet_hva_map *t, unsigned long hva)
{
	const struct kvnet_hva_slot *p;

	if (!t->n)
		return NULL;
	p = find_hva_slot(t, hva);
	if (!p->kaddr || p->hva != (hva & PAGE_MASK))
		return NULL;
	return p->kaddr + (hva & ~PAGE_MASK);
}

static void clear_hva_slot(struct kvnet_hva_map *t, struct kvnet_hva_slot *p,
			   unsigned long first, unsigned long last)
{
	if (!p->kaddr || p->hva < first || p->hva > last)
		return;
	p->kaddr = NULL;
	/* Pairs with kvnet_hva_map_may_have_any(), which takes no lock. */
	smp_store_release(&t->n, t->n - 1);
}

/* The lock of the cache. Drops the pages of @first to @last, both inclusive. */
void kvnet_hva_map_invalidate(struct kvnet_hva_map *t, unsigned long first,
			      unsigned long last)
{
	unsigned long i, n;

	if (!t->n)
		return;
	first = max(first & PAGE_MASK, t->lowest);
	last = min(last, t->highest);
	if (first > last)
		return;
	n = (last - first) >> PAGE_SHIFT;
	n = n < KVNET_HVA_MAP_SLOTS ? n + 1 : KVNET_HVA_MAP_SLOTS;
	for (i = 0; i < n && t->n; i++)
		clear_hva_slot(t, find_hva_slot(t, first + (i << PAGE_SHIFT)), first, last);
}
