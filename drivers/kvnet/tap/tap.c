// SPDX-License-Identifier: GPL-2.0
/*
 * tap.c - the backend's socket, and frames from the host to the guest, see tap.h
 *
 * The functions that get a struct kvnet_tap run in the session of its queue:
 *  - of a worker: vq->lock, the owner's address space, may sleep;
 *  - of a softirq (in_serving_softirq()): vq->softirq_lock. No user memory is accessible:
 *    kvnet_tap_rx_read_user() is for a worker alone.
 *
 * Frames are dequeued in batches, read one by one, and freed together.
 */
#include "tap.h"

#include <linux/err.h>
#include <linux/file.h>
#include <linux/if_tap.h>
#include <linux/if_tun.h>
#include <linux/net.h>
#include <linux/preempt.h>
#include <linux/ptr_ring.h>
#include <linux/skb_array.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "packet.h"
#include "tap_info.h"

static bool is_raw_packet_socket(const struct socket *sock)
{
	return sock->sk->sk_family == AF_PACKET && sock->sk->sk_type == SOCK_RAW;
}

/*
 * @fd: a tun, tap, macvtap or raw packet socket of the calling process. Returns its socket with
 * a reference on the file, which kvnet_tap_put() drops, or ERR_PTR(-ENOTSOCK).
 */
struct socket *kvnet_tap_get(int fd)
{
	struct file *file = fget(fd);
	struct socket *sock;

	if (!file)
		return ERR_PTR(-ENOTSOCK);
	sock = sock_from_file(file);
	if (!sock) {
		sock = tun_get_socket(file);
		if (IS_ERR(sock))
			sock = tap_get_socket(file);
	} else if (!is_raw_packet_socket(sock)) {
		sock = ERR_PTR(-ENOTSOCK);
	}
	if (IS_ERR(sock)) {
		fput(file);
		return ERR_PTR(-ENOTSOCK);
	}
	return sock;
}

/* No lock needed. @sock may be NULL. */
void kvnet_tap_put(struct socket *sock)
{
	if (sock)
		fput(sock->file);
}

/* Returns NULL for a packet socket. */
static struct ptr_ring *find_tap_ring(struct socket *sock)
{
	struct ptr_ring *ring = tun_get_tx_ring(sock->file);

	if (IS_ERR(ring))
		ring = tap_get_ptr_ring(sock->file);
	return IS_ERR(ring) ? NULL : ring;
}

/* As tun_ptr_free(), without its calls for the memory that tun and the short cut allocate. */
static void free_xdp_frame(void *frame)
{
	struct xdp_frame *xdp = tun_ptr_to_xdp(frame);

	if (likely(compat_xdp_mem_type(xdp) == MEM_TYPE_PAGE_SHARED && !xdp_frame_has_frags(xdp)))
		page_frag_free(xdp->data);
	else
		tun_ptr_free(frame);
}

/*
 * The caller frees the frames that it has read at the end of a poll, all together, as
 * drivers do for transmitted packets: freed one by one, each costs as much as the copy of
 * a short frame.
 */
void kvnet_tap_rx_release(struct kvnet_tap *tap)
{
	struct sk_buff *frame, *list = NULL;

	while (tap->rx_done < tap->rx_head) {
		frame = tap->rx[tap->rx_done++];
		if (!frame)
			continue;
		if (tun_is_xdp_frame(frame)) {
			free_xdp_frame(frame);
			continue;
		}
		frame->next = list;
		list = frame;
	}
	if (list)
		compat_consume_skbs(list, in_serving_softirq());
	if (tap->rx_head == tap->rx_tail) {
		tap->rx_done = 0;
		tap->rx_head = 0;
		tap->rx_tail = 0;
	}
}

static void return_rx_batch(struct kvnet_tap *tap)
{
	void **frame = tap->rx + tap->rx_head;
	unsigned int n = tap->rx_tail - tap->rx_head;

	if (n && tap->ring)
		ptr_ring_unconsume(tap->ring, frame, n, tun_ptr_free);
	else if (n)
		kvnet_packet_requeue(tap->sock, frame, n);
	tap->rx_tail = tap->rx_head;
	kvnet_tap_rx_release(tap);
}

/*
 * Exchanges the backend. The reference of @sock (NULL: no backend) moves to @tap, and the
 * caller gets that of the returned one, or NULL. @ifindex is from kvnet_tap_info_ifindex().
 *
 * Unread frames return to the front of the old tap's ring. Without a backend the memory for
 * frames is released, too.
 *
 * Context: vq->lock, softirq sessions disabled; may sleep.
 */
struct socket *kvnet_tap_attach(struct kvnet_tap *tap, struct socket *sock, int ifindex)
{
	bool is_tun = kvnet_tap_info_kind(sock) == KVNET_BACKEND_TAP;
	struct socket *old = tap->sock;

	return_rx_batch(tap);
	tap->sock = sock;
	tap->ring = sock ? find_tap_ring(sock) : NULL;
	tap->rx_dev = NULL;
	tap->rx_ifindex = 0;
	WRITE_ONCE(tap->queue, 0);
	tap->has_queues = false;
	tap->xdp_ifindex = IS_ENABLED(CONFIG_PREEMPT_RT) ? 0 : ifindex;
	kvnet_tap_tx_direct_set_dev(tap, is_tun ? ifindex : 0);
	WRITE_ONCE(tap->shortcut_state, KVNET_SHORTCUT_IDLE);
	if (!sock)
		kvnet_frag_drain(&tap->frags);
	return old;
}

/*
 * Other contexts may hold the lock with softirqs enabled, and a softirq may have interrupted
 * one on this CPU: so a softirq session only tries.
 */
static bool lock_tap_ring(struct kvnet_tap *tap)
{
	if (!in_serving_softirq())
		spin_lock_bh(&tap->ring->consumer_lock);
	else if (!spin_trylock(&tap->ring->consumer_lock))
		return false;
	/* sparse cannot follow a conditionally taken lock */
	__release(&tap->ring->consumer_lock);
	return true;
}

static void unlock_tap_ring(struct kvnet_tap *tap)
{
	__acquire(&tap->ring->consumer_lock);
	if (!in_serving_softirq())
		spin_unlock_bh(&tap->ring->consumer_lock);
	else
		spin_unlock(&tap->ring->consumer_lock);
}

/*
 * Caller holds the ring's consumer_lock, so that softirqs are off. A tap with IFF_BACKPRESSURE
 * stops its senders when the ring is full. tun_wake_queue() wakes them even if the ring has filled
 * again meanwhile, and tun would drop their next frames: so wake only when the ring is not full.
 * The next batch that is consumed accounts for all.
 */
static void wake_tap_senders(struct kvnet_tap *tap, unsigned int n)
{
	struct ptr_ring *ring = tap->ring;

	if (!COMPAT_TUN_STOPS_SENDERS)
		return;
	spin_lock(&ring->producer_lock);
	if (!__ptr_ring_full(ring))
		tun_wake_queue(tap->sock->file, n);
	spin_unlock(&ring->producer_lock);
}

/* Adds to the batch, whose frames are all read. */
static unsigned int consume_rx_batch(struct kvnet_tap *tap)
{
	unsigned int n, room = KVNET_TAP_BATCH - tap->rx_tail;
	void **frame = tap->rx + tap->rx_tail;

	if (!tap->ring)
		return kvnet_packet_dequeue(tap->sock, frame, room);
	if (!lock_tap_ring(tap))
		return 0;
	n = __ptr_ring_consume_batched(tap->ring, frame, room);
	if (n)
		wake_tap_senders(tap, n);
	unlock_tap_ring(tap);
	return n;
}

static void *peek_rx_frame(struct kvnet_tap *tap)
{
	unsigned int n;

	if (tap->rx_head == tap->rx_tail) {
		/* One batch per softirq poll: completing the poll checks the ring again. */
		if (in_serving_softirq() && tap->rx_tail)
			return NULL;
		/* Frames that are read are freed after the flush, or to make room. */
		if (tap->rx_tail == KVNET_TAP_BATCH)
			kvnet_tap_rx_release(tap);
		n = consume_rx_batch(tap);
		if (!n)
			return NULL;
		tap->rx_tail += n;
	}
	return tap->rx[tap->rx_head];
}

/*
 * Returns the length of the next frame in bytes, with its VLAN tag, without the header; 0
 * if there is none. Empty frames are dropped.
 */
size_t kvnet_tap_rx_peek(struct kvnet_tap *tap)
{
	void *frame;
	size_t len;

	while ((frame = peek_rx_frame(tap))) {
		len = tun_is_xdp_frame(frame) ? tun_ptr_to_xdp(frame)->len :
			__skb_array_len_with_tag(frame);
		if (len)
			return len;
		kvnet_tap_rx_discard(tap);
	}
	return 0;
}

/* Conservative: true in a softirq if the ring's lock is contended. */
bool kvnet_tap_rx_is_readable(struct kvnet_tap *tap)
{
	bool empty;

	if (tap->rx_head != tap->rx_tail)
		return true;
	if (!tap->ring)
		return !skb_queue_empty_lockless(&tap->sock->sk->sk_receive_queue);
	if (!lock_tap_ring(tap))
		return true;
	/* The producer does not take this lock: the entry is read once, by READ_ONCE(). */
	empty = !__ptr_ring_peek(tap->ring);
	unlock_tap_ring(tap);
	return !empty;
}

/*
 * Reading a packet socket with SO_BUSY_POLL, which may change at any time, polls its device:
 * not in a softirq.
 */
bool kvnet_tap_rx_may_softirq(const struct kvnet_tap *tap)
{
#ifdef CONFIG_NET_RX_BUSY_POLL
	return tap->ring || !READ_ONCE(tap->sock->sk->sk_ll_usec);
#else
	return true;
#endif
}

/*
 * The caller has set the iterator of @msg. Of the other fields only those are set that a tap
 * reads: to clear the whole struct costs time for each frame.
 *
 * recvmsg() frees the frame that it gets by msg_control, also on error. Of a socket buffer it
 * gets a reference of its own: kvnet keeps one, to free the frame with its batch. An XDP frame
 * has no reference count: it is the tap's from here on.
 */
static int recvmsg_frame(struct kvnet_tap *tap, struct msghdr *msg)
{
	void **frame = &tap->rx[tap->rx_head++];
	int ret;

	if (!tap->ring)
		return kvnet_packet_read(*frame, &msg->msg_iter, tap->hdr_len, tap->le);
	tap->recvmsg_calls++;
	msg->msg_name = NULL;
	msg->msg_namelen = 0;
	msg->msg_flags = 0;
	msg->msg_controllen = 0;
	msg->msg_control = *frame;
	if (tun_is_xdp_frame(*frame))
		*frame = NULL;
	else
		skb_get(*frame);
	ret = tap->sock->ops->recvmsg(tap->sock, msg, iov_iter_count(&msg->msg_iter),
				      MSG_DONTWAIT | MSG_TRUNC);
	if (ret < 0) {
		/* By kfree_skb(), not consume_skb(): to drop monitors this frame is a drop. */
		kfree_skb(*frame);
		*frame = NULL;
	}
	return ret;
}

/*
 * Session of a worker; may sleep. After kvnet_tap_rx_peek() has found a frame: reads it with
 * its header into the owner's memory, @skip bytes behind the start of @iov. The tap makes the
 * header as it is configured, and counts the frame in its device's statistics.
 *
 * The frame is consumed, also on error. What exceeds @len is cut off; with a packet socket
 * @len is the length of the header, or that of header and frame. Returns the length of both
 * before it is cut off, or -errno.
 */
int kvnet_tap_rx_read_user(struct kvnet_tap *tap, const struct iovec *iov, unsigned int n,
			   size_t skip, size_t len)
{
	struct msghdr msg;
	int ret;

	iov_iter_init(&msg.msg_iter, ITER_DEST, iov, n, skip + len);
	if (skip)
		iov_iter_advance(&msg.msg_iter, skip);
	ret = recvmsg_frame(tap, &msg);
	/* A tap ignores faults of the copy: they show as room left in the iterator. */
	if (ret == len && iov_iter_count(&msg.msg_iter))
		return -EFAULT;
	return ret;
}

/* As kvnet_tap_rx_read_user(), but into kernel memory, in any session. @len is not 0. */
int kvnet_tap_rx_recvmsg(struct kvnet_tap *tap, void *buf, size_t len)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };
	struct msghdr msg;

	iov_iter_kvec(&msg.msg_iter, ITER_DEST, &vec, 1, len);
	return recvmsg_frame(tap, &msg);
}

/* Drops the frame that kvnet_tap_rx_peek() has found. */
void kvnet_tap_rx_discard(struct kvnet_tap *tap)
{
	unsigned int at = tap->rx_head++;

	tun_ptr_free(tap->rx[at]);
	tap->rx[at] = NULL;
}

static unsigned int count_ring_frames(struct ptr_ring *ring)
{
	unsigned int n;

	spin_lock(&ring->consumer_lock);
	n = READ_ONCE(ring->producer) + ring->size - ring->consumer_head;
	if (n >= ring->size)
		n -= ring->size;
	if (!n && __ptr_ring_peek(ring))
		n = ring->size;
	spin_unlock(&ring->consumer_lock);
	return n;
}

/*
 * The number of frames that wait for the guest: in the tap's ring, or dequeued from it and not
 * read yet. With a backend.
 *
 * Context: softirqs off, between kvnet_vq_freeze() and kvnet_vq_unfreeze().
 */
unsigned int kvnet_tap_rx_backlog(struct kvnet_tap *tap)
{
	unsigned int n = tap->rx_tail - tap->rx_head;

	return n + (tap->ring ? count_ring_frames(tap->ring) :
		    skb_queue_len_lockless(&tap->sock->sk->sk_receive_queue));
}

/* In a session, with a backend. In frames; changes with txqueuelen; 0 for a packet socket. */
unsigned int kvnet_tap_rx_ring_size(const struct kvnet_tap *tap)
{
	return tap->ring ? max(READ_ONCE(tap->ring->size), 0) : 0;
}
