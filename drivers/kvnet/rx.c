// SPDX-License-Identifier: GPL-2.0
/*
 * rx.c - packets from the tap to the guest
 *
 * Each packet is read into as many of the driver's buffers as it needs
 * (virtio 1.3, 5.1.6.4), with one write for its header. The buffers of a
 * packet become visible together.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/sched/clock.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/vhost_types.h>
#include <linux/virtio_byteorder.h>
#include <linux/virtio_net.h>

#include "features.h"
#include "net.h"
#include "rx.h"

/**
 * kvnet_rx_start() - a turn begins
 * @q: the queue
 *
 * Context: session.
 * Return: what stays the same during the turn.
 */
struct kvnet_rx_turn kvnet_rx_start(struct kvnet_queue *q)
{
	const struct kvnet_features *f = &q->vq.features;

	kvnet_tap_turn(&q->tap, kvnet_features_tap_hdr_len(f), q->vq.ring.le);
	kvnet_tap_rx_turn(&q->tap, kvnet_net_copies(kvnet_queue_net(q)));
	return (struct kvnet_rx_turn) {
		.q = q,
		.hdr_len = kvnet_features_hdr_len(f),
		.buffers_max = kvnet_has(f, VIRTIO_NET_F_MRG_RXBUF) ?
			       min_t(u32, q->vq.ring.num, UIO_MAXIOV) : 1,
	};
}

/*
 * Take buffers for @need bytes. Returns 1; 0 if the driver has given too few
 * so far; -ENOBUFS if it cannot ever give enough; -errno: broken. Unless it
 * returns 1 the caller rewinds.
 *
 * A driver whose descriptors are all in this packet can give no more, nor can
 * one that has too few left for the shortest of these chains: it gets none back
 * before this packet is done with.
 */
static int gather(const struct kvnet_rx_turn *t, size_t need, unsigned int *buffers)
{
	struct kvnet_vq *vq = &t->q->vq;
	unsigned int n = kvnet_vq_take_plain(vq, need, t->buffers_max, UIO_MAXIOV,
					     &need);
	unsigned int taken = n, least = min(n, 1U);
	struct kvnet_buf buf;
	int ret;

	while (need) {
		if (n == t->buffers_max)
			return -ENOBUFS;
		ret = kvnet_vq_pop(vq, KVNET_TO_DRIVER, n, &buf);
		if (!ret && taken + least > vq->ring.num)
			return -ENOBUFS;
		if (ret <= 0)
			return ret;
		taken += buf.count;
		least = n ? min_t(unsigned int, least, buf.count) : buf.count;
		n++;
		kvnet_vq_push(vq, &buf, min(buf.len, need));
		need -= min(buf.len, need);
	}
	*buffers = n;
	return 1;
}

/**
 * kvnet_rx_header() - make room for the header that the tap makes
 * @t: the turn
 *
 * Context: session.
 * Return: where it goes, zeroed, in front of a short packet in the queue's @bounce.
 */
u8 *kvnet_rx_header(const struct kvnet_rx_turn *t)
{
	struct kvnet_queue *q = t->q;

	memset(q->bounce, 0, KVNET_HDR_MAX);
	return q->bounce + t->hdr_len - q->tap.hdr_len;
}

/**
 * kvnet_rx_read_short() - read a short packet into our own memory
 * @t: the turn
 * @buffers: that it goes into
 * @len: its length, at most KVNET_RX_BOUNCE
 *
 * The frame is gone whatever happens.
 *
 * Context: session.
 * Return: 0 with header and packet in the queue's @bounce; -EIO.
 */
int kvnet_rx_read_short(const struct kvnet_rx_turn *t, unsigned int buffers,
			size_t len)
{
	struct kvnet_queue *q = t->q;
	size_t want = q->tap.hdr_len + len;

	if (kvnet_tap_read(&q->tap, kvnet_rx_header(t), want) != want)
		return -EIO;
	kvnet_hdr_set_buffers(q->bounce, t->hdr_len, buffers, q->tap.le);
	return 0;
}

/*
 * A short packet: header and data in our own memory, then one copy.
 */
static int copy_short(const struct kvnet_rx_turn *t, unsigned int buffers,
		      size_t len)
{
	struct kvnet_queue *q = t->q;
	const struct iovec *iov = q->vq.iov;
	struct iov_iter to;

	if (kvnet_rx_read_short(t, buffers, len))
		return -EIO;
	len += t->hdr_len;
	if (likely(iov->iov_len >= len))
		return compat_copy_to_user(iov->iov_base, q->bounce, len) ?
		       -EFAULT : 0;
	iov_iter_init(&to, ITER_DEST, iov, q->vq.n_iov, len);
	return _copy_to_iter(q->bounce, len, &to) == len ? 0 : -EFAULT;
}

/* Of a header that the tap has written it knows all but this. */
static int put_buffers(const struct kvnet_rx_turn *t, unsigned int buffers)
{
	const size_t at = offsetof(struct virtio_net_hdr_mrg_rxbuf, num_buffers);
	const struct kvnet_vq *vq = &t->q->vq;
	__virtio16 n = __cpu_to_virtio16(t->q->tap.le, buffers);
	struct iov_iter to;

	if (t->hdr_len < at + sizeof(n))
		return 0;
	if (likely(vq->iov->iov_len >= at + sizeof(n)))
		return put_user((__force u16)n,
				(u16 __user *)(vq->iov->iov_base + at));
	iov_iter_init(&to, ITER_DEST, vq->iov, vq->n_iov, at + sizeof(n));
	iov_iter_advance(&to, at);
	return copy_to_iter(&n, sizeof(n), &to) == sizeof(n) ? 0 : -EFAULT;
}

static int clear_header(const struct kvnet_rx_turn *t)
{
	struct iov_iter to;

	iov_iter_init(&to, ITER_DEST, t->q->vq.iov, t->q->vq.n_iov, t->hdr_len);
	return iov_iter_zero(t->hdr_len, &to) == t->hdr_len ? 0 : -EFAULT;
}

/* A long packet: straight to the guest, by the tap, header and all. */
static int read_long(const struct kvnet_rx_turn *t, unsigned int buffers, size_t len)
{
	struct kvnet_queue *q = t->q;
	size_t want = q->tap.hdr_len + len;
	int ret;

	if (!q->tap.hdr_len && clear_header(t)) {
		kvnet_tap_discard(&q->tap);
		return -EFAULT;
	}
	ret = kvnet_tap_read_user(&q->tap, q->vq.iov, q->vq.n_iov,
				  t->hdr_len - q->tap.hdr_len, want);
	if (ret != want)
		return ret == -EFAULT ? ret : -EIO;
	return put_buffers(t, buffers);
}

static int copy_long(const struct kvnet_rx_turn *t, unsigned int buffers, size_t len)
{
	struct kvnet_queue *q = t->q;
	struct sk_buff *skb = kvnet_tap_take(&q->tap, kvnet_rx_header(t));

	if (!skb)
		return read_long(t, buffers, len);
	if (IS_ERR(skb))
		return PTR_ERR(skb);
	kvnet_hdr_set_buffers(q->bounce, t->hdr_len, buffers, q->tap.le);
	return kvnet_tap_copy_user(skb, q->bounce, t->hdr_len, q->vq.iov,
				   q->vq.n_iov);
}

static enum kvnet_stat drop_reason(int err)
{
	return err == -EFAULT ? KVNET_STAT_drop_fault : KVNET_STAT_drop_tap;
}

/**
 * kvnet_rx_received() - a packet has been received or dropped
 * @q: the queue
 * @len: its length
 * @err: 0, or -errno: dropped, and rewound
 *
 * Context: session.
 */
void kvnet_rx_received(struct kvnet_queue *q, size_t len, int err)
{
	if (err) {
		kvnet_vq_drop(&q->vq, drop_reason(err));
		return;
	}
	WRITE_ONCE(q->passed, q->passed + 1);
	kvnet_stat_inc(&q->vq.stats, KVNET_STAT_packets);
	kvnet_stat_add(&q->vq.stats, KVNET_STAT_bytes, len);
}

/**
 * kvnet_rx_publish() - tell the driver
 * @q: the queue
 *
 * What the device has counted, and we, is told before the driver can tell.
 *
 * Context: session.
 */
void kvnet_rx_publish(struct kvnet_queue *q)
{
	if (q->tap.calls)
		kvnet_stat_add(&q->vq.stats, KVNET_STAT_tap_calls,
			       q->tap.calls);
	q->tap.calls = 0;
	kvnet_tap_account(&q->tap);
	kvnet_vq_flush(&q->vq);
}

/* Returns 1 for a packet received or dropped, 0 to wait for buffers, -errno. */
static int receive_packet(const struct kvnet_rx_turn *t, size_t len)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_mark mark = kvnet_vq_mark(&q->vq);
	unsigned int buffers;
	int ret;

	ret = gather(t, t->hdr_len + len, &buffers);
	if (ret != 1) {
		kvnet_vq_rewind(&q->vq, mark);
		if (ret != -ENOBUFS)
			return ret;
		kvnet_tap_discard(&q->tap);
		kvnet_vq_drop(&q->vq, KVNET_STAT_drop_overrun);
		return 1;
	}

	if (len <= KVNET_RX_BOUNCE)
		ret = copy_short(t, buffers, len);
	else
		ret = copy_long(t, buffers, len);
	/* Also a copy that failed has left something. */
	if (kvnet_vq_wrote(&q->vq, t->hdr_len + len))
		ret = -EFAULT;
	if (ret)
		kvnet_vq_rewind(&q->vq, mark);
	kvnet_rx_received(q, len, ret);
	if (kvnet_vq_full(&q->vq))
		kvnet_rx_publish(q);
	return 1;
}

/* Receive until the tap or the ring is empty or the budget is spent. */
static enum kvnet_verdict fill_buffers(struct kvnet_queue *q,
				       struct kvnet_budget *budget)
{
	const struct kvnet_rx_turn t = kvnet_rx_start(q);
	size_t len;
	int ret;

	WRITE_ONCE(q->starved, false);
	do {
		len = kvnet_tap_peek(&q->tap);
		if (!len)
			return KVNET_DONE;
		ret = receive_packet(&t, len);
		if (ret <= 0) {
			WRITE_ONCE(q->starved, !ret);
			return KVNET_DONE;
		}
	} while (kvnet_budget_spend(budget, len, kvnet_vq_pieces(&q->vq)));
	return KVNET_AGAIN;
}

/**
 * kvnet_rx_turn_was() - will the next frame be for who brings it?
 * @q: the queue
 * @now_ns: the local clock
 * @frames: how many there were
 * @small: all were short, and none is left
 *
 * Context: a session.
 */
void kvnet_rx_turn_was(struct kvnet_queue *q, u64 now_ns, unsigned int frames, bool small)
{
	bool lone;

	kvnet_lone_turn(&q->lone, now_ns, frames, small, READ_ONCE(*q->answers));
	/* What is barred is no stream: its frames are the worker's, without a pause. */
	lone = q->lone.lone && !kvnet_bar_is_up(&q->bar, now_ns);
	if (lone != q->src.lone)
		WRITE_ONCE(q->src.lone, lone);
}

static void worker_turn_was(struct kvnet_queue *q, const struct kvnet_budget *budget)
{
	int frames = KVNET_TURN_PACKETS - budget->packets;
	int bytes = KVNET_TURN_BYTES - budget->bytes;

	kvnet_rx_turn_was(q, local_clock(), frames,
			  !q->starved && bytes <= frames * KVNET_LONE_LEN);
}

/* The driver is told before what is left behind is cleared away. */
static enum kvnet_verdict receive_packets(struct kvnet_queue *q)
{
	u64 woken = kvnet_source_woken(&q->src);
	struct kvnet_budget budget;
	enum kvnet_verdict verdict;

	kvnet_budget_start(&budget);
	verdict = fill_buffers(q, &budget);
	worker_turn_was(q, &budget);
	kvnet_stats_turn(&q->vq.stats, KVNET_TURN_PACKETS - budget.packets, woken);

	kvnet_rx_publish(q);
	kvnet_tap_release(&q->tap);
	return verdict;
}

/* In a session: how many of the next frames, a stream's, are to wake nobody? */
static unsigned int frames_that_wait(struct kvnet_queue *q)
{
	if (!q->lone.waits)
		return 0;
	return kvnet_lone_wait(&q->lone, local_clock(), q->look_us * NSEC_PER_USEC,
			       kvnet_tap_room(&q->tap));
}

/* In a session: rest until some frames are there, or it is time. */
static bool rest_for_some(struct kvnet_queue *q, unsigned int skip)
{
	const u32 ns = q->look_us * NSEC_PER_USEC;

	kvnet_stat_inc(&q->vq.stats, KVNET_STAT_paced);
	kvnet_wait_set(&q->tap_wait, true, q->tap.ring, skip);
	if (!kvnet_source_rest(&q->src, KVNET_EV_TAP | KVNET_EV_TIME))
		return true;
	kvnet_source_alarm(&q->src, local_clock(), ns / 2, ns, false);
	return false;
}

/*
 * In a session: rest until the driver gives buffers or the tap has frames, but for
 * @skip of a stream. True if there is work after all.
 */
static bool rest(struct kvnet_queue *q, unsigned int skip)
{
	bool more;

	if (skip)
		return rest_for_some(q, skip);
	kvnet_wait_set(&q->tap_wait, !q->starved, NULL, 0);
	if (!kvnet_source_rest(&q->src, q->starved ? KVNET_EV_KICK : KVNET_EV_TAP))
		return true;
	more = q->starved ? kvnet_vq_kick_on(&q->vq) == 1 :
			    kvnet_tap_readable(&q->tap);
	if (more)
		return kvnet_source_again(&q->src);
	/* Who brings a frame before the end of the session finds it shut. */
	q->vq.opens = !q->starved && q->src.lone && kvnet_rx_may_soft(q);
	return false;
}

static enum kvnet_verdict rx_run(struct kvnet_source *src)
{
	struct kvnet_queue *q = kvnet_rx_queue(src);
	enum kvnet_verdict verdict;
	unsigned int skip;

	if (!kvnet_vq_begin(&q->vq)) {
		kvnet_vq_ask_again(&q->vq);
		return KVNET_DONE;
	}
	kvnet_stat_inc(&q->vq.stats, KVNET_STAT_runs);
	verdict = receive_packets(q);
	/* A look ahead would hide those that come now: kicks are asked for from there on. */
	if (q->starved)
		kvnet_stat_inc(&q->vq.stats, KVNET_STAT_wait_buffers);
	else if (q->lone.why != KVNET_STAT_NONE)
		kvnet_rx_prepare(q);
	if (verdict == KVNET_AGAIN) {
		kvnet_stat_inc(&q->vq.stats, KVNET_STAT_requeues);
	} else if (kvnet_vq_runs(&q->vq)) {
		skip = frames_that_wait(q);
		if (skip || kvnet_source_may_rest(src))
			verdict = rest(q, skip) ? KVNET_AGAIN : KVNET_RESTS;
	}
	kvnet_vq_end(&q->vq);
	return verdict;
}

static bool rx_pending(struct kvnet_source *src)
{
	struct kvnet_queue *q = kvnet_rx_queue(src);
	bool ret;

	if (READ_ONCE(q->starved))
		return kvnet_vq_pending(&q->vq);
	/* Without the lock: it is about when, and who is to rest looks with it. */
	if (!data_race(kvnet_lone_look(&q->lone, local_clock())))
		return false;
	if (!mutex_trylock(&q->vq.lock))
		return true;
	ret = kvnet_vq_runs(&q->vq) && kvnet_tap_readable(&q->tap);
	mutex_unlock(&q->vq.lock);
	return ret;
}

static bool rx_arm(struct kvnet_source *src)
{
	struct kvnet_queue *q = kvnet_rx_queue(src);
	bool more;

	if (!kvnet_vq_begin(&q->vq))
		return !kvnet_queue_rest_shut(q);
	more = rest(q, frames_that_wait(q));
	kvnet_vq_end(&q->vq);
	return more;
}

const struct kvnet_source_ops kvnet_rx_ops = {
	.run = rx_run,
	.run_soft = kvnet_rx_run_soft,
	.pending = rx_pending,
	.arm = rx_arm,
};
