// SPDX-License-Identifier: GPL-2.0
/*
 * tap_direct.c - frames to the host past the tap's socket, see tap.h
 *
 * What tun does with a batch it does packet by packet. Where that is nothing but
 * to make a socket buffer and to hand it to the stack, we do it ourselves, with
 * buffers of the CPU's NAPI cache. Which taps these are is looked at for each batch;
 * to all others, and for each frame that is out of the ordinary, leads the socket,
 * as it does with vhost_net.
 *
 * One frame after the other: a list of them takes more (its links are checked, and
 * buffers that are freed together leave the allocator's fast path).
 *
 * Of tun's private data one thing is used: netdev_priv() of its devices begins with
 * their queues, and a queue with its socket. A kernel in which this is not so has
 * no device whose memory says what we look for there, so nothing goes this way.
 */
#include "tap.h"

#include <linux/etherdevice.h>
#include <linux/if_tun.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/virtio_net.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>
#include <net/sock.h>

/* Little-endian headers, whatever the VMM has told the tap about them. */
#if defined(__LITTLE_ENDIAN) && !IS_ENABLED(CONFIG_TUN_VNET_CROSS_LE)
#define TUN_IS_LE	true
#else
#define TUN_IS_LE	false
#endif

bool kvnet_tap_direct = true;

static bool is_only_queue(const struct net_device *dev, const struct sock *sk)
{
	const struct rtnl_link_ops *ops = READ_ONCE(dev->rtnl_link_ops);
	void *const *queue = netdev_priv(dev);

	return ops && !strcmp(ops->kind, "tun") && READ_ONCE(*queue) == sk &&
	       READ_ONCE(dev->real_num_rx_queues) == 1;
}

/**
 * kvnet_tap_find() - which device does the tap belong to?
 * @tap: with a new socket, or none
 */
void kvnet_tap_find(struct kvnet_tap *tap)
{
	const struct sock *sk = tap->sock ? tap->sock->sk : NULL;
	struct net_device *dev;

	tap->out_ifindex = 0;
	if (!sk || !tap->ring || !TUN_IS_LE || !READ_ONCE(kvnet_tap_direct))
		return;
	rcu_read_lock();
	for_each_netdev_rcu(sock_net(sk), dev)
		if (is_only_queue(dev, sk))
			tap->out_ifindex = dev->ifindex;
	rcu_read_unlock();
}

/*
 * Where frames may go without the socket: to a device that is still the tap's, has
 * no other queue, no XDP program and no NAPI, and is up.
 */
static struct net_device *find_device(const struct kvnet_tap *tap)
{
	const struct sock *sk = tap->sock->sk;
	struct net_device *dev;

	if (!tap->out_ifindex || !tap->le || sock_flag(sk, SOCK_XDP))
		return NULL;
	dev = dev_get_by_index_rcu(sock_net(sk), tap->out_ifindex);
	if (!dev || !is_only_queue(dev, sk) || !dev->tstats ||
	    !list_empty(&dev->napi_list) || !(READ_ONCE(dev->flags) & IFF_UP))
		return NULL;
	return dev;
}

/* Segments, but no checksum: how this is read differs from tun to tun. */
static bool is_odd(const struct virtio_net_hdr *hdr)
{
	return hdr->gso_type && !(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM);
}

/* A header that says nothing is most of them; others are read as tun would. */
static int apply_header(struct sk_buff *skb, const struct virtio_net_hdr *hdr)
{
	if (!(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return 0;
	return virtio_net_hdr_to_skb(skb, hdr, true);
}

/* NULL: leave it to the socket, which counts what is wrong with it. */
static struct sk_buff *make_skb(const struct xdp_buff *xdp,
				struct net_device *dev)
{
	void *buf = xdp->data_hard_start;
	const struct virtio_net_hdr *hdr = buf + KVNET_TUN_FRAME_HDR;
	struct sk_buff *skb;

	skb = unlikely(is_odd(hdr)) ? NULL : napi_build_skb(buf, xdp->frame_sz);
	if (unlikely(!skb))
		return NULL;
	skb_reserve(skb, xdp->data - buf);
	__skb_put(skb, xdp->data_end - xdp->data);
	skb->dev = dev;
	if (unlikely(apply_header(skb, hdr))) {
		get_page(virt_to_head_page(buf));
		kfree_skb(skb);
		return NULL;
	}
	skb->protocol = eth_type_trans(skb, dev);
	skb_reset_network_header(skb);
	skb_probe_transport_header(skb);
	skb_record_rx_queue(skb, 0);
	return skb;
}

static void count_received(struct net_device *dev, unsigned int n, size_t bytes)
{
	struct pcpu_sw_netstats *stats = this_cpu_ptr(dev->tstats);

	u64_stats_update_begin(&stats->syncp);
	u64_stats_add(&stats->rx_packets, n);
	u64_stats_add(&stats->rx_bytes, bytes);
	u64_stats_update_end(&stats->syncp);
}

/* Up to the first one that is for the socket, so that none overtakes it. */
static unsigned int deliver(const struct kvnet_tap *tap, struct net_device *dev)
{
	const struct xdp_buff *xdp = tap->xdp;
	struct sk_buff *skb;
	unsigned int i;
	size_t bytes = 0;

	for (i = 0; i < tap->n_xdp; i++, xdp++) {
		skb = make_skb(xdp, dev);
		if (unlikely(!skb))
			break;
		bytes += xdp->data_end - xdp->data;
		netif_receive_skb(skb);
	}
	count_received(dev, i, bytes);
	return i;
}

/**
 * kvnet_tap_deliver() - give the batch to the stack, as far as the tap need not
 * @tap: the tap
 *
 * What is left in the batch is for the socket.
 *
 * Return: true if the stack got any of it.
 */
bool kvnet_tap_deliver(struct kvnet_tap *tap)
{
	struct net_device *dev;
	unsigned int n;

	if (!tap->out_ifindex)
		return false;
	local_bh_disable();
	rcu_read_lock();
	dev = find_device(tap);
	n = dev ? deliver(tap, dev) : 0;
	rcu_read_unlock();
	local_bh_enable();
	tap->n_xdp -= n;
	if (unlikely(n && tap->n_xdp))
		memmove(tap->xdp, tap->xdp + n, tap->n_xdp * sizeof(*tap->xdp));
	return n;
}
