// SPDX-License-Identifier: GPL-2.0
/*
 * vq_setup.c - setup of a virtqueue by vhost ioctls, see vq.h
 *
 * All run in process context, with net->lock held or before the device is published, and may
 * sleep. They take vq->lock themselves, which excludes sessions, except where a comment says
 * that the caller holds it. Once vq->lock is released, what was replaced (addresses, memory
 * table, eventfd) is not accessed any more.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vhost.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_config.h>

#include "vq.h"

static bool area_overlaps_range(u64 first, u64 last, u64 addr, size_t size)
{
	return first <= addr + (size - 1) && last >= addr;
}

/* vq->lock; may sleep. Translations of @iova to @last, inclusive, are about to change. */
void kvnet_vq_invalidate_range(struct kvnet_vq *vq, u64 iova, u64 last)
{
	const struct kvnet_ring *r = &vq->ring;

	lockdep_assert_held(&vq->lock);
	if (area_overlaps_range(iova, last, vq->addr.desc_user_addr, kvnet_ring_desc_size(r)) ||
	    area_overlaps_range(iova, last, vq->addr.avail_user_addr, kvnet_ring_avail_size(r)) ||
	    area_overlaps_range(iova, last, vq->addr.used_user_addr, kvnet_ring_used_size(r)))
		kvnet_vq_release_areas(vq);
}

/*
 * Without an IOMMU: do the log's bits for all ring writes lie in user memory? Behind an IOMMU
 * only the writes themselves show that.
 */
static bool ring_can_be_logged(const struct kvnet_vq *vq, const struct kvnet_memtable *mem,
			       const struct vhost_vring_addr *addr, u64 base)
{
	const struct kvnet_ring *r = &vq->ring;

	return kvnet_dirty_log_range_ok(base, addr->log_guest_addr, kvnet_ring_used_size(r)) &&
	       (!r->packed ||
		kvnet_dirty_log_hva_ok(base, mem, addr->desc_user_addr, kvnet_ring_desc_size(r)));
}

/*
 * vq->lock. Would a dirty log at @base for the memory of @mem lie in the user address range?
 * @all: the bits of all of guest memory (VHOST_F_LOG_ALL), not only of the ring. False without
 * a table.
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
	return vq->xlate.iotlb || !kvnet_vq_logs_ring(vq) ||
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
static bool addresses_ok(const struct kvnet_vq *vq, const struct vhost_vring_addr *addr)
{
	const struct kvnet_ring *r = &vq->ring;

	if (vq->xlate.iotlb)
		return true;
	return kvnet_vq_user_area(addr->desc_user_addr, kvnet_ring_desc_size(r)) &&
	       kvnet_vq_user_area(addr->avail_user_addr, kvnet_ring_avail_size(r)) &&
	       kvnet_vq_user_area(addr->used_user_addr, kvnet_ring_used_size(r)) &&
	       (!(addr->flags & BIT(VHOST_VRING_F_LOG)) ||
		ring_can_be_logged(vq, vq->xlate.mem, addr, vq->dirty_log.base));
}

static struct kvnet_area_piece *alloc_area_pieces(struct kvnet_area_piece *old)
{
	return old ? old : kvmalloc_array(KVNET_AREA_PIECES, sizeof(*old), GFP_KERNEL_ACCOUNT);
}

/*
 * net->lock; may sleep. Allocates the tables for areas that an IOTLB splits into pieces,
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

/* The queue is stopped. As vhost at open: no addresses, features or IOMMU, base 0, size 1. */
void kvnet_vq_reset(struct kvnet_vq *vq)
{
	const struct kvnet_features none = {};

	kvnet_vq_lock(vq);
	WRITE_ONCE(vq->ring.num, 1);
	kvnet_ring_base_set(&vq->ring, 0);
	vq->ring.base_valid = false;
	vq->addr = (struct vhost_vring_addr) {};
	vq->legacy_le = virtio_legacy_is_little_endian();
	vq->dirty_log.base = 0;
	kvnet_vq_set_features(vq, &none, NULL);
	mutex_unlock(&vq->lock);
}

void kvnet_vq_init(struct kvnet_vq *vq, u16 index, struct kvnet_thread *worker,
		   struct kvnet_iotlb_misses *misses, const struct kvnet_memlock *memlock)
{
	mutex_init(&vq->lock);
	spin_lock_init(&vq->softirq_lock);
	vq->index = index;
	vq->worker = worker;
	vq->iotlb_misses = misses;
	vq->memlock = memlock;
	kvnet_vq_reset(vq);
}

/*
 * Called by the owner, at SET_OWNER; without vq->lock, since no session can be opened before
 * there is a backend. Returns 0 or -ENOMEM.
 */
int kvnet_vq_alloc_arrays(struct kvnet_vq *vq)
{
	vq->seg = kvmalloc_array(UIO_MAXIOV, sizeof(*vq->seg), GFP_KERNEL_ACCOUNT);
	vq->iov = kvmalloc_array(UIO_MAXIOV, sizeof(*vq->iov), GFP_KERNEL_ACCOUNT);
	vq->used = kvmalloc_array(KVNET_VQ_USED_MAX, sizeof(*vq->used), GFP_KERNEL_ACCOUNT);
	if (!vq->seg || !vq->iov || !vq->used) {
		kvnet_vq_free_arrays(vq);
		return -ENOMEM;
	}
	vq->owner = task_tgid_nr(current);
	return 0;
}

void kvnet_vq_free_arrays(struct kvnet_vq *vq)
{
	kvfree(vq->seg);
	kvfree(vq->iov);
	kvfree(vq->used);
	vq->seg = NULL;
	vq->iov = NULL;
	vq->used = NULL;
}

/* The queue is stopped. Drops what it allocated, its references and the memory table. */
void kvnet_vq_free(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	kvnet_vq_free_arrays(vq);
	kvfree(r->desc.piece);
	kvfree(r->avail.piece);
	kvfree(r->used.piece);
	r->desc.piece = NULL;
	r->avail.piece = NULL;
	r->used.piece = NULL;
	kvnet_vq_set_memtable(vq, NULL);
	kvnet_vq_set_eventfd(vq, &vq->call, VHOST_FILE_UNBIND);
	kvnet_vq_set_eventfd(vq, &vq->error, VHOST_FILE_UNBIND);
}

static bool ring_num_ok(const struct kvnet_vq *vq, u32 num)
{
	if (!num || num > KVNET_RING_MAX)
		return false;
	return vq->ring.packed || !(num & (num - 1));
}

/*
 * VHOST_SET_VRING_NUM. Returns -EBUSY with a backend; -EINVAL for 0, for more than 32768, and
 * for a split ring if it is no power of two.
 */
int kvnet_vq_set_num(struct kvnet_vq *vq, u32 num)
{
	int ret = 0;

	kvnet_vq_lock(vq);
	if (vq->state != KVNET_VQ_STOPPED)
		ret = -EBUSY;
	else if (!ring_num_ok(vq, num))
		ret = -EINVAL;
	else
		WRITE_ONCE(vq->ring.num, num);
	mutex_unlock(&vq->lock);
	return ret;
}

/*
 * VHOST_SET_VRING_ADDR, also while the queue runs. Returns 0; -EOPNOTSUPP for an unknown flag;
 * -EFAULT for an address that does not fit a pointer; -EINVAL for a misaligned one, or, if the
 * queue has a backend, for an area or a log outside of the user address range.
 */
int kvnet_vq_set_addr(struct kvnet_vq *vq, const struct vhost_vring_addr *a)
{
	int ret = 0;

	if (a->flags & ~BIT(VHOST_VRING_F_LOG))
		return -EOPNOTSUPP;
	if ((unsigned long)a->desc_user_addr != a->desc_user_addr ||
	    (unsigned long)a->avail_user_addr != a->avail_user_addr ||
	    (unsigned long)a->used_user_addr != a->used_user_addr)
		return -EFAULT;
	if (a->avail_user_addr & (VRING_AVAIL_ALIGN_SIZE - 1) ||
	    a->used_user_addr & (VRING_USED_ALIGN_SIZE - 1) ||
	    a->log_guest_addr & (VRING_USED_ALIGN_SIZE - 1))
		return -EINVAL;

	kvnet_vq_lock(vq);
	if (vq->state != KVNET_VQ_STOPPED && !addresses_ok(vq, a)) {
		ret = -EINVAL;
	} else {
		vq->addr = *a;
		kvnet_vq_release_areas(vq);
		kvnet_vq_change_state(vq, KVNET_VQ_ON_ADDR);
	}
	mutex_unlock(&vq->lock);
	return ret;
}

/*
 * VHOST_SET_VRING_BASE, see kvnet_ring_base_get() for the format. Returns -EBUSY with a
 * backend; -EINVAL for a split ring if @base has more than 16 bits.
 */
int kvnet_vq_set_base(struct kvnet_vq *vq, u32 base)
{
	int ret = 0;

	kvnet_vq_lock(vq);
	if (vq->state != KVNET_VQ_STOPPED)
		ret = -EBUSY;
	else if (base > U16_MAX && !vq->ring.packed)
		ret = -EINVAL;
	else
		kvnet_ring_base_set(&vq->ring, base);
	mutex_unlock(&vq->lock);
	return ret;
}

u32 kvnet_vq_get_base(struct kvnet_vq *vq)
{
	u32 base;

	kvnet_vq_lock(vq);
	base = kvnet_ring_base_get(&vq->ring);
	mutex_unlock(&vq->lock);
	return base;
}

/*
 * VHOST_SET_VRING_ENDIAN: byte order of a driver of the legacy interface. Returns -EBUSY with
 * a backend; -EINVAL for an unknown order.
 */
int kvnet_vq_set_endian(struct kvnet_vq *vq, u32 endian)
{
	int ret = 0;

	kvnet_vq_lock(vq);
	if (vq->state != KVNET_VQ_STOPPED) {
		ret = -EBUSY;
	} else if (endian != VHOST_VRING_LITTLE_ENDIAN && endian != VHOST_VRING_BIG_ENDIAN) {
		ret = -EINVAL;
	} else {
		vq->legacy_le = endian == VHOST_VRING_LITTLE_ENDIAN;
		vq->ring.le = kvnet_features_is_le(&vq->features, vq->legacy_le);
	}
	mutex_unlock(&vq->lock);
	return ret;
}

/*
 * VHOST_SET_VRING_CALL and VHOST_SET_VRING_ERR: @slot is vq->call or vq->error; @fd may be
 * VHOST_FILE_UNBIND. Returns 0, -EBADF or -EINVAL.
 */
int kvnet_vq_set_eventfd(struct kvnet_vq *vq, struct eventfd_ctx **slot, int fd)
{
	struct eventfd_ctx *ctx = kvnet_eventfd_get(fd);

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	kvnet_vq_lock(vq);
	swap(*slot, ctx);
	mutex_unlock(&vq->lock);
	kvnet_eventfd_put(ctx);
	return 0;
}

/*
 * Changes the memory table, also while the queue runs; on return the queue does not use the old
 * one. A queue that broke with the chain still in the ring may have lacked a region of this table:
 * it runs again.
 */
void kvnet_vq_set_memtable(struct kvnet_vq *vq, struct kvnet_memtable *mem)
{
	kvnet_vq_lock(vq);
	vq->xlate.mem = mem;
	kvnet_vq_release_areas(vq);
	if (mem)
		kvnet_vq_change_state(vq, KVNET_VQ_ON_MEMTABLE);
	mutex_unlock(&vq->lock);
}

/*
 * vq->lock. Sets the acknowledged features, also while the queue runs; but the ring's layout
 * changes only while it is stopped. The queue does not wait for the old IOTLB any more.
 *
 * Where an IOMMU is switched on or off the ring's addresses lose their meaning: an IOVA is
 * chosen by the guest, an HVA by the owner, and one must never be used as the other. So they
 * are cleared, and a running queue waits for VHOST_SET_VRING_ADDR.
 */
void kvnet_vq_set_features(struct kvnet_vq *vq, const struct kvnet_features *f,
			   struct kvnet_iotlb *iotlb)
{
	lockdep_assert_held(&vq->lock);
	if (!vq->xlate.iotlb != !iotlb) {
		vq->addr = (struct vhost_vring_addr) { 0 };
		kvnet_vq_change_state(vq, KVNET_VQ_ON_IOMMU);
	}
	kvnet_vq_change_state(vq, KVNET_VQ_ON_ANSWER);
	vq->features = *f;
	vq->ring.le = kvnet_features_is_le(f, vq->legacy_le);
	vq->ring.packed = kvnet_features_has(f, VIRTIO_F_RING_PACKED);
	vq->ring.in_order = kvnet_features_has(f, VIRTIO_F_IN_ORDER);
	vq->ring.event_idx = kvnet_features_has(f, VIRTIO_RING_F_EVENT_IDX);
	vq->ring.notify_on_empty = kvnet_features_has(f, VIRTIO_F_NOTIFY_ON_EMPTY);
	vq->xlate.iotlb = iotlb;
	kvnet_vq_release_areas(vq);
}

/*
 * vq->lock. Is the setup complete enough for kvnet_vq_start()? Behind an IOMMU the areas are
 * checked by the first session. Returns -EINVAL for a size that the layout does not allow;
 * -EFAULT for addresses, memory table or dirty log.
 */
int kvnet_vq_check_setup(struct kvnet_vq *vq)
{
	lockdep_assert_held(&vq->lock);
	if (!ring_num_ok(vq, vq->ring.num))
		return -EINVAL;
	if (!kvnet_vq_log_ok(vq, vq->xlate.mem, vq->dirty_log.base,
			     kvnet_features_has(&vq->features, VHOST_F_LOG_ALL)))
		return -EFAULT;
	return addresses_ok(vq, &vq->addr) ? 0 : -EFAULT;
}

/*
 * After kvnet_vq_check_setup(): starts the queue, or starts it again on another backend.
 * vq->lock; the owner, since it accesses the ring; may sleep. Returns 0; with the state
 * unchanged: -EFAULT if ring or dirty log are not accessible, or -EINVAL for a base outside of
 * the ring.
 */
int kvnet_vq_start(struct kvnet_vq *vq)
{
	int ret;

	lockdep_assert_held(&vq->lock);
	kvnet_vq_release_areas(vq);
	if (!vq->xlate.iotlb) {
		ret = kvnet_vq_open_ring(vq);
		if (!ret)
			ret = kvnet_vq_end_dirty_log(vq);
		if (ret) {
			kvnet_vq_release_areas(vq);
			return ret;
		}
	}
	vq->n_used = 0;
	kvnet_vq_change_state(vq, KVNET_VQ_ON_START);
	return 0;
}

/*
 * vq->lock, in any state; also called by a worker after the owner's death, without net->lock.
 * No context accesses the ring once vq->lock is released.
 */
void kvnet_vq_stop(struct kvnet_vq *vq)
{
	lockdep_assert_held(&vq->lock);
	if (vq->state == KVNET_VQ_STOPPED)
		return;
	kvnet_vq_change_state(vq, KVNET_VQ_ON_STOP);
	kvnet_vq_release_areas(vq);
}
