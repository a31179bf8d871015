// SPDX-License-Identifier: GPL-2.0
/*
 * backend.c - setup of a queue by the VMM: memory table, ring addresses, kick eventfd, tap
 *
 * No function here takes dev->lock. The owner calls the handlers of vhost ioctls with dev->lock
 * held, in any state of the queue. kvnet_vq_lock() excludes sessions of the worker, the vCPU
 * thread and the softirq: once a handler has released vq->lock, none of them uses the old table
 * or tap.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/vhost.h>

#include "kvnet.h"
#include "nl/netlink.h"

/* Caller holds vq->lock, and gets the reference to the old tap's socket. */
static struct socket *swap_queue_tap(struct kvnet_queue *q, struct socket *sock, int ifindex)
{
	lockdep_assert_held(&q->vq.lock);
	WRITE_ONCE(q->no_room, false);
	kvnet_kick_mod_reset(&q->kick_mod);
	kvnet_rx_mod_reset(&q->rx_mod);
	q->vq.tx_mod = (struct kvnet_tx_mod) {};
	if (sock || q->tap.sock)
		kvnet_backend_info_set(&q->backend_info, sock, ifindex);
	if (sock)
		kvnet_netlink_notify_queue_start(&q->vq, kvnet_tap_info_kind(sock));
	else if (q->tap.sock)
		kvnet_netlink_notify_queue_stop(&q->vq);
	return kvnet_tap_attach(&q->tap, sock, ifindex);
}

/**
 * kvnet_backend_detach() - remove the queue's backend
 * @q: the queue, in any state
 *
 * Context: caller holds vq->lock; may sleep.
 * Return: the old tap's socket, for kvnet_tap_put(), or NULL. Neither the socket nor the ring is
 * accessed once the caller has released vq->lock.
 */
struct socket *kvnet_backend_detach(struct kvnet_queue *q)
{
	lockdep_assert_held(&q->vq.lock);
	kvnet_watch_stop(&q->tap_watch);
	kvnet_vq_stop(&q->vq);
	return swap_queue_tap(q, NULL, 0);
}

/* Caller holds dev->lock. On return neither the ring nor the tap is accessed. */
static void remove_queue_backend(struct kvnet_queue *q)
{
	struct socket *old;

	kvnet_vq_lock(&q->vq);
	old = kvnet_backend_detach(q);
	mutex_unlock(&q->vq.lock);
	kvnet_tap_put(old);
}

/**
 * kvnet_backend_swap_kick() - replace the kick eventfd
 * @q: the queue
 * @file: in: the new eventfd or NULL, whose reference the queue takes; out: the old one, whose
 *	  reference the caller gets. The old eventfd schedules no work on return
 *
 * Context: caller holds vq->lock; may sleep.
 */
void kvnet_backend_swap_kick(struct kvnet_queue *q, struct file **file)
{
	kvnet_watch_stop(&q->kick_watch);
	swap(q->kick_file, *file);
	if (q->kick_file)
		kvnet_watch_start(&q->kick_watch, q->kick_file);
}

/*
 * Caller holds vq->lock. On failure the queue keeps its old tap, but kvnet_vq_start() may have
 * restarted a broken queue.
 */
static int start_queue_on_tap(struct kvnet_queue *q, struct socket *sock)
{
	int ret = kvnet_watch_check(sock->file);

	if (!ret)
		ret = kvnet_vq_start(&q->vq);
	/* kvnet_vq_start() may sleep: the tap may have lost its netdev meanwhile. */
	if (!ret && !kvnet_watch_change(&q->tap_watch, sock->file)) {
		if (!q->tap.sock)
			kvnet_vq_stop(&q->vq);
		ret = -EINVAL;
	}
	/* kvnet_vq_start() disabled kicks, and the work may be idle: poll to re-enable them. */
	if (ret)
		kvnet_work_schedule(&q->work, KVNET_EV_CTRL);
	return ret;
}

/* Caller holds dev->lock. Takes the caller's reference to @sock, also on failure. */
static int set_queue_backend(struct kvnet_queue *q, struct socket *sock)
{
	int ret, ifindex = kvnet_tap_info_ifindex(sock);
	struct socket *old = NULL;

	kvnet_vq_lock(&q->vq);
	ret = q->owner_dead ? -EIO : kvnet_vq_check_setup(&q->vq);
	if (ret || sock == q->tap.sock)
		goto out;

	ret = start_queue_on_tap(q, sock);
	if (ret)
		goto out;
	old = swap_queue_tap(q, sock, ifindex);
	sock = NULL;
out:
	mutex_unlock(&q->vq.lock);
	kvnet_tap_put(sock);
	kvnet_tap_put(old);
	return ret;
}

/* Caller holds dev->lock. Takes the caller's reference to @file, also on failure. */
static int set_queue_kick(struct kvnet_queue *q, struct file *file)
{
	int ret = 0;

	kvnet_vq_lock(&q->vq);
	if (q->owner_dead)
		ret = -EIO;
	else
		kvnet_backend_swap_kick(q, &file);
	mutex_unlock(&q->vq.lock);
	if (file)
		fput(file);
	return ret;
}

/**
 * kvnet_backend_set_mem_table() - VHOST_SET_MEM_TABLE
 * @net: the device
 * @mem: the new table; the device takes the caller's reference on success
 *
 * No queue uses the old table on return.
 *
 * Context: the owner, with dev->lock held; may sleep.
 * Return: 0, or -EFAULT with nothing changed if the dirty log of a running queue is too small
 * for @mem.
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
	kvnet_memtable_put(mem);
	return 0;
}

/* VHOST_SET_VRING_ADDR, by the owner with dev->lock held; returns as kvnet_vq_set_addr(). */
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
 * VHOST_SET_VRING_KICK, by the owner with dev->lock held; may sleep. Returns 0; -EBADF or
 * -EINVAL if @fd is not an eventfd; -EIO if the owner is dead.
 */
int kvnet_backend_set_kick(struct kvnet_net *net, unsigned int index, int fd)
{
	struct file *file = NULL;

	lockdep_assert_held(&net->lock);
	if (fd != VHOST_FILE_UNBIND) {
		file = eventfd_fget(fd);
		if (IS_ERR(file))
			return PTR_ERR(file);
	}
	return set_queue_kick(&net->q[index], file);
}

/**
 * kvnet_backend_set() - VHOST_NET_SET_BACKEND
 * @net: the device
 * @index: the queue, in range
 * @fd: a tap or packet socket, or VHOST_FILE_UNBIND, which cannot fail
 *
 * On success the old backend is not accessed any more; with VHOST_FILE_UNBIND, nor is the ring.
 * Frames dequeued from the old tap but not yet received are back at the front of its queue.
 *
 * Context: the owner, with dev->lock held; may sleep.
 * Return: 0; -EFAULT or -EINVAL if the queue is not set up; -ENOTSOCK if @fd is no tap; -EINVAL
 * for a tap without a netdev; -EIO if the owner is dead.
 */
int kvnet_backend_set(struct kvnet_net *net, unsigned int index, int fd)
{
	struct kvnet_queue *q = &net->q[index];
	struct socket *sock;
	int ret;

	lockdep_assert_held(&net->lock);
	if (fd == VHOST_FILE_UNBIND) {
		remove_queue_backend(q);
		return 0;
	}
	kvnet_vq_lock(&q->vq);
	ret = kvnet_vq_check_setup(&q->vq);
	mutex_unlock(&q->vq.lock);
	if (ret)
		return ret;
	sock = kvnet_tap_get(fd);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	ret = set_queue_backend(q, sock);
	if (!ret)
		kvnet_work_schedule(&q->work, KVNET_EV_CTRL);
	return ret;
}
