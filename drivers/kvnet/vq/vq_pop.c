// SPDX-License-Identifier: GPL-2.0
/*
 * vq_pop.c - fetch descriptor chains and translate them, see vq.h
 *
 * kvnet_vq_pop() handles every chain. kvnet_vq_pop_push_single() is the fast path for receive
 * buffers, of which a packet may need many. It leaves in the ring all that is not a single
 * descriptor, or looks wrong, for kvnet_vq_pop() to validate.
 */
#include "vq.h"

#include <linux/errno.h>
#include <linux/minmax.h>
#include <linux/string.h>
#include <linux/uaccess.h>
#include <linux/vhost_types.h>

#include "obs/trace.h"

/* Bounds of a look-ahead: chains, and their segments together with translations. */
#define AHEAD_CHAINS	64U
#define AHEAD_STEPS	512U

/*
 * Reads an indirect table; in a session of a thread, in the owner's address space. The table
 * may cross regions of the memory table, or pages of the IOTLB, hence the loop.
 */
static int read_guest_memory(void *ctx, u64 addr, void *dst, u32 len)
{
	struct kvnet_vq *vq = ctx;
	void __user *base;
	u32 part;
	int ret;

	for (; len; len -= part, addr += part, dst += part) {
		part = len;
		ret = kvnet_xlate_span(&vq->xlate, addr, VHOST_ACCESS_RO,
				       &part, &base);
		if (ret)
			return ret;
		if (compat_copy_from_user(dst, base, part))
			return -EFAULT;
	}
	return 0;
}

/* For a look-ahead: a table without a translation is a miss, and counts as empty. */
static int read_table_ahead(void *ctx, u64 addr, void *dst, u32 len)
{
	struct kvnet_vq *vq = ctx;
	int ret = read_guest_memory(vq, addr, dst, len);

	if (ret == -EAGAIN && kvnet_iotlb_miss_add(vq->iotlb_misses, vq->index,
						   vq->xlate.miss_addr, vq->xlate.miss_perm)) {
		memset(dst, 0, len);
		ret = 0;
	}
	return ret;
}

/* Adds a miss for each page of @seg without a translation. False: end the look-ahead. */
static bool add_seg_misses(struct kvnet_vq *vq, const struct kvnet_seg *seg, u8 perm,
			   unsigned int *steps)
{
	u64 addr = seg->addr;
	u32 left, part;
	void __user *base;
	int ret;

	if (seg->len && addr + (seg->len - 1) < addr)
		return false;
	for (left = seg->len; left; left -= part, addr += part) {
		if (!*steps)
			return false;
		--*steps;
		part = left;
		ret = kvnet_xlate_span(&vq->xlate, addr, perm, &part, &base);
		if (!ret)
			continue;
		if (ret != -EAGAIN ||
		    !kvnet_iotlb_miss_add(vq->iotlb_misses, vq->index, addr, perm))
			return false;
		part = min_t(u32, left, KVNET_IOTLB_MISS_PAGE - addr % KVNET_IOTLB_MISS_PAGE);
	}
	return true;
}

/*
 * The queue waits for an IOTLB miss. Adds those of the chains from there on, as far as the ring
 * can be read; errors are left to kvnet_vq_pop(). The IOTLB must hold the answers for both queues
 * at once, and not evict one for another. vq->lock, in a session; may sleep.
 */
static noinline void add_misses_ahead(struct kvnet_vq *vq)
{
	const struct kvnet_reader reader = { .read = read_table_ahead, .ctx = vq };
	unsigned int chains = AHEAD_CHAINS, steps, i, n;
	kvnet_ring_pos_t pos = kvnet_ring_pos(&vq->ring);
	struct kvnet_chain chain;
	bool more = true;

	steps = min3(AHEAD_STEPS, UIO_MAXIOV - vq->n_seg, vq->xlate.iotlb->max / 4);
	while (more && steps && chains--) {
		chain.seg = vq->seg + vq->n_seg;
		chain.cap = steps;
		more = kvnet_ring_next(&vq->ring, &chain, &reader) == 1;
		n = more ? chain.n_out + chain.n_in : 0;
		steps -= n;
		for (i = 0; i < n && more; i++)
			more = add_seg_misses(vq, &chain.seg[i], i < chain.n_out ?
					      VHOST_ACCESS_RO : VHOST_ACCESS_WO, &steps);
	}
	kvnet_ring_rewind(&vq->ring, pos);
}

/* As kvnet_xlate_segs(); @len is set to the sum of the lengths. */
static __always_inline int translate_chain(struct kvnet_vq *vq, const struct kvnet_chain *chain,
					   struct iovec *iov, unsigned int cap, size_t *len)
{
	int i, n;

	/* Nearly every chain is one segment, in the region of the last one. */
	if (likely(chain->n_out + chain->n_in == 1 && cap &&
		   kvnet_xlate_seg_in_region(kvnet_xlate_last_region(&vq->xlate), chain->seg,
					     iov))) {
		*len = iov->iov_len;
		return 1;
	}
	n = kvnet_xlate_segs(&vq->xlate, chain->seg, chain->n_out, chain->n_in, iov, cap);
	*len = 0;
	for (i = 0; i < n; i++)
		*len += iov[i].iov_len;
	return n;
}

/**
 * kvnet_vq_pop() - fetch and translate the next chain
 * @vq: the queue
 * @dir: its direction; a descriptor of the other direction breaks the queue
 * @nth: chains popped for the same packet before; their segments stay in vq->iov, and those
 *	of this chain follow
 * @buf: filled in; its iov is valid until the next pop with @nth 0
 *
 * Context: session of a thread; may sleep.
 * Return: 1; 0 if the ring is empty; -ENOBUFS if this packet would exceed UIO_MAXIOV segments
 * (kvnet_vq_count_pieces() then returns its cost); -EAGAIN for an IOTLB miss; else -errno: the
 * queue is broken. After -EAGAIN, and after any error in a vCPU session, which breaks
 * nothing, the chain is still in the ring.
 */
int kvnet_vq_pop(struct kvnet_vq *vq, enum kvnet_vq_dir dir, unsigned int nth,
		 struct kvnet_buf *buf)
{
	const struct kvnet_reader reader = { .read = read_guest_memory, .ctx = vq };
	kvnet_ring_pos_t pos = kvnet_ring_pos(&vq->ring);
	struct kvnet_chain chain;
	struct iovec *iov;
	int ret;

	lockdep_assert_held(&vq->lock);
	/* The dirty log may have broken the queue during this session. */
	if (unlikely(!kvnet_vq_is_ready(vq)))
		return -EIO;
	if (!nth) {
		vq->n_seg = 0;
		vq->n_iov = 0;
	}
	iov = vq->iov + vq->n_iov;
	chain.seg = vq->seg + vq->n_seg;
	chain.cap = UIO_MAXIOV - vq->n_seg;
	ret = kvnet_ring_next(&vq->ring, &chain, &reader);
	if (!ret)
		return 0;
	if (unlikely(ret < 0))
		goto stop;
	ret = -EINVAL;
	if (dir == KVNET_VQ_TO_DRIVER ? chain.n_out || !chain.n_in : chain.n_in)
		goto stop;
	ret = translate_chain(vq, &chain, iov, UIO_MAXIOV - vq->n_iov, &buf->len);
	if (unlikely(ret < 0))
		goto stop;

	buf->iov = iov;
	buf->n = ret;
	buf->id = chain.id;
	buf->count = chain.count;
	buf->writable = chain.n_in;
	vq->n_seg += chain.n_out + chain.n_in;
	vq->n_iov += buf->n;
	trace_kvnet_pop(vq, buf->id, buf->n, buf->len);
	return 1;

stop:
	if (ret == -EMSGSIZE && nth) {
		/* The cost of reading a chain that is too long, for the budget. */
		vq->n_seg = UIO_MAXIOV;
		return -ENOBUFS;
	}
	/* The chain is fetched again after an IOTLB update or with another memory table. */
	kvnet_ring_rewind(&vq->ring, pos);
	if (kvnet_vq_in_vcpu_session())
		return ret;
	kvnet_vq_handle_error(vq, ret);
	if (ret == -EAGAIN) {
		add_misses_ahead(vq);
		kvnet_iotlb_miss_wake_readers(vq->iotlb_misses);
	}
	return ret;
}

/*
 * Free entries of vq->used until the next flush. A driver that makes a descriptor available
 * twice cannot have more than the ring's size pushed.
 */
static unsigned int used_room_left(const struct kvnet_vq *vq)
{
	unsigned int most = min_t(unsigned int, vq->ring.num, KVNET_VQ_USED_MAX);

	return most - min(most, vq->n_used);
}

/**
 * kvnet_vq_pop_push_single() - pop and push single-descriptor buffers for a packet (RX)
 * @vq: the queue
 * @len: bytes to find room for
 * @max: maximum number of buffers, up to UIO_MAXIOV
 * @pieces: maximum number of segments in vq->iov, up to UIO_MAXIOV
 * @left: filled in: bytes without a buffer yet
 *
 * The fast path for a pinned ring. It stops at the first chain that is not one writable
 * descriptor. A thread continues with kvnet_vq_pop(), and passes the return value as @nth. If
 * a buffer cannot be translated, or all would need more than @pieces, none is popped.
 *
 * Context: any session; does not sleep.
 * Return: number of buffers, pushed already; their segments are vq->iov.
 */
unsigned int kvnet_vq_pop_push_single(struct kvnet_vq *vq, size_t len, unsigned int max,
				      unsigned int pieces, size_t *left)
{
	kvnet_ring_pos_t pos = kvnet_ring_pos(&vq->ring);
	struct kvnet_used *used = vq->used + vq->n_used;
	struct kvnet_chain chain;
	unsigned int i, n = 0;
	size_t room;
	int ret = 0;

	kvnet_vq_assert_session(vq);
	vq->n_iov = 0;
	max = min(max, used_room_left(vq));
	if (likely(kvnet_vq_is_ready(vq)))
		n = kvnet_ring_next_single(&vq->ring, vq->seg, used, max, len);
	if (n) {
		chain.seg = vq->seg;
		chain.n_out = 0;
		chain.n_in = n;
		ret = translate_chain(vq, &chain, vq->iov, pieces, &room);
	}
	if (unlikely(ret < 0)) {
		kvnet_ring_rewind(&vq->ring, pos);
		ret = 0;
		n = 0;
	}
	for (i = 0; i < n; i++) {
		len -= used[i].len;
		trace_kvnet_pop(vq, used[i].id, 1, vq->seg[i].len);
	}
	vq->n_seg = n;
	vq->n_iov = ret;
	vq->n_used += n;
	*left = len;
	return n;
}
