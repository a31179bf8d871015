/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tap.h - the backend: a queue of a tun, tap or macvtap, or a packet socket
 */
#ifndef _KVNET_TAP_H
#define _KVNET_TAP_H

#include <linux/kvnet.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uio.h>
#include <linux/virtio_net.h>
#include <net/xdp.h>

#include "frag.h"

struct msghdr;
struct net_device;
struct ptr_ring;
struct socket;

/* the module parameter tx_direct, see tap_tx_direct.c */
extern bool kvnet_param_tx_direct;

/* Frames that are taken from the tap's ring, or given to it, in one step. */
#define KVNET_TAP_BATCH	64

/* Bytes to the host in one step, with softirqs off: as many as tun takes from vhost_net. */
#define KVNET_TAP_BATCH_BYTES	SZ_256K

/* Of a frame that is longer than a page so much is linear at most, and that takes so much. */
#define KVNET_TAP_LINEAR_MAX	256
#define KVNET_TAP_SKB_HEAD	(SKB_DATA_ALIGN(NET_SKB_PAD + NET_IP_ALIGN + \
						KVNET_TAP_LINEAR_MAX) + \
				 SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))

/* How a tap makes headers is asked anew after so many jiffies. */
#define KVNET_TAP_HDR_VALID_JIFFIES	(HZ / 10)

/**
 * struct kvnet_tap - one queue's view of a tap; of its queue's session
 * @softirq_session: the session is in a softirq
 * @sock: the tap's socket, with a reference on its file; NULL: no backend
 * @ring: frames from the host to the guest, owned by the tap; NULL for a
 *	  packet socket
 * @hdr_len: length of the header that the backend makes and takes; 0: none
 * @le: its fields are little-endian
 * @is_tun: @ring is that of a tun or tap, whose device can be made to count
 * @may_copy: frames are copied by ourselves where that can be, in this turn
 * @hdr_kinds_known: kinds of frames whose headers we make as the tap does, for some time
 * @hdr_known_since: when the first of them was learnt, in jiffies
 * @rx_dev: the device that the last of these frames are from: a name, not a pointer;
 *	    NULL: to be looked for
 * @rx_ifindex: by which @rx_dev was found; 0: not found
 * @uncounted_packets: frames copied that @rx_dev has not counted yet
 * @uncounted_bytes: their length
 * @recvmsg_calls: frames read by the socket, for the statistics
 * @rx: frames taken from @ring: to be freed from @rx_done to @rx_head, but for
 *	those that are NULL; not read yet from @rx_head to @rx_tail
 * @rx_done: see @rx
 * @rx_head: see @rx
 * @rx_tail: see @rx
 * @n_xdp: entries in @xdp
 * @xdp_bytes: length of the frames in @xdp
 * @xdp: frames to the host, not sent yet; empty between two turns. In front of one that
 *	 is longer than a page there is room for the head of a socket buffer
 * @frags: where the frames in @xdp come from
 * @headroom: room in front of the frames in @xdp
 * @tx_ifindex: the tap's device in the socket's namespace, as its file has told, if
 *		frames may go there without the socket; else 0
 * @tx_dev: that device, if it is known to be the tap's: a name, not a pointer
 * @tx_dev_seq: dev_base_seq of the namespace when @tx_dev was learnt
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
 * struct kvnet_tap_msg - a packet of the guest's, in the owner's memory
 * @iov: its pieces
 * @n: entries in @iov
 * @skip: bytes at the front that are none of the tap's business
 * @len: bytes behind them: header, if the tap has one, and frame
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
unsigned int kvnet_tap_info_ring_size(const struct kvnet_tap *tap);
bool kvnet_tap_rx_may_softirq(const struct kvnet_tap *tap);
int kvnet_tap_rx_recvmsg(struct kvnet_tap *tap, void *buf, size_t len);
int kvnet_tap_rx_read(struct kvnet_tap *tap, void *buf, size_t len);
int kvnet_tap_rx_read_user(struct kvnet_tap *tap, const struct iovec *iov,
			   unsigned int n, size_t skip, size_t len);
void kvnet_tap_rx_discard(struct kvnet_tap *tap);
void kvnet_tap_rx_release(struct kvnet_tap *tap);

/* host to guest, copied by ourselves: tap_rx_copy.c */
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

/* Segments, but no checksum: how this is read differs from tun to tun. */
static inline bool kvnet_tap_hdr_is_odd(const struct virtio_net_hdr *hdr)
{
	return hdr->gso_type && !(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
}

/* Is the batch to be handed over before the next packet? */
static inline bool kvnet_tap_tx_batch_is_full(const struct kvnet_tap *tap)
{
	return tap->n_xdp == KVNET_TAP_BATCH || tap->xdp_bytes >= KVNET_TAP_BATCH_BYTES;
}

int kvnet_tap_tx_send_batch(struct kvnet_tap *tap);
int kvnet_tap_tx_send_one(struct kvnet_tap *tap, const struct kvnet_tap_msg *from);

/* for those who look: tap_info.c */
enum kvnet_backend kvnet_tap_info_kind(const struct socket *sock);
bool kvnet_tap_info_is_tun(const struct net_device *dev);
int kvnet_tap_info_ifindex(struct socket *sock);
unsigned int kvnet_tap_info_backlog(struct kvnet_tap *tap);

/* guest to host, past the socket: tap_tx_direct.c */
void kvnet_tap_tx_direct_set_dev(struct kvnet_tap *tap, int ifindex);
bool kvnet_tap_tx_direct_is_ready(const struct kvnet_tap *tap);
bool kvnet_tap_tx_direct_deliver(struct kvnet_tap *tap);
int kvnet_tap_tx_direct_sendmsg(struct kvnet_tap *tap, struct msghdr *msg);

#endif /* _KVNET_TAP_H */
