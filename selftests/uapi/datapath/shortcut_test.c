// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of the guest that go straight to another tap of its bridge. What arrives: the other guest
 * sees no difference. And when they do: no port may get a frame that the bridge would not have sent
 * there. Each of those cases changes one thing, after which all frames go by the bridge, and where
 * that sends them.
 *
 * @hosts: 6.1 newest
 * @seconds: 10
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 */
#include <linux/filter.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <linux/pkt_sched.h>
#include <net/ethernet.h>
#include <net/if.h>

#include "filters.h"
#include "links.h"
#include "module.h"
#include "netlink_rig.h"
#include "procfs.h"
#include "shortcut_rig.h"
#include "tx_inline_rig.h"
#include "xdp.h"

#define RING		500	/* frames that wait in a tap: no multiple of BURST */
#define ALL_OFFLOADS	(TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6)

/*** what arrives ***/

CASE(shortcut_frames_equal_those_of_bridge)
{
	shortcut_rig_open();
	by_shortcut(TO_B, station(B));
	ASSERT_SYS(ioctl(port[B].fd, TUNSETOFFLOAD, ALL_OFFLOADS));
	by_shortcut(TO_B, station(B));
	shortcut_rig_close();
}

/* As many as took the short cut, at least: to any reader, there is nothing left to do. */
CASE(shortcut_header_is_zero)
{
	static const uint8_t zero[PACKET_HDR];
	long shortcuts, requests;
	unsigned int i, tries = 0;

	shortcut_rig_open();
	ASSERT_SYS(ioctl(port[B].fd, TUNSETOFFLOAD, ALL_OFFLOADS));
	do {
		shortcuts = bridge_rig_shortcuts();
		place(station(B), BURST);
		bridge_rig_kick();
		shortcuts = bridge_rig_shortcuts() - shortcuts;
		for (i = 0, requests = 0; i < BURST; i++) {
			ASSERT(bridge_rig_read(B, &got, 3000));
			requests += !!memcmp(&got.h, zero, PACKET_HDR);
		}
		EXPECT_LE(requests, BURST - shortcuts);
	} while (shortcuts <= BURST / 2 && ++tries < 100);
	EXPECT(shortcuts > BURST / 2);
	shortcut_rig_close();
}

/* Of UDP, where 0 means that there is none. */
static void make_sum_of_zero(struct packet *p, const uint8_t *dst, uint32_t nr)
{
	const unsigned int sum = ETH_HLEN + 20 + 6, word = 100;

	packet_make(p, PACKET_CSUM4, dst, station(A), 200, nr);
	memset(p->frame + word, 0, 2);
	got = *p;
	packet_complete(&got);
	/* what the sum is without it */
	memcpy(p->frame + word, got.frame + sum, 2);
	got = *p;
	packet_complete(&got);
	ASSERT(got.frame[sum] == 0xff && got.frame[sum + 1] == 0xff);
}

CASE(shortcut_checksum_of_zero_is_ffff)
{
	shortcut_rig_open();
	make = make_sum_of_zero;
	by_shortcut(TO_B, station(B));
	shortcut_rig_close();
}

/* A checksum behind the frame: the frame is dropped, and the others are in order. */
CASE(shortcut_frames_with_bad_checksum_request_are_dropped)
{
	static const uint16_t start[] = { 80, 90, 65535 };
	unsigned int i, k;
	long before;

	shortcut_rig_open();
	for (i = 0; i < 60 && !ksft_failed(); i++) {
		before = bridge_rig_shortcuts();
		for (k = 0; k < 3; k++) {
			place(station(B), 5);
			packet_make(&packet, PACKET_CSUM4, station(B), station(A), 90, 0);
			packet.h.hdr.csum_start = start[i % 3];
			packet.h.hdr.csum_offset = 9;
			bridge_rig_place(&packet);
		}
		bridge_rig_kick();
		expect(TO_B, station(B), next_seq - 15, 15);
		if (bridge_rig_shortcuts() == before)
			i--;
	}
	shortcut_rig_close();
}

/* Of each kind, length and destination; these are in all that follow each other. */
static bool is_flooded(uint32_t nr)
{
	return nr % 7 == 3;
}

static void make_mixed(struct packet *p, const uint8_t *dst, uint32_t nr)
{
	static const uint8_t groups[][6] = { { 255, 255, 255, 255, 255, 255 },
					     { 1, 0, 0x5e, 1, 2, 3 }, { 2, 0, 0, 0, 9, 9 } };
	static const uint32_t len[] = { 100, 1514, 256, 5000, 80, 3000, 999 };
	enum packet_kind kind = nr / 3 % PACKET_KINDS;

	if (is_flooded(nr))
		dst = groups[nr / 7 % 3];
	packet_make(p, nr % 3 ? nr % PACKET_SHORT_CUT : kind, dst, station(A),
		    nr % 100 == 99 ? LONG : len[nr % 11 % 7], nr);
}

CASE_TIMED(shortcut_frames_of_all_kinds_arrive_in_order, 40)
{
	unsigned int round, rounds = ksft_rounds(60);
	long shortcuts = 0, before;
	uint32_t from, i;

	shortcut_rig_open();
	make = make_mixed;
	for (i = B; i <= C; i++)
		ASSERT_SYS(ioctl(port[i].fd, TUNSETOFFLOAD, ALL_OFFLOADS));
	for (round = 0; round < rounds && !ksft_failed(); round++) {
		vdev_parameter("shortcut", round % 3 ? 'Y' : 'N');
		before = bridge_rig_shortcuts();
		from = next_seq;
		place(station(B), BURST);
		bridge_rig_kick();
		for (i = from; i < next_seq && !ksft_failed(); i++) {
			make(&packet, station(B), i);
			if (is_flooded(i))
				expect_packet(C, &packet);
			expect_packet(B, &packet);
		}
		while (bridge_rig_read(HOST, &got, 0))
			EXPECT(got.frame[0] & 1);
		expect_nothing();
		before = bridge_rig_shortcuts() - before;
		EXPECT(round % 3 || !before);
		shortcuts += before;
	}
	EXPECT_GE(shortcuts, rounds);
	make = make_short;
	shortcut_rig_close();
}

CASE(shortcut_serves_several_destinations_of_batch)
{
	unsigned int tries;
	long shortcuts = 0;
	uint32_t from, i;

	shortcut_rig_open();
	for (tries = 0; tries < 100 && shortcuts < BURST / 2 && !ksft_failed(); tries++) {
		shortcuts = bridge_rig_shortcuts();
		from = next_seq;
		for (i = 0; i < BURST; i++)
			place(station(i % 2 ? B : C), 1);
		bridge_rig_kick();
		for (i = 0; i < BURST; i++) {
			make_short(&packet, station(i % 2 ? B : C), from + i);
			expect_packet(i % 2 ? B : C, &packet);
		}
		expect_nothing();
		shortcuts = bridge_rig_shortcuts() - shortcuts;
	}
	EXPECT_GE(shortcuts, BURST / 2);
	shortcut_rig_close();
}

/* The header counts at the other tap, as with XDP frames of others. */
CASE(shortcut_frames_count_at_both_devices)
{
	long packets, bytes, tx, shortcuts = 0;
	struct link_sent a, b;
	unsigned int tries;
	uint32_t i;

	shortcut_rig_open();
	for (tries = 0; tries < 100 && shortcuts < BURST / 2 && !ksft_failed(); tries++) {
		a = link_received(port[A].name);
		b = link_sent(port[B].name);
		tx = rig_counter(&vmm, "kvnet.tx.packets");
		packets = rig_counter(&vmm, "kvnet.tx.packets_direct");
		shortcuts = burst(TO_B, station(B));
		for (i = next_seq - BURST, bytes = 0; i < next_seq; i++) {
			make_short(&packet, station(B), i);
			bytes += packet.len;
		}
		EXPECT_EQ(link_received(port[A].name).packets - a.packets, BURST);
		EXPECT_EQ(link_received(port[A].name).bytes - a.bytes, bytes);
		EXPECT_EQ(link_sent(port[B].name).packets - b.packets, BURST);
		EXPECT_EQ(link_sent(port[B].name).bytes - b.bytes, bytes + shortcuts * PACKET_HDR);
		EXPECT_EQ(rig_counter(&vmm, "kvnet.tx.packets") - tx, BURST);
		EXPECT_GE(rig_counter(&vmm, "kvnet.tx.packets_direct") - packets, shortcuts);
	}
	EXPECT_GE(shortcuts, BURST / 2);
	shortcut_rig_close();
}

/*
 * What has no room is dropped; or it waits in the qdisc, as of new kernels. Returns how many frames
 * of the batch that fills the ring took the short cut.
 */
static long overfill_ring(void)
{
	uint32_t from = next_seq, last;
	unsigned int i, n = 0;
	long shortcuts = 0;

	for (i = 0; i < 20; i++) {
		if (i == RING / BURST)
			shortcuts = bridge_rig_shortcuts();
		place(station(B), BURST);
		bridge_rig_kick();
		if (i == RING / BURST)
			shortcuts = bridge_rig_shortcuts() - shortcuts;
	}
	for (last = from - 1; bridge_rig_read(B, &got, n < RING ? 3000 : 0); n++) {
		EXPECT(packet_seq(&got) > last || !n);
		last = packet_seq(&got);
		make_short(&packet, station(B), last);
		packet_complete(&packet);
		packet_complete(&got);
		EXPECT(packet_is_same(&got, &packet));
		if (n < RING)
			EXPECT_EQ(last, from + n);
	}
	EXPECT_GE(n, RING);
	EXPECT_OP(shortcuts, <=, RING % BURST);
	return shortcuts;
}

CASE_TIMED(shortcut_with_full_ring_keeps_order, 40)
{
	unsigned int tries, full = 0;

	shortcut_rig_open();
	ASSERT_EQ(link_queue_len(port[B].ifindex, RING), 0);
	for (tries = 0; tries < 50 && full < 3 && !ksft_failed(); tries++)
		full += overfill_ring() > 0;
	EXPECT_GE(full, 1);
	EXPECT_EQ(rig_counter(&vmm, "kvnet.tx.packets"), next_seq);
	shortcut_rig_close();
}

/*** other readers and senders ***/

static struct rig other;

/* Another guest of kvnet's has the port of the next number. */
static void add_guest(void)
{
	rig_open(&other, &(struct rig_cfg){ .here = true, .rx_buf = 2048 });
	ASSERT_EQ(bridge_join(other.ifindex, bridge), 0);
	ASSERT_EQ(bridge_port_forwards(other.ifindex), 0);
	ASSERT_EQ(bridge_fdb_set(other.ifindex, station(3), NUD_REACHABLE), 0);
	rig_rx_post(&other, other.cfg.bufs, NULL);
	vdev_kick_always(&other.v.q[VDEV_RX]);
}

static void guest_expects(uint32_t nr)
{
	ssize_t n = rig_rx(&other, &got.h, got.frame, PACKET_MAX, 3000);

	ASSERT(n >= 0);
	got.len = n;
	EXPECT_EQ(got.h.num_buffers, 1);
	make_short(&packet, station(3), nr);
	packet_complete(&packet);
	packet_complete(&got);
	if (!packet_is_same(&got, &packet))
		FAIL("frame %u is another: %u bytes, number %u", nr, got.len, packet_seq(&got));
	rig_rx_post(&other, 1, NULL);
}

/* Batches of n frames until some take the short cut and the other guest receives them this way. */
static void to_guest(unsigned int n, const char *counter)
{
	long way = 0, shortcuts = 0, was;
	unsigned int tries;
	uint32_t i;

	add_guest();
	for (tries = 0; tries < 300 && !(way && shortcuts) && !ksft_failed(); tries++) {
		was = rig_counter(&other, counter);
		shortcuts = bridge_rig_shortcuts();
		place(station(3), n);
		bridge_rig_kick();
		for (i = next_seq - n; i < next_seq && !ksft_failed(); i++)
			guest_expects(i);
		vdev_kick(&other.v.q[VDEV_RX]);
		/* it sends, too: what it receives is no stream then */
		packet_make(&packet, PACKET_OTHER, station(C), station(3), 100, 0);
		ASSERT_EQ(rig_tx_raw(&other, &packet.h, packet.frame, 100, NULL), 0);
		vdev_kick(&other.v.q[VDEV_TX]);
		expect_packet(C, &packet);
		ASSERT(rig_tx_drain(&other, 3000));
		way = rig_counter(&other, counter) - was;
		shortcuts = bridge_rig_shortcuts() - shortcuts;
	}
	EXPECT(way > 0);
	EXPECT(shortcuts > 0);
	rig_close(&other);
	shortcut_rig_close();
}

CASE(shortcut_to_guest_whose_worker_receives)
{
	shortcut_rig_open();
	vdev_parameter("rx_inline", 'N');
	to_guest(BURST, "kvnet.rx.packets");
}

CASE(shortcut_to_guest_that_receives_inline)
{
	shortcut_rig_open();
	to_guest(2, "kvnet.rx.packets_inline");
}

CASE(shortcut_of_vcpu_thread)
{
	long n_inline = 0, shortcuts = 0;
	unsigned int tries;

	shortcut_rig_open_with(&(struct rig_cfg){ 0 });
	vdev_backend(&vmm.v, VDEV_RX, vmm.tap);
	rig_rx_post(&vmm, 200, NULL);
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	/* what the stations have said */
	for (tries = 0; tries < 2; tries++)
		ASSERT(rig_rx(&vmm, NULL, got.frame, PACKET_MAX, 3000) > 0);
	for (tries = 0; tries < 300 && !(n_inline && shortcuts) && !ksft_failed(); tries++) {
		n_inline = rig_counter(&vmm, "kvnet.tx.packets_inline");
		shortcuts = bridge_rig_shortcuts();
		place(station(B), 2);
		bridge_rig_kick();
		expect(TO_B, station(B), next_seq - 2, 2);
		n_inline = rig_counter(&vmm, "kvnet.tx.packets_inline") - n_inline;
		shortcuts = bridge_rig_shortcuts() - shortcuts;
		tx_inline_reply(&vmm);
		rig_offer(&vmm, 1);
	}
	EXPECT(n_inline > 0);
	EXPECT(shortcuts > 0);
	bridge_rig_close();
}

/*** the end, while frames wait in the other tap ***/

static uint32_t leave_frames_in_ring(void)
{
	unsigned int tries;
	long before;

	for (tries = 0; tries < 100; tries++) {
		before = bridge_rig_shortcuts();
		place(station(B), BURST);
		bridge_rig_kick();
		if (bridge_rig_shortcuts() - before >= BURST / 2)
			break;
		expect(TO_B, station(B), next_seq - BURST, BURST);
	}
	ASSERT(tries < 100);
	return next_seq - BURST;
}

CASE(shortcut_frames_outlive_module)
{
	uint32_t from;

	shortcut_rig_open();
	from = leave_frames_in_ring();
	rig_close(&vmm);
	module_is_unloaded();
	expect(TO_B, station(B), from, BURST);
	EXPECT_EQ(module_load(""), 0);
}

/*
 * The frame that shows where the bridge forwards to waits: the first one to an address, as another
 * one may come in a jiffy in which that has been shown.
 */
CASE(shortcut_module_stays_while_frame_waits_in_qdisc)
{
	const uint8_t *other = station(7);
	struct worker w;

	shortcut_rig_open();
	speak(B, other);
	plug(TCQ_PLUG_BUFFER);
	place(other, BURST);
	bridge_rig_kick();
	rig_close(&vmm);
	ASSERT(WAIT_FOR(3000, !list_workers(getpid(), &w, 1)));
	EXPECT_EQ(module_unload(), -EWOULDBLOCK);
	plug(TCQ_PLUG_RELEASE_INDEFINITE);
	expect(TO_B, other, next_seq - BURST, BURST);
	module_is_unloaded();
	EXPECT_EQ(module_load(""), 0);
}

CASE(shortcut_frames_go_with_closed_tap)
{
	shortcut_rig_open();
	leave_frames_in_ring();
	close(port[B].fd);
	port[B].fd = -1;
	/* B is known nowhere */
	by_bridge(TO_C, station(B), KVNET_SHORTCUT_PORT);
	bridge_rig_add(B, IFF_NO_PI);
	ASSERT_EQ(bridge_join(port[B].ifindex, bridge), 0);
	shortcut_rig_close_forwarding();
}

/*** when: the operator ***/

CASE(shortcut_not_where_parameter_is_off)
{
	shortcut_rig_open();
	vdev_parameter("shortcut", 'N');
	by_bridge(TO_B, station(B), KVNET_SHORTCUT_OFF);
	vdev_parameter("shortcut", 'Y');
	shortcut_rig_close();
}

CASE(shortcut_not_where_policy_is_off)
{
	shortcut_rig_open();
	ASSERT_EQ(policy_u8(KVNET_A_POLICY_SHORTCUT, 0), 0);
	by_bridge(TO_B, station(B), KVNET_SHORTCUT_OFF);
	ASSERT_EQ(policy_u8(KVNET_A_POLICY_SHORTCUT, 1), 0);
	vdev_parameter("shortcut", 'N');
	shortcut_rig_close();
}

/*** when: the way from A to B ***/

CASE(shortcut_needs_bridge)
{
	shortcut_rig_open();
	ASSERT_EQ(bridge_join(port[A].ifindex, 0), 0);
	by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_NO_BRIDGE);
	ASSERT_EQ(bridge_join(port[A].ifindex, bridge), 0);
	shortcut_rig_close_forwarding();
}

CASE(shortcut_needs_bridge_that_is_up)
{
	shortcut_rig_open();
	ASSERT_EQ(link_up(bridge, false), 0);
	by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_BRIDGE);
	ASSERT_EQ(link_up(bridge, true), 0);
	shortcut_rig_close_forwarding();
}

CASE(shortcut_not_past_promiscuous_bridge)
{
	struct packet_mreq all = { .mr_type = PACKET_MR_PROMISC };
	int fd;

	shortcut_rig_open();
	all.mr_ifindex = bridge;
	fd = ASSERT_SYS(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
	ASSERT_SYS(setsockopt(fd, SOL_PACKET, PACKET_ADD_MEMBERSHIP, &all, sizeof(all)));
	by_bridge(TO_B | TO_HOST, station(B), KVNET_SHORTCUT_BRIDGE);
	close(fd);
	shortcut_rig_close();
}

/* A packet socket for all protocols, of a device or of all (0), sees each frame so often. */
static void not_past_capture(int ifindex, unsigned int times)
{
	struct rig where = { .ifindex = ifindex };
	unsigned int n = 0;
	int fd;

	fd = rig_packet_socket(&where, ETH_P_ALL, false);
	by_bridge(TO_B, station(B), KVNET_SHORTCUT_CAPTURE);
	while (recv(fd, got.frame, PACKET_MAX, MSG_DONTWAIT) >= 0)
		n++;
	EXPECT_EQ(n, 3 * BURST * times);
	close(fd);
	by_shortcut(TO_B, station(B));
}

CASE(shortcut_not_past_capture)
{
	shortcut_rig_open();
	not_past_capture(port[A].ifindex, 1);
	not_past_capture(port[B].ifindex, 1);
	not_past_capture(0, 2);
	shortcut_rig_close();
}

CASE(shortcut_not_past_tc_program)
{
	unsigned int egress;
	int ret;

	shortcut_rig_open();
	for (egress = 0; egress < 2; egress++) {
		ret = filter_tc(port[egress ? B : A].ifindex, egress);
		if (ret)
			ksft_skip("no tc: %s", strerror(-ret));
		by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_FILTER);
		filter_tc_end();
		by_shortcut(TO_B, station(B));
	}
	shortcut_rig_close();
}

CASE(shortcut_not_past_nft_chain)
{
	unsigned int hook;
	int ret;

	shortcut_rig_open();
	for (hook = 0; hook < 3; hook++) {
		ret = !hook ? filter_nft_bridge() :
		      filter_nft_device(port[hook == 1 ? A : B].name, hook == 2);
		if (ret)
			ksft_skip("no nft: %s", strerror(-ret));
		by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_FILTER);
		filter_nft_end();
		by_shortcut(TO_B, station(B));
	}
	shortcut_rig_close();
}

/* By the stack, not by the driver. */
CASE(shortcut_not_past_generic_xdp)
{
	int program, ret;

	shortcut_rig_open();
	program = xdp_load_verdict(XDP_DROP);
	ret = program < 0 ? program : xdp_attach_generic(port[A].ifindex, program);
	if (ret)
		ksft_skip("no XDP: %s", strerror(-ret));
	by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_FILTER);
	ASSERT_EQ(xdp_attach_generic(port[A].ifindex, -1), 0);
	shortcut_rig_close();
}

/*** when: B ***/

static void make_around_mtu(struct packet *p, const uint8_t *dst, uint32_t nr)
{
	/* that of B, an Ethernet header and a VLAN tag: no more */
	static const uint32_t len[] = { 617, 618, 619, 100 };

	packet_make(p, PACKET_UDP4, dst, station(A), len[nr % 4], nr);
}

/* RPS takes frames to another CPU; kernels for one CPU have none. */
CASE(shortcut_not_past_rps)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	shortcut_rig_open();
	link_mount_sysfs();
	link_sysfs(port[A].name, "queues/rx-0/rps_cpus", "1");
	by_bridge(TO_B, station(B), KVNET_SHORTCUT_FILTER);
	link_sysfs(port[A].name, "queues/rx-0/rps_cpus", "0");
	by_shortcut(TO_B, station(B));
	shortcut_rig_close();
}

CASE(shortcut_frames_longer_than_mtu_are_dropped)
{
	unsigned int tries;
	long shortcuts = 0;
	uint32_t i;

	shortcut_rig_open();
	ASSERT_EQ(link_mtu(port[B].ifindex, 600), 0);
	make = make_around_mtu;
	for (tries = 0; tries < 100 && shortcuts < BURST / 2 && !ksft_failed(); tries++) {
		shortcuts = bridge_rig_shortcuts();
		place(station(B), BURST);
		bridge_rig_kick();
		for (i = next_seq - BURST; i < next_seq; i++) {
			make(&packet, station(B), i);
			if (packet.len < 619)
				expect_packet(B, &packet);
		}
		expect_nothing();
		shortcuts = bridge_rig_shortcuts() - shortcuts;
	}
	EXPECT_GE(shortcuts, BURST / 2);
	bridge_rig_close();
}

/* A qdisc with a say in each frame, though it holds none. */
CASE(shortcut_not_past_qdisc_without_bypass)
{
	shortcut_rig_open();
	plug(TCQ_PLUG_RELEASE_INDEFINITE);
	by_bridge(TO_B, station(B), KVNET_SHORTCUT_QDISC);
	bridge_rig_close();
}

CASE(shortcut_not_past_frames_in_qdisc)
{
	unsigned int i;
	uint32_t from;

	shortcut_rig_open();
	plug(TCQ_PLUG_BUFFER);
	from = next_seq;
	for (i = 0; i < 3; i++)
		EXPECT_EQ(burst(TO_NONE, station(B)), 0);
	plug(TCQ_PLUG_RELEASE_INDEFINITE);
	place(station(B), BURST);
	bridge_rig_kick();
	expect(TO_B, station(B), from, 4 * BURST);
	bridge_rig_close();
}

/* The bridge deletes the entries of a port that is down, and floods. */
CASE(shortcut_needs_port_that_is_up)
{
	shortcut_rig_open();
	ASSERT_EQ(link_up(port[B].ifindex, false), 0);
	by_bridge(TO_C, station(B), KVNET_SHORTCUT_PORT);
	ASSERT_EQ(link_up(port[B].ifindex, true), 0);
	shortcut_rig_close_forwarding();
}

/* One that is no tap. */
CASE(shortcut_needs_tap)
{
	int ifindex;

	shortcut_rig_open();
	ASSERT_EQ(link_add_dummy("nic", 1), 0);
	ifindex = if_nametoindex("nic");
	ASSERT_EQ(link_mtu(ifindex, LONG), 0);
	ASSERT_EQ(link_up(ifindex, true), 0);
	ASSERT_EQ(bridge_join(ifindex, bridge), 0);
	ASSERT_EQ(bridge_port_forwards(ifindex), 0);
	ASSERT_EQ(bridge_fdb_set(ifindex, station(4), NUD_NOARP), 0);
	by_bridge(TO_NONE, station(4), KVNET_SHORTCUT_PORT);
	EXPECT_GE(link_sent("nic").packets, 3 * BURST);
	shortcut_rig_close();
}

/* B is a tap of another kind. */
static void replace_tap(unsigned int flags)
{
	close(port[B].fd);
	bridge_rig_add(B, flags);
	ASSERT_EQ(bridge_join(port[B].ifindex, bridge), 0);
	ASSERT_EQ(bridge_port_forwards(port[B].ifindex), 0);
	ASSERT_EQ(bridge_fdb_set(port[B].ifindex, station(B), NUD_REACHABLE), 0);
}

/* A batch by the bridge, of which so many frames arrive at B's file. */
static unsigned int count_by_bridge(void)
{
	long before = bridge_rig_shortcuts();
	unsigned int n = 0;

	place(station(B), BURST);
	bridge_rig_kick();
	while (bridge_rig_read(B, &got, 0))
		n++;
	EXPECT_EQ(bridge_rig_shortcuts(), before);
	return n;
}

/* Its frames are in several rings, by their flows. */
CASE(shortcut_not_to_tap_with_queues)
{
	unsigned int n;
	int other;

	shortcut_rig_open();
	replace_tap(IFF_NO_PI | IFF_MULTI_QUEUE);
	by_shortcut(TO_B, station(B));
	other = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK));
	rig_tap_attach(other, port[B].name, IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE,
		       PACKET_HDR);
	n = count_by_bridge();
	while (read(other, got.frame, PACKET_MAX) > 0)
		n++;
	EXPECT_EQ(n, BURST);
	close(other);
	shortcut_rig_close();
}

/* One of the two is the guest's: frames to it show its number. */
CASE(shortcut_from_tap_with_queues)
{
	int other;

	vdev_parameter("tx_inline", 'N');
	shortcut_rig_open_with(&(struct rig_cfg){ .tx_buf = LONG + 64, .tap = TAP_QUEUES });
	other = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	rig_tap_attach(other, port[A].name, IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE,
		       PACKET_HDR);
	vdev_backend(&vmm.v, VDEV_RX, vmm.tap);
	EXPECT_EQ(burst(TO_B, station(B)), 0);
	/* of a flow that the guest has just sent */
	ASSERT_EQ(rig_offer(&vmm, 1), 1);
	speak(B, station(B));
	EXPECT_EQ(rig_rx(&vmm, NULL, got.frame, sizeof(got.frame), 3000), got.len);
	by_shortcut(TO_B, station(B));
	close(other);
	shortcut_rig_close();
}

/* A struct tun_pi is in front of its frames, but not of XDP frames. */
CASE(shortcut_not_to_tap_with_packet_information)
{
	unsigned int i;

	shortcut_rig_open();
	replace_tap(0);
	for (i = 0; i < 10; i++)
		EXPECT_EQ(count_by_bridge(), BURST);
	bridge_rig_close();
}

/* Filters of tun itself, set by the other VMM: on destination addresses, or any. */
CASE(shortcut_not_past_address_filter_of_tap)
{
	const uint8_t mac[] = { 2, 0, 0, 0, 9, 9 };
	union {
		struct tun_filter head;
		uint8_t room[sizeof(struct tun_filter) + sizeof(mac)];
	} f = { .head.count = 1 };

	memcpy(f.head.addr[0], mac, sizeof(mac));
	shortcut_rig_open();
	ASSERT_SYS(ioctl(port[B].fd, TUNSETTXFILTER, &f));
	bridge_rig_tick();
	by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_PORT);
	f.head.count = 0;
	ASSERT_SYS(ioctl(port[B].fd, TUNSETTXFILTER, &f));
	shortcut_rig_close();
}

CASE(shortcut_not_past_socket_filter_of_tap)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, 0) };
	struct sock_fprog program = { .len = 1, .filter = code };

	shortcut_rig_open();
	ASSERT_SYS(ioctl(port[B].fd, TUNATTACHFILTER, &program));
	bridge_rig_tick();
	by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_PORT);
	ASSERT_SYS(ioctl(port[B].fd, TUNDETACHFILTER, &program));
	shortcut_rig_close();
}

/*** when not: what the bridge does not forward from A to B ***/

static enum packet_kind other_kind;

static void make_half_of_other_kind(struct packet *p, const uint8_t *dst, uint32_t nr)
{
	packet_make(p, nr % 2 ? other_kind : PACKET_UDP4, dst, station(A), 200, nr);
}

/* A bridge may answer ARP and ICMPv6 itself, and have rules for others. */
CASE(shortcut_not_for_other_protocols_than_ip)
{
	static const enum packet_kind kinds[] = {
		PACKET_ARP, PACKET_ICMPV6, PACKET_VLAN, PACKET_OTHER,
	};
	unsigned int i, tries;
	long n;

	shortcut_rig_open();
	make = make_half_of_other_kind;
	for (i = 0; i < 4; i++) {
		other_kind = kinds[i];
		for (n = 0, tries = 0; n < BURST / 4 && tries < 100 && !ksft_failed(); tries++) {
			n = burst(TO_B, station(B));
			EXPECT_LE(n, BURST / 2);
		}
		EXPECT_GE(n, BURST / 4);
	}
	make = make_short;
	shortcut_rig_close();
}

CASE(shortcut_not_with_vlan_filtering)
{
	int ret;

	shortcut_rig_open();
	ret = bridge_set(bridge, IFLA_BR_VLAN_FILTERING, 1, 1);
	if (ret)
		ksft_skip("no VLAN filtering: %s", strerror(-ret));
	all_speak();
	by_bridge(TO_B, station(B), KVNET_SHORTCUT_PORT);
	/* B is in another VLAN than the others */
	ASSERT_EQ(bridge_vlan_delete(port[B].ifindex, false, 1), 0);
	ASSERT_EQ(bridge_vlan_add(port[B].ifindex, false, 7,
				  BRIDGE_VLAN_INFO_PVID | BRIDGE_VLAN_INFO_UNTAGGED), 0);
	by_bridge(TO_C, station(B), KVNET_SHORTCUT_PORT);
	bridge_rig_close();
}

CASE(shortcut_needs_ports_that_forward)
{
	static const uint8_t others[] = { BR_STATE_LISTENING, BR_STATE_LEARNING };
	unsigned int nr, i;

	shortcut_rig_open();
	for (nr = A; nr <= B; nr++)
		for (i = 0; i < 2 && !ksft_failed(); i++) {
			ASSERT_EQ(bridge_port_set(port[nr].ifindex, IFLA_BRPORT_STATE,
						  others[i]), 0);
			bridge_rig_tick();
			by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_PORT);
			ASSERT_EQ(bridge_port_forwards(port[nr].ifindex), 0);
			by_shortcut(TO_B, station(B));
		}
	shortcut_rig_close();
}

CASE(shortcut_not_between_isolated_ports)
{
	shortcut_rig_open();
	ASSERT_EQ(bridge_port_set(port[A].ifindex, IFLA_BRPORT_ISOLATED, 1), 0);
	by_shortcut(TO_B, station(B));
	ASSERT_EQ(bridge_port_set(port[B].ifindex, IFLA_BRPORT_ISOLATED, 1), 0);
	bridge_rig_tick();
	by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_PORT);
	ASSERT_EQ(bridge_port_set(port[A].ifindex, IFLA_BRPORT_ISOLATED, 0), 0);
	shortcut_rig_close();
}

CASE(shortcut_not_of_unknown_station_behind_locked_port)
{
	shortcut_rig_open();
	ASSERT_EQ(bridge_fdb_set(port[A].ifindex, station(A), NUD_NOARP), 0);
	ASSERT_EQ(bridge_port_set(port[A].ifindex, IFLA_BRPORT_LEARNING, 0), 0);
	ASSERT_EQ(bridge_port_set(port[A].ifindex, IFLA_BRPORT_LOCKED, 1), 0);
	by_shortcut(TO_B, station(B));
	ASSERT_EQ(bridge_fdb_delete(port[A].ifindex, station(A)), 0);
	bridge_rig_tick();
	by_bridge(TO_NONE, station(B), KVNET_SHORTCUT_PORT);
	ASSERT_EQ(bridge_fdb_set(port[A].ifindex, station(A), NUD_NOARP), 0);
	shortcut_rig_close();
}

CASE(shortcut_not_to_address_of_host)
{
	shortcut_rig_open();
	ASSERT_EQ(bridge_fdb_set(port[B].ifindex, station(B), NUD_PERMANENT), 0);
	bridge_rig_tick();
	by_bridge(TO_HOST, station(B), KVNET_SHORTCUT_PORT);
	ASSERT_EQ(bridge_fdb_delete(port[B].ifindex, station(B)), 0);
	speak(B, station(B));
	shortcut_rig_close();
}

/* Of a group's address a bridge does not look at the entry that an operator has made for it. */
CASE(shortcut_not_to_group)
{
	static const uint8_t group[6] = { 0x01, 0x00, 0x5e, 0x01, 0x02, 0x03 };

	shortcut_rig_open();
	ASSERT_EQ(bridge_fdb_set(port[B].ifindex, group, NUD_NOARP), 0);
	bridge_rig_tick();
	by_bridge(TO_B | TO_C | TO_HOST, group, KVNET_SHORTCUT_PORT);
	shortcut_rig_close();
}

CASE(shortcut_follows_station_to_other_port)
{
	shortcut_rig_open();
	speak(C, station(B));
	burst(TO_C, station(B));
	by_shortcut(TO_C, station(B));
	speak(B, station(B));
	burst(TO_B, station(B));
	shortcut_rig_close();
}

/* It moves to A itself, in the middle of a batch: the bridge sends no frame back. */
CASE(shortcut_follows_station_within_batch)
{
	unsigned int tries = 0;
	long before;

	shortcut_rig_open();
	do {
		speak(B, station(B));
		before = bridge_rig_shortcuts();
		place(station(B), 10);
		packet_make(&packet, PACKET_UDP4, station(C), station(B), 100, 0);
		bridge_rig_place(&packet);
		place(station(B), 10);
		bridge_rig_kick();
		packet_make(&packet, PACKET_UDP4, station(C), station(B), 100, 0);
		expect_packet(C, &packet);
		expect(TO_B, station(B), next_seq - 20, 10);
	} while (bridge_rig_shortcuts() - before < 5 && ++tries < 100 && !ksft_failed());
	EXPECT_GE(bridge_rig_shortcuts() - before, 5);
	speak(B, station(B));
	shortcut_rig_close();
}

KSFT_MAIN()
