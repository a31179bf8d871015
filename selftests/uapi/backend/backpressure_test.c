// SPDX-License-Identifier: GPL-2.0
/*
 * A tap with IFF_BACKPRESSURE (Linux 7.3): one that is full stops its senders instead of
 * dropping what they send, and the backend that empties it lets them go on.
 *
 * A frame that waits in the qdisc is still charged to its sender's socket, one in the tap is
 * not: SIOCOUTQ shows that the queue is stopped, and that it goes on.
 *
 * @tier: all
 * @module: failing-smp
 * @hosts: newest
 * @skip: .*-(uml.*|6\.1|6\.12) | .*: this kernel has no .* | newer kernels have it: test-newest
 */
#include <limits.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/sockios.h>
#include <net/if.h>

#include "flow.h"
#include "inject.h"
#include "links.h"

#ifndef IFF_BACKPRESSURE
#define IFF_BACKPRESSURE	0x0080
#endif
#define TAP_FLAGS	(IFF_TAP | IFF_NO_PI | IFF_VNET_HDR)
#define LATE		"/sys/module/kvnet/parameters/lock_late_us"
#define LEN		200
#define BATCH		64	/* frames that a backend takes from a tap at once */

static struct rig rig;
static uint32_t sent, seen;	/* frames; the number of the next one */
static unsigned int stops;	/* seen */

static int open_tap(unsigned int flags)
{
	int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC), sndbuf = INT_MAX;
	struct ifreq ifr = { .ifr_flags = TAP_FLAGS | flags };
	unsigned int known = 0;

	if (fd < 0)
		ksft_skip("/dev/net/tun: %s", strerror(errno));
	ASSERT_SYS(ioctl(fd, TUNGETFEATURES, &known));
	if (!(known & IFF_BACKPRESSURE))
		ksft_skip("this kernel has no IFF_BACKPRESSURE");
	strcpy(ifr.ifr_name, "t0");
	ASSERT_SYS(ioctl(fd, TUNSETIFF, &ifr));
	ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &rig.v.hdr_len));
	ASSERT_SYS(ioctl(fd, TUNSETSNDBUF, &sndbuf));
	return fd;
}

/* A qdisc that drops nothing by itself; fq_codel drops frames that have waited too long. */
static void set_qdisc(int ifindex)
{
	struct tc_fifo_qopt fifo = { .limit = 1000 };

	ASSERT_EQ(link_qdisc(ifindex, NLM_F_CREATE | NLM_F_REPLACE, "pfifo", &fifo,
			     sizeof(fifo)), 0);
}

static void begin_stopped(unsigned int flags, unsigned int ring)
{
	int sndbuf = 32 << 10, fd;	/* some 60 frames, less than the qdisc */

	sent = 0;
	seen = 0;
	stops = 0;
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	fd = open_tap(flags);
	/* the tap's ring has a place for each frame of that length */
	ASSERT_EQ(link_queue_len(if_nametoindex("t0"), ring), 0);
	flow_swap(&rig, fd, if_nametoindex("t0"));
	set_qdisc(rig.ifindex);
	ASSERT_SYS(setsockopt(rig.inject, SOL_SOCKET, SO_SNDBUFFORCE, &sndbuf,
			      sizeof(sndbuf)));
	ASSERT_EQ(link_up(rig.ifindex, true), 0);
}

static void begin(unsigned int flags, unsigned int ring)
{
	begin_stopped(flags, ring);
	rig_start(&rig);
}

static int waiting(void)
{
	int bytes;

	ASSERT_SYS(ioctl(rig.inject, SIOCOUTQ, &bytes));
	return bytes;
}

/* Sends until no more is accepted; returns how many frames. */
static unsigned int feed(uint32_t end)
{
	uint8_t frame[LEN];
	unsigned int n;

	for (n = 0; sent < end; n++, sent++) {
		frame_make(frame, sent, LEN);
		if (send(rig.inject, frame, LEN, MSG_DONTWAIT) == LEN)
			continue;
		/* no room in the socket's send buffer, or in the qdisc */
		ASSERT(errno == EAGAIN || errno == ENOBUFS);
		break;
	}
	return n;
}

static void give(unsigned int bufs)
{
	rig_rx_post(&rig, bufs, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
}

static void expect_next(void)
{
	rig_rx_expect(&rig, seen++, LEN);
}

/* The guest gives no buffer: the tap fills up. */
static bool fill_up(uint32_t end)
{
	bool full = WAIT_FOR(3000, !feed(end) && waiting());

	stops += full;
	return full;
}

/* All frames until 'end' arrive, though the guest adds only 'bufs' buffers at once. */
static void pass(uint32_t end, unsigned int bufs)
{
	while (seen < end && !ksft_failed()) {
		unsigned int n = bufs < end - seen ? bufs : end - seen;

		feed(end);
		stops += waiting() > 0;
		give(n);
		/* the frames that wait by now are enough for that many */
		while (n-- && !ksft_failed()) {
			if (seen == sent)
				feed(end);
			expect_next();
		}
	}
	if (ksft_failed())
		ksft_note("the tap has dropped %lu", link_sent("t0").dropped);
}

static void all_passed(void)
{
	EXPECT(WAIT_FOR(3000, !waiting()));
	EXPECT_EQ(link_sent("t0").dropped, 0);
	EXPECT_EQ(sent, seen);
}

/* The other cases rely on that: without the flag, frames are dropped. */
CASE(tap_without_backpressure_drops)
{
	begin(0, 128);
	WAIT_FOR(3000, (feed(sent + 64), link_sent("t0").dropped));
	EXPECT_GE(link_sent("t0").dropped, 1);
	EXPECT_EQ(waiting(), 0);
	rig_close(&rig);
}

static void stream(unsigned int flags, unsigned int ring)
{
	static const unsigned int bufs[] = { 1, 3, 16, 63, 64, 65, 256 };
	unsigned int i;

	begin(IFF_BACKPRESSURE | flags, ring);
	for (i = 0; i < sizeof(bufs) / sizeof(bufs[0]); i++)
		pass(sent + ksft_rounds(1) * (ring + 100), bufs[i]);
	all_passed();
	EXPECT_GE(stops, 1);
	ksft_note("ring of %u: %u frames, the queue was seen stopped %u times",
		  ring, seen, stops);
	rig_close(&rig);
}

/*
 * The tap is filled before it is a backend, and the device takes a whole batch then, or
 * afterwards, and it takes what there is. Not all waiting senders find room then.
 */
static void goes_on(bool filled)
{
	unsigned int i;
	int full;

	begin_stopped(IFF_BACKPRESSURE, 2 * BATCH);
	if (filled)
		feed(BATCH);
	rig_start(&rig);
	ASSERT(fill_up(sent + 1000));
	full = waiting();
	/* the batch that the device has already, and half of the next one */
	give(BATCH + BATCH / 2);
	for (i = 0; i < BATCH + BATCH / 2 && !ksft_failed(); i++)
		expect_next();
	EXPECT(WAIT_FOR(3000, waiting() < full));
	pass(sent, 256);
	all_passed();
	rig_close(&rig);
}

/* Senders go on as soon as there is room, and not only when the tap is empty. */
CASE(senders_go_on_before_the_tap_is_empty)
{
	goes_on(false);
	goes_on(true);
}

/* Rings that are smaller than what a backend takes at once, and longer ones. */
CASE_TIMED(rings_of_all_sizes_lose_no_frame, 60)
{
	static const unsigned int rings[] = { 1, 2, 8, 63, 64, 65, 128, 1000 };
	unsigned int i;

	for (i = 0; i < sizeof(rings) / sizeof(rings[0]) && !ksft_failed(); i++)
		stream(0, rings[i]);
}

CASE_ROW_TIMED(multi_queue_tap_loses_no_frame, 60, stream(IFF_MULTI_QUEUE, 128))

/*
 * The guest adds buffers, and frames may be missing: a frame that the device returns to a full
 * ring is lost. Ends with the last frame, or, where that may be lost, too, when none comes.
 */
static void drain(unsigned int may_lose)
{
	static uint8_t f[FRAME_MAX];
	uint32_t lost = 0, seq;
	ssize_t n;

	while (seen < sent && !ksft_failed()) {
		give(256);
		n = rig_rx(&rig, NULL, f, sizeof(f), may_lose < UINT_MAX || waiting() ? 3000 : 1000);
		if (n < 0)
			break;
		seq = frame_seq(f);
		EXPECT(frame_check(f, n, seq, LEN));
		ASSERT(seq >= seen && seq < sent);
		lost += seq - seen;
		seen = seq + 1;
	}
	lost += sent - seen;
	seen = sent;
	EXPECT_EQ(waiting(), 0);
	EXPECT_LE(lost, may_lose);
}

/*
 * No frame stays in a queue that is not woken. Returned frames may fill a ring whose senders
 * were just woken: one frame of theirs is dropped then.
 */
CASE(backend_removed_and_set_again_wakes_the_queue)
{
	unsigned int i;

	begin(IFF_BACKPRESSURE, 128);
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		ASSERT(fill_up(sent + 1000));
		rig_stop(&rig);
		feed(sent + 10);
		rig_start(&rig);
		feed(sent + 10);
		drain(BATCH + 1);
		pass(sent + 500, 16);
	}
	EXPECT_LE(link_sent("t0").dropped, i);
	rig_close(&rig);
}

CASE(device_down_and_up_while_stopped_recovers)
{
	unsigned int i;

	begin(IFF_BACKPRESSURE, 128);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		ASSERT(fill_up(sent + 1000));
		ASSERT_EQ(link_up(rig.ifindex, false), 0);
		ASSERT_EQ(link_up(rig.ifindex, true), 0);
		drain(UINT_MAX);	/* frames of the qdisc are lost, those of the ring may be */
		pass(sent + 500, 16);
	}
	rig_close(&rig);
}

static _Atomic bool enough;

/* On another CPU, if there is one: the ring is filled while the worker empties it. */
static void *feed_on(void *end)
{
	while (sent < *(uint32_t *)end && !enough)
		feed(*(uint32_t *)end);
	return NULL;
}

/*
 * A ring is full again before the device has woken the senders for the room that it made:
 * they must go on waiting. The shorter the ring, the more often that happens, also on a busy
 * host, and with a module that delays the wake-up (failing/kvnet_failing.c).
 */
CASE_TIMED(tap_full_again_at_once_loses_no_frame, 100)
{
	static const unsigned int rings[] = { 2, 2, 4, 16 };
	static uint8_t f[FRAME_MAX];
	unsigned int i;
	uint32_t end;
	pthread_t t;

	for (i = 0; i < sizeof(rings) / sizeof(rings[0]) && !ksft_failed(); i++) {
		begin(IFF_BACKPRESSURE, rings[i]);
		inject_put(LATE, "100");
		end = ksft_rounds(20000);
		enough = false;
		ASSERT_EQ(pthread_create(&t, NULL, feed_on, &end), 0);
		while (seen < end && !ksft_failed()) {
			give(256);
			if (rig_rx(&rig, NULL, f, sizeof(f), 3000) < 0)
				FAIL("no frame after %u", seen);
			else
				EXPECT_EQ(frame_seq(f), seen);
			seen++;
		}
		enough = true;
		ASSERT_EQ(pthread_join(t, NULL), 0);
		EXPECT_EQ(link_sent("t0").dropped, 0);
		inject_put(LATE, "0");
		rig_close(&rig);
	}
}

KSFT_MAIN()
