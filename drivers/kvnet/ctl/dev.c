// SPDX-License-Identifier: GPL-2.0
/*
 * dev.c - the life of a device: creation, owner, stop, last close
 *
 * The device refers to the owner's mm by mmgrab(), which does not keep the address space: the
 * memory of a killed owner is freed even if another process still holds the file open. "The end"
 * of Documentation/worker.rst tells what is released when, and by which context. The work item of
 * the last close holds a module reference until it is done.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/poll.h>
#include <linux/sched/mm.h>
#include <linux/sched/vhost_task.h>
#include <linux/seq_file.h>
#include <linux/slab.h>
#include <linux/vhost.h>
#include <linux/workqueue.h>

#include "kvnet.h"
#include "nl/netlink.h"

/* A workqueue of its own, so that kvnet_dev_module_exit() can wait for the work items. */
static struct workqueue_struct *dev_release_wq;

static void init_dev_queue(struct kvnet_net *net, unsigned int index,
			   const struct kvnet_work_ops *ops, __poll_t tap_mask)
{
	struct kvnet_queue *q = &net->q[index];

	kvnet_vq_init(&q->vq, index, &net->workers.worker[index].thread, &net->iotlb_misses,
		      &net->memlock);
	q->vq.on_broken = kvnet_netlink_notify_queue_broken;
	spin_lock_init(&q->tap_info.lock);
	q->page_cache = &net->page_cache;
	kvnet_work_init(&q->work, &net->workers, ops);
	kvnet_watch_init(&q->kick_watch, &q->work, KVNET_EV_KICK, EPOLLIN);
	kvnet_watch_init(&q->tap_watch, &q->work, KVNET_EV_TAP, tap_mask);
}

/* What ioctls and netlink set, as it is before they do. */
static void reset_dev_settings(struct kvnet_net *net)
{
	unsigned int us = READ_ONCE(kvnet_param_poll_us);

	WRITE_ONCE(net->q[KVNET_RX].work.busy_poll_us, us);
	WRITE_ONCE(net->q[KVNET_TX].work.busy_poll_us, us);
	WRITE_ONCE(net->rx_direct, -1);
	WRITE_ONCE(net->shortcut, -1);
	WRITE_ONCE(net->fork_from_owner,
		   kvnet_param_fork_from_owner && COMPAT_HAVE_VHOST_TASK);
}

/*
 * References belong to the file, until release_closed_dev() has run, and to each task_work that
 * is pending. The device has no owner when the last one is dropped. Process context.
 */
void kvnet_dev_put(struct kvnet_net *net)
{
	if (refcount_dec_and_test(&net->refs))
		kvfree(net);
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
 * WORKERS_START_NTF must not follow DEV_DEL_NTF. stop_dev() begins to stop the threads, then takes
 * each vq->lock, and only then sends DEV_DEL_NTF: it waits for the notification here, or that the
 * thread is stopped is seen here.
 */
static void notify_workers_started(struct kvnet_work *work)
{
	struct mutex *lock = &kvnet_queue_of_work(work)->vq.lock;

	mutex_lock(lock);
	if (READ_ONCE(work->worker->thread.exiting) != KVNET_THREAD_STOPPED)
		kvnet_netlink_notify_dev(workers_to_net(work->workers),
					 KVNET_CMD_WORKERS_START_NTF);
	mutex_unlock(lock);
}

/*
 * Each worker calls it before it exits, unless stop_dev() has begun, which releases the same:
 * releases what a dead owner must not keep. Another thread of the owner's process may still be in
 * an ioctl: that the worker's thread exits keeps it from attaching a tap or an eventfd again. Takes
 * vq->lock; may sleep.
 */
static void handle_owner_death(struct kvnet_workers *workers)
{
	struct kvnet_net *net = workers_to_net(workers);
	struct kvnet_queue *q;

	for (q = net->q; q < net->q + KVNET_QUEUES; q++) {
		mutex_lock(&q->vq.lock);
		kvnet_vq_disable_softirq(&q->vq);
		kvnet_thread_note_owner_died(&q->work.worker->thread);
		/* Signals the error eventfd, which another process may poll. */
		kvnet_vq_break(&q->vq, -EOWNERDEAD);
		kvnet_backend_stop_and_unlock(q);
	}
}

/* Kernel threads do not exit with the owner's process. Atomic context, see on_mm_release. */
static void kill_workers_of_dead_mm(struct kvnet_page_cache *cache)
{
	kvnet_workers_kill(&container_of(cache, struct kvnet_net, page_cache)->workers);
}

static const struct kvnet_workers_ops dev_workers_ops = {
	.started = notify_workers_started,
	.owner_died = handle_owner_death,
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
	net->workers.ops = &dev_workers_ops;
	spin_lock_init(&net->page_cache.lock);
	net->page_cache.on_mm_release = kill_workers_of_dead_mm;
	init_dev_queue(net, KVNET_RX, &kvnet_rx_ops, EPOLLIN);
	init_dev_queue(net, KVNET_TX, &kvnet_tx_ops, EPOLLOUT);
	reset_dev_settings(net);
	return net;
}

int kvnet_dev_check_owner(const struct kvnet_net *net)
{
	lockdep_assert_held(&net->lock);
	return net->mm && net->mm == current->mm ? 0 : -EPERM;
}

/*
 * VHOST_SET_OWNER: creates the workers and registers the device. Caller holds net->lock; may
 * sleep. Returns 0; -EBUSY if the device has an owner; -EAGAIN if a limit of tasks is reached;
 * -ERESTARTNOINTR if a signal is pending; or another -errno.
 */
int kvnet_dev_set_owner(struct kvnet_net *net)
{
	struct mm_struct *mm = current->mm;
	int i, ret;

	lockdep_assert_held(&net->lock);
	if (net->mm)
		return -EBUSY;
	for (i = 0; i < KVNET_QUEUES; i++) {
		ret = kvnet_vq_alloc_arrays(&net->q[i].vq);
		if (ret)
			goto err_free;
	}
	/* The end of the owner's memory kills kernel threads, see kill_workers_of_dead_mm(). */
	if (!net->fork_from_owner)
		ret = kvnet_page_cache_start(&net->page_cache);
	if (ret)
		goto err_free;
	net->q[KVNET_RX].rx_usecs = min(READ_ONCE(kvnet_param_rx_usecs), 10000U);
	ret = kvnet_workers_start(&net->workers, mm, net->fork_from_owner,
				  READ_ONCE(kvnet_param_tx_inline),
				  READ_ONCE(kvnet_param_rx_inline) &&
				  kvnet_page_cache_is_supported());
	if (ret)
		goto err_page_cache;
	/* From here on netlink callers see the device, and may set its policy. */
	ret = kvnet_registry_register(net);
	if (ret)
		goto err_workers;
	mmgrab(mm);
	WRITE_ONCE(net->mm, mm);
	if (READ_ONCE(kvnet_param_pin_rings))
		kvnet_ring_pin_get_account(&net->memlock, mm);
	kvnet_netlink_notify_dev(net, KVNET_CMD_DEV_ADD_NTF);
	kvnet_workers_note_started(&net->q[KVNET_RX].work);
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

/*
 * Releases everything of the owner's; the device may have none. On return the tap, the eventfds,
 * the pinned ring pages and the page cache are released, no kernel thread uses the owner's mm,
 * and only the workers may still poll, without a backend. Caller holds net->lock; sleeps while a
 * worker polls.
 */
static void stop_dev(struct kvnet_net *net)
{
	struct kvnet_queue *q;

	/* Before each vq->lock is taken, see notify_workers_started(). */
	for (q = net->q; q < net->q + KVNET_QUEUES; q++)
		kvnet_thread_begin_stop(&q->work.worker->thread);
	/*
	 * A kernel thread may hold vq->lock while it waits for a page (userfaultfd) that an exiting
	 * owner never delivers.
	 */
	kvnet_workers_kill(&net->workers);
	for (q = net->q; q < net->q + KVNET_QUEUES; q++) {
		kvnet_vq_lock(&q->vq);
		q->vq.log_call = NULL;
		kvnet_backend_stop_and_unlock(q);
		kvnet_vq_set_eventfd(&q->vq, &q->vq.call, VHOST_FILE_UNBIND);
		kvnet_vq_set_eventfd(&q->vq, &q->vq.error, VHOST_FILE_UNBIND);
	}
	kvnet_eventfd_put(net->log_call);
	net->log_call = NULL;
	kvnet_workers_cancel_inline(&net->workers);
	kvnet_netlink_notify_dev(net, KVNET_CMD_DEV_DEL_NTF);
	kvnet_registry_unregister(net);
	kvnet_page_cache_stop(&net->page_cache);
	for (q = net->q; q < net->q + KVNET_QUEUES; q++)
		kvnet_thread_wait_unuse_mm(&q->work.worker->thread);
}

/*
 * After stop_dev(): back to the state after kvnet_dev_create(), but for the counters. Caller
 * holds net->lock; sleeps until the registry readers are gone and the workers have exited.
 */
static void release_owner(struct kvnet_net *net)
{
	struct mm_struct *mm = net->mm;
	unsigned int i;

	kvnet_registry_wait_for_readers(net);
	kvnet_workers_stop(&net->workers);
	kvnet_registry_release_entry(net);
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_free(&net->q[i].vq);
		kvnet_vq_reset(&net->q[i].vq);
	}
	kvnet_ring_pin_put_account(&net->memlock);
	kvnet_memtable_free(net->mem);
	kvnet_iotlb_free(net->iotlb);
	kvnet_iotlb_miss_reset(&net->iotlb_misses, false);
	WRITE_ONCE(net->iotlb_misses.v2, false);
	net->mem = NULL;
	net->iotlb = NULL;
	WRITE_ONCE(net->mm, NULL);
	for (i = 0; i < KVNET_FEATURES_WORDS; i++)
		WRITE_ONCE(net->features.word[i], 0);
	reset_dev_settings(net);
	if (mm)
		mmdrop(mm);
}

/* VHOST_RESET_OWNER, by the owner with net->lock held. Any process may be the next owner. */
void kvnet_dev_reset_owner(struct kvnet_net *net)
{
	lockdep_assert_held(&net->lock);
	stop_dev(net);
	release_owner(net);
}

static void release_closed_dev(struct work_struct *work)
{
	struct kvnet_net *net = container_of(work, struct kvnet_net, release_work);

	mutex_lock(&net->lock);
	release_owner(net);
	mutex_unlock(&net->lock);
	kvnet_dev_put(net);
	/* kvnet_dev_module_exit() waits until this function has returned. */
	module_put(THIS_MODULE);
}

/*
 * The last close of the file. Waits for a worker that polls, as vhost_net does. Takes net->lock.
 */
void kvnet_dev_close(struct kvnet_net *net)
{
	mutex_lock(&net->lock);
	stop_dev(net);
	mutex_unlock(&net->lock);
	__module_get(THIS_MODULE);
	INIT_WORK(&net->release_work, release_closed_dev);
	queue_work(dev_release_wq, &net->release_work);
}

int kvnet_dev_module_init(void)
{
	dev_release_wq = alloc_workqueue("kvnet", WQ_UNBOUND, WQ_MAX_ACTIVE);
	return dev_release_wq ? 0 : -ENOMEM;
}

/* A work item that has dropped its module reference may not have returned yet. */
void kvnet_dev_module_exit(void)
{
	destroy_workqueue(dev_release_wq);
}

/* /proc/PID/fdinfo/FD. Takes no lock: a holder of vq->lock may wait for a page of the VMM. */
void kvnet_dev_show_fdinfo(struct kvnet_net *net, struct seq_file *m)
{
	static const char * const name[] = { "kvnet.rx", "kvnet.tx" };
	static const char * const state[] = {
		[KVNET_VQ_STOPPED] = "stopped",
		[KVNET_VQ_READY] = "running",
		[KVNET_VQ_WAITS_IOTLB] = "waiting",
		[KVNET_VQ_WAITS_ADDR] = "waiting",
		[KVNET_VQ_BROKEN_RETRY] = "broken",
		[KVNET_VQ_BROKEN] = "broken",
	};
	struct kvnet_queue *q;
	unsigned int i;

	seq_printf(m, "kvnet.id:\t%u\n", READ_ONCE(net->registry.id));
	seq_printf(m, "kvnet.features:\t0x%llx\n", READ_ONCE(net->features.word[0]));
	seq_printf(m, "kvnet.features_hi:\t0x%llx\n", READ_ONCE(net->features.word[1]));
	for (i = 0; i < KVNET_QUEUES; i++) {
		q = &net->q[i];
		seq_printf(m, "%s.state:\t%s\n", name[i], state[READ_ONCE(q->vq.state)]);
		seq_printf(m, "%s.access:\t%s\n", name[i],
			   READ_ONCE(q->vq.pin[0].charged) ? "pinned" : "user");
		seq_printf(m, "%s.kicks:\t%lu\n", name[i], atomic_long_read(&q->work.kicks));
		seq_printf(m, "%s.wakeups:\t%lu\n", name[i], atomic_long_read(&q->work.wakeups));
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
