// SPDX-License-Identifier: GPL-2.0
/*
 * ring_pin.c - pin a ring's areas and map them into the kernel, see ring_pin.h
 *
 * Pins are FOLL_LONGTERM, and charged to mm->pinned_vm and RLIMIT_MEMLOCK of the owner.
 */
#include "ring_pin.h"

#include <linux/backing-dev.h>
#include <linux/cacheinfo.h>
#include <linux/capability.h>
#include <linux/highmem.h>
#include <linux/mm.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>

/*
 * The owner, in VHOST_SET_OWNER: its RLIMIT_MEMLOCK applies, unless it has CAP_IPC_LOCK. Takes
 * a reference to the task, but none to @mm.
 */
void kvnet_ring_pin_get_account(struct kvnet_memlock *memlock, struct mm_struct *mm)
{
	memlock->mm = mm;
	memlock->task = get_task_struct(current->group_leader);
	memlock->unlimited = capable(CAP_IPC_LOCK);
}

/* No pages may be charged any more. @memlock may be zeroed. */
void kvnet_ring_pin_put_account(struct kvnet_memlock *memlock)
{
	if (memlock->task)
		put_task_struct(memlock->task);
	*memlock = (struct kvnet_memlock) {};
}

static bool charge_pinned_pages(const struct kvnet_memlock *memlock, u32 n)
{
	unsigned long limit = task_rlimit(memlock->task, RLIMIT_MEMLOCK);
	u64 all = atomic64_add_return(n, &memlock->mm->pinned_vm);

	if (memlock->unlimited || all <= limit >> PAGE_SHIFT)
		return true;
	atomic64_sub(n, &memlock->mm->pinned_vm);
	return false;
}

/* The owner's address of @off in an area; @len: bytes that are contiguous from there on. */
static unsigned long find_area_part(const struct kvnet_area *a, u32 off, u32 *len)
{
	*len = a->len - off;
	return (unsigned long)kvnet_area_find(a, off, len);
}

/*
 * Pages are mapped one after the other, so pieces have to meet at page boundaries. If it fails,
 * the first pin->n pages stay pinned; kvnet_ring_pin_release() unpins them.
 */
static bool pin_area_pages(struct kvnet_ring_pin *pin, const struct kvnet_area *a)
{
	unsigned long at;
	u32 off, len;
	int needed, got;

	pin->n = 0;
	for (off = 0; off < a->len; off += len) {
		at = find_area_part(a, off, &len);
		if ((off && !PAGE_ALIGNED(at)) || (off + len < a->len && !PAGE_ALIGNED(at + len)))
			return false;
		needed = (offset_in_page(at) + len - 1) / PAGE_SIZE + 1;
		got = compat_pin_longterm(at & PAGE_MASK, needed,
					  pin->page + pin->n);
		if (got < 0)
			return false;
		pin->n += got;
		if (got < needed)
			return false;
	}
	return true;
}

static void *map_area_pages(struct kvnet_ring_pin *pin)
{
	if (pin->n == 1 && !PageHighMem(pin->page[0]))
		return page_address(pin->page[0]);
	pin->map = vmap(pin->page, pin->n, VM_MAP, PAGE_KERNEL);
	return pin->map;
}

/**
 * kvnet_ring_pin_area() - pin and map an area, if possible
 * @pin: of the area; empty
 * @a: an area whose pieces have been found, not pinned; its kaddr is set on success
 * @align: size of the largest word that is loaded or stored there, in bytes. On arm64 with LTO
 *	   READ_ONCE() is a load-acquire, which faults on unaligned addresses
 * @memlock: account to charge
 *
 * Context: in the owner's address space; vq->lock; may sleep, also for as long as a
 * userfaultfd handler takes to deliver a page.
 * Return: true if the area is pinned; else it is unchanged.
 */
bool kvnet_ring_pin_area(struct kvnet_ring_pin *pin, struct kvnet_area *a, u32 align,
			 const struct kvnet_memlock *memlock)
{
	unsigned long first;
	u32 n, len;

	if (cpu_dcache_is_aliasing())
		return false;
	first = offset_in_page(find_area_part(a, 0, &len));
	if (!len || !IS_ALIGNED(first, align))
		return false;
	n = (first + a->len - 1) / PAGE_SIZE + 1;
	if (!charge_pinned_pages(memlock, n))
		return false;
	WRITE_ONCE(pin->charged, n);
	pin->page = kvmalloc_array(n, sizeof(*pin->page), GFP_KERNEL_ACCOUNT);
	if (pin->page && pin_area_pages(pin, a))
		a->kaddr = map_area_pages(pin);
	if (!a->kaddr) {
		kvnet_ring_pin_release(pin, a, memlock);
		return false;
	}
	a->kaddr += first;
	WRITE_ONCE(pin->node_plus_one, page_to_nid(pin->page[0]) + 1);
	return true;
}

/*
 * vq->lock; may sleep. Undoes kvnet_ring_pin_area(), if it succeeded: the area is reached by
 * user accesses from now on.
 */
void kvnet_ring_pin_release(struct kvnet_ring_pin *pin, struct kvnet_area *a,
			    const struct kvnet_memlock *memlock)
{
	a->kaddr = NULL;
	if (!pin->charged)
		return;
	vunmap(pin->map);
	WRITE_ONCE(pin->node_plus_one, 0);
	/* Writes by the kernel mapping leave no trace, so all pages count as dirty. */
	unpin_user_pages_dirty_lock(pin->page, pin->n, true);
	kvfree(pin->page);
	atomic64_sub(pin->charged, &memlock->mm->pinned_vm);
	pin->page = NULL;
	pin->map = NULL;
	pin->n = 0;
	WRITE_ONCE(pin->charged, 0);
}

/* NUMA node of the first page, NUMA_NO_NODE without one. Any context; may be stale. */
int kvnet_ring_pin_node(const struct kvnet_ring_pin *pin)
{
	return READ_ONCE(pin->node_plus_one) - 1;
}
