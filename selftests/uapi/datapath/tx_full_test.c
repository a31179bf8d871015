// SPDX-License-Identifier: GPL-2.0
/*
 * A send buffer that is really full. What a tap sends belongs to it for as long as
 * it waits somewhere in the host, but most hosts of a test let nothing wait: who
 * sniffs takes a frame over at once, and no limit is ever reached.  Here a queue
 * ("plug") holds what leaves the host until it is told to let go.
 *
 * @hosts: 6.1
 * @again: packed
 * @seconds: 4
 */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/pkt_sched.h>
#include <linux/netlink.h>
#include <linux/net_tstamp.h>
#include <linux/sockios.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "flow.h"
#include "links.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"

#define LEN	1400
#define FRAMES	200
#define SNDBUF	(64 << 10)	/* some 28 of them */

static struct rig rig;
static int near, far;

/* First: a new queue, which holds; then TCQ_PLUG_*. */
static int plug(bool first, int action)
{
	struct tc_plug_qopt options = { .action = action, .limit = 16 << 20 };

	return link_qdisc(near, first ? NLM_F_CREATE | NLM_F_REPLACE : 0, "plug",
			  &options, sizeof(options));
}

/*
 * What leaves the queue, in the order in which it does. At the far end it is not
 * certain: each CPU brings there what it has taken from the queue.
 */
static void sniff_at_the_queue(void)
{
	close(rig.sniff);
	rig.ifindex = near;
	rig.sniff = rig_packet_socket(&rig, ETH_P_ALL, false);
}

static void expect_frame(uint32_t seq, uint32_t len)
{
	static uint8_t f[2 * LEN];
	ssize_t n;

	do {
		n = rig_sniff(&rig, f, sizeof(f), 3000);
	} while (n >= 0 && !frame_is_ours(f, n));
	if (n < 0)
		FAIL("frame %u of %u bytes did not arrive", seq, len);
	else
		frame_check(f, n, seq, len);
}

/* A bridge has something to say of itself now and then. */
static void nothing_of_ours(void)
{
	static uint8_t f[2 * LEN];
	ssize_t n;

	while ((n = rig_sniff(&rig, f, sizeof(f), 0)) >= 0)
		EXPECT(!frame_is_ours(f, n));
}

static void hold(void)
{
	ASSERT_EQ(plug(false, TCQ_PLUG_BUFFER), 0);
}

static void let_go(void)
{
	ASSERT_EQ(plug(false, TCQ_PLUG_RELEASE_INDEFINITE), 0);
}

/* Kinds of backend that can be full, each on the way to the far end of a pair. */
static int by_bridge(void)
{
	struct rig br = { .name = "br0" };
	int fd = rig_tap_new(&rig, 0), sndbuf = SNDBUF;

	ASSERT_SYS(ioctl(fd, TUNSETSNDBUF, &sndbuf));
	link_bridge(0);
	link_bridge(near);
	link_bridge(rig.ifindex);
	rig_link(&br, true);
	return fd;
}

static int by_macvtap(void)
{
	int ret = link_add_upper("macvtap", "up0", near, MACVLAN_MODE_VEPA);
	int hdr = rig.v.hdr_len, sndbuf = SNDBUF, up, fd;

	if (ret)
		ksft_skip("no macvtap: %s", strerror(-ret));
	up = if_nametoindex("up0");
	ASSERT_EQ(link_up(up, true), 0);
	fd = link_open_tap(up);
	ASSERT(fd >= 0);
	ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &hdr));
	ASSERT_SYS(ioctl(fd, TUNSETSNDBUF, &sndbuf));
	return fd;
}

static int by_packet_socket(void)
{
	int sndbuf = SNDBUF / 2, fd;	/* the kernel doubles it */

	rig.ifindex = near;
	fd = rig_packet_socket(&rig, 0, false);
	ASSERT_SYS(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &sndbuf,
			      sizeof(sndbuf)));
	return fd;
}

static void begin(uint64_t features, int (*backend)(void))
{
	int ret;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true,
		 .features = features, .tx_buf = 2048 });
	ret = link_add_veth("near", "far");
	if (ret)
		ksft_skip("no veth: %s", strerror(-ret));
	near = if_nametoindex("near");
	far = if_nametoindex("far");
	ret = plug(true, TCQ_PLUG_LIMIT);
	if (ret == -ENOENT && link_module("sch_plug"))
		ret = plug(true, TCQ_PLUG_LIMIT);
	if (ret)
		ksft_skip("no queue that can be plugged: %s", strerror(-ret));
	ASSERT_EQ(link_pair_up(near, far), 0);
	flow_swap(&rig, backend(), far);
	sniff_at_the_queue();
	if (__vdev_backend(&rig.v, VDEV_RX, rig.tap) == -ENOTSOCK)
		ksft_skip("packet sockets are not supported");
	rig_start(&rig);
	let_go();
	/* a bridge port does not forward from its first moment on */
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	expect_frame(0, 60);
	ASSERT(rig_tx_drain(&rig, 3000));
}

/* How often the device has found no room, once it stays so. */
static long waits(void)
{
	return rig_counter(&rig, "kvnet.tx.sndbuf_full");
}

static bool is_full(long before)
{
	long sent = rig_counter(&rig, "kvnet.tx.packets");

	/* given back what was sent, and nothing else */
	return waits() > before && rig_tx_reap(&rig) >= 0 &&
	       rig.tx_done == sent;
}

static long runs(void)
{
	return rig_counter(&rig, "kvnet.tx.polls");
}

/* Whatever it still has to do: then it does nothing. */
static bool is_idle(void)
{
	unsigned int i;
	long n;

	for (i = 0; i < 10; i++) {
		n = runs();
		if (!WAIT_FOR(300, runs() != n))
			return true;
	}
	return false;
}

/* While it waits for room, a kick is of no use: it is not even looked at. */
static void kicks_in_vain(void)
{
	long before = runs();
	long wakes = rig_counter(&rig, "kvnet.tx.wakeups");
	unsigned int i;

	for (i = 0; i < 50; i++)
		vdev_kick_always(&rig.v.q[VDEV_TX]);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.wakeups"), wakes);
	EXPECT_EQ(runs(), before);
}

/* More than there is room for; the device waits by the time of return. */
static void fill(void)
{
	uint32_t i;
	long before = waits();

	hold();
	for (i = 0; i < FRAMES; i++)
		ASSERT_EQ(rig_tx(&rig, LEN, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	if (!vdev_is_vhost())
		ASSERT(WAIT_FOR(3000, is_full(before)));
}

/* Fill it, look, empty it: all arrive, in order, and all are given back. */
static void fill_and_empty(void)
{
	uint32_t first = rig.tx_seq, done = rig.tx_done, i;

	fill();
	if (!vdev_is_vhost()) {
		EXPECT_GE(rig.tx_done - done, 1);
		EXPECT_LE(rig.tx_done - done, FRAMES - 1);
		kicks_in_vain();
	}
	nothing_of_ours();
	let_go();
	for (i = 0; i < FRAMES && !ksft_failed(); i++)
		expect_frame(first + i, LEN);
	EXPECT(rig_tx_drain(&rig, 3000));
	EXPECT_EQ(rig.tx_done - done, FRAMES);
}

static void full(uint64_t features, int (*backend)(void))
{
	unsigned int i;

	begin(features, backend);
	for (i = 0; i < ksft_rounds(5) && !ksft_failed(); i++)
		fill_and_empty();
	EXPECT(vdev_is_vhost() || is_idle());
	if (!vdev_is_vhost())
		ksft_note("%ld frames, %ld waits for room",
			  rig_counter(&rig, "kvnet.tx.packets"), waits());
	rig_close(&rig);
	link_delete(far);
}

CASE_TIMED(full_tap_loses_nothing, 40)
{
	full(0, by_bridge);
}

CASE_TIMED(full_tap_without_event_idx_loses_nothing, 40)
{
	full(F_V1 | F_MRG, by_bridge);
}

CASE_TIMED(full_macvtap_loses_nothing, 40)
{
	full(0, by_macvtap);
}

CASE_TIMED(full_packet_socket_loses_nothing, 40)
{
	full(F_V1 | F_MRG | F_EVENT | F_NETHDR, by_packet_socket);
}

/* Notes when each frame was sent, where nobody reads it. */
static int by_stamping_socket(void)
{
	int how = SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE;
	int fd = by_packet_socket();

	ASSERT_SYS(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &how, sizeof(how)));
	return fd;
}

/* A socket with something in its error queue is in error, and as full as another. */
CASE_TIMED(full_packet_socket_in_error_waits, 40)
{
	struct pollfd p;
	uint32_t i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not tell when it waits");
	begin(F_V1 | F_MRG | F_EVENT | F_NETHDR, by_stamping_socket);
	fill();
	p = (struct pollfd){ .fd = rig.tap };
	ASSERT_EQ(poll(&p, 1, 0), 1);
	EXPECT_EQ(p.revents, POLLERR);
	EXPECT(is_idle());
	let_go();
	for (i = 0; i < FRAMES && !ksft_failed(); i++)
		expect_frame(1 + i, LEN);
	EXPECT(rig_tx_drain(&rig, 3000));
	rig_close(&rig);
	link_delete(far);
}

static void take_backend_away(void)
{
	rig_stop(&rig);
	EXPECT_GE(rig.tx_out, 1);
	let_go();
	rig_start(&rig);
}

/* What is sent from then on goes in batches, which no limit stops. */
static void lift_limit(void)
{
	int none = INT_MAX;

	ASSERT_SYS(ioctl(rig.tap, TUNSETSNDBUF, &none));
	let_go();
}

static void change_while_full(void (*change)(void))
{
	int sndbuf = SNDBUF;
	unsigned int round;
	uint32_t first, i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not tell when it waits");
	begin(0, by_bridge);
	for (round = 0; round < ksft_rounds(5) && !ksft_failed(); round++) {
		ASSERT_SYS(ioctl(rig.tap, TUNSETSNDBUF, &sndbuf));
		first = rig.tx_seq;
		fill();
		change();
		for (i = 0; i < FRAMES && !ksft_failed(); i++)
			expect_frame(first + i, LEN);
		EXPECT(rig_tx_drain(&rig, 3000));
	}
	rig_close(&rig);
}

CASE_TIMED(backend_removed_while_full_loses_nothing, 40)
{
	change_while_full(take_backend_away);
}

CASE_TIMED(sndbuf_raised_while_full_loses_nothing, 40)
{
	change_while_full(lift_limit);
}

/*** a tap that goes ***/

/* Of which a page that is not there has to be waited for. */
static int by_bridge_from_private_memory(void)
{
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	return by_bridge();
}

/*
 * The device has found the tap full, and before it can say what it waits for, the tap
 * has gone and all that was on its way has been freed: nobody will wake it.
 */
CASE_TIMED(tap_deleted_before_wait_is_noticed, 40)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	long before, sent;
	uint32_t i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not tell when it waits");
	/* rings that are pinned are there */
	limit_locked_memory(0);
	/* a legacy driver's ring is split: what the device writes has a page of its own */
	begin(F_MRG | F_EVENT, by_bridge_from_private_memory);
	vdev_no_spin(&rig.v);
	wait_worker_idle();
	before = waits();
	hold();
	pager_open();
	pager.holds = true;
	pager_take_away(q->ring.cfg.used, PAGE);
	for (i = 0; i < FRAMES; i++)
		ASSERT_EQ(rig_tx(&rig, LEN, NULL), 0);
	/* and no look at what the device has written */
	gr_publish(&q->ring);
	ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	ASSERT(pager_asked(1, 3000));
	EXPECT_EQ(waits(), before + 1);
	sent = rig_counter(&rig, "kvnet.tx.packets");
	ASSERT_EQ(link_delete(if_nametoindex(rig.name)), 0);
	ASSERT_EQ(link_delete(far), 0);
	pager_go_on();
	EXPECT(rig_tx_drain(&rig, 3000));
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.tx.drop_tap") == 1 + FRAMES - sent));
	rig_close(&rig);
}

/*** a tap that collects packets ***/

/* As "ethtool -C rx-frames": the tap collects that many packets if told more. */
static void tap_collects(const struct rig *r, unsigned int frames)
{
	struct ethtool_coalesce c = { .cmd = ETHTOOL_GCOALESCE };
	struct ifreq ifr = { .ifr_data = (void *)&c };
	int fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));

	memcpy(ifr.ifr_name, r->name, sizeof(r->name));
	ASSERT_SYS(ioctl(fd, SIOCETHTOOL, &ifr));
	c.cmd = ETHTOOL_SCOALESCE;
	c.rx_max_coalesced_frames = frames;
	ASSERT_SYS(ioctl(fd, SIOCETHTOOL, &ifr));
	close(fd);
}

/*
 * What such a tap collects it keeps, and with it the room in its send buffer, until
 * it is told that no more will come: whoever says "more" waits for himself.  (Nothing
 * else is kept here, so there is always room.)
 */
CASE(collecting_tap_with_small_sndbuf_does_not_stall)
{
	int sndbuf = 64 << 10, i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net sends with MSG_MORE and may wait for ever");
	rig_open(&rig, &(struct rig_cfg){ .tap = TAP_SNDBUF });
	ASSERT_SYS(ioctl(rig.tap, TUNSETSNDBUF, &sndbuf));
	tap_collects(&rig, 64);
	for (i = 0; i < 200; i++)
		ASSERT_EQ(rig_tx(&rig, 1400, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	for (i = 0; i < 200 && !ksft_failed(); i++)
		rig_expect(&rig, i, 1400);
	EXPECT_EQ(rig_tx_drain(&rig, 3000), true);
	rig_close(&rig);
}

KSFT_MAIN()
