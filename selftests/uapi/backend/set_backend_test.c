// SPDX-License-Identifier: GPL-2.0
/*
 * Every kind of tun, tap, macvtap and ipvtap as backend: frames of all lengths both ways,
 * compared byte by byte.
 *
 * And a tap that another process changes while a device serves it, under frames both ways:
 * frames may get lost; none is damaged, no buffer is, and afterwards traffic goes on.
 *
 * @hosts: 6.1 newest
 * @debug: kasan kcsan
 * @again: slow
 * @seconds: 16
 */
#include <arpa/inet.h>
#include <limits.h>
#include <linux/if_link.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/ethernet.h>
#include <net/if.h>

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

static void pass_frames(struct flow *f)
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
	pass_frames(&f);
	rig_close(&rig);
}

CASE(tap_opened_as_qemu_does_passes_frames)
{
	one_tap(IFF_TAP | TUN_FLAGS, INT_MAX, 0);
	one_tap(IFF_TAP | TUN_FLAGS, INT_MAX, LEGACY);
}

CASE(tap_with_a_limited_send_buffer_passes_frames)
{
	one_tap(IFF_TAP | TUN_FLAGS, 1 << 20, 0);
	one_tap(IFF_TAP | TUN_FLAGS, 4096, 0);	/* a frame or two */
	one_tap(IFF_TAP | TUN_FLAGS, 4096, LEGACY);
}

CASE(tap_without_header_passes_frames)
{
	one_tap(IFF_TAP | IFF_NO_PI, INT_MAX, F_V1 | F_MRG | F_NETHDR);
	one_tap(IFF_TAP | IFF_NO_PI, INT_MAX, LEGACY | F_NETHDR);
	one_tap(IFF_TAP | IFF_NO_PI, 8192, F_V1 | F_NETHDR);
}

/* What the guest sends goes through NAPI and GRO. */
CASE(tap_with_napi_passes_frames)
{
	one_tap(IFF_TAP | TUN_FLAGS | IFF_NAPI, INT_MAX, 0);
	/* vhost_net says MSG_MORE, and waits for room that NAPI has */
	if (!vdev_is_vhost())
		one_tap(IFF_TAP | TUN_FLAGS | IFF_NAPI, 65536, 0);
	one_tap(IFF_TAP | TUN_FLAGS | IFF_NAPI | IFF_MULTI_QUEUE, INT_MAX, 0);
	one_tap(IFF_TAP | IFF_NO_PI | IFF_NAPI, INT_MAX, F_V1 | F_NETHDR);
}

CASE(tap_opened_again_passes_frames)
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
CASE(tap_queues_for_one_device_pass_frames)
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

CASE(tap_queues_for_two_devices_pass_frames)
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
	/* both sniff the one interface: let only one of them read */
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

CASE(tun_with_a_limited_send_buffer_passes_packets)
{
	layer3_both_ways(0);
	layer3_both_ways(IFF_NAPI);
}

/* The tun treats a batch as Ethernet (limits.rst): packets are lost, and nothing else fails. */
CASE(tun_with_an_unlimited_send_buffer_survives)
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
	flow_recovers(&f);	/* until the veth has its carrier */
	pass_frames(&f);
	/* inline TX would overtake frames that are queued by CPU in the lower device */
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

CASE_TIMED(macvtap_in_each_mode_passes_frames, 40)
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

CASE_TIMED(ipvtap_passes_frames, 40)
{
	upper_on_veth(&(struct upper){ "ipvtap", IPVLAN_MODE_L2, 0,
				       INT_MAX, 0 });
	opened_in_many_ways("ipvtap", IPVLAN_MODE_L2);
}

/*** a tap that changes ***/

static struct flow flow = { .r = &rig };
static int netns[2];

static void set_up(unsigned int tap)
{
	rig_open(&rig, &(struct rig_cfg){ .tap = tap,
		.features = tap & TAP_BARE ? F_V1 | F_MRG | F_NETHDR : 0 });
	flow_recovers(&flow);
}

/* The tap is changed n times. Lossless: while each frame arrives. */
static void storm(unsigned int n, void (*change)(unsigned int i), bool lossless)
{
	set_up(0);
	flow.lossless = lossless;
	flow_storm(&flow, n, change);
	flow_settled(&flow);
}

static void down_and_up(unsigned int i)
{
	EXPECT_EQ(link_up(rig.ifindex, i % 2), 0);
}

CASE_TIMED(tap_down_and_up_recovers, 40)
{
	static const unsigned int taps[] = { 0, TAP_SNDBUF, TAP_BARE };
	unsigned int i;

	for (i = 0; i < 3 && !ksft_failed(); i++) {
		flow = (struct flow){ .r = &rig };
		set_up(taps[i]);
		flow_storm(&flow, ksft_rounds(20), down_and_up);
		flow_settled(&flow);
		rig_close(&rig);
	}
}

/* Before 6.2 only a device that is down can be renamed. */
static void rename_it(unsigned int i)
{
	char name[IFNAMSIZ];
	int ret;

	snprintf(name, sizeof(name), "renamed%u", i);
	ret = link_rename(rig.ifindex, name);
	if (ret != -EBUSY) {
		EXPECT_EQ(ret, 0);
		return;
	}
	EXPECT_EQ(link_up(rig.ifindex, false), 0);
	EXPECT_EQ(link_rename(rig.ifindex, name), 0);
	EXPECT_EQ(link_up(rig.ifindex, true), 0);
}

CASE_ROW_TIMED(tap_renamed_recovers, 40, storm(ksft_rounds(20), rename_it, false))

static void move_it(unsigned int i)
{
	int here = netns[i % 2], there = netns[!(i % 2)];

	ASSERT_SYS(setns(here, CLONE_NEWNET));
	EXPECT_EQ(link_move(rig.ifindex, there), 0);
	ASSERT_SYS(setns(there, CLONE_NEWNET));
	EXPECT_EQ(link_up(rig.ifindex, true), 0);
}

static int socket_there(int proto)
{
	struct sockaddr_ll sll = {
		.sll_family = AF_PACKET,
		.sll_protocol = htons(proto),
		.sll_ifindex = rig.ifindex,
	};
	int fd = ASSERT_SYS(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));

	if (!bind(fd, (struct sockaddr *)&sll, sizeof(sll)))
		return fd;
	close(fd);
	return -1;
}

/* A packet socket stays in its namespace: open others where the tap is now. */
static void follow(struct flow *f)
{
	int i, sniff, inject;

	for (i = 0; i < 2; i++) {
		ASSERT_SYS(setns(netns[i], CLONE_NEWNET));
		sniff = socket_there(FRAME_TYPE);
		inject = socket_there(0);
		if (sniff >= 0 && inject >= 0) {
			close(f->r->sniff);
			close(f->r->inject);
			f->r->sniff = sniff;
			f->r->inject = inject;
			return;
		}
		close(sniff);
		close(inject);
	}
}

CASE_TIMED(tap_moved_to_another_namespace_recovers, 60)
{
	set_up(0);
	netns[0] = link_new_netns();
	netns[1] = link_own_netns();
	flow.lost = follow;
	flow_storm(&flow, ksft_rounds(8), move_it);
	follow(&flow);
	flow_settled(&flow);
}

static void change_mtu(unsigned int i)
{
	static const uint32_t mtu[] = { 68, 65521, 1500, 576, 9000 };

	EXPECT_EQ(link_mtu(rig.ifindex, mtu[i % 5]), 0);
}

CASE_TIMED(tap_mtu_changed_recovers, 40)
{
	set_up(0);
	flow_storm(&flow, ksft_rounds(25), change_mtu);
	EXPECT_EQ(link_mtu(rig.ifindex, 1500), 0);
	flow_settled(&flow);
}

static void toggle_persistence(unsigned int i)
{
	EXPECT_EQ(ioctl(rig.tap, TUNSETPERSIST, i % 2), 0);
}

CASE_TIMED(tap_persistence_toggled_loses_no_frame, 40)
{
	storm(2 * ksft_rounds(20), toggle_persistence, true);
	ASSERT_SYS(ioctl(rig.tap, TUNSETPERSIST, 0));
	/* no frame may be lost by that */
	EXPECT_EQ(flow.tx_seen, rig.tx_seq);
	EXPECT_EQ(flow.rx_seen, flow.rx_seq);
}

static void change_sndbuf(unsigned int i)
{
	static const int size[] = { 4096, INT_MAX, 65536, 1500, 1 << 20 };

	EXPECT_EQ(ioctl(rig.tap, TUNSETSNDBUF, &size[i % 5]), 0);
}

/* In and out of batching; tx_full_test.c has send buffers that are full. */
CASE_ROW_TIMED(tap_send_buffer_changed_loses_no_frame, 40,
	storm(ksft_rounds(50), change_sndbuf, true))

static void change_offloads(unsigned int i)
{
	static const unsigned long set[] = {
		0, TUN_F_CSUM, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6,
	};

	EXPECT_EQ(ioctl(rig.tap, TUNSETOFFLOAD, set[i % 3]), 0);
}

CASE_ROW_TIMED(tap_offloads_changed_lose_no_frame, 40,
	storm(ksft_rounds(30), change_offloads, true))

static void change_header(unsigned int i)
{
	static const int size[] = { 10, 24, 12, 4096 - 14, 20 };

	EXPECT_EQ(ioctl(rig.tap, TUNSETVNETHDRSZ, &size[i % 5]), 0);
}

/*
 * The tap's header has another length than the device's: frames are damaged, but no byte is
 * written beyond its buffer, and all works when the lengths agree again.
 */
static void header_changed(unsigned int tap, uint64_t features)
{
	int size;

	rig_open(&rig, &(struct rig_cfg){ .tap = tap, .rx_buf = 2048,
					  .features = features });
	flow = (struct flow){ .r = &rig };
	flow_recovers(&flow);
	flow.opaque = true;
	flow_storm(&flow, ksft_rounds(30), change_header);
	size = rig.v.hdr_len;
	ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size));
	/* a bad frame may have stopped a queue: it can be started again */
	flow_stop_empty(&flow);
	rig_start(&rig);
	/* frames without meaning may still wait at the host and in the tap */
	flow_quiesces(&flow);
	flow.opaque = false;
	flow_settled(&flow);
	rig_close(&rig);
}

CASE_TIMED(tap_header_size_changed_recovers, 60)
{
	header_changed(0, 0);
	header_changed(0, F_V1);	/* one buffer for each frame */
	header_changed(TAP_SNDBUF, 0);
}

/* In one buffer, which may hold the rest of an earlier frame. */
static void expect_one(uint32_t seq, uint32_t len)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	struct gr_done d;

	ASSERT(WAIT_FOR(3000, gr_used_pending(&q->ring)));
	ASSERT_EQ(gr_get_used(&q->ring, &d), 1);
	frame_check((uint8_t *)d.token + rig.v.hdr_len, d.len - rig.v.hdr_len,
		    seq, len);
	vdev_buf_put(q, d.token);
}

/* The device asks the tap for its header now and then: until then it receives frames. */
static void until_one_is_dropped(long dropped)
{
	struct guest_ring *ring = &rig.v.q[VDEV_RX].ring;
	uint32_t seq = 0;

	while (!ksft_failed()) {
		rig_inject(&rig, ++seq, 60);
		ASSERT(WAIT_FOR(3000, gr_used_pending(ring) ||
				rig_counter(&rig, "kvnet.rx.drop_tap") > dropped));
		if (!gr_used_pending(ring))
			break;
		expect_one(seq, 60);
		rig_rx_post(&rig, 1, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
	}
	ksft_note("%u frames until the tap was asked", seq);
}

/* As soon as the device has asked the tap for its header again, it drops each frame. */
CASE(tap_with_another_header_drops_frames)
{
	static const uint32_t len[] = { 60, 200, 256, 257, 1000, 9000 };
	static const int size[] = { 10, 14, 24 };
	long dropped = 0;
	unsigned int i, k;
	int right;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not count");
	rig_open(&rig, &(struct rig_cfg){ .features = F_V1, .rx_buf = 10000,
					  .bufs = 64 });
	right = rig.v.hdr_len;
	rig_rx_post(&rig, 64, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size[i]));
		until_one_is_dropped(dropped++);
		for (k = 0; k < 6; k++, dropped++)
			rig_inject(&rig, k, len[k]);
		EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.drop_tap") ==
				dropped));
		EXPECT(!gr_used_pending(&rig.v.q[VDEV_RX].ring));
		ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &right));
		for (k = 0; k < 6 && !ksft_failed(); k++) {
			rig_inject(&rig, k, len[k]);
			expect_one(k, len[k]);
		}
	}
	rig_close(&rig);
}

/* The tap's queue that the device serves. */
static void queue_off_and_on(unsigned int i)
{
	struct ifreq ifr = {
		.ifr_flags = i % 2 ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE,
	};

	EXPECT_EQ(ioctl(rig.tap, TUNSETQUEUE, &ifr), 0);
}

CASE_TIMED(tap_queue_detached_and_attached_recovers, 60)
{
	const unsigned int flags = IFF_TAP | TUN_FLAGS | IFF_MULTI_QUEUE;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	swap_to_tap(&rig, "t0", open_tun("t0", flags, rig.v.hdr_len, 0));
	flow_recovers(&flow);
	flow_storm(&flow, 2 * ksft_rounds(6), queue_off_and_on);
	flow_settled(&flow);
}

/* The device has a reference to the tap. */
CASE(tap_closed_by_the_vmm_stays)
{
	unsigned int i;

	for (i = 0; i < 3 && !ksft_failed(); i++) {
		flow = (struct flow){ .r = &rig };
		set_up(0);
		close(rig.tap);
		flow_settled(&flow);
		/* and with it the last one goes */
		vdev_backend(&rig.v, VDEV_RX, -1);
		vdev_backend(&rig.v, VDEV_TX, -1);
		EXPECT(WAIT_FOR(3000, !if_nametoindex(rig.name)));
		rig.tap = -1;
		rig_close(&rig);
	}
}

static void delete_it(unsigned int i)
{
	EXPECT_EQ(link_delete(rig.ifindex), 0);
}

CASE(tap_deleted_is_replaced)
{
	static const unsigned int taps[] = { 0, TAP_SNDBUF };
	unsigned int i;
	int fd;

	for (i = 0; i < 6 && !ksft_failed(); i++) {
		flow = (struct flow){ .r = &rig };
		set_up(taps[i % 2]);
		flow_storm(&flow, 1, delete_it);
		flow_pump(&flow);
		/* lost, but the buffers are used; vhost_net keeps those of a refused batch */
		if (!vdev_is_vhost())
			rig_tx_drain(&rig, 3000);
		rig_stop(&rig);
		EXPECT_EQ(__vdev_backend(&rig.v, VDEV_RX, rig.tap), -EINVAL);
		EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EINVAL);
		vdev_queue_reset(&rig.v, VDEV_RX);
		vdev_queue_reset(&rig.v, VDEV_TX);
		rig.tx_out = 0;
		fd = rig_tap_new(&rig, taps[i % 2]);
		flow_swap(&rig, fd, rig.ifindex);
		rig_start(&rig);
		flow_settled(&flow);
		rig_close(&rig);
	}
}

static void add_another(unsigned int i)
{
	if (i % 2)
		EXPECT_EQ(link_delete(if_nametoindex("come")), 0);
	else
		EXPECT_EQ(link_add_veth("come", "gone"), 0);
}

CASE_ROW_TIMED(other_interfaces_come_and_go_lose_no_frame, 40,
	storm(2 * ksft_rounds(10), add_another, true))

/* All of the changes above, but for those of headers. */
static void anything(unsigned int i)
{
	static void (*const what[])(unsigned int) = {
		down_and_up, rename_it, change_mtu, toggle_persistence,
		change_sndbuf, change_offloads,
	};

	what[ksft_below(6)](i + ksft_below(5));
}

CASE_TIMED(tap_changed_in_all_ways_at_once_recovers, 60)
{
	int sndbuf = INT_MAX;

	set_up(0);
	flow_storm(&flow, ksft_rounds(60), anything);
	ASSERT_SYS(ioctl(rig.tap, TUNSETPERSIST, 0));
	ASSERT_SYS(ioctl(rig.tap, TUNSETSNDBUF, &sndbuf));
	EXPECT_EQ(link_mtu(rig.ifindex, 1500), 0);
	EXPECT_EQ(link_up(rig.ifindex, true), 0);
	flow_settled(&flow);
}

KSFT_MAIN()
