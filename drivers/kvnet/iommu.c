// SPDX-License-Identifier: GPL-2.0
/*
 * iommu.c - features, and what comes with them: IOTLB and dirty log
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/time64.h>
#include <linux/vhost_types.h>
#include <linux/virtio_config.h>

#include "kvnet.h"
#include "trace.h"

/* How long a queue that waits for the VMM's answer rests. */
#define KVNET_IOMMU_RETRY_NS	NSEC_PER_SEC

static void unlock_all_queues(struct kvnet_net *net)
{
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES; i++)
		mutex_unlock(&net->q[i].vq.lock);
}

/*
 * dev->lock. On return of 0 no session is open, and none will be; -EINTR: a
 * process that is not the owner has been killed.
 */
static int lock_all_queues(struct kvnet_net *net)
{
	unsigned int i;
	int ret;

	lockdep_assert_held(&net->lock);
	for (i = 0; i < KVNET_QUEUES; i++) {
		ret = kvnet_vq_lock_killable(&net->q[i].vq, i);
		if (!ret)
			continue;
		while (i--)
			mutex_unlock(&net->q[i].vq.lock);
		return ret;
	}
	return 0;
}

/* The locks of all queues. Others are checked when they start. */
static bool are_dirty_logs_valid(const struct kvnet_net *net, u64 base, bool all)
{
	const struct kvnet_vq *vq;
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES; i++) {
		vq = &net->q[i].vq;
		all |= kvnet_features_has(&vq->features, VHOST_F_LOG_ALL);
		if (vq->state != KVNET_VQ_STOPPED &&
		    !kvnet_vq_log_ok(vq, vq->xlate.mem, base, all))
			return false;
	}
	return true;
}

/* The locks of all queues. The layout of a ring in use cannot change. */
static bool layout_fits_running_queues(const struct kvnet_net *net,
				       const struct kvnet_features *f)
{
	const struct kvnet_vq *vq;
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES; i++) {
		vq = &net->q[i].vq;
		if (vq->state != KVNET_VQ_STOPPED &&
		    vq->ring.packed != kvnet_features_has(f, VIRTIO_F_RING_PACKED))
			return false;
	}
	return true;
}

static bool feature_differs(const struct kvnet_features *a, const struct kvnet_features *b,
			    unsigned int bit)
{
	return kvnet_features_has(a, bit) != kvnet_features_has(b, bit);
}

/*
 * dev->lock. As with vhost anybody may say what the driver has acknowledged; but not what
 * the owner's addresses are, or where bits of a log are set.
 */
static int check_features_caller(const struct kvnet_net *net, const struct kvnet_features *f)
{
	if (!net->mm || !kvnet_dev_check_owner(net))
		return 0;
	return feature_differs(f, &net->features, VIRTIO_F_ACCESS_PLATFORM) ||
	       feature_differs(f, &net->features, VHOST_F_LOG_ALL) ? -EPERM : 0;
}

/* The locks of all queues. May they have these features now? 0 or -errno. */
static int check_features_in_use(const struct kvnet_net *net, const struct kvnet_features *f)
{
	if (!layout_fits_running_queues(net, f))
		return -EBUSY;
	/* All queues have the same log. */
	if (kvnet_features_has(f, VHOST_F_LOG_ALL) &&
	    !are_dirty_logs_valid(net, net->q[KVNET_RX].vq.dirty_log.base, true))
		return -EFAULT;
	return 0;
}

/* dev->lock. What is needed for there to be an IOMMU. */
static struct kvnet_iotlb *alloc_iotlb_for_queues(struct kvnet_net *net)
{
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES; i++)
		if (kvnet_vq_prepare_iommu(&net->q[i].vq))
			return NULL;
	return kvnet_iotlb_alloc(READ_ONCE(kvnet_param_max_iotlb_entries));
}

/**
 * kvnet_iommu_set_features() - VHOST_SET_FEATURES, at any time
 * @net: the device
 * @f: checked by kvnet_features_check()
 *
 * With ACCESS_PLATFORM this begins with an empty IOTLB, also if there was one
 * before: VMMs count on that when they start a device again.
 *
 * Context: any process, as with vhost; may sleep; takes dev->lock.
 * Return: 0; -EPERM to another process than the owner, for ACCESS_PLATFORM and LOG_ALL;
 * -EBUSY for another layout of a ring in use; -EFAULT if there can be no dirty log;
 * -ENOMEM; -EINTR.
 */
int kvnet_iommu_set_features(struct kvnet_net *net,
			     const struct kvnet_features *f)
{
	bool iommu = kvnet_features_has(f, VIRTIO_F_ACCESS_PLATFORM);
	struct kvnet_iotlb *iotlb = NULL;
	unsigned int i;
	int ret = 0;

	if (mutex_lock_killable(&net->lock))
		return -EINTR;
	ret = check_features_caller(net, f);
	if (!ret && iommu) {
		iotlb = alloc_iotlb_for_queues(net);
		ret = iotlb ? 0 : -ENOMEM;
	}
	if (!ret)
		ret = lock_all_queues(net);
	if (ret)
		goto out;
	ret = check_features_in_use(net, f);
	if (!ret) {
		swap(net->iotlb, iotlb);
		for (i = 0; i < KVNET_FEATURES_WORDS; i++)
			WRITE_ONCE(net->features.word[i], f->word[i]);
		for (i = 0; i < KVNET_QUEUES; i++)
			kvnet_vq_set_features(&net->q[i].vq, f, net->iotlb);
		kvnet_iotlb_miss_reset(&net->iotlb_misses, iommu);
	}
	unlock_all_queues(net);
	/* They may have waited for an address of the old IOTLB. */
	for (i = 0; i < KVNET_QUEUES && net->mm; i++)
		kvnet_work_schedule(&net->q[i].work, KVNET_EV_CTRL);
out:
	kvnet_iotlb_free(iotlb);
	mutex_unlock(&net->lock);
	return ret;
}

/**
 * kvnet_iommu_set_log_base() - VHOST_SET_LOG_BASE, at any time
 * @net: the device
 * @base: of the dirty log, the owner's address
 *
 * When it returns the old log is written no more.
 *
 * Context: dev->lock, of the owner.
 * Return: 0, or -EFAULT with nothing changed if a running queue's log would
 * not be the owner's memory.
 */
int kvnet_iommu_set_log_base(struct kvnet_net *net, u64 base)
{
	int ret = lock_all_queues(net);
	unsigned int i;

	if (ret)
		return ret;
	if (!are_dirty_logs_valid(net, base, false))
		ret = -EFAULT;
	for (i = 0; i < KVNET_QUEUES && !ret; i++)
		net->q[i].vq.dirty_log.base = base;
	unlock_all_queues(net);
	return ret;
}

/**
 * kvnet_iommu_set_log_fd() - VHOST_SET_LOG_FD, at any time
 * @net: the device
 * @fd: eventfd to signal when there are new bits in the log, or
 *	VHOST_FILE_UNBIND
 *
 * Context: dev->lock, of the owner.
 * Return: 0, -EBADF or -EINVAL.
 */
int kvnet_iommu_set_log_fd(struct kvnet_net *net, int fd)
{
	struct eventfd_ctx *ctx = kvnet_eventfd_get(fd);
	unsigned int i;
	int ret;

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	ret = lock_all_queues(net);
	if (!ret) {
		swap(ctx, net->log_call);
		for (i = 0; i < KVNET_QUEUES; i++)
			net->q[i].vq.log_call = net->log_call;
		unlock_all_queues(net);
	}
	kvnet_eventfd_put(ctx);
	return ret;
}

/* The locks of all queues. What they know of the IOTLB may be wrong now. */
static void invalidate_range_in_queues(struct kvnet_net *net, u64 iova, u64 last)
{
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES; i++)
		kvnet_vq_invalidate_range(&net->q[i].vq, iova, last);
}

/**
 * kvnet_iommu_update_iotlb() - VHOST_IOTLB_UPDATE
 * @net: the device
 * @entry: the translation
 *
 * Queues that wait for it go on.
 *
 * Context: may sleep; takes dev->lock.
 * Return: 0; -EFAULT without an IOMMU, from a process that is not the owner, or
 * if the memory is not a user's; -EINTR; or as kvnet_iotlb_update().
 */
int kvnet_iommu_update_iotlb(struct kvnet_net *net,
			     const struct kvnet_iotlb_entry *entry)
{
	u64 len = entry->last - entry->iova + 1;
	unsigned long answered;
	unsigned int i;
	int ret;

	if (mutex_lock_killable(&net->lock))
		return -EINTR;
	ret = -EFAULT;
	if (!net->iotlb || kvnet_dev_check_owner(net) || !len ||
	    !kvnet_memtable_is_user_range(entry->hva, len))
		goto out;
	ret = lock_all_queues(net);
	if (ret)
		goto out;
	invalidate_range_in_queues(net, entry->iova, entry->last);
	ret = kvnet_iotlb_update(net->iotlb, entry);
	if (ret)
		goto unlock;
	answered = kvnet_iotlb_miss_resolve(&net->iotlb_misses, entry->iova, entry->last);
	for (i = 0; i < KVNET_QUEUES; i++) {
		if (!(answered & BIT(i)))
			continue;
		WRITE_ONCE(net->q[i].vq.waits_vmm, false);
		kvnet_work_schedule(&net->q[i].work, KVNET_EV_CTRL);
	}
unlock:
	unlock_all_queues(net);
out:
	mutex_unlock(&net->lock);
	trace_kvnet_iotlb_update(entry, ret);
	return ret;
}

/**
 * kvnet_iommu_invalidate_iotlb() - VHOST_IOTLB_INVALIDATE
 * @net: the device
 * @iova: first address
 * @size: bytes; 0 from address 0 on is everything, as 2^64 cannot be told
 *
 * When it returns the memory is not touched any more by these addresses.
 *
 * Context: may sleep; takes dev->lock.
 * Return: 0; -EFAULT without an IOMMU, or from a process that is not the owner;
 * -EINVAL for a range that wraps around; -EINTR.
 */
int kvnet_iommu_invalidate_iotlb(struct kvnet_net *net, u64 iova, u64 size)
{
	u64 last = iova + size - 1;
	int ret = -EFAULT;

	if (iova && !size)
		return 0;
	if (last < iova)
		return -EINVAL;
	if (mutex_lock_killable(&net->lock))
		return -EINTR;
	if (net->iotlb && !kvnet_dev_check_owner(net))
		ret = lock_all_queues(net);
	if (!ret) {
		invalidate_range_in_queues(net, iova, last);
		kvnet_iotlb_invalidate(net->iotlb, iova, last);
		unlock_all_queues(net);
	}
	mutex_unlock(&net->lock);
	trace_kvnet_iotlb_invalidate(iova, last, ret);
	return ret;
}

/**
 * kvnet_iommu_complete_unready() - let a queue rest that has no session to do so in
 * @q: the queue, held
 *
 * Kicks cannot end that: what can have it run is set-up, or the answer to an IOTLB miss.
 * Till then it looks by itself whether the VMM is to be asked again, see
 * kvnet_vq_retry_miss().
 *
 * Context: the worker thread; does not sleep.
 * Return: true if it rests; false if it is to run again, and still held.
 */
bool kvnet_iommu_complete_unready(struct kvnet_queue *q)
{
	/* Whoever else changes it wakes the queue. */
	if (READ_ONCE(q->vq.waits_vmm))
		return kvnet_work_complete_for(&q->work, KVNET_IOMMU_RETRY_NS);
	return kvnet_work_complete(&q->work, 0);
}
