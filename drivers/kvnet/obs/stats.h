/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stats.h - counters and histograms of a queue, see Documentation/debugging.rst; to add one:
 * Documentation/testing.rst
 */
#ifndef _KVNET_STATS_H
#define _KVNET_STATS_H

#include <linux/preempt.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>

#include "hist.h"

struct seq_file;

/* scripts/uncounted.sh makes a copy with false here, to measure what counters cost. */
#define KVNET_STATS_ENABLED	true

/*
 * The list of counters: X(name). A drop_* counter counts packets that were dropped, by reason.
 */
#define KVNET_STATS(X)							\
	X(packets)		/* transmitted or received */		\
	X(packets_inline)	/* of these, in polls_inline */		\
	X(bytes)		/* without the virtio_net_hdr */		\
	X(polls)		/* polls by the worker */		\
	X(polls_inline)		/* by vCPU threads (TX), in softirq (RX) */ \
	X(inline_skip_uncached)	/* RX, left to the worker: page not cached */ \
	X(inline_skip_busy)	/* the same: setup or memory changes */	\
	X(inline_skip_complex)	/* the same: more than a copy, or not allowed */ \
	X(inline_skip_burst)	/* the same: more than a few frames */	\
	X(inline_throttled)	/* softirqs waited or called for too long */ \
	X(moderated)		/* TX: polled by timer; RX: coalesced */ \
	X(budget_exhausted)	/* polls that used up their budget */	\
	X(flushes)		/* times used buffers were published */	\
	X(calls)		/* interrupts of the guest driver */	\
	X(calls_suppressed)	/* flushes without a call: not needed */ \
	X(calls_deferred)	/* flushes whose call is deferred */	\
	X(batches)		/* batches sent to the tap */		\
	X(batches_direct)	/* of these, without its sendmsg() */	\
	X(packets_direct)	/* packets, without its sendmsg() */	\
	X(packets_gro)		/* of these, merged into an earlier one */ \
	X(packets_shortcut)	/* of packets_direct: straight to another tap */ \
	X(packets_unbatched)	/* packets sent one by one */		\
	X(packets_recvmsg)	/* packets read by the tap's recvmsg() */ \
	X(no_buf)		/* stopped: no receive buffers */	\
	X(sndbuf_full)		/* stopped: tap is full, or no memory */ \
	X(iotlb_misses)		/* stopped: IOTLB miss sent to the VMM */ \
	X(broken)		/* stopped: spec violated, or ring fault */ \
	X(drop_short)		/* shorter than an Ethernet header */	\
	X(drop_long)		/* longer than any packet can be */	\
	X(drop_header)		/* invalid virtio_net_hdr */		\
	X(drop_fault)		/* guest memory not accessible */	\
	X(drop_oversize)	/* the driver's buffers are too small */ \
	X(drop_tap)		/* the tap refused it */

#define KVNET_STAT_ENUM(name)	KVNET_STAT_##name,
enum kvnet_stat {
	KVNET_STAT_NONE,	/* not a counter */
	KVNET_STATS(KVNET_STAT_ENUM)
	KVNET_STAT_MAX
};

/* The histograms: X(name). */
#define KVNET_HISTS(X)							\
	X(poll_packets)		/* per poll, with dropped packets */	\
	X(wake_latency_ns)	/* from the event to its poll */

#define KVNET_HIST_ENUM(name)	KVNET_HIST_##name,
enum kvnet_hist_id {
	KVNET_HISTS(KVNET_HIST_ENUM)
	KVNET_HIST_MAX
};

/* Counters of a queue */
struct kvnet_stats {
	/* protects 64-bit counters from torn reads on 32-bit hosts */
	struct u64_stats_sync syncp;
	/* written within a session; KVNET_STAT_NONE is not used */
	u64_stats_t count[KVNET_STAT_MAX];
	struct kvnet_hist hist[KVNET_HIST_MAX];	/* written within a session */
};

/* On 32-bit the reader spins on the seqcount, so the writer must not be preempted. */
static inline void kvnet_stats_write_begin(struct kvnet_stats *stats)
{
	if (BITS_PER_LONG == 32)
		preempt_disable();
	u64_stats_update_begin(&stats->syncp);
}

static inline void kvnet_stats_write_end(struct kvnet_stats *stats)
{
	u64_stats_update_end(&stats->syncp);
	if (BITS_PER_LONG == 32)
		preempt_enable();
}

/* Within a session (vq->lock, or a softirq's), so that writers exclude each other. */
static inline void kvnet_stats_add(struct kvnet_stats *stats, enum kvnet_stat which, u64 n)
{
	if (!KVNET_STATS_ENABLED)
		return;
	kvnet_stats_write_begin(stats);
	u64_stats_add(&stats->count[which], n);
	kvnet_stats_write_end(stats);
}

static inline void kvnet_stats_inc(struct kvnet_stats *stats, enum kvnet_stat which)
{
	kvnet_stats_add(stats, which, 1);
}

/**
 * kvnet_stats_add_poll() - add a poll to the histograms, within a session
 * @stats: the queue's counters
 * @packets: packets of the poll, with those that were dropped
 * @latency_ns: kvnet_work_consume_wake_latency() at the begin of the poll; 0: not sampled
 */
static inline void kvnet_stats_add_poll(struct kvnet_stats *stats,
					unsigned int packets, u64 latency_ns)
{
	if (!KVNET_STATS_ENABLED)
		return;
	kvnet_stats_write_begin(stats);
	kvnet_hist_add(&stats->hist[KVNET_HIST_poll_packets], packets);
	if (unlikely(latency_ns) && packets)
		kvnet_hist_add(&stats->hist[KVNET_HIST_wake_latency_ns], latency_ns);
	kvnet_stats_write_end(stats);
}

const char *kvnet_stats_name(enum kvnet_stat which);
u64 kvnet_stats_read(const struct kvnet_stats *stats, enum kvnet_stat which);
const char *kvnet_stats_hist_name(enum kvnet_hist_id which);
void kvnet_stats_hist_read(const struct kvnet_stats *stats, enum kvnet_hist_id which,
			   struct kvnet_hist *hist);
void kvnet_stats_init(struct kvnet_stats *stats);
void kvnet_stats_show(struct seq_file *m, const char *prefix, const struct kvnet_stats *stats);

#endif /* _KVNET_STATS_H */
