// SPDX-License-Identifier: GPL-2.0
/*
 * iommu.c - features, IOTLB and dirty log of a device; IOTLB messages
 *
 * Features, IOTLB and dirty log can change while the queues run. A change holds net->lock and
 * the locks of all queues, so it falls between sessions: after return no queue uses the old
 * state. All functions run in system calls.
 *
 * The VMM reads IOTLB misses from /dev/kvnet, and writes updates and invalidations to it, in the
 * formats of <linux/vhost_types.h>: version 1 has a hole after the type, version 2 a reserved
 * word.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/kernel.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <linux/vhost_types.h>
#include <linux/virtio_config.h>

#include "kvnet.h"
#include "obs/trace.h"

/*
 * net->lock. On return of 0 no session is open, and none begins until unlock_all_queues();
 * -EINTR: the caller is not the owner, and is killed while it waits.
 */
static int lock_all_queues(struct kvnet_net *net)
{
	int ret;

	lockdep_assert_held(&net->lock);
	ret = kvnet_vq_lock_killable(&net->q[KVNET_RX].vq, KVNET_RX);
	if (ret)
		return ret;
	ret = kvnet_vq_lock_killable(&net->q[KVNET_TX].vq, KVNET_TX);
	if (ret)
		mutex_unlock(&net->q[KVNET_RX].vq.lock);
	return ret;
}

static void unlock_all_queues(struct kvnet_net *net)
{
	mutex_unlock(&net->q[KVNET_TX].vq.lock);
	mutex_unlock(&net->q[KVNET_RX].vq.lock);
}

/*
 * net->lock. Any process that has the file may set features, as with vhost. But only the owner
 * may change what addresses mean, or have bits of a log set in its memory.
 */
static bool may_set_features(const struct kvnet_net *net, const struct kvnet_features *f)
{
	const u64 owner_only = BIT_ULL(VIRTIO_F_ACCESS_PLATFORM) | BIT_ULL(VHOST_F_LOG_ALL);

	return !net->mm || !kvnet_dev_check_owner(net) ||
	       !((f->word[0] ^ net->features.word[0]) & owner_only);
}

/* The locks of all queues. Stopped queues are checked when they start. */
static int check_features_in_use(const struct kvnet_net *net, const struct kvnet_features *f)
{
	const struct kvnet_vq *vq;
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES; i++) {
		vq = &net->q[i].vq;
		if (vq->state == KVNET_VQ_STOPPED)
			continue;
		/* The layout of a running queue's ring cannot change. */
		if (vq->ring.packed != kvnet_features_has(f, VIRTIO_F_RING_PACKED))
			return -EBUSY;
		if (kvnet_features_has(f, VHOST_F_LOG_ALL) &&
		    !kvnet_vq_log_ok(vq, vq->xlate.mem, vq->dirty_log.base, true))
			return -EFAULT;
	}
	return 0;
}

/* net->lock. Returns NULL without memory; arrays of the queues are kept then. */
static struct kvnet_iotlb *alloc_iotlb_for_queues(struct kvnet_net *net)
{
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES; i++)
		if (kvnet_vq_prepare_iommu(&net->q[i].vq))
			return NULL;
	return kvnet_iotlb_alloc(READ_ONCE(kvnet_param_max_iotlb_entries));
}

/*
 * VHOST_SET_FEATURES, at any time, by any process, as with vhost; may sleep; takes net->lock. With
 * ACCESS_PLATFORM the IOTLB is empty afterwards, also if there was one before: VMMs rely on that
 * when they start a device again. Returns 0; as kvnet_features_check(); -EPERM if a process other
 * than the owner changes ACCESS_PLATFORM or LOG_ALL; -EBUSY for another layout of a running queue's
 * ring; -EFAULT if the dirty log would not be in user memory; -ENOMEM; -EINTR.
 */
int kvnet_iommu_set_features(struct kvnet_net *net, const struct kvnet_features *f)
{
	bool iommu = kvnet_features_has(f, VIRTIO_F_ACCESS_PLATFORM);
	int i, ret = kvnet_features_check(f);
	struct kvnet_iotlb *iotlb = NULL;

	if (ret)
		return ret;
	if (mutex_lock_killable(&net->lock))
		return -EINTR;
	ret = -EPERM;
	if (!may_set_features(net, f))
		goto out;
	ret = -ENOMEM;
	if (iommu) {
		iotlb = alloc_iotlb_for_queues(net);
		if (!iotlb)
			goto out;
	}
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
	/* A queue may have waited for a translation of the old IOTLB. */
	for (i = 0; i < KVNET_QUEUES && net->mm; i++)
		kvnet_work_schedule(&net->q[i].work, KVNET_EV_CTRL);
out:
	kvnet_iotlb_free(iotlb);
	mutex_unlock(&net->lock);
	return ret;
}

/*
 * VHOST_SET_LOG_BASE, at any time. The owner, with net->lock; may sleep. After return the old
 * log is not written any more. -EFAULT, with nothing changed: a running queue's log would
 * not be in user memory.
 */
int kvnet_iommu_set_log_base(struct kvnet_net *net, u64 base)
{
	bool log_all = kvnet_features_has(&net->features, VHOST_F_LOG_ALL);
	int i, ret = lock_all_queues(net);
	const struct kvnet_vq *vq;

	if (ret)
		return ret;
	for (i = 0; i < KVNET_QUEUES; i++) {
		vq = &net->q[i].vq;
		if (vq->state != KVNET_VQ_STOPPED &&
		    !kvnet_vq_log_ok(vq, vq->xlate.mem, base, log_all))
			ret = -EFAULT;
	}
	for (i = 0; i < KVNET_QUEUES && !ret; i++)
		net->q[i].vq.dirty_log.base = base;
	unlock_all_queues(net);
	return ret;
}

/*
 * VHOST_SET_LOG_FD, at any time: an eventfd to signal after bits of the log have been set, or
 * VHOST_FILE_UNBIND. The owner, with net->lock; may sleep.
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

/* The locks of all queues. Releases ring areas that were found by translations of the range. */
static void invalidate_range_in_queues(struct kvnet_net *net, u64 iova, u64 last)
{
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES; i++)
		kvnet_vq_invalidate_range(&net->q[i].vq, iova, last);
}

/* net->lock and the locks of all queues. Schedules the queues that wait for @entry. */
static int update_iotlb(struct kvnet_net *net, const struct kvnet_iotlb_entry *entry, u64 size)
{
	unsigned long answered;
	unsigned int i;
	int ret;

	if (!kvnet_memtable_is_user_range(entry->hva, size))
		return -EFAULT;
	invalidate_range_in_queues(net, entry->iova, entry->last);
	ret = kvnet_iotlb_update(net->iotlb, entry);
	if (ret)
		return ret;
	answered = kvnet_iotlb_miss_resolve(&net->iotlb_misses, entry->iova, entry->last);
	for (i = 0; i < KVNET_QUEUES; i++) {
		if (!(answered & BIT(i)))
			continue;
		kvnet_vq_change_state(&net->q[i].vq, KVNET_VQ_ON_ANSWER);
		kvnet_work_schedule(&net->q[i].work, KVNET_EV_CTRL);
	}
	return 0;
}

/*
 * The locks of all queues. After return no queue accesses memory by the old translations of
 * the range. A @size of 0 is for all addresses at @iova 0, as 2^64 does not fit, else for none:
 * areas of a ring may be resolved again, and a translation around @iova may be dropped.
 */
static int invalidate_iotlb(struct kvnet_net *net, u64 iova, u64 last, u64 size)
{
	if (size && last < iova)
		return -EINVAL;
	invalidate_range_in_queues(net, iova, last);
	kvnet_iotlb_invalidate(net->iotlb, iova, last);
	return 0;
}

/* The locks of all queues. */
static int handle_iotlb_msg(struct kvnet_net *net, const struct vhost_iotlb_msg *msg)
{
	const struct kvnet_iotlb_entry entry = {
		.iova = msg->iova,
		.last = msg->iova + msg->size - 1,
		.hva = msg->uaddr,
		.perm = msg->perm,
	};
	int ret;

	switch (msg->type) {
	case VHOST_IOTLB_UPDATE:
		ret = update_iotlb(net, &entry, msg->size);
		trace_kvnet_iotlb_update(&entry, ret);
		return ret;
	case VHOST_IOTLB_INVALIDATE:
		ret = invalidate_iotlb(net, entry.iova, entry.last, msg->size);
		trace_kvnet_iotlb_invalidate(entry.iova, entry.last, ret);
		return ret;
	default:
		return -EINVAL;
	}
}

/* -EFAULT without an IOTLB, or from a process other than the owner. Takes net->lock. */
static int lock_and_handle_iotlb_msg(struct kvnet_net *net, const struct vhost_iotlb_msg *msg)
{
	int ret = -EFAULT;

	if (mutex_lock_killable(&net->lock))
		return -EINTR;
	if (net->iotlb && !kvnet_dev_check_owner(net))
		ret = lock_all_queues(net);
	if (!ret) {
		ret = handle_iotlb_msg(net, msg);
		unlock_all_queues(net);
	}
	mutex_unlock(&net->lock);
	return ret;
}

/* Both formats have the same length and layout, so one copy is for both. */
static_assert(sizeof(struct vhost_msg) == sizeof(struct vhost_msg_v2));
static_assert(offsetof(struct vhost_msg, iotlb) ==
	      offsetof(struct vhost_msg_v2, iotlb));

static ssize_t copy_miss_to_iter(const struct kvnet_iotlb_miss *miss, bool v2, struct iov_iter *to)
{
	struct vhost_msg_v2 msg;

	memset(&msg, 0, sizeof(msg));
	msg.type = v2 ? VHOST_IOTLB_MSG_V2 : VHOST_IOTLB_MSG;
	msg.iotlb.type = VHOST_IOTLB_MISS;
	msg.iotlb.iova = miss->iova;
	msg.iotlb.perm = miss->perm;
	return copy_to_iter(&msg, sizeof(msg), to) == sizeof(msg) ?
	       sizeof(msg) : -EFAULT;
}

/*
 * read() of one IOTLB miss. Sleeps, interruptibly, until there is one, unless @nonblock. Returns
 * bytes; 0 if a message does not fit; -EAGAIN, -ERESTARTSYS; -EBADFD instead of waiting
 * without an IOTLB; -EFAULT: the miss stays pending until it is
 * retried.
 */
ssize_t kvnet_iommu_read_msg(struct kvnet_net *net, struct iov_iter *to, bool nonblock)
{
	struct kvnet_iotlb_misses *m = &net->iotlb_misses;
	struct kvnet_iotlb_miss miss;
	int ret;

	if (iov_iter_count(to) < sizeof(struct vhost_msg))
		return 0;
	if (nonblock) {
		if (kvnet_iotlb_miss_dequeue(m, &miss))
			return -EAGAIN;
	} else {
		/* The condition takes a spinlock, but does not sleep. */
		if (wait_event_interruptible(m->wait,
				(ret = kvnet_iotlb_miss_dequeue(m, &miss)) != -EAGAIN))
			return -ERESTARTSYS;
		if (ret)
			return ret;
	}
	return copy_miss_to_iter(&miss, READ_ONCE(m->v2), to);
}

/*
 * write() of one IOTLB update or invalidation. May sleep; takes net->lock. Returns
 * sizeof(struct vhost_msg); -EINVAL for an invalid message; -EFAULT for any error in carrying
 * it out, as with vhost.
 */
ssize_t kvnet_iommu_write_msg(struct kvnet_net *net, struct iov_iter *from)
{
	const size_t skip = offsetof(struct vhost_msg, iotlb) - sizeof(int);
	struct vhost_iotlb_msg msg;
	int type;

	if (copy_from_iter(&type, sizeof(type), from) != sizeof(type))
		return -EINVAL;
	if (type != VHOST_IOTLB_MSG && type != VHOST_IOTLB_MSG_V2)
		return -EINVAL;
	iov_iter_advance(from, min(skip, iov_iter_count(from)));
	if (copy_from_iter(&msg, sizeof(msg), from) != sizeof(msg))
		return -EINVAL;
	if (msg.type == VHOST_IOTLB_UPDATE && !msg.size)
		return -EINVAL;
	return lock_and_handle_iotlb_msg(net, &msg) ? -EFAULT : sizeof(struct vhost_msg);
}

__poll_t kvnet_iommu_poll_msg(struct kvnet_net *net, struct file *file, poll_table *table)
{
	poll_wait(file, &net->iotlb_misses.wait, table);
	return kvnet_iotlb_miss_is_queued(&net->iotlb_misses) ? EPOLLIN | EPOLLRDNORM : 0;
}
