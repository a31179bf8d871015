// SPDX-License-Identifier: GPL-2.0
/*
 * rx_inline.c - receive single frames in the sender's softirq
 *
 * The sender that puts a frame into the tap runs in the kernel already, with the frame in its
 * CPU's cache. The next softirq on that CPU copies the frame to the guest and calls the
 * driver, without waking the worker. The worker has prepared what this needs: a pinned ring,
 * and guest pages in the page cache (page_cache.h). Anything that is not simple is left to the
 * worker, before the frame is consumed.
 *
 * A softirq session holds vq->softirq_lock, and the page cache's lock while it copies. It
 * takes both by trylock: it neither sleeps nor spins.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/sched/clock.h>

#include "features.h"
#include "kvnet.h"
#include "rx_common.h"

/* Buffers and segments of a frame: more take too long for a softirq. */
#define INLINE_BUFFERS_MAX	16U
#define INLINE_PIECES_MAX	(2 * INLINE_BUFFERS_MAX)

/* Buffers whose pages are prefilled in one poll, and their segments. */
#define FILL_AHEAD_BUFFERS	64
#define FILL_AHEAD_PIECES	(2 * FILL_AHEAD_BUFFERS)

bool kvnet_rx_inline_may_poll(const struct kvnet_queue *q)
{
	return READ_ONCE(q->work.workers->allow_softirq) && kvnet_vq_may_inline(&q->vq) &&
	       kvnet_tap_rx_may_softirq(&q->tap);
}

/* Caches pages of the next buffers, in each as many as a short frame needs; then rewinds. */
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
					   KVNET_FEATURES_HDR_MAX + KVNET_MODERATION_SHORT_LEN))
			break;
	}
	kvnet_vq_rewind(vq, mark);
}

/*
 * Removes the reason why the last frame was not received inline. Session of the worker, which
 * uses the owner's mm; may sleep.
 */
void kvnet_rx_inline_prepare(struct kvnet_queue *q)
{
	struct kvnet_rx_moderation *p = &q->rx_mod;

	kvnet_stats_inc(&q->vq.stats, p->inline_skip);
	if (p->inline_skip == KVNET_STAT_inline_skip_uncached && kvnet_rx_inline_may_poll(q))
		fill_page_cache_ahead(q);
	p->inline_skip = KVNET_STAT_NONE;
}

static int copy_short_inline(const struct kvnet_rx_poll_ctx *t, unsigned int buffers, size_t len)
{
	struct kvnet_queue *q = t->q;
	int ret = kvnet_rx_read_short_frame(t, buffers, len);

	if (!ret)
		kvnet_page_cache_copy_to(q->page_cache, q->vq.iov, 0, q->bounce,
					 t->hdr_len + len);
	return ret;
}

/* Returns -EAGAIN if the frame is not consumed. */
static int copy_long_inline(const struct kvnet_rx_poll_ctx *t, unsigned int buffers, size_t len)
{
	struct kvnet_queue *q = t->q;
	void *frame = kvnet_tap_rx_copy_get(&q->tap, kvnet_rx_prepare_header(t));
	const void *data;

	if (!frame)
		return -EAGAIN;
	if (IS_ERR(frame))
		return PTR_ERR(frame);
	kvnet_vnet_hdr_set_num_buffers(q->bounce, t->hdr_len, buffers, q->tap.le);
	kvnet_page_cache_copy_to(q->page_cache, q->vq.iov, 0, q->bounce, t->hdr_len);
	data = kvnet_tap_frame_data(frame);
	if (!data)
		return kvnet_page_cache_copy_skb_to(q->page_cache, q->vq.iov, t->hdr_len, frame);
	kvnet_page_cache_copy_to(q->page_cache, q->vq.iov, t->hdr_len, data, len);
	return 0;
}

/* Returns -EAGAIN if the frame is not consumed, with the reason in @skip. */
static int copy_frame_inline(const struct kvnet_rx_poll_ctx *t, unsigned int buffers, size_t len,
			     enum kvnet_stat *skip)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_page_cache *c = q->page_cache;
	int ret = -EAGAIN;

	/* An invalidation on another CPU may hold the lock; a softirq must not wait for it. */
	*skip = KVNET_STAT_inline_skip_busy;
	if (!spin_trylock(&c->lock))
		return ret;
	*skip = KVNET_STAT_inline_skip_uncached;
	if (kvnet_page_cache_covers(c, q->vq.iov, q->vq.n_iov, t->hdr_len + len)) {
		*skip = KVNET_STAT_inline_skip_complex;
		ret = len <= KVNET_RX_COPYBREAK ? copy_short_inline(t, buffers, len) :
					       copy_long_inline(t, buffers, len);
	}
	spin_unlock(&c->lock);
	return ret;
}

/* Returns KVNET_STAT_NONE if the frame was received or dropped, or the inline_skip reason. */
static enum kvnet_stat receive_frame_inline(const struct kvnet_rx_poll_ctx *t, size_t len)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_mark mark = kvnet_vq_mark(&q->vq);
	enum kvnet_stat skip = KVNET_STAT_inline_skip_complex;
	unsigned int buffers;
	size_t left;
	int ret;

	if (len > KVNET_MODERATION_SHORT_LEN || !kvnet_tap_rx_copy_may_get(&q->tap))
		return skip;
	buffers = kvnet_vq_pop_push_single(&q->vq, t->hdr_len + len,
					   min(t->buffers_max, INLINE_BUFFERS_MAX),
					   INLINE_PIECES_MAX, &left);
	ret = left ? -EAGAIN : copy_frame_inline(t, buffers, len, &skip);
	if (ret)
		kvnet_vq_rewind(&q->vq, mark);
	if (ret == -EAGAIN)
		return skip;
	kvnet_rx_count_frame(q, len, ret);
	return KVNET_STAT_NONE;
}

/*
 * Two times have no bound here. The VMM decides how many tasks the call wakes. And for
 * @waited ns the softirq served frames of other devices (a NAPI poll), while the worker could
 * have received this one. If both together are long, the throttle leaves RX to the worker.
 */
static void flush_rx_inline(struct kvnet_queue *q, u64 waited)
{
	u64 now, begin = local_clock();

	kvnet_rx_flush(q);
	now = local_clock();
	/* Time the next event, too: the throttle needs each late frame, not one in 16. */
	if (unlikely(waited > KVNET_THROTTLE_QUICK_NS))
		WRITE_ONCE(q->work.sample_count, 0);
	if (unlikely(kvnet_moderation_throttle_account(&q->throttle, now,
						       waited + (now - begin))))
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_inline_throttled);
}

/* Returns KVNET_STAT_NONE if the tap is empty, or why the next frame is left to the worker. */
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
		kvnet_moderation_note_inline(&q->rx_mod.inline_ns, now - begin);
	kvnet_moderation_rx_update(&q->rx_mod, now, n, skip == KVNET_STAT_NONE ||
				   skip == KVNET_STAT_inline_skip_uncached,
				   kvnet_queue_reverse_count(q));
	return skip;
}

/* Returns true if there are more frames: SCHED is set, and the caller still owns the work. */
static bool complete_rx_inline(struct kvnet_queue *q)
{
	unsigned int events = KVNET_EV_TAP;

	if (kvnet_rx_may_inline(q))
		events |= KVNET_EV_SOFTIRQ(KVNET_EV_TAP);
	if (!kvnet_work_complete(&q->work, events))
		return true;
	return kvnet_tap_rx_is_readable(&q->tap) && kvnet_work_reschedule(&q->work);
}

/* Softirq context, SCHED is set. REPOLL queues the work to its worker. */
enum kvnet_work_result kvnet_rx_inline_poll_softirq(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_queue_of_work(work);
	enum kvnet_work_result result = KVNET_WORK_COMPLETE;

	if (!kvnet_vq_begin_softirq(&q->vq)) {
		/* A hint, written without a session: a reset may take it back. */
		WRITE_ONCE(q->rx_mod.inline_skip, KVNET_STAT_inline_skip_busy);
		return KVNET_WORK_REPOLL;
	}
	/* The policy or the socket's options may have changed since the last session. */
	q->rx_mod.inline_skip = kvnet_rx_inline_may_poll(q) ? receive_frames_inline(q) :
				KVNET_STAT_inline_skip_complex;
	if (q->rx_mod.inline_skip != KVNET_STAT_NONE || complete_rx_inline(q))
		result = KVNET_WORK_REPOLL;
	kvnet_vq_end_softirq(&q->vq);
	return result;
}
