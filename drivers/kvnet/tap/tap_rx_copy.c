// SPDX-License-Identifier: GPL-2.0
/*
 * tap_rx_copy.c - direct RX: frames from a tap's ring to the guest without recvmsg()
 *
 * recvmsg() costs more than all else that is done for a short frame. But tun makes the header
 * as it is configured, counts the frame in its device, and exports neither the configuration
 * nor the device. So both are found out:
 *
 * Header: the first frame of each kind is read by recvmsg(), which also counts it. If the
 * header is the one that kvnet would make, kvnet makes the headers of that kind for 100 ms.
 * Not per poll: then each single frame would be a probe. If the tap is configured anew
 * meanwhile, the guest gets headers of the negotiated format until the 100 ms are over.
 *
 * Device: skb->dev is compared with the devices of the socket's network namespace; a tun
 * device counts the frame. The pointer is never dereferenced: a frame that was returned to
 * the ring (ptr_ring_unconsume()) may be older than the tap's device. An XDP frame names no
 * tap: a header probe finds the device as direct TX does (tap_tx_direct.c), by the counter
 * that recvmsg() changes.
 *
 * GSO of tunnels, VLAN tags outside of the data and frames of other devices need more, and are
 * left to recvmsg(). All functions run in a session of RX, of a worker or of a softirq, except
 * where noted.
 */
#include "tap.h"

#include <linux/err.h>
#include <linux/if_tun.h>
#include <linux/if_vlan.h>
#include <linux/jiffies.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/prefetch.h>
#include <linux/skbuff.h>
#include <linux/uaccess.h>
#include <linux/virtio_net.h>
#include <net/sock.h>
#include <net/xdp.h>

#include "features.h"
#include "tap_info.h"

/* The result of a header probe is valid for so many jiffies. */
#define HDR_VALID_JIFFIES	(HZ / 10)

/* Kinds of frames that are probed apart: their headers have different fields. */
#define HDR_KIND_NO_CSUM	BIT(0)
#define HDR_KIND_CSUM		BIT(1)
#define HDR_KIND_XDP		BIT(2)
#define HDR_KIND_GSO		BIT(3)

/* What virtio_net_hdr_from_skb() has a header for, and what that leaves to the guest. */
#define GSO_KINDS		(SKB_GSO_TCPV4 | SKB_GSO_TCPV6 | SKB_GSO_UDP_L4)
#define GSO_FLAGS		(SKB_GSO_DODGY | SKB_GSO_TCP_ECN | SKB_GSO_TCP_FIXEDID)

/* @may_copy: allow direct RX in this poll; only of a tun device. */
void kvnet_tap_rx_copy_start_poll(struct kvnet_tap *tap, bool may_copy)
{
	tap->may_copy = may_copy;
	if (!tap->hdr_kinds_known ||
	    time_after(jiffies, tap->hdr_known_since + HDR_VALID_JIFFIES)) {
		tap->hdr_kinds_known = 0;
		tap->hdr_known_since = jiffies;
	}
}

/* For a frame of another device than the last one; walks over the namespace's devices. */
static noinline void find_rx_dev(struct kvnet_tap *tap, const struct net_device *name)
{
	struct net_device *dev;

	kvnet_tap_rx_copy_account(tap);
	tap->rx_dev = name;
	tap->rx_ifindex = 0;
	tap->hdr_kinds_known = 0;
	rcu_read_lock();
	for_each_netdev_rcu(sock_net(tap->sock->sk), dev) {
		if (dev == name && kvnet_tap_info_is_tun(dev)) {
			tap->rx_ifindex = dev->ifindex;
			break;
		}
	}
	rcu_read_unlock();
}

/*
 * Adds the frames of direct RX to the statistics of their device. The caller does this before
 * the guest driver is called for them, and at the end of a poll.
 */
void kvnet_tap_rx_copy_account(struct kvnet_tap *tap)
{
	struct net_device *dev;

	if (!tap->uncounted_packets)
		return;
	rcu_read_lock();
	dev = kvnet_tap_info_find_tun(sock_net(tap->sock->sk), tap->rx_ifindex);
	if (dev && dev == tap->rx_dev) {
		preempt_disable();
		dev_sw_netstats_tx_add(dev, tap->uncounted_packets, tap->uncounted_bytes);
		preempt_enable();
	} else {
		/* Unregistered, or moved to another namespace: look it up again. */
		tap->rx_dev = NULL;
	}
	rcu_read_unlock();
	tap->uncounted_packets = 0;
	tap->uncounted_bytes = 0;
}

/* Of a frame that is_copyable_gso(), or not GSO, so that virtio_net_hdr_from_skb() cannot fail. */
static void make_vnet_hdr(const struct kvnet_tap *tap, const struct sk_buff *skb, void *hdr)
{
	if (tap->hdr_len)
		virtio_net_hdr_from_skb(skb, hdr, tap->le, true, 0);
}

static u8 get_hdr_kind(const struct sk_buff *skb)
{
	if (skb_is_gso(skb))
		return HDR_KIND_GSO;
	return skb->ip_summed == CHECKSUM_PARTIAL ? HDR_KIND_CSUM : HDR_KIND_NO_CSUM;
}

/* recvmsg() makes the header and counts the frame; the frame's data is still to be copied. */
static noinline struct sk_buff *probe_tap_hdr(struct kvnet_tap *tap, struct sk_buff *skb,
					      u8 kind, void *hdr)
{
	u8 ours[KVNET_FEATURES_HDR_MAX] __aligned(8) = {};
	u8 theirs[KVNET_FEATURES_HDR_MAX] = {};
	int total = tap->hdr_len + skb->len;

	/* recvmsg() with room for no byte returns 0 and counts nothing: hence at least 1. */
	if (kvnet_tap_rx_recvmsg(tap, theirs, tap->hdr_len ?: 1) != total)
		return ERR_PTR(-EIO);
	make_vnet_hdr(tap, skb, ours);
	if (!memcmp(ours, theirs, tap->hdr_len))
		tap->hdr_kinds_known |= kind;
	memcpy(hdr, theirs, tap->hdr_len);
	return skb;
}

/*
 * recvmsg() reads an XDP frame into @buf, of @len bytes. If that changes the counter of the
 * candidate on this CPU, the candidate is the tap's device: with softirqs off no other task can
 * change it. Else XDP frames are left to recvmsg() until the next backend.
 */
static int recvmsg_xdp(struct kvnet_tap *tap, void *buf, size_t len)
{
	struct net *net = sock_net(tap->sock->sk);
	struct net_device *dev;
	unsigned int seq;
	u64 before = 0;
	int ret;

	local_bh_disable();
	rcu_read_lock();
	seq = READ_ONCE(net->dev_base_seq);
	dev = kvnet_tap_info_find_tun(net, tap->xdp_ifindex);
	if (dev)
		before = u64_stats_read(&this_cpu_ptr(dev->tstats)->tx_packets);
	ret = kvnet_tap_rx_recvmsg(tap, buf, len);
	if (dev && u64_stats_read(&this_cpu_ptr(dev->tstats)->tx_packets) != before) {
		if (dev != tap->rx_dev) {
			kvnet_tap_rx_copy_account(tap);
			tap->hdr_kinds_known = 0;
		}
		tap->rx_dev = dev;
		tap->rx_ifindex = dev->ifindex;
		tap->rx_dev_seq = seq;
	} else if (ret > 0) {
		tap->rx_dev_seq = 0;
		tap->xdp_ifindex = 0;
	}
	rcu_read_unlock();
	local_bh_enable();
	return ret;
}

static bool xdp_dev_is_known(const struct kvnet_tap *tap)
{
	return tap->rx_dev && READ_ONCE(sock_net(tap->sock->sk)->dev_base_seq) == tap->rx_dev_seq;
}

/* As probe_tap_hdr(). The frame is recvmsg()'s, so a socket buffer takes its place. */
static noinline void *probe_xdp_hdr(struct kvnet_tap *tap, size_t len, void *hdr)
{
	int total = tap->hdr_len + len;
	struct sk_buff *skb;

	/* With room for a byte more: else a longer header would cut off the frame's end. */
	skb = tap->xdp_ifindex ? alloc_skb(total + 1, GFP_ATOMIC | __GFP_NOWARN) : NULL;
	if (!skb)
		return NULL;
	skb_put_zero(skb, tap->hdr_len);
	skb_put(skb, len);
	if (recvmsg_xdp(tap, skb->data, total + 1) != total) {
		kfree_skb(skb);
		return ERR_PTR(-EIO);
	}
	memcpy(hdr, skb->data, tap->hdr_len);
	__skb_pull(skb, tap->hdr_len);
	if (!memchr_inv(hdr, 0, tap->hdr_len))
		tap->hdr_kinds_known |= HDR_KIND_XDP;
	tap->rx[tap->rx_head - 1] = skb;
	return skb;
}

/* The tap counts the header with an XDP frame. */
static void *get_xdp_frame(struct kvnet_tap *tap, void *frame, void *hdr)
{
	size_t len = tun_ptr_to_xdp(frame)->len;

	if (unlikely(!(tap->hdr_kinds_known & HDR_KIND_XDP) || !xdp_dev_is_known(tap)))
		return probe_xdp_hdr(tap, len, hdr);
	tap->rx_head++;
	tap->uncounted_packets++;
	tap->uncounted_bytes += tap->hdr_len + len;
	return frame;
}

/*
 * The sender's CPU has usually just written the frame. Cache lines that will be written when
 * the frame is freed are prefetched for writing. frame[3] may be the tagged pointer of an XDP
 * frame: to prefetch a wrong address does no harm.
 */
static void prefetch_next_frames(const struct kvnet_tap *tap)
{
	void *const *frame = tap->rx + tap->rx_head;
	unsigned int n = tap->rx_tail - tap->rx_head, at;

	if (n > 3)
		for (at = 0; at < sizeof(struct sk_buff); at += SMP_CACHE_BYTES)
			prefetchw(frame[3] + at);
	if (n > 1 && !tun_is_xdp_frame(frame[1])) {
		prefetch(((const struct sk_buff *)frame[1])->data);
		prefetchw(skb_shinfo(frame[1]));
	}
}

static bool is_copyable_gso(const struct sk_buff *skb)
{
	unsigned int type = skb_shinfo(skb)->gso_type;

	return (type & GSO_KINDS) && !(type & ~(GSO_KINDS | GSO_FLAGS));
}

static bool frame_is_copyable(const struct kvnet_tap *tap, void *frame)
{
	const struct sk_buff *skb = frame;

	if (!tap->may_copy)
		return false;
	if (tun_is_xdp_frame(frame))
		return true;
	/* Fragments in high memory, or of a device, have no address. */
	if (skb_is_nonlinear(skb) && (IS_ENABLED(CONFIG_HIGHMEM) || !skb_frags_readable(skb)))
		return false;
	return !skb_vlan_tag_present(skb) && (!skb_is_gso(skb) || is_copyable_gso(skb));
}

/*
 * After kvnet_tap_rx_peek() has found a frame: may a softirq read it? False if its device
 * would have to be looked up among all of the network namespace, which may take long.
 */
bool kvnet_tap_rx_copy_may_get(const struct kvnet_tap *tap)
{
	void *frame = tap->rx[tap->rx_head];

	return !frame_is_copyable(tap, frame) || tun_is_xdp_frame(frame) ||
	       ((struct sk_buff *)frame)->dev == tap->rx_dev;
}

/*
 * After kvnet_tap_rx_peek() has found a frame: dequeues it, if direct RX can read it. @hdr is
 * zeroed memory for the header as the tap makes it, aligned for its fields.
 *
 * Returns the frame, a socket buffer or an XDP frame (tun_is_xdp_frame()), which is @tap's and
 * valid until kvnet_tap_rx_release(); NULL: nothing is dequeued, the frame is for recvmsg();
 * ERR_PTR(-EIO): the tap has refused and dropped it.
 */
void *kvnet_tap_rx_copy_get(struct kvnet_tap *tap, void *hdr)
{
	struct sk_buff *skb = tap->rx[tap->rx_head];
	u8 kind;

	prefetch_next_frames(tap);
	if (!tun_is_xdp_frame(skb))
		WRITE_ONCE(tap->queue, skb_get_queue_mapping(skb) + 1);
	if (!frame_is_copyable(tap, skb))
		return NULL;
	if (tun_is_xdp_frame(skb))
		return get_xdp_frame(tap, skb, hdr);
	if (unlikely(skb->dev != tap->rx_dev))
		find_rx_dev(tap, skb->dev);
	if (unlikely(!tap->rx_ifindex))
		return NULL;
	kind = get_hdr_kind(skb);
	if (unlikely(!(tap->hdr_kinds_known & kind)))
		return probe_tap_hdr(tap, skb, kind, hdr);
	make_vnet_hdr(tap, skb, hdr);
	tap->rx_head++;
	tap->uncounted_packets++;
	tap->uncounted_bytes += skb->len;
	return skb;
}

/*
 * After kvnet_tap_rx_peek() has found a frame: reads it into @buf, of @len bytes for header and
 * frame, the former zeroed and aligned for its fields; by recvmsg() if direct RX cannot. The
 * frame is consumed, also on error. Returns the length of header and frame, or -errno.
 */
int kvnet_tap_rx_copy_read(struct kvnet_tap *tap, void *buf, size_t len)
{
	void *frame = kvnet_tap_rx_copy_get(tap, buf);
	const void *data;

	if (!frame)
		return kvnet_tap_rx_recvmsg(tap, buf, len);
	if (IS_ERR(frame))
		return PTR_ERR(frame);
	buf += tap->hdr_len;
	data = kvnet_tap_frame_data(frame);
	if (unlikely(!data))
		return skb_copy_bits(frame, 0, buf, len - tap->hdr_len) ? -EIO : len;
	memcpy(buf, data, len - tap->hdr_len);
	return len;
}

/* The place in the owner's memory where the next part of a frame goes. */
struct rx_place {
	const struct iovec *iov;
	const struct iovec *end;
	size_t skip;
};

/* An iterator costs more than the copy, and looks up the object at @data (hardened usercopy). */
static int copy_part(struct rx_place *to, const void *data, size_t len)
{
	size_t n;

	for (; len; data += n, len -= n) {
		for (; to->iov != to->end && to->skip == to->iov->iov_len; to->skip = 0)
			to->iov++;
		if (unlikely(to->iov == to->end))
			return -EFAULT;
		n = min(len, to->iov->iov_len - to->skip);
		if (compat_copy_to_user(to->iov->iov_base + to->skip, data, n))
			return -EFAULT;
		to->skip += n;
	}
	return 0;
}

/* Socket buffers follow where GRO found no fragment left. */
static int copy_skb(struct rx_place *to, const struct sk_buff *skb)
{
	const struct skb_shared_info *info = skb_shinfo(skb);
	const struct sk_buff *next;
	unsigned int i;

	if (copy_part(to, skb->data, skb_headlen(skb)))
		return -EFAULT;
	for (i = 0; i < info->nr_frags; i++)
		if (copy_part(to, skb_frag_address(&info->frags[i]),
			      skb_frag_size(&info->frags[i])))
			return -EFAULT;
	skb_walk_frags(skb, next)
		if (copy_skb(to, next))
			return -EFAULT;
	return 0;
}

static noinline int copy_to_iov(const struct sk_buff *skb, const void *data, size_t len,
				const void *hdr, size_t hdr_len, const struct iovec *iov,
				unsigned int n)
{
	struct rx_place to = { .iov = iov, .end = iov + n };

	if (copy_part(&to, hdr, hdr_len))
		return -EFAULT;
	return data ? copy_part(&to, data, len) : copy_skb(&to, skb);
}

/*
 * Session of a worker; may sleep. @frame is from kvnet_tap_rx_copy_get(), of @len bytes; @iov has
 * room for header and frame in the owner's memory. An XDP frame is the tap's alone: the header
 * is put in front of its data, to be copied with it.
 */
int kvnet_tap_rx_copy_to_user(void *frame, size_t len, const void *hdr, size_t hdr_len,
			      const struct iovec *iov, unsigned int n)
{
	const void *data = kvnet_tap_frame_data(frame);
	void __user *to = iov->iov_base;

	if (unlikely(iov->iov_len < hdr_len + len || !data))
		return copy_to_iov(frame, data, len, hdr, hdr_len, iov, n);
	if (tun_is_xdp_frame(frame) && tun_ptr_to_xdp(frame)->headroom >= hdr_len) {
		data = memcpy(tun_ptr_to_xdp(frame)->data - hdr_len, hdr, hdr_len);
		len += hdr_len;
	} else {
		if (compat_copy_to_user(to, hdr, hdr_len))
			return -EFAULT;
		to += hdr_len;
	}
	return compat_copy_to_user(to, data, len) ? -EFAULT : 0;
}
