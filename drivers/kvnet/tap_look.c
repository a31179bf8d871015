// SPDX-License-Identifier: GPL-2.0
/*
 * tap_look.c - what a tap is, and how much waits in it: for those who look
 */
#include "tap.h"

#include <linux/err.h>
#include <linux/if_tap.h>
#include <linux/if_tun.h>
#include <linux/net.h>
#include <linux/netdevice.h>
#include <linux/ptr_ring.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/rtnetlink.h>
#include <net/sock.h>

#include <linux/if_packet.h>

/**
 * kvnet_tap_kind() - what kind of backend is it?
 * @sock: from kvnet_tap_get(), or NULL
 *
 * Return: the kind.
 */
enum kvnet_backend kvnet_tap_kind(const struct socket *sock)
{
	if (!sock)
		return KVNET_BACKEND_NONE;
	if (!IS_ERR(tun_get_tx_ring(sock->file)))
		return KVNET_BACKEND_TAP;
	if (!IS_ERR(tap_get_ptr_ring(sock->file)))
		return KVNET_BACKEND_MACVTAP;
	return KVNET_BACKEND_PACKET;
}

/* Of tun's private data this is used: it begins with the queues, see tap_direct.c. */
static bool is_queue_of(const struct net_device *dev, const struct sock *sk)
{
	const struct rtnl_link_ops *ops = READ_ONCE(dev->rtnl_link_ops);
	void *const *queue = netdev_priv(dev);
	unsigned int i, n;

	if (!ops || strcmp(ops->kind, "tun"))
		return false;
	n = min_t(size_t, READ_ONCE(dev->real_num_rx_queues),
		  ops->priv_size / sizeof(*queue));
	for (i = 0; i < n; i++)
		if (READ_ONCE(queue[i]) == sk)
			return true;
	return false;
}

static int tun_ifindex(const struct sock *sk)
{
	struct net_device *dev;
	int ifindex = 0;

	rcu_read_lock();
	for_each_netdev_rcu(sock_net(sk), dev)
		if (is_queue_of(dev, sk)) {
			ifindex = dev->ifindex;
			break;
		}
	rcu_read_unlock();
	return ifindex;
}

static int packet_ifindex(struct socket *sock)
{
	struct sockaddr_storage addr = {};
	const struct sockaddr_ll *sll = (const struct sockaddr_ll *)&addr;

	return kernel_getsockname(sock, (struct sockaddr *)&addr) < 0 ?
	       0 : sll->sll_ifindex;
}

/**
 * kvnet_tap_ifindex() - which interface does a backend belong to?
 * @sock: from kvnet_tap_get()
 *
 * Context: may sleep.
 * Return: its index in the socket's network namespace; 0: it has none there, or is a
 * macvtap or ipvtap, of whose interface the kernel does not tell.
 */
int kvnet_tap_ifindex(struct socket *sock)
{
	switch (kvnet_tap_kind(sock)) {
	case KVNET_BACKEND_TAP:
		return tun_ifindex(sock->sk);
	case KVNET_BACKEND_PACKET:
		return packet_ifindex(sock);
	default:
		return 0;
	}
}

static unsigned int ring_len(struct ptr_ring *ring)
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
 * kvnet_tap_backlog() - how many frames wait for the guest?
 * @tap: the tap, with a socket
 *
 * Context: kvnet_vq_hold_still(), or a session.
 * Return: frames, in the tap and taken from it.
 */
unsigned int kvnet_tap_backlog(struct kvnet_tap *tap)
{
	unsigned int n = tap->rx_tail - tap->rx_head;

	return n + (tap->ring ? ring_len(tap->ring) :
		    skb_queue_len_lockless(&tap->sock->sk->sk_receive_queue));
}

/**
 * kvnet_tap_room() - how many frames can wait in the tap?
 * @tap: with a backend
 *
 * Context: session.
 * Return: as of now (txqueuelen); 0 for a packet socket.
 */
unsigned int kvnet_tap_room(const struct kvnet_tap *tap)
{
	return tap->ring ? max(READ_ONCE(tap->ring->size), 0) : 0;
}
