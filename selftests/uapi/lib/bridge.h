/* SPDX-License-Identifier: GPL-2.0 */
/*
 * bridge - bridges and their ports, as an operator configures them: by rtnetlink. For the network
 * namespace of the caller. All return 0 or -errno.
 */
#ifndef SELFTESTS_BRIDGE_H
#define SELFTESTS_BRIDGE_H

#include <linux/if_bridge.h>
#include <linux/if_link.h>
#include <linux/neighbour.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One that is up, without delays and snooping; its index. Skips the case where there is none. */
int bridge_add(const char *name);
/* IFLA_BR_* of a bridge, a number of that many bytes; of 0: a flag */
int bridge_set(int bridge, unsigned short attr, uint32_t value, size_t len);
/* The interface becomes a port of the bridge; 0: of none. */
int bridge_join(int port, int bridge);
/* A new bridge of these n ports, all of which forward; its index. */
int bridge_of(const char *name, const int *port, unsigned int n);
/* IFLA_BRPORT_* of a port */
int bridge_port_set(int port, unsigned short attr, uint8_t value);
/* Waits until the port forwards, which it does not do from its first moment on. */
int bridge_port_forwards(int port);
/*
 * A station behind a port: NUD_REACHABLE as if it was learnt, NUD_NOARP does not move,
 * NUD_PERMANENT: it is the host itself. An entry that is there is changed.
 */
int bridge_fdb_set(int port, const uint8_t *mac, uint16_t state);
int bridge_fdb_delete(int port, const uint8_t *mac);
/* A VLAN of a port; BRIDGE_VLAN_INFO_*; self: of the bridge itself */
int bridge_vlan_add(int port, bool self, uint16_t vid, uint16_t flags);
int bridge_vlan_delete(int port, bool self, uint16_t vid);

#endif /* SELFTESTS_BRIDGE_H */
