// SPDX-License-Identifier: GPL-2.0
/*
 * port.c - the interface of a queue, see port.h
 */
#include "port.h"

#include <linux/net.h>
#include <net/net_namespace.h>
#include <net/sock.h>

#include "tap.h"

/**
 * kvnet_port_init() - before first use
 * @port: the port, zeroed
 */
void kvnet_port_init(struct kvnet_port *port)
{
	spin_lock_init(&port->lock);
}

/**
 * kvnet_port_set() - the queue gets another backend
 * @port: the port
 * @sock: from kvnet_tap_get(); NULL: none
 * @ifindex: from kvnet_tap_ifindex(); 0: none
 *
 * Context: may sleep; calls exclude each other.
 */
void kvnet_port_set(struct kvnet_port *port, struct socket *sock, int ifindex)
{
	struct net *net = sock ? get_net(sock_net(sock->sk)) : NULL;

	spin_lock(&port->lock);
	swap(port->net, net);
	port->ifindex = ifindex;
	WRITE_ONCE(port->kind, kvnet_tap_kind(sock));
	spin_unlock(&port->lock);
	if (net)
		put_net(net);
}

/**
 * kvnet_port_get() - look
 * @port: the port
 * @copy: filled in, but for the lock; for kvnet_port_put()
 *
 * Context: any process.
 */
void kvnet_port_get(struct kvnet_port *port, struct kvnet_port *copy)
{
	spin_lock(&port->lock);
	copy->kind = port->kind;
	copy->ifindex = port->ifindex;
	copy->net = port->net ? get_net(port->net) : NULL;
	spin_unlock(&port->lock);
}

/**
 * kvnet_port_put() - have looked
 * @copy: from kvnet_port_get()
 */
void kvnet_port_put(struct kvnet_port *copy)
{
	if (copy->net)
		put_net(copy->net);
}
