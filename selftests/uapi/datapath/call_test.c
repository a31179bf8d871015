// SPDX-License-Identifier: GPL-2.0
/*
 * The call for one or two transmitted packets may be deferred; but it is made, unless the
 * driver has polled the ring by itself.
 *
 * @hosts: newest
 * @seconds: 2
 */
#include <unistd.h>

#include "rig.h"

#define SOME		40
#define ROUND		24

/* moderation.h: as often as the timer called, and how seldom it is tried after that. */
#define LATE		4
#define TRY		16

/* No call is put off for longer: tx_usecs=10000. */
#define CAP_MS		10

static struct rig rig;
static struct vdev_queue *tx = &rig.v.q[VDEV_TX], *rx = &rig.v.q[VDEV_RX];
static uint32_t answers;

static long counter(const char *name)
{
	return rig_counter(&rig, name);
}

/* Asked for each call, and the first one, which is always made, is over. */
static void begin(const char *us)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net calls at once");
	vdev_parameter_text("tx_usecs", us);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (counter("kvnet.rx.polls_inline") < 0)
		ksft_skip("no run_soft");
	vdev_no_spin(&rig.v);
	rig_rx_post(&rig, 200, NULL);
	vdev_kick_always(rx);
	answers = 0;
	gr_call_on(&tx->ring, 0);
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	vdev_kick(tx);
	ASSERT(rig_tx_drain(&rig, 3000));
	EXPECT(vdev_eventfd_wait(tx->call, 3000));
	vdev_eventfd_take(tx->call);
	gr_call_on(&tx->ring, 0);
}

static void end(void)
{
	rig_close(&rig);
}

static void send(unsigned int n)
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

/* What is answered is no stream, for which the device would look by itself. */
static void answer(void)
{
	rig_inject(&rig, answers, 60);
	rig_rx_expect(&rig, answers++, 60);
	rig_rx_post(&rig, 1, NULL);
	vdev_kick(rx);
}

/* Of the worker, and of the thread that kicks. */
static long turns(void)
{
	return counter("kvnet.tx.polls") + counter("kvnet.tx.polls_inline");
}

/*
 * Without the driver's doing anything; and one that waits each time is not made to, but for
 * a try now and then: in one of some turns.
 */
CASE(call_for_a_single_packet_comes_in_the_end)
{
	unsigned int i;
	long off, all;

	begin("2000");
	off = counter("kvnet.tx.calls_deferred");
	all = turns();
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		send(1);
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		EXPECT_EQ(vdev_eventfd_take(tx->call), 1);
		EXPECT(all_used());
		gr_call_on(&tx->ring, 0);
		answer();
	}
	off = counter("kvnet.tx.calls_deferred") - off;
	all = turns() - all;
	ksft_note("%ld calls were put off, in %ld turns", off, all);
	EXPECT_GE(off, 1);
	EXPECT_LE(off, LATE + all / TRY + 1);
	end();
}

/* Has a round of it passed with every call put off, and @calls of them made? */
static bool all_deferred(void (*round)(void), long calls)
{
	long off = counter("kvnet.tx.calls_deferred"), made = counter("kvnet.tx.calls");

	round();
	return ksft_failed() || (counter("kvnet.tx.calls_deferred") - off == ROUND &&
				 counter("kvnet.tx.calls") - made == calls);
}

static void look(void)
{
	EXPECT(WAIT_FOR(3000, all_used()));
	gr_call_on(&tx->ring, 0);
}

static void looks(void)
{
	unsigned int i;

	for (i = 0; i < ROUND && !ksft_failed(); i++) {
		send(1);
		look();
		answer();
	}
}

/*
 * The buffer itself is never late; and a driver that saw it needs no call. The host may stand
 * still before the driver has looked, and is late then: not in each round.
 */
CASE(driver_that_polls_is_not_called)
{
	begin("10000");
	EXPECT(WAIT_FOR(10000, all_deferred(looks, 0)));
	end();
}

static void waits_once_and_looks_twice(void)
{
	unsigned int i;

	for (i = 0; i < ROUND / 3 && !ksft_failed(); i++) {
		send(1);
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
		look();
		send(1);
		look();
		send(1);
		look();
		answer();
	}
}

/* One that waits now and then, but looks more often than that, is not called the sooner. */
CASE(driver_that_mostly_polls_is_called_late)
{
	begin("10000");
	EXPECT(WAIT_FOR(10000, all_deferred(waits_once_and_looks_twice, ROUND / 3)));
	end();
}

/* One that it has not looked for is owed together with the next. */
CASE(pending_call_comes_with_the_next)
{
	unsigned int i;

	begin("10000");
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		send(1);
		EXPECT(WAIT_FOR(3000, all_used()));
		send(1);
		EXPECT(WAIT_FOR(3000, all_used()));
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
		gr_call_on(&tx->ring, 0);
	}
	end();
}

static void wait_until(uint64_t ms)
{
	unsigned int turn = 0;

	while (ksft_now_ms() < ms)
		ksft_relax(turn++ % 8);
}

/* A driver whose packets are far enough apart for its calls to wait for as long as they may. */
static void looks_slowly(void)
{
	wait_until(ksft_now_ms() + CAP_MS / 2);
	send(1);
	look();
	answer();
}

/*
 * The first of two packets, the second of which comes shortly before the call: how long has
 * it waited for that, in ms? 0: the second has come too late.
 */
static unsigned int waits_of_two(void)
{
	uint64_t then;
	bool early;
	long off;

	looks_slowly();
	looks_slowly();
	wait_until(ksft_now_ms() + CAP_MS / 2);
	off = counter("kvnet.tx.calls_deferred");
	send(1);
	then = ksft_now_ms();
	EXPECT(WAIT_FOR(3000, all_used()));
	wait_until(then + CAP_MS * 3 / 4);
	send(1);
	early = vdev_eventfd_take(tx->call);
	if (!early) {
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
	}
	then = ksft_now_ms() - then;
	look();
	answer();
	return early || counter("kvnet.tx.calls_deferred") - off != 2 ? 0 : then;
}

/* What is owed longest is in time, whatever is sent meanwhile; a host that stands still is late. */
CASE(no_later_for_the_next)
{
	unsigned int best = ~0u, n = 0, i, ms;

	begin("10000");
	for (i = 0; i < 50 && n < 5 && !ksft_failed(); i++) {
		ms = waits_of_two();
		n += ms > 0;
		if (ms && ms < best)
			best = ms;
	}
	ksft_note("of %u the best has waited for %u ms", n, best);
	EXPECT_GE(n, 1);
	EXPECT_LE(best, CAP_MS + CAP_MS / 4);
	end();
}

CASE(many_packets_are_called_for_at_once)
{
	unsigned int i;
	long late;

	begin("10000");
	late = counter("kvnet.tx.calls_deferred");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		send(3);
		EXPECT(WAIT_FOR(3000, all_used()));
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
		gr_call_on(&tx->ring, 0);
	}
	late = counter("kvnet.tx.calls_deferred") - late;
	ksft_note("%ld of 10 calls were put off", late);
	/* They are shown at once; but a turn may have ended in between. */
	EXPECT_OP(late, <, 10);
	end();
}

/*
 * One by one, and the driver does not say that it has seen any: two may wait, no more. Once it
 * has been called, it asks for no call.
 */
CASE(calls_for_two_packets_at_most_are_deferred)
{
	unsigned int i, k;
	long late, most = 0;

	begin("10000");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		late = counter("kvnet.tx.calls_deferred");
		for (k = 0; k < 6; k++) {
			send(1);
			EXPECT(WAIT_FOR(3000, all_used()));
		}
		late = counter("kvnet.tx.calls_deferred") - late;
		most = late > most ? late : most;
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
		gr_call_on(&tx->ring, 0);
	}
	ksft_note("at most %ld of 6 in a row were put off", most);
	EXPECT_LE(most, 2);
	end();
}

static void at_once(void)
{
	unsigned int i;

	for (i = 0; i < SOME && !ksft_failed(); i++) {
		send(1);
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
		EXPECT(all_used());
		gr_call_on(&tx->ring, 0);
	}
	EXPECT_EQ(counter("kvnet.tx.calls_deferred"), 0);
}

CASE(call_at_once_with_tx_usecs_0)
{
	begin("0");
	at_once();
	end();
}

/* Nothing is put off where nobody would come in time. */
CASE(call_at_once_without_rx_inline)
{
	vdev_parameter("rx_inline", 'N');
	begin("200");
	at_once();
	end();
}

/* Was a call put off, and not made when the queue stopped? */
static bool looks_before_the_queue_stops(void)
{
	bool called;
	long off;

	/* the first one since a start is told of at once */
	send(1);
	EXPECT(vdev_eventfd_wait(tx->call, 3000));
	look();
	vdev_eventfd_take(tx->call);
	off = counter("kvnet.tx.calls_deferred");
	send(1);
	look();
	vdev_backend(&rig.v, VDEV_TX, -1);
	called = vdev_eventfd_take(tx->call);
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	return ksft_failed() || (counter("kvnet.tx.calls_deferred") > off && !called);
}

/* Unless it was late already, since the host stood still: not each time. */
CASE(no_call_at_stop_for_a_driver_that_polled)
{
	begin("10000");
	EXPECT(WAIT_FOR(10000, looks_before_the_queue_stops()));
	end();
}

/* What is owed is paid before the set-up changes, to whom it is owed. */
CASE(pending_call_comes_before_a_change)
{
	struct vhost_vring_file none = { VDEV_TX, -1 };
	struct vhost_vring_file call = { VDEV_TX, tx->call };
	unsigned int i;

	begin("10000");
	call.fd = tx->call;
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		send(1);
		EXPECT(WAIT_FOR(3000, all_used()));
		/* The driver forgets to say that it has seen it. */
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
	end();
}

KSFT_MAIN()
