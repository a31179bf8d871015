// SPDX-License-Identifier: GPL-2.0
/*
 * Frames of the guest that go straight to another tap of its bridge: the other guest sees no
 * difference. When they do is in shortcut_way_test.
 *
 * @hosts: 6.1 newest
 * @seconds: 4
 */
#define _GNU_SOURCE
#include <linux/if_tun.h>
#include <linux/pkt_sched.h>
#include <net/ethernet.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "links.h"
#include "module.h"
#include "procfs.h"
#include "shortcut_rig.h"
#include "tx_inline_rig.h"

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
		rig_rx_post(&vmm, 1, NULL);
		vdev_kick(&vmm.v.q[VDEV_RX]);
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

KSFT_MAIN()
