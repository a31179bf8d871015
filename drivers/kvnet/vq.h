/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vq.h - a virtqueue as a session
 *
 * The one place that joins ring, memory table and notification. Whoever works
 * on packets opens a session with kvnet_vq_begin(), pops and pushes buffers,
 * and closes it with kvnet_vq_end(). While a session is open nothing of the
 * queue's set-up can change, and outside of one nothing touches the ring.
 */
#ifndef _KVNET_VQ_H
#define _KVNET_VQ_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uio.h>

#include "tx_mod.h"
#include "dirty_log.h"
#include "features.h"
#include "iotlb_miss.h"
#include "watch.h"
#include "ring_pin.h"
#include "ring.h"
#include "stats.h"
#include "thread.h"
#include "xlate.h"

struct vhost_vring_addr;

/* Used buffers of which the driver may hear later, on a ring of many more. */
#define KVNET_VQ_DEFER_MAX	2

/* Used buffers that are worth a flush. */
#define KVNET_VQ_BATCH	64

/* Used buffers that fit: a full batch, and one packet of the most buffers. */
#define KVNET_VQ_USED_MAX	(KVNET_VQ_BATCH + UIO_MAXIOV)

/**
 * enum kvnet_vq_state - what may be done with a queue
 * @KVNET_VQ_STOPPED: no backend; ring size, base and addresses may change
 * @KVNET_VQ_RUNNING: sessions can be opened
 * @KVNET_VQ_BROKEN: has a backend, but the driver broke the rules; only
 *	another backend, none, or another memory table leads on
 */
enum kvnet_vq_state {
	KVNET_VQ_STOPPED,
	KVNET_VQ_RUNNING,
	KVNET_VQ_BROKEN,
};

/**
 * struct kvnet_buf - a chain, translated
 * @iov: its pieces in the owner's memory
 * @n: entries in @iov
 * @len: bytes in all of them
 * @id: what the driver knows it by
 * @count: ring descriptors that it occupies
 * @writable: by the device
 */
struct kvnet_buf {
	const struct iovec *iov;
	unsigned int n;
	size_t len;
	u16 id;
	u16 count;
	bool writable;
};

/**
 * struct kvnet_mark - a point in a session to come back to
 * @pos: next chain to fetch
 * @n_used: chains pushed
 */
struct kvnet_mark {
	kvnet_ring_pos_t pos;
	unsigned int n_used;
};

/** enum kvnet_vq_dir - which way a buffer's bytes go */
enum kvnet_vq_dir {
	KVNET_VQ_FROM_DRIVER,
	KVNET_VQ_TO_DRIVER,
};

/**
 * struct kvnet_vq_addr - where the VMM says that the ring is
 * @desc: descriptor area; the owner's address, or I/O virtual behind an IOMMU
 * @avail: driver area
 * @used: device area
 * @log: guest-physical address of the device area, for the dirty log
 */
struct kvnet_vq_addr {
	u64 desc;
	u64 avail;
	u64 used;
	u64 log;
};

/**
 * struct kvnet_vq - a virtqueue
 *
 * The session fields belong to the holder of @lock; the set-up fields change
 * with @lock held; the rest is constant while there is an owner. While the queue is
 * @softirq_enabled they belong to the holder of @softirq_lock instead: who takes @lock shuts it
 *	first.
 *
 * @lock: held for a session, and to change the set-up
 * @softirq_lock: held for a session in a softirq, which cannot have @lock
 * @softirq_enabled: there can be such a session; changes with both locks held
 * @enable_softirq: session; it is to be open from the end of the session on
 * @state: session
 * @waits_vmm: session; waits for the VMM's answer to an IOTLB miss, or @waits_addr
 * @waits_addr: session; waits to be told where its ring is
 * @error_code: when broken, why, -errno; written with @lock held
 * @retry: session; when broken, the chain that broke it is still there
 * @has_areas: session; @ring knows where its areas are
 * @ring_started: session; kvnet_ring_start() has been done
 * @vcpu_session: session; of a thread that must not wait for a page
 * @may_defer_call: session; a call for a few used buffers may be put off for a while
 * @call_pending: session; one has been: whoever rests sees to it
 * @tx_mod: session; what came of that
 * @n_used: session; entries in @used
 * @n_seg: session; segments of the packet popped last
 * @n_iov: session; entries in @iov of the packet popped last
 * @ring: session
 * @pin: session; the pages of the ring's areas: desc, avail, used
 * @used: session; pushed, not yet flushed: KVNET_VQ_USED_MAX entries
 * @seg: session; segments of the packet popped last: UIO_MAXIOV entries
 * @iov: session; pieces of a packet: UIO_MAXIOV entries
 * @dirty_log: session; the dirty log
 * @stats: written in a session
 * @xlate: set-up, but for its hints; what guest addresses mean; with a
 *	   reference on its memory table
 * @addr: set-up; where the ring is
 * @features: set-up; as acknowledged by the driver
 * @legacy_le: set-up; byte order of a driver of the legacy interface
 * @log_used: set-up; what is written to the ring goes to the dirty log
 * @log_call: set-up; eventfd to signal for new bits in the log, or NULL
 * @call: set-up; eventfd to signal for used buffers, or NULL
 * @error: set-up; eventfd to signal when the queue breaks, or NULL
 * @on_broken: called when the queue breaks, with @lock held, or NULL; const after init
 * @iotlb_misses: the device's, const after init
 * @worker: the thread that has sessions, or NULL; changes with dev->lock
 * @memlock: the device's, const after init; changes only while there is no owner
 * @owner: pid, for traces
 * @index: KVNET_RX or KVNET_TX
 */
struct kvnet_vq {
	struct mutex lock;
	spinlock_t softirq_lock;
	bool softirq_enabled;
	bool enable_softirq;
	enum kvnet_vq_state state;
	bool waits_vmm;
	bool waits_addr;
	int error_code;
	bool retry;
	bool has_areas;
	bool ring_started;
	bool vcpu_session;
	bool may_defer_call;
	bool call_pending;
	struct kvnet_tx_mod tx_mod;
	unsigned int n_used;
	unsigned int n_seg;
	unsigned int n_iov;
	struct kvnet_ring ring;
	struct kvnet_ring_pin pin[3];
	struct kvnet_used *used;
	struct kvnet_seg *seg;
	struct iovec *iov;
	struct kvnet_dirty_log dirty_log;
	struct kvnet_stats stats;

	struct kvnet_xlate_ctx xlate;
	struct kvnet_vq_addr addr;
	struct kvnet_features features;
	bool legacy_le;
	bool log_used;
	struct eventfd_ctx *log_call;
	struct eventfd_ctx *call;
	struct eventfd_ctx *error;

	void (*on_broken)(struct kvnet_vq *vq, int err);
	struct kvnet_iotlb_misses *iotlb_misses;
	struct kvnet_thread *worker;
	const struct kvnet_memlock *memlock;
	pid_t owner;
	u16 index;
};

/* set-up: vq_setup.c */
void kvnet_vq_init(struct kvnet_vq *vq, u16 index, struct kvnet_iotlb_misses *misses,
		   const struct kvnet_memlock *memlock);
int kvnet_vq_alloc_arrays(struct kvnet_vq *vq);
void kvnet_vq_free_arrays(struct kvnet_vq *vq);
void kvnet_vq_free(struct kvnet_vq *vq);
void kvnet_vq_reset(struct kvnet_vq *vq);
int kvnet_vq_set_num(struct kvnet_vq *vq, u32 num);
int kvnet_vq_set_addr(struct kvnet_vq *vq, const struct vhost_vring_addr *a);
int kvnet_vq_set_base(struct kvnet_vq *vq, u32 base);
u32 kvnet_vq_get_base(struct kvnet_vq *vq);
int kvnet_vq_set_endian(struct kvnet_vq *vq, u32 endian);
int kvnet_vq_set_call(struct kvnet_vq *vq, int fd);
int kvnet_vq_set_error(struct kvnet_vq *vq, int fd);
void kvnet_vq_set_memtable(struct kvnet_vq *vq, struct kvnet_memtable *mem);
void kvnet_vq_set_features(struct kvnet_vq *vq, const struct kvnet_features *f,
			   struct kvnet_iotlb *iotlb);
int kvnet_vq_check_setup(struct kvnet_vq *vq);
int kvnet_vq_start(struct kvnet_vq *vq);
void kvnet_vq_stop(struct kvnet_vq *vq);

/* where things are: vq_area.c */
int kvnet_vq_prepare_iommu(struct kvnet_vq *vq);
int kvnet_vq_find_areas(struct kvnet_vq *vq);
void kvnet_vq_release_areas(struct kvnet_vq *vq);
void kvnet_vq_invalidate_range(struct kvnet_vq *vq, u64 iova, u64 last);
bool kvnet_vq_addr_ok(const struct kvnet_vq *vq,
		      const struct kvnet_vq_addr *addr, bool log_used);
bool kvnet_vq_log_ok(const struct kvnet_vq *vq, const struct kvnet_memtable *mem,
		     u64 base, bool all);
bool kvnet_vq_memtable_ok(struct kvnet_vq *vq, const struct kvnet_memtable *mem);

/* session: vq.c */
void kvnet_vq_lock(struct kvnet_vq *vq);
int kvnet_vq_lock_killable(struct kvnet_vq *vq, unsigned int subclass);
bool kvnet_vq_begin(struct kvnet_vq *vq);
bool kvnet_vq_begin_vcpu(struct kvnet_vq *vq);
void kvnet_vq_end(struct kvnet_vq *vq);
void kvnet_vq_disable_softirq(struct kvnet_vq *vq);
bool kvnet_vq_freeze(struct kvnet_vq *vq);
void kvnet_vq_unfreeze(struct kvnet_vq *vq);
bool kvnet_vq_begin_softirq(struct kvnet_vq *vq);
void kvnet_vq_end_softirq(struct kvnet_vq *vq);
void kvnet_vq_handle_error(struct kvnet_vq *vq, int err);
int kvnet_vq_log_write_slow(struct kvnet_vq *vq, size_t len);
void kvnet_vq_retry_miss(struct kvnet_vq *vq);
int kvnet_vq_kick_on(struct kvnet_vq *vq);
bool kvnet_vq_pending(struct kvnet_vq *vq);
void kvnet_vq_break(struct kvnet_vq *vq, int err);
void kvnet_vq_count_drop(struct kvnet_vq *vq, enum kvnet_stat reason);

/* what the driver and the log hear of: vq_flush.c */
int kvnet_vq_end_dirty_log(struct kvnet_vq *vq);
void kvnet_vq_flush(struct kvnet_vq *vq);
bool kvnet_vq_send_pending_call(struct kvnet_vq *vq);

/* chains of a session: vq_pop.c */
int kvnet_vq_pop(struct kvnet_vq *vq, enum kvnet_vq_dir dir, unsigned int nth,
		 struct kvnet_buf *buf);
unsigned int kvnet_vq_pop_push_single(struct kvnet_vq *vq, size_t len, unsigned int max,
				      unsigned int pieces, size_t *left);

/* In a session of either kind. */
static inline void kvnet_vq_assert_session(const struct kvnet_vq *vq)
{
	lockdep_assert(lockdep_is_held(&vq->lock) || lockdep_is_held(&vq->softirq_lock));
}

/**
 * kvnet_vq_is_ready() - can there be a session now?
 * @vq: the queue
 *
 * Context: vq->lock.
 * Return: true if so, unless the driver or the VMM is up to no good.
 */
static inline bool kvnet_vq_is_ready(const struct kvnet_vq *vq)
{
	return vq->state == KVNET_VQ_RUNNING && !vq->waits_vmm;
}

/**
 * kvnet_vq_may_inline() - can a thread that must not wait for a page have a session?
 * @vq: the queue
 *
 * Its ring is pinned, and nothing goes to the dirty log.
 *
 * Context: vq->lock.
 * Return: true if so.
 */
static inline bool kvnet_vq_may_inline(const struct kvnet_vq *vq)
{
	return kvnet_vq_is_ready(vq) && vq->has_areas && vq->ring_started &&
	       kvnet_ring_is_mapped(&vq->ring) && !vq->log_used &&
	       !kvnet_features_has(&vq->features, VHOST_F_LOG_ALL);
}

/**
 * kvnet_vq_push() - give a chain back; it becomes visible with the next flush
 * @vq: the queue
 * @buf: the chain, from kvnet_vq_pop(); those given back together are in the
 *	 order in which they were popped
 * @len: bytes written to it; in place by the time of the flush
 *
 * Used in order, chains that have been written are told of one by one: a driver
 * may look for the length of each (DPDK does).
 *
 * Context: session; at most UIO_MAXIOV times between two calls of
 * kvnet_vq_flush_if_full().
 */
static inline void kvnet_vq_push(struct kvnet_vq *vq,
				 const struct kvnet_buf *buf, u32 len)
{
	lockdep_assert_held(&vq->lock);
	vq->used[vq->n_used++] = (struct kvnet_used) {
		.id = buf->id,
		.count = buf->count,
		.skippable = !buf->writable,
		.len = len,
	};
}

/**
 * kvnet_vq_log_write() - the buffers of the packet popped last have been written
 * @vq: the queue
 * @len: bytes, from the first one on
 *
 * Puts them into the dirty log, after the data and before the used ring.
 *
 * Context: session; may sleep.
 * Return: 0, or -errno: the queue is broken, since the log cannot be written.
 */
static inline int kvnet_vq_log_write(struct kvnet_vq *vq, size_t len)
{
	if (likely(!kvnet_features_has(&vq->features, VHOST_F_LOG_ALL)))
		return 0;
	return kvnet_vq_log_write_slow(vq, len);
}

/**
 * kvnet_vq_mark() - a point to come back to by kvnet_vq_rewind()
 * @vq: the queue
 *
 * Context: session.
 * Return: the point; a flush makes it void.
 */
static inline struct kvnet_mark kvnet_vq_mark(const struct kvnet_vq *vq)
{
	return (struct kvnet_mark) {
		.pos = kvnet_ring_pos(&vq->ring),
		.n_used = vq->n_used,
	};
}

/**
 * kvnet_vq_rewind() - take back all pops and pushes since a mark
 * @vq: the queue
 * @mark: from kvnet_vq_mark()
 *
 * Context: session.
 */
static inline void kvnet_vq_rewind(struct kvnet_vq *vq, struct kvnet_mark mark)
{
	kvnet_ring_rewind(&vq->ring, mark.pos);
	vq->n_used = mark.n_used;
}

/**
 * kvnet_vq_count_pieces() - how much work was it to pop the last packet?
 * @vq: the queue
 *
 * The driver may cut a packet into segments, and its IOMMU those into pages.
 *
 * Context: session.
 * Return: segments, or pieces of memory if there are more of them.
 */
static inline unsigned int kvnet_vq_count_pieces(const struct kvnet_vq *vq)
{
	return max(vq->n_seg, vq->n_iov);
}

/**
 * kvnet_vq_should_flush() - has enough been pushed to be worth a flush?
 * @vq: the queue
 *
 * Context: session.
 * Return: true if so.
 */
static inline bool kvnet_vq_should_flush(const struct kvnet_vq *vq)
{
	return vq->n_used >= KVNET_VQ_BATCH;
}

/**
 * kvnet_vq_flush_if_full() - flush, if enough has been pushed to be worth it
 * @vq: the queue
 *
 * Context: session; may sleep. To be called between packets: all buffers of
 * one become visible together.
 */
static inline void kvnet_vq_flush_if_full(struct kvnet_vq *vq)
{
	if (kvnet_vq_should_flush(vq))
		kvnet_vq_flush(vq);
}

#endif /* _KVNET_VQ_H */
