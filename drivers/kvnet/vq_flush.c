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
static int log_span(struct kvnet_vq *vq, const struct kvnet_ring_span *span)
{
	u32 off = span->off, len = span->len, part;
	void __user *p;
	int ret = 0;

	if (!vq->space.iotlb && span->area == &vq->ring.used)
		return kvnet_dirty_mark(&vq->log, vq->addr.log + off, len);
	for (; len && !ret; len -= part, off += part) {
		part = len;
		p = kvnet_area_find(span->area, off, &part);
		if (!p)
			return -EFAULT;
		ret = kvnet_dirty_mark_hva(&vq->log, vq->space.mem,
					   (unsigned long)p, part);
	}
	return ret;
}

/* Not inlined: @span may be cleared by the compiler, which is for those with a log. */
static noinline int log_spans(struct kvnet_vq *vq)
{
	struct kvnet_ring_span span[KVNET_RING_SPANS];
	unsigned int i, n = kvnet_ring_written(&vq->ring, span);
	int ret = 0;

	for (i = 0; i < n && !ret; i++)
		ret = log_span(vq, &span[i]);
	return ret;
}

/* Put into the log what has been written to the ring. */
static int log_ring(struct kvnet_vq *vq)
{
	return likely(!vq->log_used) ? 0 : log_spans(vq);
}

/**
 * kvnet_vq_log() - complete the dirty log, for now
 * @vq: the queue
 *
 * Context: the end of a session, or the owner who starts the queue; may sleep;
 * vq->lock.
 * Return: 0, or -EFAULT if the log has no place for it.
 */
int kvnet_vq_log(struct kvnet_vq *vq)
{
	int ret = log_ring(vq);

	lockdep_assert_held(&vq->lock);
	if (kvnet_dirty_end(&vq->log))
		kvnet_eventfd_signal(vq->log_call);
	return ret;
}

/* Returns @wanted. */
static bool call(struct kvnet_vq *vq, unsigned int n, bool wanted)
{
	vq->owes = false;
	kvnet_stat_inc(&vq->stats, wanted ? KVNET_STAT_calls :
					    KVNET_STAT_calls_suppressed);
	trace_kvnet_flush(vq, n, wanted);
	if (wanted)
		kvnet_eventfd_signal(vq->call);
	return wanted;
}

/**
 * kvnet_vq_call_owed() - make a call that has been put off
 * @vq: the queue
 *
 * Unless the driver has seen by itself what it is about, and says so.
 *
 * Context: vq->lock, or a session.
 * Return: true if it has been made.
 */
bool kvnet_vq_call_owed(struct kvnet_vq *vq)
{
	kvnet_vq_assert(vq);
	if (likely(!vq->owes))
		return false;
	/* Of a ring that cannot be read now, as if it had said nothing. */
	return call(vq, 0, !kvnet_ring_mapped(&vq->ring) ||
			   kvnet_ring_should_call(&vq->ring));
}

/* Has the driver seen by itself what a call is owed for? */
static void call_moot(struct kvnet_vq *vq)
{
	struct kvnet_call_mark mark = kvnet_ring_call_mark(&vq->ring);

	if (kvnet_ring_should_call(&vq->ring)) {
		kvnet_ring_call_later(&vq->ring, mark);
		return;
	}
	vq->owes = false;
	kvnet_defer_moot(&vq->defer);
}

/* A few buffers that nobody waits for, as far as can be told. */
static bool may_put_off(const struct kvnet_vq *vq)
{
	const struct kvnet_ring *r = &vq->ring;

	return vq->patient && r->signalled_valid && r->num >= 16 * KVNET_VQ_FEW &&
	       kvnet_ring_uncalled(r) <= KVNET_VQ_FEW;
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
	bool later;
	int ret;

	kvnet_vq_assert(vq);
	if (!n)
		return;
	vq->n_used = 0;
	if (vq->owes)
		call_moot(vq);
	ret = kvnet_ring_put(&vq->ring, vq->used, n);
	if (!ret)
		ret = log_ring(vq);
	mark = kvnet_ring_call_mark(&vq->ring);
	later = may_put_off(vq);
	if (!ret)
		ret = kvnet_ring_should_call(&vq->ring);
	if (ret < 0) {
		kvnet_vq_break(vq, ret);
		return;
	}
	kvnet_stat_inc(&vq->stats, KVNET_STAT_flushes);
	if (!ret || !later) {
		call(vq, n, ret);
		return;
	}
	kvnet_ring_call_later(&vq->ring, mark);
	if (!vq->owes)
		kvnet_defer_begin(&vq->defer);
	vq->owes = true;
	kvnet_stat_inc(&vq->stats, KVNET_STAT_calls_put_off);
	trace_kvnet_flush(vq, n, false);
}
