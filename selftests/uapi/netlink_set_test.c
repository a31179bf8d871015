// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sets: where a device's workers run and how, spinning, who sends, how
 * frames are received. All of a request happens, or nothing.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "flow.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

/*** what may not be ***/

#define TIMES_8(text)	text text text text text text text text

static const struct wrong {
	const char *what;
	unsigned int type;
	size_t len;		/* 0: text */
	uint32_t value;
	const char *text;
	int error;
} wrong[] = {
	{ "no list", KVNET_A_POLICY_CPUS, 0, 0, "x", -EINVAL },
	{ "a negative CPU", KVNET_A_POLICY_CPUS, 0, 0, "-1", -EINVAL },
	{ "a range backwards", KVNET_A_POLICY_CPUS, 0, 0, "3-0", -EINVAL },
	{ "a CPU beyond all", KVNET_A_POLICY_CPUS, 0, 0, "99999", -EINVAL },
	{ "no CPU", KVNET_A_POLICY_CPUS, 0, 0, ",", -EINVAL },
	{ "a list that ends in no CPU", KVNET_A_POLICY_CPUS, 0, 0, "0,x", -EINVAL },
	{ "a text without its end", KVNET_A_POLICY_CPUS, 3, '0' | '-' << 8 | '0' << 16, NULL,
	  -EINVAL },
	{ "a text of 1025 bytes", KVNET_A_POLICY_CPUS, 0, 0, TIMES_8(TIMES_8("0,0,0,0,0,0,0,0,"))
	  "0", -EINVAL },
	{ "nice 20", KVNET_A_POLICY_NICE, 4, 20, NULL, -ERANGE },
	{ "nice -21", KVNET_A_POLICY_NICE, 4, -21, NULL, -ERANGE },
	{ "nice of one byte", KVNET_A_POLICY_NICE, 1, 1, NULL, -EINVAL },
	{ "a class that is none", KVNET_A_POLICY_SCHED, 4, 4, NULL, -EINVAL },
	{ "a class far away", KVNET_A_POLICY_SCHED, 4, -1, NULL, -EINVAL },
	{ "deadline", KVNET_A_POLICY_SCHED, 4, KVNET_SCHED_DEADLINE, NULL, -EOPNOTSUPP },
	{ "ext", KVNET_A_POLICY_SCHED, 4, KVNET_SCHED_EXT, NULL, -EOPNOTSUPP },
	{ "priority 0", KVNET_A_POLICY_RT_PRIORITY, 4, 0, NULL, -ERANGE },
	{ "priority 100", KVNET_A_POLICY_RT_PRIORITY, 4, 100, NULL, -ERANGE },
	{ "a priority alone", KVNET_A_POLICY_RT_PRIORITY, 4, 5, NULL, -EINVAL },
	{ "tx-by-vcpu 2", KVNET_A_POLICY_TX_BY_VCPU, 1, 2, NULL, -ERANGE },
	{ "copy-frames 255", KVNET_A_POLICY_COPY_FRAMES, 1, 255, NULL, -ERANGE },
	{ "rx-in-place 2", KVNET_A_POLICY_RX_IN_PLACE, 1, 2, NULL, -ERANGE },
	{ "node -3", KVNET_A_POLICY_NODE, 4, -3, NULL, -ERANGE },
	{ "a node far away", KVNET_A_POLICY_NODE, 4, 4000, NULL, -EINVAL },
	{ "a node of one byte", KVNET_A_POLICY_NODE, 1, 0, NULL, -EINVAL },
	{ "threads 3", KVNET_A_POLICY_THREADS, 4, 3, NULL, -ERANGE },
	{ "rx-weight 0", KVNET_A_POLICY_RX_WEIGHT, 4, 0, NULL, -ERANGE },
	{ "tx-weight 17", KVNET_A_POLICY_TX_WEIGHT, 4, 17, NULL, -ERANGE },
	{ "an attribute that is none", KVNET_A_POLICY_MAX + 1, 4, 0, NULL, -EINVAL },
};

#define WRONG (sizeof(wrong) / sizeof(wrong[0]))

static void put_wrong(const struct wrong *w)
{
	if (w->text)
		ask_text(&policy_request, w->type, w->text);
	else
		ask_put(&policy_request, w->type, &w->value, w->len);
}

/* Attributes that are right, but for that of a type. */
static void put_right(unsigned int but_for)
{
	if (but_for != KVNET_A_POLICY_NICE)
		ask_u32(&policy_request, KVNET_A_POLICY_NICE, 7);
	if (but_for != KVNET_A_POLICY_POLL_US)
		ask_u32(&policy_request, KVNET_A_POLICY_POLL_US, 11);
	if (but_for != KVNET_A_POLICY_COPY_FRAMES)
		ask_u8(&policy_request, KVNET_A_POLICY_COPY_FRAMES, 0);
	if (but_for != KVNET_A_POLICY_SCHED && but_for != KVNET_A_POLICY_RT_PRIORITY)
		ask_u32(&policy_request, KVNET_A_POLICY_SCHED, KVNET_SCHED_BATCH);
	if (but_for != KVNET_A_POLICY_CPUS)
		ask_text(&policy_request, KVNET_A_POLICY_CPUS, "0");
}

static void nothing_has_changed(void)
{
	struct attrs p = the_policy();

	EXPECT(!*attr_text(p, KVNET_A_POLICY_CPUS));
	EXPECT_EQ((int)attr_u32(p, KVNET_A_POLICY_NODE), KVNET_NODE_NONE);
	EXPECT_EQ(attr_u32(p, KVNET_A_POLICY_THREADS), KVNET_THREAD_POLICY_AUTO);
	EXPECT_EQ(attr_u32(p, KVNET_A_POLICY_RX_WEIGHT), 1);
	EXPECT_EQ(attr_u32(p, KVNET_A_POLICY_TX_WEIGHT), 1);
	EXPECT(!attr_has(p, KVNET_A_POLICY_NICE));
	EXPECT(!attr_has(p, KVNET_A_POLICY_SCHED));
	EXPECT(!attr_has(p, KVNET_A_POLICY_RT_PRIORITY));
	EXPECT_EQ(attr_u32(p, KVNET_A_POLICY_POLL_US), 50);
	EXPECT_EQ(attr_u32(p, KVNET_A_POLICY_COPY_FRAMES), 1);
	EXPECT_EQ(getpriority(PRIO_PROCESS, worker_tid(0)), 0);
	EXPECT_EQ(sched_getscheduler(worker_tid(0)), SCHED_OTHER);
}

CASE(wrong_attributes)
{
	const struct wrong *w;
	unsigned int order;
	int ret;

	netlink_begin(&(struct rig_cfg){ 0 });
	for (w = wrong; w < wrong + WRONG; w++) {
		for (order = 0; order < 2; order++) {
			policy_want();
			if (order)
				put_right(w->type);
			put_wrong(w);
			if (!order)
				put_right(w->type);
			ret = policy_ask();
			if (ret != w->error || !genl.said[0])
				FAIL("%s: %d, not %d; \"%s\"", w->what, ret, w->error,
				     genl.said);
			nothing_has_changed();
		}
	}
	/* and with nothing wrong */
	policy_want();
	put_right(0);
	EXPECT_EQ(policy_ask(), 0);
	EXPECT_EQ(getpriority(PRIO_PROCESS, worker_tid(0)), 7);
}

CASE(incomplete_requests)
{
	struct ask a;

	netlink_begin(&(struct rig_cfg){ 0 });
	ask_begin(&a, &genl, KVNET_CMD_DEV_SET);
	EXPECT_EQ(genl_do(&genl, &a, false, NULL, NULL), -EINVAL);
	EXPECT(strstr(genl.said, "id"));
	ask_begin(&a, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&a, KVNET_A_DEV_ID, the_id());
	EXPECT_EQ(genl_do(&genl, &a, false, NULL, NULL), -EINVAL);
	EXPECT(strstr(genl.said, "policy"));
	ask_begin(&a, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&a, KVNET_A_DEV_ID, the_id() + 1);
	ask_nest_end(&a, ask_nest(&a, KVNET_A_DEV_POLICY));
	EXPECT_EQ(genl_do(&genl, &a, false, NULL, NULL), -ENODEV);
	EXPECT(strstr(genl.said, "no such device"));
	EXPECT_OP(genl.bad, >, 0);
	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	EXPECT_EQ(genl_do(&genl, &a, false, NULL, NULL), -EINVAL);
	EXPECT(strstr(genl.said, "id"));
	policy_want();
	EXPECT_EQ(policy_ask(), 0);
	nothing_has_changed();
}

CASE(weights)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_TX_WEIGHT, 16), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_TX_WEIGHT), 16);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_WEIGHT), 1);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_RX_WEIGHT, 3), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_TX_WEIGHT), 16);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_WEIGHT), 3);
	/* another owner begins anew */
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(vmm.v.fd);
	nothing_has_changed();
}

/*** spinning, frames ***/

CASE(spinning)
{
	struct vhost_vring_state s = { .index = VDEV_TX };

	netlink_begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 123), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_POLL_US), 123);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_CAP_NS), 123000);
	vdev_ioctl(vmm.v.fd, VHOST_GET_VRING_BUSYLOOP_TIMEOUT, &s);
	EXPECT_EQ(s.num, 123);
	flow_one(&vmm);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 0), 0);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_CAP_NS), 0);
	flow_one(&vmm);
	worker_rests();
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_WINDOW_NS), 0);
	/* and the VMM has its say after that */
	s.num = 9;
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_POLL_US), 9);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_CAP_NS), 9000);
	/* of more than 32 bits */
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 5000000), 0);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_CAP_NS), 5000000000);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 9), 0);
	/* a worker goes by the larger one of its queues */
	s = (struct vhost_vring_state){ .index = VDEV_RX, .num = 4 };
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_CAP_NS), 9000);
}

/* Calls of the tap for some frames that come in a burst. */
static long tap_calls(void)
{
	long before = rig_counter(&vmm, "kvnet.rx.tap_calls");
	unsigned int i;

	for (i = 0; i < 40; i++)
		rig_inject(&vmm, i, 100);
	rig_rx_post(&vmm, 40, NULL);
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	for (i = 0; i < 40; i++)
		rig_rx_expect(&vmm, i, 100);
	worker_rests();
	return rig_counter(&vmm, "kvnet.rx.tap_calls") - before;
}

CASE(copying)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_COPY_FRAMES, 0), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_COPY_FRAMES), 0);
	EXPECT_EQ(tap_calls(), 40);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_COPY_FRAMES, 1), 0);
	EXPECT_OP(tap_calls(), <, 40);
}

/* Frames that the thread which kicks has sent, out of so many. */
static long sent_by_who_kicks(unsigned int n)
{
	long before = rig_counter(&vmm, "kvnet.tx.runs_lent");

	while (n-- && !ksft_failed()) {
		ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
		vdev_kick_always(&vmm.v.q[VDEV_TX]);
		ASSERT(rig_tx_drain(&vmm, 3000));
		worker_rests();
	}
	return rig_counter(&vmm, "kvnet.tx.runs_lent") - before;
}

CASE(sending)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	flow_one(&vmm);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_TX_BY_VCPU, 1), 0);
	EXPECT(WAIT_FOR(5000, sent_by_who_kicks(1)));
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_TX_BY_VCPU, 0), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_TX_BY_VCPU), 0);
	EXPECT_EQ(sent_by_who_kicks(20), 0);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_TX_BY_VCPU, 1), 0);
	EXPECT(WAIT_FOR(5000, sent_by_who_kicks(1)));
}

#define FEW	16	/* buffers, since a page is known when it has been used once */

/* Turns of softirqs, of so many frames. */
static long received_in_place(unsigned int n)
{
	long before = rig_counter(&vmm, "kvnet.rx.runs_soft");
	unsigned int i;

	for (i = 0; i < n && !ksft_failed(); i++) {
		rig_rx_post(&vmm, FEW, NULL);
		vdev_kick_always(&vmm.v.q[VDEV_RX]);
		rig_inject(&vmm, i, 100);
		rig_rx_expect(&vmm, i, 100);
		worker_rests();
	}
	return rig_counter(&vmm, "kvnet.rx.runs_soft") - before;
}

CASE(receiving)
{
	netlink_begin(&(struct rig_cfg){ .bufs = FEW });
	vdev_no_spin(&vmm.v);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_IN_PLACE, 1), 0);
	EXPECT(WAIT_FOR(5000, received_in_place(1)));
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_IN_PLACE, 0), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_IN_PLACE), 0);
	EXPECT_EQ(received_in_place(20), 0);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_IN_PLACE, 1), 0);
	EXPECT(WAIT_FOR(5000, received_in_place(1)));
}

CASE(receiving_of_who_has_not_watched)
{
	char before;

	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	before = vdev_parameter("rx_in_place", 'N');
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_parameter("rx_in_place", before);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_IN_PLACE, 1), -EOPNOTSUPP);
	EXPECT(strstr(genl.said, "rx_in_place"));
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_IN_PLACE), 0);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_IN_PLACE, 0), 0);
	flow_one(&vmm);
}

/*** classes ***/

static int priority_of(pid_t t)
{
	struct sched_param p = { 0 };

	ASSERT_SYS(sched_getparam(t, &p));
	return p.sched_priority;
}

CASE(scheduling)
{
	static const int classes[] = { SCHED_BATCH, SCHED_IDLE, SCHED_OTHER };
	unsigned int i;
	pid_t t;

	netlink_begin(&(struct rig_cfg){ 0 });
	t = worker_tid(0);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NICE, -5), 0);
	EXPECT_EQ(getpriority(PRIO_PROCESS, t), -5);
	EXPECT_EQ((int)attr_u32(the_worker(0), KVNET_A_WORKER_NICE), -5);
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(policy_u32(KVNET_A_POLICY_SCHED, classes[i]), 0);
		EXPECT_EQ(sched_getscheduler(t), classes[i]);
		EXPECT_EQ(attr_u32(the_worker(0), KVNET_A_WORKER_SCHED), classes[i]);
		EXPECT_EQ(getpriority(PRIO_PROCESS, t), -5);
		flow_one(&vmm);
	}
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_SCHED, SCHED_FIFO), 0);
	EXPECT_EQ(sched_getscheduler(t), SCHED_FIFO);
	EXPECT_EQ(priority_of(t), 1);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_RT_PRIORITY, 33), 0);
	EXPECT_EQ(priority_of(t), 33);
	EXPECT_EQ(attr_u32(the_worker(0), KVNET_A_WORKER_RT_PRIORITY), 33);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RT_PRIORITY), 33);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_SCHED, SCHED_RR), 0);
	EXPECT_EQ(sched_getscheduler(t), SCHED_RR);
	EXPECT_EQ(priority_of(t), 33);
	flow_one(&vmm);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NICE, 3), 0);
	EXPECT_EQ(sched_getscheduler(t), SCHED_RR);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_SCHED, SCHED_OTHER), 0);
	EXPECT_EQ(getpriority(PRIO_PROCESS, t), 3);
	EXPECT(!attr_has(the_policy(), KVNET_A_POLICY_RT_PRIORITY));
	EXPECT(attr_has(the_policy(), KVNET_A_POLICY_SCHED));
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NICE, 0), 0);
	EXPECT(attr_has(the_policy(), KVNET_A_POLICY_NICE));
	flow_one(&vmm);
	/* a class that has no use for it has it all the same */
	policy_want();
	ask_u32(&policy_request, KVNET_A_POLICY_NICE, 9);
	ask_u32(&policy_request, KVNET_A_POLICY_SCHED, SCHED_FIFO);
	EXPECT_EQ(policy_ask(), 0);
	EXPECT_EQ(getpriority(PRIO_PROCESS, t), 9);
	/* what somebody else has said stays, unless it is asked for */
	ASSERT_SYS(setpriority(PRIO_PROCESS, t, 7));
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "0"), 0);
	EXPECT_EQ(getpriority(PRIO_PROCESS, t), 7);
	/* another owner begins anew */
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(vmm.v.fd);
	EXPECT(!attr_has(the_policy(), KVNET_A_POLICY_NICE));
	EXPECT_EQ(getpriority(PRIO_PROCESS, worker_tid(0)), 0);
}

CASE(later_workers_too)
{
	unsigned int id, i;

	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	netlink_begin(&(struct rig_cfg){ 0 });
	policy_want();
	ask_u32(&policy_request, KVNET_A_POLICY_NICE, 4);
	ask_u32(&policy_request, KVNET_A_POLICY_SCHED, SCHED_BATCH);
	ask_text(&policy_request, KVNET_A_POLICY_CPUS, "0");
	ASSERT_EQ(policy_ask(), 0);
	ASSERT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_NEW_WORKER, &id), 0);
	EXPECT(WAIT_FOR(3000, sched_getscheduler(worker_tid(1)) == SCHED_BATCH));
	EXPECT(WAIT_FOR(3000, getpriority(PRIO_PROCESS, worker_tid(1)) == 4));
	EXPECT(!strcmp(attr_text(the_worker(1), KVNET_A_WORKER_CPUS), "0"));
	EXPECT(WAIT_FOR(3000, !scouts()));
	/* the masks of a few that are left behind kmemleak may take for somebody's */
	for (i = 0; i < 30 && !ksft_failed(); i++) {
		ASSERT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_NEW_WORKER, &id), 0);
		EXPECT(WAIT_FOR(3000, sched_getscheduler(worker_tid(id)) == SCHED_BATCH));
		ASSERT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_FREE_WORKER, &id), 0);
	}
	/* both at once */
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NICE, 6), 0);
	EXPECT_EQ(getpriority(PRIO_PROCESS, worker_tid(0)), 6);
	EXPECT_EQ(getpriority(PRIO_PROCESS, worker_tid(1)), 6);
}

/* Wherever it is that they run. */
CASE(later_workers_of_a_class)
{
	unsigned int id;

	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	netlink_begin(&(struct rig_cfg){ 0 });
	policy_want();
	ask_u32(&policy_request, KVNET_A_POLICY_NICE, 4);
	ask_u32(&policy_request, KVNET_A_POLICY_SCHED, SCHED_BATCH);
	ASSERT_EQ(policy_ask(), 0);
	ASSERT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_NEW_WORKER, &id), 0);
	EXPECT(WAIT_FOR(3000, sched_getscheduler(worker_tid(1)) == SCHED_BATCH));
	EXPECT(WAIT_FOR(3000, getpriority(PRIO_PROCESS, worker_tid(1)) == 4));
}

/* Root of a container: its own devices, but not other people's time. */
static void in_a_container(void)
{
	rig_enter_netns();
	vdev_own(vmm.v.fd);
	genl_open(&genl);
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "0"), 0);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 1), 0);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NICE, 1), -EPERM);
	EXPECT(strstr(genl.said, "CAP_SYS_NICE"));
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_SCHED, SCHED_OTHER), -EPERM);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_RT_PRIORITY, 1), -EPERM);
}

CASE(rights_of_a_container)
{
	int status;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	need_user_namespaces();
	vmm.v.fd = vdev_open_node();
	pid = ASSERT_SYS(fork());
	if (!pid) {
		ASSERT_SYS(unshare(CLONE_NEWUSER));
		in_a_container();
		_exit(ksft_failed());
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
}

KSFT_MAIN()
