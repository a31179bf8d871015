// SPDX-License-Identifier: GPL-2.0
/*
 * vq_flush.c - publish used buffers and call the driver, see vq.h
 *
 * kvnet_vq_flush() is the only function that makes used buffers visible. The order, with the
 * barrier pairs of Documentation/ordering.rst: data and G, its dirty bits (both done before,
 * packet by packet), used entries, B, used index, G, dirty bits of the ring, D, the driver's
 * notification setting, call.
 *
 * A call for a few buffers may be deferred (tx_usecs). Then it is pending until a timer, a
 * later poll or a change of the setup makes it, or the driver turns out not to need it.
 */
#include "vq.h"

#include <linux/errno.h>

#include "obs/trace.h"

/*
 * Without an IOMMU the VMM has set the guest-physical address of the device area
 * (log_guest_addr). For all else the memory table translates from HVA to guest-physical.
 */
static int log_one_span(struct kvnet_vq *vq, const struct kvnet_ring_span *span)
{
	u32 off = span->off, len = span->len, part;
	void __user *p;
	int ret = 0;

	if (!vq->xlate.iotlb && span->area == &vq->ring.used)
		return kvnet_dirty_log_mark(&vq->dirty_log, vq->addr.log + off, len);
	for (; len && !ret; len -= part, off += part) {
		part = len;
		p = kvnet_area_find(span->area, off, &part);
		if (!p)
			return -EFAULT;
		ret = kvnet_dirty_log_mark_hva(&vq->dirty_log, vq->xlate.mem,
					       (unsigned long)p, part);
	}
	return ret;
}

/* noinline: the compiler may zero @span, which queues without a log should not pay for. */
static noinline int log_ring_spans(struct kvnet_vq *vq)
{
	struct kvnet_ring_span span[KVNET_RING_SPANS];
	unsigned int i, n = kvnet_ring_collect_written(&vq->ring, span);
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = log_one_span(vq, &span[i]);
	return ret;
}

static int log_ring_writes(struct kvnet_vq *vq)
{
	return likely(!vq->log_used) ? 0 : log_ring_spans(vq);
}

/*
 * Logs the last writes to the ring, unpins the current page of the log, and signals log_call if
 * bits were set. vq->lock, at the end of a session or when the queue starts; may sleep.
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
	kvnet_tx_mod_note_unneeded(&vq->tx_mod);
}

/* Few used buffers on a large ring: the driver is not short of descriptors. */
static bool call_is_deferrable(const struct kvnet_vq *vq)
{
	const struct kvnet_ring *r = &vq->ring;

	return vq->may_defer_call && r->signalled_used_valid && r->num >= 16 * KVNET_VQ_DEFER_MAX &&
	       kvnet_ring_count_uncalled(r) <= KVNET_VQ_DEFER_MAX;
}

/*
 * Publishes what was pushed, and calls the driver if it asks for it; the order is that of
 * Documentation/ordering.rst. Any session; may sleep, except in a softirq.
 */
void kvnet_vq_flush(struct kvnet_vq *vq)
{
	unsigned int n = vq->n_used;
	struct kvnet_call_mark mark;
	bool may_defer;
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
	may_defer = call_is_deferrable(vq);
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
		kvnet_tx_mod_note_deferred(&vq->tx_mod);
	vq->call_pending = true;
	kvnet_stats_inc(&vq->stats, KVNET_STAT_calls_deferred);
	trace_kvnet_flush(vq, n, false);
}
