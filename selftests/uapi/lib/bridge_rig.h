/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bridge_rig - a guest (vmm) that only sends, and whose tap is a port of a bridge; the other ports
 * are taps whose frames the test reads.
 */
#ifndef SELFTESTS_BRIDGE_RIG_H
#define SELFTESTS_BRIDGE_RIG_H

#include "bridge.h"
#include "netlink_rig.h"
#include "packets.h"

#define PORTS	5	/* at most; the guest's is number 0 */
#define HOST	PORTS	/* the bridge's own device, where the test is the host */

struct port {
	int fd;
	int ifindex;
	char name[16];
};

extern struct port port[PORTS];
extern unsigned int ports;
extern int bridge;		/* its index, 0: there is none */

/* The station behind a port: its MAC. And that of the port's own device. */
const uint8_t *station(unsigned int nr);
const uint8_t *port_mac(unsigned int nr);

/* So many ports, and no bridge yet. Skips the case where there is no short cut. */
void bridge_rig_open(unsigned int n, const struct rig_cfg *cfg);
/* A new tap, with IFF_NO_PI or other flags: no port yet, but it will have this number. */
void bridge_rig_add(unsigned int nr, unsigned int flags);
/* A new bridge, of all ports; and none. */
void bridge_rig_connect(void);
void bridge_rig_disconnect(void);
void bridge_rig_close(void);

/* Places a frame of the guest's; then shows all of them at once, and waits until they are sent. */
void bridge_rig_place(const struct packet *p);
void bridge_rig_kick(void);
/* The station behind a port sends; 0 or -errno. */
int bridge_rig_write(unsigned int nr, const struct packet *p);
/* The next frame that has arrived at a port, or at HOST; false after ms. */
bool bridge_rig_read(unsigned int nr, struct packet *p, unsigned int ms);
/* How many frames have taken the short cut. */
long bridge_rig_shortcuts(void);
/* Two ticks of the clock: what has been seen of the bridge before does not count any more. */
void bridge_rig_tick(void);

#endif /* SELFTESTS_BRIDGE_RIG_H */
