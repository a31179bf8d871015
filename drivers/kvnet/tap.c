// SPDX-License-Identifier: GPL-2.0
/*
 * tap.c - frames from the host, and what backends there are, see tap.h
 *
 * All functions here are for the holder of vq->lock, in the owner's address
 * space, and may sleep, except where noted.
 */
#include "tap.h"

#include <linux/err.h>
#include <linux/file.h>
#include <linux/if_tap.h>
#include <linux/if_tun.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/ptr_ring.h>
#include <linux/skb_array.h>
#include <linux/skbuff.h>
#include <net/sock.h>

#include "packet.h"

static struct socket *get_backend_socket(struct file *file)
{
	struct socket *sock = sock_from_file(file);

	if (sock)
		return kvnet_packet_is_raw(sock) ? sock : ERR_PTR(-ENOTSOCK);
	sock = tun_get_socket(file);
	return IS_ERR(sock) ? tap_get_socket(file) : sock;
}

/**
 * kvnet_tap_get() - the socket behind a file descriptor
 * @fd: the owner's descriptor of a tun, a tap, a macvtap or a packet socket
 *
 * Return: the socket, for kvnet_tap_put(), or ERR_PTR(-ENOTSOCK).
 */
struct socket *kvnet_tap_get(int fd)
{
	struct file *file = fget(fd);
	struct socket *sock;

	if (!file)
		return ERR_PTR(-ENOTSOCK);
	sock = get_backend_socket(file);
	if (IS_ERR(sock)) {
		fput(file);
		return ERR_PTR(-ENOTSOCK);
	}
	return sock;
}

/**
 * kvnet_tap_put() - drop a socket
 * @sock: from kvnet_tap_get(), or NULL
 *
 * Context: may sleep; no lock needed.
 */
void kvnet_tap_put(struct socket *sock)
{
	if (sock)
		fput(sock->file);
}

/* NULL for a packet socket */
static struct ptr_ring *find_tap_ring(struct socket *sock)
{
	struct ptr_ring *ring = tun_get_tx_ring(sock->file);

	if (IS_ERR(ring))
		ring = tap_get_ptr_ring(sock->file);
	return IS_ERR(ring) ? NULL : ring;
}

/* There are no more frames, nor any to free. */
static void reset_rx_batch(struct kvnet_tap *tap)
{
	tap->rx_done = 0;
	tap->rx_head = 0;
	tap->rx_tail = 0;
}

/**
 * kvnet_tap_rx_release() - free the frames that have been read
 * @tap: the tap
 *
 * Together, as an interrupt frees what a device has sent: one by one each costs
 * as much as the copy of a short frame. To be called at the end of a turn.
 */
void kvnet_tap_rx_release(struct kvnet_tap *tap)
{
	struct sk_buff *frame, *list = NULL;

	if (tap->rx_done == tap->rx_head)
		return;
	while (tap->rx_done < tap->rx_head) {
		frame = tap->rx[tap->rx_done++];
		if (!frame)
			continue;
		frame->next = list;
		list = frame;
	}
	compat_consume_skbs(list, tap->softirq_session);
	if (tap->rx_head == tap->rx_tail)
		reset_rx_batch(tap);
}

static void return_rx_batch(struct kvnet_tap *tap)
{
	void **frame = tap->rx + tap->rx_head;
	unsigned int n = tap->rx_tail - tap->rx_head;

	if (n && tap->ring)
		ptr_ring_unconsume(tap->ring, frame, n, tun_ptr_free);
	else if (n)
		kvnet_packet_requeue(tap->sock, frame, n);
	kvnet_tap_rx_release(tap);
	reset_rx_batch(tap);
}

/**
 * kvnet_tap_attach() - change the tap
 * @tap: the queue's view
 * @sock: from kvnet_tap_get(), now ours; NULL: none
 * @ifindex: from kvnet_tap_info_ifindex(); 0: none
 *
 * Frames that were taken from the old tap go back to the front of its queue. Without a
 * tap there is no memory for frames either.
 *
 * Return: the old socket, now the caller's, or NULL.
 */
struct socket *kvnet_tap_attach(struct kvnet_tap *tap, struct socket *sock,
				int ifindex)
{
	struct socket *old = tap->sock;

	return_rx_batch(tap);
	tap->sock = sock;
	tap->ring = sock ? find_tap_ring(sock) : NULL;
	tap->is_tun = tap->ring && !IS_ERR(tun_get_tx_ring(sock->file));
	tap->rx_dev = NULL;
	tap->rx_ifindex = 0;
	kvnet_tap_tx_direct_set_dev(tap, ifindex);
	if (!sock)
		kvnet_frag_drain(&tap->frags);
	return old;
}

/* Others take it with softirqs on: in one it cannot be waited for. */
static bool lock_tap_ring(struct kvnet_tap *tap)
{
	if (!tap->softirq_session)
		spin_lock_bh(&tap->ring->consumer_lock);
	else if (!spin_trylock(&tap->ring->consumer_lock))
		return false;
	/* For sparse, which knows no lock that is had only at times. */
	__release(&tap->ring->consumer_lock);
	return true;
}

static void unlock_tap_ring(struct kvnet_tap *tap)
{
	__acquire(&tap->ring->consumer_lock);
	if (!tap->softirq_session)
		spin_unlock_bh(&tap->ring->consumer_lock);
	else
		spin_unlock(&tap->ring->consumer_lock);
}

/*
 * A tap with IFF_BACKPRESSURE has stopped its senders. It lets them go on even if its ring
 * has become full since there was room, and drops what they send next: of a ring that is
 * full nothing is told, and what is taken from it next tells of all of it.
 */
static void wake_tap_senders(struct kvnet_tap *tap, unsigned int n)
{
	struct ptr_ring *ring = tap->ring;

	if (!COMPAT_TUN_STOPS_SENDERS)
		return;
	spin_lock_bh(&ring->producer_lock);
	if (!__ptr_ring_full(ring))
		tun_wake_queue(tap->sock->file, n);
	spin_unlock_bh(&ring->producer_lock);
}

static unsigned int consume_rx_batch(struct kvnet_tap *tap)
{
	unsigned int n;

	if (!tap->ring)
		return kvnet_packet_dequeue(tap->sock, tap->rx, KVNET_TAP_BATCH);
	if (!lock_tap_ring(tap))
		return 0;
	n = __ptr_ring_consume_batched(tap->ring, tap->rx, KVNET_TAP_BATCH);
	if (n)
		wake_tap_senders(tap, n);
	unlock_tap_ring(tap);
	return n;
}

static void *peek_rx_frame(struct kvnet_tap *tap)
{
	if (tap->rx_head == tap->rx_tail) {
		/* In a softirq one look is enough: who lets it rest looks again. */
		if (tap->softirq_session && tap->rx_tail)
			return NULL;
		kvnet_tap_rx_release(tap);
		reset_rx_batch(tap);
		tap->rx_tail = consume_rx_batch(tap);
		if (!tap->rx_tail)
			return NULL;
	}
	return tap->rx[tap->rx_head];
}

/**
 * kvnet_tap_rx_peek() - length of the next frame to the guest
 * @tap: the tap
 *
 * Return: bytes, as the guest will see it but for the header; 0: no frame.
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

/**
 * kvnet_tap_rx_is_readable() - is there a frame for the guest?
 * @tap: the tap
 *
 * Return: true if so, or if that cannot be told in a softirq.
 */
bool kvnet_tap_rx_is_readable(struct kvnet_tap *tap)
{
	bool empty;

	if (tap->rx_head != tap->rx_tail)
		return true;
	if (!tap->ring)
		return kvnet_packet_is_readable(tap->sock);
	if (!lock_tap_ring(tap))
		return true;
	/* The producer does not wait for the lock: one look, of one piece. */
	empty = !__ptr_ring_peek(tap->ring);
	unlock_tap_ring(tap);
	return !empty;
}

/**
 * kvnet_tap_rx_may_softirq() - can frames be read in a softirq?
 * @tap: the tap
 *
 * Who reads a packet socket may be made to poll its device.
 *
 * Return: true if so.
 */
bool kvnet_tap_rx_may_softirq(const struct kvnet_tap *tap)
{
	return tap->ring || !kvnet_packet_busy_polls(tap->sock);
}

/**
 * kvnet_tap_set_hdr() - how headers look, from now on
 * @tap: the tap
 * @hdr_len: length of the header that the backend makes and takes; 0: none
 * @le: its fields are little-endian
 */
void kvnet_tap_set_hdr(struct kvnet_tap *tap, size_t hdr_len, bool le)
{
	tap->hdr_len = hdr_len;
	tap->le = le;
}

/**
 * kvnet_tap_rx_start_poll() - a turn that reads frames begins
 * @tap: the tap, after kvnet_tap_set_hdr()
 * @may_copy: copy frames ourselves, where we can do all that the tap would
 */
void kvnet_tap_rx_start_poll(struct kvnet_tap *tap, bool may_copy)
{
	tap->may_copy = may_copy && tap->is_tun;
	if (time_after(jiffies, tap->hdr_known_since + KVNET_TAP_HDR_VALID_JIFFIES))
		tap->hdr_kinds_known = 0;
}

/* The header alone, or all of the frame. */
static int read_packet_frame(struct kvnet_tap *tap, struct iov_iter *to)
{
	struct sk_buff *skb = tap->rx[tap->rx_head++];
	int ret = tap->hdr_len + __skb_array_len_with_tag(skb);
	int err = 0;

	if (tap->hdr_len)
		err = kvnet_packet_make_hdr(skb, to, tap->hdr_len, tap->le);
	if (!err && iov_iter_count(to))
		err = kvnet_packet_copy(skb, to);
	return err ? err : ret;
}

/*
 * The tap frees what it has read: of a socket buffer no more than the reference
 * that it gets here, but for one that it would not have.
 */
static void *pass_frame_to_tap(struct kvnet_tap *tap, unsigned int at)
{
	void *frame = tap->rx[at];

	if (tun_is_xdp_frame(frame))
		tap->rx[at] = NULL;
	else
		skb_get(frame);
	return frame;
}

/* Tell those who look for lost packets that this is one. */
static void drop_refused_frame(struct kvnet_tap *tap, unsigned int at)
{
	kfree_skb(tap->rx[at]);
	tap->rx[at] = NULL;
}

/*
 * @msg has its iterator. The other fields that a tap looks at are set one by one:
 * clearing all of it takes as long as some of the rest.
 */
static int recvmsg_frame(struct kvnet_tap *tap, struct msghdr *msg)
{
	unsigned int at = tap->rx_head;
	int ret;

	if (!tap->ring)
		return read_packet_frame(tap, &msg->msg_iter);
	tap->rx_head++;
	tap->recvmsg_calls++;
	msg->msg_name = NULL;
	msg->msg_namelen = 0;
	msg->msg_flags = 0;
	msg->msg_controllen = 0;
	msg->msg_control = pass_frame_to_tap(tap, at);
	ret = tap->sock->ops->recvmsg(tap->sock, msg,
				      iov_iter_count(&msg->msg_iter),
				      MSG_DONTWAIT | MSG_TRUNC);
	if (ret < 0)
		drop_refused_frame(tap, at);
	return ret;
}

/**
 * kvnet_tap_rx_read_user() - read the next frame by way of the tap, header and all
 * @tap: the tap; kvnet_tap_rx_peek() has said that there is a frame
 * @iov: the owner's memory
 * @n: entries in @iov
 * @skip: bytes at its front to leave alone
 * @len: bytes wanted behind them; what does not fit is cut off
 *
 * The frame is gone whatever happens. Of a packet socket's frame this is either
 * the header or all. Going through the tap keeps the device's own statistics
 * right and makes the header as the tap is set up.
 *
 * Return: length of the frame with header, before cutting off, or -errno.
 */
int kvnet_tap_rx_read_user(struct kvnet_tap *tap, const struct iovec *iov,
			   unsigned int n, size_t skip, size_t len)
{
	struct msghdr msg;
	int ret;

	iov_iter_init(&msg.msg_iter, ITER_DEST, iov, n, skip + len);
	if (skip)
		iov_iter_advance(&msg.msg_iter, skip);
	ret = recvmsg_frame(tap, &msg);
	/* The tap does not say so. */
	if (ret == len && iov_iter_count(&msg.msg_iter))
		return -EFAULT;
	return ret;
}

/**
 * kvnet_tap_rx_recvmsg() - kvnet_tap_rx_read_user() into the kernel's memory
 * @tap: the tap
 * @buf: where to
 * @len: size of @buf, not 0
 *
 * Return: as kvnet_tap_rx_read_user().
 */
int kvnet_tap_rx_recvmsg(struct kvnet_tap *tap, void *buf, size_t len)
{
	struct kvec vec = { .iov_base = buf, .iov_len = len };
	struct msghdr msg;

	iov_iter_kvec(&msg.msg_iter, ITER_DEST, &vec, 1, len);
	return recvmsg_frame(tap, &msg);
}

/**
 * kvnet_tap_rx_read() - read the next frame in whatever way is the shortest
 * @tap: the tap; kvnet_tap_rx_peek() has said that there is a frame
 * @buf: where to; zeroed as far as the header, whose fields are aligned
 * @len: size of @buf
 *
 * Return: as kvnet_tap_rx_read_user().
 */
int kvnet_tap_rx_read(struct kvnet_tap *tap, void *buf, size_t len)
{
	struct sk_buff *skb = kvnet_tap_rx_copy_get(tap, buf);

	if (!skb)
		return kvnet_tap_rx_recvmsg(tap, buf, len);
	if (IS_ERR(skb) || kvnet_tap_rx_copy_to_kernel(skb, buf + tap->hdr_len))
		return -EIO;
	return len;
}

/**
 * kvnet_tap_rx_discard() - drop the next frame
 * @tap: the tap; kvnet_tap_rx_peek() has said that there is a frame
 */
void kvnet_tap_rx_discard(struct kvnet_tap *tap)
{
	unsigned int at = tap->rx_head++;

	tun_ptr_free(tap->rx[at]);
	tap->rx[at] = NULL;
}
