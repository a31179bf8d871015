// SPDX-License-Identifier: GPL-2.0
/*
 * dev_owner.c - the owner of a device: SET_OWNER, RESET_OWNER, the owner's death
 *
 * The device refers to the owner's mm by mmgrab(), which does not keep the address space: the
 * memory of a killed owner is freed even if another process still holds the file open. Each
 * worker releases the tap, kick eventfds and pinned ring pages before it exits.
 */
#include <linux/errno.h>
#include <linux/file.h>
#include <linux/pid.h>
#include <linux/sched/mm.h>
#include <linux/vhost.h>

#include "kvnet.h"
#include "nl/netlink.h"

/* These may be the last references: call without vq->lock. */
static void put_tap_and_kick(struct socket *tap, struct file *kick)
{
	kvnet_tap_put(tap);
	if (kick)
		fput(kick);
}

/**
 * kvnet_dev_handle_owner_death() - release what a dead owner must not keep
 * @workers: the device's workers; they poll no more
 *
 * Another thread of the owner's process may still be in an ioctl: @owner_dead keeps it from
 * attaching a tap or an eventfd again.
 *
 * Context: each worker's thread, before it exits; takes vq->lock; may sleep.
 */
void kvnet_dev_handle_owner_death(struct kvnet_workers *workers)
{
	struct kvnet_net *net = container_of(workers, struct kvnet_net, workers);
	struct kvnet_queue *q;
	struct socket *tap;
	struct file *kick;

	/* kvnet_dev_stop() releases all of it. */
	if (READ_ONCE(workers->stopping))
		return;
	for (q = net->q; q < net->q + KVNET_QUEUES; q++) {
		kick = NULL;
		mutex_lock(&q->vq.lock);
		kvnet_vq_disable_softirq(&q->vq);
		WRITE_ONCE(q->owner_dead, true);
		/* Signals the error eventfd, which another process may poll. */
		kvnet_vq_break(&q->vq, -EOWNERDEAD);
		tap = kvnet_backend_detach(q);
		kvnet_backend_swap_kick(q, &kick);
		mutex_unlock(&q->vq.lock);
		put_tap_and_kick(tap, kick);
	}
}

/* Caller holds dev->lock and vq->lock; releases vq->lock. */
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
 * Caller holds dev->lock. On return no kick, tap or timer schedules a queue's work, neither vCPU
 * threads nor softirqs run it, and the registry does not find the device. Only the workers may
 * still poll; they find no backend.
 */
static void stop_and_unregister_dev(struct kvnet_net *net)
{
	unsigned int i;

	/* Before each vq->lock is taken, see notify_workers_started(). */
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
 * kvnet_dev_stop() - release everything of the owner's, for the last close
 * @net: the device, with or without an owner
 *
 * On return the tap, the eventfds, the pinned ring pages and the page cache are released, and no
 * kernel thread uses the owner's mm.
 *
 * Context: caller holds dev->lock; sleeps while a worker polls.
 */
void kvnet_dev_stop(struct kvnet_net *net)
{
	unsigned int i;

	/*
	 * Kill first: a kernel thread may hold vq->lock while it waits for a page (userfaultfd)
	 * that an exiting owner never delivers.
	 */
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
 * kvnet_dev_release_owner() - reset the device to its state after kvnet_dev_create()
 * @net: the device, stopped and unregistered, without registry readers
 *
 * Only the counters keep their values.
 *
 * Context: caller holds dev->lock; sleeps until the workers have exited.
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

/*
 * VHOST_RESET_OWNER, by the owner with dev->lock held. Sleeps until the registry readers are gone
 * and the workers have exited. Any process may become the owner after that.
 */
void kvnet_dev_reset_owner(struct kvnet_net *net)
{
	lockdep_assert_held(&net->lock);
	stop_and_unregister_dev(net);
	kvnet_registry_wait_for_readers(net);
	kvnet_dev_release_owner(net);
}

int kvnet_dev_check_owner(const struct kvnet_net *net)
{
	lockdep_assert_held(&net->lock);
	return net->mm && net->mm == current->mm ? 0 : -EPERM;
}

/*
 * The caller is a registry reader, which keeps the struct pid. A worker may set @owner_dead only
 * after waitpid() for the owner has returned: hence the check of the PID.
 */
bool kvnet_dev_owner_is_dead(const struct kvnet_net *net)
{
	return READ_ONCE(net->q[0].owner_dead) ||
	       !pid_has_task(net->registry.owner, PIDTYPE_TGID);
}

/**
 * kvnet_dev_set_owner() - VHOST_SET_OWNER: create the workers and register the device
 * @net: the device
 *
 * mmgrab() keeps the mm_struct, not the address space: the queues stop when the process exits.
 *
 * Context: caller holds dev->lock; may sleep.
 * Return: 0; -EBUSY if the device has an owner; -EAGAIN if a limit of tasks is reached;
 *	   -ERESTARTNOINTR if a signal is pending; or another -errno.
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
	/* From here on netlink callers see the device, and may set its policy. */
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

/* Caller holds dev->lock. -EOPNOTSUPP: this kernel has no vhost_task (before Linux 6.11). */
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
