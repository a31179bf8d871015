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
static void __user *user_area(u64 addr, size_t size)
{
	void __user *p = (void __user *)(unsigned long)addr;

	return access_ok(p, size) ? p : NULL;
}

static int find_plain(const struct kvnet_vq *vq,
		      const struct kvnet_vq_addr *addr, struct kvnet_ring *r)
{
	r->desc.base = user_area(addr->desc, kvnet_ring_desc_size(r));
	r->avail.base = user_area(addr->avail, kvnet_ring_avail_size(r));
	r->used.base = user_area(addr->used, kvnet_ring_used_size(r));
	r->desc.n = 0;
	r->avail.n = 0;
	r->used.n = 0;
	return r->desc.base && r->avail.base && r->used.base ? 0 : -EFAULT;
}

/**
 * kvnet_vq_find_areas() - let the ring know where its areas are
 * @vq: the queue
 *
 * Context: the worker thread, or the owner without an IOMMU; vq->lock.
 * Return: 0; -EFAULT for an area that is not the owner's; -EAGAIN for one that
 * the IOTLB does not know; as kvnet_xlate_area().
 */
int kvnet_vq_find_areas(struct kvnet_vq *vq)
{
	struct kvnet_space *space = &vq->space;
	struct kvnet_ring *r = &vq->ring;
	int ret;

	lockdep_assert_held(&vq->lock);
	if (!space->iotlb)
		return find_plain(vq, &vq->addr, r);
	ret = kvnet_xlate_area(space, vq->addr.desc, VHOST_ACCESS_RO,
			       kvnet_ring_desc_size(r), &r->desc);
	if (!ret)
		ret = kvnet_xlate_area(space, vq->addr.avail, VHOST_ACCESS_RO,
				       kvnet_ring_avail_size(r), &r->avail);
	if (!ret)
		ret = kvnet_xlate_area(space, vq->addr.used, VHOST_ACCESS_WO,
				       kvnet_ring_used_size(r), &r->used);
	return ret;
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
bool kvnet_vq_log_ok(const struct kvnet_vq *vq, const struct kvnet_mem *mem,
		     u64 base, bool all)
{
	u32 i;

	lockdep_assert_held(&vq->lock);
	if (!mem)
		return false;
	for (i = 0; all && i < mem->n; i++)
		if (!kvnet_dirty_ok(base, mem->region[i].gpa,
				    mem->region[i].last -
				    mem->region[i].gpa + 1))
			return false;
	return vq->space.iotlb || !vq->log_used ||
	       kvnet_dirty_ok(base, vq->addr.log,
			      kvnet_ring_used_size(&vq->ring));
}

/**
 * kvnet_vq_mem_ok() - would a queue do with another memory table?
 * @vq: the queue
 * @mem: the table
 *
 * Context: may sleep; takes vq->lock.
 * Return: true if so, or if it does not run.
 */
bool kvnet_vq_mem_ok(struct kvnet_vq *vq, const struct kvnet_mem *mem)
{
	bool ok;

	mutex_lock(&vq->lock);
	ok = vq->state == KVNET_VQ_STOPPED ||
	     kvnet_vq_log_ok(vq, mem, vq->log.base,
			     kvnet_has(&vq->features, VHOST_F_LOG_ALL));
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
	struct kvnet_ring r = vq->ring;

	if (vq->space.iotlb)
		return true;
	return !find_plain(vq, addr, &r) &&
	       (!log_used || kvnet_dirty_ok(vq->log.base, addr->log,
					    kvnet_ring_used_size(&r)));
}

static struct kvnet_piece *alloc_pieces(struct kvnet_piece *old)
{
	return old ? old : kvmalloc_array(KVNET_AREA_PIECES, sizeof(*old),
					  GFP_KERNEL_ACCOUNT);
}

/**
 * kvnet_vq_iommu_prepare() - what the queue needs before there is an IOMMU
 * @vq: the queue, without one
 *
 * Context: may sleep; dev->lock.
 * Return: 0 or -ENOMEM.
 */
int kvnet_vq_iommu_prepare(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	r->desc.piece = alloc_pieces(r->desc.piece);
	r->avail.piece = alloc_pieces(r->avail.piece);
	r->used.piece = alloc_pieces(r->used.piece);
	return r->desc.piece && r->avail.piece && r->used.piece ? 0 : -ENOMEM;
}
