// SPDX-License-Identifier: GPL-2.0
/*
 * memtable.c - the memory table, see memtable.h
 */
#include "memtable.h"

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/slab.h>
#include <linux/sort.h>
#include <linux/uaccess.h>

static int cmp_region(const void *a, const void *b)
{
	const struct kvnet_region *ra = a, *rb = b;

	if (ra->gpa == rb->gpa)
		return 0;
	return ra->gpa < rb->gpa ? -1 : 1;
}

/* Without the bits that the processor ignores. */
static u64 untag_hva(u64 hva)
{
	return untagged_addr(hva);
}

/**
 * kvnet_memtable_is_user_range() - can it be the owner's memory?
 * @hva: its first byte
 * @len: bytes
 *
 * Where the processor ignores bits of an address (arm64's tags, x86's LAM) these must be
 * clear, as KVM wants it: the kernel tells of what goes without them. x86 ignores none until
 * a process asks for that, which may be later; before Linux 6.12 access_ok() looks at the
 * sign alone.
 *
 * Context: the owner.
 * Return: true if so; whether there is anything shows when it is used.
 */
bool kvnet_memtable_is_user_range(u64 hva, u64 len)
{
	return (unsigned long)hva == hva && (unsigned long)len == len &&
	       hva + (len - 1) >= hva && hva + (len - 1) < TASK_SIZE_MAX &&
	       untag_hva(hva) == hva &&
	       access_ok((void __user *)(unsigned long)hva, len);
}

static int set_region(struct kvnet_region *to,
		      const struct vhost_memory_region *from)
{
	u64 len = from->memory_size;

	if (!len || from->guest_phys_addr + (len - 1) < len - 1 ||
	    !kvnet_memtable_is_user_range(from->userspace_addr, len))
		return -EFAULT;

	to->gpa = from->guest_phys_addr;
	to->last = from->guest_phys_addr + (len - 1);
	to->hva = from->userspace_addr;
	return 0;
}

/**
 * kvnet_memtable_build() - make a table of what the VMM describes
 * @from: the regions, in any order
 * @n: how many; 0 makes an empty table
 *
 * Context: may sleep.
 * Return: a table with one reference, or ERR_PTR: -ENOMEM; -EFAULT for a
 * region that is empty, wraps around or is not the owner's to map; -EINVAL for
 * regions that overlap.
 */
struct kvnet_memtable *kvnet_memtable_build(const struct vhost_memory_region *from,
					    u32 n)
{
	struct kvnet_memtable *mem;
	int ret;
	u32 i;

	mem = kvzalloc(struct_size(mem, region, n), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
	refcount_set(&mem->ref, 1);
	mem->n = n;

	for (i = 0; i < n; i++) {
		ret = set_region(&mem->region[i], &from[i]);
		if (ret)
			goto err_free;
	}
	sort(mem->region, n, sizeof(mem->region[0]), cmp_region, NULL);
	for (i = 1; i < n; i++) {
		if (mem->region[i].gpa <= mem->region[i - 1].last) {
			ret = -EINVAL;
			goto err_free;
		}
	}
	return mem;

err_free:
	kvfree(mem);
	return ERR_PTR(ret);
}

/**
 * kvnet_memtable_get() - take a reference
 * @mem: a table, or NULL
 *
 * Return: @mem.
 */
struct kvnet_memtable *kvnet_memtable_get(struct kvnet_memtable *mem)
{
	if (mem)
		refcount_inc(&mem->ref);
	return mem;
}

/**
 * kvnet_memtable_put() - drop a reference, the last one frees
 * @mem: a table, or NULL
 */
void kvnet_memtable_put(struct kvnet_memtable *mem)
{
	if (mem && refcount_dec_and_test(&mem->ref))
		kvfree(mem);
}

/**
 * kvnet_memtable_search() - which region holds an address?
 * @mem: the table
 * @addr: guest-physical address
 * @hint: set to the region's index
 *
 * Return: the region, or NULL if none does.
 */
const struct kvnet_region *kvnet_memtable_search(const struct kvnet_memtable *mem,
						 u64 addr, u32 *hint)
{
	u32 lo = 0, hi = mem->n, mid;

	while (lo < hi) {
		mid = lo + (hi - lo) / 2;
		if (addr > mem->region[mid].last)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo >= mem->n || !kvnet_memtable_region_has(&mem->region[lo], addr))
		return NULL;
	*hint = lo;
	return &mem->region[lo];
}
