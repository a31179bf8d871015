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

#include <linux/if_tun.h>
#include <linux/sizes.h>
#include <linux/skbuff.h>
#include <linux/types.h>
#include <linux/uaccess.h>
#include <linux/uio.h>
#include <net/xdp.h>

#include "frag.h"
#include "shortcut.h"

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
 * that this part takes. The rest of the frame is fragments.
 */
#define KVNET_TAP_LINEAR_MAX	256
#define KVNET_TAP_SKB_HEAD	(SKB_DATA_ALIGN(NET_SKB_PAD + NET_IP_ALIGN + \
						KVNET_TAP_LINEAR_MAX) + \
				 SKB_DATA_ALIGN(sizeof(struct skb_shared_info)))

/* A hash of flows, for a tap with several queues. */
#define KVNET_TAP_FLOWS		256

/* A queue's view of its tap: session fields of the queue. */
struct kvnet_tap {
	/* changes under vq->lock with softirq sessions disabled */
	struct socket *sock;		/* with a reference on its file; NULL: no backend */
	struct ptr_ring *ring;		/* to the guest, part of @sock; NULL: packet socket */

	/* of this poll */
	bool may_copy;			/* direct RX is allowed */
	bool may_shortcut;		/* the short cut to other taps is allowed */
	bool is_worker;			/* TX: the worker polls, not a vCPU thread */
	bool le;			/* the header's fields are little-endian */
	size_t hdr_len;			/* header in front of each frame of the tap; 0: none */

	/* number of the tap's queue, of the last frame from its ring, + 1; 0: not known */
	unsigned int queue;

	/*
	 * RX: the batch @rx. From @rx_done to @rx_head: read, to be freed, or NULL if freed
	 * already. From @rx_head to @rx_tail: not read yet.
	 */
	unsigned int rx_done;
	unsigned int rx_head;
	unsigned int rx_tail;
	unsigned int recvmsg_calls;	/* frames read by recvmsg() that are not counted yet */

	/* direct RX */
	u8 hdr_kinds_known;		/* HDR_KIND_* with a valid header probe */
	unsigned long hdr_known_since;	/* not later than these probes, in jiffies */
	const struct net_device *rx_dev; /* of the last frame, no reference; NULL: look it up */
	int rx_ifindex;			/* of @rx_dev; 0: no tun device of the netns */
	int xdp_ifindex;		/* the candidate for XDP frames; 0: use recvmsg() */
	unsigned int rx_dev_seq;	/* dev_base_seq while @rx_dev is that of XDP frames; or 0 */
	unsigned int uncounted_packets;	/* frames that @rx_dev has not counted yet */
	unsigned int uncounted_bytes;

	/* TX: the batch @xdp, empty between polls */
	unsigned int n_xdp;
	unsigned int xdp_bytes;		/* length of its frames */
	unsigned int headroom;		/* of each of its frames, in bytes */
	struct kvnet_frags frags;	/* memory of its frames */

	/* direct TX */
	int tx_ifindex;			/* the candidate; 0: no direct TX */
	unsigned int tx_dev_seq;	/* dev_base_seq of the netns while @tx_dev is valid */
	const struct net_device *tx_dev; /* probed to be the tap's, no reference; or NULL */
	unsigned int sender_cpu;	/* of its skbs: the number of a CPU + 1; 0: none */
	unsigned long sent_at;		/* when the last batch was passed, in jiffies */
	bool has_queues;		/* the device of the last batch has several queues */
	u32 *due_flow;			/* of the batch's last frame, for sendmsg(); or NULL */
	u32 flow_sent_at[KVNET_TAP_FLOWS]; /* the last one that was, in jiffies */

	/* GRO of direct TX */
	unsigned int gro_off;		/* batches before it is tried again */
	unsigned int gro_on;		/* batches before the time without it is taken again */
	unsigned int gro_merged;	/* frames of the last batch merged into others */
	u32 gro_plain_ns;		/* time for a frame without it */
	u64 gro_begin;			/* of this batch; 0: its time is not taken */

	/* short cut to other taps of the bridge */
	struct net_device *bridge;	/* of this batch; NULL: no short cut */
	unsigned int shortcut_batch;	/* changes when lookups lose their validity */
	unsigned int shortcut_packets;	/* frames of the last batch that went directly */
	struct kvnet_shortcut_path shortcut[KVNET_SHORTCUT_PATHS];
	/* of the last batch; netlink takes no lock */
	u8 shortcut_state;		/* enum kvnet_shortcut */
	int shortcut_ifindex;		/* of the other tap, if it is KVNET_SHORTCUT_ACTIVE */

	void *rx[KVNET_TAP_BATCH];
	/* In front of a frame longer than a page: KVNET_TAP_SKB_HEAD bytes, its linear part. */
	struct xdp_buff xdp[KVNET_TAP_BATCH];
};

/* A packet from the guest, in the owner's memory. */
struct kvnet_tap_msg {
	const struct iovec *iov;
	unsigned int n;			/* entries in @iov */
	size_t skip;			/* bytes at the front that do not go to the tap */
	size_t len;			/* bytes behind them: the tap's header, and the frame */
};

/*
 * An iterator costs more than the copy of a short frame. compat_copy_from_user() also skips
 * hardened usercopy, which would look up the object at @to: the sizes are kvnet's own.
 */
static inline int kvnet_tap_msg_copy(void *to, const struct kvnet_tap_msg *from)
{
	const struct iovec *iov = from->iov;
	size_t skip = from->skip, left = from->len, part;

	for (; left; iov++, skip = 0, to += part, left -= part) {
		for (; unlikely(skip >= iov->iov_len); iov++)
			skip -= iov->iov_len;
		part = min(iov->iov_len - skip, left);
		if (compat_copy_from_user(to, iov->iov_base + skip, part))
			return -EFAULT;
	}
	return 0;
}

struct socket *kvnet_tap_get(int fd);
void kvnet_tap_put(struct socket *sock);
struct socket *kvnet_tap_attach(struct kvnet_tap *tap, struct socket *sock, int ifindex);

/* host to guest: tap.c */
size_t kvnet_tap_rx_peek(struct kvnet_tap *tap);
bool kvnet_tap_rx_is_readable(struct kvnet_tap *tap);
unsigned int kvnet_tap_rx_ring_size(const struct kvnet_tap *tap);
unsigned int kvnet_tap_rx_backlog(struct kvnet_tap *tap);
bool kvnet_tap_rx_may_softirq(const struct kvnet_tap *tap);
int kvnet_tap_rx_recvmsg(struct kvnet_tap *tap, void *buf, size_t len);
int kvnet_tap_rx_read_user(struct kvnet_tap *tap, const struct iovec *iov, unsigned int n,
			   size_t skip, size_t len);
void kvnet_tap_rx_discard(struct kvnet_tap *tap);
void kvnet_tap_rx_release(struct kvnet_tap *tap);

/* host to guest, direct RX: tap_rx_copy.c */
void kvnet_tap_rx_copy_start_poll(struct kvnet_tap *tap, bool may_copy);
bool kvnet_tap_rx_copy_may_get(const struct kvnet_tap *tap);
void *kvnet_tap_rx_copy_get(struct kvnet_tap *tap, void *hdr);
int kvnet_tap_rx_copy_read(struct kvnet_tap *tap, void *buf, size_t len);
int kvnet_tap_rx_copy_to_user(void *frame, size_t len, const void *hdr, size_t hdr_len,
			      const struct iovec *iov, unsigned int n);
void kvnet_tap_rx_copy_account(struct kvnet_tap *tap);

/* The data of a frame from kvnet_tap_rx_copy_get(); NULL for a nonlinear socket buffer. */
static inline const void *kvnet_tap_frame_data(void *frame)
{
	const struct sk_buff *skb = frame;

	if (unlikely(tun_is_xdp_frame(frame)))
		return tun_ptr_to_xdp(frame)->data;
	return skb_is_nonlinear(skb) ? NULL : skb->data;
}

/* Is the frame that kvnet_tap_rx_peek() has found an XDP frame? */
static inline bool kvnet_tap_rx_is_xdp(const struct kvnet_tap *tap)
{
	return tun_is_xdp_frame(tap->rx[tap->rx_head]);
}

/* guest to host: tap_tx.c */
bool kvnet_tap_tx_may_batch(const struct kvnet_tap *tap);
bool kvnet_tap_tx_is_writable(struct kvnet_tap *tap);
int kvnet_tap_tx_queue(struct kvnet_tap *tap, const struct kvnet_tap_msg *from);

static inline bool kvnet_tap_tx_batch_is_full(const struct kvnet_tap *tap)
{
	return tap->n_xdp == KVNET_TAP_BATCH || tap->xdp_bytes >= KVNET_TAP_BATCH_BYTES ||
	       tap->due_flow;
}

int kvnet_tap_tx_send_batch(struct kvnet_tap *tap);
int kvnet_tap_tx_send_one(struct kvnet_tap *tap, const struct kvnet_tap_msg *from);

/* guest to host, direct TX: tap_tx_direct.c */
void kvnet_tap_tx_direct_set_dev(struct kvnet_tap *tap, int ifindex);
bool kvnet_tap_tx_direct_is_ready(const struct kvnet_tap *tap);
int kvnet_tap_tx_direct_check_flow(struct kvnet_tap *tap, const void *frame, size_t len);
void kvnet_tap_tx_direct_start_poll(struct kvnet_tap *tap);
void kvnet_tap_tx_direct_note_sendmsg(struct kvnet_tap *tap);
bool kvnet_tap_tx_direct_deliver(struct kvnet_tap *tap);
int kvnet_tap_tx_direct_sendmsg(struct kvnet_tap *tap, struct msghdr *msg);
bool kvnet_tap_tx_direct_pass(struct kvnet_tap *tap, struct sk_buff *skb);

/* guest to host, direct TX of a frame that does not fit into the batch: tap_tx_long.c */
bool kvnet_tap_tx_long_send(struct kvnet_tap *tap, const struct kvnet_tap_msg *from);

#endif /* _KVNET_TAP_H */
