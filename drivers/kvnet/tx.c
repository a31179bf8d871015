// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - packets from the guest to the tap
 *
 * Packets are copied into frames that the tap takes over in batches; what does
 * not fit a batch (a limited send buffer, very long packets) goes one by one.
 * Buffers go back to the driver in batches, independent of that.
 */
#include <linux/errno.h>
#include <linux/if_ether.h>
#include <linux/sched/clock.h>
#include <linux/vhost_types.h>

#include "features.h"
#include "net.h"

/* No GSO packet is longer, with some room (BIG TCP stays below 2^19). */
#define PACKET_MAX	(1U << 19)

/* Packets that are shorter in the mean may be a stream of lone ones. */
#define PACED_MEAN	2048

/**
 * struct tx_turn - what stays the same during a turn
 * @q: the queue
 * @hdr_len: length of the driver's header
 * @batches: kvnet_tap_batches()
 */
struct tx_turn {
	struct kvnet_queue *q;
	size_t hdr_len;
	bool batches;
};

static struct kvnet_queue *to_queue(struct kvnet_source *src)
{
	return container_of(src, struct kvnet_queue, src);
}

static struct tx_turn start_turn(struct kvnet_queue *q)
{
	const struct kvnet_features *f = &q->vq.features;

	kvnet_tap_turn(&q->tap, kvnet_features_tap_hdr_len(f), q->vq.ring.le);
	return (struct tx_turn) {
		.q = q,
		.hdr_len = kvnet_features_hdr_len(f),
		.batches = kvnet_tap_batches(&q->tap),
	};
}

static void count_packets(struct kvnet_queue *q, unsigned int n, size_t bytes)
{
	WRITE_ONCE(q->passed, q->passed + n);
	kvnet_stat_add(&q->vq.stats, KVNET_STAT_packets, n);
	kvnet_stat_add(&q->vq.stats, KVNET_STAT_bytes, bytes);
}

/* What the stack has not taken is for the socket. */
static void send_queued(struct kvnet_queue *q)
{
	unsigned int left, n = q->tap.n_xdp;
	size_t bytes = q->tap.bytes, rest;

	if (!n)
		return;
	if (kvnet_tap_deliver(&q->tap)) {
		kvnet_stat_inc(&q->vq.stats, KVNET_STAT_direct);
		kvnet_stat_add(&q->vq.stats, KVNET_STAT_packets_direct,
			       n - q->tap.n_xdp);
	}
	left = q->tap.n_xdp;
	rest = q->tap.bytes;
	if (left && kvnet_tap_send_queued(&q->tap) < 0) {
		n -= left;
		bytes -= rest;
		while (left--)
			kvnet_vq_drop(&q->vq, KVNET_STAT_drop_tap);
	}
	if (!n)
		return;
	kvnet_stat_inc(&q->vq.stats, KVNET_STAT_batches);
	count_packets(q, n, bytes);
}

/* Returns -EAGAIN if there is no room in the tap or no memory, else 0: sent or dropped. */
static int send_single(const struct tx_turn *t,
		       const struct kvnet_tap_msg *from, size_t len)
{
	struct kvnet_queue *q = t->q;
	int ret;

	send_queued(q);
	ret = kvnet_tap_send(&q->tap, from);
	if (ret == -EAGAIN)
		return ret;
	if (ret < 0) {
		kvnet_vq_drop(&q->vq, ret == -EFAULT ? KVNET_STAT_drop_fault :
						       KVNET_STAT_drop_tap);
		return 0;
	}
	kvnet_stat_inc(&q->vq.stats, KVNET_STAT_singles);
	count_packets(q, 1, len);
	return 0;
}

/*
 * Returns -EAGAIN if there is no room in the tap or no memory, -EBUSY if it is nothing
 * for a thread that kicked, else 0: sent, queued or dropped.
 */
static int send_packet(const struct tx_turn *t, const struct kvnet_buf *buf)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_tap_msg from;
	size_t len;
	int ret;

	if (buf->len < t->hdr_len + ETH_HLEN) {
		kvnet_vq_drop(&q->vq, KVNET_STAT_drop_short);
		return 0;
	}
	len = buf->len - t->hdr_len;
	if (len > PACKET_MAX) {
		kvnet_vq_drop(&q->vq, KVNET_STAT_drop_long);
		return 0;
	}
	if (q->vq.lent && (!t->batches || len > KVNET_LENT_BYTES))
		return -EBUSY;
	from.iov = buf->iov;
	from.n = buf->n;
	from.len = q->tap.hdr_len + len;
	from.skip = buf->len - from.len;
	if (!t->batches)
		return send_single(t, &from, len);

	ret = kvnet_tap_queue(&q->tap, &from);
	if (ret && q->vq.lent)
		return -EBUSY;
	if (ret == -EMSGSIZE)
		return send_single(t, &from, len);
	if (ret == -EAGAIN)
		return ret;
	if (ret)
		kvnet_vq_drop(&q->vq, ret == -EINVAL ? KVNET_STAT_drop_header :
						       KVNET_STAT_drop_fault);
	else if (kvnet_tap_is_full(&q->tap))
		send_queued(q);
	return 0;
}

/* Send until the ring is empty, the tap is full or the budget is spent. */
static enum kvnet_verdict send_packets(struct kvnet_queue *q,
				       struct kvnet_budget *budget)
{
	const struct tx_turn t = start_turn(q);
	struct kvnet_mark mark;
	struct kvnet_buf buf;
	int ret;

	q->starved = false;
	do {
		mark = kvnet_vq_mark(&q->vq);
		ret = kvnet_vq_pop(&q->vq, KVNET_FROM_DRIVER, 0, &buf);
		if (ret <= 0)
			return ret && q->vq.lent ? KVNET_AGAIN : KVNET_DONE;
		ret = send_packet(&t, &buf);
		if (ret) {
			kvnet_vq_rewind(&q->vq, mark);
			q->starved = ret == -EAGAIN;
			return q->starved ? KVNET_DONE : KVNET_AGAIN;
		}
		kvnet_vq_push(&q->vq, &buf, 0);
		kvnet_vq_flush_full(&q->vq);
	} while (kvnet_budget_spend(budget, buf.len, kvnet_vq_pieces(&q->vq)));
	return KVNET_AGAIN;
}

/*
 * A driver has no use for a lone buffer at once, as long as it has others; and it
 * will look by itself when it sends the next packet. As network devices do
 * (ethtool -C tx-usecs), let it be called after a while: when that packet does not come.
 */
static void set_timer(struct kvnet_queue *q, u64 now_ns)
{
	u32 cap = min(READ_ONCE(kvnet_tx_call_us), 10000U) * NSEC_PER_USEC;
	u32 gap = q->pace.gap_ns;

	cap = kvnet_defer_left(&q->vq.defer, now_ns, cap);
	kvnet_source_alarm(&q->src, now_ns, kvnet_defer_ns(gap, KVNET_DEFER_GAPS, cap),
			   kvnet_defer_ns(gap, KVNET_DEFER_GAPS_MOST, cap), true);
}

/* The clock is for those few that have been. */
static bool is_barred(const struct kvnet_queue *q)
{
	return unlikely(q->bar.wait_ns) && kvnet_bar_is_up(&q->bar, local_clock());
}

static bool may_put_off(struct kvnet_queue *q)
{
	return READ_ONCE(q->src.crew->soft) && READ_ONCE(kvnet_tx_call_us) && !q->starved &&
	       !q->pace.delay_ns && kvnet_vq_lendable(&q->vq) && kvnet_lend_may_here() &&
	       !is_barred(q) && kvnet_defer_pays(&q->vq.defer);
}

/*
 * In a session: rest until the driver kicks, or it is time, or the tap has room. True
 * if there is work after all.
 */
static bool rest(struct kvnet_queue *q)
{
	bool more;
	u64 now;
	u32 ns;

	/* The driver's call comes first. */
	kvnet_vq_flush(&q->vq);
	kvnet_wait_set(&q->tap_wait, q->starved, NULL, 0);
	now = local_clock();
	if (q->starved) {
		kvnet_vq_call_owed(&q->vq);
		if (!kvnet_source_rest(&q->src, KVNET_EV_TAP))
			return true;
		more = kvnet_tap_writable(&q->tap);
	} else {
		ns = kvnet_pace_rest(&q->pace, now, READ_ONCE(*q->answers));
		if (ns) {
			kvnet_stat_inc(&q->vq.stats, KVNET_STAT_paced);
			kvnet_vq_call_owed(&q->vq);
			return !kvnet_source_rest_for(&q->src, ns);
		}
		if (!kvnet_source_rest(&q->src, KVNET_EV_KICK |
				       (q->vq.owes ? KVNET_EV_TIME : 0)))
			return true;
		more = kvnet_vq_kick_on(&q->vq) == 1;
	}
	if (more)
		return kvnet_source_again(&q->src);
	if (q->vq.owes)
		set_timer(q, now);
	q->vq.opens = q->vq.owes;
	return false;
}

/* In a session: a turn with a budget. */
static enum kvnet_verdict turn(struct kvnet_queue *q, struct kvnet_budget *budget)
{
	const struct kvnet_budget all = *budget;
	u64 woken = kvnet_source_woken(&q->src);
	enum kvnet_verdict verdict;
	int packets;
	bool rests;

	verdict = send_packets(q, budget);
	send_queued(q);
	packets = all.packets - budget->packets;
	kvnet_stats_turn(&q->vq.stats, packets, woken);
	/* Long packets need no pace. */
	if (all.bytes - budget->bytes > packets * PACED_MEAN)
		kvnet_pace_slow(&q->pace);
	else
		kvnet_pace_sent(&q->pace, packets);
	if (q->starved)
		kvnet_stat_inc(&q->vq.stats, KVNET_STAT_wait_tap);
	rests = verdict == KVNET_DONE && kvnet_vq_runs(&q->vq) &&
		(q->starved || q->vq.lent || kvnet_source_may_rest(&q->src));
	/* It is who rests that sees to a call; others may keep a worker from that for long. */
	q->vq.patient = rests && may_put_off(q);
	/* It was not the driver's next packet. */
	if (!packets)
		kvnet_vq_call_owed(&q->vq);
	if (rests)
		verdict = rest(q) ? KVNET_AGAIN : KVNET_RESTS;
	return verdict;
}

/*
 * A tap hands frames to the stack at once, whoever brings them. A macvtap or a packet
 * socket puts them into a queue of the device below, or of the CPU: there those of two
 * threads may change places.
 */
static bool may_lend(const struct kvnet_queue *q)
{
	return q->tap.counts && kvnet_vq_lendable(&q->vq);
}

static enum kvnet_verdict tx_run(struct kvnet_source *src)
{
	struct kvnet_queue *q = to_queue(src);
	struct kvnet_budget budget;
	enum kvnet_verdict verdict;

	if (!kvnet_vq_begin(&q->vq)) {
		kvnet_vq_ask_again(&q->vq);
		return KVNET_DONE;
	}
	kvnet_stat_inc(&q->vq.stats, KVNET_STAT_runs);
	kvnet_budget_start(&budget);
	verdict = turn(q, &budget);
	if (kvnet_budget_spent(&budget))
		kvnet_stat_inc(&q->vq.stats, KVNET_STAT_requeues);
	if (budget.packets < KVNET_TURN_PACKETS)
		WRITE_ONCE(src->lone, kvnet_budget_little(&budget) &&
				      may_lend(q) &&
				      !kvnet_pace_streams(&q->pace));
	kvnet_vq_end(&q->vq);
	return verdict;
}

/* What is more than a little, or would have to wait for a page, is for the worker. */
static enum kvnet_verdict tx_run_lent(struct kvnet_source *src)
{
	struct kvnet_queue *q = to_queue(src);
	enum kvnet_verdict verdict;
	struct kvnet_budget budget;
	unsigned long passed;
	u64 begin;

	if (!kvnet_vq_begin_lent(&q->vq))
		return KVNET_AGAIN;
	if (unlikely(!may_lend(q))) {
		WRITE_ONCE(src->lone, false);
		kvnet_vq_end(&q->vq);
		return KVNET_AGAIN;
	}
	begin = local_clock();
	passed = q->passed;
	kvnet_stat_inc(&q->vq.stats, KVNET_STAT_polls_inline);
	kvnet_budget_start_lent(&budget, q->pace.delay_ns);
	verdict = turn(q, &budget);
	kvnet_stat_add(&q->vq.stats, KVNET_STAT_packets_inline, q->passed - passed);
	kvnet_pace_took(&q->pace, local_clock() - begin);
	if (verdict != KVNET_RESTS || kvnet_pace_streams(&q->pace))
		WRITE_ONCE(src->lone, false);
	kvnet_vq_end(&q->vq);
	return verdict == KVNET_RESTS ? verdict : KVNET_AGAIN;
}

/* The CPU is the one that the timer was set on, and by now perhaps another's. */
static void call_soft(struct kvnet_queue *q)
{
	u64 now, begin = local_clock();

	if (kvnet_vq_call_owed(&q->vq))
		kvnet_defer_late(&q->vq.defer);
	now = local_clock();
	if (unlikely(kvnet_bar_took(&q->bar, now, now - begin)))
		kvnet_stat_inc(&q->vq.stats, KVNET_STAT_soft_barred);
}

/* What is there to do is to call. */
static enum kvnet_verdict tx_run_soft(struct kvnet_source *src)
{
	struct kvnet_queue *q = to_queue(src);
	enum kvnet_verdict verdict = KVNET_RESTS;

	if (!kvnet_vq_begin_soft(&q->vq))
		return KVNET_AGAIN;
	if (unlikely(!q->vq.owes)) {
		kvnet_vq_end_soft(&q->vq);
		return KVNET_AGAIN;
	}
	call_soft(q);
	/* Kicks have been asked for; one that came meanwhile was dropped. */
	if (!kvnet_source_rest(src, KVNET_EV_KICK) ||
	    (kvnet_ring_pending(&q->vq.ring) && kvnet_source_again(src)))
		verdict = KVNET_AGAIN;
	kvnet_vq_end_soft(&q->vq);
	return verdict;
}

static bool tx_pending(struct kvnet_source *src)
{
	return kvnet_vq_pending(&to_queue(src)->vq);
}

static bool tx_arm(struct kvnet_source *src)
{
	struct kvnet_queue *q = to_queue(src);
	bool more;

	if (!kvnet_vq_begin(&q->vq))
		return !kvnet_queue_rest_shut(q);
	more = rest(q);
	kvnet_vq_end(&q->vq);
	return more;
}

const struct kvnet_source_ops kvnet_tx_ops = {
	.run = tx_run,
	.run_lent = tx_run_lent,
	.run_soft = tx_run_soft,
	.pending = tx_pending,
	.arm = tx_arm,
};
