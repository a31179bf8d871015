// SPDX-License-Identifier: GPL-2.0
/*
 * One thread for both queues, or one for each: said by an operator, live; or found out by
 * the device itself. A VMM that says who serves what has the last word.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <unistd.h>

#include "cgroup.h"
#include "exchange.h"
#include "flow.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"
#include "vmm.h"

VDEV_ONE_THREAD()

#define SECOND	8	/* as worker-get numbers it: no VMM's worker has that */

static int set_threads(uint32_t policy)
{
	return policy_u32(KVNET_A_POLICY_THREADS, policy);
}

static uint32_t policy(void)
{
	return attr_u32(the_policy(), KVNET_A_POLICY_THREADS);
}

static unsigned int serves(unsigned int queue)
{
	return attr_u32(the_queue(queue), KVNET_A_QUEUE_WORKER);
}

static void pass(unsigned int n)
{
	struct flow f = { .r = &vmm, .rx_seq = vmm.tx_seq };

	flow_exact(&f, n, flow_lens, FLOW_LENS);
}

static void begin(const struct rig_cfg *cfg)
{
	netlink_begin(cfg);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
}

static void have_two(void)
{
	ASSERT_EQ(set_threads(KVNET_THREAD_POLICY_TWO), 0);
	ASSERT(WAIT_FOR(3000, serves(VDEV_TX) == SECOND));
}

/*** what is said ***/

static void said(void)
{
	begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(policy(), KVNET_THREAD_POLICY_ONE);
	pass(50);
	EXPECT_EQ(serves(VDEV_TX), 0);
	have_two();
	EXPECT_EQ(policy(), KVNET_THREAD_POLICY_TWO);
	EXPECT_EQ(serves(VDEV_RX), 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	EXPECT_OP(attr_u32(the_worker(SECOND), KVNET_A_WORKER_TID), !=,
		  attr_u32(the_worker(0), KVNET_A_WORKER_TID));
	EXPECT_EQ(attr_u32(the_worker(SECOND), KVNET_A_WORKER_QUEUES), VDEV_TX);
	EXPECT_EQ(attr_u32(the_worker(SECOND), KVNET_A_WORKER_KIND),
		  attr_u32(the_worker(0), KVNET_A_WORKER_KIND));
	pass(50);
	EXPECT_EQ(set_threads(KVNET_THREAD_POLICY_ONE), 0);
	EXPECT(WAIT_FOR(3000, !serves(VDEV_TX)));
	pass(50);
	EXPECT_EQ(serves(VDEV_TX), 0);
	have_two();
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	EXPECT_EQ(rig_counter(&vmm, "kvnet.threads_parted"), 2);
	EXPECT_EQ(rig_counter(&vmm, "kvnet.threads_joined"), 1);
	EXPECT_EQ(rig_counter(&vmm, "kvnet.threads_refused"), 0);
	/* what is said of the device is said of it, too */
	rig_stop(&vmm);
	rig_start(&vmm);
	EXPECT_EQ(serves(VDEV_TX), SECOND);
	pass(50);
	/* another owner begins anew */
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	vdev_own(vmm.v.fd);
	EXPECT_EQ(policy(), KVNET_THREAD_POLICY_ONE);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	rig_close(&vmm);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	no_leak_found();
}

CASE(one_or_two)
{
	said();
}

CASE(one_or_two_kernel_threads)
{
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	said();
}

CASE(a_third_is_none)
{
	begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(set_threads(3), -ERANGE);
	EXPECT(genl.said[0]);
	EXPECT_EQ(policy(), KVNET_THREAD_POLICY_ONE);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
}

/*** the VMM's word ***/

static int new_worker(void)
{
	unsigned int id = -1u;
	int ret = __vdev_ioctl(vmm.v.fd, VHOST_NEW_WORKER, &id);

	return ret ? ret : (int)id;
}

static int attach(unsigned int queue, unsigned int id)
{
	unsigned int arg[2] = { queue, id };

	return __vdev_ioctl(vmm.v.fd, VHOST_ATTACH_VRING_WORKER, arg);
}

CASE(the_vmm_says)
{
	unsigned int arg[2] = { VDEV_TX, -1u };

	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	begin(&(struct rig_cfg){ 0 });
	have_two();
	/* it does not know of ours */
	ASSERT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_GET_VRING_WORKER, arg), 0);
	EXPECT_EQ(arg[1], 0);
	EXPECT_EQ(attach(VDEV_RX, SECOND), -ENODEV);
	EXPECT_EQ(serves(VDEV_TX), SECOND);
	EXPECT_EQ(new_worker(), 1);
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 2));
	EXPECT_EQ(serves(VDEV_TX), 0);
	pass(50);
	EXPECT_EQ(set_threads(KVNET_THREAD_POLICY_TWO), 0);
	pass(50);
	EXPECT_EQ(serves(VDEV_TX), 0);
	EXPECT_EQ(attach(VDEV_TX, 1), 0);
	pass(50);
	EXPECT_EQ(serves(VDEV_TX), 1);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
}

CASE(what_is_refused_is_not_said)
{
	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", "task", 1));
	begin(&(struct rig_cfg){ 0 });
	have_two();
	EXPECT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_NEW_WORKER, NULL), -EFAULT);
	EXPECT(WAIT_FOR(3000, (pass(1), serves(VDEV_TX) == SECOND)));
	pass(50);
	/* the kernel may still bury the others */
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 2));
	EXPECT_EQ(new_worker(), 1);
	EXPECT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_NEW_WORKER, NULL), -EFAULT);
	pass(50);
	EXPECT_EQ(serves(VDEV_TX), 0);
}

static void attached(void)
{
	begin(&(struct rig_cfg){ 0 });
	have_two();
	EXPECT_EQ(attach(VDEV_TX, 0), 0);
	/* it serves nothing any more; the kernel may still bury it */
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 1));
	EXPECT_EQ(serves(VDEV_TX), 0);
	pass(50);
	EXPECT_EQ(serves(VDEV_TX), 0);
}

CASE(attached_it_is)
{
	attached();
}

/* One of those that ends tells so; it is not the device's end. */
CASE(attached_it_is_kernel_threads)
{
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	attached();
}

/*** that cannot be had ***/

/* It is done without, and asked for again after a while. */
CASE(limits_of_the_owner_bound_them)
{
	struct cgroup g;
	uint64_t from;

	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", "task", 1));
	cgroup_make(&g, "pids");
	cgroup_join(&g, getpid());
	begin(&(struct rig_cfg){ 0 });
	cgroup_set(&g, "pids.max", "2");
	ASSERT_EQ(cgroup_get(&g, "pids.current", NULL), 2);
	from = ksft_now_ms();
	EXPECT_EQ(set_threads(KVNET_THREAD_POLICY_TWO), 0);
	EXPECT(WAIT_FOR(3000, rig_counter(&vmm, "kvnet.threads_refused") >= 1));
	pass(50);
	/* once a second, not each time that it would be of use */
	EXPECT_LE(rig_counter(&vmm, "kvnet.threads_refused"),
		  1 + (long)(ksft_now_ms() - from) / 1000);
	EXPECT_EQ(serves(VDEV_TX), 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	cgroup_set(&g, "pids.max", "3");
	EXPECT(WAIT_FOR(5000, (set_threads(KVNET_THREAD_POLICY_TWO),
			       serves(VDEV_TX) == SECOND)));
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	pass(20);
	rig_close(&vmm);
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

/*** under traffic ***/

static void under_traffic(const struct rig_cfg *cfg, unsigned int poll_us)
{
	struct vhost_vring_state busy = { 0, poll_us };
	struct exchange x = { .r = &vmm };
	unsigned int i, n = ksft_rounds(200);

	begin(cfg);
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &busy);
	exchange_start(&x);
	for (i = 0; i < n && !ksft_failed(); i++) {
		EXPECT_EQ(set_threads(ksft_below(3)), 0);
		if (i % 4 == 0)
			exchange_wait(&x);
	}
	exchange_end(&x);
	EXPECT_EQ(vdev_eventfd_take(vmm.v.q[0].err), 0);
	EXPECT_EQ(vdev_eventfd_take(vmm.v.q[1].err), 0);
	ksft_note("parted %ld times, joined %ld times",
		  rig_counter(&vmm, "kvnet.threads_parted"),
		  rig_counter(&vmm, "kvnet.threads_joined"));
	EXPECT_OP(rig_counter(&vmm, "kvnet.threads_parted"), >, 0);
	rig_close(&vmm);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	no_leak_found();
}

CASE_TIMED(changed_under_traffic, 60)
{
	under_traffic(&(struct rig_cfg){ 0 }, 0);
}

CASE_TIMED(changed_while_they_spin, 60)
{
	under_traffic(&(struct rig_cfg){ 0 }, 200);
}

CASE_TIMED(changed_while_the_tap_is_full, 60)
{
	under_traffic(&(struct rig_cfg){ .tap = TAP_SNDBUF }, 0);
}

CASE_TIMED(changed_kernel_threads, 60)
{
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	under_traffic(&(struct rig_cfg){ 0 }, 0);
}

/* The VMM takes its word while one is made, or is at work. */
static void dismissed(void)
{
	unsigned int i, n = ksft_rounds(12);

	for (i = 0; i < n && !ksft_failed(); i++) {
		struct exchange x = { .r = &vmm };

		begin(&(struct rig_cfg){ 0 });
		exchange_start(&x);
		EXPECT_EQ(set_threads(KVNET_THREAD_POLICY_TWO), 0);
		if (i % 2)
			exchange_wait(&x);
		EXPECT_EQ(attach(i / 2 % 2, 0), 0);
		/* It serves nothing any more; the kernel may still bury it. */
		EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 1));
		exchange_wait(&x);
		exchange_end(&x);
		rig_close(&vmm);
		EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	}
	no_leak_found();
}

CASE_TIMED(dismissed_under_traffic, 60)
{
	dismissed();
}

/* The end of a kernel thread is that of the device, but for one that was let go. */
CASE_TIMED(dismissed_kernel_threads, 60)
{
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	dismissed();
}

/*** the end ***/

static void serve_till_killed(int ready)
{
	struct exchange x = { .r = &vmm };

	netlink_begin(&(struct rig_cfg){ 0 });
	exchange_start(&x);
	close(ready);
	for (;;)
		set_threads(ksft_below(3));
}

CASE_TIMED(killed, 60)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	vmm_killed_often(serve_till_killed, ksft_rounds(8), 5000);
	no_leak_found();
}

/* Given back, or closed, just when the second one is made. */
CASE_TIMED(ended_when_it_begins, 60)
{
	unsigned int i, n = ksft_rounds(8);

	for (i = 0; i < n && !ksft_failed(); i++) {
		begin(&(struct rig_cfg){ 0 });
		EXPECT_EQ(set_threads(KVNET_THREAD_POLICY_TWO), 0);
		if (i % 4 > 1)
			usleep(ksft_below(1000));
		if (i % 2)
			vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
		rig_close(&vmm);
		EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	}
	no_leak_found();
}

KSFT_MAIN()
