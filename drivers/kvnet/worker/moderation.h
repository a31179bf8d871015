/* SPDX-License-Identifier: GPL-2.0 */
/*
 * moderation.h - policies: inline work or the worker; which wake-ups, calls and kicks to save
 *
 * Receive:
 * - Latency mode: a single frame is received in its sender's softirq, which costs less than
 *   waking the worker. In a stream the worker is better: it is awake anyway, receives many
 *   frames per poll, and does not delay the sender.
 * - rx-usecs, rx-frames: a wake-up per frame of a stream costs the sender more than the frame.
 *   If the frames are short and the guest replies to none, they are coalesced, and the worker
 *   sleeps meanwhile.
 *
 * Transmit:
 * - tx-usecs: a driver that sends again soon reads the used ring then, and needs no call. If
 *   it does not send, deferring the call was wrong: the timer's call costs more than an
 *   immediate one, and the driver may have been waiting for it before it could send.
 * - Kick moderation: a guest that kicks for each packet of a stream may spend more on the
 *   kicks than on the packets. For such a stream kicks stay suppressed, and a timer polls the
 *   ring. A single packet, or a reply to a received frame, is never delayed.
 *
 * Pure: no locks, no clock reads. @now_ns is the local clock, which may go back. All state
 * belongs to the running session; rx_pending() reads it without one.
 */
#ifndef _KVNET_MODERATION_H
#define _KVNET_MODERATION_H

#include <linux/average.h>
#include <linux/kernel.h>
#include <linux/types.h>

/* Moving average in ns; 0: no sample yet. On 32-bit hosts a sample must be below 2^26. */
DECLARE_EWMA(kvnet_ns, 3, 8)

/* Longest frame for inline RX; also the longest mean for coalescing and kick moderation. */
#define KVNET_MODERATION_SHORT_LEN	2048

#define KVNET_RX_MOD_GAP_FACTOR	12	/* gaps of a stream are below so many inline polls, */
#define KVNET_RX_MOD_GAP_MIN_NS	5000	/* or below this */
#define KVNET_RX_MOD_FEW_FRAMES	4	/* so many frames in one poll are no stream yet */
#define KVNET_RX_MOD_POLLS	8	/* polls until the mode flips, or after a reply */
#define KVNET_RX_MOD_BACKOFF_NS	8000	/* time between reads of the tap of a stream */
#define KVNET_RX_MOD_FRAMES_MAX	32U	/* rx-frames; they may fill at most */
#define KVNET_RX_MOD_ROOM_DIV	4	/* 1/ROOM_DIV of the tap's ring */

#define KVNET_TX_MOD_STREAM	16	/* packets in a row that make a stream, if its */
#define KVNET_TX_MOD_GAP_FACTOR	8	/* gaps are below so many inline polls */
#define KVNET_TX_MOD_LATE_MAX	4	/* deferring stops after so many calls by timer; */
#define KVNET_TX_MOD_RETRY	16	/* then one poll in RETRY tries it again */
#define KVNET_TX_MOD_GAPS	4	/* a call is deferred for so many gaps */
#define KVNET_TX_MOD_GAP_MIN_NS	25000	/* of at least this */

#define KVNET_THROTTLE_QUICK_NS	100000	/* a call without excess; usual are 1 to 10 us */
#define KVNET_THROTTLE_EXCESS_MAX_NS	1000000000	/* of one call */
#define KVNET_THROTTLE_LIMIT_NS	10000000	/* of all excess, which decays by */
#define KVNET_THROTTLE_DECAY_SHIFT	5	/* 1/32 of the elapsed time */
#define KVNET_THROTTLE_OFF_FACTOR	1000	/* active for so many times the excess */

/* Coalescing of received frames, since the last poll */
enum kvnet_rx_coalesce {
	KVNET_RX_COALESCE_NO,
	KVNET_RX_COALESCE_MAY,	/* the last frames were a stream without replies */
	KVNET_RX_COALESCE_ON,
};

struct kvnet_rx_moderation {
	u64 last_ns;			/* last kvnet_moderation_rx_update() */
	struct ewma_kvnet_ns inline_ns;	/* cost of an inline poll of one frame */
	unsigned long tx_count;		/* packets that the guest had sent at @last_ns */
	enum kvnet_rx_coalesce coalesce;
	u8 holdoff_polls;		/* polls of a stream until coalescing is tried again */
	u8 backoff_polls;		/* 0, or 1, 3, 7 .. 255 while coalescing brings few */
	u8 latency_score;		/* 0 to POLLS; a poll of a stream lowers it */
	bool latency_mode;		/* from the highest score until the lowest */
	u8 inline_skip;			/* enum kvnet_stat: why the last frame was not inline */
};

struct kvnet_tx_moderation {
	u64 last_ns;			/* last kvnet_moderation_tx_update() */
	struct ewma_kvnet_ns inline_ns;	/* cost of an inline poll by the vCPU thread */
	struct ewma_kvnet_ns gap_ns;	/* between packets, while kicks are enabled */
	unsigned long rx_count;		/* frames that the guest had received at @last_ns */
	u32 delay_ns;			/* until the next poll; 0: kicks are enabled */
	u32 packets;			/* since @last_ns */
	u32 stream_packets;		/* in a row, less those that received frames cancel */
	u32 stream_threshold;		/* of a trial of moderation; doubles on failure */
	bool found_few;			/* by the last poll by timer, or it is the first */
	u8 timer_calls;			/* 0 to LATE_MAX; a call not needed lowers it */
	u8 skipped;			/* polls with used buffers while @timer_calls is LATE_MAX */
	u64 call_since_ns;		/* first timer of the pending call; 0: not yet */
};

/*
 * May softirqs receive for a queue, and call its driver? A call from a softirq wakes all tasks
 * that wait for the VMM's eventfd, with interrupts off, in the time of another task. So a VMM can
 * steal at most 1/1000 of softirq time per queue (1/32 if it stays below the limit), and 100 us per
 * call. A frame's wait for its softirq, behind the frames of other devices, counts, too: the worker
 * could receive it meanwhile.
 *
 * If the host is a VM, its CPU may be preempted for some ms during a call. That stays below the
 * limit and decays within a quarter of a second. More costs a wake-up per frame for ten seconds or
 * longer, and no frame is lost.
 *
 * Zeroed with the device only: a VMM must not reset it by a new configuration of the queue.
 */
struct kvnet_throttle {
	u64 start_ns;		/* when the throttle was last activated */
	u64 duration_ns;	/* for how long; 0: never activated */
	u64 last_call_ns;	/* end of the last call from a softirq */
	u32 excess_ns;		/* decaying excess time, at most KVNET_THROTTLE_LIMIT_NS */
};

void kvnet_moderation_rx_reset(struct kvnet_rx_moderation *m);
void kvnet_moderation_rx_update(struct kvnet_rx_moderation *m, u64 now_ns, unsigned int frames,
				bool all_short, unsigned long tx_count);
bool kvnet_moderation_rx_coalesce(struct kvnet_rx_moderation *m, u64 now_ns, u64 max_ns,
				  unsigned int room);
void kvnet_moderation_tx_reset(struct kvnet_tx_moderation *m);
void kvnet_moderation_tx_note_sent(struct kvnet_tx_moderation *m, unsigned int packets,
				   unsigned int bytes);
u32 kvnet_moderation_tx_update(struct kvnet_tx_moderation *m, u64 now_ns, unsigned long rx_count);
u32 kvnet_moderation_tx_call_delay(struct kvnet_tx_moderation *m, u64 now_ns, u32 max_ns);
void kvnet_moderation_tx_note_call(struct kvnet_tx_moderation *m, bool by_timer);
bool kvnet_moderation_throttle_account(struct kvnet_throttle *t, u64 now_ns, u64 ns);

/* Clamped: an inline poll that was interrupted must not count for much. */
static inline void kvnet_moderation_note_inline(struct ewma_kvnet_ns *inline_ns, u64 ns)
{
	ewma_kvnet_ns_add(inline_ns, min_t(u64, ns, 1000000));
}

/* So many frames in the tap's ring of @room frames do not wake a worker that coalesces. */
static inline unsigned int kvnet_moderation_rx_frames(unsigned int room)
{
	return min(KVNET_RX_MOD_FRAMES_MAX, room / KVNET_RX_MOD_ROOM_DIV);
}

/*
 * May the busy-polling worker read the tap's ring again, which the last poll left empty? Each
 * read of the ring of a stream's tap pulls the producer's cache line.
 */
static inline bool kvnet_moderation_rx_should_poll(const struct kvnet_rx_moderation *m, u64 now_ns)
{
	return m->latency_mode || now_ns - m->last_ns >= KVNET_RX_MOD_BACKOFF_NS;
}

/* A stream is left to the worker: its packets are close together and wait for no replies. */
static inline bool kvnet_moderation_tx_is_stream(struct kvnet_tx_moderation *m)
{
	unsigned long inline_ns = ewma_kvnet_ns_read(&m->inline_ns);

	return !m->delay_ns && m->stream_packets >= KVNET_TX_MOD_STREAM &&
	       (!inline_ns ||
		ewma_kvnet_ns_read(&m->gap_ns) < KVNET_TX_MOD_GAP_FACTOR * inline_ns);
}

/* At most once per poll, of those with used buffers: it counts them while deferring is off. */
static inline bool kvnet_moderation_tx_may_defer(struct kvnet_tx_moderation *m)
{
	return m->timer_calls < KVNET_TX_MOD_LATE_MAX || !(++m->skipped % KVNET_TX_MOD_RETRY);
}

/* A call is deferred, and none was pending. */
static inline void kvnet_moderation_tx_note_deferred(struct kvnet_tx_moderation *m)
{
	m->call_since_ns = 0;
}

/* Is the queue throttled? False if the clock went back. */
static inline bool kvnet_moderation_is_throttled(const struct kvnet_throttle *t, u64 now_ns)
{
	return now_ns - t->start_ns < t->duration_ns;
}

#endif /* _KVNET_MODERATION_H */
