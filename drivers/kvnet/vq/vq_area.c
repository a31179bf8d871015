// SPDX-License-Identifier: GPL-2.0
/*
 * vq_area.c - resolve and check the addresses of a virtqueue's ring and dirty log, see vq.h
 *
 * The ring's areas are resolved once, when the queue starts or, behind an IOMMU, by the first
 * session. If possible their pages are pinned and mapped into the kernel, so that ring accesses
 * cannot fault. A change of addresses, memory table or translations releases them; the next
 * session resolves them again.
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vhost_types.h>

#include "vq.h"

/* Checks the range only, not whether memory is mapped there. NULL if it is no user range. */
static void __user *get_user_area_ptr(u64 addr, size_t size)
{
	void __user *p = (void __user *)(unsigned long)addr;

	return access_ok(p, size) ? p : NULL;
}

static bool user_areas_ok(const struct kvnet_ring *r,
			  const struct kvnet_vq_addr *addr)
{
	return get_user_area_ptr(addr->desc, kvnet_ring_desc_size(r)) &&
	       get_user_area_ptr(addr->avail, kvnet_ring_avail_size(r)) &&
	       get_user_area_ptr(addr->used, kvnet_ring_used_size(r));
}

static int find_user_area(struct kvnet_area *area, u64 addr, size_t size)
{
	area->base = get_user_area_ptr(addr, size);
	area->len = size;
	area->n = 0;
	return area->base ? 0 : -EFAULT;
}

static int find_ring_area(struct kvnet_vq *vq, struct kvnet_area *area, u64 addr,
			  u8 perm, size_t size)
{
	if (!vq->xlate.iotlb)
		return find_user_area(area, addr, size);
	return kvnet_xlate_area(&vq->xlate, addr, perm, size, area);
}

/* Best effort: pins all areas or none, so that a queue is either pinned or not. */
static void pin_ring_areas(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	if (!vq->memlock->mm)
		return;
	/*
	 * Alignment for the largest access: a descriptor is loaded as two u64. For the other
	 * areas kvnet_vq_set_addr() has checked it, but behind an IOMMU of the IOVA only.
	 */
	if (!kvnet_ring_pin_area(&vq->pin[0], &r->desc, sizeof(u64), vq->memlock) &&
	    !kvnet_ring_pin_area(&vq->pin[1], &r->avail, VRING_AVAIL_ALIGN_SIZE, vq->memlock) &&
	    !kvnet_ring_pin_area(&vq->pin[2], &r->used, VRING_USED_ALIGN_SIZE, vq->memlock))
		return;
	kvnet_ring_pin_release(&vq->pin[0], &r->desc, vq->memlock);
	kvnet_ring_pin_release(&vq->pin[1], &r->avail, vq->memlock);
}

/**
 * kvnet_vq_open_ring() - resolve the ring's areas, pin them if possible, and start the ring
 * @vq: the queue, with its areas released
 *
 * Context: vq->lock, in the owner's address space: the worker, or without an IOMMU the owner;
 * may sleep.
 * Return: 0, with kicks off; -EFAULT for an address that is not the owner's; -EAGAIN for an
 * IOTLB miss; or as kvnet_xlate_area() and kvnet_ring_start().
 */
int kvnet_vq_open_ring(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;
	int ret;

	lockdep_assert_held(&vq->lock);
	ret = find_ring_area(vq, &r->desc, vq->addr.desc,
			     r->packed ? VHOST_ACCESS_RW : VHOST_ACCESS_RO,
			     kvnet_ring_desc_size(r));
	if (!ret)
		ret = find_ring_area(vq, &r->avail, vq->addr.avail, VHOST_ACCESS_RO,
				     kvnet_ring_avail_size(r));
	if (!ret)
		ret = find_ring_area(vq, &r->used, vq->addr.used, VHOST_ACCESS_WO,
				     kvnet_ring_used_size(r));
	if (ret)
		return ret;
	pin_ring_areas(vq);
	ret = kvnet_ring_start(r);
	if (ret)
		kvnet_vq_release_areas(vq);
	else
		vq->has_areas = true;
	return ret;
}

/* vq->lock; may sleep. Unpins the areas; kvnet_vq_open_ring() resolves them again. */
void kvnet_vq_release_areas(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	vq->has_areas = false;
	kvnet_ring_pin_release(&vq->pin[0], &r->desc, vq->memlock);
	kvnet_ring_pin_release(&vq->pin[1], &r->avail, vq->memlock);
	kvnet_ring_pin_release(&vq->pin[2], &r->used, vq->memlock);
}

static bool area_overlaps_range(u64 first, u64 last, u64 addr, size_t size)
{
	return first <= addr + (size - 1) && last >= addr;
}

/* vq->lock; may sleep. Translations of @iova to @last, inclusive, are about to change. */
void kvnet_vq_invalidate_range(struct kvnet_vq *vq, u64 iova, u64 last)
{
	const struct kvnet_ring *r = &vq->ring;

	lockdep_assert_held(&vq->lock);
	if (area_overlaps_range(iova, last, vq->addr.desc, kvnet_ring_desc_size(r)) ||
	    area_overlaps_range(iova, last, vq->addr.avail, kvnet_ring_avail_size(r)) ||
	    area_overlaps_range(iova, last, vq->addr.used, kvnet_ring_used_size(r)))
		kvnet_vq_release_areas(vq);
}

/*
 * Without an IOMMU: do the log's bits for all ring writes lie in user memory? Behind an IOMMU
 * only the writes themselves show that.
 */
static bool ring_can_be_logged(const struct kvnet_vq *vq, const struct kvnet_memtable *mem,
			       const struct kvnet_vq_addr *addr, u64 base)
{
	const struct kvnet_ring *r = &vq->ring;

	return kvnet_dirty_log_range_ok(base, addr->log, kvnet_ring_used_size(r)) &&
	       (!r->packed || kvnet_dirty_log_hva_ok(base, mem, addr->desc,
						     kvnet_ring_desc_size(r)));
}

/**
 * kvnet_vq_log_ok() - would a dirty log at @base lie in the user address range?
 * @vq: the queue, with vq->lock held
 * @mem: the memory table to check for; NULL: no log is possible
 * @base: user address of the log
 * @all: check for all of guest memory (VHOST_F_LOG_ALL), not only for the ring
 */
bool kvnet_vq_log_ok(const struct kvnet_vq *vq, const struct kvnet_memtable *mem,
		     u64 base, bool all)
{
	u32 i;

	lockdep_assert_held(&vq->lock);
	if (!mem)
		return false;
	for (i = 0; all && i < mem->n; i++)
		if (!kvnet_dirty_log_range_ok(base, mem->region[i].gpa,
					      mem->region[i].last -
					      mem->region[i].gpa + 1))
			return false;
	return vq->xlate.iotlb || !vq->log_used ||
	       ring_can_be_logged(vq, mem, &vq->addr, base);
}

/* Takes vq->lock. If the queue has a backend, its dirty log must fit the new table, too. */
bool kvnet_vq_memtable_ok(struct kvnet_vq *vq, const struct kvnet_memtable *mem)
{
	bool ok;

	kvnet_vq_lock(vq);
	ok = vq->state == KVNET_VQ_STOPPED ||
	     kvnet_vq_log_ok(vq, mem, vq->dirty_log.base,
			     kvnet_features_has(&vq->features, VHOST_F_LOG_ALL));
	mutex_unlock(&vq->lock);
	return ok;
}

/*
 * vq->lock. May the queue run with these addresses? Behind an IOMMU true: only a session
 * translates them.
 */
bool kvnet_vq_addr_ok(const struct kvnet_vq *vq,
		      const struct kvnet_vq_addr *addr, bool log_used)
{
	const struct kvnet_ring *r = &vq->ring;

	if (vq->xlate.iotlb)
		return true;
	return user_areas_ok(r, addr) &&
	       (!log_used || ring_can_be_logged(vq, vq->xlate.mem, addr, vq->dirty_log.base));
}

static struct kvnet_area_piece *alloc_area_pieces(struct kvnet_area_piece *old)
{
	return old ? old : kvmalloc_array(KVNET_AREA_PIECES, sizeof(*old),
					  GFP_KERNEL_ACCOUNT);
}

/*
 * dev->lock; may sleep. Allocates the tables for areas that an IOTLB splits into pieces,
 * before an IOMMU is switched on; kvnet_vq_free() frees them. Returns 0 or -ENOMEM.
 */
int kvnet_vq_prepare_iommu(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	r->desc.piece = alloc_area_pieces(r->desc.piece);
	r->avail.piece = alloc_area_pieces(r->avail.piece);
	r->used.piece = alloc_area_pieces(r->used.piece);
	return r->desc.piece && r->avail.piece && r->used.piece ? 0 : -ENOMEM;
}
