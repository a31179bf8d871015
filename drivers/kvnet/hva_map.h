/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hva_map.h - a table of pages: where the kernel reaches what an owner's address means
 *
 * It forgets: each page has one place in it, from which another page drives it out.
 * So nothing is searched for, and nothing is allocated once it is there.
 */
#ifndef _KVNET_HVA_MAP_H
#define _KVNET_HVA_MAP_H

#include <linux/mm.h>
#include <linux/types.h>

#include <asm/barrier.h>

/* Places; a power of two. Two pages less far apart do not meet. */
#define KVNET_HVA_MAP_SLOTS	2048

/**
 * struct kvnet_hva_slot - a place
 * @hva: the owner's address of the page, if there is one
 * @kaddr: the kernel's address of it; NULL: none
 */
struct kvnet_hva_slot {
	unsigned long hva;
	void *kaddr;
};

/**
 * struct kvnet_hva_map - a table
 * @slot: KVNET_HVA_MAP_SLOTS places; NULL: nothing can be kept
 * @n: places taken
 * @lowest: no page is below, unless @n is 0
 * @highest: nor above
 */
struct kvnet_hva_map {
	struct kvnet_hva_slot *slot;
	unsigned int n;
	unsigned long lowest;
	unsigned long highest;
};

/* Where a page has its place. */
static inline unsigned int kvnet_hva_map_index(unsigned long hva)
{
	return (hva >> PAGE_SHIFT) & (KVNET_HVA_MAP_SLOTS - 1);
}

/**
 * kvnet_hva_map_may_have() - may a page be known?
 * @t: the table, with places
 * @hva: the owner's address, anywhere in the page
 *
 * Context: any; the table may change meanwhile.
 * Return: false if it is not: all that has been written to it before is seen then.
 */
static inline bool kvnet_hva_map_may_have(const struct kvnet_hva_map *t, unsigned long hva)
{
	/* Pairs with kvnet_hva_map_insert(). */
	return smp_load_acquire(&t->slot[kvnet_hva_map_index(hva)].hva) == (hva & PAGE_MASK);
}

/**
 * kvnet_hva_map_may_have_any() - may a page of a range be known?
 * @t: the table
 * @first: the owner's address
 * @last: up to this one
 *
 * Context: as for kvnet_hva_map_may_have().
 * Return: likewise.
 */
static inline bool kvnet_hva_map_may_have_any(const struct kvnet_hva_map *t, unsigned long first,
					     unsigned long last)
{
	/* Pairs with kvnet_hva_map_invalidate(). */
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
