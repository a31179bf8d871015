// SPDX-License-Identifier: GPL-2.0
/*
 * dev.c - a device: creation, memory table, backend, kick eventfds, fdinfo
 *
 * No function here takes dev->lock. The owner calls the handlers of vhost ioctls with dev->lock
 * held, in any state of the queue. kvnet_vq_lock() excludes sessions of the worker, the vCPU
 * thread and the softirq: once a handler has released vq->lock, none of them uses the old table
 * or tap.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vhost.h>

#include "kvnet.h"
#include "nl/netlink.h"

struct kvnet_net *kvnet_dev_of_queue(struct kvnet_queue *q)
{
	return container_of(q - q->vq.index, struct kvnet_net, q[0]);
}

static void init_dev_queue(struct kvnet_net *net, unsigned int index,
			   const struct kvnet_work_ops *ops, __poll_t tap_mask)
{
	struct kvnet_queue *q = &net->q[index];

	kvnet_vq_init(&q->vq, index, &net->iotlb_misses, &net->memlock);
	q->vq.on_broken = kvnet_netlink_notify_queue_broken;
	kvnet_backend_info_init(&q->backend_info);
	kvnet_kick_mod_reset(&q->kick_mod);
	q->reverse_count = &net->q[!index].packet_count;
	q->page_cache = &net->page_cache;
	kvnet_work_init(&q->work, &net->workers, ops);
	kvnet_watch_init(&q->kick_watch, &q->work, KVNET_EV_KICK, EPOLLIN);
	kvnet_watch_init(&q->tap_watch, &q->work, KVNET_EV_TAP, tap_mask);
}

void kvnet_dev_reset_busy_poll(struct kvnet_net *net)
{
	unsigned int us = READ_ONCE(kvnet_param_poll_us);

	WRITE_ONCE(net->q[KVNET_RX].work.busy_poll_us, us);
	WRITE_ONCE(net->q[KVNET_TX].work.busy_poll_us, us);
}

/* The device's setting, or the module parameter if netlink has set none (-1). Takes no lock. */
bool kvnet_dev_is_rx_direct(const struct kvnet_net *net)
{
	int rx_direct = READ_ONCE(net->rx_direct);

	return rx_direct < 0 ? READ_ONCE(kvnet_param_rx_direct) : rx_direct;
}

static struct kvnet_net *workers_to_net(struct kvnet_workers *workers)
{
	return container_of(workers, struct kvnet_net, workers);
}

static void get_net_for_workers(struct kvnet_workers *workers)
{
	refcount_inc(&workers_to_net(workers)->refs);
}

static void put_net_for_workers(struct kvnet_workers *workers)
{
	kvnet_dev_put(workers_to_net(workers));
}

/*
 * WORKERS_START_NTF must not follow DEV_DEL_NTF. stop_and_unregister_dev() sets @stopping, then
 * takes each vq->lock, and only then sends DEV_DEL_NTF: it waits for the notification here, or
 * @stopping is seen here.
 */
static void notify_workers_started(struct kvnet_work *work)
{
	struct mutex *lock = &container_of(work, struct kvnet_queue, work)->vq.lock;

	mutex_lock(lock);
	if (!READ_ONCE(work->workers->stopping))
		kvnet_netlink_notify_dev(workers_to_net(work->workers),
					 KVNET_CMD_WORKERS_START_NTF);
	mutex_unlock(lock);
}

/* Kernel threads do not exit with the owner's process. Atomic context, see on_mm_release. */
static void kill_workers_of_dead_mm(struct kvnet_page_cache *cache)
{
	kvnet_workers_kill(&container_of(cache, struct kvnet_net, page_cache)->workers);
}

static const struct kvnet_workers_ops dev_workers_ops = {
	.started = notify_workers_started,
	.owner_died = kvnet_dev_handle_owner_death,
	.get = get_net_for_workers,
	.put = put_net_for_workers,
};

/* A device without an owner; the caller has the only reference. ERR_PTR(-ENOMEM) on failure. */
struct kvnet_net *kvnet_dev_create(void)
{
	struct kvnet_net *net = kvzalloc(sizeof(*net), GFP_KERNEL_ACCOUNT);

	BUILD_BUG_ON(KVNET_IOTLB_MISS_QUEUES != KVNET_QUEUES);
	BUILD_BUG_ON(KVNET_WORKERS_MAX != KVNET_QUEUES);
	if (!net)
		return ERR_PTR(-ENOMEM);
	mutex_init(&net->lock);
	kvnet_iotlb_miss_init(&net->iotlb_misses);
	refcount_set(&net->refs, 1);
	kvnet_workers_init(&net->workers, &dev_workers_ops);
	kvnet_page_cache_init(&net->page_cache);
	net->page_cache.on_mm_release = kill_workers_of_dead_mm;
	init_dev_queue(net, KVNET_RX, &kvnet_rx_ops, EPOLLIN);
	init_dev_queue(net, KVNET_TX, &kvnet_tx_ops, EPOLLOUT);
	kvnet_dev_reset_busy_poll(net);
	net->fork_from_owner = kvnet_param_fork_from_owner();
	net->rx_direct = -1;
	return net;
}

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

/* VHOST_SET_VRING_BUSYLOOP_TIMEOUT: in us; 0: no busy polling */
void kvnet_backend_set_busy_poll(struct kvnet_net *net, unsigned int index, u32 us)
{
	WRITE_ONCE(net->q[index].work.busy_poll_us, us);
}

/* /proc/PID/fdinfo/FD. Takes no lock: a holder of vq->lock may wait for a page of the VMM. */
void kvnet_dev_show_fdinfo(struct kvnet_net *net, struct seq_file *m)
{
	static const char * const name[] = { "kvnet.rx", "kvnet.tx" };
	static const char * const state[] = { "stopped", "running", "broken" };
	const char *what;
	struct kvnet_queue *q;
	unsigned int i;

	seq_printf(m, "kvnet.id:\t%u\n", READ_ONCE(net->registry.id));
	seq_printf(m, "kvnet.features:\t0x%llx\n",
		   READ_ONCE(net->features.word[0]));
	seq_printf(m, "kvnet.features_hi:\t0x%llx\n",
		   READ_ONCE(net->features.word[1]));
	for (i = 0; i < KVNET_QUEUES; i++) {
		q = &net->q[i];
		what = state[READ_ONCE(q->vq.state)];
		if (READ_ONCE(q->vq.waits_vmm))
			what = "waits for the IOMMU";
		seq_printf(m, "%s.state:\t%s\n", name[i], what);
		seq_printf(m, "%s.access:\t%s\n", name[i],
			   READ_ONCE(q->vq.pin[0].charged) ? "pinned" : "user");
		seq_printf(m, "%s.kicks:\t%lu\n", name[i],
			   atomic_long_read(&q->work.kicks));
		seq_printf(m, "%s.wakeups:\t%lu\n", name[i],
			   atomic_long_read(&q->work.wakeups));
		seq_printf(m, "%s.busy_poll_hits:\t%lu\n", name[i],
			   READ_ONCE(q->work.busy_poll_hits));
		seq_printf(m, "%s.busy_poll_misses:\t%lu\n", name[i],
			   READ_ONCE(q->work.busy_poll_misses));
		kvnet_stats_show(m, name[i], &q->vq.stats);
	}
	seq_printf(m, "kvnet.pages_cached:\t%u\n", READ_ONCE(net->page_cache.map.n));
	seq_printf(m, "kvnet.pages_invalidated:\t%lu\n",
		   READ_ONCE(net->page_cache.n_invalidated));
}
