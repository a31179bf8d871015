// SPDX-License-Identifier: GPL-2.0
/*
 * vq.c - a virtqueue's session, see vq.h
 */
#include "vq.h"

#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/uaccess.h>
#include <linux/vhost_types.h>

#include "trace.h"

/**
 * kvnet_vq_lock_killable() - take vq->lock to change the set-up
 * @vq: the queue
 * @subclass: for lockdep
 *
 * A worker may hold it while it waits for a page that only the owner can
 * deliver (userfaultfd). An owner that is killed does not, so a kernel thread
 * does not wait for it any more, either.
 *
 * Context: dev->lock.
 * Return: 0, or -EINTR if another process than the owner's is killed meanwhile.
 */
int kvnet_vq_lock_killable(struct kvnet_vq *vq, unsigned int subclass)
{
	struct kvnet_thread *worker = vq->worker;

	if (!mutex_lock_killable_nested(&vq->lock, subclass))
		goto out;
	if (worker && current->mm && current->mm != worker->mm)
		return -EINTR;
	/* A task of the owner's is killed with it. */
	if (worker && !worker->vtsk)
		kvnet_thread_kill(worker);
	mutex_lock_nested(&vq->lock, subclass);
out:
	kvnet_vq_disable_softirq(vq);
	kvnet_vq_send_pending_call(vq);
	return 0;
}

/**
 * kvnet_vq_lock() - take vq->lock to change the set-up, whatever happens
 * @vq: the queue
 *
 * Context: dev->lock; the owner, or nobody else knows the device.
 */
void kvnet_vq_lock(struct kvnet_vq *vq)
{
	if (!kvnet_vq_lock_killable(vq, 0))
		return;
	mutex_lock(&vq->lock);
	kvnet_vq_disable_softirq(vq);
	kvnet_vq_send_pending_call(vq);
}

/**
 * kvnet_vq_disable_softirq() - no session in a softirq from now on
 * @vq: the queue
 *
 * One that is under way is waited for: it is short. To be called by whoever has
 * taken vq->lock, before anything else.
 *
 * Context: vq->lock; process context.
 */
void kvnet_vq_disable_softirq(struct kvnet_vq *vq)
{
	lockdep_assert_held(&vq->lock);
	if (likely(!vq->softirq_enabled))
		return;
	spin_lock_bh(&vq->softirq_lock);
	vq->softirq_enabled = false;
	spin_unlock_bh(&vq->softirq_lock);
}

static void vq_enable_softirq(struct kvnet_vq *vq)
{
	vq->enable_softirq = false;
	/* Nobody has it while it is shut: who reads this finds all that is before it. */
	smp_store_release(&vq->softirq_enabled, true);
}

/**
 * kvnet_vq_freeze() - look at what belongs to sessions, without having one
 * @vq: the queue
 *
 * Nobody waits for the one who looks for longer than he looks.
 *
 * Context: process context. Takes vq->lock and vq->softirq_lock on success.
 * Return: true until kvnet_vq_unfreeze(); false: there is a session just now.
 */
bool kvnet_vq_freeze(struct kvnet_vq *vq)
{
	/* So that nothing keeps it from running with vq->lock, as of vq->softirq_lock. */
	local_bh_disable();
	if (!mutex_trylock(&vq->lock)) {
		local_bh_enable();
		return false;
	}
	spin_lock(&vq->softirq_lock);
	/* As in kvnet_vq_begin_softirq(). */
	__release(&vq->softirq_lock);
	return true;
}

/**
 * kvnet_vq_unfreeze() - seen enough
 * @vq: the queue
 *
 * Context: after kvnet_vq_freeze(). Releases vq->softirq_lock and vq->lock.
 */
void kvnet_vq_unfreeze(struct kvnet_vq *vq)
{
	__acquire(&vq->softirq_lock);
	spin_unlock(&vq->softirq_lock);
	mutex_unlock(&vq->lock);
	local_bh_enable();
}

/**
 * kvnet_vq_begin_softirq() - open a session in a softirq
 * @vq: the queue, held by the caller as a source
 *
 * Its ring is reached by loads and stores, with kicks off, and nothing is logged.
 * Chains are to be had by kvnet_vq_pop_push_single() only.
 *
 * Context: softirq. Takes vq->softirq_lock on success.
 * Return: true with a session; false: for the worker.
 */
bool kvnet_vq_begin_softirq(struct kvnet_vq *vq)
{
	if (!spin_trylock(&vq->softirq_lock))
		return false;
	if (unlikely(!smp_load_acquire(&vq->softirq_enabled))) {
		spin_unlock(&vq->softirq_lock);
		return false;
	}
	/* For sparse, which knows no lock that is had only at times. */
	__release(&vq->softirq_lock);
	return true;
}

/**
 * kvnet_vq_end_softirq() - close a session in a softirq
 * @vq: the queue; what was pushed has been flushed
 *
 * Context: softirq. Releases vq->softirq_lock.
 */
void kvnet_vq_end_softirq(struct kvnet_vq *vq)
{
	__acquire(&vq->softirq_lock);
	spin_unlock(&vq->softirq_lock);
}

/**
 * kvnet_vq_handle_error() - there is no going on
 * @vq: the queue
 * @err: why, -errno; -EAGAIN: till the VMM has answered an IOTLB miss; else it is
 *	 broken, and tries once more what broke it when it is set right
 *
 * Context: session, or what begins one.
 */
void kvnet_vq_handle_error(struct kvnet_vq *vq, int err)
{
	if (err != -EAGAIN) {
		kvnet_vq_break(vq, err);
		vq->retry = true;
		return;
	}
	WRITE_ONCE(vq->waits_vmm, true);
	kvnet_stats_inc(&vq->stats, KVNET_STAT_iotlb_misses);
	trace_kvnet_iotlb_miss(vq, vq->xlate.miss_addr, vq->xlate.miss_perm);
	kvnet_iotlb_miss_report(vq->iotlb_misses, vq->index, vq->xlate.miss_addr,
				vq->xlate.miss_perm);
}

/* What comes before the first verb of a session. */
static int prepare_ring(struct kvnet_vq *vq)
{
	int ret;

	if (!vq->has_areas) {
		ret = kvnet_vq_find_areas(vq);
		if (ret)
			return ret;
	}
	if (!vq->ring_started) {
		ret = kvnet_ring_start(&vq->ring);
		if (ret)
			return ret;
		vq->ring_started = true;
	}
	return kvnet_ring_kick_off(&vq->ring);
}

/**
 * kvnet_vq_begin() - open a session
 * @vq: the queue
 *
 * Context: the worker thread; may sleep. Takes vq->lock on success.
 * Return: true with a session and kicks off; false if the queue does not run,
 * or has to wait for an answer to an IOTLB miss.
 */
bool kvnet_vq_begin(struct kvnet_vq *vq)
{
	int ret;

	mutex_lock(&vq->lock);
	kvnet_vq_disable_softirq(vq);
	if (kvnet_vq_is_ready(vq)) {
		ret = prepare_ring(vq);
		if (!ret)
			return true;
		kvnet_vq_handle_error(vq, ret);
	}
	mutex_unlock(&vq->lock);
	return false;
}

/**
 * kvnet_vq_begin_vcpu() - open a session of a thread that must not wait for a page
 * @vq: the queue
 *
 * It may be the one that delivers the page (userfaultfd). An access that would have
 * to wait fails instead; what kvnet_vq_pop() cannot fetch so is left for the worker.
 *
 * Context: as kvnet_vq_begin(), in the owner's address space.
 * Return: true with a session and kicks off; false: for the worker.
 */
bool kvnet_vq_begin_vcpu(struct kvnet_vq *vq)
{
	if (!mutex_trylock(&vq->lock))
		return false;
	kvnet_vq_disable_softirq(vq);
	if (!kvnet_vq_may_inline(vq) || kvnet_ring_kick_off(&vq->ring)) {
		mutex_unlock(&vq->lock);
		return false;
	}
	vq->vcpu_session = true;
	pagefault_disable();
	return true;
}

/**
 * kvnet_vq_retry_miss() - a queue that may wait for the IOTLB has been woken
 * @vq: the queue, without a session
 *
 * A VMM that could not answer may be able to by now.
 *
 * Context: the worker thread; may sleep.
 */
void kvnet_vq_retry_miss(struct kvnet_vq *vq)
{
	mutex_lock(&vq->lock);
	if (vq->waits_vmm)
		kvnet_iotlb_miss_retry(vq->iotlb_misses, vq->index);
	mutex_unlock(&vq->lock);
}

/**
 * kvnet_vq_end() - publish what was pushed and close the session
 * @vq: the queue
 *
 * Context: the worker thread; may sleep. Releases vq->lock.
 */
void kvnet_vq_end(struct kvnet_vq *vq)
{
	int ret = 0;

	if (vq->n_used)
		kvnet_vq_flush(vq);
	if (unlikely(vq->log_used || kvnet_dirty_log_needs_end(&vq->dirty_log)))
		ret = kvnet_vq_end_dirty_log(vq);
	if (unlikely(ret))
		kvnet_vq_break(vq, ret);
	if (vq->vcpu_session)
		pagefault_enable();
	vq->vcpu_session = false;
	vq->may_defer_call = false;
	/* Of the session's, nothing may be touched after that. */
	if (vq->enable_softirq)
		vq_enable_softirq(vq);
	mutex_unlock(&vq->lock);
}

/**
 * kvnet_vq_break() - the driver broke the rules: stop here
 * @vq: the queue; one that does not run stays as it is
 * @err: how, -errno
 *
 * What was pushed before is still published by kvnet_vq_end(). In a softirq nothing
 * can break: whatever is not right there is left to a worker, which finds it again.
 *
 * Context: vq->lock, may sleep; no session of a softirq's.
 */
void kvnet_vq_break(struct kvnet_vq *vq, int err)
{
	lockdep_assert_held(&vq->lock);
	if (vq->state != KVNET_VQ_RUNNING)
		return;
	kvnet_vq_send_pending_call(vq);
	WRITE_ONCE(vq->error_code, err);
	WRITE_ONCE(vq->state, KVNET_VQ_BROKEN);
	vq->retry = false;
	kvnet_stats_inc(&vq->stats, KVNET_STAT_broken);
	trace_kvnet_vq_broken(vq, err);
	kvnet_eventfd_signal(vq->error);
	if (vq->on_broken)
		vq->on_broken(vq, err);
}

/**
 * kvnet_vq_count_drop() - count a packet that goes nowhere
 * @vq: the queue
 * @reason: a drop_* counter
 *
 * Context: vq->lock, or a session.
 */
void kvnet_vq_count_drop(struct kvnet_vq *vq, enum kvnet_stat reason)
{
	kvnet_vq_assert_session(vq);
	kvnet_stats_inc(&vq->stats, reason);
	trace_kvnet_drop(vq, reason);
}

/* Without an IOMMU the driver has said where a packet's buffers are for the guest. */
static int log_data_segs(struct kvnet_vq *vq, size_t len)
{
	unsigned int i;
	size_t part;
	int ret = 0;

	for (i = 0; i < vq->n_seg && len && !ret; i++, len -= part) {
		cond_resched();
		part = min_t(size_t, len, vq->seg[i].len);
		ret = kvnet_dirty_log_mark(&vq->dirty_log, vq->seg[i].addr, part);
	}
	return ret;
}

/* All regions of a table may be the same memory, each in a page of log of its own. */
static int log_data_iov(struct kvnet_vq *vq, size_t len)
{
	unsigned int i;
	size_t part;
	int ret = 0;

	for (i = 0; i < vq->n_iov && len && !ret; i++, len -= part) {
		cond_resched();
		part = min(len, vq->iov[i].iov_len);
		ret = kvnet_dirty_log_mark_hva(&vq->dirty_log, vq->xlate.mem,
					       (unsigned long)vq->iov[i].iov_base,
					       part);
	}
	return ret;
}

/**
 * kvnet_vq_log_write_slow() - kvnet_vq_log_write() of a queue with a dirty log
 * @vq: the queue
 * @len: as there
 *
 * Return: as there.
 */
int kvnet_vq_log_write_slow(struct kvnet_vq *vq, size_t len)
{
	int ret;

	lockdep_assert_held(&vq->lock);
	ret = vq->xlate.iotlb ? log_data_iov(vq, len) : log_data_segs(vq, len);
	if (ret)
		kvnet_vq_break(vq, ret);
	return ret;
}

/**
 * kvnet_vq_kick_on() - ask the driver for a kick
 * @vq: the queue
 *
 * Of those that come after the last look at the ring, by whomever: who has found nothing
 * does not look ahead again before it asks.
 *
 * Context: session; may sleep.
 * Return: 1 if more chains have come meanwhile, 0 if not, -errno: broken.
 */
int kvnet_vq_kick_on(struct kvnet_vq *vq)
{
	int ret;

	lockdep_assert_held(&vq->lock);
	ret = kvnet_ring_kick_on(&vq->ring);
	if (ret < 0)
		kvnet_vq_break(vq, ret);
	else
		trace_kvnet_vq_kick_on(vq);
	return ret;
}

/**
 * kvnet_vq_pending() - a quick look: has the driver added chains?
 * @vq: the queue, no session
 *
 * Context: the worker thread; may sleep in a page fault, not on the lock.
 * Return: true if so, or if someone holds the queue just now.
 */
bool kvnet_vq_pending(struct kvnet_vq *vq)
{
	bool ret;

	if (!mutex_trylock(&vq->lock))
		return true;
	ret = kvnet_vq_is_ready(vq) &&
	      (!vq->has_areas || kvnet_ring_pending(&vq->ring));
	mutex_unlock(&vq->lock);
	return ret;
}
