// SPDX-License-Identifier: GPL-2.0
/*
 * tx.c - packets from the guest to the tap
 *
 * Packets are copied into frames, which are passed to the tap in batches. What cannot be
 * batched (a limited send buffer, very long packets) is sent one by one. Used buffers are
 * flushed to the driver in batches of their own.
 *
 * tx_poll() runs in the worker. tx_poll_vcpu() runs in task_work of a vCPU thread that kicked
 * or that the timer interrupted, with page faults disabled, and sends only a few packets.
 * tx_poll_softirq() runs in a tasklet of the CPU where the timer expired, and only makes a
 * deferred call. SCHED in the run state allows one of them at a time, and each opens a
 * session, in which the helpers run.
 */
#include <linux/errno.h>
#include <linux/if_ether.h>
#include <linux/sched/clock.h>

#include "features.h"
#include "kvnet.h"

/* Above the longest GSO packet: BIG TCP stays below 2^19. */
#define TX_PACKET_MAX	(1U << 19)

/* Constant during a poll. */
struct tx_poll_ctx {
	struct kvnet_queue *q;
	size_t hdr_len;	/* of the driver's header, in bytes */
	bool may_batch;
};

static struct tx_poll_ctx start_tx_poll(struct kvnet_queue *q)
{
	const struct kvnet_features *f = &q->vq.features;

	q->tap.hdr_len = kvnet_features_tap_hdr_len(f);
	q->tap.le = q->vq.ring.le;
	q->tap.is_worker = !kvnet_vq_in_vcpu_session();
	/* Only frames to the guest tell it. */
	q->tap.queue = READ_ONCE((q - 1)->tap.queue);
	q->tap.may_shortcut = kvnet_dev_is_shortcut(kvnet_dev_of_queue(q));
	return (struct tx_poll_ctx) {
		.q = q,
		.hdr_len = kvnet_features_hdr_len(f),
		.may_batch = kvnet_tap_tx_may_batch(&q->tap),
	};
}

static void count_tx_packets(struct kvnet_queue *q, unsigned int n, size_t bytes)
{
	WRITE_ONCE(q->packet_count, q->packet_count + n);
	kvnet_stats_add(&q->vq.stats, KVNET_STAT_packets, n);
	kvnet_stats_add(&q->vq.stats, KVNET_STAT_bytes, bytes);
}

/* Packets that direct TX cannot deliver fall back to the tap's sendmsg(). */
static void send_tx_batch(struct kvnet_queue *q)
{
	unsigned int left, n = q->tap.n_xdp;
	size_t bytes = q->tap.xdp_bytes, left_bytes;

	if (!n)
		return;
	if (kvnet_tap_tx_direct_deliver(&q->tap)) {
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_batches_direct);
		kvnet_stats_add(&q->vq.stats, KVNET_STAT_packets_direct, n - q->tap.n_xdp);
		kvnet_stats_add(&q->vq.stats, KVNET_STAT_packets_gro, q->tap.gro_merged);
		kvnet_stats_add(&q->vq.stats, KVNET_STAT_packets_shortcut,
				q->tap.shortcut_packets);
	}
	left = q->tap.n_xdp;
	left_bytes = q->tap.xdp_bytes;
	if (left && kvnet_tap_tx_send_batch(&q->tap) < 0) {
		n -= left;
		bytes -= left_bytes;
		while (left--)
			kvnet_vq_count_drop(&q->vq, KVNET_STAT_drop_tap);
	}
	if (!n)
		return;
	kvnet_stats_inc(&q->vq.stats, KVNET_STAT_batches);
	count_tx_packets(q, n, bytes);
}

/* Returns 0 if the packet was sent or dropped, -EAGAIN without room in the tap or memory. */
static int send_one_packet(const struct tx_poll_ctx *t,
			   const struct kvnet_tap_msg *from, size_t len)
{
	struct kvnet_queue *q = t->q;
	int ret;

	BUILD_BUG_ON(DIV_ROUND_UP(TX_PACKET_MAX, KVNET_FRAG_MAX) > MAX_SKB_FRAGS);
	send_tx_batch(q);
	if (t->may_batch && kvnet_tap_tx_long_send(&q->tap, from)) {
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_batches);
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_batches_direct);
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_packets_direct);
		count_tx_packets(q, 1, len);
		return 0;
	}
	ret = kvnet_tap_tx_send_one(&q->tap, from);
	if (ret == -EAGAIN)
		return ret;
	if (ret < 0) {
		kvnet_vq_count_drop(&q->vq, ret == -EFAULT ? KVNET_STAT_drop_fault :
						       KVNET_STAT_drop_tap);
		return 0;
	}
	kvnet_stats_inc(&q->vq.stats, KVNET_STAT_packets_unbatched);
	count_tx_packets(q, 1, len);
	return 0;
}

/*
 * Returns 0 if the packet was sent, queued or dropped, -EAGAIN without room in the tap or
 * memory, -EBUSY if a vCPU session must leave the packet to the worker.
 */
static int send_tx_packet(const struct tx_poll_ctx *t, const struct kvnet_buf *buf)
{
	struct kvnet_queue *q = t->q;
	struct kvnet_tap_msg from;
	size_t len;
	int ret;

	if (buf->len < t->hdr_len + ETH_HLEN) {
		kvnet_vq_count_drop(&q->vq, KVNET_STAT_drop_short);
		return 0;
	}
	len = buf->len - t->hdr_len;
	if (len > TX_PACKET_MAX) {
		kvnet_vq_count_drop(&q->vq, KVNET_STAT_drop_long);
		return 0;
	}
	if ((!t->may_batch || len > KVNET_BUDGET_VCPU_BYTES) && kvnet_vq_in_vcpu_session())
		return -EBUSY;
	from.iov = buf->iov;
	from.n = buf->n;
	from.len = q->tap.hdr_len + len;
	from.skip = buf->len - from.len;
	if (!t->may_batch)
		return send_one_packet(t, &from, len);

	ret = kvnet_tap_tx_queue(&q->tap, &from);
	if (ret && kvnet_vq_in_vcpu_session())
		return -EBUSY;
	if (ret == -EMSGSIZE)
		return send_one_packet(t, &from, len);
	if (ret == -EAGAIN)
		return ret;
	if (ret)
		kvnet_vq_count_drop(&q->vq, ret == -EINVAL ? KVNET_STAT_drop_header :
						       KVNET_STAT_drop_fault);
	else if (kvnet_tap_tx_batch_is_full(&q->tap))
		send_tx_batch(q);
	return 0;
}

/* REPOLL in a vCPU session also means that the worker must take the next packet. */
static enum kvnet_work_result send_tx_packets(struct kvnet_queue *q, struct kvnet_budget *budget)
{
	const struct tx_poll_ctx t = start_tx_poll(q);
	struct kvnet_mark mark;
	struct kvnet_buf buf;
	int ret;

	q->no_room = false;
	do {
		mark = kvnet_vq_mark(&q->vq);
		ret = kvnet_vq_pop(&q->vq, KVNET_VQ_FROM_DRIVER, 0, &buf);
		if (ret <= 0)
			return ret && kvnet_vq_in_vcpu_session() ? KVNET_WORK_REPOLL :
								   KVNET_WORK_IDLE;
		ret = send_tx_packet(&t, &buf);
		if (ret) {
			kvnet_vq_rewind(&q->vq, mark);
			q->no_room = ret == -EAGAIN;
			return q->no_room ? KVNET_WORK_IDLE : KVNET_WORK_REPOLL;
		}
		kvnet_vq_push(&q->vq, &buf, 0);
		if (kvnet_vq_should_flush(&q->vq))
			kvnet_vq_flush(&q->vq, false);
	} while (kvnet_budget_spend(budget, buf.len, kvnet_vq_count_pieces(&q->vq)));
	return KVNET_WORK_REPOLL;
}

/*
 * A driver with free buffers does not need a single used buffer immediately, and it reads
 * the used ring anyway when it sends the next packet. So the call is deferred, as network
 * devices do (ethtool -C tx-usecs), until the timer shows that no further packet came.
 */
static void start_call_timer(struct kvnet_queue *q, u64 now_ns)
{
	u32 max_ns = min(READ_ONCE(kvnet_param_tx_usecs), 10000U) * NSEC_PER_USEC;
	u32 ns = kvnet_moderation_tx_call_delay(&q->vq.tx_mod, now_ns, max_ns);

	kvnet_work_start_timer(&q->work, now_ns, ns);
}

static bool may_defer_tx_call(struct kvnet_queue *q)
{
	return READ_ONCE(q->work.workers->allow_softirq) && READ_ONCE(kvnet_param_tx_usecs) &&
	       !q->no_room && !q->vq.tx_mod.delay_ns && kvnet_vq_may_inline(&q->vq) &&
	       kvnet_work_cpu_may_inline() && !kvnet_queue_is_throttled(q) &&
	       kvnet_moderation_tx_may_defer(&q->vq.tx_mod);
}

/*
 * A tun device passes frames to the stack in the same call. A macvtap or a packet socket
 * queues them to the lower device or to the CPU, where frames of the worker and of a vCPU
 * thread could be reordered.
 */
static bool may_inline_tx(const struct kvnet_queue *q)
{
	return READ_ONCE(q->work.workers->allow_vcpu) && kvnet_queue_has_tun(q) &&
	       kvnet_vq_may_inline(&q->vq);
}

/* Few packets per kick are for the kicking vCPU thread, but a stream is for the worker. */
static unsigned int get_kick_events(struct kvnet_queue *q)
{
	if (q->small_poll && may_inline_tx(q) && !kvnet_moderation_tx_is_stream(&q->vq.tx_mod))
		return KVNET_EV_KICK | KVNET_EV_VCPU(KVNET_EV_KICK);
	return KVNET_EV_KICK;
}

/* Kicks stay off until the ring is polled by timer, in @ns. Returns as complete_tx(). */
static bool complete_tx_moderated(struct kvnet_queue *q, u32 ns)
{
	unsigned int events = KVNET_EV_TIMER;

	kvnet_stats_inc(&q->vq.stats, KVNET_STAT_moderated);
	kvnet_vq_send_pending_call(&q->vq);
	if (may_inline_tx(q))
		events |= KVNET_EV_VCPU(KVNET_EV_TIMER);
	return !kvnet_work_complete_for(&q->work, events, ns);
}

/*
 * In a session: complete the poll until a kick, the timer or room in the tap. Returns true
 * if there is more work: SCHED is set, and the caller still owns the work.
 */
static bool complete_tx(struct kvnet_queue *q)
{
	unsigned int events;
	bool more;
	u64 now;
	u32 ns;

	/*
	 * The driver's call comes first. Only completing the poll starts the timer of a pending
	 * call. A worker that polls again may be kept off its CPU for long, so it must not defer.
	 */
	kvnet_vq_flush(&q->vq, q->vq.n_used && may_defer_tx_call(q));
	kvnet_watch_set(&q->tap_watch, q->no_room, NULL);
	now = local_clock();
	if (q->no_room) {
		kvnet_vq_send_pending_call(&q->vq);
		if (!kvnet_work_complete(&q->work, KVNET_EV_TAP))
			return true;
		more = kvnet_tap_tx_is_writable(&q->tap);
	} else {
		ns = kvnet_moderation_tx_update(&q->vq.tx_mod, now, kvnet_queue_reverse_count(q));
		if (ns)
			return complete_tx_moderated(q, ns);
		events = get_kick_events(q);
		if (q->vq.call_pending)
			events |= KVNET_EV_TIMER | KVNET_EV_SOFTIRQ(KVNET_EV_TIMER);
		if (!kvnet_work_complete(&q->work, events))
			return true;
		more = kvnet_vq_kick_on(&q->vq) == 1;
	}
	if (more)
		return kvnet_work_reschedule(&q->work);
	if (q->vq.call_pending)
		start_call_timer(q, now);
	return false;
}

static enum kvnet_work_result tx_poll_session(struct kvnet_queue *q, struct kvnet_budget *budget)
{
	const struct kvnet_budget all = *budget;
	u64 latency_ns = kvnet_work_consume_wake_latency(&q->work);
	enum kvnet_work_result result;
	int packets;
	bool may_complete;

	result = send_tx_packets(q, budget);
	send_tx_batch(q);
	packets = all.packets - budget->packets;
	kvnet_stats_add_poll(&q->vq.stats, packets, latency_ns);
	kvnet_moderation_tx_note_sent(&q->vq.tx_mod, packets, all.bytes - budget->bytes);
	if (kvnet_vq_in_vcpu_session())
		q->small_poll = result == KVNET_WORK_IDLE;
	else if (packets)
		q->small_poll = kvnet_budget_was_small(budget);
	if (q->no_room)
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_sndbuf_full);
	may_complete = result == KVNET_WORK_IDLE && kvnet_vq_is_ready(&q->vq) &&
		       (q->no_room || kvnet_vq_in_vcpu_session() ||
			kvnet_worker_may_complete(&q->work));
	/* An event without a packet: the driver has not read the used ring by sending. */
	if (!packets)
		kvnet_vq_send_pending_call(&q->vq);
	if (may_complete)
		result = complete_tx(q) ? KVNET_WORK_REPOLL : KVNET_WORK_COMPLETE;
	return result;
}

/* The next event may be the timer of a pending call: tx_poll_softirq() serves it. */
static void end_tx_session(struct kvnet_queue *q, bool completed)
{
	kvnet_vq_end(&q->vq, completed && q->vq.call_pending);
}

static enum kvnet_work_result tx_poll(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_queue_of_work(work);
	struct kvnet_budget budget;
	enum kvnet_work_result result;

	if (!kvnet_vq_begin(&q->vq))
		return kvnet_vq_retry_miss(&q->vq) ? KVNET_WORK_REPOLL : KVNET_WORK_IDLE;
	kvnet_stats_inc(&q->vq.stats, KVNET_STAT_polls);
	kvnet_tap_tx_direct_start_poll(&q->tap);
	kvnet_budget_start(&budget);
	result = tx_poll_session(q, &budget);
	if (kvnet_budget_is_spent(&budget))
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_budget_exhausted);
	end_tx_session(q, result == KVNET_WORK_COMPLETE);
	return result;
}

/* REPOLL queues the work to its worker: beyond the vCPU budget, or if an access faults. */
static enum kvnet_work_result tx_poll_vcpu(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_queue_of_work(work);
	enum kvnet_work_result result;
	struct kvnet_budget budget;
	unsigned long packets_before;
	u64 begin;

	if (!kvnet_vq_begin_vcpu(&q->vq))
		return KVNET_WORK_REPOLL;
	/* The tap or the policy may have changed since the last session. */
	if (unlikely(!may_inline_tx(q))) {
		kvnet_vq_end(&q->vq, false);
		return KVNET_WORK_REPOLL;
	}
	begin = local_clock();
	packets_before = q->packet_count;
	kvnet_stats_inc(&q->vq.stats, KVNET_STAT_polls_inline);
	kvnet_budget_start_vcpu(&budget, q->vq.tx_mod.delay_ns);
	result = tx_poll_session(q, &budget);
	kvnet_stats_add(&q->vq.stats, KVNET_STAT_packets_inline, q->packet_count - packets_before);
	kvnet_moderation_note_inline(&q->vq.tx_mod.inline_ns, local_clock() - begin);
	end_tx_session(q, result == KVNET_WORK_COMPLETE);
	return result == KVNET_WORK_COMPLETE ? result : KVNET_WORK_REPOLL;
}

/* The timer is pinned to the CPU that started it: the call may steal another task's time. */
static void call_from_softirq(struct kvnet_queue *q)
{
	u64 now, begin = local_clock();

	if (kvnet_vq_send_pending_call(&q->vq))
		kvnet_moderation_tx_note_call(&q->vq.tx_mod, true);
	now = local_clock();
	if (unlikely(kvnet_moderation_throttle_account(&q->throttle, now, now - begin)))
		kvnet_stats_inc(&q->vq.stats, KVNET_STAT_inline_throttled);
}

/* Runs for the inline timer of start_call_timer(). */
static enum kvnet_work_result tx_poll_softirq(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_queue_of_work(work);
	enum kvnet_work_result result = KVNET_WORK_COMPLETE;

	if (!kvnet_vq_begin_softirq(&q->vq))
		return KVNET_WORK_REPOLL;
	if (unlikely(!q->vq.call_pending)) {
		kvnet_vq_end_softirq(&q->vq);
		return KVNET_WORK_REPOLL;
	}
	call_from_softirq(q);
	/* complete_tx() enabled kicks, but a kick that came while SCHED was set was dropped. */
	if (!kvnet_work_complete(work, get_kick_events(q)) ||
	    (kvnet_ring_pending(&q->vq.ring) && kvnet_work_reschedule(work)))
		result = KVNET_WORK_REPOLL;
	kvnet_vq_end_softirq(&q->vq);
	return result;
}

static bool tx_pending(struct kvnet_work *work)
{
	return kvnet_vq_pending(&kvnet_queue_of_work(work)->vq);
}

static bool tx_rearm(struct kvnet_work *work)
{
	struct kvnet_queue *q = kvnet_queue_of_work(work);
	bool more;

	if (!kvnet_vq_begin(&q->vq))
		return !kvnet_queue_complete_unready(q);
	more = complete_tx(q);
	end_tx_session(q, !more);
	return more;
}

const struct kvnet_work_ops kvnet_tx_ops = {
	.poll = tx_poll,
	.poll_vcpu = tx_poll_vcpu,
	.poll_softirq = tx_poll_softirq,
	.pending = tx_pending,
	.rearm = tx_rearm,
};
