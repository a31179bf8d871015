// SPDX-License-Identifier: GPL-2.0
/*
 * vq_area.c - where a virtqueue's ring and its dirty log are, see vq.h
 */
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vhost_types.h>

#include "vq.h"

/* The owner's memory, as far as can be told without touching it. */
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

/* All of them or none: a mixture would only be hard to understand. */
static void pin_ring_areas(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	if (!vq->memlock->mm)
		return;
	/* Descriptors are loaded by halves. Only behind an IOMMU may the others not be aligned. */
	if (!kvnet_ring_pin_area(&vq->pin[0], &r->desc, sizeof(u64), vq->memlock) &&
	    !kvnet_ring_pin_area(&vq->pin[1], &r->avail, VRING_AVAIL_ALIGN_SIZE, vq->memlock) &&
	    !kvnet_ring_pin_area(&vq->pin[2], &r->used, VRING_USED_ALIGN_SIZE, vq->memlock))
		return;
	kvnet_ring_pin_release(&vq->pin[0], &r->desc, vq->memlock);
	kvnet_ring_pin_release(&vq->pin[1], &r->avail, vq->memlock);
}

/**
 * kvnet_vq_find_areas() - let the ring know where its areas are
 * @vq: the queue, that does not know
 *
 * Context: the worker thread, or the owner without an IOMMU; may sleep;
 * vq->lock.
 * Return: 0; -EFAULT for an area that is not the owner's; -EAGAIN for one that
 * the IOTLB does not know; as kvnet_xlate_area().
 */
int kvnet_vq_find_areas(struct kvnet_vq *vq)
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
	vq->has_areas = true;
	return 0;
}

/**
 * kvnet_vq_release_areas() - what is known of the areas may be wrong now
 * @vq: the queue
 *
 * Context: may sleep; vq->lock.
 */
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

/**
 * kvnet_vq_invalidate_range() - translations of a range have changed
 * @vq: the queue
 * @iova: first address
 * @last: last address
 *
 * Context: may sleep; vq->lock.
 */
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
 * Can there be a log of what is written to the ring? Behind an IOMMU that shows
 * when it is written.
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
 * kvnet_vq_log_ok() - can there be a dirty log here?
 * @vq: the queue
 * @mem: a memory table, or NULL
 * @base: of the log
 * @all: log the guest's memory, not only what the queue's set-up asks for
 *
 * Context: vq->lock.
 * Return: true if so.
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

/**
 * kvnet_vq_memtable_ok() - would a queue do with another memory table?
 * @vq: the queue
 * @mem: the table
 *
 * Context: may sleep; takes vq->lock.
 * Return: true if so, or if it does not run.
 */
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

/**
 * kvnet_vq_addr_ok() - would a running queue do with these addresses?
 * @vq: the queue
 * @addr: the addresses
 * @log_used: what is written to the ring goes to the dirty log
 *
 * Context: vq->lock.
 * Return: true if so, as far as can be told.
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

/**
 * kvnet_vq_prepare_iommu() - what the queue needs before there is an IOMMU
 * @vq: the queue, without one
 *
 * Context: may sleep; dev->lock.
 * Return: 0 or -ENOMEM.
 */
int kvnet_vq_prepare_iommu(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	r->desc.piece = alloc_area_pieces(r->desc.piece);
	r->avail.piece = alloc_area_pieces(r->avail.piece);
	r->used.piece = alloc_area_pieces(r->used.piece);
	return r->desc.piece && r->avail.piece && r->used.piece ? 0 : -ENOMEM;
}
