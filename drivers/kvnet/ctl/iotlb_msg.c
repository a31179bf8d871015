// SPDX-License-Identifier: GPL-2.0
/*
 * iotlb_msg.c - IOTLB messages: read(), write() and poll() of /dev/kvnet
 *
 * The VMM reads IOTLB misses and writes updates and invalidations, in the formats of
 * <linux/vhost_types.h>: version 1 has a hole after the type, version 2 a reserved word. All
 * functions run in threads of the VMM.
 */
#include <linux/errno.h>
#include <linux/fs.h>
#include <linux/poll.h>
#include <linux/sched/signal.h>
#include <linux/uio.h>
#include <linux/vhost_types.h>

#include "kvnet.h"

/* Both formats have the same length and layout, so one copy is for both. */
static_assert(sizeof(struct vhost_msg) == sizeof(struct vhost_msg_v2));
static_assert(offsetof(struct vhost_msg, iotlb) ==
	      offsetof(struct vhost_msg_v2, iotlb));

static ssize_t copy_miss_to_iter(const struct kvnet_iotlb_miss *miss, bool v2,
				 struct iov_iter *to)
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

/**
 * kvnet_iotlb_msg_read() - read() of one IOTLB miss
 * @net: the device
 * @to: destination
 * @nonblock: return -EAGAIN instead of waiting for a miss
 *
 * Context: may sleep, interruptibly.
 * Return: bytes; 0 if a message does not fit; -EAGAIN, -ERESTARTSYS; -EBADFD instead of
 * waiting without an IOTLB; -EFAULT, with the miss queued again.
 */
ssize_t kvnet_iotlb_msg_read(struct kvnet_net *net, struct iov_iter *to,
			     bool nonblock)
{
	struct kvnet_iotlb_misses *m = &net->iotlb_misses;
	struct kvnet_iotlb_miss miss;
	ssize_t ret;

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
	ret = copy_miss_to_iter(&miss, READ_ONCE(m->v2), to);
	if (ret < 0)
		kvnet_iotlb_miss_requeue(m, &miss);
	return ret;
}

static int handle_iotlb_msg(struct kvnet_net *net, const struct vhost_iotlb_msg *msg)
{
	const struct kvnet_iotlb_entry entry = {
		.iova = msg->iova,
		.last = msg->iova + msg->size - 1,
		.hva = msg->uaddr,
		.perm = msg->perm,
	};

	switch (msg->type) {
	case VHOST_IOTLB_UPDATE:
		return kvnet_iommu_update_iotlb(net, &entry);
	case VHOST_IOTLB_INVALIDATE:
		return kvnet_iommu_invalidate_iotlb(net, msg->iova, msg->size);
	default:
		return -EINVAL;
	}
}

/**
 * kvnet_iotlb_msg_write() - write() of one IOTLB update or invalidation
 * @net: the device
 * @from: the message
 *
 * Context: may sleep; takes dev->lock.
 * Return: sizeof(struct vhost_msg); -EINVAL for an invalid message; -EFAULT for any error in
 * carrying it out, as with vhost.
 */
ssize_t kvnet_iotlb_msg_write(struct kvnet_net *net, struct iov_iter *from)
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
	return handle_iotlb_msg(net, &msg) ? -EFAULT : sizeof(struct vhost_msg);
}

__poll_t kvnet_iotlb_msg_poll(struct kvnet_net *net, struct file *file,
			      poll_table *table)
{
	poll_wait(file, &net->iotlb_misses.wait, table);
	return kvnet_iotlb_miss_is_queued(&net->iotlb_misses) ? EPOLLIN | EPOLLRDNORM : 0;
}
