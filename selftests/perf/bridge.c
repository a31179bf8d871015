// SPDX-License-Identifier: GPL-2.0
/* Two taps on a bridge: see bridge.h. */
#define _GNU_SOURCE
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge.h"

#define HDR	sizeof(struct virtio_net_hdr_mrg_rxbuf)

/* By bash: the shell of busybox takes an ip of its own, which knows less. */
void bridge_shell(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	ASSERT_EQ(system(command), 0);
}

/* One more frame of the second guest's own; does it come to the first one's tap? */
static bool is_learnt(struct port *from, struct port *to)
{
	struct pollfd tap = { .fd = from->r.tap, .events = POLLIN };

	port_tx_start(to, 1);
	port_wait(to, VDEV_TX);
	return poll(&tap, 1, 0) == 1;
}

/*
 * Without multicast snooping the bridge sends no frames of its own. It learns the second guest's
 * address, to which the first one sends, from frames with the two addresses exchanged.
 */
void bridge_ports(struct port *from, struct port *to)
{
	struct pollfd tap = { .fd = from->r.tap, .events = POLLIN };
	struct vdev_queue *tx = &to->r.v.q[VDEV_TX];
	static uint8_t frame[HDR + 65536];
	uint8_t address[6], *f;
	unsigned int i;

	bridge_shell("exec bash -c 'modprobe -qa bridge; ip link add br0 type bridge mcast_snooping 0 && "
		     "ip link set %s master br0 && ip link set %s master br0 && ip link set br0 up'",
		     from->r.name, to->r.name);
	for (i = 0; i < tx->num; i++) {
		f = tx->bufs + (size_t)i * to->buf[VDEV_TX] + HDR;
		memcpy(address, f, 6);
		memcpy(f, f + 6, 6);
		memcpy(f + 6, address, 6);
	}
	port_attach(to, VDEV_TX, true);
	/* a port of a bridge does not forward at once */
	ASSERT(WAIT_FOR(8000, is_learnt(from, to)));
	port_attach(to, VDEV_TX, false);
	while (poll(&tap, 1, 0) == 1)
		ASSERT_SYS(read(from->r.tap, frame, sizeof(frame)));
}
