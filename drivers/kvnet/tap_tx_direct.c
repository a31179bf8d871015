// SPDX-License-Identifier: GPL-2.0
/*
 * tap_tx_direct.c - frames to the host past the tap's socket, see tap.h
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
 * The kernel does not tell the device of a tap's socket. So it is learnt: a batch goes by
 * the socket with softirqs off. If the device that the tap's file has named counts frames
 * on this CPU meanwhile, it is the socket's: nothing else can make it count there. tun ties
 * a file to one device, until the device is unregistered. So what was learnt is true for
 * as long as no interface comes to the socket's network namespace or leaves it.
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
#include <net/sock.h>

/* Little-endian headers, whatever the VMM has told the tap about them. */
#if defined(__LITTLE_ENDIAN) && !IS_ENABLED(CONFIG_TUN_VNET_CROSS_LE)
#define TUN_IS_LE	true
#else
#define TUN_IS_LE	false
#endif

bool kvnet_param_tx_direct = true;

/**
 * kvnet_tap_tx_direct_set_dev() - frames may go to a device, once it is known to be the tap's
 * @tap: with a new socket, or none
 * @ifindex: from kvnet_tap_info_ifindex(), and not yet known to be right
 *
 * With PREEMPT_RT another task may run on this CPU while softirqs are off, and count.
 */
void kvnet_tap_tx_direct_set_dev(struct kvnet_tap *tap, int ifindex)
{
	bool may = tap->is_tun && TUN_IS_LE && !IS_ENABLED(CONFIG_PREEMPT_RT) &&
		   READ_ONCE(kvnet_param_tx_direct);

	tap->tx_ifindex = may ? ifindex : 0;
	tap->tx_dev = NULL;
}

static struct net *tap_tx_netns(const struct kvnet_tap *tap)
{
	return sock_net(tap->sock->sk);
}

/*
 * No interface has come to the namespace, or left it, since the device was learnt. If so
 * in an RCU read-side section, the device stays allocated until the end of the section.
 */
static bool tx_dev_is_known(const struct kvnet_tap *tap)
{
	return tap->tx_dev && READ_ONCE(tap_tx_netns(tap)->dev_base_seq) == tap->tx_dev_seq;
}

/*
 * Where frames may go without the socket: to a device that is known to be the tap's,
 * has one queue, no XDP program and no NAPI, and is up. The queue may be another file's,
 * and the tap's detached: tun takes the frames of such a tap all the same.
 */
static struct net_device *find_tx_dev(const struct kvnet_tap *tap)
{
	struct net_device *dev;

	if (!tap->le || sock_flag(tap->sock->sk, SOCK_XDP) || !tx_dev_is_known(tap))
		return NULL;
	dev = dev_get_by_index_rcu(tap_tx_netns(tap), tap->tx_ifindex);
	if (!dev || dev != tap->tx_dev || READ_ONCE(dev->real_num_rx_queues) != 1 ||
	    !list_empty(&dev->napi_list) || !(READ_ONCE(dev->flags) & IFF_UP))
		return NULL;
	return dev;
}

/**
 * kvnet_tap_tx_direct_is_ready() - does a frame that comes now go to the stack without the socket?
 * @tap: the tap
 *
 * Return: true if so, as far as can be told before it is sent.
 */
bool kvnet_tap_tx_direct_is_ready(const struct kvnet_tap *tap)
{
	bool ret;

	rcu_read_lock();
	ret = find_tx_dev(tap);
	rcu_read_unlock();
	return ret;
}

static u64 read_rx_packets(const struct net_device *dev)
{
	return u64_stats_read(&this_cpu_ptr(dev->tstats)->rx_packets);
}

/* Softirqs off, RCU. */
static int send_and_probe_dev(struct kvnet_tap *tap, struct msghdr *msg)
{
	struct net *net = tap_tx_netns(tap);
	unsigned int seq = READ_ONCE(net->dev_base_seq);
	struct net_device *dev = dev_get_by_index_rcu(net, tap->tx_ifindex);
	u64 before;
	int ret;

	if (!dev || !kvnet_tap_info_is_tun(dev))
		return tap->sock->ops->sendmsg(tap->sock, msg, 0);
	before = read_rx_packets(dev);
	ret = tap->sock->ops->sendmsg(tap->sock, msg, 0);
	if (read_rx_packets(dev) != before) {
		tap->tx_dev = dev;
		tap->tx_dev_seq = seq;
	}
	return ret;
}

/**
 * kvnet_tap_tx_direct_sendmsg() - give a batch to the socket, and learn from it
 * @tap: the tap
 * @msg: the batch
 *
 * Return: as the socket.
 */
int kvnet_tap_tx_direct_sendmsg(struct kvnet_tap *tap, struct msghdr *msg)
{
	int ret;

	if (!tap->tx_ifindex || tx_dev_is_known(tap))
		return tap->sock->ops->sendmsg(tap->sock, msg, 0);
	local_bh_disable();
	rcu_read_lock();
	ret = send_and_probe_dev(tap, msg);
	rcu_read_unlock();
	local_bh_enable();
	return ret;
}

/* A header that says nothing is most of them; others are read as tun would. */
static int apply_vnet_hdr(struct sk_buff *skb, const struct virtio_net_hdr *hdr)
{
	if (!(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return 0;
	return virtio_net_hdr_to_skb(skb, hdr, true);
}

/* So much as tun would make linear: the next receiver of segments takes it for the headers. */
static unsigned int get_linear_len(const struct virtio_net_hdr *hdr)
{
	unsigned int len = KVNET_TAP_LINEAR_MAX;

	if (hdr->gso_type)
		len = __virtio16_to_cpu(true, hdr->hdr_len);
	return clamp_t(unsigned int, len, ETH_HLEN, KVNET_TAP_LINEAR_MAX);
}

/* Longer than a page: the headers are linear, the rest stays where it is. */
static struct sk_buff *build_long_skb(const struct xdp_buff *xdp, unsigned int len)
{
	struct sk_buff *skb = napi_build_skb(xdp->data_hard_start - KVNET_TAP_SKB_HEAD,
					     KVNET_TAP_SKB_HEAD);
	unsigned int linear = get_linear_len(xdp->data_hard_start + KVNET_TUN_FRAME_HDR);
	struct page *page = virt_to_head_page(xdp->data);

	if (unlikely(!skb))
		return NULL;
	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(skb, xdp->data, linear);
	get_page(page);
	skb_add_rx_frag(skb, 0, page, xdp->data + linear - page_address(page),
			len - linear, xdp->frame_sz);
	return skb;
}

static struct sk_buff *build_short_skb(const struct xdp_buff *xdp, unsigned int len)
{
	struct sk_buff *skb = napi_build_skb(xdp->data_hard_start, xdp->frame_sz);

	if (unlikely(!skb))
		return NULL;
	skb_reserve(skb, xdp->data - xdp->data_hard_start);
	__skb_put(skb, len);
	return skb;
}

/* NULL: leave it to the socket, which counts what is wrong with it. */
static struct sk_buff *build_tap_skb(const struct xdp_buff *xdp,
				     struct net_device *dev)
{
	void *buf = xdp->data_hard_start;
	const struct virtio_net_hdr *hdr = buf + KVNET_TUN_FRAME_HDR;
	unsigned int len = xdp->data_end - xdp->data;
	struct sk_buff *skb;

	if (unlikely(kvnet_tap_hdr_is_odd(hdr)))
		return NULL;
	if (xdp->frame_sz > PAGE_SIZE)
		skb = build_long_skb(xdp, len);
	else
		skb = build_short_skb(xdp, len);
	if (unlikely(!skb))
		return NULL;
	skb->dev = dev;
	if (unlikely(apply_vnet_hdr(skb, hdr))) {
		/* No drop yet: the socket gets the data. */
		get_page(virt_to_head_page(buf));
		consume_skb(skb);
		return NULL;
	}
	skb->protocol = eth_type_trans(skb, dev);
	skb_reset_network_header(skb);
	skb_probe_transport_header(skb);
	skb_record_rx_queue(skb, 0);
	return skb;
}

static void count_dev_rx(struct net_device *dev, unsigned int n, size_t bytes)
{
	struct pcpu_sw_netstats *stats = this_cpu_ptr(dev->tstats);

	u64_stats_update_begin(&stats->syncp);
	u64_stats_add(&stats->rx_packets, n);
	u64_stats_add(&stats->rx_bytes, bytes);
	u64_stats_update_end(&stats->syncp);
}

/* Up to the first one that is for the socket, so that none overtakes it. */
static unsigned int deliver_to_stack(struct kvnet_tap *tap, struct net_device *dev)
{
	const struct xdp_buff *xdp = tap->xdp;
	struct sk_buff *skb;
	unsigned int i;
	size_t bytes = 0;

	for (i = 0; i < tap->n_xdp; i++, xdp++) {
		skb = build_tap_skb(xdp, dev);
		if (unlikely(!skb))
			break;
		bytes += xdp->data_end - xdp->data;
		netif_receive_skb(skb);
	}
	count_dev_rx(dev, i, bytes);
	tap->xdp_bytes -= bytes;
	return i;
}

/**
 * kvnet_tap_tx_direct_deliver() - give the batch to the stack, as far as the tap need not
 * @tap: the tap
 *
 * What is left in the batch is for the socket.
 *
 * Return: true if the stack got any of it.
 */
bool kvnet_tap_tx_direct_deliver(struct kvnet_tap *tap)
{
	struct net_device *dev;
	unsigned int n;

	if (!tap->tx_dev)
		return false;
	local_bh_disable();
	rcu_read_lock();
	dev = find_tx_dev(tap);
	n = dev ? deliver_to_stack(tap, dev) : 0;
	rcu_read_unlock();
	local_bh_enable();
	tap->n_xdp -= n;
	if (unlikely(n && tap->n_xdp))
		memmove(tap->xdp, tap->xdp + n, tap->n_xdp * sizeof(*tap->xdp));
	return n;
}
