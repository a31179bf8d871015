// SPDX-License-Identifier: GPL-2.0
/*
 * rx_place.c - lone frames from the tap to the guest, by who brings them
 *
 * Whoever puts a frame into the tap runs in the kernel already, with the frame in its
 * cache. In the softirq that comes next on its CPU the frame is copied to the guest,
 * and the guest is called: no thread is woken. What that needs has been prepared by a
 * worker: a ring of loads and stores, and pages that are known (resident.h). All that
 * is not simple is left to the worker, with nothing done yet.
 */
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/sched/clock.h>

#include "features.h"
#include "net.h"
#include "rx.h"

/* Buffers of a frame, and pieces of memory: one that is cut up more takes a worker's time. */
#define BUFFERS_MAX	16U
#define PIECES_MAX	(2 * BUFFERS_MAX)

/* Buffers whose pages are learnt at a time, and pieces. */
#define AHEAD		64
#define PIECES_AHEAD	(2 * AHEAD)

/**
 * kvnet_rx_may_soft() - can frames be received in place, if they are lone ones?
 * @q: the queue
 *
 * Context: session of a worker.
 * Return: true if so.
 */
bool kvnet_rx_may_soft(const struct kvnet_queue *q)
{
	return READ_ONCE(q->src.crew->soft) && kvnet_vq_lendable(&q->vq) &&
	       kvnet_tap_soft(&q->tap);
}

/* The pages of the buffers that come next, as far as a frame goes. They are not taken. */
static void learn_pages(struct kvnet_queue *q)
{
	struct kvnet_vq *vq = &q->vq;
	struct kvnet_mark mark = kvnet_vq_mark(vq);
	unsigned int n = min_t(u32, vq->ring.num, AHEAD), pieces = PIECES_AHEAD;
	size_t left;

	while (n-- && kvnet_vq_take_plain(vq, SIZE_MAX, 1, min(pieces, PIECES_MAX),
					  &left)) {
		pieces -= vq->n_iov;
		if (!kvnet_resident_learn(q->resident, vq->iov, vq->n_iov,
					  KVNET_HDR_MAX + KVNET_LONE_LEN))
			break;
	}
	kvnet_vq_rewind(vq, mark);
}

/**
 * kvnet_rx_prepare() - see to it that the next frame is received in place
 * @q: the queue; the last one was not
 *
 * Context: session of a worker, in the owner's address space; may sleep.
 */
void kvnet_rx_prepare(struct kvnet_queue *q)
{
	struct kvnet_lone *p = &q->lone;

	kvnet_stat_inc(&q->vq.stats, p->why);
	if (p->why == KVNET_STAT_soft_missed && kvnet_rx_may_soft(q))
		learn_pages(q);
	p->why = KVNET_STAT_NONE;
}

static int put_short(const struct kvnet_rx_turn *t, unsigned int buffers,
		     size_t len)
{
	struct kvnet_queue *q = t->q;
	int ret = kvnet_rx_read_short(t, buffers, len);

	if (!ret)
		kvnet_resident_put(q->resident, q->vq.iov, 0, q->bounce,
				   t->hdr_len + len);
	return ret;
}

/* -EAGAIN: the frame is still there. */
static int put_long(const struct kvnet_rx_turn *t, unsigned int buffers)
{
	struct kvnet_queue *q = t->q;
	struct sk_buff *skb = kvnet_tap_take(&q->tap, kvnet_rx_header(t));

	if (!skb)
		return -EAGAIN;
	if (IS_ERR(skb))
		return PTR_ERR(skb);
	kvnet_hdr_set_buffers(q->bounce, t->hdr_len, buffers, q->tap.le);
	kvnet_resident_put(q->resident, q->vq.iov, 0, q->bounce, t->hdr_len);
	return kvnet_resident_put_skb(q->resident, q->vq.iov, t->hdr_len, skb);
}

/* -EAGAIN: the frame is still there, and the worker's: @why. */
static int put_frame(const struct kvnet_rx_turn *t, unsigned int buffers, size_t len,
		     enum kvnet_stat *why)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_resident *r = q->resident;
	int ret = -EAGAIN;

	/* A thread of the VMM has it while its memory changes, and is not waited for. */
	*why = KVNET_STAT_soft_busy;
	if (!spin_trylock(&r->lock))
		return ret;
	*why = KVNET_STAT_soft_missed;
	if (kvnet_resident_has(r, q->vq.iov, q->vq.n_iov, t->hdr_len + len)) {
		*why = KVNET_STAT_soft_slow;
		ret = len <= KVNET_RX_BOUNCE ? put_short(t, buffers, len) :
					       put_long(t, buffers);
	}
	spin_unlock(&r->lock);
	return ret;
}

/* Returns KVNET_STAT_NONE for a frame received or dropped; or why it is the worker's. */
static enum kvnet_stat place_frame(const struct kvnet_rx_turn *t, size_t len)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_mark mark = kvnet_vq_mark(&q->vq);
	enum kvnet_stat why = KVNET_STAT_soft_slow;
	unsigned int buffers;
	size_t left;
	int ret;

	if (len > KVNET_LONE_LEN || !kvnet_tap_knows(&q->tap))
		return why;
	buffers = kvnet_vq_take_plain(&q->vq, t->hdr_len + len,
				      min(t->buffers_max, BUFFERS_MAX), PIECES_MAX,
				      &left);
	if (left)
		goto leave;
	ret = put_frame(t, buffers, len, &why);
	if (ret == -EAGAIN)
		goto leave;
	if (ret)
		kvnet_vq_rewind(&q->vq, mark);
	kvnet_rx_received(q, len, ret);
	return KVNET_STAT_NONE;

leave:
	kvnet_vq_rewind(&q->vq, mark);
	return why;
}

/*
 * Two times are not bounded here: that of the call, since the VMM decides which tasks it
 * wakes; and @waited, which the softirq has spent on frames of other devices (a NAPI poll)
 * while the worker could have received this one. If they are long, the worker receives.
 */
static void publish(struct kvnet_queue *q, u64 waited)
{
	u64 now, begin = local_clock();

	kvnet_rx_publish(q);
	now = local_clock();
	/* Have the next event timed, too: the debt is of all that wait, not of one in 16. */
	if (unlikely(waited > KVNET_BAR_QUICK))
		WRITE_ONCE(q->src.timed, 0);
	if (unlikely(kvnet_bar_took(&q->bar, now, waited + (now - begin))))
		kvnet_stat_inc(&q->vq.stats, KVNET_STAT_soft_barred);
}

/* A few frames. Returns KVNET_STAT_NONE when there are no more; or why they are the worker's. */
static enum kvnet_stat place_frames(struct kvnet_queue *q)
{
	const struct kvnet_rx_turn t = kvnet_rx_start(q);
	u64 now, begin = local_clock(), woken = kvnet_source_woken(&q->src);
	unsigned long passed = q->passed;
	enum kvnet_stat why = KVNET_STAT_NONE;
	unsigned int n = 0;
	size_t len;

	while (why == KVNET_STAT_NONE && (len = kvnet_tap_peek(&q->tap))) {
		why = KVNET_STAT_soft_more;
		if (n == KVNET_LONE_FRAMES)
			break;
		why = place_frame(&t, len);
		n += why == KVNET_STAT_NONE;
	}
	publish(q, woken);
	kvnet_tap_release(&q->tap);
	if (n) {
		kvnet_stat_inc(&q->vq.stats, KVNET_STAT_polls_inline);
		kvnet_stat_add(&q->vq.stats, KVNET_STAT_packets_inline,
			       q->passed - passed);
		kvnet_stats_turn(&q->vq.stats, n, woken);
	}
	now = local_clock();
	if (n == 1)
		kvnet_lone_took(&q->lone, now - begin);
	kvnet_rx_turn_was(q, now, n, why == KVNET_STAT_NONE || why == KVNET_STAT_soft_missed);
	return why;
}

/* True if there is work after all, which is the worker's. */
static bool rest(struct kvnet_queue *q)
{
	if (!kvnet_source_rest(&q->src, KVNET_EV_TAP))
		return true;
	return kvnet_tap_readable(&q->tap) && kvnet_source_again(&q->src);
}

/**
 * kvnet_rx_run_soft() - receive in place
 * @src: of the queue, held
 *
 * Context: softirq.
 * Return: KVNET_RESTS, or KVNET_AGAIN for the worker.
 */
enum kvnet_verdict kvnet_rx_run_soft(struct kvnet_source *src)
{
	struct kvnet_queue *q = kvnet_rx_queue(src);
	enum kvnet_verdict verdict = KVNET_RESTS;

	if (!kvnet_vq_begin_soft(&q->vq)) {
		q->lone.why = KVNET_STAT_soft_busy;
		return KVNET_AGAIN;
	}
	q->tap.soft = true;
	q->lone.why = kvnet_tap_soft(&q->tap) ? place_frames(q) : KVNET_STAT_soft_slow;
	if (q->lone.why != KVNET_STAT_NONE || rest(q))
		verdict = KVNET_AGAIN;
	q->tap.soft = false;
	kvnet_vq_end_soft(&q->vq);
	return verdict;
}
