// SPDX-License-Identifier: GPL-2.0
/* A guest behind a bridge: see bridge_rig.h. */
#include <linux/ethtool.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <sys/uio.h>
#include <time.h>

#include "bridge_rig.h"
#include "links.h"

#define MTU	65521		/* as the rig's tap */

struct port port[PORTS];
unsigned int ports;
int bridge;
static long placed;		/* frames of the guest's */
static int host = -1;		/* packet socket: what the bridge passes to the host */

const uint8_t *station(unsigned int nr)
{
	static uint8_t mac[16][6];

	ASSERT(nr < 16);
	memcpy(mac[nr], (uint8_t[6]){ 2, 0, 0, 0, 1, nr }, 6);
	return mac[nr];
}

const uint8_t *port_mac(unsigned int nr)
{
	static uint8_t mac[PORTS][6];

	ASSERT(nr < PORTS);
	memcpy(mac[nr], (uint8_t[6]){ 2, 0, 0, 0, 2, nr }, 6);
	return mac[nr];
}

void bridge_rig_add(unsigned int nr, unsigned int flags)
{
	struct port *p = &port[nr];

	p->fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
	snprintf(p->name, sizeof(p->name), "port%u", nr);
	rig_tap_attach(p->fd, p->name, IFF_VNET_HDR | flags, PACKET_HDR);
	p->ifindex = if_nametoindex(p->name);
	ASSERT_EQ(link_mac(p->ifindex, port_mac(nr)), 0);
	ASSERT_EQ(link_mtu(p->ifindex, MTU), 0);
	ASSERT_EQ(link_up(p->ifindex, true), 0);
}

void bridge_rig_open(unsigned int n, const struct rig_cfg *cfg)
{
	struct rig_cfg c = *cfg;
	unsigned int nr;

	netlink_need();
	c.stopped = true;
	netlink_begin(&c);
	if (bridge_rig_shortcuts() < 0)
		ksft_skip("no short cut");
	vdev_no_spin(&vmm.v);
	vdev_backend(&vmm.v, VDEV_TX, vmm.tap);
	ASSERT_EQ(vmm.v.hdr_len, PACKET_HDR);
	ASSERT_SYS(fcntl(vmm.tap, F_SETFL, O_NONBLOCK));
	port[0] = (struct port){ .fd = vmm.tap, .ifindex = vmm.ifindex };
	strcpy(port[0].name, vmm.name);
	ASSERT_EQ(link_mac(vmm.ifindex, port_mac(0)), 0);
	/* it depends on time what GRO merges */
	ASSERT_EQ(link_feature(vmm.name, ETHTOOL_SGRO, false), 0);
	for (nr = 1; nr < n; nr++)
		bridge_rig_add(nr, IFF_NO_PI);
	ports = n;
	bridge = placed = 0;
}

void bridge_rig_connect(void)
{
	struct rig br = { .ifindex = bridge_add("br0") };
	unsigned int nr;

	bridge = br.ifindex;
	host = rig_packet_socket(&br, ETH_P_ALL, false);
	for (nr = 0; nr < ports; nr++)
		ASSERT_EQ(bridge_join(port[nr].ifindex, bridge), 0);
	for (nr = 0; nr < ports; nr++)
		ASSERT_EQ(bridge_port_forwards(port[nr].ifindex), 0);
}

void bridge_rig_disconnect(void)
{
	close(host);
	host = -1;
	ASSERT_EQ(link_delete(bridge), 0);
	bridge = 0;
}

void bridge_rig_close(void)
{
	unsigned int nr;

	if (host >= 0)
		close(host);
	for (nr = 1; nr < ports; nr++)
		close(port[nr].fd);
	rig_close(&vmm);
}

/* The guest's frames that are sent or dropped. */
static long count_taken(void)
{
	char path[64], line[128], key[64];
	long taken = 0, n;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", vmm.v.fd);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "kvnet.tx.%63[^:]: %ld", key, &n) == 2 &&
		    (!strcmp(key, "packets") || !strncmp(key, "drop_", 5)))
			taken += n;
	fclose(f);
	return taken;
}

void bridge_rig_place(const struct packet *p)
{
	placed++;
	ASSERT_EQ(rig_tx_raw(&vmm, &p->h, p->frame, p->len, NULL), 0);
}

void bridge_rig_kick(void)
{
	vdev_kick(&vmm.v.q[VDEV_TX]);
	ASSERT(rig_tx_drain(&vmm, 3000));
	/* frames are copied: their buffers may come back first */
	ASSERT(WAIT_FOR(3000, count_taken() == placed));
}

int bridge_rig_write(unsigned int nr, const struct packet *p)
{
	const struct iovec v[] = { { (void *)&p->h, PACKET_HDR }, { (void *)p->frame, p->len } };

	return writev(port[nr].fd, v, 2) < 0 ? -errno : 0;
}

bool bridge_rig_read(unsigned int nr, struct packet *p, unsigned int ms)
{
	struct pollfd f = { .fd = nr == HOST ? host : port[nr].fd, .events = POLLIN };
	struct iovec v[] = { { &p->h, PACKET_HDR }, { p->frame, PACKET_MAX } };
	unsigned int skip = nr == HOST;
	ssize_t n;

	if (poll(&f, 1, ms ? ksft_patience(ms) : 0) != 1)
		return false;
	memset(&p->h, 0, sizeof(p->h));
	n = readv(f.fd, v + skip, 2 - skip);
	/* once after it was down: the next call reads */
	if (n < 0 && errno == ENETDOWN)
		return bridge_rig_read(nr, p, 0);
	ASSERT(n >= (skip ? 0 : (ssize_t)PACKET_HDR));
	p->len = n - (skip ? 0 : PACKET_HDR);
	return true;
}

long bridge_rig_shortcuts(void)
{
	return rig_counter(&vmm, "kvnet.tx.packets_shortcut");
}

static uint64_t coarse_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* That clock stands still between ticks. */
void bridge_rig_tick(void)
{
	unsigned int i;
	uint64_t now;

	for (i = 0; i < 2; i++) {
		now = coarse_ns();
		ASSERT(WAIT_FOR(3000, coarse_ns() != now));
	}
}
