/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tap.h - the backend: a queue of a tun, tap or macvtap, or a raw packet socket
 *
 * "Tap" is any of them. A queue has at most one; it is exchanged under vq->lock. The socket's
 * sendmsg() and recvmsg() work with all of them, as in vhost_net. Of a tun device the module
 * can do without: direct RX reads frames from the tap's ring (tap_rx_copy.c), direct TX
 * passes packets to the network stack (tap_tx_direct.c). Both fall back to the socket for
 * each frame that needs checks of tun's own.
 */
#ifndef _KVNET_TAP_H
#define _KVNET_TAP_H

#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <net/xdp.h>

#include "frag.h"

struct msghdr;
struct net_device;
struct ptr_ring;
struct socket;

/* module parameter tx_direct: may a queue that gets a backend use direct TX? */
extern bool kvnet_param_tx_direct;

/* Frames that are dequeued from the tap's ring, or sent to the tap, in one batch. */
#define KVNET_TAP_BATCH	64

/* Bytes in a batch to the host, sent with softirqs off: the most that vhost_net sends. */
#define KVNET_TAP_BATCH_BYTES	SZ_256K

/*
 * The most bytes in the linear part of a frame that is longer than a page, and the memory
 * that this part takes. The rest of the frame is a fragment.
 */
#define KVNET_TAP_LINEAR_MAX	256
#define KVNET_TAP_SKB_HEAD	(SKB_DATA_ALIGN(NET_SKB_PAD + NET_IP_ALIGN + \
						KVNET_TAP_LINEAR_MAX) + \
				 SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))

/* The result of a header probe is valid for so many jiffies, see tap_rx_copy.c. */
#define KVNET_TAP_HDR_VALID_JIFFIES	(HZ / 10)

/**
 * struct kvnet_tap - a queue's view of its tap; session fields of the queue
 * @softirq_session: the current session is that of a softirq
 * @sock: the tap's socket, with a reference on its file; NULL: no backend
 * @ring: the tap's ring of frames to the guest; lives as long as @sock; NULL: packet socket
 * @hdr_len: bytes of the header in front of each frame of the tap; 0: none
 * @le: the header's fields are little-endian
 * @is_tun: @ring is that of a tun device, the only kind with direct RX and direct TX
 * @may_copy: direct RX is allowed in this poll
 * @hdr_kinds_known: bit mask of HDR_KIND_*: kinds of frames with a valid header probe
 * @hdr_known_since: time of the first of these probes, in jiffies
 * @rx_dev: device of the last frame of direct RX: compared only, never dereferenced (no
 *	    reference held); NULL: look it up
 * @rx_ifindex: interface index of @rx_dev; 0: not a tun device of the socket's namespace
 * @uncounted_packets: frames of direct RX that @rx_dev has not counted yet
 * @uncounted_bytes: their length
 * @recvmsg_calls: frames read by recvmsg() since rx.c last counted them
 * @rx: the current batch of frames to the guest. From @rx_done to @rx_head: read, to be
 *	freed, or NULL if freed already. From @rx_head to @rx_tail: not read yet.
 * @rx_done: see @rx
 * @rx_head: see @rx
 * @rx_tail: see @rx
 * @n_xdp: entries in @xdp
 * @xdp_bytes: length of the frames in @xdp, in bytes
 * @xdp: the current batch of frames to the host; empty between polls. In front of a frame
 *	 that is longer than a page are KVNET_TAP_SKB_HEAD bytes for its linear part.
 * @frags: memory of the frames in @xdp
 * @headroom: headroom of each frame in @xdp, in bytes
 * @tx_ifindex: interface index of the candidate for direct TX; 0: no direct TX
 * @tx_dev: the device, once probed to be the tap's: compared only, never dereferenced; or
 *	    NULL
 * @tx_dev_seq: dev_base_seq of the socket's namespace at the probe: @tx_dev is valid as long
 *		as that does not change
 */
struct kvnet_tap {
	bool softirq_session;
	struct socket *sock;
	struct ptr_ring *ring;
	size_t hdr_len;
	bool le;
	bool is_tun;
	bool may_copy;
	u8 hdr_kinds_known;
	unsigned long hdr_known_since;
	const struct net_device *rx_dev;
	int rx_ifindex;
	unsigned int uncounted_packets;
	unsigned int uncounted_bytes;
	unsigned int recvmsg_calls;
	unsigned int rx_done;
	unsigned int rx_head;
	unsigned int rx_tail;
	void *rx[KVNET_TAP_BATCH];
	unsigned int n_xdp;
	unsigned int xdp_bytes;
	struct xdp_buff xdp[KVNET_TAP_BATCH];
	struct kvnet_frags frags;
	unsigned int headroom;
	int tx_ifindex;
	const struct net_device *tx_dev;
	unsigned int tx_dev_seq;
};

/**
 * struct kvnet_tap_msg - a packet from the guest, in the owner's memory
 * @iov: its segments
 * @n: entries in @iov
 * @skip: bytes at the front that do not go to the tap
 * @len: bytes behind them: the header, if the tap has one, and the frame
 */
struct kvnet_tap_msg {
	const struct iovec *iov;
	unsigned int n;
	size_t skip;
	size_t len;
};

struct socket *kvnet_tap_get(int fd);
void kvnet_tap_put(struct socket *sock);
struct socket *kvnet_tap_attach(struct kvnet_tap *tap, struct socket *sock,
				int ifindex);
void kvnet_tap_set_hdr(struct kvnet_tap *tap, size_t hdr_len, bool le);

/* host to guest: tap.c */
void kvnet_tap_rx_start_poll(struct kvnet_tap *tap, bool may_copy);
size_t kvnet_tap_rx_peek(struct kvnet_tap *tap);
bool kvnet_tap_rx_is_readable(struct kvnet_tap *tap);
unsigned int kvnet_tap_rx_ring_size(const struct kvnet_tap *tap);
unsigned int kvnet_tap_rx_backlog(struct kvnet_tap *tap);
bool kvnet_tap_rx_may_softirq(const struct kvnet_tap *tap);
int kvnet_tap_rx_recvmsg(struct kvnet_tap *tap, void *buf, size_t len);
int kvnet_tap_rx_read(struct kvnet_tap *tap, void *buf, size_t len);
int kvnet_tap_rx_read_user(struct kvnet_tap *tap, const struct iovec *iov,
			   unsigned int n, size_t skip, size_t len);
void kvnet_tap_rx_discard(struct kvnet_tap *tap);
void kvnet_tap_rx_release(struct kvnet_tap *tap);

/* host to guest, direct RX: tap_rx_copy.c */
bool kvnet_tap_rx_copy_may_get(const struct kvnet_tap *tap);
struct sk_buff *kvnet_tap_rx_copy_get(struct kvnet_tap *tap, void *hdr);
int kvnet_tap_rx_copy_to_kernel(const struct sk_buff *skb, void *to);
int kvnet_tap_rx_copy_to_user(const struct sk_buff *skb, const void *hdr,
			      size_t hdr_len, const struct iovec *iov,
			      unsigned int n);
void kvnet_tap_rx_copy_account(struct kvnet_tap *tap);

/* guest to host: tap_tx.c */
bool kvnet_tap_tx_may_batch(const struct kvnet_tap *tap);
bool kvnet_tap_tx_is_writable(struct kvnet_tap *tap);
int kvnet_tap_tx_queue(struct kvnet_tap *tap, const struct kvnet_tap_msg *from);

static inline bool kvnet_tap_tx_batch_is_full(const struct kvnet_tap *tap)
{
	return tap->n_xdp == KVNET_TAP_BATCH || tap->xdp_bytes >= KVNET_TAP_BATCH_BYTES;
}

int kvnet_tap_tx_send_batch(struct kvnet_tap *tap);
int kvnet_tap_tx_send_one(struct kvnet_tap *tap, const struct kvnet_tap_msg *from);

/* guest to host, direct TX: tap_tx_direct.c */
void kvnet_tap_tx_direct_set_dev(struct kvnet_tap *tap, int ifindex);
bool kvnet_tap_tx_direct_is_ready(const struct kvnet_tap *tap);
bool kvnet_tap_tx_direct_deliver(struct kvnet_tap *tap);
int kvnet_tap_tx_direct_sendmsg(struct kvnet_tap *tap, struct msghdr *msg);

#endif /* _KVNET_TAP_H */
