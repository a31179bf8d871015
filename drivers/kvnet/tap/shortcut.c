// SPDX-License-Identifier: GPL-2.0
/*
 * shortcut.c - frames straight to another tap of the bridge, for direct TX (tap_tx_direct.c)
 *
 * A frame from one guest to another one on the same bridge needs neither a socket buffer nor a
 * second pass through the stack: it goes as an XDP frame into the ring of the other tap, as
 * XDP_REDIRECT would send it. Such a frame has an empty header, so that any process may read that
 * tap: a checksum that the guest leaves to the device is computed before.
 *
 * It must reach only those guests to which the bridge would send it, in the same order. So:
 *
 * - Each batch checks what is between the two taps: captures, filters, the bridge's and the
 *   taps' states, and its forwarding database. Each run of frames checks that no frame waits
 *   in the qdisc of the other tap.
 * - What the bridge does not disclose (port states, flags of ports, local addresses) it shows: of
 *   each jiffy the first frame between two addresses goes by the bridge. Only if that forwards
 *   it to the same tap, the next ones of this jiffy are sent there directly. These first frames
 *   also keep the entries of the forwarding database young.
 * - Only kinds of frames that a bridge has no rules of its own for: IP, without a VLAN tag. GSO
 *   frames go by the bridge, too.
 *
 * The functions run in a session with vq->lock, with softirqs off, in an RCU read-side section.
 */
#include "shortcut.h"

#include <linux/etherdevice.h>
#include <linux/if_link.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jiffies.h>
#include <linux/module.h>
#include <linux/netdevice.h>
#include <linux/percpu.h>
#include <linux/rtnetlink.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <linux/virtio_net.h>
#include <net/checksum.h>
#include <net/net_namespace.h>
#include <net/netdev_rx_queue.h>
#include <net/netlink.h>
#include <net/sch_generic.h>
#include <net/xdp.h>

#include "features.h"
#include "tap.h"
#include "tap_info.h"
#include "vnet_hdr.h"

/* The frame that the bridge is asked about on this CPU, and the device that it was sent to. */
struct shortcut_probe {
	const struct sk_buff *skb;
	const struct net_device *dev;
};

static DEFINE_PER_CPU(struct shortcut_probe, shortcut_probe);

/* All zero: MEM_TYPE_PAGE_SHARED. */
static struct xdp_rxq_info shortcut_rxq;

static bool has_bridge_hooks(const struct net *net)
{
#ifdef CONFIG_NETFILTER_FAMILY_BRIDGE
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(net->nf.hooks_bridge); i++)
		if (rcu_access_pointer(net->nf.hooks_bridge[i]))
			return true;
#endif
	return false;
}

/* RPS lets frames of some flows wait for another CPU. */
static bool has_rps(const struct net_device *dev, unsigned int queue)
{
#ifdef CONFIG_RPS
	const struct netdev_rx_queue *rxq = &dev->_rx[queue];

	return rcu_access_pointer(rxq->rps_map) || READ_ONCE(rxq->rps_flow_table);
#else
	return false;
#endif
}

/* Would nothing but the bridge @br see a frame that comes from @dev, one of its ports? */
static enum kvnet_shortcut check_from(struct net_device *dev, unsigned int queue,
				      const struct net_device *br)
{
	if (!br)
		return KVNET_SHORTCUT_NO_BRIDGE;
	if ((READ_ONCE(br->flags) & (IFF_UP | IFF_PROMISC)) != IFF_UP)
		return KVNET_SHORTCUT_BRIDGE;
	if (dev_nit_active(dev))
		return KVNET_SHORTCUT_CAPTURE;
	if (compat_dev_has_ingress(dev) || rcu_access_pointer(dev->xdp_prog) ||
	    has_rps(dev, queue) || has_bridge_hooks(dev_net(dev)))
		return KVNET_SHORTCUT_FILTER;
	return KVNET_SHORTCUT_ACTIVE;
}

/* The same for @dev, the other tap. */
static enum kvnet_shortcut check_to(struct net_device *dev)
{
	if (!kvnet_tap_info_is_tun(dev) || !dev->netdev_ops->ndo_xdp_xmit ||
	    READ_ONCE(dev->real_num_tx_queues) != 1 ||
	    !(READ_ONCE(dev->flags) & IFF_UP) || !netif_carrier_ok(dev))
		return KVNET_SHORTCUT_PORT;
	if (dev_nit_active(dev))
		return KVNET_SHORTCUT_CAPTURE;
	if (compat_dev_has_egress(dev))
		return KVNET_SHORTCUT_FILTER;
	return KVNET_SHORTCUT_ACTIVE;
}

/* Would the qdisc of @dev only pass a frame on, with none before it? */
static bool qdisc_is_idle(struct kvnet_tap *tap, const struct net_device *dev)
{
	const struct netdev_queue *txq = netdev_get_tx_queue(dev, 0);
	struct Qdisc *q = rcu_dereference(txq->qdisc);
	bool idle = !q->enqueue;

	if (!idle && (q->flags & TCQ_F_CAN_BYPASS) && !compat_qdisc_is_deferring(q) &&
	    qdisc_is_empty(q)) {
		/* Another CPU runs the qdisc until it has sent what it dequeued last. */
		smp_rmb();
		idle = !qdisc_is_running(q);
	}
	idle = idle && !netif_xmit_frozen_or_stopped(txq);
	if (!idle)
		WRITE_ONCE(tap->shortcut_state, KVNET_SHORTCUT_QDISC);
	return idle;
}

/* The port of @br behind which its forwarding database has @mac. */
static const struct net_device *find_port(const struct net_device *br, const u8 *mac)
{
	struct net_device_path_ctx ctx = { .dev = br };
	struct net_device_path path = {};

	ether_addr_copy(ctx.daddr, mac);
	if (br->netdev_ops->ndo_fill_forward_path(&ctx, &path))
		return NULL;
	/* VLAN filtering: what a port makes of a tag depends on the other port, too. */
	return path.bridge.vlan_id ? NULL : ctx.dev;
}

static struct net_device *find_other_tap(struct kvnet_tap *tap, const struct ethhdr *eth)
{
	enum kvnet_shortcut state = KVNET_SHORTCUT_PORT;
	struct net_device *dev = NULL;

	if (!is_multicast_ether_addr(eth->h_dest) && is_valid_ether_addr(eth->h_source) &&
	    find_port(tap->bridge, eth->h_source) == tap->tx_dev)
		dev = (struct net_device *)find_port(tap->bridge, eth->h_dest);
	if (dev && dev != tap->tx_dev)
		state = check_to(dev);
	WRITE_ONCE(tap->shortcut_state, state);
	if (state != KVNET_SHORTCUT_ACTIVE)
		return NULL;
	WRITE_ONCE(tap->shortcut_ifindex, dev->ifindex);
	return dev;
}

/* In this jiffy */
static bool path_was_probed(const struct kvnet_shortcut_path *path)
{
	unsigned long now = jiffies;

	return path->probed_at == now;
}

/* Looks up a short cut, if that is not done yet. Returns NULL if there is none. */
static struct kvnet_shortcut_path *look_up(struct kvnet_tap *tap, const struct ethhdr *eth)
{
	struct kvnet_shortcut_path *path;
	struct net_device *dev;
	bool same;

	path = &tap->shortcut[eth->h_dest[ETH_ALEN - 1] % KVNET_SHORTCUT_PATHS];
	same = !memcmp(path->macs, eth, sizeof(path->macs));
	if (same && path->batch == tap->shortcut_batch)
		return path;
	dev = find_other_tap(tap, eth);
	if (!dev)
		return NULL;
	if (!same || dev != path->dev)
		path->is_proven = false;
	memcpy(path->macs, eth, sizeof(path->macs));
	path->dev = dev;
	path->batch = tap->shortcut_batch;
	if (path_was_probed(path) && !path->is_proven)
		WRITE_ONCE(tap->shortcut_state, KVNET_SHORTCUT_PORT);
	return path;
}

/*
 * At the begin of a batch from @dev. Returns true if its first frame could take a short cut; then
 * each frame is for kvnet_shortcut_send() or else kvnet_shortcut_receive().
 */
bool kvnet_shortcut_start(struct kvnet_tap *tap, struct net_device *dev)
{
	enum kvnet_shortcut state = KVNET_SHORTCUT_OFF;
	struct net_device *br = NULL;

	if (!netif_is_bridge_port(dev)) {
		state = KVNET_SHORTCUT_NO_BRIDGE;
	} else if (tap->may_shortcut) {
		br = netdev_master_upper_dev_get_rcu(dev);
		state = check_from(dev, tap->queue - 1, br);
	}
	tap->bridge = br;
	tap->shortcut_batch++;
	if (state != KVNET_SHORTCUT_ACTIVE) {
		WRITE_ONCE(tap->shortcut_state, state);
		return false;
	}
	return look_up(tap, tap->xdp->data);
}

/* Neighbour suppression answers ARP and ICMPv6; other protocols have rules of their own, too. */
static bool is_plain_ip(const struct ethhdr *eth, unsigned int len)
{
	const struct ipv6hdr *ip6 = (const void *)(eth + 1);

	if (eth->h_proto == htons(ETH_P_IP))
		return true;
	return eth->h_proto == htons(ETH_P_IPV6) && len >= ETH_HLEN + sizeof(*ip6) &&
	       ip6->nexthdr != IPPROTO_ICMPV6;
}

/* Returns the tap to which a frame may be sent directly, or NULL. */
static struct net_device *get_target(struct kvnet_tap *tap, const struct xdp_buff *xdp)
{
	const struct virtio_net_hdr *hdr = xdp->data_hard_start + KVNET_TUN_FRAME_HDR;
	const struct kvnet_shortcut_path *path;
	unsigned int len = xdp->data_end - xdp->data;

	if (hdr->gso_type || kvnet_vnet_hdr_is_odd(hdr) || xdp->frame_sz > PAGE_SIZE ||
	    !is_plain_ip(xdp->data, len))
		return NULL;
	path = look_up(tap, xdp->data);
	/* The length as in is_skb_forwardable() */
	if (!path || !path_was_probed(path) || !path->is_proven ||
	    len > READ_ONCE(path->dev->mtu) + ETH_HLEN + VLAN_HLEN)
		return NULL;
	return path->dev;
}

/* As skb_checksum_help() does for a device without checksums. Returns false if it is invalid. */
static bool complete_csum(const struct xdp_buff *xdp)
{
	const struct virtio_net_hdr *hdr = xdp->data_hard_start + KVNET_TUN_FRAME_HDR;
	unsigned int start = __virtio16_to_cpu(true, hdr->csum_start);
	unsigned int at = start + __virtio16_to_cpu(true, hdr->csum_offset);
	unsigned int len = xdp->data_end - xdp->data;
	__sum16 csum;

	if (!(hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM))
		return true;
	/* Behind all that get_target() has looked at. */
	if (start < ETH_HLEN + sizeof(struct iphdr) || at + sizeof(csum) > len)
		return false;
	csum = csum_fold(csum_partial(xdp->data + start, len - start, 0)) ?: CSUM_MANGLED_0;
	memcpy(xdp->data + at, &csum, sizeof(csum));
	return true;
}

/*
 * Sends the frames of the batch from index @from on, as long as they may go directly to the same
 * tap. Returns how many were sent: they are the other tap's. If it has no room for some, the rest
 * of the batch goes by the bridge.
 */
unsigned int kvnet_shortcut_send(struct kvnet_tap *tap, unsigned int from)
{
	struct xdp_frame *frames[KVNET_TAP_BATCH];
	struct xdp_buff *xdp = tap->xdp + from;
	struct net_device *dev, *to = NULL;
	unsigned int n, i;
	int sent;

	BUILD_BUG_ON(sizeof(struct xdp_frame) > NET_SKB_PAD);
	if (!tap->bridge)
		return 0;
	for (n = 0; from + n < tap->n_xdp; n++) {
		dev = get_target(tap, &xdp[n]);
		if (!dev || (n ? dev != to : !qdisc_is_idle(tap, dev)) || !complete_csum(&xdp[n]))
			break;
		to = dev;
		xdp[n].rxq = &shortcut_rxq;
		frames[n] = xdp_convert_buff_to_frame(&xdp[n]);
	}
	if (!n)
		return 0;
	sent = to->netdev_ops->ndo_xdp_xmit(to, n, frames, XDP_XMIT_FLUSH);
	if (unlikely(sent != n)) {
		sent = max(sent, 0);
		/* Back from XDP frames. Checksums are complete: the headers ask for nothing. */
		for (i = sent; i < n; i++)
			memset(kvnet_tun_frame_init(xdp[i].data_hard_start, xdp[i].frame_sz), 0,
			       KVNET_FEATURES_HDR_MAX);
		tap->bridge = NULL;
	}
	for (i = 0; i < sent; i++)
		tap->xdp_bytes -= xdp[i].data_end - xdp[i].data;
	tap->shortcut_packets += sent;
	return sent;
}

/* The destructor of a frame: tun calls it when it takes the frame, the stack when it drops it. */
static void note_device(struct sk_buff *skb)
{
	if (this_cpu_read(shortcut_probe.skb) == skb)
		this_cpu_write(shortcut_probe.dev, skb->dev);
	module_put(THIS_MODULE);
}

/* tun leaves out struct tun_pi of XDP frames, which a reader without IFF_NO_PI expects. */
static bool tap_has_pi(const struct net_device *dev)
{
	struct sk_buff *skb = alloc_skb(256, GFP_ATOMIC | __GFP_NOWARN);
	const struct nlattr *pi = NULL;
	bool ret;

	if (skb && !dev->rtnl_link_ops->fill_info(skb, dev))
		pi = nla_find((void *)skb->data, skb->len, IFLA_TUN_PI);
	ret = !pi || nla_get_u8(pi);
	kfree_skb(skb);
	return ret;
}

/* Of this CPU: grows if one of tun's own filters drops a frame, or if the ring is full. */
static unsigned long read_tx_dropped(const struct net_device *dev)
{
	const struct net_device_core_stats __percpu *stats = READ_ONCE(dev->core_stats);

	return stats ? READ_ONCE(this_cpu_ptr(stats)->tx_dropped) : 0;
}

/* Passes @skb to the stack. Does the bridge send it to the tap @dev, which takes it? */
static bool prove_path(struct sk_buff *skb, const struct net_device *dev)
{
	unsigned long dropped = read_tx_dropped(dev);
	const struct net_device *to;

	this_cpu_write(shortcut_probe.skb, skb);
	this_cpu_write(shortcut_probe.dev, NULL);
	/* The frame may wait in a qdisc while the module is unloaded. */
	__module_get(THIS_MODULE);
	skb->destructor = note_device;
	netif_receive_skb(skb);
	to = this_cpu_read(shortcut_probe.dev);
	this_cpu_write(shortcut_probe.skb, NULL);
	return to == dev && read_tx_dropped(dev) == dropped && !tap_has_pi(dev);
}

/*
 * Passes a frame to the stack, and looks where the bridge sends it, once in a jiffy. The bridge may
 * have learned from it: what this batch has looked up is no longer valid.
 */
void kvnet_shortcut_receive(struct kvnet_tap *tap, struct sk_buff *skb)
{
	struct kvnet_shortcut_path *path = NULL;

	if (tap->bridge)
		path = look_up(tap, eth_hdr(skb));
	tap->shortcut_batch++;
	if (!path || path_was_probed(path)) {
		netif_receive_skb(skb);
		return;
	}
	path->probed_at = jiffies;
	path->is_proven = prove_path(skb, path->dev);
	if (!path->is_proven && qdisc_is_idle(tap, path->dev))
		WRITE_ONCE(tap->shortcut_state, KVNET_SHORTCUT_PORT);
}
