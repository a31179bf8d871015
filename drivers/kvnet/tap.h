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

/* the module parameter tap_direct, see tap_direct.c */
extern bool kvnet_tap_direct;

/* Frames that are taken from the tap's ring, or given to it, in one step. */
#define KVNET_TAP_BATCH	64

/* Bytes to the host in one step, with softirqs off: as many as tun takes from vhost_net. */
#define KVNET_TAP_BYTES	SZ_256K

/* Of a frame that is longer than a page so much is linear at most, and that takes so much. */
#define KVNET_TAP_HEADERS	256
#define KVNET_TAP_HEAD		(SKB_DATA_ALIGN(NET_SKB_PAD + NET_IP_ALIGN + KVNET_TAP_HEADERS) + \
				 SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))

/* How a tap makes headers is asked anew after so many jiffies. */
#define KVNET_TAP_KNOWN	(HZ / 10)

/**
 * struct kvnet_tap - one queue's view of a tap; of its queue's session
 * @soft: the session is in a softirq
 * @sock: the tap's socket, with a reference on its file; NULL: no backend
 * @ring: frames from the host to the guest, owned by the tap; NULL for a
 *	  packet socket
 * @hdr_len: length of the header that the backend makes and takes; 0: none
 * @le: its fields are little-endian
 * @counts: @ring is that of a tun or tap, whose device can be made to count
 * @may_copy: frames are copied by ourselves where that can be, in this turn
 * @known: kinds of frames whose headers we make as the tap does, for some time
 * @learnt: when the first of them was learnt, in jiffies
 * @dev: the device that the last of these frames are from: a name, not a pointer;
 *	 NULL: to be looked for
 * @ifindex: by which @dev was found; 0: not found
 * @copied: frames copied that @dev has not counted yet
 * @copied_bytes: their length
 * @calls: frames read by the socket, for the statistics
 * @rx: frames taken from @ring: to be freed from @rx_done to @rx_head, but for
 *	those that are NULL; not read yet from @rx_head to @rx_tail
 * @rx_done: see @rx
 * @rx_head: see @rx
 * @rx_tail: see @rx
 * @n_xdp: entries in @xdp
 * @bytes: length of the frames in @xdp
 * @xdp: frames to the host, not sent yet; empty between two turns. In front of one that
 *	 is longer than a page there is room for the head of a socket buffer
 * @frags: where the frames in @xdp come from
 * @pad: room in front of the frames in @xdp
 * @out_ifindex: the tap's device in the socket's namespace, as its file has told, if
 *		 frames may go there without the socket; else 0
 * @out: that device, if it is known to be the tap's: a name, not a pointer
 * @out_seq: dev_base_seq of the namespace when @out was learnt
 */
struct kvnet_tap {
	bool soft;
	struct socket *sock;
	struct ptr_ring *ring;
	size_t hdr_len;
	bool le;
	bool counts;
	bool may_copy;
	u8 known;
	unsigned long learnt;
	const struct net_device *dev;
	int ifindex;
	unsigned int copied;
	unsigned int copied_bytes;
	unsigned int calls;
	unsigned int rx_done;
	unsigned int rx_head;
	unsigned int rx_tail;
	void *rx[KVNET_TAP_BATCH];
	unsigned int n_xdp;
	unsigned int bytes;
	struct xdp_buff xdp[KVNET_TAP_BATCH];
	struct kvnet_frags frags;
	unsigned int pad;
	int out_ifindex;
	const struct net_device *out;
	unsigned int out_seq;
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
void kvnet_tap_turn(struct kvnet_tap *tap, size_t hdr_len, bool le);

/* host to guest: tap.c */
void kvnet_tap_rx_turn(struct kvnet_tap *tap, bool may_copy);
size_t kvnet_tap_peek(struct kvnet_tap *tap);
bool kvnet_tap_readable(struct kvnet_tap *tap);
unsigned int kvnet_tap_room(const struct kvnet_tap *tap);
bool kvnet_tap_soft(const struct kvnet_tap *tap);
int kvnet_tap_receive(struct kvnet_tap *tap, void *buf, size_t len);
int kvnet_tap_read(struct kvnet_tap *tap, void *buf, size_t len);
int kvnet_tap_read_user(struct kvnet_tap *tap, const struct iovec *iov,
			unsigned int n, size_t skip, size_t len);
void kvnet_tap_discard(struct kvnet_tap *tap);
void kvnet_tap_release(struct kvnet_tap *tap);

/* host to guest, copied by ourselves: tap_copy.c */
bool kvnet_tap_knows(const struct kvnet_tap *tap);
struct sk_buff *kvnet_tap_take(struct kvnet_tap *tap, void *hdr);
int kvnet_tap_copy(const struct sk_buff *skb, void *to);
int kvnet_tap_copy_user(const struct sk_buff *skb, const void *hdr,
			size_t hdr_len, const struct iovec *iov,
			unsigned int n);
void kvnet_tap_account(struct kvnet_tap *tap);

/* guest to host: tap_send.c */
bool kvnet_tap_batches(const struct kvnet_tap *tap);
bool kvnet_tap_writable(struct kvnet_tap *tap);
int kvnet_tap_queue(struct kvnet_tap *tap, const struct kvnet_tap_msg *from);

/* Segments, but no checksum: how this is read differs from tun to tun. */
static inline bool kvnet_tap_hdr_is_odd(const struct virtio_net_hdr *hdr)
{
	return hdr->gso_type && !(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
}

/* Is the batch to be handed over before the next packet? */
static inline bool kvnet_tap_is_full(const struct kvnet_tap *tap)
{
	return tap->n_xdp == KVNET_TAP_BATCH || tap->bytes >= KVNET_TAP_BYTES;
}

int kvnet_tap_send_queued(struct kvnet_tap *tap);
int kvnet_tap_send(struct kvnet_tap *tap, const struct kvnet_tap_msg *from);

/* for those who look: tap_look.c */
enum kvnet_backend kvnet_tap_kind(const struct socket *sock);
bool kvnet_tap_is_tun(const struct net_device *dev);
int kvnet_tap_ifindex(struct socket *sock);
unsigned int kvnet_tap_backlog(struct kvnet_tap *tap);

/* guest to host, past the socket: tap_direct.c */
void kvnet_tap_set_out(struct kvnet_tap *tap, int ifindex);
bool kvnet_tap_is_direct(const struct kvnet_tap *tap);
bool kvnet_tap_deliver(struct kvnet_tap *tap);
int kvnet_tap_sendmsg(struct kvnet_tap *tap, struct msghdr *msg);

#endif /* _KVNET_TAP_H */
