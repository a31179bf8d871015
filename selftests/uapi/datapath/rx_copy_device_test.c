// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that are copied out of a tap's ring are counted by the tap's device, as if the
 * tap had been called. Which one that is may change under those that are on their way.
 *
 * @seconds: 3
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "flow.h"
#include "links.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"

#define LEN	200
#define HELD	10	/* frames; all of them and as many again find buffers */

static struct rig rig;
static struct rig other;

static unsigned long sent(void)
{
	return link_sent(rig.name).packets;
}

static long calls(void)
{
	return rig_counter(&rig, "kvnet.rx.packets_recvmsg");
}

static void inject(unsigned int n, uint32_t seq)
{
	for (; n; n--)
		rig_inject(&rig, seq++, LEN);
}

static void post(unsigned int n)
{
	ASSERT_EQ(rig_rx_post(&rig, n, NULL), n);
	vdev_kick(&rig.v.q[VDEV_RX]);
}

static void expect(unsigned int n, uint32_t seq)
{
	for (; n && !ksft_failed(); n--)
		rig_rx_expect(&rig, seq++, LEN);
}

/* Frames that wait for buffers, and then go in one turn. */
static void burst(unsigned int n, uint32_t seq)
{
	inject(n, seq);
	post(n);
	expect(n, seq);
}

/*
 * Another device for the same descriptor: it is there already, with no file of its own.  Were
 * it up, it would lose its carrier, and have it back a while after it has a file.
 */
static void make_other(void)
{
	int fd;

	other = (struct rig){ .v.hdr_len = rig.v.hdr_len };
	fd = rig_tap_new(&other, 0);
	ASSERT_SYS(ioctl(fd, TUNSETPERSIST, 1));
	rig_link(&other, false);
	close(fd);
}

/* The descriptor, which the queue still has, has no device; it is another's from now on. */
static void join(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	ASSERT_SYS(ioctl(rig.tap, TUNSETIFF, &ifr));
	ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &rig.v.hdr_len));
	memcpy(rig.name, ifr.ifr_name, sizeof(rig.name));
	rig_link(&rig, true);
	flow_sockets(&rig, if_nametoindex(rig.name));
}

static void become(const char *name)
{
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	join(name);
}

/* In memory that can be taken away, with another device if need be. */
static void set_up(bool two)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net copies no frames itself");
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	if (two)
		make_other();
	rig_start(&rig);
}

/* The queue has one frame received, and taken others that find no buffers. */
static void hold_frames(void)
{
	inject(1, 0);
	ASSERT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.no_buf") > 0));
	wait_worker_idle();
	/* these are taken together, with none of them left in the tap */
	inject(HELD, 1);
	post(1);
	expect(1, 0);
	wait_worker_idle();
}

/* The turn that begins now stops at its first frame, which is taken by then. */
static void stop_in_turn(void)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];

	pager_open();
	pager.holds = true;
	ASSERT_EQ(rig_rx_post(&rig, q->buf_num, NULL), q->buf_num);
	pager_take_away(q->bufs, (size_t)q->buf_size * q->buf_num);
	vdev_kick(q);
	ASSERT(pager_asked(1, 3000));
}

/* Where the device is then, so is the caller, with sockets for it. */
static int move_away(void)
{
	int old = link_new_netns(), new = link_own_netns();

	ASSERT_SYS(setns(old, CLONE_NEWNET));
	ASSERT_EQ(link_move(rig.ifindex, new), 0);
	ASSERT_SYS(setns(new, CLONE_NEWNET));
	close(new);
	ASSERT_EQ(link_up(rig.ifindex, true), 0);
	flow_sockets(&rig, rig.ifindex);
	return old;
}

CASE(one_of_several_taps)
{
	struct link_sent c;

	if (vdev_is_vhost())
		ksft_skip("vhost_net copies no frames itself");
	rig_enter_netns();
	other = (struct rig){ .v.hdr_len = 12 };
	rig_tap_new(&other, 0);		/* before, and behind it */
	rig_open(&rig, &(struct rig_cfg){ .here = true, .stopped = true });
	rig_tap_new(&other, 0);
	rig_start(&rig);
	burst(40, 0);
	c = link_sent(rig.name);
	EXPECT_EQ(c.packets, 40);
	EXPECT_EQ(c.bytes, 40 * LEN);
	EXPECT_EQ(link_sent(other.name).packets, 0);
	rig_close(&rig);
}

/* Of frames of both in one turn each device has its own, but for what the tap was asked. */
CASE(a_device_after_another)
{
	unsigned long n;
	long asked;

	set_up(true);
	hold_frames();
	asked = calls();
	become(other.name);
	inject(5, 100);
	post(HELD + 5);
	expect(HELD, 1);
	expect(5, 100);
	asked = calls() - asked;
	n = sent();
	EXPECT_GE(n, 5);
	EXPECT_LE(n, 5 + asked - 1);	/* one at least was of its own */
	ksft_note("%lu counted, %ld by the tap", n, asked);
	rig_close(&rig);
}

/* What the tap made of the frames before is not known of another device's. */
CASE(a_device_with_another_header)
{
	const int size = 10;

	set_up(true);
	hold_frames();
	become(other.name);
	inject(4, 100);
	stop_in_turn();
	ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size));
	pager_go_on();
	expect(HELD, 1);
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.drop_tap") == 4));
	EXPECT(!gr_used_pending(&rig.v.q[VDEV_RX].ring));
	rig_close(&rig);
}

/* Nor of the same one's, by the time that it is the backend again. */
CASE(another_header_by_then)
{
	const int size = 10;

	set_up(false);
	burst(10, 0);
	rig_stop(&rig);
	ASSERT_SYS(ioctl(rig.tap, TUNSETVNETHDRSZ, &size));
	rig_start(&rig);
	inject(4, 100);
	post(4);
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.drop_tap") == 4));
	EXPECT(!gr_used_pending(&rig.v.q[VDEV_RX].ring));
	rig_close(&rig);
}

/* A device that is not to be found cannot be told of copies: the tap counts. */
CASE(a_device_out_of_sight)
{
	set_up(true);
	hold_frames();
	become(other.name);
	close(move_away());
	inject(5, 100);
	post(HELD + 5);
	expect(HELD, 1);
	expect(5, 100);
	EXPECT_GE(sent(), 5);
	burst(5, 200);
	EXPECT_GE(sent(), 10);
	rig_close(&rig);
}

/* By the device that it is now, but for the first turn's. */
static void all_are_counted(void)
{
	struct link_sent was;
	unsigned int i;

	burst(5, 50);
	was = link_sent(rig.name);
	for (i = 0; i < 3 && !ksft_failed(); i++)
		burst(HELD, 100 * i);
	EXPECT_EQ(sent() - was.packets, 3 * HELD);
	EXPECT_EQ(link_sent(rig.name).bytes - was.bytes, 3 * HELD * LEN);
}

CASE(moved_to_another_namespace)
{
	set_up(false);
	burst(HELD, 0);
	EXPECT_EQ(sent(), HELD);
	close(move_away());
	all_are_counted();
	rig_close(&rig);
}

/* The new one may well be where in memory the old one was. */
CASE(a_device_in_the_place_of_another)
{
	unsigned int i;

	set_up(false);
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		burst(HELD, 0);
		become("uapi%d");
		all_are_counted();
	}
	rig_close(&rig);
}

/* Somebody else has the number by which the device was found. */
CASE(a_number_that_is_used_again)
{
	struct ifreq ifr = { .ifr_name = "another", .ifr_flags = IFF_TAP | IFF_NO_PI };
	int old, fd;

	set_up(false);
	hold_frames();
	stop_in_turn();
	old = move_away();
	ASSERT_SYS(setns(old, CLONE_NEWNET));
	fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	ASSERT_SYS(ioctl(fd, TUNSETIFINDEX, &rig.ifindex));
	ASSERT_SYS(ioctl(fd, TUNSETIFF, &ifr));
	ASSERT_EQ(if_nametoindex("another"), rig.ifindex);
	pager_go_on();
	expect(HELD, 1);
	EXPECT_EQ(link_sent("another").packets, 0);
	close(fd);
	rig_close(&rig);
}

/* The old tap has a device again, and its queue hears of a frame. */
static void comes_back(int refused)
{
	join("uapi%d");
	wait_worker_idle();
	inject(1, 1);
	expect(1, 1);
	close(refused);
	rig_close(&rig);
}

/* The queue still waits for the old one. */
CASE(another_is_refused_meanwhile)
{
	int fd;

	set_up(false);
	burst(1, 0);
	post(HELD);
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_RX, fd), -EINVAL);
	comes_back(fd);
}

static struct start {
	unsigned int index;
	int fd, ret;
} start;

static void *start_thread(void *arg)
{
	start.ret = __vdev_backend(&rig.v, start.index, start.fd);
	return arg;
}

/* A tap with a device of its own, which another queue could have as well. */
static int another_tap(struct ifreq *ifr)
{
	int fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));

	*ifr = (struct ifreq){ .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	ASSERT_SYS(ioctl(fd, TUNSETIFF, ifr));
	ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &rig.v.hdr_len));
	ASSERT_EQ(link_up(if_nametoindex(ifr->ifr_name), true), 0);
	return fd;
}

/* To start waits for the ring's memory, and the tap that it was for has no device any more. */
static void refused_late(unsigned int index, int fd, const struct ifreq *ifr)
{
	pthread_t thread;

	start = (struct start){ index, fd, 0 };
	pager_open();
	pager.holds = true;
	pager_take_away(rig.v.mem, VDEV_RING_ZONE);
	ASSERT_EQ(pthread_create(&thread, NULL, start_thread, NULL), 0);
	ASSERT(pager_asked(1, 3000));
	ASSERT_EQ(link_delete(if_nametoindex(ifr->ifr_name)), 0);
	pager_go_on();
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	EXPECT_EQ(start.ret, -EINVAL);
}

CASE(a_device_that_goes_while_the_queue_starts)
{
	struct vhost_vring_state num = { .index = VDEV_RX };
	struct ifreq ifr;
	int fd;

	set_up(false);
	num.num = rig.v.q[VDEV_RX].num;
	vdev_backend(&rig.v, VDEV_RX, -1);
	fd = another_tap(&ifr);
	refused_late(VDEV_RX, fd, &ifr);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_VRING_NUM, &num), 0);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	burst(1, 0);
	close(fd);
	rig_close(&rig);
}

/* The queue still waits for the old one, which has none just now. */
CASE(another_goes_while_the_queue_starts)
{
	struct ifreq ifr;
	int fd;

	set_up(false);
	burst(1, 0);
	fd = another_tap(&ifr);
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	refused_late(VDEV_RX, fd, &ifr);
	post(HELD);
	comes_back(fd);
}

static void send_one(uint32_t seq)
{
	ASSERT_EQ(rig_tx(&rig, LEN, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	EXPECT(rig_expect(&rig, seq, LEN));
	wait_worker_idle();
}

/* A driver that is to kick still knows: to start has told it not to. */
CASE(another_goes_while_an_idle_queue_starts)
{
	struct ifreq ifr;
	int fd;

	/* where it says by a flag whether it wants kicks, not by a number */
	rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG, .stopped = true });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	send_one(0);
	fd = another_tap(&ifr);
	refused_late(VDEV_TX, fd, &ifr);
	send_one(1);
	close(fd);
	rig_close(&rig);
}

KSFT_MAIN()
