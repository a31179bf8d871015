// SPDX-License-Identifier: GPL-2.0
/*
 * pin.c - a ring's areas pinned and mapped into the kernel, see pin.h
 */
#include "pin.h"

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
 * kvnet_payer_get() - the caller's memory is going to be pinned
 * @payer: filled in
 * @mm: the caller's address space
 *
 * As for all pinned memory the caller's RLIMIT_MEMLOCK counts, unless it may
 * lock any.
 *
 * Context: the owner, when it becomes so.
 */
void kvnet_payer_get(struct kvnet_payer *payer, struct mm_struct *mm)
{
	payer->mm = mm;
	payer->task = get_task_struct(current->group_leader);
	payer->unlimited = capable(CAP_IPC_LOCK);
}

/**
 * kvnet_payer_put() - no pins are left
 * @payer: from kvnet_payer_get(), or zeroed
 */
void kvnet_payer_put(struct kvnet_payer *payer)
{
	if (payer->task)
		put_task_struct(payer->task);
	*payer = (struct kvnet_payer) {};
}

static int charge(const struct kvnet_payer *payer, u32 n)
{
	unsigned long limit = task_rlimit(payer->task, RLIMIT_MEMLOCK);
	u64 all = atomic64_add_return(n, &payer->mm->pinned_vm);

	if (payer->unlimited || all <= limit >> PAGE_SHIFT)
		return 0;
	atomic64_sub(n, &payer->mm->pinned_vm);
	return -ENOMEM;
}

/* Where the next part of an area is that lies in one piece. */
static unsigned long part_at(const struct kvnet_area *a, u32 off, u32 *len)
{
	*len = a->len - off;
	return (unsigned long)kvnet_area_find(a, off, len);
}

/* Do its pieces make up whole pages, but for the two ends? */
static bool fits_pages(const struct kvnet_area *a)
{
	unsigned long at;
	u32 off, len;

	for (off = 0; off < a->len; off += len) {
		at = part_at(a, off, &len);
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
static bool fits_words(const struct kvnet_area *a, u32 align)
{
	u32 len;

	return IS_ALIGNED(part_at(a, 0, &len), align);
}

/* Hold the pages of an area; all @pin->n of them, or fewer after an error. */
static int hold_pages(struct kvnet_pin *pin, const struct kvnet_area *a)
{
	unsigned long at;
	u32 off, len;
	int want, got;

	pin->n = 0;
	for (off = 0; off < a->len; off += len) {
		at = part_at(a, off, &len);
		want = (offset_in_page(at) + len - 1) / PAGE_SIZE + 1;
		got = compat_pin_longterm(at & PAGE_MASK, want,
					  pin->page + pin->n);
		if (got < 0)
			return got;
		pin->n += got;
		if (got < want)
			return -EFAULT;
	}
	return 0;
}

static void *map_pages(struct kvnet_pin *pin)
{
	if (pin->n == 1 && !PageHighMem(pin->page[0]))
		return page_address(pin->page[0]);
	pin->map = vmap(pin->page, pin->n, VM_MAP, PAGE_KERNEL);
	return pin->map;
}

/**
 * kvnet_pin() - reach an area by the kernel's own addresses, if possible
 * @pin: of the area; holds nothing
 * @a: an area that has been found; its kaddr is set on success
 * @align: of the largest word that is loaded or stored there
 * @payer: whose memory it is
 *
 * Context: in the owner's address space; may sleep, also for as long as a
 * user's page fault handler takes; vq->lock.
 * Return: 0, or -errno with the area as it was: -EINVAL if its pieces are not
 * whole pages, or its words not aligned; -ENOMEM for want of memory or beyond the owner's limit;
 * -EFAULT and others if its pages cannot be held; -EOPNOTSUPP on hosts whose caches do not
 * see that it is the same memory.
 */
int kvnet_pin(struct kvnet_pin *pin, struct kvnet_area *a, u32 align,
	      const struct kvnet_payer *payer)
{
	unsigned long first;
	u32 n, len;
	int ret;

	if (cpu_dcache_is_aliasing())
		return -EOPNOTSUPP;
	if (!a->len || !fits_words(a, align) || !fits_pages(a))
		return -EINVAL;
	first = offset_in_page(part_at(a, 0, &len));
	n = (first + a->len - 1) / PAGE_SIZE + 1;
	if (charge(payer, n))
		return -ENOMEM;
	ret = -ENOMEM;
	WRITE_ONCE(pin->charged, n);
	pin->page = kvmalloc_array(n, sizeof(*pin->page), GFP_KERNEL_ACCOUNT);
	if (!pin->page)
		goto err;
	ret = hold_pages(pin, a);
	if (ret)
		goto err;
	a->kaddr = map_pages(pin);
	if (!a->kaddr) {
		ret = -ENOMEM;
		goto err;
	}
	a->kaddr += first;
	WRITE_ONCE(pin->next_node, page_to_nid(pin->page[0]) + 1);
	return 0;

err:
	kvnet_unpin(pin, a, payer);
	return ret;
}

/**
 * kvnet_unpin() - undo kvnet_pin()
 * @pin: of the area; may hold nothing
 * @a: the area, reached by user addresses from now on
 * @payer: as for kvnet_pin()
 *
 * Context: may sleep; vq->lock.
 */
void kvnet_unpin(struct kvnet_pin *pin, struct kvnet_area *a,
		 const struct kvnet_payer *payer)
{
	a->kaddr = NULL;
	if (!pin->charged)
		return;
	vunmap(pin->map);
	WRITE_ONCE(pin->next_node, 0);
	/* All may have been written, and none can tell. */
	unpin_user_pages_dirty_lock(pin->page, pin->n, true);
	kvfree(pin->page);
	atomic64_sub(pin->charged, &payer->mm->pinned_vm);
	pin->page = NULL;
	pin->map = NULL;
	pin->n = 0;
	WRITE_ONCE(pin->charged, 0);
}

/**
 * kvnet_pin_node() - on which NUMA node are the pages?
 * @pin: the pages
 *
 * Context: any; the pages may change meanwhile.
 * Return: that of the first one; NUMA_NO_NODE if none is held.
 */
int kvnet_pin_node(const struct kvnet_pin *pin)
{
	return READ_ONCE(pin->next_node) - 1;
}
