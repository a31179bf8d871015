// SPDX-License-Identifier: GPL-2.0
/*
 * dev.c - the life of a device: memory, backend, kicks
 *
 * Each function says whether it wants dev->lock held; the others take it.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/poll.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vhost.h>

#include "net.h"
#include "netlink.h"

/**
 * kvnet_queue_net() - which device is a queue of?
 * @q: the queue
 *
 * Return: the device.
 */
struct kvnet_net *kvnet_queue_net(struct kvnet_queue *q)
{
	return container_of(q - q->vq.index, struct kvnet_net, q[0]);
}

static void init_queue(struct kvnet_net *net, unsigned int index,
		       const struct kvnet_source_ops *ops, __poll_t tap_mask)
{
	struct kvnet_queue *q = &net->q[index];

	kvnet_vq_init(&q->vq, index, &net->misses, &net->payer);
	q->vq.broke = kvnet_event_broken;
	kvnet_port_init(&q->port);
	kvnet_pace_reset(&q->pace);
	q->answers = &net->q[!index].passed;
	q->resident = &net->resident;
	kvnet_source_init(&q->src, &net->crew, ops);
	kvnet_wait_init(&q->kick_wait, &q->src, KVNET_EV_KICK, EPOLLIN);
	kvnet_wait_init(&q->tap_wait, &q->src, KVNET_EV_TAP, tap_mask);
}

void kvnet_net_reset_busy(struct kvnet_net *net)
{
	unsigned int us = READ_ONCE(kvnet_poll_us);

	WRITE_ONCE(net->q[KVNET_RX].src.busy_us, us);
	WRITE_ONCE(net->q[KVNET_TX].src.busy_us, us);
}

/**
 * kvnet_net_copies() - are frames copied out of a tap's ring?
 * @net: the device
 *
 * Return: true if so, where that can be.
 */
bool kvnet_net_copies(const struct kvnet_net *net)
{
	int copies = READ_ONCE(net->copies);

	return copies < 0 ? READ_ONCE(kvnet_copy_frames) : copies;
}

static struct kvnet_net *to_net(struct kvnet_crew *crew)
{
	return container_of(crew, struct kvnet_net, crew);
}

static void hold_net(struct kvnet_crew *crew)
{
	refcount_inc(&to_net(crew)->users);
}

static void drop_net(struct kvnet_crew *crew)
{
	kvnet_net_put(to_net(crew));
}

/* The end of the device takes each queue's lock before it is told: this comes first, or not. */
static void tell_begun(struct kvnet_source *src)
{
	struct mutex *lock = &container_of(src, struct kvnet_queue, src)->vq.lock;

	mutex_lock(lock);
	if (!READ_ONCE(src->crew->stopping))
		kvnet_event_dev(to_net(src->crew), KVNET_CMD_WORKERS_START_NTF);
	mutex_unlock(lock);
}

/* Kernel threads do not end with the owner's process. */
static void memory_goes(struct kvnet_resident *r)
{
	kvnet_crew_kill(&container_of(r, struct kvnet_net, resident)->crew);
}

static const struct kvnet_crew_ops crew_ops = {
	.begun = tell_begun,
	.gone = kvnet_net_abandon,
	.get = hold_net,
	.put = drop_net,
};

/**
 * kvnet_net_create() - a device without an owner
 *
 * Return: the device or ERR_PTR(-ENOMEM).
 */
struct kvnet_net *kvnet_net_create(void)
{
	struct kvnet_net *net = kvzalloc(sizeof(*net), GFP_KERNEL_ACCOUNT);

	BUILD_BUG_ON(KVNET_MISS_QUEUES != KVNET_QUEUES);
	BUILD_BUG_ON(KVNET_CREW_SOURCES != KVNET_QUEUES);
	if (!net)
		return ERR_PTR(-ENOMEM);
	mutex_init(&net->lock);
	kvnet_misses_init(&net->misses);
	refcount_set(&net->users, 1);
	kvnet_crew_init(&net->crew, &crew_ops);
	kvnet_resident_init(&net->resident);
	net->resident.gone = memory_goes;
	init_queue(net, KVNET_RX, &kvnet_rx_ops, EPOLLIN);
	init_queue(net, KVNET_TX, &kvnet_tx_ops, EPOLLOUT);
	kvnet_net_reset_busy(net);
	net->fork = kvnet_fork_default();
	net->copies = -1;
	return net;
}

/* vq->lock. The old tap's socket is now the caller's. */
static struct socket *swap_tap(struct kvnet_queue *q, struct socket *sock, int ifindex)
{
	lockdep_assert_held(&q->vq.lock);
	WRITE_ONCE(q->starved, false);
	kvnet_pace_reset(&q->pace);
	kvnet_lone_reset(&q->lone);
	q->vq.defer = (struct kvnet_defer) {};
	if (sock || q->tap.sock)
		kvnet_port_set(&q->port, sock, ifindex);
	if (sock)
		kvnet_event_start(&q->vq, kvnet_tap_kind(sock));
	else if (q->tap.sock)
		kvnet_event_stop(&q->vq);
	return kvnet_tap_attach(&q->tap, sock, ifindex);
}

/**
 * kvnet_queue_detach() - have a queue without a backend
 * @q: the queue, in any state
 *
 * Context: may sleep; vq->lock.
 * Return: the socket that was its tap, for kvnet_tap_put(), or NULL. Nothing
 * touches it nor the ring any more once vq->lock is released.
 */
struct socket *kvnet_queue_detach(struct kvnet_queue *q)
{
	lockdep_assert_held(&q->vq.lock);
	kvnet_wait_stop(&q->tap_wait);
	kvnet_vq_stop(&q->vq);
	return swap_tap(q, NULL, 0);
}

/* dev->lock. Nothing touches the ring or the tap any more on return. */
static void stop_queue(struct kvnet_queue *q)
{
	struct socket *old;

	kvnet_vq_lock(&q->vq);
	old = kvnet_queue_detach(q);
	mutex_unlock(&q->vq.lock);
	kvnet_tap_put(old);
}

/**
 * kvnet_queue_swap_kick() - exchange the eventfd that the driver kicks
 * @q: the queue
 * @file: the new one or NULL; on return the old one, which wakes nobody any more
 *
 * Context: may sleep; vq->lock.
 */
void kvnet_queue_swap_kick(struct kvnet_queue *q, struct file **file)
{
	kvnet_wait_stop(&q->kick_wait);
	swap(q->kick, *file);
	if (q->kick)
		kvnet_wait_start(&q->kick_wait, q->kick);
}

/* vq->lock. The new tap is watched, or all goes on as before; what was broken may be mended. */
static int start_with(struct kvnet_queue *q, struct socket *sock)
{
	int ret = kvnet_wait_check(sock->file);

	if (!ret)
		ret = kvnet_vq_start(&q->vq);
	/* To start may have taken long, and its device has gone meanwhile. */
	if (!ret && !kvnet_wait_change(&q->tap_wait, sock->file)) {
		if (!q->tap.sock)
			kvnet_vq_stop(&q->vq);
		ret = -EINVAL;
	}
	/* The start has told the driver not to kick, and the queue may rest. */
	if (ret)
		kvnet_source_wake(&q->src, KVNET_EV_CTRL);
	return ret;
}

/* dev->lock */
static int start_queue(struct kvnet_queue *q, struct socket *sock)
{
	int ret, ifindex = kvnet_tap_ifindex(sock);
	struct socket *old = NULL;

	kvnet_vq_lock(&q->vq);
	ret = q->abandoned ? -EIO : kvnet_vq_check(&q->vq);
	if (ret || sock == q->tap.sock)
		goto out;

	ret = start_with(q, sock);
	if (ret)
		goto out;
	old = swap_tap(q, sock, ifindex);
	sock = NULL;
out:
	mutex_unlock(&q->vq.lock);
	kvnet_tap_put(sock);
	kvnet_tap_put(old);
	return ret;
}

/* dev->lock. The old eventfd wakes the queue no more on return. */
static int set_kick(struct kvnet_queue *q, struct file *file)
{
	int ret = 0;

	kvnet_vq_lock(&q->vq);
	if (q->abandoned)
		ret = -EIO;
	else
		kvnet_queue_swap_kick(q, &file);
	mutex_unlock(&q->vq.lock);
	if (file)
		fput(file);
	return ret;
}

/**
 * kvnet_net_set_mem() - VHOST_SET_MEM_TABLE, at any time
 * @net: the device
 * @mem: the new table; the caller's reference is taken over on success
 *
 * The old table is not used any more on return.
 *
 * Context: dev->lock, of the owner.
 * Return: 0, or -EFAULT with nothing changed if the dirty log of a running queue
 * does not reach so far.
 */
int kvnet_net_set_mem(struct kvnet_net *net, struct kvnet_mem *mem)
{
	unsigned int i;

	lockdep_assert_held(&net->lock);
	for (i = 0; i < KVNET_QUEUES; i++)
		if (!kvnet_vq_mem_ok(&net->q[i].vq, mem))
			return -EFAULT;
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_set_mem(&net->q[i].vq, mem);
		kvnet_source_wake(&net->q[i].src, KVNET_EV_CTRL);
	}
	swap(net->mem, mem);
	kvnet_mem_put(mem);
	return 0;
}

/**
 * kvnet_net_set_addr() - VHOST_SET_VRING_ADDR, at any time
 * @net: the device
 * @index: the queue, in range
 * @a: addresses
 *
 * Context: dev->lock, of the owner.
 * Return: as kvnet_vq_set_addr().
 */
int kvnet_net_set_addr(struct kvnet_net *net, unsigned int index,
		       const struct vhost_vring_addr *a)
{
	struct kvnet_queue *q = &net->q[index];
	int ret = kvnet_vq_set_addr(&q->vq, a);

	lockdep_assert_held(&net->lock);
	/* It may have waited for an address of the old ring. */
	if (!ret)
		kvnet_source_wake(&q->src, KVNET_EV_CTRL);
	return ret;
}

/**
 * kvnet_net_set_kick() - VHOST_SET_VRING_KICK, at any time
 * @net: the device
 * @index: the queue, in range
 * @fd: eventfd, or VHOST_FILE_UNBIND
 *
 * Context: dev->lock, of the owner.
 * Return: 0, -EBADF or -EINVAL.
 */
int kvnet_net_set_kick(struct kvnet_net *net, unsigned int index, int fd)
{
	struct file *file = NULL;

	lockdep_assert_held(&net->lock);
	if (fd != VHOST_FILE_UNBIND) {
		file = eventfd_fget(fd);
		if (IS_ERR(file))
			return PTR_ERR(file);
	}
	return set_kick(&net->q[index], file);
}

/**
 * kvnet_net_set_backend() - VHOST_NET_SET_BACKEND, at any time
 * @net: the device
 * @index: the queue, in range
 * @fd: a tap, or VHOST_FILE_UNBIND, which cannot fail
 *
 * On return the old backend and, without a new one, the ring are not touched
 * any more. Frames that had been taken from the old tap are back in it.
 *
 * Context: dev->lock, of the owner.
 * Return: 0; -EFAULT if the queue is not set up; -ENOTSOCK if @fd is no tap;
 * -EINVAL for a tap without a device.
 */
int kvnet_net_set_backend(struct kvnet_net *net, unsigned int index, int fd)
{
	struct kvnet_queue *q = &net->q[index];
	struct socket *sock;
	int ret;

	lockdep_assert_held(&net->lock);
	if (fd == VHOST_FILE_UNBIND) {
		stop_queue(q);
		return 0;
	}
	kvnet_vq_lock(&q->vq);
	ret = kvnet_vq_check(&q->vq);
	mutex_unlock(&q->vq.lock);
	if (ret)
		return ret;
	sock = kvnet_tap_get(fd);
	if (IS_ERR(sock))
		return PTR_ERR(sock);
	ret = start_queue(q, sock);
	if (!ret)
		kvnet_source_wake(&q->src, KVNET_EV_CTRL);
	return ret;
}

/* VHOST_SET_VRING_BUSYLOOP_TIMEOUT, in us; 0: no spinning */
void kvnet_net_set_busy(struct kvnet_net *net, unsigned int index, u32 us)
{
	WRITE_ONCE(net->q[index].src.busy_us, us);
}

/**
 * kvnet_net_show() - print state and counters, for /proc/<pid>/fdinfo/<fd>
 * @net: the device
 * @m: where to
 *
 * Context: any process that may look; takes no lock.
 */
void kvnet_net_show(struct kvnet_net *net, struct seq_file *m)
{
	static const char * const name[] = { "kvnet.rx", "kvnet.tx" };
	static const char * const state[] = { "stopped", "running", "broken" };
	const char *what;
	struct kvnet_queue *q;
	unsigned int i;

	seq_printf(m, "kvnet.id:\t%u\n", READ_ONCE(net->listing.id));
	seq_printf(m, "kvnet.features:\t0x%llx\n",
		   READ_ONCE(net->features.word[0]));
	seq_printf(m, "kvnet.features_hi:\t0x%llx\n",
		   READ_ONCE(net->features.word[1]));
	for (i = 0; i < KVNET_QUEUES; i++) {
		q = &net->q[i];
		what = state[READ_ONCE(q->vq.state)];
		if (READ_ONCE(q->vq.missing))
			what = "waits for the IOMMU";
		seq_printf(m, "%s.state:\t%s\n", name[i], what);
		seq_printf(m, "%s.ring:\t%s\n", name[i],
			   READ_ONCE(q->vq.pin[0].charged) ? "pinned" : "user");
		seq_printf(m, "%s.kicks:\t%lu\n", name[i],
			   atomic_long_read(&q->src.kicks));
		seq_printf(m, "%s.wakes:\t%lu\n", name[i],
			   atomic_long_read(&q->src.wakes));
		seq_printf(m, "%s.polls_hit:\t%lu\n", name[i],
			   READ_ONCE(q->src.polls_hit));
		seq_printf(m, "%s.polls_missed:\t%lu\n", name[i],
			   READ_ONCE(q->src.polls_missed));
		kvnet_stats_show(m, name[i], &q->vq.stats);
	}
	seq_printf(m, "kvnet.pages:\t%u\n", READ_ONCE(net->resident.table.n));
	seq_printf(m, "kvnet.pages_taken:\t%lu\n",
		   READ_ONCE(net->resident.taken));
}
