// SPDX-License-Identifier: GPL-2.0
/*
 * All frames of a queue leave by one TX queue of a NIC behind the bridge, by whichever thread and
 * on whichever CPU they are sent: in two they could overtake each other.
 *
 * @hosts: 6.1 newest
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 */
#define _GNU_SOURCE
#include <net/ethernet.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "links.h"
#include "procfs.h"
#include "tx_inline_rig.h"

#define BULK		100u
#define LONG		40000u	/* bytes of a frame that only the tap's sendmsg() takes */
#define PAUSE_MS	1000u	/* after which frames may take another queue */

static struct rig rig;
static int leaving[2];	/* packet sockets: what leaves the NIC by this TX queue */

static void run_on(pid_t tid, unsigned int cpu)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	ASSERT_SYS(sched_setaffinity(tid, sizeof(one), &one));
}

static void workers_run_on(unsigned int cpu)
{
	struct worker w[2];
	unsigned int n = list_workers(getpid(), w, 2);

	ASSERT_EQ(n, 2);
	wait_worker_idle();
	while (n--)
		run_on(w[n].tid, cpu);
}

/* How many frames of the guest have left by that queue since it was last asked. */
static unsigned int left_by(unsigned int queue)
{
	static uint8_t f[FRAME_MAX];
	unsigned int n = 0;
	ssize_t len;

	while ((len = recv(leaving[queue], f, sizeof(f), MSG_DONTWAIT)) >= 0)
		n += frame_is_ours(f, len);
	return n;
}

static void forget(void)
{
	left_by(0);
	left_by(1);
}

static void send_frames(unsigned int n, uint32_t len)
{
	uint32_t seq = rig.tx_seq;
	unsigned int i;

	for (i = 0; i < n; i++)
		ASSERT_EQ(rig_tx(&rig, len, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	for (i = 0; i < n && !ksft_failed(); i++)
		rig_expect(&rig, seq + i, len);
	ASSERT(rig_tx_drain(&rig, 3000));
}

/* Many at once are for the worker. */
static void send_by_worker(void)
{
	send_frames(BULK, 60);
	tx_inline_reply(&rig);
}

/* After many at once the worker sends a single one, then the thread that kicks. */
static void send_by_vcpu(void)
{
	long n_inline;

	send_frames(1, 60);
	tx_inline_reply(&rig);
	wait_worker_idle();
	n_inline = rig_counter(&rig, "kvnet.tx.packets_inline");
	send_frames(1, 60);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets_inline"), n_inline + 1);
	tx_inline_reply(&rig);
}

/* A port of a bridge does not forward at once. */
static bool is_forwarding(void)
{
	struct pollfd p = { .fd = rig.sniff, .events = POLLIN };

	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	ASSERT(rig_tx_drain(&rig, 3000));
	return poll(&p, 1, 0) == 1;
}

/* This thread runs on CPU 0, the workers on CPU 1. */
static void begin(void)
{
	struct rig nic;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	run_on(0, 0);
	tx_inline_begin(&rig, LONG + 64);
	workers_run_on(1);
	link_mount_sysfs();
	ASSERT_EQ(link_add_dummy("nic", 2), 0);
	nic.ifindex = if_nametoindex("nic");
	ASSERT_EQ(link_mtu(nic.ifindex, LONG), 0);
	ASSERT_EQ(link_up(nic.ifindex, true), 0);
	/* XPS: a queue for frames of each CPU */
	link_sysfs("nic", "queues/tx-0/xps_cpus", "1");
	link_sysfs("nic", "queues/tx-1/xps_cpus", "2");
	link_bridge(0);
	/* it would send frames of its own */
	if (!access("/sys/class/net/br0/bridge/multicast_snooping", F_OK))
		link_sysfs("br0", "bridge/multicast_snooping", "0");
	link_bridge(rig.ifindex);
	link_bridge(nic.ifindex);
	ASSERT_EQ(link_up(if_nametoindex("br0"), true), 0);
	leaving[0] = rig_queue_socket(&nic, 0);
	leaving[1] = rig_queue_socket(&nic, 1);
	/* what the bridge takes does not come to the tap's own */
	close(rig.sniff);
	rig.sniff = rig_packet_socket(&nic, ETH_P_ALL, false);
	ASSERT(WAIT_FOR(5000, is_forwarding()));
	rig_flush(&rig);
	forget();
}

static void end(void)
{
	close(leaving[0]);
	close(leaving[1]);
	rig_close(&rig);
}

CASE(worker_and_vcpu_thread_share_tx_queue)
{
	unsigned int i, n = 5;

	begin();
	for (i = 0; i < n && !ksft_failed(); i++) {
		send_by_worker();
		send_by_vcpu();
	}
	EXPECT_EQ(left_by(0), 0);
	EXPECT_EQ(left_by(1), n * (BULK + 2));
	end();
}

CASE(moved_worker_keeps_tx_queue_until_pause)
{
	uint64_t from;

	begin();
	do {
		workers_run_on(1);
		poll(NULL, 0, PAUSE_MS + 100);
		send_by_worker();
		forget();
		from = ksft_now_ms();
		send_by_worker();
		workers_run_on(0);
		send_by_worker();
		/* this machine may make a pause, too */
	} while (ksft_now_ms() - from >= PAUSE_MS && !ksft_failed());
	EXPECT_EQ(left_by(0), 0);
	EXPECT_EQ(left_by(1), 2 * BULK);
	poll(NULL, 0, PAUSE_MS + 100);
	send_by_worker();
	EXPECT_EQ(left_by(0), BULK);
	EXPECT_EQ(left_by(1), 0);
	end();
}

/* Such a frame takes the queue of the worker's CPU. */
CASE(frames_behind_one_of_sendmsg_share_its_tx_queue)
{
	long n;

	begin();
	send_by_worker();
	EXPECT_EQ(left_by(1), BULK);
	workers_run_on(0);
	run_on(0, 1);
	n = rig_counter(&rig, "kvnet.tx.packets_unbatched");
	send_frames(1, LONG);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.packets_unbatched"), n + 1);
	EXPECT_EQ(left_by(0), 1);
	send_by_vcpu();
	send_by_worker();
	EXPECT_EQ(left_by(0), BULK + 2);
	EXPECT_EQ(left_by(1), 0);
	end();
}

KSFT_MAIN()
