/* SPDX-License-Identifier: GPL-2.0 */
/*
 * memtable.h - the memory table: guest-physical to owner's virtual addresses
 *
 * A table never changes once built. Each user holds a reference; a queue's
 * reference is swapped under vq->lock, hence the data path needs neither RCU
 * nor atomics.
 */
#ifndef _KVNET_MEMTABLE_H
#define _KVNET_MEMTABLE_H

#include <linux/kernel.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/vhost_types.h>

/**
 * struct kvnet_region - a run of guest memory, contiguous for both sides
 * @gpa: guest-physical address of its first byte
 * @last: guest-physical address of its last byte
 * @hva: where the owner has mapped it
 */
struct kvnet_region {
	u64 gpa;
	u64 last;
	u64 hva;
};

/**
 * struct kvnet_memtable - a table of disjoint regions, sorted by address
 * @ref: users
 * @n: entries in @region
 * @region: the regions
 */
struct kvnet_memtable {
	refcount_t ref;
	u32 n;
	struct kvnet_region region[];
};

bool kvnet_memtable_is_user_range(u64 hva, u64 len);
struct kvnet_memtable *kvnet_memtable_build(const struct vhost_memory_region *from,
					    u32 n);
struct kvnet_memtable *kvnet_memtable_get(struct kvnet_memtable *mem);
void kvnet_memtable_put(struct kvnet_memtable *mem);
const struct kvnet_region *kvnet_memtable_search(const struct kvnet_memtable *mem,
						 u64 addr, u32 *hint);

static inline bool kvnet_memtable_region_has(const struct kvnet_region *region, u64 addr)
{
	return addr >= region->gpa && addr <= region->last;
}

/**
 * kvnet_memtable_find() - which region holds an address?
 * @mem: the table
 * @addr: guest-physical address
 * @hint: index of the region found last time, updated; any value will do
 *
 * Return: the region, or NULL if none does.
 */
static inline const struct kvnet_region *
kvnet_memtable_find(const struct kvnet_memtable *mem, u64 addr, u32 *hint)
{
	if (*hint < mem->n && kvnet_memtable_region_has(&mem->region[*hint], addr))
		return &mem->region[*hint];
	return kvnet_memtable_search(mem, addr, hint);
}

/**
 * kvnet_memtable_find_span() - where is a piece of guest memory, as far as it is in one?
 * @mem: the table
 * @addr: guest-physical address
 * @len: bytes wanted, not 0; shortened to what @addr's region holds
 * @hint: see kvnet_memtable_find()
 *
 * Return: the owner's address of @addr, or NULL if no region holds it.
 */
static inline void __user *kvnet_memtable_find_span(const struct kvnet_memtable *mem, u64 addr,
						    u32 *len, u32 *hint)
{
	const struct kvnet_region *region = kvnet_memtable_find(mem, addr, hint);

	if (!region)
		return NULL;
	/* last - addr cannot wrap; + 1 could, at 2^64 */
	*len = min_t(u64, *len - 1, region->last - addr) + 1;
	return (void __user *)(unsigned long)
		(region->hva + (addr - region->gpa));
}

#endif /* _KVNET_MEMTABLE_H */
