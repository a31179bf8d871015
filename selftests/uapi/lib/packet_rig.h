/* SPDX-License-Identifier: GPL-2.0 */
/*
 * packet_rig - a rig whose backend is a packet socket, bound to one end of a
 * veth pair; the other end is the network.
 */
#ifndef SELFTESTS_PACKET_RIG_H
#define SELFTESTS_PACKET_RIG_H

#include <linux/if_packet.h>
#include <net/ethernet.h>

#include "flow.h"

#define PACKET_MTU	9000

/* The virtio-net header: none by the socket (the device makes it), or of which length? */
struct packet_how {
	uint64_t features;
	unsigned int vnet;	/* 0, 10 or 12 */
	unsigned int rx_buf;
	int proto;
};

struct packet_rig {
	struct rig r;
	struct flow flow;
	int near;		/* ends of the pair */
	int far;
};

/* Mergeable, and the device makes the header. */
extern const struct packet_how packet_bare;

void packet_header(int fd, unsigned int len);
int packet_backend(struct packet_rig *p, int ifindex,
		   const struct packet_how *how);
/* Skips the case where packet sockets are no backends. */
void packet_attach(struct packet_rig *p, int fd);
void packet_veth(struct packet_rig *p);
void packet_open(struct packet_rig *p, const struct packet_how *how);

#endif /* SELFTESTS_PACKET_RIG_H */
