// SPDX-License-Identifier: GPL-2.0
/*
 * What can happen to a tap while a device serves it: another process meddles
 * with it, under frames both ways.  Frames may get lost; none is damaged, no
 * buffer is, and afterwards all goes on.
 *
 * @hosts: 6.1
 * @again: slow
 * @seconds: 8
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"
#include "links.h"
#include "xdp.h"

static struct rig rig;
static struct flow flow = { .r = &rig };
static int netns[2];

static void set_up(unsigned int tap)
{
	rig_open(&rig, &(struct rig_cfg){ .tap = tap,
		.features = tap & TAP_BARE ? F_V1 | F_MRG | F_NETHDR : 0 });
	flow_recovers(&flow);
}

static void down_and_up(unsigned int i)
{
	EXPECT_EQ(link_up(rig.ifindex, i % 2), 0);
}

CASE_TIMED(link_goes_down_and_up, 40)
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

CASE_TIMED(renamed, 40)
{
	set_up(0);
	flow_storm(&flow, ksft_rounds(20), rename_it);
	flow_settled(&flow);
}

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

/* A packet socket stays in its namespace: make others where the tap is now. */
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

CASE_TIMED(moved_to_another_namespace, 60)
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

CASE_TIMED(mtu_changed, 40)
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

CASE_TIMED(made_persistent_and_not, 40)
{
	set_up(0);
	flow.lossless = true;
	flow_storm(&flow, 2 * ksft_rounds(20), toggle_persistence);
	ASSERT_SYS(ioctl(rig.tap, TUNSETPERSIST, 0));
	flow_settled(&flow);
	/* nothing may be lost by that */
	EXPECT_EQ(flow.tx_seen, rig.tx_seq);
	EXPECT_EQ(flow.rx_seen, flow.rx_seq);
}

static void change_sndbuf(unsigned int i)
{
	static const int size[] = { 4096, INT_MAX, 65536, 1500, 1 << 20 };

	EXPECT_EQ(ioctl(rig.tap, TUNSETSNDBUF, &size[i % 5]), 0);
}

/* In and out of batching; tx_full_test.c has send buffers that are full. */
CASE_TIMED(send_buffer_changed, 40)
{
	set_up(0);
	flow.lossless = true;
	flow_storm(&flow, ksft_rounds(50), change_sndbuf);
	flow_settled(&flow);
}

static void change_offloads(unsigned int i)
{
	static const unsigned long set[] = {
		0, TUN_F_CSUM, TUN_F_CSUM | TUN_F_TSO4 | TUN_F_TSO6,
	};

	EXPECT_EQ(ioctl(rig.tap, TUNSETOFFLOAD, set[i % 3]), 0);
}

CASE_TIMED(offloads_changed, 40)
{
	set_up(0);
	flow.lossless = true;
	flow_storm(&flow, ksft_rounds(30), change_offloads);
	flow_settled(&flow);
}

static void change_header(unsigned int i)
{
	static const int size[] = { 10, 24, 12, 4096 - 14, 20 };

	EXPECT_EQ(ioctl(rig.tap, TUNSETVNETHDRSZ, &size[i % 5]), 0);
}

/*
 * The header is not what the two agreed upon: frames are not what they were,
 * but no byte lands beyond its buffer, and all is well when they agree again.
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
	/* what went wrong may have stopped a queue: it can be had again */
	flow_stop_empty(&flow);
	rig_start(&rig);
	/* frames without meaning may still wait at the host and in the tap */
	flow_quiesces(&flow);
	flow.opaque = false;
	flow_settled(&flow);
	rig_close(&rig);
}

CASE_TIMED(header_size_changed, 60)
{
	header_changed(0, 0);
	header_changed(0, F_V1);	/* one buffer for each frame */
	header_changed(TAP_SNDBUF, 0);
}

/* In one buffer, which may hold what is left of others. */
static void takes_one(uint32_t seq, uint32_t len)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	struct gr_done d;

	ASSERT(WAIT_FOR(3000, gr_used_pending(&q->ring)));
	ASSERT_EQ(gr_get_used(&q->ring, &d), 1);
	frame_check((uint8_t *)d.token + rig.v.hdr_len, d.len - rig.v.hdr_len,
		    seq, len);
	vdev_buf_put(q, d.token);
}

/* Till then the frames are as they were. */
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
		takes_one(seq, 60);
		rig_rx_post(&rig, 1, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
	}
	ksft_note("%u frames until the tap was asked", seq);
}

/*
 * A header of another length than was agreed upon: the guest sees no such frame, as
 * soon as the tap is asked for it again.
 */
CASE(frames_with_another_header_are_dropped)
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
			takes_one(k, len[k]);
		}
	}
	rig_close(&rig);
}

/* A queue of its own, besides the one that the device serves. */
static void queue_off_and_on(unsigned int i)
{
	struct ifreq ifr = {
		.ifr_flags = i % 2 ? IFF_ATTACH_QUEUE : IFF_DETACH_QUEUE,
	};

	EXPECT_EQ(ioctl(rig.tap, TUNSETQUEUE, &ifr), 0);
}

CASE_TIMED(queue_detached_and_attached, 60)
{
	const unsigned int flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR |
				   IFF_MULTI_QUEUE;
	struct ifreq ifr = { .ifr_name = "t0", .ifr_flags = flags };
	int fd, hdr = sizeof(struct virtio_net_hdr_mrg_rxbuf);

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	ASSERT_SYS(ioctl(fd, TUNSETIFF, &ifr));
	ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &hdr));
	flow_swap(&rig, fd, if_nametoindex("t0"));
	ASSERT_EQ(link_up(rig.ifindex, true), 0);
	rig_start(&rig);
	flow_recovers(&flow);
	flow_storm(&flow, 2 * ksft_rounds(6), queue_off_and_on);
	flow_settled(&flow);
}

/* The device holds the tap: its owner may forget it. */
CASE(descriptor_closed_by_its_owner)
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
	(void)i;
	EXPECT_EQ(link_delete(rig.ifindex), 0);
}

CASE(deleted)
{
	static const unsigned int taps[] = { 0, TAP_SNDBUF };
	unsigned int i;
	int fd;

	for (i = 0; i < 6 && !ksft_failed(); i++) {
		flow = (struct flow){ .r = &rig };
		set_up(taps[i % 2]);
		flow_storm(&flow, 1, delete_it);
		flow_pump(&flow);
		/* lost, but given back; vhost_net forgets a refused batch */
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

static void attach_a_program(unsigned int i)
{
	int fd = i % 2 ? -1 : xdp_load_verdict(XDP_PASS);

	EXPECT_EQ(xdp_attach(rig.ifindex, fd), 0);
	if (fd >= 0)
		close(fd);
}

CASE_TIMED(program_attached_and_not, 40)
{
	int fd = xdp_load_verdict(XDP_PASS);

	if (fd < 0)
		ksft_skip("no XDP programs: %s", strerror(-fd));
	close(fd);
	set_up(0);
	flow_storm(&flow, 2 * ksft_rounds(10), attach_a_program);
	flow_settled(&flow);
}

static void add_another(unsigned int i)
{
	if (i % 2)
		EXPECT_EQ(link_delete(if_nametoindex("come")), 0);
	else
		EXPECT_EQ(link_add_veth("come", "gone"), 0);
}

CASE_TIMED(other_interfaces_come_and_go, 40)
{
	set_up(0);
	flow.lossless = true;
	flow_storm(&flow, 2 * ksft_rounds(10), add_another);
	flow_settled(&flow);
}

/* All of it at once, in any order, but for what makes headers differ. */
static void anything(unsigned int i)
{
	static void (*const what[])(unsigned int) = {
		down_and_up, rename_it, change_mtu, toggle_persistence,
		change_sndbuf, change_offloads,
	};

	what[ksft_below(6)](i + ksft_below(5));
}

CASE_TIMED(everything_at_once, 60)
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
