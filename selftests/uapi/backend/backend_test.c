// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of tun, tap, macvtap and ipvtap as backend: frames of all lengths
 * both ways, compared byte by byte.
 *
 * @hosts: 6.1
 * @seconds: 8
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"
#include "links.h"

#define TUN_FLAGS	(IFF_NO_PI | IFF_VNET_HDR)
#define LEGACY		BIT64(VIRTIO_F_NOTIFY_ON_EMPTY)

static struct rig rig;

/* sndbuf 0: leave it */
static int open_tun(const char *name, unsigned int flags, int hdr, int sndbuf)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC);
	struct ifreq ifr = { .ifr_flags = flags };

	if (fd < 0)
		ksft_skip("/dev/net/tun: %s", strerror(errno));
	strcpy(ifr.ifr_name, name);
	if (ioctl(fd, TUNSETIFF, &ifr))
		ksft_skip("%s, flags %#x: %s", name, flags, strerror(errno));
	if (flags & IFF_VNET_HDR)
		ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &hdr));
	if (sndbuf)
		ASSERT_SYS(ioctl(fd, TUNSETSNDBUF, &sndbuf));
	return fd;
}

static void exchange(struct flow *f)
{
	static const uint32_t odd[] = { FRAME_MIN, 61, 62, 63, 64, 65, 1513 };
	unsigned int i;

	flow_exact(f, 32, flow_lens, FLOW_LENS);
	flow_exact(f, 3, odd, sizeof(odd) / sizeof(odd[0]));
	for (i = 0; i < 2; i++) {	/* stop and go on */
		rig_stop(f->r);
		rig_start(f->r);
		flow_exact(f, 8, flow_lens, FLOW_LENS);
	}
}

static void swap_to_tap(struct rig *r, const char *name, int fd)
{
	flow_swap(r, fd, if_nametoindex(name));
	ASSERT_EQ(link_up(r->ifindex, true), 0);
	rig_start(r);
}

static void one_tap(unsigned int flags, int sndbuf, uint64_t features)
{
	struct flow f = { .r = &rig };

	rig_open(&rig, &(struct rig_cfg){ .stopped = true,
					  .features = features });
	swap_to_tap(&rig, "t0", open_tun("t0", flags, rig.v.hdr_len, sndbuf));
	exchange(&f);
	rig_close(&rig);
}

CASE(tap_as_qemu_opens_it)
{
	one_tap(IFF_TAP | TUN_FLAGS, INT_MAX, 0);
	one_tap(IFF_TAP | TUN_FLAGS, INT_MAX, LEGACY);
}

CASE(tap_with_a_limited_send_buffer)
{
	one_tap(IFF_TAP | TUN_FLAGS, 1 << 20, 0);
	one_tap(IFF_TAP | TUN_FLAGS, 4096, 0);	/* a frame or two */
	one_tap(IFF_TAP | TUN_FLAGS, 4096, LEGACY);
}

CASE(tap_without_header)
{
	one_tap(IFF_TAP | IFF_NO_PI, INT_MAX, F_V1 | F_MRG | F_NETHDR);
	one_tap(IFF_TAP | IFF_NO_PI, INT_MAX, LEGACY | F_NETHDR);
	one_tap(IFF_TAP | IFF_NO_PI, 8192, F_V1 | F_NETHDR);
}

/* What the guest sends goes through NAPI and GRO. */
CASE(tap_with_napi)
{
	one_tap(IFF_TAP | TUN_FLAGS | IFF_NAPI, INT_MAX, 0);
	/* vhost_net says MSG_MORE, and waits for room that NAPI has */
	if (!vdev_is_vhost())
		one_tap(IFF_TAP | TUN_FLAGS | IFF_NAPI, 65536, 0);
	one_tap(IFF_TAP | TUN_FLAGS | IFF_NAPI | IFF_MULTI_QUEUE, INT_MAX, 0);
	one_tap(IFF_TAP | IFF_NO_PI | IFF_NAPI, INT_MAX, F_V1 | F_NETHDR);
}

CASE(persistent_tap_opened_again)
{
	struct flow f = { .r = &rig };
	unsigned int i;
	int fd;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	fd = open_tun("t0", IFF_TAP | TUN_FLAGS, rig.v.hdr_len, 0);
	ASSERT_SYS(ioctl(fd, TUNSETPERSIST, 1));
	close(fd);
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		fd = open_tun("t0", IFF_TAP | TUN_FLAGS, rig.v.hdr_len, 0);
		swap_to_tap(&rig, "t0", fd);
		flow_exact(&f, 16, flow_lens, FLOW_LENS);
		rig_stop(&rig);
		if (i == 2)
			ASSERT_SYS(ioctl(fd, TUNSETPERSIST, 0));
		close(fd);
		rig.tap = -1;
	}
}

/* One queue of the tap receives, the other one sends. */
CASE(two_queues_of_a_tap_for_one_device)
{
	const unsigned int flags = IFF_TAP | TUN_FLAGS | IFF_MULTI_QUEUE;
	struct flow f = { .r = &rig };
	int other, off = IFF_DETACH_QUEUE;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	other = open_tun("t0", flags, rig.v.hdr_len, INT_MAX);
	flow_swap(&rig, open_tun("t0", flags, rig.v.hdr_len, INT_MAX),
		  if_nametoindex("t0"));
	ASSERT_EQ(link_up(rig.ifindex, true), 0);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	vdev_backend(&rig.v, VDEV_TX, other);
	f.one_way = true;	/* which queue the host takes is its choice */
	flow_exact(&f, 16, flow_lens, FLOW_LENS);
	/* a detached queue sends nothing, and the other one gets everything */
	ASSERT_SYS(ioctl(other, TUNSETQUEUE,
			 &(struct ifreq){ .ifr_flags = off }));
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	f.one_way = false;
	flow_exact(&f, 16, flow_lens, FLOW_LENS);
}

CASE(a_queue_each_for_two_devices)
{
	const unsigned int flags = IFF_TAP | TUN_FLAGS | IFF_MULTI_QUEUE;
	static struct rig second;
	struct flow f = { .r = &rig, .one_way = true };
	struct flow g = { .r = &second, .one_way = true };
	unsigned int i;

	rig_open(&second, &(struct rig_cfg){ .stopped = true });
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	swap_to_tap(&rig, "t0", open_tun("t0", flags, 12, INT_MAX));
	swap_to_tap(&second, "t0", open_tun("t0", flags, 12, INT_MAX));
	/* both listen to the one device: let only one of them read */
	g.r->tx_seq = 1 << 20;
	for (i = 0; i < 8 && !ksft_failed(); i++) {
		uint8_t drop[2048];

		flow_exact(&f, 16, flow_lens, FLOW_LENS);
		while (rig_sniff(&second, drop, sizeof(drop), 0) >= 0)
			;
		flow_exact(&g, 16, flow_lens, FLOW_LENS);
		while (rig_sniff(&rig, drop, sizeof(drop), 0) >= 0)
			;
	}
	rig_rx_post(&rig, 128, NULL);
	rig_rx_post(&second, 128, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	vdev_kick(&second.v.q[VDEV_RX]);
	for (i = 0; i < 100; i++)
		rig_inject(&rig, i, 500);
	ASSERT(WAIT_FOR(3000, gr_used_waiting(&rig.v.q[VDEV_RX].ring) +
			gr_used_waiting(&second.v.q[VDEV_RX].ring) == 100));
}

/* A tun device carries IP packets: the first byte must say so. */
static void make_packet(uint8_t *p, uint32_t seq, uint32_t len)
{
	frame_make(p, seq, len);
	p[0] = 0x45;
}

static bool packet_check(uint8_t *p, ssize_t n, uint32_t seq, uint32_t len)
{
	if (n < 0) {
		FAIL("packet %u of %u did not arrive", seq, len);
		return false;
	}
	EXPECT_EQ(p[0], 0x45);
	p[0] = 2;
	return frame_check(p, n, seq, len);
}

static void open_layer3(int sndbuf, unsigned int more)
{
	struct flow f = { .r = &rig };

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	swap_to_tap(&rig, "n0", open_tun("n0", IFF_TUN | TUN_FLAGS | more,
					 rig.v.hdr_len, sndbuf));
	close(f.r->sniff);
	rig.sniff = rig_packet_socket(&rig, ETH_P_IP, false);
}

static void layer3_both_ways(unsigned int more)
{
	static uint8_t p[4096];
	uint32_t seq, len;
	ssize_t n;

	open_layer3(1 << 20, more);
	rig_rx_post(&rig, 200, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	for (seq = 0; seq < 40 && !ksft_failed(); seq++) {
		len = 30 + seq * 37;
		make_packet(p, seq, len);
		ASSERT_EQ(rig_tx_raw(&rig, NULL, p, len, NULL), 0);
		vdev_kick(&rig.v.q[VDEV_TX]);
		n = rig_sniff(&rig, p, sizeof(p), 3000);
		packet_check(p, n, seq, len);
		make_packet(p, seq, len);
		ASSERT_EQ(send(rig.inject, p, len, 0), len);
		n = rig_rx(&rig, NULL, p, sizeof(p), 3000);
		packet_check(p, n, seq, len);
	}
	rig_tx_drain(&rig, 3000);
	rig_close(&rig);
}

CASE(tun_with_a_limited_send_buffer)
{
	layer3_both_ways(0);
	layer3_both_ways(IFF_NAPI);
}

/* A batch is taken for Ethernet (limits.rst): lost, but nobody is hurt. */
CASE(tun_with_an_unlimited_send_buffer)
{
	uint8_t p[200];
	unsigned int i;
	ssize_t n;

	open_layer3(INT_MAX, 0);
	for (i = 0; i < 100; i++) {
		make_packet(p, i, 30 + i);
		ASSERT_EQ(rig_tx_raw(&rig, NULL, p, 30 + i, NULL), 0);
	}
	vdev_kick(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 3000);
	rig_rx_post(&rig, 8, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	make_packet(p, 7, 100);
	ASSERT_EQ(send(rig.inject, p, 100, 0), 100);
	n = rig_rx(&rig, NULL, p, sizeof(p), 3000);
	packet_check(p, n, 7, 100);
}

static const uint8_t guest_mac[6] = { 2, 0, 0, 0, 0, 7 };

struct upper {
	const char *kind;
	unsigned int mode;
	unsigned int flags;	/* of TUNSETIFF; 0: as it is when opened */
	int sndbuf;
	uint64_t features;
};

/* The far end of a veth pair plays the network. */
static void upper_on_veth(const struct upper *u)
{
	bool ipv = !strcmp(u->kind, "ipvtap");
	struct flow f = { .r = &rig };
	int near, ret, upper, fd, hdr;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true,
					  .features = u->features });
	ret = link_add_veth("near", "far");
	if (ret)
		ksft_skip("no veth: %s", strerror(-ret));
	near = if_nametoindex("near");
	ret = link_add_upper(u->kind, "up0", near, u->mode);
	if (ret)
		ksft_skip("no %s: %s", u->kind, strerror(-ret));
	upper = if_nametoindex("up0");
	if (!ipv)
		ASSERT_EQ(link_mac(upper, guest_mac), 0);
	memcpy(f.dst, ipv ? (const uint8_t *)"\xff\xff\xff\xff\xff\xff" :
	       guest_mac, 6);
	ASSERT_EQ(link_up(near, true), 0);
	ASSERT_EQ(link_up(if_nametoindex("far"), true), 0);
	ASSERT_EQ(link_up(upper, true), 0);
	fd = link_open_tap(upper);
	if (fd < 0)
		ksft_skip("/dev/tap%d: %s", upper, strerror(-fd));
	if (u->flags)
		ASSERT_SYS(ioctl(fd, TUNSETIFF, &(struct ifreq){
				 .ifr_flags = u->flags }));
	hdr = rig.v.hdr_len;
	ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &hdr));
	if (u->sndbuf)
		ASSERT_SYS(ioctl(fd, TUNSETSNDBUF, &u->sndbuf));
	flow_swap(&rig, fd, if_nametoindex("far"));
	rig_start(&rig);
	flow_recovers(&f);	/* veth has its carrier when it has it */
	exchange(&f);
	/* What is queued by CPU below would be overtaken. */
	if (!vdev_is_vhost())
		EXPECT_EQ(rig_counter(&rig, "kvnet.tx.polls_inline"), 0);
	rig_close(&rig);
	ASSERT_EQ(link_delete(upper), 0);
}

static void opened_in_many_ways(const char *kind, unsigned int mode)
{
	upper_on_veth(&(struct upper){ kind, mode, 0, 0, LEGACY });
	upper_on_veth(&(struct upper){ kind, mode, IFF_TAP | IFF_NO_PI,
				       INT_MAX, F_V1 | F_NETHDR });
	upper_on_veth(&(struct upper){ kind, mode, TUN_FLAGS | IFF_TAP |
				       IFF_MULTI_QUEUE, 65536, 0 });
}

CASE_TIMED(macvtap_in_its_modes, 40)
{
	static const unsigned int mode[] = {
		MACVLAN_MODE_BRIDGE, MACVLAN_MODE_PRIVATE, MACVLAN_MODE_VEPA,
		MACVLAN_MODE_PASSTHRU,
	};
	unsigned int i;

	for (i = 0; i < sizeof(mode) / sizeof(mode[0]); i++)
		upper_on_veth(&(struct upper){ "macvtap", mode[i], 0,
					       INT_MAX, 0 });
	opened_in_many_ways("macvtap", MACVLAN_MODE_BRIDGE);
}

CASE_TIMED(ipvtap, 40)
{
	upper_on_veth(&(struct upper){ "ipvtap", IPVLAN_MODE_L2, 0,
				       INT_MAX, 0 });
	opened_in_many_ways("ipvtap", IPVLAN_MODE_L2);
}

KSFT_MAIN()
