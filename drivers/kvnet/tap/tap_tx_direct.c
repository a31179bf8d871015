// SPDX-License-Identifier: GPL-2.0
/*
 * tap_tx_direct.c - direct TX: packets to the network stack without the tap's sendmsg()
 *
 * For most frames of a batch tun only builds a socket buffer and passes it to the stack. Here
 * that is done without tun, with the CPU's NAPI cache of socket buffers. Each batch checks
 * that the tap allows it; frames that need more (see build_tap_skb()) go to sendmsg(), as with
 * vhost_net. Frames are passed by GRO where that pays (gro.c), else one by one: a list costs more,
 * since its links are checked and a bulk free leaves the allocator's fast path.
 *
 * The kernel does not export which device a tap's socket belongs to, so it is probed: a batch
 * is sent by sendmsg() with softirqs off. If the per-CPU rx counter of the candidate (see
 * kvnet_tap_info_ifindex()) changes meanwhile, the candidate is the tap's device: nothing else
 * can change it on this CPU. tun binds a file to one device until that is unregistered, so the
 * result is valid until dev_base_seq of the socket's network namespace changes.
 *
 * All functions run in a session with vq->lock, as those of tap_tx.c.
 */
#include "tap.h"

#include <linux/errno.h>
#include <linux/etherdevice.h>
#include <linux/if_tun.h>
#include <linux/if_vlan.h>
#include <linux/in.h>
#include <linux/ip.h>
#include <linux/ipv6.h>
#include <linux/jhash.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/netdevice.h>
#include <linux/skbuff.h>
#include <linux/smp.h>
#include <linux/string.h>
#include <linux/virtio_net.h>
#include <net/ip.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "gro.h"
#include "shortcut.h"
#include "tap_info.h"
#include "vnet_hdr.h"

/* tun's headers are little-endian, whatever the VMM has configured (TUNSETVNETLE, _BE). */
#if defined(__LITTLE_ENDIAN) && !IS_ENABLED(CONFIG_TUN_VNET_CROSS_LE)
#define TUN_IS_LE	true
#else
#define TUN_IS_LE	false
#endif

/* So many jiffies after a frame for sendmsg() the next one of its flow is due. */
#define FLOW_DUE	(HZ / 4)

/* No frame is in flight any more that was passed to the stack before. */
#define TX_PAUSE	HZ

bool kvnet_param_tx_direct = true;

/*
 * Sets the candidate for direct TX of a new socket. @ifindex is from kvnet_tap_info_ifindex();
 * 0: none, or not a tun device. Not with PREEMPT_RT, where the probe is not valid: another task
 * may run on this CPU while softirqs are off, and change the counter.
 */
void kvnet_tap_tx_direct_set_dev(struct kvnet_tap *tap, int ifindex)
{
	bool may = TUN_IS_LE && !IS_ENABLED(CONFIG_PREEMPT_RT) &&
		   READ_ONCE(kvnet_param_tx_direct);

	tap->tx_ifindex = may ? ifindex : 0;
	tap->tx_dev = NULL;
}

/*
 * No interface has been added to the namespace or removed since the probe. If that is true in
 * an RCU read-side section, the device stays allocated until the end of the section.
 */
static bool tx_dev_is_known(const struct kvnet_tap *tap)
{
	return tap->tx_dev &&
	       READ_ONCE(sock_net(tap->sock->sk)->dev_base_seq) == tap->tx_dev_seq;
}

/*
 * RCU. Direct TX needs a device that is probed to be the tap's, has no XDP program and no NAPI, and
 * is up; and if it has several queues, the number of the tap's. A single queue may be another
 * file's, and the tap's queue detached: tun accepts packets of a detached queue, too.
 */
static struct net_device *find_tx_dev(const struct kvnet_tap *tap)
{
	struct net_device *dev;
	unsigned int queues;

	if (!tap->le || sock_flag(tap->sock->sk, SOCK_XDP) || !tx_dev_is_known(tap))
		return NULL;
	dev = dev_get_by_index_rcu(sock_net(tap->sock->sk), tap->tx_ifindex);
	if (!dev || dev != tap->tx_dev)
		return NULL;
	queues = READ_ONCE(dev->real_num_rx_queues);
	if ((queues != 1 && tap->queue - 1 >= queues) ||
	    !list_empty(&dev->napi_list) || !(READ_ONCE(dev->flags) & IFF_UP))
		return NULL;
	return dev;
}

/* A hint: it may be wrong by the time that the batch is sent. */
bool kvnet_tap_tx_direct_is_ready(const struct kvnet_tap *tap)
{
	bool ret;

	rcu_read_lock();
	ret = find_tx_dev(tap);
	rcu_read_unlock();
	return ret;
}

static bool has_ports(u8 proto)
{
	return proto == IPPROTO_TCP || proto == IPPROTO_UDP;
}

/*
 * Of addresses, and of ports where most frames have them; the headers are not validated. The seed
 * changes each second, so that no two flows share an entry for long.
 */
static u32 hash_flow(const void *frame, size_t len)
{
	__be16 proto = ((const struct ethhdr *)frame)->h_proto;
	size_t from = ETH_HLEN, n;
	const struct ipv6hdr *ip6;
	const struct iphdr *ip;

	if (eth_type_vlan(proto) && len >= VLAN_ETH_HLEN) {
		proto = ((const struct vlan_ethhdr *)frame)->h_vlan_encapsulated_proto;
		from = VLAN_ETH_HLEN;
	}
	ip = frame + from;
	ip6 = frame + from;
	if (proto == htons(ETH_P_IP) && len >= from + sizeof(*ip)) {
		from += offsetof(struct iphdr, saddr);
		n = 2 * sizeof(ip->saddr);
		if (has_ports(ip->protocol) && ip->ihl == 5 && !ip_is_fragment(ip))
			n += 2 * sizeof(__be16);
	} else if (proto == htons(ETH_P_IPV6) && len >= from + sizeof(*ip6)) {
		from += offsetof(struct ipv6hdr, saddr);
		n = 2 * sizeof(ip6->saddr);
		if (has_ports(ip6->nexthdr))
			n += 2 * sizeof(__be16);
	} else {
		return 0;
	}
	return jhash(frame + from, min(n, len - from), jiffies / HZ);
}

/*
 * A tap with several queues sends frames to the guest by that queue from which the last frame of
 * their flow has come by sendmsg(), and drops that knowledge after 3 s. So of a flow a frame goes
 * there four times a second, as the last one of its batch. By a vCPU thread, on its CPU, only if
 * none is in flight that it could overtake: else this returns -EBUSY.
 */
int kvnet_tap_tx_direct_check_flow(struct kvnet_tap *tap, const void *frame, size_t len)
{
	u32 *sent_at = &tap->flow_sent_at[hash_flow(frame, len) % KVNET_TAP_FLOWS];

	if ((u32)jiffies - *sent_at < FLOW_DUE)
		return 0;
	if (!tap->is_worker && time_before(jiffies, tap->sent_at + FLOW_DUE))
		return -EBUSY;
	tap->due_flow = sent_at;
	return 0;
}

static void name_this_cpu(struct kvnet_tap *tap)
{
	tap->sender_cpu = raw_smp_processor_id() + 1;
	tap->sent_at = jiffies;
}

/*
 * At the begin of a worker's poll. XPS chooses the TX queue of a NIC behind a bridge or a router by
 * the CPU that sends, if the skb does not name another, and frames in two queues of a NIC may
 * overtake each other. So all frames of a virtqueue name one CPU, that of its worker, whether the
 * worker or a vCPU thread passes them. As with a TCP socket, it changes only after a pause, if the
 * worker has moved meanwhile. Frames of sendmsg() name none: the frames behind them name the CPU
 * of the caller.
 */
void kvnet_tap_tx_direct_start_poll(struct kvnet_tap *tap)
{
	if (!tap->sender_cpu || time_after_eq(jiffies, tap->sent_at + TX_PAUSE))
		name_this_cpu(tap);
}

/* Before sendmsg(), from which tun learns the queue of a flow. */
void kvnet_tap_tx_direct_note_sendmsg(struct kvnet_tap *tap)
{
	name_this_cpu(tap);
	if (tap->due_flow)
		*tap->due_flow = jiffies;
	tap->due_flow = NULL;
}

static u64 read_rx_packets(const struct net_device *dev)
{
	return u64_stats_read(&this_cpu_ptr(dev->tstats)->rx_packets);
}

/*
 * The tap's sendmsg() for a batch, which probes the device if that is needed: softirqs are
 * off, so that only this batch changes the counter of this CPU.
 */
int kvnet_tap_tx_direct_sendmsg(struct kvnet_tap *tap, struct msghdr *msg)
{
	struct net *net = sock_net(tap->sock->sk);
	struct net_device *dev;
	unsigned int seq;
	u64 before = 0;
	int ret;

	kvnet_tap_tx_direct_note_sendmsg(tap);
	if (!tap->tx_ifindex || tx_dev_is_known(tap))
		return tap->sock->ops->sendmsg(tap->sock, msg, 0);
	local_bh_disable();
	rcu_read_lock();
	seq = READ_ONCE(net->dev_base_seq);
	dev = kvnet_tap_info_find_tun(net, tap->tx_ifindex);
	if (dev)
		before = read_rx_packets(dev);
	ret = tap->sock->ops->sendmsg(tap->sock, msg, 0);
	if (dev && read_rx_packets(dev) != before) {
		tap->tx_dev = dev;
		tap->tx_dev_seq = seq;
	}
	rcu_read_unlock();
	local_bh_enable();
	return ret;
}

/* A frame longer than a page: its headers are copied, the rest becomes a fragment. */
static void fill_long_skb(struct sk_buff *skb, const struct xdp_buff *xdp, unsigned int len)
{
	const struct virtio_net_hdr *hdr = xdp->data_hard_start + KVNET_TUN_FRAME_HDR;
	struct page *page = virt_to_head_page(xdp->data);
	unsigned int linear = kvnet_vnet_hdr_linear_len(hdr, KVNET_TAP_LINEAR_MAX);

	skb_reserve(skb, NET_SKB_PAD + NET_IP_ALIGN);
	skb_put_data(skb, xdp->data, linear);
	get_page(page);
	skb_add_rx_frag(skb, 0, page, xdp->data + linear - page_address(page),
			len - linear, xdp->frame_sz);
}

/* What the stack wants to know of a frame that comes from queue @queue of @dev. */
static __always_inline void set_skb_source(struct sk_buff *skb, struct net_device *dev,
					   unsigned int queue, unsigned int sender_cpu)
{
	skb->protocol = eth_type_trans(skb, dev);
	skb_reset_network_header(skb);
	skb_probe_transport_header(skb);
	skb_record_rx_queue(skb, queue);
#ifdef CONFIG_XPS
	skb->sender_cpu = sender_cpu;
#endif
}

/* Returns NULL for a frame that is left to sendmsg(), which also counts errors. */
static __always_inline struct sk_buff *build_tap_skb(const struct xdp_buff *xdp,
						     struct net_device *dev,
						     unsigned int queue,
						     unsigned int sender_cpu)
{
	const bool is_long = xdp->frame_sz > PAGE_SIZE;
	void *buf = xdp->data_hard_start;
	const struct virtio_net_hdr *hdr = buf + KVNET_TUN_FRAME_HDR;
	unsigned int len = xdp->data_end - xdp->data;
	struct sk_buff *skb;

	if (unlikely(kvnet_vnet_hdr_is_odd(hdr)))
		return NULL;
	/* Two calls: no instructions to choose the arguments. */
	if (is_long)
		skb = napi_build_skb(buf - KVNET_TAP_SKB_HEAD, KVNET_TAP_SKB_HEAD);
	else
		skb = napi_build_skb(buf, xdp->frame_sz);
	if (unlikely(!skb))
		return NULL;
	if (is_long) {
		fill_long_skb(skb, xdp, len);
	} else {
		skb_reserve(skb, xdp->data - buf);
		__skb_put(skb, len);
	}
	/* Most headers ask for nothing; the others are parsed as tun does. */
	if (unlikely((hdr->flags & VIRTIO_NET_HDR_F_NEEDS_CSUM) &&
		     virtio_net_hdr_to_skb(skb, hdr, true))) {
		/* Not a drop: the frame's memory is kept for sendmsg(). */
		get_page(virt_to_head_page(buf));
		consume_skb(skb);
		return NULL;
	}
	set_skb_source(skb, dev, queue, sender_cpu);
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

/*
 * Passes the frames from index @from to @to. Stops at the first one that is left to sendmsg(), so
 * that no frame overtakes it, and returns its index. noinline: in a second copy of the loop the
 * compiler would not inline virtio_net_hdr_to_skb().
 */
static noinline unsigned int pass_frames(struct kvnet_tap *tap, struct net_device *dev,
					 struct napi_struct *gro, bool shortcut,
					 unsigned int from, unsigned int to)
{
	const struct xdp_buff *xdp = tap->xdp + from;
	struct sk_buff *skb;
	size_t bytes = 0;

	for (; from < to; from++, xdp++) {
		skb = build_tap_skb(xdp, dev, tap->queue - 1, tap->sender_cpu);
		if (unlikely(!skb))
			break;
		bytes += xdp->data_end - xdp->data;
		if (gro)
			kvnet_gro_receive(tap, gro, skb);
		else if (unlikely(shortcut))
			kvnet_shortcut_receive(tap, skb);
		else
			netif_receive_skb(skb);
	}
	tap->xdp_bytes -= bytes;
	return from;
}

/* Of a batch that may take short cuts. Returns as pass_frames(). */
static unsigned int pass_frames_shortcut(struct kvnet_tap *tap, struct net_device *dev)
{
	unsigned int i, n;

	for (i = 0; i < tap->n_xdp; i += n ?: 1) {
		n = kvnet_shortcut_send(tap, i);
		if (!n && pass_frames(tap, dev, NULL, true, i, i + 1) == i)
			break;
	}
	return i;
}

static void note_queues(struct kvnet_tap *tap, const struct net_device *dev)
{
	tap->has_queues = READ_ONCE(dev->real_num_rx_queues) > 1;
	/* A second one may have come after find_tx_dev(). */
	if (!tap->has_queues || !tap->queue)
		tap->queue = 1;
}

/* Returns how many frames were passed. */
static unsigned int deliver_to_stack(struct kvnet_tap *tap, struct net_device *dev)
{
	struct napi_struct *gro = kvnet_gro_start(tap, dev);
	unsigned int n, bytes = tap->xdp_bytes;

	note_queues(tap, dev);
	/* Where GRO is tried it decides: the other guest then gets fewer packets. */
	if (!tap->gro_begin && kvnet_shortcut_start(tap, dev))
		n = pass_frames_shortcut(tap, dev);
	else
		n = pass_frames(tap, dev, gro, false, 0, tap->n_xdp);
	kvnet_gro_end(tap, gro, n);
	count_dev_rx(dev, n, bytes - tap->xdp_bytes);
	return n;
}

/*
 * Passes the batch to the stack. Frames that remain in the batch are for
 * kvnet_tap_tx_send_batch(). Returns true if the stack got at least one frame.
 */
bool kvnet_tap_tx_direct_deliver(struct kvnet_tap *tap)
{
	const unsigned int due = tap->due_flow ? 1 : 0;
	struct net_device *dev;
	unsigned int n = 0;

	tap->shortcut_packets = 0;
	if (!tap->tx_dev)
		return false;
	tap->n_xdp -= due;
	local_bh_disable();
	rcu_read_lock();
	dev = find_tx_dev(tap);
	if (!dev)
		tap->has_queues = false;
	else if (tap->n_xdp)
		n = deliver_to_stack(tap, dev);
	tap->sent_at = jiffies;
	rcu_read_unlock();
	local_bh_enable();
	tap->n_xdp += due - n;
	if (unlikely(n && tap->n_xdp))
		memmove(tap->xdp, tap->xdp + n, tap->n_xdp * sizeof(*tap->xdp));
	return n;
}

/*
 * Passes the frame of kvnet_tap_tx_long_send(), while the batch is empty. Returns false if it is
 * left to sendmsg(): @skb is still the caller's.
 */
bool kvnet_tap_tx_direct_pass(struct kvnet_tap *tap, struct sk_buff *skb)
{
	const unsigned int len = skb->len;
	struct net_device *dev;

	local_bh_disable();
	rcu_read_lock();
	dev = find_tx_dev(tap);
	if (dev) {
		note_queues(tap, dev);
		set_skb_source(skb, dev, tap->queue - 1, tap->sender_cpu);
		netif_receive_skb(skb);
		count_dev_rx(dev, 1, len);
		tap->sent_at = jiffies;
	}
	rcu_read_unlock();
	local_bh_enable();
	return dev;
}
