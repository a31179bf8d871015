// SPDX-License-Identifier: GPL-2.0
/*
 * vq_flush.c - used buffers become visible, and the driver is called; see vq.h
 */
#include "vq.h"

#include <linux/errno.h>

#include "trace.h"

/*
 * The VMM has told where the device area is for the guest, unless an IOMMU
 * comes in between. Of other areas its memory tells.
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

/* Not inlined: @span may be cleared by the compiler, which is for those with a log. */
static noinline int log_ring_spans(struct kvnet_vq *vq)
{
	struct kvnet_ring_span span[KVNET_RING_SPANS];
	unsigned int i, n = kvnet_ring_collect_written(&vq->ring, span);
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = log_one_span(vq, &span[i]);
	return ret;
}

/* Put into the log what has been written to the ring. */
static int log_ring_writes(struct kvnet_vq *vq)
{
	return likely(!vq->log_used) ? 0 : log_ring_spans(vq);
}

/**
 * kvnet_vq_end_dirty_log() - complete the dirty log, for now
 * @vq: the queue
 *
 * Context: the end of a session, or the owner who starts the queue; may sleep;
 * vq->lock.
 * Return: 0, or -EFAULT if the log has no place for it.
 */
int kvnet_vq_end_dirty_log(struct kvnet_vq *vq)
{
	int ret = log_ring_writes(vq);

	lockdep_assert_held(&vq->lock);
	if (kvnet_dirty_log_end(&vq->dirty_log))
		kvnet_eventfd_signal(vq->log_call);
	return ret;
}

/* Returns @wanted. */
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

/**
 * kvnet_vq_send_pending_call() - make a call that has been put off
 * @vq: the queue
 *
 * Unless the driver has seen by itself what it is about, and says so.
 *
 * Context: vq->lock, or a session.
 * Return: true if it has been made.
 */
bool kvnet_vq_send_pending_call(struct kvnet_vq *vq)
{
	kvnet_vq_assert_session(vq);
	if (likely(!vq->call_pending))
		return false;
	/* Of a ring that cannot be read now, as if it had said nothing. */
	return call_driver(vq, 0, !kvnet_ring_is_mapped(&vq->ring) ||
			   kvnet_ring_should_call(&vq->ring));
}

/* Has the driver seen by itself what a call is owed for? */
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

/* A few buffers that nobody waits for, as far as can be told. */
static bool call_is_deferrable(const struct kvnet_vq *vq)
{
	const struct kvnet_ring *r = &vq->ring;

	return vq->may_defer_call && r->signalled_used_valid && r->num >= 16 * KVNET_VQ_DEFER_MAX &&
	       kvnet_ring_count_uncalled(r) <= KVNET_VQ_DEFER_MAX;
}

/**
 * kvnet_vq_flush() - publish what was pushed, and call the driver if it asks
 * @vq: the queue
 *
 * The only place that orders used ring, its dirty log, and call; data and the
 * log of it have gone before. See Documentation/ordering.rst.
 *
 * Context: session; may sleep, unless in a softirq.
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
