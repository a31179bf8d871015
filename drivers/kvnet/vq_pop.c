// SPDX-License-Identifier: GPL-2.0
/*
 * vq_pop.c - chains out of the ring, translated; see vq.h
 */
#include "vq.h"

#include <linux/errno.h>
#include <linux/uaccess.h>
#include <linux/vhost_types.h>

#include "trace.h"

/*
 * The lock is held, and the thread is in the owner's address space. The
 * indirect table may lie across regions, hence the loop.
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

/* As kvnet_xlate_chain(); the lengths' sum goes to @len. */
static __always_inline int translate_chain(struct kvnet_vq *vq,
					   const struct kvnet_chain *chain,
					   struct iovec *iov, unsigned int cap,
					   size_t *len)
{
	int i, n;

	/* Nearly every chain is one segment, where the last one was. */
	if (likely(chain->n_out + chain->n_in == 1 && cap &&
		   kvnet_xlate_seg_in_region(kvnet_xlate_last_region(&vq->xlate), chain->seg,
					     iov))) {
		*len = iov->iov_len;
		return 1;
	}
	n = kvnet_xlate_chain(&vq->xlate, chain, iov, cap);
	*len = 0;
	for (i = 0; i < n; i++)
		*len += iov[i].iov_len;
	return n;
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
 * Return: 1; 0 if there is none; -ENOBUFS if chains before it have left too
 * little room for it, see UIO_MAXIOV, and kvnet_vq_count_pieces() says what finding out was;
 * -EAGAIN to wait for the IOTLB, the chain being still there; or -errno: the queue is
 * broken. In a session that is lent the chain is still there in any case.
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
	/* Broken in the midst of a session, by the dirty log. */
	if (unlikely(vq->state != KVNET_VQ_RUNNING))
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
		/* As much has been looked at as there may be of a packet. */
		vq->n_seg = UIO_MAXIOV;
		return -ENOBUFS;
	}
	/* The IOTLB, or another memory table, gives the chain another try. */
	kvnet_ring_rewind(&vq->ring, pos);
	if (!vq->vcpu_session)
		kvnet_vq_handle_error(vq, ret);
	return ret;
}

/* More of a ring are not with the device, whatever its driver says meanwhile. */
static unsigned int used_room_left(const struct kvnet_vq *vq)
{
	unsigned int most = min_t(unsigned int, vq->ring.num, KVNET_VQ_USED_MAX);

	return most - min(most, vq->n_used);
}

/**
 * kvnet_vq_pop_push_single() - pop and push buffers for a packet, as far as it is easy
 * @vq: the queue
 * @len: bytes that the packet has
 * @max: buffers that it may take, at most UIO_MAXIOV
 * @pieces: of memory that these may be in, at most UIO_MAXIOV: no more are looked for
 * @left: filled in: bytes that are left for other buffers
 *
 * Each is one descriptor; as many as there is room for until the next flush. The next
 * is for kvnet_vq_pop(), with @nth what this returns, which will tell if something is
 * wrong with it. Where they are in more than @pieces, none is taken.
 *
 * Context: session.
 * Return: how many; the first of a packet, they are what is in vq->iov.
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
	if (likely(vq->state == KVNET_VQ_RUNNING))
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
