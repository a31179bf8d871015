// SPDX-License-Identifier: GPL-2.0
/*
 * tap_info.c - what kind of backend a tap is, its interface, and its backlog
 *
 * For netlink, for the setup of a queue, and for the coalescing of received frames. The kernel
 * exports no function that returns the device of a tap's file.
 */
#include "tap.h"

#include <linux/err.h>
#include <linux/fs.h>
#include <linux/if_packet.h>
#include <linux/if_tap.h>
#include <linux/if_tun.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/ptr_ring.h>
#include <linux/seq_file.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>
#include <net/sock.h>

/* @sock may be NULL. */
enum kvnet_backend kvnet_tap_info_kind(const struct socket *sock)
{
	if (!sock)
		return KVNET_BACKEND_NONE;
	if (!IS_ERR(tun_get_tx_ring(sock->file)))
		return KVNET_BACKEND_TAP;
	if (!IS_ERR(tap_get_ptr_ring(sock->file)))
		return KVNET_BACKEND_MACVTAP;
	return KVNET_BACKEND_PACKET;
}

/* RCU, or a reference on @dev. A tun device has @tstats, which the caller may use. */
bool kvnet_tap_info_is_tun(const struct net_device *dev)
{
	const struct rtnl_link_ops *ops = READ_ONCE(dev->rtnl_link_ops);

	return ops && !strcmp(ops->kind, "tun") && dev->tstats;
}

/*
 * The name is that of the file's /proc/PID/fdinfo/FD, for which tun takes the RTNL. If the
 * device has moved to another namespace, a tun device of this name here is another one: direct
 * TX probes the device before it uses it.
 */
static int get_tun_ifindex(struct socket *sock)
{
	const struct file_operations *fops = sock->file->f_op;
	char fdinfo[32] = "", name[IFNAMSIZ] = "";
	struct seq_file m = { .buf = fdinfo, .size = sizeof(fdinfo) };
	struct net_device *dev;
	int ifindex = 0;

	BUILD_BUG_ON(IFNAMSIZ != 16);
	if (fops->show_fdinfo)
		fops->show_fdinfo(&m, sock->file);
	if (sscanf(fdinfo, "iff: %15s", name) != 1)
		return 0;
	rcu_read_lock();
	dev = dev_get_by_name_rcu(sock_net(sock->sk), name);
	if (dev && kvnet_tap_info_is_tun(dev))
		ifindex = dev->ifindex;
	rcu_read_unlock();
	return ifindex;
}

static int get_packet_ifindex(struct socket *sock)
{
	struct sockaddr_storage addr = {};
	const struct sockaddr_ll *sll = (const struct sockaddr_ll *)&addr;

	return kernel_getsockname(sock, (struct sockaddr *)&addr) < 0 ?
	       0 : sll->sll_ifindex;
}

/**
 * kvnet_tap_info_ifindex() - find the interface of a backend
 * @sock: from kvnet_tap_get(), or NULL
 *
 * Context: may sleep; takes the RTNL, so not with vq->lock held.
 * Return: interface index in the socket's network namespace; 0: none there, or unknown, as
 * of each macvtap and ipvtap.
 */
int kvnet_tap_info_ifindex(struct socket *sock)
{
	switch (kvnet_tap_info_kind(sock)) {
	case KVNET_BACKEND_TAP:
		return get_tun_ifindex(sock);
	case KVNET_BACKEND_PACKET:
		return get_packet_ifindex(sock);
	default:
		return 0;
	}
}

static unsigned int ring_frames_of_tap(struct ptr_ring *ring)
{
	unsigned int n;

	spin_lock(&ring->consumer_lock);
	n = READ_ONCE(ring->producer) + ring->size - ring->consumer_head;
	if (n >= ring->size)
		n -= ring->size;
	if (!n && __ptr_ring_peek(ring))
		n = ring->size;
	spin_unlock(&ring->consumer_lock);
	return n;
}

/**
 * kvnet_tap_info_backlog() - count the frames that wait for the guest
 * @tap: the tap, with a socket
 *
 * Context: softirqs off, between kvnet_vq_freeze() and kvnet_vq_unfreeze().
 * Return: frames in the tap's ring, and dequeued from it but not read yet.
 */
unsigned int kvnet_tap_info_backlog(struct kvnet_tap *tap)
{
	unsigned int n = tap->rx_tail - tap->rx_head;

	return n + (tap->ring ? ring_frames_of_tap(tap->ring) :
		    skb_queue_len_lockless(&tap->sock->sk->sk_receive_queue));
}

/* In a session, with a backend. In frames; changes with txqueuelen; 0 for a packet socket. */
unsigned int kvnet_tap_info_ring_size(const struct kvnet_tap *tap)
{
	return tap->ring ? max(READ_ONCE(tap->ring->size), 0) : 0;
}
