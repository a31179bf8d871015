/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stats.h - counters and histograms of a queue, see Documentation/debugging.rst; to add one:
 * Documentation/testing.rst
 */
#ifndef _KVNET_STATS_H
#define _KVNET_STATS_H

#include <linux/u64_stats_sync.h>

#include "hist.h"

struct seq_file;

/* scripts/uncounted.sh makes a copy with false here, to measure what counters cost. */
#define KVNET_STATS_ENABLED	true

/* The list of counters: X(name). A drop_* counter counts packets that were dropped, by reason. */
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
	/* written within a session; KVNET_STAT_NONE is not used */
	u64_stats_t count[KVNET_STAT_MAX];
	struct kvnet_hist hist[KVNET_HIST_MAX];	/* written within a session */
};

/* Within a session (vq->lock, or a softirq's), so that writers exclude each other. */
static inline void kvnet_stats_add(struct kvnet_stats *stats, enum kvnet_stat which, u64 n)
{
	if (KVNET_STATS_ENABLED)
		u64_stats_add(&stats->count[which], n);
}

static inline void kvnet_stats_inc(struct kvnet_stats *stats, enum kvnet_stat which)
{
	kvnet_stats_add(stats, which, 1);
}

/*
 * Within a session: a poll of @packets, also dropped ones. @latency_ns:
 * kvnet_work_consume_wake_latency() at its begin; 0: not sampled.
 */
static inline void kvnet_stats_add_poll(struct kvnet_stats *stats,
					unsigned int packets, u64 latency_ns)
{
	if (!KVNET_STATS_ENABLED)
		return;
	kvnet_hist_add(&stats->hist[KVNET_HIST_poll_packets], packets);
	if (unlikely(latency_ns) && packets)
		kvnet_hist_add(&stats->hist[KVNET_HIST_wake_latency_ns], latency_ns);
}

extern const char * const kvnet_stats_names[];
extern const char * const kvnet_stats_hist_names[];
void kvnet_stats_show(struct seq_file *m, const char *prefix, const struct kvnet_stats *stats);

#endif /* _KVNET_STATS_H */
