// SPDX-License-Identifier: GPL-2.0
/*
 * rx_inline.c - lone frames from the tap to the guest, by who brings them
 *
 * Whoever puts a frame into the tap runs in the kernel already, with the frame in its
 * cache. In the softirq that comes next on its CPU the frame is copied to the guest,
 * and the guest is called: no thread is woken. What that needs has been prepared by a
 * worker: a ring of loads and stores, and pages that are known (page_cache.h). All that
 * is not simple is left to the worker, with nothing done yet.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/sched/clock.h>

#include "features.h"
#include "kvnet.h"
#include "rx_common.h"

/* Buffers of a frame, and pieces of memory: one that is cut up more takes a worker's time. */
#define INLINE_BUFFERS_MAX	16U
#define INLINE_PIECES_MAX	(2 * INLINE_BUFFERS_MAX)

/* Buffers whose pages are learnt at a time, and pieces. */
#define FILL_AHEAD_BUFFERS	64
#define FILL_AHEAD_PIECES	(2 * FILL_AHEAD_BUFFERS)

/**
 * kvnet_rx_inline_may_poll() - can frames be received in place, if they are lone ones?
 * @q: the queue
 *
 * Context: session of a worker.
 * Return: true if so.
 */
bool kvnet_rx_inline_may_poll(const struct kvnet_queue *q)
{
	return READ_ONCE(q->work.workers->allow_softirq) && kvnet_vq_may_inline(&q->vq) &&
	       kvnet_tap_rx_may_softirq(&q->tap);
}

/* The pages of the buffers that come next, as far as a frame goes. They are not taken. */
static void fill_page_cache_ahead(struct kvnet_queue *q)
{
	struct kvnet_vq *vq = &q->vq;
	struct kvnet_mark mark = kvnet_vq_mark(vq);
	unsigned int n = min_t(u32, vq->ring.num, FILL_AHEAD_BUFFERS), pieces = FILL_AHEAD_PIECES;
	size_t left;

	while (n-- && kvnet_vq_pop_push_single(vq, SIZE_MAX, 1, min(pieces, INLINE_PIECES_MAX),
					       &left)) {
		pieces -= vq->n_iov;
		if (!kvnet_page_cache_fill(q->page_cache, vq->iov, vq->n_iov,
					   KVNET_FEATURES_HDR_MAX + KVNET_RX_MOD_SHORT_LEN))
			break;
	}
	kvnet_vq_rewind(vq, mark);
}

/**
 * kvnet_rx_inline_prepare() - see to it that the next frame is received in place
 * @q: the queue; the last one was not
 *
 * Context: session of a worker, in the owner's address space; may sleep.
 */
void kvnet_rx_inline_prepare(struct kvnet_queue *q)
{
	struct kvnet_rx_mod *p = &q->rx_mod;

	kvnet_stats_inc(&q->vq.stats, p->inline_skip);
	if (p->inline_skip == KVNET_STAT_inline_skip_uncached && kvnet_rx_inline_may_poll(q))
		fill_page_cache_ahead(q);
	p->inline_skip = KVNET_STAT_NONE;
}

static int copy_short_inline(const struct kvnet_rx_poll_ctx *t, unsigned int buffers,
			     size_t len)
{
	struct kvnet_queue *q = t->q;
	int ret = kvnet_rx_read_short_frame(t, buffers, len);

	if (!ret)
		kvnet_page_cache_copy_to(q->page_cache, q->vq.iov, 0, q->bounce,
					 t->hdr_len + len);
	return ret;
}

/* -EAGAIN: the frame is still there. */
static int copy_long_inline(const struct kvnet_rx_poll_ctx *t, unsigned int buffers)
{
	struct kvnet_queue *q = t->q;
	struct sk_buff *skb = kvnet_tap_rx_copy_get(&q->tap, kvnet_rx_prepare_header(t));

	if (!skb)
		return -EAGAIN;
	if (IS_ERR(skb))
		return PTR_ERR(skb);
	kvnet_vnet_hdr_set_num_buffers(q->bounce, t->hdr_len, buffers, q->tap.le);
	kvnet_page_cache_copy_to(q->page_cache, q->vq.iov, 0, q->bounce, t->hdr_len);
	return kvnet_page_cache_copy_skb_to(q->page_cache, q->vq.iov, t->hdr_len, skb);
}

/* -EAGAIN: the frame is still there, and the worker's: @inline_skip. */
static int copy_frame_inline(const struct kvnet_rx_poll_ctx *t, unsigned int buffers, size_t len,
			     enum kvnet_stat *skip)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_page_cache *c = q->page_cache;
	int ret = -EAGAIN;

	/* A thread of the VMM has it while its memory changes, and is not waited for. */
	*skip = KVNET_STAT_inline_skip_busy;
	if (!spin_trylock(&c->lock))
		return ret;
	*skip = KVNET_STAT_inline_skip_uncached;
	if (kvnet_page_cache_covers(c, q->vq.iov, q->vq.n_iov, t->hdr_len + len)) {
		*skip = KVNET_STAT_inline_skip_complex;
		ret = len <= KVNET_RX_COPYBREAK ? copy_short_inline(t, buffers, len) :
					       copy_long_inline(t, buffers);
	}
	spin_unlock(&c->lock);
	return ret;
}

/* Returns KVNET_STAT_NONE for a frame received or dropped; or why it is the worker's. */
static enum kvnet_stat receive_frame_inline(const struct kvnet_rx_poll_ctx *t, size_t len)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_mark mark = kvnet_vq_mark(&q->vq);
	enum kvnet_stat skip = KVNET_STAT_inline_skip_complex;
	unsigned int buffers;
	size_t left;
	int ret;

	if (len > KVNET_RX_MOD_SHORT_LEN || !kvnet_tap_rx_copy_may_get(&q->tap))
		return skip;
	buffers = kvnet_vq_pop_push_single(&q->vq, t->hdr_len + len,
					   min(t->buffers_max, INLINE_BUFFERS_MAX),
					   INLINE_PIECES_MAX, &left);
	if (left)
		goto leave;
	ret = copy_frame_inline(t, buffers, len, &skip);
	if (ret == -EAGAIN)
		goto leave;
	if (ret)
		kvnet_vq_rewind(&q->vq, mark);
	kvnet_rx_count_frame(q, len, ret);
	return KVNET_STAT_NONE;

leave:
	kvnet_vq_rewind(&q->vq, mark);
	return skip;
}

/*
 * Two times are not bounded here: that of the call, since the VMM decides which tasks it
 * wakes; and @waited, which the softirq has spent on frames of other devices (a NAPI poll)
 * while the worker could have received this one. If they are long, the worker receives.
 */
static void flush_rx_inline(struct kvnet_queue *q, u64 waited)
{
	u64 now, begin = local_clock();

	kvnet_rx_flush(q);
	now = local_clock();
	/* Have the next event timed, too: the debt is of all that wait, not of one in 16. */
	if (unlikely(waited > KVNET_THROTTLE_QUICK_NS))
		WRITE_ONCE(q->work.sample_count, 0);
	if (unlikely(kvnet_throttle_account(&q->throttle, now, waited + (now - begin))))
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_inline_throttled);
}

/* A few frames. Returns KVNET_STAT_NONE when there are no more; or why they are the worker's. */
static enum kvnet_stat receive_frames_inline(struct kvnet_queue *q)
{
	const struct kvnet_rx_poll_ctx t = kvnet_rx_start_poll(q);
	u64 now, begin = local_clock(), latency_ns = kvnet_work_consume_wake_latency(&q->work);
	unsigned long packets_before = q->packet_count;
	enum kvnet_stat skip = KVNET_STAT_NONE;
	unsigned int n = 0;
	size_t len;

	while (skip == KVNET_STAT_NONE && (len = kvnet_tap_rx_peek(&q->tap))) {
		skip = KVNET_STAT_inline_skip_burst;
		if (n == KVNET_RX_MOD_FEW_FRAMES)
			break;
		skip = receive_frame_inline(&t, len);
		n += skip == KVNET_STAT_NONE;
	}
	flush_rx_inline(q, latency_ns);
	kvnet_tap_rx_release(&q->tap);
	if (n) {
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_polls_inline);
		kvnet_stats_add(&q->vq.stats, KVNET_STAT_packets_inline,
				q->packet_count - packets_before);
		kvnet_stats_add_poll(&q->vq.stats, n, latency_ns);
	}
	now = local_clock();
	if (n == 1)
		kvnet_rx_mod_note_inline(&q->rx_mod, now - begin);
	kvnet_rx_update_mode(q, now, n, skip == KVNET_STAT_NONE ||
			     skip == KVNET_STAT_inline_skip_uncached);
	return skip;
}

/* True if there is work after all, which is the worker's. */
static bool complete_rx_inline(struct kvnet_queue *q)
{
	if (!kvnet_work_complete(&q->work, KVNET_EV_TAP))
		return true;
	return kvnet_tap_rx_is_readable(&q->tap) && kvnet_work_reschedule(&q->work);
}

/**
 * kvnet_rx_inline_poll_softirq() - receive in place
 * @work: of the queue, held
 *
 * Context: softirq.
 * Return: KVNET_WORK_COMPLETE, or KVNET_WORK_REPOLL for the worker.
 */
enum kvnet_work_result kvnet_rx_inline_poll_softirq(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_rx_work_to_queue(work);
	enum kvnet_work_result result = KVNET_WORK_COMPLETE;

	if (!kvnet_vq_begin_softirq(&q->vq)) {
		q->rx_mod.inline_skip = KVNET_STAT_inline_skip_busy;
		return KVNET_WORK_REPOLL;
	}
	q->tap.softirq_session = true;
	q->rx_mod.inline_skip = kvnet_tap_rx_may_softirq(&q->tap) ? receive_frames_inline(q) :
				KVNET_STAT_inline_skip_complex;
	if (q->rx_mod.inline_skip != KVNET_STAT_NONE || complete_rx_inline(q))
		result = KVNET_WORK_REPOLL;
	q->tap.softirq_session = false;
	kvnet_vq_end_softirq(&q->vq);
	return result;
}
