// SPDX-License-Identifier: GPL-2.0
/*
 * What shares a worker, each with more to do than it gets: how much of the one is done by
 * the time that the other one has all. Packets are counted, not time.
 */
#define _GNU_SOURCE
#include <net/if.h>
#include <sched.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "flow.h"
#include "netlink_rig.h"
#include "procfs.h"

#define TURN	256u
#define ALL	(12 * TURN)	/* packets of each queue */

static int set(unsigned int type, size_t len, uint32_t value)
{
	struct nlattr *nest;
	struct ask ask;

	ask_begin(&ask, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&ask, KVNET_A_DEV_ID, the_id());
	nest = ask_nest(&ask, KVNET_A_DEV_POLICY);
	ask_put(&ask, type, &value, len);
	ask_nest_end(&ask, nest);
	return genl_do(&genl, &ask, false, NULL, NULL);
}

static uint32_t weight(unsigned int type)
{
	return attr_u32(attr_nest(the_device(), KVNET_A_DEV_POLICY), type);
}

static long done(unsigned int queue)
{
	return rig_counter(&vmm, queue == VDEV_RX ? "kvnet.rx.packets" : "kvnet.tx.packets");
}

/* The tap takes as many frames. */
static void long_queue(void)
{
	struct ifreq r = { .ifr_qlen = ALL + 100 };

	strcpy(r.ifr_name, vmm.name);
	ASSERT_SYS(ioctl(vmm.inject, SIOCSIFTXQLEN, &r));
}

/* All is there before anybody is told. */
static void prepare(void)
{
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ .features = F_V1 | F_MRG, .num = 4096,
					 .bufs = 4096, .tx_buf = 128, .rx_buf = 128 });
	vdev_no_spin(&vmm.v);
	ASSERT_EQ(set(KVNET_A_POLICY_TX_BY_VCPU, 1, 0), 0);
	ASSERT_EQ(set(KVNET_A_POLICY_RX_IN_PLACE, 1, 0), 0);
	long_queue();
	for (i = 0; i < ALL; i++)
		rig_inject(&vmm, i, 60);
	worker_rests();
	for (i = 0; i < ALL; i++)
		ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
	ASSERT_EQ(rig_rx_post(&vmm, ALL, NULL), ALL);
	EXPECT_EQ(done(VDEV_RX), 0);
	EXPECT_EQ(done(VDEV_TX), 0);
}

/* How much of the other queue is done when this one has all? */
static long other_when_done(unsigned int queue)
{
	const struct sched_param first = { .sched_priority = 1 };
	struct nlattr *nest;
	cpu_set_t one;
	struct ask ask;
	long other = 0;

	/* On one CPU whoever is called has it at once, and nobody goes on meanwhile. */
	ask_begin(&ask, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&ask, KVNET_A_DEV_ID, the_id());
	nest = ask_nest(&ask, KVNET_A_DEV_POLICY);
	ask_text(&ask, KVNET_A_POLICY_CPUS, "0");
	ask_nest_end(&ask, nest);
	ASSERT_EQ(genl_do(&genl, &ask, false, NULL, NULL), 0);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_SYS(sched_setaffinity(0, sizeof(one), &one));
	ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &first));
	vdev_kick_always(&vmm.v.q[!queue]);
	vdev_kick_always(&vmm.v.q[queue]);
	do {
		if (!vdev_eventfd_wait(vmm.v.q[queue].call, 3000)) {
			FAIL("queue %u stands still at %ld", queue, done(queue));
			break;
		}
		vdev_eventfd_take(vmm.v.q[queue].call);
		other = done(!queue);
	} while (done(queue) < ALL);
	ASSERT_SYS(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }));
	EXPECT(WAIT_FOR(5000, done(!queue) == ALL));
	ksft_note("%u packets, and %ld of the other queue", ALL, other);
	rig_close(&vmm);
	return other;
}

CASE(the_same_by_default)
{
	prepare();
	EXPECT_EQ(weight(KVNET_A_POLICY_RX_WEIGHT), 1);
	EXPECT_EQ(weight(KVNET_A_POLICY_TX_WEIGHT), 1);
	EXPECT_OP(other_when_done(VDEV_TX), >=, ALL * 3 / 4);
}

CASE(more_to_the_host)
{
	prepare();
	EXPECT_EQ(set(KVNET_A_POLICY_TX_WEIGHT, 4, 4), 0);
	EXPECT_EQ(weight(KVNET_A_POLICY_TX_WEIGHT), 4);
	EXPECT_OP(other_when_done(VDEV_TX), <=, ALL / 2);
}

CASE(more_to_the_guest)
{
	prepare();
	EXPECT_EQ(set(KVNET_A_POLICY_RX_WEIGHT, 4, 4), 0);
	EXPECT_EQ(weight(KVNET_A_POLICY_RX_WEIGHT), 4);
	EXPECT_OP(other_when_done(VDEV_RX), <=, ALL / 2);
}

/* However much it weighs, the other one is served, too; and another owner begins anew. */
CASE(the_most)
{
	prepare();
	EXPECT_EQ(set(KVNET_A_POLICY_TX_WEIGHT, 4, 0), -ERANGE);
	EXPECT(genl.said[0]);
	EXPECT_EQ(set(KVNET_A_POLICY_TX_WEIGHT, 4, 17), -ERANGE);
	EXPECT_EQ(set(KVNET_A_POLICY_RX_WEIGHT, 4, -1), -ERANGE);
	EXPECT_EQ(set(KVNET_A_POLICY_RX_WEIGHT, 1, 1), -EINVAL);
	EXPECT_EQ(weight(KVNET_A_POLICY_RX_WEIGHT), 1);
	EXPECT_EQ(weight(KVNET_A_POLICY_TX_WEIGHT), 1);
	EXPECT_EQ(set(KVNET_A_POLICY_TX_WEIGHT, 4, 16), 0);
	EXPECT_OP(other_when_done(VDEV_TX), <=, 2 * TURN);
	netlink_begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(set(KVNET_A_POLICY_TX_WEIGHT, 4, 16), 0);
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(vmm.v.fd);
	EXPECT_EQ(weight(KVNET_A_POLICY_TX_WEIGHT), 1);
}

/*** or a thread for each ***/

static void all_of_both(void)
{
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	EXPECT(WAIT_FOR(5000, done(VDEV_RX) == ALL && done(VDEV_TX) == ALL));
}

/* With auto one thread becomes two; other people's work may put that off. */
CASE_TIMED(two_threads_when_both_are_busy, 60)
{
	unsigned int i, parted = 0;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	for (i = 0; i < 10 && !parted && !ksft_failed(); i++) {
		prepare();
		EXPECT_EQ(set(KVNET_A_POLICY_THREADS, 4, KVNET_THREAD_POLICY_AUTO), 0);
		worker_rests();
		/* to a host that stood still its first turns looked long */
		if (workers_of(getpid(), NULL) == 1) {
			all_of_both();
			parted = rig_counter(&vmm, "kvnet.threads_parted");
		}
		rig_close(&vmm);
	}
	ksft_note("in round %u", i);
	EXPECT_OP(parted, >, 0);
}

/* What is busy alone has no need of it. */
CASE(one_thread_when_one_is_busy)
{
	prepare();
	EXPECT_EQ(set(KVNET_A_POLICY_THREADS, 4, KVNET_THREAD_POLICY_AUTO), 0);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	EXPECT(WAIT_FOR(5000, done(VDEV_TX) == ALL));
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	EXPECT(WAIT_FOR(5000, done(VDEV_RX) == ALL));
	EXPECT_EQ(rig_counter(&vmm, "kvnet.threads_parted"), 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
}

KSFT_MAIN()
