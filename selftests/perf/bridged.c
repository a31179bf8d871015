// SPDX-License-Identifier: GPL-2.0
/* Two taps on a bridge: see bridged.h. */
#include "bridge.h"
#include "bridged.h"

#define HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)

/*
 * The bridge has the second guest's address, to which the first one sends, as if it had learnt it
 * from that one's frames, which have the two addresses exchanged.
 */
void bridged_ports(struct port *from, struct port *to)
{
	struct vdev_queue *tx = &to->r.v.q[VDEV_TX];
	int bridge = bridge_add("br0");
	uint8_t address[6], *f;
	unsigned int i;

	ASSERT_EQ(bridge_join(from->r.ifindex, bridge), 0);
	ASSERT_EQ(bridge_join(to->r.ifindex, bridge), 0);
	ASSERT_EQ(bridge_port_forwards(from->r.ifindex), 0);
	ASSERT_EQ(bridge_port_forwards(to->r.ifindex), 0);
	for (i = 0; i < tx->num; i++) {
		f = tx->bufs + (size_t)i * to->buf[VDEV_TX] + HDR;
		memcpy(address, f, 6);
		memcpy(f, f + 6, 6);
		memcpy(f + 6, address, 6);
	}
	ASSERT_EQ(bridge_fdb_set(to->r.ifindex, address, NUD_REACHABLE), 0);
}
