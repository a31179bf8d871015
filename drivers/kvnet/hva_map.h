/* SPDX-License-Identifier: GPL-2.0 */
/*
 * hva_map.h - a table of pages: where the kernel reaches what an owner's address means
 *
 * It forgets: each page has one place in it, from which another page drives it out.
 * So nothing is searched for, and nothing is allocated once it is there.
 */
#ifndef _KVNET_HVA_MAP_H
#define _KVNET_HVA_MAP_H

#include <linux/types.h>

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

void kvnet_hva_map_insert(struct kvnet_hva_map *t, unsigned long hva, void *kaddr);
void *kvnet_hva_map_lookup(const struct kvnet_hva_map *t, unsigned long hva);
void kvnet_hva_map_invalidate(struct kvnet_hva_map *t, unsigned long first,
			      unsigned long last);

#endif /* _KVNET_HVA_MAP_H */
