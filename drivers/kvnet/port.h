/* SPDX-License-Identifier: GPL-2.0 */
/*
 * port.h - which interface a queue's packets come from, for those who look
 *
 * They have no vq->lock, which may be held for long, nor the backend's file.
 */
#ifndef _KVNET_PORT_H
#define _KVNET_PORT_H

#include <linux/kvnet.h>
#include <linux/spinlock.h>
#include <linux/types.h>

struct net;
struct socket;

/**
 * struct kvnet_port - an interface
 * @lock: guards the rest
 * @kind: of backend
 * @ifindex: in @net; 0: there is none, or it cannot be told
 * @net: its namespace, with a reference; NULL: no backend
 */
struct kvnet_port {
	spinlock_t lock;
	enum kvnet_backend kind;
	int ifindex;
	struct net *net;
};

void kvnet_port_init(struct kvnet_port *port);
void kvnet_port_set(struct kvnet_port *port, struct socket *sock, int ifindex);
void kvnet_port_get(struct kvnet_port *port, struct kvnet_port *copy);
void kvnet_port_put(struct kvnet_port *copy);

#endif /* _KVNET_PORT_H */
