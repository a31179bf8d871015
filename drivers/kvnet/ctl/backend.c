// SPDX-License-Identifier: GPL-2.0
/*
 * backend.c - setup of a queue by the VMM: memory table, ring addresses, kick eventfd, tap
 *
 * The owner calls the handlers of vhost ioctls with net->lock held, in any state of the queue; they
 * may sleep. kvnet_vq_lock() excludes sessions of the worker, the vCPU thread and the softirq:
 * once a handler has released vq->lock, none of them uses the old table or tap.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/vhost.h>

#include "kvnet.h"
#include "nl/netlink.h"

/* Caller holds vq->lock, and gets the reference to the old tap's socket. */
static struct socket *swap_queue_tap(struct kvnet_queue *q, struct socket *sock, int ifindex)
{
	lockdep_assert_held(&q->vq.lock);
	if (!sock && !q->tap.sock)
		return NULL;
	WRITE_ONCE(q->no_room, false);
	kvnet_moderation_rx_reset(&q->rx_mod);
	kvnet_moderation_tx_reset(&q->vq.tx_mod);
	kvnet_tap_info_set(&q->tap_info, sock, ifindex);
	if (sock)
		kvnet_netlink_notify_queue(&q->vq, KVNET_CMD_QUEUE_START_NTF,
					   KVNET_A_QUEUE_BACKEND, q->tap_info.kind);
	else
		kvnet_netlink_notify_queue(&q->vq, KVNET_CMD_QUEUE_STOP_NTF, 0, 0);
	return kvnet_tap_attach(&q->tap, sock, ifindex);
}

/*
 * Caller holds vq->lock, and gets the reference to the old tap's socket. Once vq->lock is
 * released, no context accesses that socket or the ring. The kick watch, the run state, a timer
 * and the ring's position stay: a later kick finds the queue stopped, once.
 */
static struct socket *detach_queue_tap(struct kvnet_queue *q)
{
	kvnet_watch_stop(&q->tap_watch);
	kvnet_vq_stop(&q->vq);
	return swap_queue_tap(q, NULL, 0);
}

/*
 * Caller holds vq->lock; passes its reference to @file, and gets that to the old eventfd, which
 * schedules no work any more.
 */
static struct file *swap_queue_kick(struct kvnet_queue *q, struct file *file)
{
	lockdep_assert_held(&q->vq.lock);
	kvnet_watch_stop(&q->kick_watch);
	swap(q->kick_file, file);
	if (q->kick_file)
		kvnet_watch_start(&q->kick_watch, q->kick_file);
	return file;
}

/*
 * Removes tap and kick eventfd, in any state of the queue; may sleep. Caller holds vq->lock,
 * which is released before the references are put: they may be the last.
 */
void kvnet_backend_stop_and_unlock(struct kvnet_queue *q)
{
	struct socket *tap = detach_queue_tap(q);
	struct file *kick = swap_queue_kick(q, NULL);

	mutex_unlock(&q->vq.lock);
	kvnet_tap_put(tap);
	if (kick)
		fput(kick);
}

/*
 * VHOST_SET_MEM_TABLE. On success @mem is the device's, and the old table is freed, which no queue
 * uses any more. -EFAULT, with nothing changed: the dirty log of a running queue is too small for
 * @mem.
 */
int kvnet_backend_set_mem_table(struct kvnet_net *net, struct kvnet_memtable *mem)
{
	unsigned int i;

	lockdep_assert_held(&net->lock);
	for (i = 0; i < KVNET_QUEUES; i++)
		if (!kvnet_vq_memtable_ok(&net->q[i].vq, mem))
			return -EFAULT;
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_set_memtable(&net->q[i].vq, mem);
		kvnet_work_schedule(&net->q[i].work, KVNET_EV_CTRL);
	}
	swap(net->mem, mem);
	kvnet_memtable_free(mem);
	return 0;
}

/* VHOST_SET_VRING_ADDR; returns as kvnet_vq_set_addr(). */
int kvnet_backend_set_vring_addr(struct kvnet_net *net, unsigned int index,
				 const struct vhost_vring_addr *a)
{
	struct kvnet_queue *q = &net->q[index];
	int ret = kvnet_vq_set_addr(&q->vq, a);

	lockdep_assert_held(&net->lock);
	/* The queue may be waiting for its addresses, or for an IOTLB entry of the old ring. */
	if (!ret)
		kvnet_work_schedule(&q->work, KVNET_EV_CTRL);
	return ret;
}

/*
 * VHOST_SET_VRING_KICK. Returns 0; -EBADF or -EINVAL if @fd is not an eventfd; -EIO if the owner
 * is dead.
 */
int kvnet_backend_set_kick(struct kvnet_net *net, unsigned int index, int fd)
{
	struct kvnet_queue *q = &net->q[index];
	struct file *file = NULL;
	int ret = 0;

	lockdep_assert_held(&net->lock);
	if (fd != VHOST_FILE_UNBIND) {
		file = eventfd_fget(fd);
		if (IS_ERR(file))
			return PTR_ERR(file);
	}
	kvnet_vq_lock(&q->vq);
	if (kvnet_queue_owner_is_dead(q))
		ret = -EIO;
	else
		file = swap_queue_kick(q, file);
	mutex_unlock(&q->vq.lock);
	if (file)
		fput(file);
	return ret;
}

/*
 * Caller holds vq->lock. On failure the queue keeps its old tap, but kvnet_vq_start() may have
 * restarted a broken queue, and has disabled kicks.
 */
static int start_queue_on_tap(struct kvnet_queue *q, struct socket *sock)
{
	int ret;

	if (kvnet_queue_owner_is_dead(q))
		return -EIO;
	/* The tap has no device, or the device is down. */
	if (vfs_poll(sock->file, NULL) & EPOLLERR)
		return -EINVAL;
	ret = kvnet_vq_start(&q->vq);
	if (ret)
		return ret;
	/* kvnet_vq_start() may sleep: the tap may have lost its netdev meanwhile. */
	if (kvnet_watch_change(&q->tap_watch, sock->file))
		return 0;
	if (!q->tap.sock)
		kvnet_vq_stop(&q->vq);
	return -EINVAL;
}

static int set_queue_backend(struct kvnet_queue *q, int fd)
{
	struct socket *sock = kvnet_tap_get(fd), *unused = sock;
	int ifindex, ret = 0;

	if (IS_ERR(sock))
		return PTR_ERR(sock);
	/* Before vq->lock, as it takes the RTNL. */
	ifindex = kvnet_tap_info_ifindex(sock);
	kvnet_vq_lock(&q->vq);
	if (sock != q->tap.sock) {
		ret = start_queue_on_tap(q, sock);
		if (!ret)
			unused = swap_queue_tap(q, sock, ifindex);
	}
	mutex_unlock(&q->vq.lock);
	/* kvnet_vq_start() disables kicks, and the work may be idle: poll to enable them. */
	kvnet_work_schedule(&q->work, KVNET_EV_CTRL);
	kvnet_tap_put(unused);
	return ret;
}

/*
 * VHOST_NET_SET_BACKEND: a tap or packet socket, or VHOST_FILE_UNBIND, which cannot fail. On
 * success the old backend is not accessed any more; with VHOST_FILE_UNBIND, nor is the ring.
 * Frames dequeued from the old tap but not yet received are back at the front of its queue; those
 * for which its ring has no room any more are dropped. Returns 0; -EFAULT or -EINVAL if the queue
 * is not set up; -ENOTSOCK if @fd is no tap; -EINVAL for a tap without a netdev; -EIO if the owner
 * is dead.
 */
int kvnet_backend_set(struct kvnet_net *net, unsigned int index, int fd)
{
	struct kvnet_queue *q = &net->q[index];
	struct socket *old;
	int ret;

	lockdep_assert_held(&net->lock);
	kvnet_vq_lock(&q->vq);
	if (fd == VHOST_FILE_UNBIND) {
		old = detach_queue_tap(q);
		mutex_unlock(&q->vq.lock);
		kvnet_tap_put(old);
		return 0;
	}
	ret = kvnet_vq_check_setup(&q->vq);
	mutex_unlock(&q->vq.lock);
	/* net->lock keeps the setup as it was checked. */
	return ret ? ret : set_queue_backend(q, fd);
}
