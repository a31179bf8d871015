// SPDX-License-Identifier: GPL-2.0
/*
 * A driver need not hear at once of a packet or two that have been sent; but it does
 * hear of them, unless it has looked by itself.
 */
#include <unistd.h>

#include "rig.h"

#define SOME		40
#define MANY		400

static struct rig rig;
static struct vdev_queue *tx = &rig.v.q[VDEV_TX];

static long counter(const char *name)
{
	return rig_counter(&rig, name);
}

/* Asked for each call, and the first one, which is always made, is over. */
static void begin(const char *us)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net calls at once");
	vdev_parameter_text("tx_call_us", us);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (counter("kvnet.rx.runs_soft") < 0)
		ksft_skip("no run_soft");
	vdev_no_spin(&rig.v);
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

/*
 * Without the driver's doing anything; and one that waits each time is not made to, but for
 * a try now and then.
 */
CASE(a_lone_packet_is_told_of_in_the_end)
{
	unsigned int i;
	long late;

	begin("2000");
	late = counter("kvnet.tx.calls_put_off");
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		send(1);
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		EXPECT_EQ(vdev_eventfd_take(tx->call), 1);
		EXPECT(all_used());
		gr_call_on(&tx->ring, 0);
	}
	EXPECT_GE(counter("kvnet.tx.calls_put_off") - late, 3);
	EXPECT_LE(counter("kvnet.tx.calls_put_off") - late, SOME / 4);
	end();
}

/* The buffer itself is never late; and a driver that saw it needs no call. */
CASE(a_driver_that_looks_is_not_called)
{
	unsigned int i;
	long late, calls;

	begin("10000");
	late = counter("kvnet.tx.calls_put_off");
	calls = counter("kvnet.tx.calls");
	for (i = 0; i < MANY && !ksft_failed(); i++) {
		send(1);
		EXPECT(WAIT_FOR(3000, all_used()));
		gr_call_on(&tx->ring, 0);
	}
	calls = counter("kvnet.tx.calls") - calls;
	ksft_note("%ld calls for %u packets", calls, MANY);
	/* A host that is slow may have called now and then: not for each fifth. */
	EXPECT_GE(counter("kvnet.tx.calls_put_off") - late, MANY / 2);
	EXPECT_LE(calls, MANY / 8);
	end();
}

/* One that waits now and then, but looks more often than that, is not called the sooner. */
CASE(a_driver_that_looks_most_of_the_time)
{
	unsigned int i, k;
	long late;

	begin("10000");
	late = counter("kvnet.tx.calls_put_off");
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		send(1);
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
		for (k = 0; k < 3; k++) {
			EXPECT(WAIT_FOR(3000, all_used()));
			gr_call_on(&tx->ring, 0);
			if (k < 2)
				send(1);
		}
	}
	EXPECT_GE(counter("kvnet.tx.calls_put_off") - late, 2 * SOME);
	end();
}

/* One that it has not looked for is owed together with the next. */
CASE(owed_with_the_next)
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

CASE(many_are_told_of_at_once)
{
	unsigned int i;
	long late;

	begin("10000");
	late = counter("kvnet.tx.calls_put_off");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		send(3);
		EXPECT(WAIT_FOR(3000, all_used()));
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		vdev_eventfd_take(tx->call);
		gr_call_on(&tx->ring, 0);
	}
	late = counter("kvnet.tx.calls_put_off") - late;
	ksft_note("%ld of 10 calls were put off", late);
	/* They are shown at once; but a turn may have ended in between now and then. */
	EXPECT_LE(late, 5);
	end();
}

/* One by one, and the driver does not say that it has seen any: two may wait, no more. */
CASE(no_more_than_a_few_are_owed)
{
	unsigned int i, k;
	long late, most = 0;

	begin("10000");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		late = counter("kvnet.tx.calls_put_off");
		for (k = 0; k < 6; k++) {
			send(1);
			EXPECT(WAIT_FOR(3000, all_used()));
		}
		late = counter("kvnet.tx.calls_put_off") - late;
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
	EXPECT_EQ(counter("kvnet.tx.calls_put_off"), 0);
}

CASE(at_once_if_told_so)
{
	begin("0");
	at_once();
	end();
}

/* Nothing is put off where nobody would come in time. */
CASE(at_once_without_softirqs)
{
	vdev_parameter("rx_in_place", 'N');
	begin("200");
	at_once();
	end();
}

/* Returns how often it was called all the same; @off: and how often that was put off. */
static unsigned int called_after_a_look(unsigned int n, long *off)
{
	unsigned int called = 0;
	long before = counter("kvnet.tx.calls_put_off");

	while (n-- && !ksft_failed()) {
		/* the first one since a start is told of at once */
		send(1);
		EXPECT(vdev_eventfd_wait(tx->call, 3000));
		EXPECT(WAIT_FOR(3000, all_used()));
		gr_call_on(&tx->ring, 0);
		vdev_eventfd_take(tx->call);
		send(1);
		EXPECT(WAIT_FOR(3000, all_used()));
		gr_call_on(&tx->ring, 0);
		vdev_backend(&rig.v, VDEV_TX, -1);
		called += vdev_eventfd_take(tx->call) > 0;
		vdev_backend(&rig.v, VDEV_TX, rig.tap);
	}
	*off = counter("kvnet.tx.calls_put_off") - before;
	return called;
}

/*
 * Who has looked gets no call when the queue stops, unless it was late already. Where a call
 * took long, since the machine did something else, none is put off any more: once again.
 */
CASE(a_driver_that_has_looked_is_owed_nothing)
{
	unsigned int i, n = 20, called = n;
	bool barred = true;
	long off = 0;

	for (i = 0; i < 5 && barred; i++) {
		begin("10000");
		called = called_after_a_look(n, &off);
		barred = counter("kvnet.tx.soft_barred") > 0;
		end();
	}
	EXPECT_GE(off, n / 2);
	EXPECT_LE(called, n / 4);
}

/* What is owed is paid before the set-up changes, to whom it is owed. */
CASE(owed_when_the_set_up_changes)
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
