/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mem.h - the memory table: guest-physical to owner's virtual addresses
 *
 * A table never changes once built. Each user holds a reference; a queue's
 * reference is swapped under vq->lock, hence the data path needs neither RCU
 * nor atomics.
 */
#ifndef _KVNET_MEM_H
#define _KVNET_MEM_H

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
 * struct kvnet_mem - a table of disjoint regions, sorted by address
 * @ref: users
 * @n: entries in @region
 * @region: the regions
 */
struct kvnet_mem {
	refcount_t ref;
	u32 n;
	struct kvnet_region region[];
};

struct kvnet_mem *kvnet_mem_build(const struct vhost_memory_region *from,
				  u32 n);
struct kvnet_mem *kvnet_mem_get(struct kvnet_mem *mem);
void kvnet_mem_put(struct kvnet_mem *mem);
const struct kvnet_region *kvnet_mem_find(const struct kvnet_mem *mem,
					  u64 addr, u32 *hint);
void __user *kvnet_mem_span(const struct kvnet_mem *mem, u64 addr, u32 *len,
			    u32 *hint);

#endif /* _KVNET_MEM_H */
