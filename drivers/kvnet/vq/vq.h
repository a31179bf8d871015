/* SPDX-License-Identifier: GPL-2.0 */
/*
 * vq.h - a virtqueue, used in sessions
 *
 * The only place where ring, address translation, dirty log and notification meet. A context
 * that processes packets opens a session, pops and pushes buffers, and closes the session:
 *
 *   worker thread        kvnet_vq_begin()            kvnet_vq_end()
 *   kicking vCPU thread  kvnet_vq_begin_vcpu()       kvnet_vq_end()
 *   softirq              kvnet_vq_begin_softirq()    kvnet_vq_end_softirq()
 *
 * During a session the queue's setup cannot change. Outside of sessions the ring is accessed
 * only with vq->lock held: to start it, for the hint kvnet_vq_pending(), and for a deferred
 * call. What was pushed becomes visible to the driver by kvnet_vq_flush(), in the same order
 * in all contexts.
 */
#ifndef _KVNET_VQ_H
#define _KVNET_VQ_H

#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <linux/vhost_types.h>

#include "worker/moderation.h"
#include "mem/dirty_log.h"
#include "features.h"
#include "mem/iotlb_miss.h"
#include "worker/watch.h"
#include "mem/ring_pin.h"
#include "ring.h"
#include "obs/stats.h"
#include "worker/thread.h"
#include "mem/xlate.h"

/* A call may be deferred for at most this many used buffers, on a ring 16 times as large. */
#define KVNET_VQ_DEFER_MAX	2

/* A poll flushes from this many used buffers on: kvnet_vq_should_flush(). */
#define KVNET_VQ_BATCH	64

/* Capacity of vq->used: a full batch, and one packet in the maximum number of buffers. */
#define KVNET_VQ_USED_MAX	(KVNET_VQ_BATCH + UIO_MAXIOV)

/**
 * enum kvnet_vq_state - whether sessions can be opened, and if not, what the queue waits for
 * @KVNET_VQ_STOPPED: no backend; ring size, base and layout may change
 * @KVNET_VQ_READY: sessions can be opened; the first one resolves the areas, if released
 * @KVNET_VQ_WAITS_IOTLB: for the VMM to answer IOTLB misses, of buffers or of the ring
 * @KVNET_VQ_WAITS_ADDR: for VHOST_SET_VRING_ADDR: an IOMMU was switched on or off
 * @KVNET_VQ_BROKEN_RETRY: broken with the offending chain still in the ring: another memory
 *	table or another backend starts the queue again, and so does VHOST_SET_VRING_ADDR after
 *	an IOMMU was switched on or off
 * @KVNET_VQ_BROKEN: an error stopped the queue until another backend is set: the ring or the
 *	dirty log could not be written, or the owner died
 */
enum kvnet_vq_state {
	KVNET_VQ_STOPPED,
	KVNET_VQ_READY,
	KVNET_VQ_WAITS_IOTLB,
	KVNET_VQ_WAITS_ADDR,
	KVNET_VQ_BROKEN_RETRY,
	KVNET_VQ_BROKEN,
};

/* What changes a queue's state: kvnet_vq_change_state(). */
enum kvnet_vq_event {
	KVNET_VQ_ON_START,	/* a backend is set */
	KVNET_VQ_ON_STOP,	/* the backend is removed */
	KVNET_VQ_ON_MISS,	/* the IOTLB has no translation */
	KVNET_VQ_ON_ANSWER,	/* the VMM has updated or emptied the IOTLB, or need not */
	KVNET_VQ_ON_IOMMU,	/* an IOMMU is switched on or off */
	KVNET_VQ_ON_ADDR,	/* VHOST_SET_VRING_ADDR */
	KVNET_VQ_ON_MEMTABLE,	/* VHOST_SET_MEM_TABLE */
	KVNET_VQ_ON_BAD_CHAIN,	/* the ring or a chain of it cannot be used */
	KVNET_VQ_ON_BREAK,	/* any other error */
};

/* A descriptor chain, translated to the owner's addresses. */
struct kvnet_buf {
	const struct iovec *iov;	/* its segments: a part of kvnet_vq.iov */
	unsigned int n;			/* entries in @iov */
	size_t len;			/* sum of the lengths in @iov */
	u16 id;				/* buffer ID, returned to the driver in the used ring */
	u16 count;			/* ring descriptors that the chain occupies */
	bool writable;			/* the device writes to it (RX) */
};

/* What kvnet_vq_rewind() returns to: the next chain to fetch, and the chains pushed. */
struct kvnet_mark {
	kvnet_ring_pos_t pos;
	unsigned int n_used;
};

/* A buffer's direction: TX pops from the driver, RX to the driver. */
enum kvnet_vq_dir {
	KVNET_VQ_FROM_DRIVER,
	KVNET_VQ_TO_DRIVER,
};

/*
 * A virtqueue. Session fields belong to the holder of @lock, or, while @softirq_enabled, to the
 * holder of @softirq_lock. A holder of @lock calls kvnet_vq_disable_softirq() before it touches
 * them. Setup fields change with @lock held.
 */
struct kvnet_vq {
	struct mutex lock;		/* session of a thread, or a change of the setup */
	spinlock_t softirq_lock;	/* session of a softirq, which cannot take @lock */
	bool softirq_enabled;		/* changes with @lock, to false also with @softirq_lock */

	/* Session */
	enum kvnet_vq_state state;	/* also read without a lock */
	int error_code;			/* -errno that broke the queue; likewise */
	/*
	 * The areas of @ring are resolved, and the ring is started on them. Independent of
	 * @state: waiting for a buffer's translation does not release them, and a change of the
	 * setup releases them while the queue waits.
	 */
	bool has_areas;
	/* A deferred call was not made: completing the poll starts its timer, or makes it. */
	bool call_pending;
	unsigned int n_used;		/* entries in @used: pushed and not yet flushed */
	unsigned int n_seg;		/* entries in @seg, all of the packet popped last */
	unsigned int n_iov;		/* entries in @iov, likewise */
	struct kvnet_ring ring;
	struct kvnet_ring_pin pin[3];	/* areas desc, avail, used */
	struct kvnet_used *used;	/* room for KVNET_VQ_USED_MAX */
	struct kvnet_seg *seg;		/* guest addresses; room for UIO_MAXIOV */
	struct iovec *iov;		/* the owner's addresses; room for UIO_MAXIOV */
	struct kvnet_dirty_log dirty_log;	/* its base is setup */
	struct kvnet_tx_moderation tx_mod;	/* deferred calls, kick moderation (TX) */
	struct kvnet_stats stats;

	/* Setup */
	struct kvnet_xlate_ctx xlate;	/* the table is the device's; hints, miss: session */
	/*
	 * VHOST_SET_VRING_ADDR: areas at HVA in the owner's memory, or IOVA behind an IOMMU;
	 * log_guest_addr: the guest-physical address of the device area, for the dirty log
	 */
	struct vhost_vring_addr addr;
	struct kvnet_features features;	/* acknowledged by the driver */
	bool legacy_le;			/* a driver of the legacy interface is little-endian */
	struct eventfd_ctx *log_call;	/* new bits in the dirty log; the device's, or NULL */
	struct eventfd_ctx *call;	/* used buffers; with a reference, or NULL */
	struct eventfd_ctx *error;	/* the queue broke; with a reference, or NULL */

	/* Const while there is an owner */
	void (*on_broken)(struct kvnet_vq *vq, int err);	/* with @lock held */
	struct kvnet_iotlb_misses *iotlb_misses;
	struct kvnet_thread *worker;	/* has an mm while there is an owner */
	const struct kvnet_memlock *memlock;
	pid_t owner;			/* for tracepoints */
	u16 index;			/* KVNET_RX or KVNET_TX */
};

/* Life, before and after the device is published: vq_setup.c */
void kvnet_vq_init(struct kvnet_vq *vq, u16 index, struct kvnet_thread *worker,
		   struct kvnet_iotlb_misses *misses, const struct kvnet_memlock *memlock);
int kvnet_vq_alloc_arrays(struct kvnet_vq *vq);
void kvnet_vq_free_arrays(struct kvnet_vq *vq);
void kvnet_vq_free(struct kvnet_vq *vq);

/* Setup by ioctls; these take vq->lock: vq_setup.c */
void kvnet_vq_reset(struct kvnet_vq *vq);
int kvnet_vq_set_num(struct kvnet_vq *vq, u32 num);
int kvnet_vq_set_addr(struct kvnet_vq *vq, const struct vhost_vring_addr *a);
int kvnet_vq_set_base(struct kvnet_vq *vq, u32 base);
u32 kvnet_vq_get_base(struct kvnet_vq *vq);
int kvnet_vq_set_endian(struct kvnet_vq *vq, u32 endian);
int kvnet_vq_set_eventfd(struct kvnet_vq *vq, struct eventfd_ctx **slot, int fd);
void kvnet_vq_set_memtable(struct kvnet_vq *vq, struct kvnet_memtable *mem);

/* Setup; the caller holds vq->lock: vq_setup.c */
void kvnet_vq_set_features(struct kvnet_vq *vq, const struct kvnet_features *f,
			   struct kvnet_iotlb *iotlb);
int kvnet_vq_check_setup(struct kvnet_vq *vq);
int kvnet_vq_start(struct kvnet_vq *vq);
void kvnet_vq_stop(struct kvnet_vq *vq);
int kvnet_vq_prepare_iommu(struct kvnet_vq *vq);
void kvnet_vq_invalidate_range(struct kvnet_vq *vq, u64 iova, u64 last);
bool kvnet_vq_log_ok(const struct kvnet_vq *vq, const struct kvnet_memtable *mem,
		     u64 base, bool all);
bool kvnet_vq_memtable_ok(struct kvnet_vq *vq, const struct kvnet_memtable *mem);

/* Locks and sessions: vq.c */
void kvnet_vq_lock(struct kvnet_vq *vq);
int kvnet_vq_lock_killable(struct kvnet_vq *vq, unsigned int subclass);
bool kvnet_vq_begin(struct kvnet_vq *vq);
bool kvnet_vq_begin_vcpu(struct kvnet_vq *vq);
void kvnet_vq_end(struct kvnet_vq *vq, bool enable_softirq);
void kvnet_vq_disable_softirq(struct kvnet_vq *vq);
bool kvnet_vq_freeze(struct kvnet_vq *vq);
void kvnet_vq_unfreeze(struct kvnet_vq *vq);
bool kvnet_vq_begin_softirq(struct kvnet_vq *vq);
void kvnet_vq_end_softirq(struct kvnet_vq *vq);
int kvnet_vq_open_ring(struct kvnet_vq *vq);
void kvnet_vq_release_areas(struct kvnet_vq *vq);
void kvnet_vq_change_state(struct kvnet_vq *vq, enum kvnet_vq_event event);
void kvnet_vq_handle_error(struct kvnet_vq *vq, int err);
int kvnet_vq_log_write_slow(struct kvnet_vq *vq, size_t len);
bool kvnet_vq_retry_miss(struct kvnet_vq *vq);
int kvnet_vq_kick_on(struct kvnet_vq *vq);
bool kvnet_vq_pending(struct kvnet_vq *vq);
void kvnet_vq_break(struct kvnet_vq *vq, int err);
void kvnet_vq_count_drop(struct kvnet_vq *vq, enum kvnet_stat reason);
int kvnet_vq_end_dirty_log(struct kvnet_vq *vq);
void kvnet_vq_flush(struct kvnet_vq *vq, bool may_defer);
bool kvnet_vq_send_pending_call(struct kvnet_vq *vq);

/* Descriptor chains; in a session: vq_pop.c */
int kvnet_vq_pop(struct kvnet_vq *vq, enum kvnet_vq_dir dir, unsigned int nth,
		 struct kvnet_buf *buf);
unsigned int kvnet_vq_pop_push_single(struct kvnet_vq *vq, size_t len, unsigned int max,
				      unsigned int pieces, size_t *left);

/* Checks the range only, not whether memory is mapped there. NULL if it is no user range. */
static inline void __user *kvnet_vq_user_area(u64 addr, size_t size)
{
	void __user *p = (void __user *)(unsigned long)addr;

	return access_ok(p, size) ? p : NULL;
}

/* For functions that any session may call, also one of a softirq. */
static inline void kvnet_vq_assert_session(const struct kvnet_vq *vq)
{
	lockdep_assert(lockdep_is_held(&vq->lock) || lockdep_is_held(&vq->softirq_lock));
}

/* In the session of a thread: is the thread a vCPU thread? The worker may wait for pages. */
static inline bool kvnet_vq_in_vcpu_session(void)
{
	return pagefault_disabled();
}

/* Any session, or vq->lock. A session can be opened, unless the ring is not accessible. */
static inline bool kvnet_vq_is_ready(const struct kvnet_vq *vq)
{
	return vq->state == KVNET_VQ_READY;
}

/* Any session, or vq->lock. Are writes to the ring logged? */
static inline bool kvnet_vq_logs_ring(const struct kvnet_vq *vq)
{
	return vq->addr.flags & BIT(VHOST_VRING_F_LOG);
}

/*
 * Any session, or vq->lock. May a context that cannot fault open a session? Only on a pinned
 * ring, where ring accesses cannot fault, and without a dirty log, which may have to pin a page
 * of the log. Areas that are released are not pinned.
 */
static inline bool kvnet_vq_may_inline(const struct kvnet_vq *vq)
{
	return kvnet_vq_is_ready(vq) && kvnet_ring_is_mapped(&vq->ring) &&
	       !kvnet_vq_logs_ring(vq) && !kvnet_features_has(&vq->features, VHOST_F_LOG_ALL);
}

/*
 * Returns a chain of kvnet_vq_pop() to the driver, in the order of the pops; visible from the
 * next flush on. Before that @len bytes of data must be written to it. Session of a thread; at
 * most UIO_MAXIOV pushes between two checks of kvnet_vq_should_flush(), or vq->used overflows.
 *
 * With VIRTIO_F_IN_ORDER, TX chains may share one used element, RX chains each get their own:
 * drivers may read the length of each (DPDK does).
 */
static inline void kvnet_vq_push(struct kvnet_vq *vq, const struct kvnet_buf *buf, u32 len)
{
	lockdep_assert_held(&vq->lock);
	vq->used[vq->n_used++] = (struct kvnet_used) {
		.id = buf->id,
		.count = buf->count,
		.skippable = !buf->writable,
		.len = len,
	};
}

/*
 * Marks the first @len bytes of the packet popped last in the dirty log: after the data is
 * written and before the flush (pair G). Session of a thread; may sleep. Returns 0, or -errno:
 * the log is not accessible, and the queue is broken.
 */
static inline int kvnet_vq_log_write(struct kvnet_vq *vq, size_t len)
{
	if (likely(!kvnet_features_has(&vq->features, VHOST_F_LOG_ALL)))
		return 0;
	return kvnet_vq_log_write_slow(vq, len);
}

/* The point that kvnet_vq_rewind() returns to; valid until the next flush. */
static inline struct kvnet_mark kvnet_vq_mark(const struct kvnet_vq *vq)
{
	return (struct kvnet_mark) {
		.pos = kvnet_ring_pos(&vq->ring),
		.n_used = vq->n_used,
	};
}

/* Undoes all pops and pushes since @mark was made. */
static inline void kvnet_vq_rewind(struct kvnet_vq *vq, struct kvnet_mark mark)
{
	kvnet_ring_rewind(&vq->ring, mark.pos);
	vq->n_used = mark.n_used;
}

/*
 * The cost of popping the last packet, for the budget: the driver may split a packet into
 * many segments, and the IOTLB may split each segment into pages.
 */
static inline unsigned int kvnet_vq_count_pieces(const struct kvnet_vq *vq)
{
	return max(vq->n_seg, vq->n_iov);
}

/*
 * To be asked between packets only, since all buffers of a packet must become visible together:
 * if true call kvnet_vq_flush().
 */
static inline bool kvnet_vq_should_flush(const struct kvnet_vq *vq)
{
	return vq->n_used >= KVNET_VQ_BATCH;
}

#endif /* _KVNET_VQ_H */
