// SPDX-License-Identifier: GPL-2.0
/*
 * dev_owner.c - whose memory a device serves, from its becoming so to its death
 *
 * The device knows the owner's address space, but does not keep it alive: a
 * process that is killed takes its memory with it, also if somebody else still
 * has the device's file. What else it had, each worker gives back before it ends.
 */
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/vhost.h>

#include "kvnet.h"
#include "netlink.h"

/* Both may sleep, so not with vq->lock held. */
static void put_tap_and_kick(struct socket *tap, struct file *kick)
{
	kvnet_tap_put(tap);
	if (kick)
		fput(kick);
}

/**
 * kvnet_dev_handle_owner_death() - the owner is dead, and the workers serve no more
 * @workers: the device's workers
 *
 * What an owner that is dead must not keep is let go of. Other threads of its
 * process may be in an ioctl still, but start nothing again.
 *
 * Context: each worker's thread; may sleep.
 */
void kvnet_dev_handle_owner_death(struct kvnet_workers *workers)
{
	struct kvnet_net *net = container_of(workers, struct kvnet_net, workers);
	struct kvnet_queue *q;
	struct socket *tap;
	struct file *kick;

	/* The last close does all of it. */
	if (READ_ONCE(workers->stopping))
		return;
	for (q = net->q; q < net->q + KVNET_QUEUES; q++) {
		kick = NULL;
		mutex_lock(&q->vq.lock);
		kvnet_vq_disable_softirq(&q->vq);
		WRITE_ONCE(q->owner_dead, true);
		/* Others may watch the error eventfd. */
		kvnet_vq_break(&q->vq, -EOWNERDEAD);
		tap = kvnet_backend_detach(q);
		kvnet_backend_swap_kick(q, &kick);
		mutex_unlock(&q->vq.lock);
		put_tap_and_kick(tap, kick);
	}
}

/* dev->lock and vq->lock, which it releases. */
static void finish_queue_stop(struct kvnet_queue *q)
{
	struct file *kick = NULL;
	struct socket *tap;

	tap = kvnet_backend_detach(q);
	kvnet_backend_swap_kick(q, &kick);
	mutex_unlock(&q->vq.lock);
	put_tap_and_kick(tap, kick);
}

/*
 * Nothing comes from the driver or the tap any more, and operators find no device. Nothing
 * runs a queue from then on but its worker, which finds no backend. dev->lock.
 */
static void stop_and_unregister_dev(struct kvnet_net *net)
{
	unsigned int i;

	/* Before the locks, see notify_workers_started(). */
	WRITE_ONCE(net->workers.stopping, true);
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_lock(&net->q[i].vq);
		finish_queue_stop(&net->q[i]);
	}
	kvnet_workers_cancel_timers(&net->workers);
	kvnet_workers_cancel_inline(&net->workers);
	kvnet_netlink_notify_dev(net, KVNET_CMD_DEV_DEL_NTF);
	kvnet_registry_unregister(net);
}

/**
 * kvnet_dev_stop() - the last close: nothing of the owner's is used any more
 * @net: the device, with or without an owner
 *
 * Tap, eventfds, the pages of rings and the page cache are let go of. Kernel threads have
 * left the owner's memory.
 *
 * Context: may sleep, while a worker is at a queue; dev->lock.
 */
void kvnet_dev_stop(struct kvnet_net *net)
{
	unsigned int i;

	/* A kernel thread may wait for a page that an owner that exits does not deliver. */
	WRITE_ONCE(net->workers.stopping, true);
	kvnet_workers_kill(&net->workers);
	stop_and_unregister_dev(net);
	kvnet_page_cache_stop(&net->page_cache);
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_set_call(&net->q[i].vq, VHOST_FILE_UNBIND);
		kvnet_vq_set_error(&net->q[i].vq, VHOST_FILE_UNBIND);
	}
	kvnet_iommu_set_log_fd(net, VHOST_FILE_UNBIND);
	kvnet_workers_wait_unuse_mm(&net->workers);
}

/**
 * kvnet_dev_release_owner() - the device has no owner any more
 * @net: the device, stopped, which no operator looks at
 *
 * As after kvnet_dev_create(), but for the counters.
 *
 * Context: may sleep, until the workers have exited; dev->lock.
 */
void kvnet_dev_release_owner(struct kvnet_net *net)
{
	struct mm_struct *mm = net->mm;
	unsigned int i;

	kvnet_page_cache_stop(&net->page_cache);
	kvnet_workers_stop(&net->workers);
	kvnet_registry_release_entry(net);
	for (i = 0; i < KVNET_QUEUES; i++)
		net->q[i].vq.worker = NULL;
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_free(&net->q[i].vq);
		kvnet_vq_reset(&net->q[i].vq);
	}
	kvnet_ring_pin_put_account(&net->memlock);
	kvnet_memtable_put(net->mem);
	kvnet_eventfd_put(net->log_call);
	kvnet_iotlb_free(net->iotlb);
	kvnet_iotlb_miss_reset(&net->iotlb_misses, false);
	WRITE_ONCE(net->iotlb_misses.v2, false);
	net->mem = NULL;
	net->log_call = NULL;
	net->iotlb = NULL;
	WRITE_ONCE(net->mm, NULL);
	for (i = 0; i < KVNET_FEATURES_WORDS; i++)
		WRITE_ONCE(net->features.word[i], 0);
	kvnet_dev_reset_busy_poll(net);
	WRITE_ONCE(net->rx_direct, -1);
	WRITE_ONCE(net->fork_from_owner, kvnet_param_fork_from_owner());
	if (mm)
		mmdrop(mm);
}

/**
 * kvnet_dev_reset_owner() - VHOST_RESET_OWNER: give the device back
 * @net: the device
 *
 * Stops it and forgets all set-up; another process may become the owner.
 *
 * Context: dev->lock, of the owner; may sleep, until operators have looked and the workers
 *	    have exited.
 */
void kvnet_dev_reset_owner(struct kvnet_net *net)
{
	lockdep_assert_held(&net->lock);
	stop_and_unregister_dev(net);
	kvnet_registry_wait_for_readers(net);
	kvnet_dev_release_owner(net);
}

/**
 * kvnet_dev_check_owner() - is the caller the owner?
 * @net: the device
 *
 * Context: dev->lock.
 * Return: 0 or -EPERM.
 */
int kvnet_dev_check_owner(const struct kvnet_net *net)
{
	lockdep_assert_held(&net->lock);
	return net->mm && net->mm == current->mm ? 0 : -EPERM;
}

/**
 * kvnet_dev_owner_is_dead() - has the owner died?
 * @net: the device, of who has found it (registry.h)
 *
 * A worker takes notice a moment later than who waits for the process.
 *
 * Context: any.
 * Return: true if so: it serves nobody, nor will.
 */
bool kvnet_dev_owner_is_dead(const struct kvnet_net *net)
{
	return READ_ONCE(net->q[0].owner_dead) ||
	       !pid_has_task(net->registry.owner, PIDTYPE_TGID);
}

/**
 * kvnet_dev_set_owner() - VHOST_SET_OWNER: the caller's memory is served
 * @net: the device
 *
 * The device knows the address space from now on, but does not keep it alive:
 * it goes when the process goes, and the queues stop.
 *
 * Context: dev->lock.
 * Return: 0; -EBUSY if there is an owner; -EAGAIN beyond a limit of tasks;
 *	   -ERESTARTNOINTR: a signal comes first; or -errno.
 */
int kvnet_dev_set_owner(struct kvnet_net *net)
{
	struct mm_struct *mm = current->mm;
	int i, ret;

	lockdep_assert_held(&net->lock);
	if (net->mm)
		return -EBUSY;
	if (!mm)
		return -EINVAL;
	for (i = 0; i < KVNET_QUEUES; i++) {
		ret = kvnet_vq_alloc_arrays(&net->q[i].vq);
		if (ret)
			goto err_free;
		net->q[i].owner_dead = false;
	}
	ret = kvnet_page_cache_start(&net->page_cache, mm, READ_ONCE(kvnet_param_rx_inline));
	if (ret && ret != -EOPNOTSUPP)
		goto err_free;
	net->q[KVNET_RX].rx_usecs = min(READ_ONCE(kvnet_param_rx_usecs), 10000U);
	ret = kvnet_workers_start(&net->workers, mm, net->fork_from_owner,
				  READ_ONCE(kvnet_param_tx_inline),
				  net->page_cache.enabled);
	if (ret)
		goto err_page_cache;
	/* From now on others than the owner see it, and set what they like. */
	ret = kvnet_registry_register(net);
	if (ret)
		goto err_workers;
	for (i = 0; i < KVNET_QUEUES; i++)
		net->q[i].vq.worker = &net->workers.worker[i].thread;
	mmgrab(mm);
	WRITE_ONCE(net->mm, mm);
	if (READ_ONCE(kvnet_param_pin_rings))
		kvnet_ring_pin_get_account(&net->memlock, mm);
	kvnet_netlink_notify_dev(net, KVNET_CMD_DEV_ADD_NTF);
	kvnet_workers_note_started(net->workers.work[0]);
	return 0;

err_workers:
	kvnet_workers_stop(&net->workers);
err_page_cache:
	kvnet_page_cache_stop(&net->page_cache);
err_free:
	for (i = 0; i < KVNET_QUEUES; i++)
		kvnet_vq_free_arrays(&net->q[i].vq);
	return ret;
}

/**
 * kvnet_dev_set_fork_from_owner() - VHOST_SET_FORK_FROM_OWNER: what thread is made
 * @net: the device
 * @fork: one of the owner's process; else a kernel thread
 *
 * Context: dev->lock.
 * Return: 0; -EBUSY if there is an owner; -EOPNOTSUPP if the kernel cannot.
 */
int kvnet_dev_set_fork_from_owner(struct kvnet_net *net, bool fork)
{
	lockdep_assert_held(&net->lock);
	if (net->mm)
		return -EBUSY;
	if (fork && !kvnet_thread_has_vhost_task())
		return -EOPNOTSUPP;
	WRITE_ONCE(net->fork_from_owner, fork);
	return 0;
}
