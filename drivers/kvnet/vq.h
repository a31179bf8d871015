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
#include <linux/types.h>
#include <linux/uio.h>

#include "mem.h"
#include "notify.h"
#include "ring.h"
#include "stats.h"

struct vhost_vring_addr;

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
 * @id: for kvnet_vq_push()
 */
struct kvnet_buf {
	const struct iovec *iov;
	unsigned int n;
	size_t len;
	u16 id;
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

/** enum kvnet_dir - which way a buffer's bytes go */
enum kvnet_dir {
	KVNET_FROM_DRIVER,
	KVNET_TO_DRIVER,
};

/**
 * struct kvnet_vq - a virtqueue
 *
 * The session fields belong to the holder of @lock; the set-up fields change
 * with @lock held; the rest is constant while there is an owner.
 *
 * @lock: held for a session, and to change the set-up
 * @state: session
 * @mem_hint: session; see kvnet_mem_find()
 * @n_used: session; entries in @used
 * @n_seg: session; segments of the packet popped last
 * @n_iov: session; entries in @iov of the packet popped last
 * @ring: session
 * @used: session; pushed, not yet flushed: KVNET_VQ_USED_MAX entries
 * @seg: session; segments of a chain: UIO_MAXIOV entries
 * @iov: session; pieces of a packet: UIO_MAXIOV entries
 * @stats: written in a session
 * @mem: set-up; with a reference
 * @features: set-up; as acknowledged by the driver
 * @call: set-up; eventfd to signal for used buffers, or NULL
 * @error: set-up; eventfd to signal when the queue breaks, or NULL
 * @owner: pid, for traces
 * @index: KVNET_RX or KVNET_TX
 */
struct kvnet_vq {
	struct mutex lock;
	enum kvnet_vq_state state;
	u32 mem_hint;
	unsigned int n_used;
	unsigned int n_seg;
	unsigned int n_iov;
	struct kvnet_ring ring;
	struct kvnet_used *used;
	struct kvnet_seg *seg;
	struct iovec *iov;
	struct kvnet_stats stats;

	struct kvnet_mem *mem;
	u64 features;
	struct eventfd_ctx *call;
	struct eventfd_ctx *error;

	pid_t owner;
	u16 index;
};

/* set-up: vq_setup.c */
void kvnet_vq_init(struct kvnet_vq *vq, u16 index);
int kvnet_vq_alloc(struct kvnet_vq *vq);
void kvnet_vq_free(struct kvnet_vq *vq);
int kvnet_vq_set_num(struct kvnet_vq *vq, u32 num);
int kvnet_vq_set_addr(struct kvnet_vq *vq, const struct vhost_vring_addr *a);
int kvnet_vq_set_base(struct kvnet_vq *vq, u32 base);
u32 kvnet_vq_base(struct kvnet_vq *vq);
int kvnet_vq_set_call(struct kvnet_vq *vq, int fd);
int kvnet_vq_set_error(struct kvnet_vq *vq, int fd);
void kvnet_vq_set_mem(struct kvnet_vq *vq, struct kvnet_mem *mem);
void kvnet_vq_set_features(struct kvnet_vq *vq, u64 features);
int kvnet_vq_check(const struct kvnet_vq *vq);
int kvnet_vq_start(struct kvnet_vq *vq);
void kvnet_vq_stop(struct kvnet_vq *vq);

/* session: vq.c */
bool kvnet_vq_begin(struct kvnet_vq *vq);
void kvnet_vq_end(struct kvnet_vq *vq);
int kvnet_vq_pop(struct kvnet_vq *vq, enum kvnet_dir dir, unsigned int nth,
		 struct kvnet_buf *buf);
void kvnet_vq_push(struct kvnet_vq *vq, u16 id, u32 len);
struct kvnet_mark kvnet_vq_mark(const struct kvnet_vq *vq);
void kvnet_vq_rewind(struct kvnet_vq *vq, struct kvnet_mark mark);
void kvnet_vq_flush_full(struct kvnet_vq *vq);
void kvnet_vq_flush(struct kvnet_vq *vq);
int kvnet_vq_kick_on(struct kvnet_vq *vq);
bool kvnet_vq_pending(struct kvnet_vq *vq);
void kvnet_vq_break(struct kvnet_vq *vq, int err);
void kvnet_vq_drop(struct kvnet_vq *vq, enum kvnet_stat reason);

#endif /* _KVNET_VQ_H */
