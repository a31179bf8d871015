// SPDX-License-Identifier: GPL-2.0
/*
 * tap_rx_copy.c - frames copied out of a tap's ring by ourselves, see tap.h
 *
 * To read a frame by the tap's socket costs more than all else that is done for a
 * short one. But the tap makes the header as it is set up, and counts the frame.
 * What has to be known for that is not told, and may change; so it is found out:
 *
 * How it makes headers: the first frame of each kind is counted by the tap, which makes
 * the header. If ours would have been the same, ours are good for frames of that kind
 * for a tenth of a second: a lone frame would cost as much as many in one turn. A tap
 * that is set up otherwise meanwhile, by whomever, goes on for so long as the guest expects it to.
 *
 * Where it counts: a frame's device is looked for among those of the socket's network
 * namespace, and counts if it is a tun's. The pointer in the frame is only compared: a
 * frame that was given back to a tap may be older than the tap's device.
 *
 * Frames of which more would have to be known go by the socket: XDP frames, GSO,
 * VLAN tags that hardware would insert, other devices.
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

#include "features.h"

/* Kinds of frames, by what may be in their headers. */
#define HDR_KIND_NO_CSUM	BIT(0)
#define HDR_KIND_CSUM	BIT(1)

static struct net *tap_rx_netns(const struct kvnet_tap *tap)
{
	return sock_net(tap->sock->sk);
}

/* Another device than the last time: is it one to count for? */
static noinline void find_rx_dev(struct kvnet_tap *tap,
				 const struct net_device *name)
{
	struct net_device *dev;

	kvnet_tap_rx_copy_account(tap);
	tap->rx_dev = name;
	tap->rx_ifindex = 0;
	tap->hdr_kinds_known = 0;
	rcu_read_lock();
	for_each_netdev_rcu(tap_rx_netns(tap), dev) {
		if (dev == name && kvnet_tap_info_is_tun(dev)) {
			tap->rx_ifindex = dev->ifindex;
			break;
		}
	}
	rcu_read_unlock();
}

/**
 * kvnet_tap_rx_copy_account() - have the device count what has been copied
 * @tap: the tap
 *
 * To be called before the driver hears of it, and at the end of a turn.
 */
void kvnet_tap_rx_copy_account(struct kvnet_tap *tap)
{
	struct net_device *dev;

	if (!tap->uncounted_packets)
		return;
	rcu_read_lock();
	dev = dev_get_by_index_rcu(tap_rx_netns(tap), tap->rx_ifindex);
	if (dev && dev == tap->rx_dev && kvnet_tap_info_is_tun(dev)) {
		preempt_disable();
		dev_sw_netstats_tx_add(dev, tap->uncounted_packets, tap->uncounted_bytes);
		preempt_enable();
	} else {
		/* It has gone, or to another namespace: it is to be looked for anew. */
		tap->rx_dev = NULL;
	}
	rcu_read_unlock();
	tap->uncounted_packets = 0;
	tap->uncounted_bytes = 0;
}

/* Of a frame without GSO; cannot fail. */
static void make_vnet_hdr(const struct kvnet_tap *tap, const struct sk_buff *skb,
			  void *hdr)
{
	if (tap->hdr_len)
		virtio_net_hdr_from_skb(skb, hdr, tap->le, true, 0);
}

/* The tap counts the frame and makes its header, and we learn from it. */
static noinline struct sk_buff *probe_tap_hdr(struct kvnet_tap *tap, struct sk_buff *skb,
					      u8 kind, void *hdr)
{
	struct {
		struct virtio_net_hdr hdr;
		u8 rest[KVNET_FEATURES_HDR_MAX - sizeof(struct virtio_net_hdr)];
	} ours = {};
	/* One that wants nothing would not get an answer, either. */
	u8 theirs[KVNET_FEATURES_HDR_MAX] = {};
	int total = tap->hdr_len + skb->len;

	/* A frame that is refused is gone. */
	if (kvnet_tap_rx_recvmsg(tap, theirs, tap->hdr_len ?: 1) != total)
		return ERR_PTR(-EIO);
	make_vnet_hdr(tap, skb, &ours.hdr);
	if (!memcmp(&ours, theirs, tap->hdr_len)) {
		if (!tap->hdr_kinds_known)
			tap->hdr_known_since = jiffies;
		tap->hdr_kinds_known |= kind;
	}
	memcpy(hdr, theirs, tap->hdr_len);
	return skb;
}

/*
 * Most often another CPU has just written all that a frame consists of. What is fetched
 * to be written is so when the frame is freed. The third from here may be an XDP frame,
 * of which this is something else, and does no harm.
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

static bool frame_is_copyable(const struct kvnet_tap *tap, void *frame)
{
	const struct sk_buff *skb = frame;

	return tap->may_copy && !tun_is_xdp_frame(frame) && !skb_is_gso(skb) &&
	       !skb_vlan_tag_present(skb);
}

/**
 * kvnet_tap_rx_copy_may_get() - can the next frame be taken at once?
 * @tap: the tap; kvnet_tap_rx_peek() has said that there is a frame
 *
 * Return: false if its device is to be looked for, among all of its network namespace.
 */
bool kvnet_tap_rx_copy_may_get(const struct kvnet_tap *tap)
{
	const struct sk_buff *skb = tap->rx[tap->rx_head];

	return !frame_is_copyable(tap, tap->rx[tap->rx_head]) || skb->dev == tap->rx_dev;
}

/**
 * kvnet_tap_rx_copy_get() - take the next frame, if it is one that we copy
 * @tap: the tap; kvnet_tap_rx_peek() has said that there is a frame
 * @hdr: for the header as the tap would make it, zeroed; its fields are aligned
 *
 * Return: the frame, not to be freed, good until kvnet_tap_rx_release(); NULL if it is
 * still there, for kvnet_tap_rx_read_user(); -EIO if the tap has refused it.
 */
struct sk_buff *kvnet_tap_rx_copy_get(struct kvnet_tap *tap, void *hdr)
{
	struct sk_buff *skb = tap->rx[tap->rx_head];
	u8 kind;

	prefetch_next_frames(tap);
	if (!frame_is_copyable(tap, skb))
		return NULL;
	if (unlikely(skb->dev != tap->rx_dev))
		find_rx_dev(tap, skb->dev);
	if (unlikely(!tap->rx_ifindex))
		return NULL;
	kind = skb->ip_summed == CHECKSUM_PARTIAL ? HDR_KIND_CSUM : HDR_KIND_NO_CSUM;
	if (unlikely(!(tap->hdr_kinds_known & kind)))
		return probe_tap_hdr(tap, skb, kind, hdr);
	make_vnet_hdr(tap, skb, hdr);
	tap->rx_head++;
	tap->uncounted_packets++;
	tap->uncounted_bytes += skb->len;
	return skb;
}

/**
 * kvnet_tap_rx_copy_to_kernel() - copy a frame into the kernel's memory
 * @skb: from kvnet_tap_rx_copy_get()
 * @to: room for all of it
 *
 * Return: 0 or -EFAULT.
 */
int kvnet_tap_rx_copy_to_kernel(const struct sk_buff *skb, void *to)
{
	if (unlikely(skb_is_nonlinear(skb)))
		return skb_copy_bits(skb, 0, to, skb->len);
	memcpy(to, skb->data, skb->len);
	return 0;
}

/**
 * kvnet_tap_rx_copy_to_user() - copy a frame with its header into the owner's memory
 * @skb: from kvnet_tap_rx_copy_get()
 * @hdr: the header
 * @hdr_len: its length
 * @iov: the owner's memory, with room for both
 * @n: entries in @iov
 *
 * Return: 0 or -EFAULT.
 */
int kvnet_tap_rx_copy_to_user(const struct sk_buff *skb, const void *hdr,
			      size_t hdr_len, const struct iovec *iov, unsigned int n)
{
	struct iov_iter to;

	if (likely(iov->iov_len >= hdr_len + skb->len &&
		   !skb_is_nonlinear(skb)))
		return compat_copy_to_user(iov->iov_base, hdr, hdr_len) ||
		       compat_copy_to_user(iov->iov_base + hdr_len, skb->data,
					   skb->len) ? -EFAULT : 0;
	iov_iter_init(&to, ITER_DEST, iov, n, hdr_len + skb->len);
	if (_copy_to_iter(hdr, hdr_len, &to) != hdr_len)
		return -EFAULT;
	return skb_copy_datagram_iter(skb, 0, &to, skb->len);
}
