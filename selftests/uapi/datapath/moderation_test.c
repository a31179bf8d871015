// SPDX-License-Identifier: GPL-2.0
/*
 * Moderation.  The call for one or two transmitted packets may be deferred, for tx_usecs at
 * most, and is made in time unless the driver has polled the ring; short frames of a stream
 * are coalesced, for rx_usecs at most, and the worker is not woken for each of them.
 *
 * @hosts: newest
 * @seconds: 16
 */
#include "links.h"
#include "netlink_rig.h"
#include "procfs.h"
#include "rig.h"
#include "rx_inline_rig.h"
#include "tracing.h"
#include "watched.h"
#include "xdp.h"

/*** tx_usecs: calls for transmitted packets ***/

#define SOME		40
#define ROUND		24

/* moderation.h: after so many calls by the timer, one poll in so many tries to defer again. */
#define LATE		4
#define TRY		16

/* No call is deferred for longer: tx_usecs=10000. */
#define CAP_MS		10

static struct vdev_queue *tx = &rig.v.q[VDEV_TX];
static uint32_t answers;

static void send_frames(unsigned int n)
{
	while (n--)
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	vdev_kick(tx);
}

static bool all_used(void)
{
	rig_tx_reap(&rig);
	return rig.tx_done == rig.tx_seq;
}

/* Waits for a call, and asks for the next one; returns how many calls have come. */
static uint64_t called(void)
{
	uint64_t n;

	EXPECT(vdev_eventfd_wait(tx->call, 3000));
	n = vdev_eventfd_take(tx->call);
	EXPECT(all_used());
	gr_call_on(&tx->ring, 0);
	return n;
}

static long deferred(void)
{
	return rx_inline_counter("kvnet.tx.calls_deferred");
}

/* The driver asks for each call; the first one, which is never deferred, has come. */
static void begin_tx_with(const char *us, const struct rig_cfg *cfg)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net calls at once");
	vdev_parameter_text("tx_usecs", us);
	rig_open(&rig, cfg);
	if (rx_inline_counter("kvnet.rx.polls_inline") < 0)
		ksft_skip("no inline RX");
	vdev_no_spin(&rig.v);
	rig_rx_post(&rig, 200, NULL);
	vdev_kick_always(rx);
	answers = 0;
	gr_call_on(&tx->ring, 0);
	send_frames(1);
	called();
}

static void begin_tx(const char *us)
{
	begin_tx_with(us, &(struct rig_cfg){ 0 });
}

/* A reply: packets without one are a stream, for which the device polls. */
static void answer(void)
{
	rig_inject(&rig, answers, 60);
	rig_rx_expect(&rig, answers++, 60);
	rig_rx_post(&rig, 1, NULL);
	vdev_kick(rx);
}

/* By the worker, and by the vCPU thread. */
static long polls(void)
{
	return rx_inline_counter("kvnet.tx.polls") + rx_inline_counter("kvnet.tx.polls_inline");
}

/*
 * The timer makes the call of a driver that waits for it; after some of these the device
 * defers in one of TRY polls only.
 */
CASE(tx_call_for_waiting_driver_is_deferred_seldom)
{
	unsigned int i;
	long off, all;

	begin_tx("2000");
	off = deferred();
	all = polls();
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		send_frames(1);
		EXPECT_EQ(called(), 1);
		answer();
	}
	off = deferred() - off;
	all = polls() - all;
	ksft_note("%ld calls were deferred, in %ld polls", off, all);
	EXPECT_GE(off, 1);
	EXPECT_LE(off, LATE + all / TRY + 1);
	rig_close(&rig);
}

/* Runs a round: was each of its calls deferred, and were @calls of them made? */
static bool all_deferred(void (*round)(void), long calls)
{
	long off = deferred();
	long made = rx_inline_counter("kvnet.tx.calls");

	round();
	return ksft_failed() || (deferred() - off == ROUND &&
				 rx_inline_counter("kvnet.tx.calls") - made == calls);
}

static void poll_ring(void)
{
	EXPECT(WAIT_FOR(3000, all_used()));
	gr_call_on(&tx->ring, 0);
}

static void polling_driver(void)
{
	unsigned int i;

	for (i = 0; i < ROUND && !ksft_failed(); i++) {
		send_frames(1);
		poll_ring();
		answer();
	}
}

/*
 * The used buffer is visible at once, and a driver that has polled it needs no call. Where the
 * host stands still before the driver polls, the timer calls: so some rounds may fail.
 */
CASE(tx_call_for_polling_driver_is_skipped)
{
	begin_tx("10000");
	EXPECT(WAIT_FOR(10000, all_deferred(polling_driver, 0)));
	rig_close(&rig);
}

static void mostly_polling_driver(void)
{
	unsigned int i;

	for (i = 0; i < ROUND / 3 && !ksft_failed(); i++) {
		send_frames(1);
		called();
		send_frames(1);
		poll_ring();
		send_frames(1);
		poll_ring();
		answer();
	}
}

/* A driver that waits now and then, but polls more often, still gets its calls by the timer. */
CASE(tx_call_for_mostly_polling_driver_is_late)
{
	begin_tx("10000");
	EXPECT(WAIT_FOR(10000, all_deferred(mostly_polling_driver, ROUND / 3)));
	rig_close(&rig);
}

/* A pending call for a buffer that the driver has not polled comes with the next one. */
CASE(tx_call_pending_comes_with_next)
{
	unsigned int i;

	begin_tx("10000");
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		send_frames(1);
		EXPECT(WAIT_FOR(3000, all_used()));
		send_frames(1);
		EXPECT(WAIT_FOR(3000, all_used()));
		called();
	}
	rig_close(&rig);
}

static void wait_until(uint64_t ms)
{
	unsigned int turn = 0;

	while (ksft_now_ms() < ms)
		ksft_relax(turn++ % 8);
}

/* Packets far enough apart for their calls to be deferred for all of tx_usecs. */
static void poll_slowly(void)
{
	wait_until(ksft_now_ms() + CAP_MS / 2);
	send_frames(1);
	poll_ring();
	answer();
}

/*
 * Sends two packets, the second shortly before the call for the first. Returns for how long the
 * first waited for its call, in ms; 0: the second came too late.
 */
static unsigned int waits_of_two(void)
{
	uint64_t then;
	bool early;
	long off;

	poll_slowly();
	poll_slowly();
	wait_until(ksft_now_ms() + CAP_MS / 2);
	off = deferred();
	send_frames(1);
	then = ksft_now_ms();
	EXPECT(WAIT_FOR(3000, all_used()));
	wait_until(then + CAP_MS * 3 / 4);
	send_frames(1);
	early = vdev_eventfd_take(tx->call);
	if (!early) {
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
	}
	then = ksft_now_ms() - then;
	poll_ring();
	answer();
	return early || deferred() - off != 2 ? 0 : then;
}

/* The next packet does not delay the call for the first; best of some, as the host may stand still. */
CASE(tx_call_pending_is_not_delayed_by_next)
{
	unsigned int best = ~0u, n = 0, i, ms;

	begin_tx("10000");
	for (i = 0; i < 50 && n < 5 && !ksft_failed(); i++) {
		ms = waits_of_two();
		n += ms > 0;
		if (ms && ms < best)
			best = ms;
	}
	ksft_note("of %u the best has waited for %u ms", n, best);
	EXPECT_GE(n, 1);
	EXPECT_LE(best, CAP_MS + CAP_MS / 4);
	rig_close(&rig);
}

CASE(tx_call_for_many_packets_is_immediate)
{
	unsigned int i;
	long late;

	begin_tx("10000");
	late = deferred();
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		send_frames(3);
		EXPECT(WAIT_FOR(3000, all_used()));
		called();
	}
	late = deferred() - late;
	ksft_note("%ld of 10 calls were deferred", late);
	/* the three are published at once, but a poll may end in between */
	EXPECT_OP(late, <, 10);
	rig_close(&rig);
}

/*
 * Packets one by one, and the driver does not update its event index: calls for two may be
 * deferred, no more. Once it has been called, it asks for no call.
 */
CASE(tx_call_is_deferred_for_two_packets_at_most)
{
	unsigned int i, k;
	long late, most = 0;

	begin_tx("10000");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		late = deferred();
		for (k = 0; k < 6; k++) {
			send_frames(1);
			EXPECT(WAIT_FOR(3000, all_used()));
		}
		late = deferred() - late;
		most = late > most ? late : most;
		called();
	}
	ksft_note("at most %ld of 6 in a row were deferred", most);
	EXPECT_LE(most, 2);
	rig_close(&rig);
}

static void at_once(void)
{
	unsigned int i;

	for (i = 0; i < SOME && !ksft_failed(); i++) {
		send_frames(1);
		called();
	}
	EXPECT_EQ(deferred(), 0);
}

CASE(tx_call_with_tx_usecs_0_is_immediate)
{
	begin_tx("0");
	at_once();
	rig_close(&rig);
}

/* The timer calls in a softirq: without inline RX no call is deferred. */
CASE(tx_call_without_rx_inline_is_immediate)
{
	vdev_parameter("rx_inline", 'N');
	begin_tx("200");
	at_once();
	rig_close(&rig);
}

/* Was a call deferred, and not made when the queue stopped? */
static bool polls_before_the_queue_stops(void)
{
	bool was_called;
	long off;

	/* the first call after a start is not deferred */
	send_frames(1);
	EXPECT(vdev_eventfd_wait(tx->call, 3000));
	poll_ring();
	vdev_eventfd_take(tx->call);
	off = deferred();
	send_frames(1);
	poll_ring();
	vdev_backend(&rig.v, VDEV_TX, -1);
	was_called = vdev_eventfd_take(tx->call);
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	return ksft_failed() || (deferred() > off && !was_called);
}

/* The call may be late already, where the host stood still: so not each time. */
CASE(tx_call_at_stop_for_polling_driver_is_skipped)
{
	begin_tx("10000");
	EXPECT(WAIT_FOR(10000, polls_before_the_queue_stops()));
	rig_close(&rig);
}

/* The pending call is made before the set-up changes, by the eventfd of before. */
CASE(tx_call_pending_comes_before_change)
{
	struct vhost_vring_file none = { VDEV_TX, -1 };
	struct vhost_vring_file call = { VDEV_TX, tx->call };
	unsigned int i;

	begin_tx("10000");
	call.fd = tx->call;
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		send_frames(1);
		EXPECT(WAIT_FOR(3000, all_used()));
		/* the driver does not update its event index */
		if (i % 2)
			vdev_backend(&rig.v, VDEV_TX, -1);
		else
			vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL, &none);
		EXPECT(vdev_eventfd_wait(tx->call, 0));
		vdev_eventfd_take(tx->call);
		if (i % 2)
			vdev_backend(&rig.v, VDEV_TX, rig.tap);
		else
			vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL, &call);
		gr_call_on(&tx->ring, 0);
	}
	rig_close(&rig);
}

/*** tx_usecs: calls in time, whatever delays the timer or the worker ***/

#define FLOOD	20000

CASE(tx_call_pending_comes_after_rx_inline_off)
{
	unsigned int i;
	long late;

	begin_tx("10000");
	genl_open(&genl);
	late = deferred();
	for (i = 0; i < 60 && !ksft_failed(); i++) {
		EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_INLINE, 1), 0);
		send_frames(1);
		EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_INLINE, 0), 0);
		called();
		wait_worker_idle();
	}
	EXPECT_OP(deferred(), >, late);
	rig_close(&rig);
}

/* Returns how many calls were deferred. */
static long send_some(unsigned int n)
{
	long before = deferred();

	while (n-- && !ksft_failed()) {
		send_frames(1);
		called();
		wait_worker_idle();
	}
	return deferred() - before;
}

/* Another task's CPU time must not pay for a slow call: the timer does not make it. */
CASE_TIMED(tx_call_that_is_slow_is_not_deferred, 60)
{
	struct watched w;

	begin_tx("10000");
	watched_start(&w, tx->call);
	EXPECT_GE(send_some(20), 1);
	EXPECT_EQ(send_some(40), 0);
	EXPECT_GE(rx_inline_counter("kvnet.tx.inline_throttled"), 1);
	watched_end(&w);
	EXPECT_EQ(send_some(20), 0);
	rig_close(&rig);
}

/* Fills the ring with buffers, all of them the same memory. */
static void give_buffers(void)
{
	struct gr_buf b = { .ptr = rx->bufs, .len = rx->buf_size, .write = true };

	while (gr_add(&rx->ring, &b, 1, GR_ALL_DIRECT, rx) >= 0)
		;
	vdev_kick(rx);
}

/* 20,000 frames keep the receive worker busy; the pending call does not wait for their end. */
CASE_TIMED(tx_call_pending_comes_under_rx_flood, 60)
{
	char vcpu = vdev_parameter("tx_inline", 'N');
	unsigned int i;

	begin_tx_with("10000", &(struct rig_cfg){ .rx_num = 32768 });
	vdev_parameter("tx_inline", vcpu);
	vdev_backend(&rig.v, VDEV_RX, -1);
	ASSERT_EQ(link_queue_len(rig.ifindex, FLOOD), 0);
	for (i = 0; i < FLOOD; i++)
		rig_inject(&rig, i, 60);
	give_buffers();
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	send_frames(1);
	EXPECT(vdev_eventfd_wait(tx->call, 10000));
	i = rx_inline_counter("kvnet.rx.packets");
	ksft_note("after %u of %u frames", i, FLOOD);
	EXPECT_OP(i, <, FLOOD);
	EXPECT(WAIT_FOR(10000, rx_inline_counter("kvnet.rx.packets") == FLOOD));
	rig_close(&rig);
}

/*** rx_usecs: wake-ups for received frames ***/

#define WAIT		32	/* frames that do not wake the worker, moderation.h */
#define ROOM		4	/* for each of them, of the tap */
#define FEW		8
#define BULK		16	/* frames that XDP redirects at a time */
#define BURST		(5 * (WAIT + 1))
#define ROUNDS		12

static uint8_t frame[FRAME_MAX];

static long moderated(void)
{
	return rx_inline_counter("kvnet.rx.moderated");
}

static void begin_rx(const char *us)
{
	rx_inline_need_kvnet();
	vdev_parameter_text("rx_usecs", us);
	rx_inline_begin();
}

static void send_burst(unsigned int n, uint32_t len)
{
	unsigned int i;

	for (i = 0; i < n && !ksft_failed(); i++)
		rig_inject(&rig, seq + i, len);
}

/* In order, each of its bytes. */
static void take_burst(unsigned int n, uint32_t len)
{
	while (n-- && !ksft_failed())
		rig_rx_expect(&rig, seq++, len);
	rig_rx_post(&rig, BUFS, NULL);
	vdev_kick(rx);
}

static void bursts(unsigned int rounds, uint32_t len)
{
	while (rounds-- && !ksft_failed()) {
		send_burst(BURST, len);
		take_burst(BURST, len);
	}
}

/* Sends until frames wait, which are a stream for the device then. */
static void warm_up(void)
{
	unsigned int i;

	for (i = 0; i < 50 && !moderated() && !ksft_failed(); i++)
		bursts(1, 60);
	EXPECT_GE(moderated(), 1);
}

/* Sender and worker share one CPU, so that neither is ahead of the other for long. */
static void begin_on_one_cpu(const char *us)
{
	run_on_one_cpu();
	begin_rx(us);
	warm_up();
}

/* Waits, and how many of them the timer ended, between look_begins() and look_ends(). */
static struct {
	long waits, by_time;
} seen;

static void look_begins(void)
{
	if (!tracing_begin() || !tracing_on("kvnet/kvnet_work_event", ""))
		ksft_skip("no tracing");
	seen.waits = moderated();
}

static void look_ends(void)
{
	seen.waits = moderated() - seen.waits;
	seen.by_time = tracing_count("vq=0 event=timer");
	tracing_end();
}

/* A wait that the timer does not end has had WAIT frames that wake no worker, and one that does. */
CASE(rx_stream_wakes_worker_once_per_batch)
{
	uint64_t end = ksft_now_ms() + ksft_patience(10000);
	uint32_t first;

	begin_on_one_cpu("10000");
	look_begins();
	first = seq;
	do
		bursts(1, 60);
	while (moderated() - seen.waits < ROUNDS && ksft_now_ms() < end && !ksft_failed());
	look_ends();
	ksft_note("%u frames, %ld waits, of which the timer ended %ld", seq - first, seen.waits,
		  seen.by_time);
	EXPECT_GE(seen.waits, ROUNDS);
	/* and the wait that goes on */
	EXPECT_LE(seen.waits - seen.by_time - 1, (seq - first) / (WAIT + 1));
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

/*
 * If frames ended no wait, the timer would have ended all but the one that goes on. The tap's
 * queue is short, so that enough frames come in time on slow machines, too.
 */
CASE(rx_wait_ends_with_enough_frames)
{
	uint64_t end = ksft_now_ms() + ksft_patience(10000);

	begin_on_one_cpu("10000");
	/* of which a fraction may wait */
	ASSERT_EQ(link_queue_len(rig.ifindex, FEW * ROOM), 0);
	do {
		look_begins();
		send_burst(FEW * ROOM, 60);
		take_burst(FEW * ROOM, 60);
		look_ends();
	} while (seen.waits - seen.by_time < 2 && ksft_now_ms() < end && !ksft_failed());
	EXPECT_GE(seen.waits - seen.by_time, 2);
	rig_close(&rig);
}

static void redirect_burst(struct rig *other)
{
	unsigned int i;

	for (i = 0; i < 4 * BULK; i++)
		ASSERT_EQ(rig_tx(other, 60, NULL), 0);
	vdev_kick(&other->v.q[VDEV_TX]);
	for (i = 0; i < 4 * BULK && !ksft_failed(); i++)
		rig_rx_expect(&rig, other->tx_seq - 4 * BULK + i, 60);
	ASSERT(rig_tx_drain(other, 3000));
	rig_rx_post(&rig, BUFS, NULL);
	vdev_kick(rx);
}

/* XDP passes 16 frames with one wake-up of the tap: each frame counts. */
CASE_TIMED(rx_wait_counts_each_redirected_frame, 60)
{
	uint64_t end = ksft_now_ms() + ksft_patience(10000);
	struct rig other = { 0 };
	unsigned int i;
	int ret;

	begin_on_one_cpu("10000");
	ASSERT_EQ(link_queue_len(rig.ifindex, 2 * BULK * ROOM), 0);
	rig_open(&other, &(struct rig_cfg){ .here = true });
	ret = xdp_redirect(other.ifindex, rig.ifindex);
	if (ret)
		ksft_skip("no XDP: %s", strerror(-ret));
	do {
		look_begins();
		for (i = 0; i < ROUNDS && !ksft_failed(); i++)
			redirect_burst(&other);
		look_ends();
	} while (seen.waits - seen.by_time < 2 && ksft_now_ms() < end && !ksft_failed());
	EXPECT_GE(seen.waits - seen.by_time, 2);
	rig_close(&other);
	rig_close(&rig);
}

CASE(rx_frames_of_page_size_wait)
{
	begin_rx("10000");
	warm_up();
	bursts(ROUNDS / 2, 1514);
	bursts(ROUNDS / 2, 300);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

CASE(rx_frames_with_rx_usecs_0_do_not_wait)
{
	begin_rx("0");
	bursts(ROUNDS, 60);
	EXPECT_EQ(moderated(), 0);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

/* Single frames with replies in between, and long ones. */
CASE(rx_single_and_long_frames_do_not_wait)
{
	unsigned int i;

	begin_rx("10000");
	for (i = 0; i < ROUNDS * 4 && !ksft_failed(); i++) {
		rx_inline_one(60, 3000);
		rx_inline_reply();
	}
	EXPECT_EQ(moderated(), 0);
	for (i = 0; i < ROUNDS * 4 && !ksft_failed(); i++)
		rx_inline_one(4000, 3000);
	EXPECT_EQ(moderated(), 0);
	rig_close(&rig);
}

/* With a short queue the tap would drop frames while they wait. */
CASE(rx_frames_in_short_tap_queue_do_not_wait)
{
	unsigned int i;
	long waits;

	begin_rx("10000");
	warm_up();
	ASSERT_EQ(link_queue_len(rig.ifindex, 3), 0);
	/* a wait that began before counts with the old length */
	send_burst(BURST, 60);
	wait_worker_idle();
	waits = moderated();
	for (i = 0; i < ROUNDS && !ksft_failed(); i++) {
		while (rig_rx(&rig, NULL, frame, sizeof(frame), 0) >= 0)
			;
		rig_rx_post(&rig, BUFS, NULL);
		vdev_kick(rx);
		send_burst(BURST, 60);
	}
	EXPECT_EQ(moderated(), waits);
	rig_close(&rig);
}

CASE(rx_frames_waiting_survive_change)
{
	unsigned int i;
	long waits;

	begin_rx("10000");
	for (i = 0; i < ROUNDS && !ksft_failed(); i++) {
		waits = moderated();
		do
			bursts(1, 60);
		while (moderated() == waits && !ksft_failed());
		send_burst(3, 60);
		vdev_backend(&rig.v, VDEV_RX, -1);
		vdev_backend(&rig.v, VDEV_RX, rig.tap);
		take_burst(3, 60);
		rx_inline_one(60, 3000);
	}
	/* closed while frames wait */
	do {
		waits = moderated();
		bursts(1, 60);
	} while (moderated() == waits && !ksft_failed());
	send_burst(3, 60);
	rig_close(&rig);
}

KSFT_MAIN()
