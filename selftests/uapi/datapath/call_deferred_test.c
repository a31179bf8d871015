// SPDX-License-Identifier: GPL-2.0
/*
 * A deferred call is made in time, whatever delays its timer or the worker. call_test has the
 * usual cases.
 *
 * @seconds: 11
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#include <net/if.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "netlink_rig.h"
#include "policy_rig.h"
#include "procfs.h"
#include "watched.h"

#define FRAMES	20000

static struct vdev_queue *tx = &vmm.v.q[VDEV_TX], *rx = &vmm.v.q[VDEV_RX];

static long counter(const char *name)
{
	return rig_counter(&vmm, name);
}

static void send_one(void)
{
	ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
	vdev_kick(tx);
}

/* The next call is asked for. */
static void called(void)
{
	EXPECT(vdev_eventfd_wait(tx->call, 3000));
	vdev_eventfd_take(tx->call);
	EXPECT(rig_tx_drain(&vmm, 3000));
	gr_call_on(&tx->ring, 0);
}

/* The first one, which is always made, is over. */
static void begin(unsigned int rx_num)
{
	netlink_begin(&(struct rig_cfg){ .rx_num = rx_num });
	if (counter("kvnet.rx.polls_inline") < 0)
		ksft_skip("no run_soft");
	vdev_parameter_text("tx_usecs", "10000");
	vdev_no_spin(&vmm.v);
	gr_call_on(&tx->ring, 0);
	send_one();
	called();
}

static void end(void)
{
	rig_close(&vmm);
}

CASE(rx_inline_is_switched_off_meanwhile)
{
	unsigned int i;
	long late;

	begin(256);
	late = counter("kvnet.tx.calls_deferred");
	for (i = 0; i < 60 && !ksft_failed(); i++) {
		EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_INLINE, 1), 0);
		send_one();
		EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_INLINE, 0), 0);
		called();
		wait_worker_idle();
	}
	EXPECT_OP(counter("kvnet.tx.calls_deferred"), >, late);
	end();
}

/* Returns how many calls have been put off. */
static long send_some(unsigned int n)
{
	long before = counter("kvnet.tx.calls_deferred");

	while (n-- && !ksft_failed()) {
		send_one();
		called();
		wait_worker_idle();
	}
	return counter("kvnet.tx.calls_deferred") - before;
}

/* The timer's CPU may be another's by then: one that takes long is not for it. */
CASE_TIMED(a_call_that_takes_long_is_not_deferred, 60)
{
	struct watched w;

	begin(256);
	watched_start(&w, tx->call);
	EXPECT_GE(send_some(20), 1);
	EXPECT_EQ(send_some(40), 0);
	EXPECT_GE(counter("kvnet.tx.inline_throttled"), 1);
	watched_end(&w);
	EXPECT_EQ(send_some(20), 0);
	end();
}

static void long_queue(void)
{
	struct ifreq ifr = { .ifr_qlen = FRAMES };

	strcpy(ifr.ifr_name, vmm.name);
	ASSERT_SYS(ioctl(vmm.sniff, SIOCSIFTXQLEN, &ifr));
}

/* As many as the ring has, all of them the same. */
static void give_buffers(void)
{
	struct gr_buf b = { .ptr = rx->bufs, .len = rx->buf_size, .write = true };

	while (gr_add(&rx->ring, &b, 1, GR_ALL_DIRECT, rx) >= 0)
		;
	vdev_kick(rx);
}

/* Both are served by one thread, which does not get to rest for long. */
CASE_TIMED(frames_come_and_come, 60)
{
	char vcpu = vdev_parameter("tx_inline", 'N');
	unsigned int i;

	begin(32768);
	vdev_parameter("tx_inline", vcpu);
	vdev_backend(&vmm.v, VDEV_RX, -1);
	long_queue();
	for (i = 0; i < FRAMES; i++)
		rig_inject(&vmm, i, 60);
	give_buffers();
	vdev_backend(&vmm.v, VDEV_RX, vmm.tap);
	send_one();
	EXPECT(vdev_eventfd_wait(tx->call, 10000));
	i = counter("kvnet.rx.packets");
	ksft_note("after %u of %u frames", i, FRAMES);
	EXPECT_OP(i, <, FRAMES);
	EXPECT(WAIT_FOR(10000, counter("kvnet.rx.packets") == FRAMES));
	end();
}

KSFT_MAIN()
