// SPDX-License-Identifier: GPL-2.0
/*
 * memtable.c - the memory table of VHOST_SET_MEM_TABLE, see memtable.h
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

static u64 untag_hva(u64 hva)
{
	return untagged_addr(hva);
}

/*
 * May a range of @len bytes, not 0, be the owner's memory? Called by the owner. Whether memory
 * is mapped there shows only on access.
 *
 * Rejects tagged addresses (arm64 TBI, x86 LAM), as KVM does: mmu notifiers report untagged
 * ranges. A process may enable LAM later, and before Linux 6.12 access_ok() on x86 checks
 * only the sign, hence the comparison with TASK_SIZE_MAX.
 */
bool kvnet_memtable_is_user_range(u64 hva, u64 len)
{
	return (unsigned long)hva == hva && (unsigned long)len == len &&
	       hva + (len - 1) >= hva && hva + (len - 1) < TASK_SIZE_MAX &&
	       untag_hva(hva) == hva &&
	       access_ok((void __user *)(unsigned long)hva, len);
}

static int set_region(struct kvnet_region *to, const struct vhost_memory_region *from)
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

/*
 * Makes a table of @n regions, in any order; or ERR_PTR: -ENOMEM; -EFAULT for a region that is
 * empty, wraps around or cannot be the owner's memory; -EINVAL for overlapping regions. The owner;
 * may sleep.
 */
struct kvnet_memtable *kvnet_memtable_build(const struct vhost_memory_region *from, u32 n)
{
	struct kvnet_memtable *mem;
	int ret;
	u32 i;

	mem = kvzalloc(struct_size(mem, region, n), GFP_KERNEL_ACCOUNT);
	if (!mem)
		return ERR_PTR(-ENOMEM);
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

void kvnet_memtable_free(struct kvnet_memtable *mem)
{
	kvfree(mem);
}

/* The slow path of kvnet_memtable_find(): a binary search. */
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
