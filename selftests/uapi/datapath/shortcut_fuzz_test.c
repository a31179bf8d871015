// SPDX-License-Identifier: GPL-2.0
/*
 * No frame reaches a guest to which the bridge would not have sent it, none is lost, and none
 * overtakes another. Random bridges, changes of them and frames, each twice: without the short
 * cut and with it. Whatever arrives at the ports and at the host must be the same, in that order.
 *
 *   SHORTCUT_SECONDS=N		for so long
 *   SHORTCUT_SEED=1f3a20c7	this bridge alone, and say what is done
 *
 * @hosts: 6.1 newest
 * @seconds: 12
 */
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdarg.h>

#include "bridge_rig.h"
#include "filters.h"
#include "links.h"

#define STATIONS	12	/* those behind ports, and others */
#define BATCH_MAX	64	/* frames */
#define LEN_MAX		6000	/* bytes of a frame */
#define SHARE		2	/* per cent of the frames that take the short cut, at least */

#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/*** what arrives, and the answers to changes ***/

#define CHANGE	0xff		/* in place of a port */

struct record {
	uint8_t port;
	uint16_t step;
	int len;		/* or the answer */
	uint32_t sum;
};

struct log {
	unsigned int n;
	struct record r[100000];
};

static struct log by_bridge, by_shortcut, *records;
static uint16_t step;
static bool tells;

static void tell(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
static void tell(const char *fmt, ...)
{
	char text[128];
	va_list ap;

	if (!tells)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ksft_note("%u: %s", step, text);
}

static void record(uint8_t nr, int len, uint32_t sum)
{
	ASSERT(records->n < ARRAY_SIZE(records->r));
	records->r[records->n++] = (struct record){ nr, step, len, sum };
}

static struct packet packet;
static uint32_t seq;
/* of both runs */
static struct { unsigned long bridges, changes, frames, shortcuts; } tally;

static uint32_t sum_of(const struct packet *p)
{
	const struct virtio_net_hdr *h = &p->h.hdr;
	uint32_t sum = h->flags * 7 + h->gso_type * 5 + h->gso_size * 3 + h->csum_start, i;

	for (i = 0; i < p->len; i++)
		sum = sum * 31 + p->frame[i];
	return sum;
}

static void receive(void)
{
	unsigned int nr;

	for (nr = 0; nr <= HOST; nr++)
		while (bridge_rig_read(nr, &packet, 0)) {
			packet_complete(&packet);
			record(nr, packet.len, sum_of(&packet));
			tell("port %u: %u bytes, sum %x", nr, packet.len, sum_of(&packet));
		}
}

/*** frames ***/

static const uint8_t *any_destination(void)
{
	static const uint8_t special[][6] = {
		{ 255, 255, 255, 255, 255, 255 }, { 1, 0, 0x5e, 1, 2, 3 },
		{ 0x33, 0x33, 0, 0, 0, 1 },
		{ 1, 0x80, 0xc2, 0, 0, 0 }, { 1, 0x80, 0xc2, 0, 0, 1 }, { 1, 0x80, 0xc2, 0, 0, 14 },
		{ 0, 0, 0, 0, 0, 0 },
	};
	uint32_t kind = ksft_below(100);

	if (kind < 75)
		return station(ksft_below(ports));
	if (kind < 85)
		return station(ksft_below(STATIONS));
	return kind < 92 ? port_mac(ksft_below(PORTS)) : special[ksft_below(ARRAY_SIZE(special))];
}

static const uint8_t *any_source(void)
{
	uint32_t kind = ksft_below(100);

	if (kind < 90)
		return station(ksft_percent(80) ? 0 : STATIONS - 1);
	return kind < 97 ? station(ksft_below(STATIONS)) : any_destination();
}

static uint32_t any_len(void)
{
	/* around the MTUs that ports have, with an Ethernet header and a tag, and around a page */
	static const uint32_t edges[] = { 600 + 18, 1500 + 18, 3500, 4096, 4082 };
	uint32_t kind = ksft_below(100);

	if (kind < 60)
		return PACKET_MIN + ksft_below(200);
	if (kind < 80)
		return PACKET_MIN + ksft_below(1514 - PACKET_MIN);
	if (kind < 95)
		return edges[ksft_below(ARRAY_SIZE(edges))] + ksft_below(7) - 3;
	return 2000 + ksft_below(LEN_MAX - 2000);
}

/* As no driver makes it. */
static void spoil(struct packet *p)
{
	struct virtio_net_hdr *h = &p->h.hdr;

	switch (ksft_below(5)) {
	case 0:
		h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		h->csum_start = ksft_below(p->len + 10);
		h->csum_offset = ksft_below(ksft_percent(50) ? 20 : p->len);
		break;
	case 1:
		h->flags = VIRTIO_NET_HDR_F_NEEDS_CSUM;
		h->csum_start = ksft_below(40);
		h->csum_offset = ksft_below(20);
		break;
	case 2:
		p->frame[ETH_HLEN + ksft_below(40)] = ksft_below(256);
		break;
	case 3:
		p->frame[12 + ksft_below(2)] = ksft_below(256);
		break;
	default:
		p->len = ksft_percent(20) ? ksft_below(ETH_HLEN) : ETH_HLEN + ksft_below(60);
	}
}

/* Most frames of a batch are from one station to another. */
static void send_batch(void)
{
	const uint8_t *dst = ksft_percent(80) ? station(1 + ksft_below(ports - 1)) : any_destination();
	const uint8_t *src = ksft_percent(80) ? station(0) : any_source();
	unsigned int n = 1 + ksft_below(ksft_percent(70) ? BATCH_MAX : 8);
	bool some_spoilt = ksft_percent(30);	/* behind such a frame, none takes the short cut */
	enum packet_kind kind;

	while (n--) {
		kind = ksft_below(ksft_percent(75) ? PACKET_SHORT_CUT : PACKET_KINDS);
		if (ksft_percent(5))
			dst = any_destination();
		if (ksft_percent(3))
			src = any_source();
		/* one from another station moves it to the guest's port, in the middle of a batch */
		packet_make(&packet, kind, ksft_percent(15) ? any_destination() : dst,
			    ksft_below(150) ? src : station(ksft_below(ports)), any_len(), seq++);
		if (some_spoilt && ksft_percent(8) && kind != PACKET_GSO)
			spoil(&packet);
		tell("sends %u: kind %u, %u bytes, to %02x:%02x, from %02x:%02x, csum %u: %u + %u",
		     seq - 1, kind, packet.len, packet.frame[4], packet.frame[5],
		     packet.frame[10], packet.frame[11], packet.h.hdr.flags,
		     packet.h.hdr.csum_start, packet.h.hdr.csum_offset);
		bridge_rig_place(&packet);
		tally.frames++;
	}
	bridge_rig_kick();
	receive();
}

static void speak(unsigned int nr, const uint8_t *mac)
{
	packet_make(&packet, ksft_below(PACKET_KINDS), any_destination(), mac, any_len(), seq++);
	tell("port %u: station %u speaks to %02x:%02x", nr, mac[5], packet.frame[4],
	     packet.frame[5]);
	record(CHANGE, bridge_rig_write(nr, &packet), 0);
	receive();
}

/*** changes ***/

static bool joined[PORTS], no_age;	/* an ageing time of 0: entries do not last */

static void set_promiscuous(bool on)
{
	int fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	struct ifreq ifr = { .ifr_name = "br0" };

	ASSERT_SYS(ioctl(fd, SIOCGIFFLAGS, &ifr));
	ifr.ifr_flags = on ? ifr.ifr_flags | IFF_PROMISC : ifr.ifr_flags & ~IFF_PROMISC;
	ASSERT_SYS(ioctl(fd, SIOCSIFFLAGS, &ifr));
	close(fd);
}

static void set_ageing(bool zero)
{
	no_age = zero;
	bridge_set(bridge, IFLA_BR_AGEING_TIME, zero ? 0 : 30000, 4);
	bridge_set(bridge, IFLA_BR_FDB_FLUSH, 0, 0);
}

static void set_offloads(unsigned int nr, unsigned int offloads)
{
	ASSERT_SYS(ioctl(port[nr].fd, TUNSETOFFLOAD, offloads));
}

/* Of a port, what a new one has; and what it may be set to besides. */
static const struct flag {
	unsigned short attr;
	uint8_t usual, other;
} flags[] = {
	{ IFLA_BRPORT_STATE, BR_STATE_FORWARDING, BR_STATE_LISTENING },
	{ IFLA_BRPORT_STATE, BR_STATE_FORWARDING, BR_STATE_LEARNING },
	{ IFLA_BRPORT_STATE, BR_STATE_FORWARDING, BR_STATE_DISABLED },
	{ IFLA_BRPORT_ISOLATED, 0, 1 },
	{ IFLA_BRPORT_ISOLATED, 0, 1 },
	{ IFLA_BRPORT_LEARNING, 1, 0 },
	{ IFLA_BRPORT_UNICAST_FLOOD, 1, 0 },
	{ IFLA_BRPORT_BCAST_FLOOD, 1, 0 },
	{ IFLA_BRPORT_LOCKED, 0, 1 },
	{ IFLA_BRPORT_MODE, 0, 1 },	/* hairpin */
	{ IFLA_BRPORT_NEIGH_SUPPRESS, 0, 1 },
	{ IFLA_BRPORT_PROXYARP, 0, 1 },
};

static int change_flag(unsigned int nr, bool usual)
{
	const struct flag *f = &flags[ksft_below(ARRAY_SIZE(flags))];

	tell("port %u: attribute %u is %u", nr, f->attr, usual ? f->usual : f->other);
	return bridge_port_set(port[nr].ifindex, f->attr, usual ? f->usual : f->other);
}

static int change_station(unsigned int nr)
{
	static const uint16_t states[] = { NUD_REACHABLE, NUD_NOARP, NUD_PERMANENT };
	const uint8_t *mac = station(ksft_below(STATIONS));
	uint16_t nud = states[ksft_below(ksft_percent(80) ? 2 : 3)];

	if (ksft_percent(30)) {
		tell("port %u: station %u is deleted", nr, mac[5]);
		return bridge_fdb_delete(port[nr].ifindex, mac);
	}
	if (no_age && nud == NUD_REACHABLE)
		nud = NUD_NOARP;
	tell("port %u: station %u is there, state %x", nr, mac[5], nud);
	return bridge_fdb_set(port[nr].ifindex, mac, nud);
}

static int change_vlan(unsigned int nr)
{
	static const uint16_t all[] = { 0, BRIDGE_VLAN_INFO_UNTAGGED,
					BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_UNTAGGED,
					BRIDGE_VLAN_INFO_PVID };
	int ifindex = ksft_percent(10) ? bridge : port[nr].ifindex;
	uint16_t vid = ksft_percent(50) ? 1 : 5, how = all[ksft_below(4)];

	if (ksft_percent(30)) {
		tell("VLAN %u of device %d is deleted", vid, ifindex);
		return bridge_vlan_delete(ifindex, ifindex == bridge, vid);
	}
	tell("VLAN %u of device %d is there, flags %x", vid, ifindex, how);
	return bridge_vlan_add(ifindex, ifindex == bridge, vid, how);
}

static int change_membership(unsigned int nr, bool usual)
{
	joined[nr] = usual;
	tell("port %u: %s the bridge", nr, usual ? "joins" : "leaves");
	return bridge_join(port[nr].ifindex, usual ? bridge : 0);
}

static int change_mtu(unsigned int nr)
{
	static const uint32_t mtus[] = { 600, 1500, 65521 };
	uint32_t mtu = mtus[ksft_below(3)];

	tell("port %u: an MTU of %u", nr, mtu);
	return link_mtu(port[nr].ifindex, mtu);
}

static int change_bridge(bool usual)
{
	switch (ksft_below(4)) {
	case 0:
		tell("the bridge is %s", usual ? "up" : "down");
		return link_up(bridge, usual);
	case 1:
		tell("the bridge is %spromiscuous", usual ? "not " : "");
		set_promiscuous(!usual);
		return 0;
	case 2:
		tell("VLAN filtering is %s", usual ? "off" : "on");
		return bridge_set(bridge, IFLA_BR_VLAN_FILTERING, !usual, 1);
	default:
		tell("ageing is %s", usual ? "usual" : "0");
		set_ageing(!usual);
		return 0;
	}
}

static void change(void)
{
	unsigned int nr = ksft_below(ports);
	bool usual = ksft_percent(60);
	int ret = 0;

	switch (ksft_below(joined[nr] ? 20 : 4)) {
	case 0:
		ret = change_membership(nr, usual);
		break;
	case 1:
		tell("port %u: the link is %s", nr, usual ? "up" : "down");
		ret = link_up(port[nr].ifindex, usual);
		break;
	case 2:
		set_offloads(nr, usual ? 0 : TUN_F_CSUM | TUN_F_TSO4);
		break;
	case 3:
		ret = change_mtu(nr);
		break;
	case 4 ... 10:
		ret = change_flag(nr, usual);
		break;
	case 11 ... 15:
		ret = change_station(nr);
		break;
	case 16:
		ret = change_vlan(nr);
		break;
	case 17:
		filter_tc_end();
		if (!usual)
			ret = filter_tc(port[nr].ifindex, nr);
		tell("port %u: a tc program drops: %d", nr, !usual);
		break;
	default:
		ret = change_bridge(usual);
	}
	record(CHANGE, ret, 0);
}

/* All as it is at first. */
static void repair(void)
{
	unsigned int nr, i;

	tell("repair");
	filter_tc_end();
	link_up(bridge, true);
	set_promiscuous(false);
	bridge_set(bridge, IFLA_BR_VLAN_FILTERING, 0, 1);
	set_ageing(false);
	for (nr = 0; nr < ports; nr++) {
		link_up(port[nr].ifindex, true);
		link_mtu(port[nr].ifindex, 65521);
		set_offloads(nr, 0);
		change_membership(nr, true);
		for (i = 0; i < ARRAY_SIZE(flags); i++)
			bridge_port_set(port[nr].ifindex, flags[i].attr, flags[i].usual);
	}
	for (i = 0; i < ports * STATIONS; i++)
		bridge_fdb_delete(port[i / STATIONS].ifindex, station(i % STATIONS));
}

static void all_speak(void)
{
	unsigned int nr;

	for (nr = 1; nr < ports; nr++)
		if (joined[nr] && ksft_percent(90))
			speak(nr, station(nr));
}

/*** both runs ***/

static void one_step(bool shortcut)
{
	unsigned int i, n, nr;

	if (ksft_percent(25)) {
		repair();
		all_speak();
	}
	if (ksft_percent(60)) {
		n = 1 + ksft_below(3);
		for (i = 0; i < n; i++)
			change();
		tally.changes += n;
	}
	if (ksft_percent(40))
		speak(1 + ksft_below(ports - 1), station(ksft_below(STATIONS)));
	if (shortcut)
		bridge_rig_tick();
	n = 1 + ksft_below(5);
	for (i = 0; i < n; i++) {
		send_batch();
		nr = 1 + ksft_below(ports - 1);
		if (ksft_percent(50))
			speak(nr, station(nr));
	}
}

static void run(uint32_t seed, bool shortcut, struct log *log)
{
	long shortcuts = bridge_rig_shortcuts();
	unsigned int n, nr;

	vdev_parameter("shortcut", shortcut ? 'Y' : 'N');
	records = log;
	records->n = 0;
	/* the same random numbers for both runs */
	ksft_random_from(seed);
	seq = step = 0;
	ports = 3 + ksft_below(PORTS - 2);
	bridge_rig_connect();
	for (nr = 0; nr < ports; nr++)
		joined[nr] = true;
	all_speak();
	n = 6 + ksft_below(8);
	for (step = 0; step < n && !ksft_failed(); step++)
		one_step(shortcut);
	repair();
	bridge_rig_disconnect();
	ports = PORTS;
	if (shortcut)
		tally.shortcuts += bridge_rig_shortcuts() - shortcuts;
	else
		EXPECT_EQ(bridge_rig_shortcuts(), shortcuts);
}

static void print(const char *how, const struct log *log, unsigned int i)
{
	const struct record *r = &log->r[i];

	if (i >= log->n)
		ksft_note("%s: no more", how);
	else if (r->port == CHANGE)
		ksft_note("%s: step %u: the answer to a change is %d", how, r->step, r->len);
	else
		ksft_note("%s: step %u: %u bytes at port %u, sum %x", how, r->step, r->len, r->port,
			  r->sum);
}

static bool is_same(const struct record *a, const struct record *b)
{
	return a->port == b->port && a->step == b->step && a->len == b->len && a->sum == b->sum;
}

static void compare(uint32_t seed)
{
	unsigned int i = 0;

	while (i < by_bridge.n && i < by_shortcut.n && is_same(&by_bridge.r[i], &by_shortcut.r[i]))
		i++;
	if (i == by_bridge.n && i == by_shortcut.n)
		return;
	FAIL("another outcome with the short cut: SHORTCUT_SEED=%x", seed);
	print("without", &by_bridge, i);
	print("with", &by_shortcut, i);
}

static void one_bridge(uint32_t seed)
{
	run(seed, false, &by_bridge);
	run(seed, true, &by_shortcut);
	compare(seed);
	tally.bridges++;
}

static unsigned int seconds(void)
{
	const char *s = getenv("SHORTCUT_SECONDS");

	return s && *s ? strtoul(s, NULL, 10) : 10;
}

CASE_TIMED(shortcut_outcome_is_that_of_bridge, 100000)
{
	const char *seed = getenv("SHORTCUT_SEED");
	unsigned long frames;
	uint64_t end;

	vdev_parameter("tx_inline", 'N');
	bridge_rig_open(PORTS, &(struct rig_cfg){ .tx_buf = LEN_MAX + 64 });
	end = ksft_now_ms() + seconds() * 1000;
	tells = seed && *seed;
	if (tells)
		one_bridge(strtoul(seed, NULL, 16));
	while (!tells && !ksft_failed() && ksft_now_ms() < end)
		one_bridge(ksft_random());
	frames = tally.frames / 2;
	ksft_note("%lu bridges, %lu changes, %lu frames, %lu by the short cut", tally.bridges,
		  tally.changes / 2, frames, tally.shortcuts);
	if (!tells)
		EXPECT_GE(tally.shortcuts, frames * SHARE / 100);
	bridge_rig_close();
}

KSFT_MAIN()
