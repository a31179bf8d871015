// SPDX-License-Identifier: GPL-2.0
/*
 * A send buffer that is full. A frame counts against the tap's limit for as long as it
 * waits somewhere in the host, but in most tests no frame waits: a sniffer takes it over at
 * once, and no limit is ever reached.  Here a qdisc ("plug") holds what leaves the host until
 * it is released.
 *
 * @hosts: 6.1
 * @again: packed
 * @seconds: 4
 */
#include <limits.h>
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <linux/pkt_sched.h>
#include <linux/netlink.h>
#include <linux/net_tstamp.h>
#include <net/ethernet.h>
#include <net/if.h>

#include "bridge.h"
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

/* first: adds the qdisc, which holds frames; else a TCQ_PLUG_* action. */
static int plug(bool first, int action)
{
	struct tc_plug_qopt options = { .action = action, .limit = 16 << 20 };

	return link_qdisc(near, first ? NLM_F_CREATE | NLM_F_REPLACE : 0, "plug",
			  &options, sizeof(options));
}

/*
 * Sniffs what leaves the qdisc, in that order. At the far end the order is not certain:
 * each CPU brings there what it has dequeued.
 */
static void sniff_at_the_queue(void)
{
	close(rig.sniff);
	rig.ifindex = near;
	rig.sniff = rig_packet_socket(&rig, ETH_P_ALL, false);
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
	int fd = rig_tap_new(&rig, 0), sndbuf = SNDBUF;

	ASSERT_SYS(ioctl(fd, TUNSETSNDBUF, &sndbuf));
	bridge_of("br0", (int[]){ near, rig.ifindex }, 2);
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
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	rig_expect(&rig, 0, 60);
	ASSERT(rig_tx_drain(&rig, 3000));
}

/* How often the device has found the send buffer full. */
static long waits(void)
{
	return rig_counter(&rig, "kvnet.tx.sndbuf_full");
}

static bool is_full(long before)
{
	long sent = rig_counter(&rig, "kvnet.tx.packets");

	/* what was sent is given back, and nothing else */
	return waits() > before && rig_tx_reap(&rig) >= 0 &&
	       rig.tx_done == sent;
}

static long runs(void)
{
	return rig_counter(&rig, "kvnet.tx.polls");
}

/* Waits until the worker polls no more. */
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

/* While the queue waits for room, a kick wakes no worker. */
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

/* Sends more than there is room for; on return the device waits for room. */
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
	uint8_t f[LEN];

	fill();
	if (!vdev_is_vhost()) {
		EXPECT_GE(rig.tx_done - done, 1);
		EXPECT_LE(rig.tx_done - done, FRAMES - 1);
		kicks_in_vain();
	}
	EXPECT_EQ(rig_sniff(&rig, f, sizeof(f), 0), -1);
	let_go();
	for (i = 0; i < FRAMES && !ksft_failed(); i++)
		rig_expect(&rig, first + i, LEN);
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

CASE_ROW_TIMED(full_tap_loses_nothing, 40, full(0, by_bridge))
CASE_ROW_TIMED(full_tap_without_event_idx_loses_nothing, 40, full(F_V1 | F_MRG, by_bridge))
CASE_ROW_TIMED(full_macvtap_loses_nothing, 40, full(0, by_macvtap))
CASE_ROW_TIMED(full_packet_socket_loses_nothing, 40,
	full(F_V1 | F_MRG | F_EVENT | F_NETHDR, by_packet_socket))

/* Has the kernel queue a timestamp of each frame, which is never read. */
static int by_stamping_socket(void)
{
	int how = SOF_TIMESTAMPING_TX_SCHED | SOF_TIMESTAMPING_SOFTWARE;
	int fd = by_packet_socket();

	ASSERT_SYS(setsockopt(fd, SOL_SOCKET, SO_TIMESTAMPING, &how, sizeof(how)));
	return fd;
}

/* A socket with a filled error queue polls as EPOLLERR, and waits for room like another. */
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
		rig_expect(&rig, 1 + i, LEN);
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

/* Frames from then on go in batches, which no limit stops. */
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
			rig_expect(&rig, first + i, LEN);
		EXPECT(rig_tx_drain(&rig, 3000));
	}
	rig_close(&rig);
}

CASE_ROW_TIMED(backend_removed_while_full_loses_nothing, 40, change_while_full(take_backend_away))
CASE_ROW_TIMED(sndbuf_raised_while_full_loses_nothing, 40, change_while_full(lift_limit))

/*** a tap that is deleted ***/

/* In private memory, whose missing pages the device waits for. */
static int by_bridge_from_private_memory(void)
{
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	return by_bridge();
}

/*
 * The device has found the tap full, and before it waits for room, the tap is deleted and
 * all that was on its way has been freed: no wake-up will come.
 */
CASE_TIMED(tap_deleted_before_wait_is_noticed, 40)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	long before, sent;
	uint32_t i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not tell when it waits");
	/* pinned rings would not fault */
	limit_locked_memory(0);
	/* in a legacy driver's split ring the used ring has a page of its own */
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
	/* without reading what the device has written */
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

/* As "ethtool -C rx-frames": the tap collects so many packets sent with MSG_MORE. */
static void tap_collects(const struct rig *r, unsigned int frames)
{
	struct ethtool_coalesce c = { .cmd = ETHTOOL_GCOALESCE };

	ASSERT_EQ(link_ethtool(r->name, &c), 0);
	c.cmd = ETHTOOL_SCOALESCE;
	c.rx_max_coalesced_frames = frames;
	ASSERT_EQ(link_ethtool(r->name, &c), 0);
}

/*
 * Such a tap keeps what it collects, and its room in the send buffer, until a packet
 * without MSG_MORE comes: a device that says MSG_MORE would wait for itself.  (No qdisc
 * holds frames here, so there is always room.)
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
