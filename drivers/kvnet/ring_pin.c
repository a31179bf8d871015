// SPDX-License-Identifier: GPL-2.0
/*
 * ring_pin.c - a ring's areas pinned and mapped into the kernel, see ring_pin.h
 */
#include "ring_pin.h"

#include <linux/backing-dev.h>
#include <linux/cacheinfo.h>
#include <linux/capability.h>
#include <linux/errno.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

/**
 * kvnet_ring_pin_get_account() - the caller's memory is going to be pinned
 * @memlock: filled in
 * @mm: the caller's address space
 *
 * As for all pinned memory the caller's RLIMIT_MEMLOCK counts, unless it may
 * lock any.
 *
 * Context: the owner, when it becomes so.
 */
void kvnet_ring_pin_get_account(struct kvnet_memlock *memlock, struct mm_struct *mm)
{
	memlock->mm = mm;
	memlock->task = get_task_struct(current->group_leader);
	memlock->unlimited = capable(CAP_IPC_LOCK);
}

/**
 * kvnet_ring_pin_put_account() - no pins are left
 * @memlock: from kvnet_ring_pin_get_account(), or zeroed
 */
void kvnet_ring_pin_put_account(struct kvnet_memlock *memlock)
{
	if (memlock->task)
		put_task_struct(memlock->task);
	*memlock = (struct kvnet_memlock) {};
}

static int charge_pinned_pages(const struct kvnet_memlock *memlock, u32 n)
{
	unsigned long limit = task_rlimit(memlock->task, RLIMIT_MEMLOCK);
	u64 all = atomic64_add_return(n, &memlock->mm->pinned_vm);

	if (memlock->unlimited || all <= limit >> PAGE_SHIFT)
		return 0;
	atomic64_sub(n, &memlock->mm->pinned_vm);
	return -ENOMEM;
}

/* Where the next part of an area is that lies in one piece. */
static unsigned long find_area_part(const struct kvnet_area *a, u32 off, u32 *len)
{
	*len = a->len - off;
	return (unsigned long)kvnet_area_find(a, off, len);
}

/* Do its pieces make up whole pages, but for the two ends? */
static bool area_is_whole_pages(const struct kvnet_area *a)
{
	unsigned long at;
	u32 off, len;

	for (off = 0; off < a->len; off += len) {
		at = find_area_part(a, off, &len);
		if (off && !PAGE_ALIGNED(at))
			return false;
		if (off + len < a->len && !PAGE_ALIGNED(at + len))
			return false;
	}
	return true;
}

/*
 * Loads of the kernel's own are not of any address on every architecture: on arm64 they
 * are acquiring ones if the kernel was built with LTO. The pieces meet at pages, so it is
 * where the first one begins.
 */
static bool area_is_aligned(const struct kvnet_area *a, u32 align)
{
	u32 len;

	return IS_ALIGNED(find_area_part(a, 0, &len), align);
}

/* Hold the pages of an area; all @pin->n of them, or fewer after an error. */
static int pin_area_pages(struct kvnet_ring_pin *pin, const struct kvnet_area *a)
{
	unsigned long at;
	u32 off, len;
	int needed, got;

	pin->n = 0;
	for (off = 0; off < a->len; off += len) {
		at = find_area_part(a, off, &len);
		needed = (offset_in_page(at) + len - 1) / PAGE_SIZE + 1;
		got = compat_pin_longterm(at & PAGE_MASK, needed,
					  pin->page + pin->n);
		if (got < 0)
			return got;
		pin->n += got;
		if (got < needed)
			return -EFAULT;
	}
	return 0;
}

static void *map_area_pages(struct kvnet_ring_pin *pin)
{
	if (pin->n == 1 && !PageHighMem(pin->page[0]))
		return page_address(pin->page[0]);
	pin->map = vmap(pin->page, pin->n, VM_MAP, PAGE_KERNEL);
	return pin->map;
}

/**
 * kvnet_ring_pin_area() - reach an area by the kernel's own addresses, if possible
 * @pin: of the area; holds nothing
 * @a: an area that has been found; its kaddr is set on success
 * @align: of the largest word that is loaded or stored there
 * @memlock: whose memory it is
 *
 * Context: in the owner's address space; may sleep, also for as long as a
 * user's page fault handler takes; vq->lock.
 * Return: 0, or -errno with the area as it was: -EINVAL if its pieces are not
 * whole pages, or its words not aligned; -ENOMEM for want of memory or beyond the owner's limit;
 * -EFAULT and others if its pages cannot be held; -EOPNOTSUPP on hosts whose caches do not
 * see that it is the same memory.
 */
int kvnet_ring_pin_area(struct kvnet_ring_pin *pin, struct kvnet_area *a, u32 align,
			const struct kvnet_memlock *memlock)
{
	unsigned long first;
	u32 n, len;
	int ret;

	if (cpu_dcache_is_aliasing())
		return -EOPNOTSUPP;
	if (!a->len || !area_is_aligned(a, align) || !area_is_whole_pages(a))
		return -EINVAL;
	first = offset_in_page(find_area_part(a, 0, &len));
	n = (first + a->len - 1) / PAGE_SIZE + 1;
	if (charge_pinned_pages(memlock, n))
		return -ENOMEM;
	ret = -ENOMEM;
	WRITE_ONCE(pin->charged, n);
	pin->page = kvmalloc_array(n, sizeof(*pin->page), GFP_KERNEL_ACCOUNT);
	if (!pin->page)
		goto err;
	ret = pin_area_pages(pin, a);
	if (ret)
		goto err;
	a->kaddr = map_area_pages(pin);
	if (!a->kaddr) {
		ret = -ENOMEM;
		goto err;
	}
	a->kaddr += first;
	WRITE_ONCE(pin->node_plus_one, page_to_nid(pin->page[0]) + 1);
	return 0;

err:
	kvnet_ring_pin_release(pin, a, memlock);
	return ret;
}

/**
 * kvnet_ring_pin_release() - undo kvnet_ring_pin_area()
 * @pin: of the area; may hold nothing
 * @a: the area, reached by user addresses from now on
 * @memlock: as for kvnet_ring_pin_area()
 *
 * Context: may sleep; vq->lock.
 */
void kvnet_ring_pin_release(struct kvnet_ring_pin *pin, struct kvnet_area *a,
			    const struct kvnet_memlock *memlock)
{
	a->kaddr = NULL;
	if (!pin->charged)
		return;
	vunmap(pin->map);
	WRITE_ONCE(pin->node_plus_one, 0);
	/* All may have been written, and none can tell. */
	unpin_user_pages_dirty_lock(pin->page, pin->n, true);
	kvfree(pin->page);
	atomic64_sub(pin->charged, &memlock->mm->pinned_vm);
	pin->page = NULL;
	pin->map = NULL;
	pin->n = 0;
	WRITE_ONCE(pin->charged, 0);
}

/**
 * kvnet_ring_pin_node() - on which NUMA node are the pages?
 * @pin: the pages
 *
 * Context: any; the pages may change meanwhile.
 * Return: that of the first one; NUMA_NO_NODE if none is held.
 */
int kvnet_ring_pin_node(const struct kvnet_ring_pin *pin)
{
	return READ_ONCE(pin->node_plus_one) - 1;
}
