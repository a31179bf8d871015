// SPDX-License-Identifier: GPL-2.0
/*
 * owner.c - whose memory a device serves, from its becoming so to its death
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

#include "net.h"
#include "netlink.h"

/* Both may sleep, so not with vq->lock held. */
static void let_go(struct socket *tap, struct file *kick)
{
	kvnet_tap_put(tap);
	if (kick)
		fput(kick);
}

/**
 * kvnet_net_abandon() - the owner is dead, and the workers serve no more
 * @crew: the device's workers
 *
 * What an owner that is dead must not keep is let go of. Other threads of its
 * process may be in an ioctl still, but start nothing again.
 *
 * Context: each worker's thread; may sleep.
 */
void kvnet_net_abandon(struct kvnet_crew *crew)
{
	struct kvnet_net *net = container_of(crew, struct kvnet_net, crew);
	struct kvnet_queue *q;
	struct socket *tap;
	struct file *kick;

	/* The last close does all of it. */
	if (READ_ONCE(crew->stopping))
		return;
	for (q = net->q; q < net->q + KVNET_QUEUES; q++) {
		kick = NULL;
		mutex_lock(&q->vq.lock);
		kvnet_vq_shut(&q->vq);
		WRITE_ONCE(q->abandoned, true);
		/* Others may watch the error eventfd. */
		kvnet_vq_break(&q->vq, -EOWNERDEAD);
		tap = kvnet_queue_detach(q);
		kvnet_queue_swap_kick(q, &kick);
		mutex_unlock(&q->vq.lock);
		let_go(tap, kick);
	}
}

/* dev->lock and vq->lock, which it releases. */
static void stop(struct kvnet_queue *q)
{
	struct file *kick = NULL;
	struct socket *tap;

	tap = kvnet_queue_detach(q);
	kvnet_queue_swap_kick(q, &kick);
	mutex_unlock(&q->vq.lock);
	let_go(tap, kick);
}

/*
 * Nothing comes from the driver or the tap any more, and operators find no device. Nothing
 * runs a queue from then on but its worker, which finds no backend. dev->lock.
 */
static void quiesce(struct kvnet_net *net)
{
	unsigned int i;

	/* Before the locks, see tell_begun(). */
	WRITE_ONCE(net->crew.stopping, true);
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_lock(&net->q[i].vq);
		stop(&net->q[i]);
	}
	kvnet_crew_no_time(&net->crew);
	kvnet_crew_call_off(&net->crew);
	kvnet_event_dev(net, KVNET_CMD_DEV_DEL_NTF);
	kvnet_registry_hide(net);
}

/**
 * kvnet_net_stop() - the last close: nothing of the owner's is used any more
 * @net: the device, with or without an owner
 *
 * Tap, eventfds, the pages of rings and the page cache are let go of. Kernel threads have
 * left the owner's memory.
 *
 * Context: may sleep, while a worker is at a queue; dev->lock.
 */
void kvnet_net_stop(struct kvnet_net *net)
{
	unsigned int i;

	/* A kernel thread may wait for a page that an owner that exits does not deliver. */
	WRITE_ONCE(net->crew.stopping, true);
	kvnet_crew_kill(&net->crew);
	quiesce(net);
	kvnet_resident_stop(&net->resident);
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_set_call(&net->q[i].vq, VHOST_FILE_UNBIND);
		kvnet_vq_set_error(&net->q[i].vq, VHOST_FILE_UNBIND);
	}
	kvnet_net_set_log_fd(net, VHOST_FILE_UNBIND);
	kvnet_crew_leave_memory(&net->crew);
}

/**
 * kvnet_net_release_owner() - the device has no owner any more
 * @net: the device, stopped, which no operator looks at
 *
 * As after kvnet_net_create(), but for the counters.
 *
 * Context: may sleep, until the workers have exited; dev->lock.
 */
void kvnet_net_release_owner(struct kvnet_net *net)
{
	struct mm_struct *mm = net->mm;
	unsigned int i;

	kvnet_resident_stop(&net->resident);
	kvnet_crew_stop(&net->crew);
	kvnet_registry_del(net);
	for (i = 0; i < KVNET_QUEUES; i++)
		net->q[i].vq.worker = NULL;
	for (i = 0; i < KVNET_QUEUES; i++) {
		kvnet_vq_free(&net->q[i].vq);
		kvnet_vq_reset(&net->q[i].vq);
	}
	kvnet_payer_put(&net->payer);
	kvnet_mem_put(net->mem);
	kvnet_eventfd_put(net->log_call);
	kvnet_iotlb_free(net->iotlb);
	kvnet_misses_set(&net->misses, false);
	WRITE_ONCE(net->misses.v2, false);
	net->mem = NULL;
	net->log_call = NULL;
	net->iotlb = NULL;
	WRITE_ONCE(net->mm, NULL);
	for (i = 0; i < KVNET_FEATURE_WORDS; i++)
		WRITE_ONCE(net->features.word[i], 0);
	kvnet_net_reset_busy(net);
	WRITE_ONCE(net->copies, -1);
	WRITE_ONCE(net->fork, kvnet_fork_default());
	if (mm)
		mmdrop(mm);
}

/**
 * kvnet_net_reset_owner() - VHOST_RESET_OWNER: give the device back
 * @net: the device
 *
 * Stops it and forgets all set-up; another process may become the owner.
 *
 * Context: dev->lock, of the owner; may sleep, until operators have looked and the workers
 *	    have exited.
 */
void kvnet_net_reset_owner(struct kvnet_net *net)
{
	lockdep_assert_held(&net->lock);
	quiesce(net);
	kvnet_registry_wait(net);
	kvnet_net_release_owner(net);
}

/**
 * kvnet_net_check_owner() - is the caller the owner?
 * @net: the device
 *
 * Context: dev->lock.
 * Return: 0 or -EPERM.
 */
int kvnet_net_check_owner(const struct kvnet_net *net)
{
	lockdep_assert_held(&net->lock);
	return net->mm && net->mm == current->mm ? 0 : -EPERM;
}

/**
 * kvnet_net_orphaned() - has the owner died?
 * @net: the device, of who has found it (registry.h)
 *
 * A worker takes notice a moment later than who waits for the process.
 *
 * Context: any.
 * Return: true if so: it serves nobody, nor will.
 */
bool kvnet_net_orphaned(const struct kvnet_net *net)
{
	return READ_ONCE(net->q[0].abandoned) ||
	       !pid_has_task(net->listing.owner, PIDTYPE_TGID);
}

/**
 * kvnet_net_set_owner() - VHOST_SET_OWNER: the caller's memory is served
 * @net: the device
 *
 * The device knows the address space from now on, but does not keep it alive:
 * it goes when the process goes, and the queues stop.
 *
 * Context: dev->lock.
 * Return: 0; -EBUSY if there is an owner; -EAGAIN beyond a limit of tasks;
 *	   -ERESTARTNOINTR: a signal comes first; or -errno.
 */
int kvnet_net_set_owner(struct kvnet_net *net)
{
	struct mm_struct *mm = current->mm;
	int i, ret;

	lockdep_assert_held(&net->lock);
	if (net->mm)
		return -EBUSY;
	if (!mm)
		return -EINVAL;
	for (i = 0; i < KVNET_QUEUES; i++) {
		ret = kvnet_vq_alloc(&net->q[i].vq);
		if (ret)
			goto err_free;
		net->q[i].abandoned = false;
	}
	ret = kvnet_resident_start(&net->resident, mm, READ_ONCE(kvnet_rx_in_place));
	if (ret && ret != -EOPNOTSUPP)
		goto err_free;
	net->q[KVNET_RX].look_us = min(READ_ONCE(kvnet_rx_look_us), 10000U);
	ret = kvnet_crew_start(&net->crew, mm, net->fork,
			       READ_ONCE(kvnet_tx_by_vcpu),
			       net->resident.watching);
	if (ret)
		goto err_watch;
	/* From now on others than the owner see it, and set what they like. */
	ret = kvnet_registry_add(net);
	if (ret)
		goto err_crew;
	for (i = 0; i < KVNET_QUEUES; i++)
		net->q[i].vq.worker = &net->crew.worker[i].thread;
	mmgrab(mm);
	WRITE_ONCE(net->mm, mm);
	if (READ_ONCE(kvnet_pin_rings))
		kvnet_payer_get(&net->payer, mm);
	kvnet_event_dev(net, KVNET_CMD_DEV_ADD_NTF);
	kvnet_crew_has_begun(net->crew.source[0]);
	return 0;

err_crew:
	kvnet_crew_stop(&net->crew);
err_watch:
	kvnet_resident_stop(&net->resident);
err_free:
	for (i = 0; i < KVNET_QUEUES; i++)
		kvnet_vq_unalloc(&net->q[i].vq);
	return ret;
}

/**
 * kvnet_net_set_fork() - VHOST_SET_FORK_FROM_OWNER: what thread is made
 * @net: the device
 * @fork: one of the owner's process; else a kernel thread
 *
 * Context: dev->lock.
 * Return: 0; -EBUSY if there is an owner; -EOPNOTSUPP if the kernel cannot.
 */
int kvnet_net_set_fork(struct kvnet_net *net, bool fork)
{
	lockdep_assert_held(&net->lock);
	if (net->mm)
		return -EBUSY;
	if (fork && !kvnet_thread_has_tasks())
		return -EOPNOTSUPP;
	WRITE_ONCE(net->fork, fork);
	return 0;
}
