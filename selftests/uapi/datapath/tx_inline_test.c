// SPDX-License-Identifier: GPL-2.0
/*
 * Inline TX: the vCPU thread that kicks sends a few packets, if it may; else the worker does.
 * Kicks of a stream are suppressed.
 *
 * @hosts: 6.1
 * @seconds: 3
 */
#define _GNU_SOURCE
#include <sched.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow.h"
#include "procfs.h"
#include "tx_inline_rig.h"

#define SOME	40

static struct rig rig;
static struct vdev_queue *tx = &rig.v.q[VDEV_TX];

static long counter(const char *name)
{
	return rig_counter(&rig, name);
}

/* A frame to the host, which has it when the kick is over, and one back. */
static void ask_and_answer(unsigned int n)
{
	uint8_t f[FRAME_MAX];
	uint32_t seq;

	while (n-- && !ksft_failed()) {
		seq = rig.tx_seq;
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(tx);
		EXPECT_EQ(rig_sniff(&rig, f, sizeof(f), 0), 60);
		EXPECT_EQ(frame_seq(f), seq);
		ASSERT(rig_tx_drain(&rig, 3000));
		tx_inline_reply(&rig);
	}
}

CASE(single_packet_is_sent_by_the_kicking_thread)
{
	long n_inline, wakes, kicks;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	n_inline = counter("kvnet.tx.polls_inline");
	wakes = counter("kvnet.tx.wakeups");
	kicks = counter("kvnet.tx.kicks");
	ask_and_answer(SOME);
	EXPECT_EQ(counter("kvnet.tx.polls_inline") - n_inline, SOME);
	EXPECT_EQ(counter("kvnet.tx.kicks") - kicks, SOME);
	EXPECT_EQ(counter("kvnet.tx.wakeups"), wakes);
	EXPECT_EQ(counter("kvnet.tx.moderated"), 0);
	rig_close(&rig);
}

/* What takes long to copy is not for a virtual CPU, which tries. */
CASE(a_long_packet_is_the_workers)
{
	long n_inline, tried;
	unsigned int i;

	tx_inline_begin(&rig, 8192);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		tx_inline_settle(&rig);
		n_inline = counter("kvnet.tx.packets_inline");
		tried = counter("kvnet.tx.polls_inline");
		ASSERT_EQ(rig_tx(&rig, 4097, NULL), 0);
		vdev_kick(tx);
		rig_expect(&rig, rig.tx_seq - 1, 4097);
		ASSERT(rig_tx_drain(&rig, 3000));
		tx_inline_reply(&rig);
		wait_worker_idle();
		EXPECT_EQ(counter("kvnet.tx.packets_inline"), n_inline);
		EXPECT_EQ(counter("kvnet.tx.polls_inline"), tried + 1);
	}
	rig_close(&rig);
}

/* What the thread that kicks cannot read without waiting the worker reads; nothing is wrong. */
CASE(a_table_that_is_not_mapped_is_the_workers)
{
	const struct shape table = { .piece = 30, .indirect = true };
	uint8_t *at;
	long n_inline;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	n_inline = counter("kvnet.tx.packets_inline");
	ASSERT_EQ(rig_tx(&rig, 60, &table), 0);
	at = rig.v.host + ((uint8_t *)tx->ring.cfg.ind - rig.v.mem);
	ASSERT_EQ((uintptr_t)at % 4096, 0);
	ASSERT_SYS(madvise(at, 4096, MADV_DONTNEED));
	vdev_kick(tx);
	rig_expect(&rig, rig.tx_seq - 1, 60);
	ASSERT(rig_tx_drain(&rig, 3000));
	EXPECT_EQ(counter("kvnet.tx.packets_inline"), n_inline);
	EXPECT_EQ(counter("kvnet.tx.broken"), 0);
	EXPECT_EQ(vdev_eventfd_take(tx->err), 0);
	rig_close(&rig);
}

CASE(worker_sends_with_tx_inline_off)
{
	vdev_parameter("tx_inline", 'N');
	tx_inline_begin(&rig, 0);
	flow_one(&rig);
	EXPECT_EQ(counter("kvnet.tx.polls_inline"), 0);
	EXPECT_GE(counter("kvnet.tx.wakeups"), 1);
	rig_close(&rig);
}

/* The time of a real-time thread is its own. */
CASE(not_by_a_real_time_thread)
{
	const struct sched_param fifo = { .sched_priority = 1 }, other = {};
	long n_inline, wakes;
	unsigned int i;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	n_inline = counter("kvnet.tx.packets_inline");
	wakes = counter("kvnet.tx.wakeups");
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &fifo));
		vdev_kick(tx);
		/* it would keep the worker from the CPU */
		ASSERT_SYS(sched_setscheduler(0, SCHED_OTHER, &other));
		rig_expect(&rig, rig.tx_seq - 1, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		tx_inline_reply(&rig);
		wait_worker_idle();
	}
	EXPECT_EQ(counter("kvnet.tx.packets_inline"), n_inline);
	EXPECT_GE(counter("kvnet.tx.wakeups") - wakes, SOME);
	ask_and_answer(1);
	EXPECT_EQ(counter("kvnet.tx.packets_inline"), n_inline + 1);
	rig_close(&rig);
}

/* Only a thread of the owner has the owner's memory. */
CASE(not_by_another_process)
{
	long n_inline, wakes;
	unsigned int i;
	uint64_t one = 1;
	int status;
	pid_t pid;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	n_inline = counter("kvnet.tx.polls_inline");
	wakes = counter("kvnet.tx.wakeups");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		pid = fork();
		if (!pid)
			_exit(write(tx->kick, &one, sizeof(one)) != sizeof(one));
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
		rig_expect(&rig, 1 + i, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		tx_inline_reply(&rig);
	}
	EXPECT_EQ(counter("kvnet.tx.polls_inline"), n_inline);
	EXPECT_GE(counter("kvnet.tx.wakeups") - wakes, 10);
	rig_close(&rig);
}

/* A call is a kick: the thread that brings it is the worker. */
CASE(not_by_a_worker)
{
	long n_inline;
	unsigned int i;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL,
		   (&(struct vhost_vring_file){ VDEV_RX, tx->kick }));
	n_inline = counter("kvnet.tx.polls_inline");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		gr_call_on(&rig.v.q[VDEV_RX].ring, 0);
		rig_inject(&rig, 1 + i, 60);
		rig_expect(&rig, 1 + i, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		rig_rx_expect(&rig, 1 + i, 60);
	}
	EXPECT_EQ(counter("kvnet.tx.polls_inline"), n_inline);
	rig_close(&rig);
}

/* Many for one kick are the worker's; none is lost or comes too early. */
CASE(bulk_is_for_the_worker)
{
	long n_inline, wakes;
	unsigned int i, k;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	n_inline = counter("kvnet.tx.polls_inline");
	wakes = counter("kvnet.tx.wakeups");
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		for (k = 0; k < 100; k++)
			ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(tx);
		for (k = 0; k < 100; k++)
			rig_expect(&rig, 1 + i * 100 + k, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		tx_inline_reply(&rig);
	}
	EXPECT_GE(counter("kvnet.tx.wakeups") - wakes, 1);
	/* The first one finds that it is not for the thread that kicks. */
	EXPECT_LE(counter("kvnet.tx.polls_inline") - n_inline, 4);
	rig_close(&rig);
}

/*
 * Some frames, each with a kick if one is asked for, as fast as they are taken. Even if
 * nobody is there to take them before the last, they are not so many (64) that a kick
 * for all of them is no cost.
 */
static void burst(uint32_t len, uint64_t deadline)
{
	unsigned int n = 0;

	while (n < 32 && ksft_now_ms() < deadline) {
		rig_tx_reap(&rig);
		if (rig_tx(&rig, len, NULL))
			continue;
		vdev_kick(tx);
		n++;
	}
	while (rig.tx_done != rig.tx_seq && ksft_now_ms() < deadline)
		rig_tx_reap(&rig);
}

/* Until it is asked not to kick. */
static void stream(void)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(5000);
	long moderated = counter("kvnet.tx.moderated");

	do
		burst(60, deadline);
	while (counter("kvnet.tx.moderated") == moderated && ksft_now_ms() < deadline);
	EXPECT_OP(counter("kvnet.tx.moderated"), >, moderated);
}

CASE(kicks_of_a_stream_are_suppressed)
{
	uint32_t seq = 1;
	unsigned int i;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		stream();
		ASSERT(rig_tx_drain(&rig, 3000));
		for (; seq < rig.tx_seq && !ksft_failed(); seq++)
			rig_expect(&rig, seq, 60);
		/* And what comes afterwards is lone again. */
		tx_inline_reply(&rig);
	}
	EXPECT_OP(tx->kicks, <, rig.tx_seq);
	rig_close(&rig);
}

/* Of long frames it may kick for each: they take longer than that. */
CASE(a_stream_of_long_frames_kicks)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(5000);
	unsigned int i;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	for (i = 0; i < 20; i++)
		burst(3000, deadline);
	ASSERT(rig_tx_drain(&rig, 3000));
	EXPECT_EQ(counter("kvnet.tx.moderated"), 0);
	rig_close(&rig);
}

/* Frame after frame, each when the last one is done. */
static void ping_pong(unsigned int n, uint64_t deadline)
{
	while (n-- && ksft_now_ms() < deadline) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(tx);
		while (rig.tx_done != rig.tx_seq && ksft_now_ms() < deadline)
			rig_tx_reap(&rig);
	}
}

/* It does not pay to wait for more; but they are a stream, and who sends that need not do it all. */
CASE(one_after_the_other_is_for_the_worker)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(5000);
	long kicks, wakes;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	kicks = counter("kvnet.tx.kicks");
	wakes = counter("kvnet.tx.wakeups");
	ping_pong(1500, deadline);
	do
		ping_pong(500, deadline);
	while (8 * (counter("kvnet.tx.wakeups") - wakes) < counter("kvnet.tx.kicks") - kicks &&
	       ksft_now_ms() < deadline);
	wakes = counter("kvnet.tx.wakeups") - wakes;
	kicks = counter("kvnet.tx.kicks") - kicks;
	EXPECT_GE(8 * wakes, kicks);
	rig_close(&rig);
}

KSFT_MAIN()
