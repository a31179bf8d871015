// SPDX-License-Identifier: GPL-2.0
/*
 * rx.c - packets from the tap to the guest
 *
 * Each packet is read into as many of the driver's buffers as it needs (virtio 1.3,
 * 5.1.6.4). The buffers of a packet become visible together, in one flush.
 *
 * rx_poll(), rx_pending() and rx_rearm() run in the worker. All helpers need a session.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/sched/clock.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_net.h>

#include "features.h"
#include "kvnet.h"
#include "rx_common.h"

/*
 * Pops buffers for @need bytes. Returns 1; 0 if the driver has not added enough yet;
 * -ENOBUFS if it can never add enough; another -errno: wait for the IOTLB, or broken.
 * Unless the result is 1 the caller rewinds.
 *
 * The driver gets no descriptor back before this packet is complete. So it can add no buffer
 * once the free descriptors are fewer than the shortest chain of this packet has.
 */
static int gather_rx_buffers(const struct kvnet_rx_poll_ctx *t, size_t need, unsigned int *buffers)
{
	struct kvnet_vq *vq = &t->q->vq;
	unsigned int n = kvnet_vq_pop_push_single(vq, need, t->buffers_max, UIO_MAXIOV,
						  &need);
	unsigned int n_descs = n, least = min(n, 1U);
	struct kvnet_buf buf;
	int ret;

	while (need) {
		if (n == t->buffers_max)
			return -ENOBUFS;
		ret = kvnet_vq_pop(vq, KVNET_VQ_TO_DRIVER, n, &buf);
		if (!ret && n_descs + least > vq->ring.num)
			return -ENOBUFS;
		if (ret <= 0)
			return ret;
		n_descs += buf.count;
		least = n ? min_t(unsigned int, least, buf.count) : buf.count;
		n++;
		kvnet_vq_push(vq, &buf, min(buf.len, need));
		need -= min(buf.len, need);
	}
	*buffers = n;
	return 1;
}

/*
 * Copies to the packet's buffers, from byte @at on. noinline: few packets need an iterator, which
 * is cleared wherever it is on the stack.
 */
static noinline int copy_to_buffers(const struct kvnet_vq *vq, size_t at, const void *from,
				    size_t len)
{
	struct iov_iter to;

	iov_iter_init(&to, ITER_DEST, vq->iov, vq->n_iov, at + len);
	iov_iter_advance(&to, at);
	return _copy_to_iter(from, len, &to) == len ? 0 : -EFAULT;
}

/* By way of q->bounce: header and data reach the guest with one copy. */
static int copy_short_frame(const struct kvnet_rx_poll_ctx *t, unsigned int buffers, size_t len)
{
	struct kvnet_queue *q = t->q;
	const struct iovec *iov = q->vq.iov;

	if (kvnet_rx_read_short_frame(t, buffers, len))
		return -EIO;
	len += t->hdr_len;
	if (unlikely(iov->iov_len < len))
		return copy_to_buffers(&q->vq, 0, q->bounce, len);
	return compat_copy_to_user(iov->iov_base, q->bounce, len) ? -EFAULT : 0;
}

/* The tap writes the whole header except num_buffers, which it cannot know. */
static int store_num_buffers(const struct kvnet_rx_poll_ctx *t, unsigned int buffers)
{
	const size_t at = offsetof(struct virtio_net_hdr_mrg_rxbuf, num_buffers);
	const struct kvnet_vq *vq = &t->q->vq;
	__virtio16 n = __cpu_to_virtio16(t->q->tap.le, buffers);

	if (t->hdr_len < at + sizeof(n))
		return 0;
	if (likely(vq->iov->iov_len >= at + sizeof(n)))
		return put_user((__force u16)n, (u16 __user *)(vq->iov->iov_base + at));
	return copy_to_buffers(vq, at, &n, sizeof(n));
}

/* The tap's recvmsg() writes header and data to the guest. The header in @bounce is zeroed. */
static int read_long_frame(const struct kvnet_rx_poll_ctx *t, unsigned int buffers, size_t len)
{
	struct kvnet_queue *q = t->q;
	size_t total = q->tap.hdr_len + len;
	int ret;

	ret = kvnet_tap_rx_read_user(&q->tap, q->vq.iov, q->vq.n_iov,
				     t->hdr_len - q->tap.hdr_len, total);
	if (ret != total)
		return ret == -EFAULT ? ret : -EIO;
	/* The tap has no header: the driver gets one of zeroes. */
	if (!q->tap.hdr_len && copy_to_buffers(&q->vq, 0, q->bounce, t->hdr_len))
		return -EFAULT;
	return store_num_buffers(t, buffers);
}

static int copy_long_frame(const struct kvnet_rx_poll_ctx *t, unsigned int buffers, size_t len)
{
	struct kvnet_queue *q = t->q;
	void *frame = kvnet_tap_rx_copy_get(&q->tap, kvnet_rx_prepare_header(t));

	if (!frame)
		return read_long_frame(t, buffers, len);
	if (IS_ERR(frame))
		return PTR_ERR(frame);
	kvnet_vnet_hdr_set_num_buffers(q->bounce, t->hdr_len, buffers, q->tap.le);
	return kvnet_tap_rx_copy_to_user(frame, len, q->bounce, t->hdr_len, q->vq.iov, q->vq.n_iov);
}

/* Returns 1 if the packet was received or dropped, 0 to wait for buffers, or -errno. */
static int receive_frame(const struct kvnet_rx_poll_ctx *t, size_t len)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_mark mark = kvnet_vq_mark(&q->vq);
	unsigned int buffers;
	int ret;

	ret = gather_rx_buffers(t, t->hdr_len + len, &buffers);
	if (ret != 1) {
		kvnet_vq_rewind(&q->vq, mark);
		if (ret != -ENOBUFS)
			return ret;
		kvnet_tap_rx_discard(&q->tap);
		kvnet_vq_count_drop(&q->vq, KVNET_STAT_drop_oversize);
		return 1;
	}

	if (len <= KVNET_RX_COPYBREAK && !kvnet_tap_rx_is_xdp(&q->tap))
		ret = copy_short_frame(t, buffers, len);
	else
		ret = copy_long_frame(t, buffers, len);
	/* A copy that failed may have written a part. */
	if (kvnet_vq_log_write(&q->vq, t->hdr_len + len))
		ret = -EFAULT;
	if (ret)
		kvnet_vq_rewind(&q->vq, mark);
	kvnet_rx_count_frame(q, len, ret);
	if (kvnet_vq_should_flush(&q->vq))
		kvnet_rx_flush(q);
	return 1;
}

static enum kvnet_work_result receive_frames(struct kvnet_queue *q, struct kvnet_budget *budget)
{
	const struct kvnet_rx_poll_ctx t = kvnet_rx_start_poll(q);
	size_t len;
	int ret;

	WRITE_ONCE(q->no_room, false);
	do {
		len = kvnet_tap_rx_peek(&q->tap);
		if (!len)
			return KVNET_WORK_IDLE;
		ret = receive_frame(&t, len);
		if (ret <= 0) {
			WRITE_ONCE(q->no_room, !ret);
			return KVNET_WORK_IDLE;
		}
	} while (kvnet_budget_spend(budget, len, kvnet_vq_count_pieces(&q->vq)));
	return KVNET_WORK_REPOLL;
}

/* Flush first: the guest need not wait until the frames are freed. */
static enum kvnet_work_result rx_poll_session(struct kvnet_queue *q)
{
	u64 latency_ns = kvnet_work_consume_wake_latency(&q->work);
	struct kvnet_budget budget;
	enum kvnet_work_result result;
	int frames, bytes;

	kvnet_budget_start(&budget);
	result = receive_frames(q, &budget);
	frames = KVNET_BUDGET_PACKETS - budget.packets;
	bytes = KVNET_BUDGET_BYTES - budget.bytes;
	kvnet_moderation_rx_update(&q->rx_mod, local_clock(), frames,
				   !q->no_room && bytes <= frames * KVNET_MODERATION_SHORT_LEN,
				   kvnet_queue_reverse_count(q));
	kvnet_stats_add_poll(&q->vq.stats, frames, latency_ns);

	kvnet_rx_flush(q);
	kvnet_tap_rx_release(&q->tap);
	return result;
}

static bool should_coalesce_rx(struct kvnet_queue *q)
{
	if (q->rx_mod.coalesce == KVNET_RX_COALESCE_NO)
		return false;
	return kvnet_moderation_rx_coalesce(&q->rx_mod, local_clock(),
					    q->rx_usecs * NSEC_PER_USEC,
					    kvnet_tap_rx_ring_size(&q->tap));
}

/* Complete the poll until the tap has more than rx-frames frames, or the timer expires. */
static bool complete_rx_coalesced(struct kvnet_queue *q)
{
	const u32 ns = q->rx_usecs * NSEC_PER_USEC;

	kvnet_stats_inc(&q->vq.stats, KVNET_STAT_moderated);
	kvnet_watch_set(&q->tap_watch, true, q->tap.ring);
	if (!kvnet_work_complete(&q->work, KVNET_EV_TAP | KVNET_EV_TIMER))
		return true;
	kvnet_work_start_timer(&q->work, local_clock(), ns);
	return false;
}

/* May a sender's softirq serve the next frame? */
static bool may_inline_rx(const struct kvnet_queue *q)
{
	return !q->no_room && kvnet_rx_may_inline(q) && kvnet_rx_inline_may_poll(q);
}

/*
 * Complete the poll until the driver adds buffers or the tap has frames. Returns true if there
 * is more work: SCHED is set, and the caller still owns the work.
 */
static bool complete_rx(struct kvnet_queue *q, bool coalesce)
{
	unsigned int events = q->no_room ? KVNET_EV_KICK : KVNET_EV_TAP;
	bool more;

	if (coalesce)
		return complete_rx_coalesced(q);
	if (may_inline_rx(q))
		events |= KVNET_EV_SOFTIRQ(KVNET_EV_TAP);
	kvnet_watch_set(&q->tap_watch, !q->no_room, NULL);
	if (!kvnet_work_complete(&q->work, events))
		return true;
	more = q->no_room ? kvnet_vq_kick_on(&q->vq) == 1 :
			    kvnet_tap_rx_is_readable(&q->tap);
	return more && kvnet_work_reschedule(&q->work);
}

static enum kvnet_work_result rx_poll(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_queue_of_work(work);
	enum kvnet_work_result result;
	bool coalesce;

	if (!kvnet_vq_begin(&q->vq))
		return kvnet_vq_retry_miss(&q->vq) ? KVNET_WORK_REPOLL : KVNET_WORK_IDLE;
	kvnet_stats_inc(&q->vq.stats, KVNET_STAT_polls);
	result = rx_poll_session(q);
	/*
	 * Without buffers do not read ahead: kvnet_vq_kick_on() asks for kicks beyond the
	 * chains already observed, so buffers that arrive now would go unnoticed.
	 */
	if (q->no_room)
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_no_buf);
	else if (q->rx_mod.inline_skip != KVNET_STAT_NONE)
		kvnet_rx_inline_prepare(q);
	if (result == KVNET_WORK_REPOLL) {
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_budget_exhausted);
	} else if (kvnet_vq_is_ready(&q->vq)) {
		coalesce = should_coalesce_rx(q);
		if (coalesce || kvnet_worker_may_complete(work))
			result = complete_rx(q, coalesce) ? KVNET_WORK_REPOLL :
							    KVNET_WORK_COMPLETE;
	}
	kvnet_vq_end(&q->vq, result == KVNET_WORK_COMPLETE && may_inline_rx(q));
	return result;
}

static bool rx_pending(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_queue_of_work(work);
	bool ret;

	if (READ_ONCE(q->no_room))
		return kvnet_vq_pending(&q->vq);
	/* Without vq->lock: decides only when to poll, and rx_rearm() checks with the lock. */
	if (!data_race(kvnet_moderation_rx_should_poll(&q->rx_mod, local_clock())))
		return false;
	if (!mutex_trylock(&q->vq.lock))
		return true;
	ret = kvnet_vq_is_ready(&q->vq) && kvnet_tap_rx_is_readable(&q->tap);
	mutex_unlock(&q->vq.lock);
	return ret;
}

static bool rx_rearm(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_queue_of_work(work);
	bool more;

	if (!kvnet_vq_begin(&q->vq))
		return !kvnet_queue_complete_unready(q);
	more = complete_rx(q, should_coalesce_rx(q));
	kvnet_vq_end(&q->vq, !more && may_inline_rx(q));
	return more;
}

const struct kvnet_work_ops kvnet_rx_ops = {
	.poll = rx_poll,
	.poll_softirq = kvnet_rx_inline_poll_softirq,
	.pending = rx_pending,
	.rearm = rx_rearm,
};
