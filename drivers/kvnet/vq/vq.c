// SPDX-License-Identifier: GPL-2.0
/*
 * vq.c - state, locks, areas, sessions and flush of a virtqueue, see vq.h
 *
 * Two locks guard a session: vq->lock for threads, vq->softirq_lock for softirqs, which cannot
 * take a mutex. A thread that takes vq->lock for a session or for setup disables softirq
 * sessions first, and waits for one that is open. The end of a session enables them again, if
 * a softirq may serve the next event.
 *
 * The ring's areas are resolved once: when the queue starts or, behind an IOMMU, by the first
 * session. If possible their pages are pinned and mapped into the kernel, so that ring accesses
 * cannot fault. A change of addresses, memory table or translations releases them; the next
 * session resolves them again.
 */
#include "vq.h"

#include <linux/errno.h>
#include <linux/sched.h>
#include <linux/vhost_types.h>

#include "obs/trace.h"

#define WAITING_STATES	(BIT(KVNET_VQ_WAITS_IOTLB) | BIT(KVNET_VQ_WAITS_ADDR))
#define RUNNING_STATES	(BIT(KVNET_VQ_READY) | WAITING_STATES)
#define BROKEN_STATES	(BIT(KVNET_VQ_BROKEN_RETRY) | BIT(KVNET_VQ_BROKEN))

/* In the states @from, the event changes the state to @to. */
static const struct {
	u8 from;
	u8 to;
} transitions[] = {
	[KVNET_VQ_ON_START] = { BIT(KVNET_VQ_STOPPED) | BROKEN_STATES, KVNET_VQ_READY },
	[KVNET_VQ_ON_STOP] = { RUNNING_STATES | BROKEN_STATES, KVNET_VQ_STOPPED },
	[KVNET_VQ_ON_MISS] = { BIT(KVNET_VQ_READY), KVNET_VQ_WAITS_IOTLB },
	[KVNET_VQ_ON_ANSWER] = { BIT(KVNET_VQ_WAITS_IOTLB), KVNET_VQ_READY },
	[KVNET_VQ_ON_IOMMU] = { RUNNING_STATES | BIT(KVNET_VQ_BROKEN_RETRY), KVNET_VQ_WAITS_ADDR },
	[KVNET_VQ_ON_ADDR] = { WAITING_STATES, KVNET_VQ_READY },
	[KVNET_VQ_ON_MEMTABLE] = { BIT(KVNET_VQ_BROKEN_RETRY), KVNET_VQ_READY },
	[KVNET_VQ_ON_BAD_CHAIN] = { RUNNING_STATES, KVNET_VQ_BROKEN_RETRY },
	[KVNET_VQ_ON_BREAK] = { RUNNING_STATES, KVNET_VQ_BROKEN },
};

static bool event_changes_state(const struct kvnet_vq *vq, enum kvnet_vq_event event)
{
	return BIT(vq->state) & transitions[event].from;
}

/* vq->lock, with softirq sessions disabled. The only function that changes the state. */
void kvnet_vq_change_state(struct kvnet_vq *vq, enum kvnet_vq_event event)
{
	lockdep_assert_held(&vq->lock);
	if (!event_changes_state(vq, event))
		return;
	if (vq->state == KVNET_VQ_WAITS_IOTLB)
		kvnet_iotlb_miss_cancel(vq->iotlb_misses, vq->index);
	WRITE_ONCE(vq->state, transitions[event].to);
}

static void break_queue(struct kvnet_vq *vq, int err, enum kvnet_vq_event event)
{
	lockdep_assert_held(&vq->lock);
	if (!event_changes_state(vq, event))
		return;
	kvnet_vq_send_pending_call(vq);
	WRITE_ONCE(vq->error_code, err);
	kvnet_vq_change_state(vq, event);
	kvnet_stats_inc(&vq->stats, KVNET_STAT_broken);
	trace_kvnet_vq_broken(vq, err);
	kvnet_eventfd_signal(vq->error);
	vq->on_broken(vq, err);
}

/*
 * An error stops the queue, if it runs. What was pushed before is still flushed by
 * kvnet_vq_end(). vq->lock; may sleep. Never from a softirq session: a softirq leaves what it
 * finds wrong to the worker, which finds it again and breaks the queue.
 */
void kvnet_vq_break(struct kvnet_vq *vq, int err)
{
	break_queue(vq, err, KVNET_VQ_ON_BREAK);
}

static void begin_setup(struct kvnet_vq *vq)
{
	kvnet_vq_disable_softirq(vq);
	kvnet_vq_send_pending_call(vq);
}

/**
 * kvnet_vq_lock_killable() - take vq->lock to change the setup
 * @vq: the queue
 * @subclass: for lockdep, when the locks of all queues are taken
 *
 * The holder may be a worker that waits for a page which only the owner can provide
 * (userfaultfd), and never does if it is killed. A vhost_task is killed with the owner; a
 * worker that is a kernel thread is killed here, so that its page fault ends.
 *
 * Context: net->lock; may sleep. Takes vq->lock on success, with softirq sessions disabled.
 * Return: 0; -EINTR if the caller is killed and is not the owner.
 */
int kvnet_vq_lock_killable(struct kvnet_vq *vq, unsigned int subclass)
{
	struct kvnet_thread *worker = vq->worker;

	if (!mutex_lock_killable_nested(&vq->lock, subclass))
		goto out;
	if (worker->mm && current->mm && current->mm != worker->mm)
		return -EINTR;
	if (worker->mm && !worker->vtsk)
		kvnet_thread_kill(worker);
	mutex_lock_nested(&vq->lock, subclass);
out:
	begin_setup(vq);
	return 0;
}

/*
 * Takes vq->lock to change the setup; cannot fail. With net->lock held, by the owner or from
 * the last close on; or before the device is published. May sleep. On return softirq sessions are
 * disabled, and a deferred call has been made.
 */
void kvnet_vq_lock(struct kvnet_vq *vq)
{
	if (!kvnet_vq_lock_killable(vq, 0))
		return;
	mutex_lock(&vq->lock);
	begin_setup(vq);
}

/*
 * vq->lock, process context. To be called when vq->lock has been taken for a session or for
 * setup, before any session field is touched. Waits for an open softirq session, which is
 * short.
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

/*
 * Keeps out sessions, so that netlink can read session fields. Process context; does not wait
 * for vq->lock, and returns false if it is contended. On success the caller holds vq->lock
 * and vq->softirq_lock, must not sleep, and calls kvnet_vq_unfreeze() soon.
 */
bool kvnet_vq_freeze(struct kvnet_vq *vq)
{
	/*
	 * Before vq->lock: neither a softirq nor preemption may delay the caller while it holds
	 * the lock that the worker waits for.
	 */
	local_bh_disable();
	if (!mutex_trylock(&vq->lock)) {
		local_bh_enable();
		return false;
	}
	spin_lock(&vq->softirq_lock);
	/* For sparse, as in kvnet_vq_begin_softirq(). */
	__release(&vq->softirq_lock);
	return true;
}

void kvnet_vq_unfreeze(struct kvnet_vq *vq)
{
	__acquire(&vq->softirq_lock);
	spin_unlock(&vq->softirq_lock);
	mutex_unlock(&vq->lock);
	local_bh_enable();
}

/*
 * Opens a session in a softirq, which runs the queue's work. The ring is pinned and there is no
 * dirty log, as checked when the last session enabled this. Chains are popped by
 * kvnet_vq_pop_push_single() only. Takes vq->softirq_lock on success; false: leave the work to
 * the worker.
 */
bool kvnet_vq_begin_softirq(struct kvnet_vq *vq)
{
	if (!spin_trylock(&vq->softirq_lock))
		return false;
	/* Pairs with smp_store_release() in kvnet_vq_end(). */
	if (unlikely(!smp_load_acquire(&vq->softirq_enabled))) {
		spin_unlock(&vq->softirq_lock);
		return false;
	}
	/* For sparse, which cannot follow a conditionally taken lock. */
	__release(&vq->softirq_lock);
	return true;
}

/* Without a flush: the softirq has flushed what it pushed. */
void kvnet_vq_end_softirq(struct kvnet_vq *vq)
{
	__acquire(&vq->softirq_lock);
	spin_unlock(&vq->softirq_lock);
}

static int resolve_area(struct kvnet_vq *vq, struct kvnet_area *area, u64 addr, u8 perm,
			size_t size)
{
	if (vq->xlate.iotlb)
		return kvnet_xlate_area(&vq->xlate, addr, perm, size, area);
	area->base = kvnet_vq_user_area(addr, size);
	area->len = size;
	area->n = 0;
	return area->base ? 0 : -EFAULT;
}

/* Best effort: pins all areas or none, so that a queue is either pinned or not. */
static void pin_ring_areas(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	if (!vq->memlock->mm)
		return;
	/*
	 * Alignment for the largest access: a descriptor is loaded as two u64. For the other
	 * areas kvnet_vq_set_addr() has checked it, but behind an IOMMU of the IOVA only.
	 */
	if (kvnet_ring_pin_area(&vq->pin[0], &r->desc, sizeof(u64), vq->memlock) &&
	    kvnet_ring_pin_area(&vq->pin[1], &r->avail, VRING_AVAIL_ALIGN_SIZE, vq->memlock) &&
	    kvnet_ring_pin_area(&vq->pin[2], &r->used, VRING_USED_ALIGN_SIZE, vq->memlock))
		return;
	kvnet_ring_pin_release(&vq->pin[0], &r->desc, vq->memlock);
	kvnet_ring_pin_release(&vq->pin[1], &r->avail, vq->memlock);
}

/* vq->lock; may sleep. */
void kvnet_vq_release_areas(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;

	vq->has_areas = false;
	kvnet_ring_pin_release(&vq->pin[0], &r->desc, vq->memlock);
	kvnet_ring_pin_release(&vq->pin[1], &r->avail, vq->memlock);
	kvnet_ring_pin_release(&vq->pin[2], &r->used, vq->memlock);
}

/*
 * The areas are released: resolves them, pins them if possible, and starts the ring. vq->lock,
 * in the owner's address space: the worker, or without an IOMMU the owner; may sleep. Returns
 * 0, with kicks off; -EFAULT for an address that is not the owner's; -EAGAIN for an IOTLB miss;
 * or as kvnet_xlate_area() and kvnet_ring_start().
 */
int kvnet_vq_open_ring(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;
	int ret;

	lockdep_assert_held(&vq->lock);
	ret = resolve_area(vq, &r->desc, vq->addr.desc_user_addr,
			   r->packed ? VHOST_ACCESS_RW : VHOST_ACCESS_RO, kvnet_ring_desc_size(r));
	if (!ret)
		ret = resolve_area(vq, &r->avail, vq->addr.avail_user_addr, VHOST_ACCESS_RO,
				   kvnet_ring_avail_size(r));
	if (!ret)
		ret = resolve_area(vq, &r->used, vq->addr.used_user_addr, VHOST_ACCESS_WO,
				   kvnet_ring_used_size(r));
	if (ret)
		return ret;
	pin_ring_areas(vq);
	ret = kvnet_ring_start(r);
	if (ret)
		kvnet_vq_release_areas(vq);
	vq->has_areas = !ret;
	return ret;
}

/*
 * vq->lock. A session, or its beginning, failed with @err, with the chain still in the ring.
 * -EAGAIN: an IOTLB miss, wait for the VMM, whose readers the caller wakes when it has added all
 * misses. Else the queue is broken.
 */
void kvnet_vq_handle_error(struct kvnet_vq *vq, int err)
{
	if (err != -EAGAIN) {
		break_queue(vq, err, KVNET_VQ_ON_BAD_CHAIN);
		return;
	}
	kvnet_vq_change_state(vq, KVNET_VQ_ON_MISS);
	kvnet_stats_inc(&vq->stats, KVNET_STAT_iotlb_misses);
	trace_kvnet_iotlb_miss(vq, vq->xlate.miss_addr, vq->xlate.miss_perm);
	kvnet_iotlb_miss_add(vq->iotlb_misses, vq->index, vq->xlate.miss_addr,
			     vq->xlate.miss_perm);
}

/*
 * Opens a session of the worker, which uses the owner's mm; may sleep. Takes vq->lock on
 * success, with kicks off and softirq sessions disabled; false: the queue does not run, or
 * waits for the VMM.
 */
bool kvnet_vq_begin(struct kvnet_vq *vq)
{
	int ret;

	mutex_lock(&vq->lock);
	kvnet_vq_disable_softirq(vq);
	if (kvnet_vq_is_ready(vq)) {
		ret = vq->has_areas ? kvnet_ring_kick_off(&vq->ring) : kvnet_vq_open_ring(vq);
		if (!ret)
			return true;
		kvnet_vq_handle_error(vq, ret);
		kvnet_iotlb_miss_wake_readers(vq->iotlb_misses);
	}
	mutex_unlock(&vq->lock);
	return false;
}

/*
 * Opens a session of a vCPU thread, in task_work. The thread may be the one that would resolve
 * a page fault (userfaultfd), so it must not wait for one: page faults are disabled during the
 * session, and a chain that kvnet_vq_pop() cannot access stays in the ring, for the worker.
 * Takes vq->lock on success, with kicks off; false: leave the work to the worker.
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
	pagefault_disable();
	return true;
}

/*
 * No session; worker thread; may sleep. Called when a poll finds no session: if the queue
 * waits for IOTLB misses, report them to the VMM again after a while. Returns true if it need
 * not wait for those that are left: poll again.
 */
bool kvnet_vq_retry_miss(struct kvnet_vq *vq)
{
	bool ready;

	mutex_lock(&vq->lock);
	ready = vq->state == KVNET_VQ_WAITS_IOTLB &&
		kvnet_iotlb_miss_retry(vq->iotlb_misses, vq->index);
	if (ready)
		kvnet_vq_change_state(vq, KVNET_VQ_ON_ANSWER);
	mutex_unlock(&vq->lock);
	return ready;
}

/**
 * kvnet_vq_end() - close a session of a worker or vCPU thread
 * @vq: the queue
 * @enable_softirq: softirqs may open sessions from now on; the poll is complete. A softirq that
 *	ran between the completion and this call has left the work to the worker
 *
 * Flushes what was pushed, and ends the batch of dirty logging.
 *
 * Context: session of a thread; may sleep. Releases vq->lock.
 */
void kvnet_vq_end(struct kvnet_vq *vq, bool enable_softirq)
{
	int ret = 0;

	if (vq->n_used)
		kvnet_vq_flush(vq, false);
	if (unlikely(kvnet_vq_logs_ring(vq) ||
		     kvnet_features_has(&vq->features, VHOST_F_LOG_ALL)))
		ret = kvnet_vq_end_dirty_log(vq);
	if (unlikely(ret))
		kvnet_vq_break(vq, ret);
	if (kvnet_vq_in_vcpu_session())
		pagefault_enable();
	/*
	 * No session field may be accessed after this. Pairs with smp_load_acquire() in
	 * kvnet_vq_begin_softirq(): the softirq sees all that this session has written.
	 */
	if (enable_softirq)
		smp_store_release(&vq->softirq_enabled, true);
	mutex_unlock(&vq->lock);
}

void kvnet_vq_count_drop(struct kvnet_vq *vq, enum kvnet_stat reason)
{
	kvnet_vq_assert_session(vq);
	kvnet_stats_inc(&vq->stats, reason);
	trace_kvnet_drop(vq, reason);
}

/*
 * Without an IOMMU the segments are guest-physical, as the log is. Behind an IOMMU: from HVA back
 * to guest-physical; many regions of the memory table may map the same HVA, and the bit of each is
 * set.
 */
int kvnet_vq_log_write_slow(struct kvnet_vq *vq, size_t len)
{
	const bool by_hva = vq->xlate.iotlb;
	unsigned int i, n = by_hva ? vq->n_iov : vq->n_seg;
	size_t part;
	int ret = 0;

	lockdep_assert_held(&vq->lock);
	for (i = 0; i < n && len && !ret; i++, len -= part) {
		cond_resched();
		part = min_t(size_t, len, by_hva ? vq->iov[i].iov_len : vq->seg[i].len);
		if (by_hva)
			ret = kvnet_dirty_log_mark_hva(&vq->dirty_log, vq->xlate.mem,
						       (unsigned long)vq->iov[i].iov_base, part);
		else
			ret = kvnet_dirty_log_mark(&vq->dirty_log, vq->seg[i].addr, part);
	}
	if (ret)
		kvnet_vq_break(vq, ret);
	return ret;
}

/*
 * Asks the driver for a kick, and checks for chains once more (pair C). The driver kicks for
 * chains beyond those that the ring has observed, popped or not: a poll that found the ring
 * empty must not read ahead again before it asks. Session of a thread; may sleep. Returns 1 if
 * chains arrived meanwhile, 0 if not, -errno: the queue is broken.
 */
int kvnet_vq_kick_on(struct kvnet_vq *vq)
{
	int ret;

	lockdep_assert_held(&vq->lock);
	ret = kvnet_ring_kick_on(&vq->ring);
	if (ret < 0)
		kvnet_vq_break(vq, ret);
	return ret;
}

/*
 * Hint for busy polling, without a session: has the driver added chains? Worker thread; does
 * not wait for vq->lock (true if it is contended), but may sleep in a page fault.
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

/*
 * Marks all of an area that the device writes. Without an IOMMU the VMM has set the guest-physical
 * address of the device area (log_guest_addr). For all else the memory table translates from HVA
 * to guest-physical.
 */
static int log_area(struct kvnet_vq *vq, const struct kvnet_area *a)
{
	void __user *p;
	u32 off, part;
	int ret = 0;

	if (!vq->xlate.iotlb && a == &vq->ring.used)
		return kvnet_dirty_log_mark(&vq->dirty_log, vq->addr.log_guest_addr, a->len);
	for (off = 0; off < a->len && !ret; off += part) {
		part = a->len;
		p = kvnet_area_find(a, off, &part);
		if (!p)
			return -EFAULT;
		ret = kvnet_dirty_log_mark_hva(&vq->dirty_log, vq->xlate.mem,
					       (unsigned long)p, part);
	}
	return ret;
}

static noinline int log_ring_areas(struct kvnet_vq *vq)
{
	struct kvnet_ring *r = &vq->ring;
	int ret = r->wrote_used ? log_area(vq, &r->used) : 0;

	if (!ret && r->wrote_desc)
		ret = log_area(vq, &r->desc);
	r->wrote_used = false;
	r->wrote_desc = false;
	return ret;
}

static int log_ring_writes(struct kvnet_vq *vq)
{
	return likely(!kvnet_vq_logs_ring(vq)) ? 0 : log_ring_areas(vq);
}

/*
 * At the end of a session, and when the queue starts: logs the last writes to the ring, unpins
 * the current page of the log, and signals log_call if bits were set. vq->lock; may sleep.
 * Returns -EFAULT if the log is not accessible.
 */
int kvnet_vq_end_dirty_log(struct kvnet_vq *vq)
{
	int ret = log_ring_writes(vq);

	lockdep_assert_held(&vq->lock);
	if (kvnet_dirty_log_end(&vq->dirty_log))
		kvnet_eventfd_signal(vq->log_call);
	return ret;
}

static bool call_driver(struct kvnet_vq *vq, unsigned int n, bool should_call)
{
	vq->call_pending = false;
	kvnet_stats_inc(&vq->stats, should_call ? KVNET_STAT_calls :
					    KVNET_STAT_calls_suppressed);
	trace_kvnet_flush(vq, n, should_call);
	if (should_call)
		kvnet_eventfd_signal(vq->call);
	return should_call;
}

/*
 * Makes the deferred call, if one is pending, unless the driver has consumed the used buffers
 * by itself meanwhile. vq->lock, or any session. Returns true if the driver was called.
 */
bool kvnet_vq_send_pending_call(struct kvnet_vq *vq)
{
	kvnet_vq_assert_session(vq);
	if (likely(!vq->call_pending))
		return false;
	/* Outside of the owner's address space only a mapped ring can be read: else call. */
	return call_driver(vq, 0, !kvnet_ring_is_mapped(&vq->ring) ||
			   kvnet_ring_should_call(&vq->ring));
}

/* Drops the pending call if the driver has consumed the used buffers by itself. */
static void drop_seen_call(struct kvnet_vq *vq)
{
	struct kvnet_call_mark mark = kvnet_ring_call_mark(&vq->ring);

	if (kvnet_ring_should_call(&vq->ring)) {
		kvnet_ring_call_rewind(&vq->ring, mark);
		return;
	}
	vq->call_pending = false;
	kvnet_moderation_tx_note_call(&vq->tx_mod, false);
}

/* Few used buffers on a large ring: the driver is not short of descriptors. */
static bool call_is_deferrable(const struct kvnet_vq *vq)
{
	const struct kvnet_ring *r = &vq->ring;

	return r->signalled_used_valid && r->num >= 16 * KVNET_VQ_DEFER_MAX &&
	       kvnet_ring_count_uncalled(r) <= KVNET_VQ_DEFER_MAX;
}

/*
 * Publishes what was pushed, and calls the driver if it asks for it: the only function that
 * makes used buffers visible. The order, with the barrier pairs of Documentation/ordering.rst:
 * data and G, its dirty bits (both done before, packet by packet), used entries, B, used index,
 * G, dirty bits of the ring, D, the driver's notification setting, call. Any session; may
 * sleep, except in a softirq, where the ring is mapped: no access to it can fail.
 *
 * @may_defer: a call for a few buffers may be deferred (tx_usecs), since the caller completes the
 * poll. Then it is pending until a timer, a later poll or a change of the setup makes it, or the
 * driver turns out not to need it.
 */
void kvnet_vq_flush(struct kvnet_vq *vq, bool may_defer)
{
	unsigned int n = vq->n_used;
	struct kvnet_call_mark mark;
	int ret;

	kvnet_vq_assert_session(vq);
	if (!n)
		return;
	vq->n_used = 0;
	if (vq->call_pending)
		drop_seen_call(vq);
	ret = kvnet_ring_put(&vq->ring, vq->used, n);
	if (!ret)
		ret = log_ring_writes(vq);
	mark = kvnet_ring_call_mark(&vq->ring);
	may_defer = may_defer && call_is_deferrable(vq);
	if (!ret)
		ret = kvnet_ring_should_call(&vq->ring);
	if (ret < 0) {
		kvnet_vq_break(vq, ret);
		return;
	}
	kvnet_stats_inc(&vq->stats, KVNET_STAT_flushes);
	if (!ret || !may_defer) {
		call_driver(vq, n, ret);
		return;
	}
	kvnet_ring_call_rewind(&vq->ring, mark);
	if (!vq->call_pending)
		kvnet_moderation_tx_note_deferred(&vq->tx_mod);
	vq->call_pending = true;
	kvnet_stats_inc(&vq->stats, KVNET_STAT_calls_deferred);
	trace_kvnet_flush(vq, n, false);
}
