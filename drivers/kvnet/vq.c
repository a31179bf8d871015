// SPDX-License-Identifier: GPL-2.0
/*
 * vq.c - the virtqueue session, see vq.h
 */
#include "vq.h"

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vhost.h>
#include <linux/virtio_config.h>

#include "features.h"
#include "trace.h"
#include "xlate.h"

/*
 * The lock is held, and the thread is in the owner's address space. The
 * indirect table may lie across regions, hence the loop.
 */
static int read_guest(void *ctx, u64 addr, void *dst, u32 len)
{
	struct kvnet_vq *vq = ctx;
	void __user *base;
	u32 part;

	for (; len; len -= part, addr += part, dst += part) {
		part = len;
		base = kvnet_mem_span(vq->mem, addr, &part, &vq->mem_hint);
		if (!base || copy_from_user(dst, base, part))
			return -EFAULT;
	}
	return 0;
}

/* No addresses, no features, base 0 and one entry, as vhost begins. */
static void reset_ring(struct kvnet_vq *vq)
{
	mutex_lock(&vq->lock);
	vq->ring = (struct kvnet_ring) { .num = 1 };
	mutex_unlock(&vq->lock);
	kvnet_vq_set_features(vq, 0);
}

/**
 * kvnet_vq_init() - when the device is opened
 * @vq: the queue, zeroed
 * @index: its number: 0 receives, 1 transmits
 */
void kvnet_vq_init(struct kvnet_vq *vq, u16 index)
{
	mutex_init(&vq->lock);
	vq->index = index;
	kvnet_stats_init(&vq->stats);
	reset_ring(vq);
}

/**
 * kvnet_vq_alloc() - memory that the queue needs once it has an owner
 * @vq: the queue
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: 0 or -ENOMEM.
 */
int kvnet_vq_alloc(struct kvnet_vq *vq)
{
	vq->seg = kvmalloc_array(UIO_MAXIOV, sizeof(*vq->seg),
				 GFP_KERNEL_ACCOUNT);
	vq->iov = kvmalloc_array(UIO_MAXIOV, sizeof(*vq->iov),
				 GFP_KERNEL_ACCOUNT);
	vq->used = kvmalloc_array(KVNET_VQ_USED_MAX, sizeof(*vq->used),
				  GFP_KERNEL_ACCOUNT);
	if (!vq->seg || !vq->iov || !vq->used) {
		kvnet_vq_free(vq);
		return -ENOMEM;
	}
	vq->owner = task_tgid_nr(current);
	return 0;
}

/**
 * kvnet_vq_free() - let go of all that the queue holds, forget its set-up
 * @vq: the queue, stopped
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_vq_free(struct kvnet_vq *vq)
{
	kvfree(vq->seg);
	kvfree(vq->iov);
	kvfree(vq->used);
	vq->seg = NULL;
	vq->iov = NULL;
	vq->used = NULL;
	kvnet_vq_set_mem(vq, NULL);
	kvnet_vq_set_call(vq, VHOST_FILE_UNBIND);
	kvnet_vq_set_error(vq, VHOST_FILE_UNBIND);
	reset_ring(vq);
}

/**
 * kvnet_vq_set_num() - VHOST_SET_VRING_NUM
 * @vq: the queue
 * @num: entries
 *
 * Return: 0, -EBUSY with a backend, -EINVAL if not a power of two <= 32768.
 */
int kvnet_vq_set_num(struct kvnet_vq *vq, u32 num)
{
	int ret = 0;

	mutex_lock(&vq->lock);
	if (vq->state != KVNET_VQ_STOPPED)
		ret = -EBUSY;
	else if (!num || num > KVNET_RING_MAX || (num & (num - 1)))
		ret = -EINVAL;
	else
		vq->ring.num = num;
	mutex_unlock(&vq->lock);
	return ret;
}

static int check_areas(const struct kvnet_ring *r)
{
	return access_ok(r->desc, kvnet_ring_desc_size(r)) &&
	       access_ok(r->avail, kvnet_ring_avail_size(r)) &&
	       access_ok(r->used, kvnet_ring_used_size(r)) ? 0 : -EFAULT;
}

/**
 * kvnet_vq_set_addr() - VHOST_SET_VRING_ADDR
 * @vq: the queue, also a running one
 * @a: addresses in the owner's address space
 *
 * Return: 0; -EOPNOTSUPP for an unknown flag; -EFAULT for an address that is
 * none; -EINVAL for a misaligned one or, on a running queue, for an area that
 * is not the owner's.
 */
int kvnet_vq_set_addr(struct kvnet_vq *vq, const struct vhost_vring_addr *a)
{
	unsigned long desc = a->desc_user_addr, avail = a->avail_user_addr;
	unsigned long used = a->used_user_addr;
	struct kvnet_ring r;
	int ret = 0;

	if (a->flags)
		return -EOPNOTSUPP;
	if (desc != a->desc_user_addr || avail != a->avail_user_addr ||
	    used != a->used_user_addr)
		return -EFAULT;
	if (avail & (VRING_AVAIL_ALIGN_SIZE - 1) ||
	    used & (VRING_USED_ALIGN_SIZE - 1) ||
	    a->log_guest_addr & (VRING_USED_ALIGN_SIZE - 1))
		return -EINVAL;

	mutex_lock(&vq->lock);
	r = vq->ring;
	r.desc = (void __user *)desc;
	r.avail = (void __user *)avail;
	r.used = (void __user *)used;
	if (vq->state != KVNET_VQ_STOPPED && check_areas(&r))
		ret = -EINVAL;
	else
		vq->ring = r;
	mutex_unlock(&vq->lock);
	return ret;
}

/**
 * kvnet_vq_set_base() - VHOST_SET_VRING_BASE
 * @vq: the queue
 * @base: avail index to go on from
 *
 * Return: 0, -EBUSY with a backend, -EINVAL if @base has more than 16 bits.
 */
int kvnet_vq_set_base(struct kvnet_vq *vq, u32 base)
{
	int ret = 0;

	mutex_lock(&vq->lock);
	if (vq->state != KVNET_VQ_STOPPED)
		ret = -EBUSY;
	else if (base > U16_MAX)
		ret = -EINVAL;
	else
		kvnet_ring_base_set(&vq->ring, base);
	mutex_unlock(&vq->lock);
	return ret;
}

/**
 * kvnet_vq_base() - VHOST_GET_VRING_BASE
 * @vq: the queue
 *
 * Return: the avail index to go on from.
 */
u32 kvnet_vq_base(struct kvnet_vq *vq)
{
	u32 base;

	mutex_lock(&vq->lock);
	base = kvnet_ring_base_get(&vq->ring);
	mutex_unlock(&vq->lock);
	return base;
}

static int set_eventfd(struct kvnet_vq *vq, struct eventfd_ctx **slot, int fd)
{
	struct eventfd_ctx *ctx = kvnet_eventfd_get(fd);

	if (IS_ERR(ctx))
		return PTR_ERR(ctx);
	mutex_lock(&vq->lock);
	swap(*slot, ctx);
	mutex_unlock(&vq->lock);
	kvnet_eventfd_put(ctx);
	return 0;
}

/**
 * kvnet_vq_set_call() - VHOST_SET_VRING_CALL, at any time
 * @vq: the queue
 * @fd: eventfd to signal when buffers are used, or VHOST_FILE_UNBIND
 *
 * When it returns the old eventfd is signalled no more.
 *
 * Return: 0, -EBADF or -EINVAL.
 */
int kvnet_vq_set_call(struct kvnet_vq *vq, int fd)
{
	return set_eventfd(vq, &vq->call, fd);
}

/**
 * kvnet_vq_set_error() - VHOST_SET_VRING_ERR, at any time
 * @vq: the queue
 * @fd: eventfd to signal when the queue breaks, or VHOST_FILE_UNBIND
 *
 * Return: 0, -EBADF or -EINVAL.
 */
int kvnet_vq_set_error(struct kvnet_vq *vq, int fd)
{
	return set_eventfd(vq, &vq->error, fd);
}

/**
 * kvnet_vq_set_mem() - change the memory table, at any time
 * @vq: the queue
 * @mem: the new table, or NULL; the queue takes a reference of its own
 *
 * When it returns the old table is used no more. A queue that broke may have
 * done so for want of this table, and gets another try.
 */
void kvnet_vq_set_mem(struct kvnet_vq *vq, struct kvnet_mem *mem)
{
	struct kvnet_mem *old;

	kvnet_mem_get(mem);
	mutex_lock(&vq->lock);
	old = vq->mem;
	vq->mem = mem;
	if (mem && vq->state == KVNET_VQ_BROKEN)
		vq->state = KVNET_VQ_RUNNING;
	mutex_unlock(&vq->lock);
	kvnet_mem_put(old);
}

/**
 * kvnet_vq_set_features() - what the driver has acknowledged
 * @vq: the queue
 * @features: checked by kvnet_features_check()
 */
void kvnet_vq_set_features(struct kvnet_vq *vq, u64 features)
{
	mutex_lock(&vq->lock);
	vq->features = features;
	vq->ring.le = kvnet_features_le(features);
	vq->ring.event_idx = features & BIT_ULL(VIRTIO_RING_F_EVENT_IDX);
	vq->ring.notify_on_empty = features & BIT_ULL(VIRTIO_F_NOTIFY_ON_EMPTY);
	mutex_unlock(&vq->lock);
}

/**
 * kvnet_vq_check() - is the queue set up for kvnet_vq_start()?
 * @vq: the queue
 *
 * Context: vq->lock.
 * Return: 0 or -EFAULT.
 */
int kvnet_vq_check(const struct kvnet_vq *vq)
{
	lockdep_assert_held(&vq->lock);
	return vq->mem ? check_areas(&vq->ring) : -EFAULT;
}

/**
 * kvnet_vq_start() - the queue has a backend from now on
 * @vq: the queue, set up; not running, or running on another backend
 *
 * Context: the owner; may sleep; vq->lock.
 * Return: 0, or -EFAULT with the state unchanged.
 */
int kvnet_vq_start(struct kvnet_vq *vq)
{
	int ret;

	lockdep_assert_held(&vq->lock);
	ret = kvnet_ring_start(&vq->ring);
	if (ret)
		return ret;
	vq->n_used = 0;
	vq->state = KVNET_VQ_RUNNING;
	trace_kvnet_vq_start(vq);
	return 0;
}

/**
 * kvnet_vq_stop() - the queue has no backend any more
 * @vq: the queue, in any state
 *
 * Nothing touches the ring once vq->lock is released.
 *
 * Context: vq->lock.
 */
void kvnet_vq_stop(struct kvnet_vq *vq)
{
	lockdep_assert_held(&vq->lock);
	if (vq->state == KVNET_VQ_STOPPED)
		return;
	vq->state = KVNET_VQ_STOPPED;
	trace_kvnet_vq_stop(vq);
}

/**
 * kvnet_vq_begin() - open a session
 * @vq: the queue
 *
 * Context: the worker thread; may sleep. Takes vq->lock on success.
 * Return: true with a session and kicks off; false if the queue does not run.
 */
bool kvnet_vq_begin(struct kvnet_vq *vq)
{
	int ret;

	mutex_lock(&vq->lock);
	if (vq->state == KVNET_VQ_RUNNING) {
		ret = kvnet_ring_kick_off(&vq->ring);
		if (!ret)
			return true;
		kvnet_vq_break(vq, ret);
	}
	mutex_unlock(&vq->lock);
	return false;
}

/**
 * kvnet_vq_end() - publish what was pushed and close the session
 * @vq: the queue
 *
 * Context: the worker thread; may sleep. Releases vq->lock.
 */
void kvnet_vq_end(struct kvnet_vq *vq)
{
	kvnet_vq_flush(vq);
	mutex_unlock(&vq->lock);
}

/**
 * kvnet_vq_break() - the driver broke the rules: stop here
 * @vq: the queue
 * @err: how, -errno
 *
 * What was pushed before is still published by kvnet_vq_end().
 *
 * Context: vq->lock.
 */
void kvnet_vq_break(struct kvnet_vq *vq, int err)
{
	lockdep_assert_held(&vq->lock);
	if (vq->state != KVNET_VQ_RUNNING)
		return;
	vq->state = KVNET_VQ_BROKEN;
	kvnet_stat_inc(&vq->stats, KVNET_STAT_broken);
	trace_kvnet_vq_broken(vq, err);
	kvnet_eventfd_signal(vq->error);
}

/**
 * kvnet_vq_drop() - count a packet that goes nowhere
 * @vq: the queue
 * @reason: a drop_* counter
 *
 * Context: vq->lock.
 */
void kvnet_vq_drop(struct kvnet_vq *vq, enum kvnet_stat reason)
{
	lockdep_assert_held(&vq->lock);
	kvnet_stat_inc(&vq->stats, reason);
	trace_kvnet_drop(vq, reason);
}

/**
 * kvnet_vq_pop() - fetch and translate the next chain
 * @vq: the queue
 * @dir: which way its bytes must go; a chain with others breaks the queue
 * @nth: chains popped for this packet already; they and this one stand one
 *	after the other in the queue's I/O vector
 * @buf: filled in; its iov is good until the next pop with @nth 0
 *
 * Context: session; may sleep.
 * Return: 1; 0 if there is none; -EMSGSIZE if chains before it have left too
 * little room for it, see UIO_MAXIOV; or -errno: the queue is broken.
 */
int kvnet_vq_pop(struct kvnet_vq *vq, enum kvnet_dir dir, unsigned int nth,
		 struct kvnet_buf *buf)
{
	const struct kvnet_reader reader = { .read = read_guest, .ctx = vq };
	struct kvnet_chain chain = { .seg = vq->seg };
	struct iovec *iov;
	unsigned int i;
	int ret;

	lockdep_assert_held(&vq->lock);
	if (!nth) {
		vq->n_seg = 0;
		vq->n_iov = 0;
	}
	iov = vq->iov + vq->n_iov;
	chain.cap = UIO_MAXIOV - vq->n_seg;
	ret = kvnet_ring_next(&vq->ring, &chain, &reader);
	if (!ret || (ret == -EMSGSIZE && nth))
		return ret;
	if (ret < 0)
		goto broken;
	ret = -EINVAL;
	if (dir == KVNET_TO_DRIVER ? chain.n_out || !chain.n_in : chain.n_in)
		goto broken;
	ret = kvnet_xlate(vq->mem, &vq->mem_hint, chain.seg,
			  chain.n_out + chain.n_in, iov,
			  UIO_MAXIOV - vq->n_iov);
	if (ret == -EMSGSIZE && nth)
		return ret;
	if (ret < 0)
		goto broken;

	buf->iov = iov;
	buf->n = ret;
	buf->id = chain.id;
	vq->n_seg += chain.n_out + chain.n_in;
	vq->n_iov += buf->n;
	buf->len = 0;
	for (i = 0; i < buf->n; i++)
		buf->len += iov[i].iov_len;
	trace_kvnet_pop(vq, buf->id, buf->n, buf->len);
	return 1;

broken:
	kvnet_vq_break(vq, ret);
	return ret;
}

/**
 * kvnet_vq_push() - give a chain back; it becomes visible with the next flush
 * @vq: the queue
 * @id: of the chain
 * @len: bytes written to it; in place by the time of the flush
 *
 * Context: session; at most UIO_MAXIOV times between two calls of
 * kvnet_vq_flush_full().
 */
void kvnet_vq_push(struct kvnet_vq *vq, u16 id, u32 len)
{
	lockdep_assert_held(&vq->lock);
	vq->used[vq->n_used].id = id;
	vq->used[vq->n_used].len = len;
	vq->n_used++;
}

/**
 * kvnet_vq_mark() - a point to come back to by kvnet_vq_rewind()
 * @vq: the queue
 *
 * Context: session.
 * Return: the point; a flush makes it void.
 */
struct kvnet_mark kvnet_vq_mark(const struct kvnet_vq *vq)
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
void kvnet_vq_rewind(struct kvnet_vq *vq, struct kvnet_mark mark)
{
	kvnet_ring_rewind(&vq->ring, mark.pos);
	vq->n_used = mark.n_used;
}

/**
 * kvnet_vq_flush_full() - flush, if enough has been pushed to be worth it
 * @vq: the queue
 *
 * Context: session; may sleep. To be called between packets: all buffers of
 * one become visible together.
 */
void kvnet_vq_flush_full(struct kvnet_vq *vq)
{
	if (vq->n_used >= KVNET_VQ_BATCH)
		kvnet_vq_flush(vq);
}

/**
 * kvnet_vq_flush() - publish what was pushed, and call the driver if it asks
 * @vq: the queue
 *
 * The only place that orders data, used ring and call; see
 * Documentation/ordering.rst.
 *
 * Context: session; may sleep.
 */
void kvnet_vq_flush(struct kvnet_vq *vq)
{
	unsigned int n = vq->n_used;
	int ret;

	lockdep_assert_held(&vq->lock);
	if (!n)
		return;
	vq->n_used = 0;
	ret = kvnet_ring_put(&vq->ring, vq->used, n);
	if (!ret)
		ret = kvnet_ring_should_call(&vq->ring);
	if (ret < 0) {
		kvnet_vq_break(vq, ret);
		return;
	}
	kvnet_stat_inc(&vq->stats, KVNET_STAT_flushes);
	kvnet_stat_inc(&vq->stats, ret ? KVNET_STAT_calls :
					 KVNET_STAT_calls_suppressed);
	trace_kvnet_flush(vq, n, ret);
	if (ret)
		kvnet_eventfd_signal(vq->call);
}

/**
 * kvnet_vq_kick_on() - ask the driver for a kick
 * @vq: the queue
 *
 * Context: session; may sleep.
 * Return: 1 if more chains have come meanwhile, 0 if not, -errno: broken.
 */
int kvnet_vq_kick_on(struct kvnet_vq *vq)
{
	int ret;

	lockdep_assert_held(&vq->lock);
	ret = kvnet_ring_kick_on(&vq->ring);
	if (ret < 0)
		kvnet_vq_break(vq, ret);
	else
		trace_kvnet_vq_arm(vq);
	return ret;
}

/**
 * kvnet_vq_pending() - a quick look: has the driver added chains?
 * @vq: the queue, no session
 *
 * Context: the worker thread; may sleep in a page fault, not on the lock.
 * Return: true if so, or if someone holds the queue just now.
 */
bool kvnet_vq_pending(struct kvnet_vq *vq)
{
	bool ret;

	if (!mutex_trylock(&vq->lock))
		return true;
	ret = vq->state == KVNET_VQ_RUNNING && kvnet_ring_pending(&vq->ring);
	mutex_unlock(&vq->lock);
	return ret;
}
