// SPDX-License-Identifier: GPL-2.0
/* A packet socket as backend: see packet_rig.h. */
#include <net/if.h>

#include "links.h"
#include "packet_rig.h"

#ifndef PACKET_VNET_HDR_SZ
#define PACKET_VNET_HDR_SZ 24
#endif

const struct packet_how packet_bare = { F_V1 | F_MRG | F_NETHDR };

void packet_header(int fd, unsigned int len)
{
	int one = len != 0, size = len;

	ASSERT_SYS(setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR, &one,
			      sizeof(one)));
	if (len == 12 && setsockopt(fd, SOL_PACKET, PACKET_VNET_HDR_SZ, &size,
				    sizeof(size)))
		ksft_skip("PACKET_VNET_HDR_SZ (6.6): %s", strerror(errno));
}

int packet_backend(struct packet_rig *p, int ifindex,
		   const struct packet_how *how)
{
	int fd;

	p->r.ifindex = ifindex;
	fd = rig_packet_socket(&p->r, how->proto ? how->proto : ETH_P_ALL,
			       false);
	packet_header(fd, how->vnet);
	return fd;
}

void packet_attach(struct packet_rig *p, int fd)
{
	if (__vdev_backend(&p->r.v, VDEV_RX, fd) == -ENOTSOCK)
		ksft_skip("packet sockets are not supported");
	vdev_backend(&p->r.v, VDEV_RX, fd);
	vdev_backend(&p->r.v, VDEV_TX, fd);
}

void packet_veth(struct packet_rig *p)
{
	int ret = link_add_veth("near", "far");

	if (ret)
		ksft_skip("no veth: %s", strerror(-ret));
	p->near = if_nametoindex("near");
	p->far = if_nametoindex("far");
	ASSERT_EQ(link_mtu(p->near, PACKET_MTU), 0);
	ASSERT_EQ(link_mtu(p->far, PACKET_MTU), 0);
	ASSERT_EQ(link_pair_up(p->near, p->far), 0);
}

void packet_open(struct packet_rig *p, const struct packet_how *how)
{
	int fd;

	rig_open(&p->r, &(struct rig_cfg){ .stopped = true,
		 .features = how->features, .rx_buf = how->rx_buf,
		 .tx_buf = PACKET_MTU + 100 });
	p->flow = (struct flow){ .r = &p->r };
	packet_veth(p);
	fd = packet_backend(p, p->near, how);
	flow_swap(&p->r, fd, p->far);
	packet_attach(p, fd);
	flow_recovers(&p->flow);
}
