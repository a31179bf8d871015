/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memtable.h - the memory table: guest-physical to owner's virtual addresses (HVA)
 *
 * A table is constant once built. It belongs to the device, which frees it when no queue uses it
 * any more: a queue's pointer is replaced under vq->lock, so the data path needs neither RCU nor
 * atomics.
 */
#ifndef _KVNET_MEMTABLE_H
#define _KVNET_MEMTABLE_H

#include <linux/kernel.h>
#include <linux/types.h>
#include <linux/vhost_types.h>

/* Guest memory that is contiguous in the guest and in the owner */
struct kvnet_region {
	u64 gpa;	/* guest-physical address of its first byte */
	u64 last;	/* guest-physical address of its last byte, inclusive */
	u64 hva;	/* the owner's address of its first byte */
};

/* Disjoint regions, sorted by guest-physical address */
struct kvnet_memtable {
	u32 n;				/* entries in @region */
	struct kvnet_region region[];	/* const once built */
};

bool kvnet_memtable_is_user_range(u64 hva, u64 len);
struct kvnet_memtable *kvnet_memtable_build(const struct vhost_memory_region *from, u32 n);
void kvnet_memtable_free(struct kvnet_memtable *mem);
const struct kvnet_region *kvnet_memtable_search(const struct kvnet_memtable *mem,
						 u64 addr, u32 *hint);

static inline bool kvnet_memtable_region_has(const struct kvnet_region *region, u64 addr)
{
	return addr >= region->gpa && addr <= region->last;
}

/*
 * Returns the region that contains @addr, or NULL. @hint: index of the last region found,
 * updated; any value is valid.
 */
static inline const struct kvnet_region *
kvnet_memtable_find(const struct kvnet_memtable *mem, u64 addr, u32 *hint)
{
	if (*hint < mem->n && kvnet_memtable_region_has(&mem->region[*hint], addr))
		return &mem->region[*hint];
	return kvnet_memtable_search(mem, addr, hint);
}

#endif /* _KVNET_MEMTABLE_H */
