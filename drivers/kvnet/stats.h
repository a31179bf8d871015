/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stats.h - what each queue counts; Documentation/debugging.rst explains
 */
#ifndef _KVNET_STATS_H
#define _KVNET_STATS_H

#include <linux/preempt.h>
#include <linux/types.h>
#include <linux/u64_stats_sync.h>

#include "hist.h"

struct seq_file;

/* The laboratory has a copy that counts nothing (scripts/uncounted.sh). */
#ifdef KVNET_NO_STATS
#define KVNET_STATS_ENABLED	false
#else
#define KVNET_STATS_ENABLED	true
#endif

/*
 * The one list of counters: X(name). Anything named drop_* is a packet that
 * went nowhere, with the reason.
 */
#define KVNET_STATS(X)							\
	X(packets)		/* packets passed on */			\
	X(packets_inline)	/* of these, not by the worker */	\
	X(bytes)		/* their bytes, headers not counted */	\
	X(polls)		/* turns of the worker */		\
	X(polls_inline)		/* turns of a vCPU (TX), or of a softirq (RX) */ \
	X(inline_skip_uncached)	/* left to the worker: page not known */ \
	X(inline_skip_busy)	/* the same: set-up changes, or a log */ \
	X(inline_skip_complex)	/* the same: nothing simple */		\
	X(inline_skip_burst)	/* the same: more than a few */		\
	X(inline_throttled)	/* softirqs waited or called for too long */ \
	X(moderated)		/* nothing left: looks again after a while */ \
	X(budget_exhausted)	/* turns that ended with the budget */	\
	X(flushes)		/* used buffers published */		\
	X(calls)		/* interrupts asked of the driver */	\
	X(calls_suppressed)	/* flushes that the driver let be quiet */ \
	X(calls_deferred)	/* flushes that it may hear of later */	\
	X(batches)		/* batches handed to the tap */		\
	X(batches_direct)	/* of these, past the tap's socket */	\
	X(packets_direct)	/* packets, past the tap's socket */	\
	X(packets_unbatched)	/* packets handed over one by one */	\
	X(packets_recvmsg)	/* packets read by a call of the tap */	\
	X(no_buf)		/* stopped: the driver gave no buffers */ \
	X(sndbuf_full)		/* stopped: no room in the tap, or no memory */ \
	X(iotlb_misses)		/* stopped: to ask the VMM's IOMMU */	\
	X(broken)		/* stopped: the driver broke the rules */ \
	X(drop_short)		/* shorter than an Ethernet header */	\
	X(drop_long)		/* longer than any packet can be */	\
	X(drop_header)		/* virtio_net_hdr makes no sense */	\
	X(drop_fault)		/* guest memory could not be reached */	\
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
	X(poll_packets)		/* a turn's: passed on or dropped */	\
	X(wake_latency_ns)	/* from what woke the queue to the turn */

#define KVNET_HIST_ENUM(name)	KVNET_HIST_##name,
enum kvnet_hist_id {
	KVNET_HISTS(KVNET_HIST_ENUM)
	KVNET_HIST_MAX
};

/**
 * struct kvnet_stats - the counters of a queue
 * @syncp: keeps a 64-bit counter whole on 32-bit hosts
 * @count: written by the holder of the session only; that of KVNET_STAT_NONE is not used
 * @hist: likewise
 */
struct kvnet_stats {
	struct u64_stats_sync syncp;
	u64_stats_t count[KVNET_STAT_MAX];
	struct kvnet_hist hist[KVNET_HIST_MAX];
};

/* Who reads on a 32-bit host waits for who writes, and must not have preempted him. */
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

/**
 * kvnet_stats_add() - count
 * @stats: the queue's counters; the caller holds vq->lock
 * @which: the counter
 * @n: how much
 */
static inline void kvnet_stats_add(struct kvnet_stats *stats,
				   enum kvnet_stat which, u64 n)
{
	if (!KVNET_STATS_ENABLED)
		return;
	kvnet_stats_write_begin(stats);
	u64_stats_add(&stats->count[which], n);
	kvnet_stats_write_end(stats);
}

static inline void kvnet_stats_inc(struct kvnet_stats *stats,
				   enum kvnet_stat which)
{
	kvnet_stats_add(stats, which, 1);
}

/**
 * kvnet_stats_add_poll() - a turn has ended
 * @stats: the queue's counters; the caller holds vq->lock, or a session
 * @packets: that it has passed on or dropped
 * @latency_ns: kvnet_work_consume_wake_latency(), when it began
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
void kvnet_stats_show(struct seq_file *m, const char *prefix,
		      const struct kvnet_stats *stats);

#endif /* _KVNET_STATS_H */
