// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sets: busy polling, inline TX, how frames are received. All of a request
 * happens, or nothing.
 *
 * @hosts: newest
 * @seconds: 3
 */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

/*** requests that are refused ***/

static const struct wrong {
	const char *what;
	unsigned int type;
	size_t len;
	uint32_t value;
	int error;
} wrong[] = {
	{ "tx-inline 2", KVNET_A_POLICY_TX_INLINE, 1, 2, -ERANGE },
	{ "rx-direct 255", KVNET_A_POLICY_RX_DIRECT, 1, 255, -ERANGE },
	{ "rx-inline 2", KVNET_A_POLICY_RX_INLINE, 1, 2, -ERANGE },
	{ "shortcut 2", KVNET_A_POLICY_SHORTCUT, 1, 2, -ERANGE },
	{ "poll-us of one byte", KVNET_A_POLICY_POLL_US, 1, 1, -EINVAL },
	{ "an attribute that is none", KVNET_A_POLICY_MAX + 1, 4, 0, -EINVAL },
};

#define WRONG (sizeof(wrong) / sizeof(wrong[0]))

/* Attributes that are right, without that of one type. */
static void put_right(unsigned int but_for)
{
	if (but_for != KVNET_A_POLICY_POLL_US)
		ask_u32(&policy_request, KVNET_A_POLICY_POLL_US, 11);
	if (but_for != KVNET_A_POLICY_RX_DIRECT)
		ask_u8(&policy_request, KVNET_A_POLICY_RX_DIRECT, 0);
	if (but_for != KVNET_A_POLICY_SHORTCUT)
		ask_u8(&policy_request, KVNET_A_POLICY_SHORTCUT, 0);
}

static void nothing_has_changed(void)
{
	struct attrs p = the_policy();

	EXPECT_EQ(attr_u32(p, KVNET_A_POLICY_POLL_US), 50);
	EXPECT_EQ(attr_u32(p, KVNET_A_POLICY_RX_DIRECT), 1);
	EXPECT_EQ(attr_u32(p, KVNET_A_POLICY_SHORTCUT), 1);
}

CASE(set_with_a_wrong_attribute_changes_nothing)
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
			ask_put(&policy_request, w->type, &w->value, w->len);
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
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_POLL_US), 11);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_DIRECT), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_SHORTCUT), 0);
}

CASE(set_incomplete_refused)
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

/*** busy polling, frames ***/

CASE(poll_us_set_limits_busy_polling)
{
	struct vhost_vring_state s = { .index = VDEV_TX };

	netlink_begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 123), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_POLL_US), 123);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_MAX_NS), 123000);
	vdev_ioctl(vmm.v.fd, VHOST_GET_VRING_BUSYLOOP_TIMEOUT, &s);
	EXPECT_EQ(s.num, 123);
	flow_one(&vmm);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 0), 0);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_MAX_NS), 0);
	flow_one(&vmm);
	wait_worker_idle();
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_NS), 0);
	/* the VMM may set another value after that */
	s.num = 9;
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_POLL_US), 9);
	EXPECT_EQ(attr_u64(the_worker(1), KVNET_A_WORKER_POLL_MAX_NS), 9000);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_MAX_NS), 0);
	/* nanoseconds of more than 32 bits */
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 5000000), 0);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_MAX_NS), 5000000000);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 9), 0);
	/* a worker takes the value of its queue */
	s = (struct vhost_vring_state){ .index = VDEV_RX, .num = 4 };
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
	EXPECT_EQ(attr_u64(the_worker(0), KVNET_A_WORKER_POLL_MAX_NS), 4000);
	EXPECT_EQ(attr_u64(the_worker(1), KVNET_A_WORKER_POLL_MAX_NS), 9000);
}

/* Frames of a burst that are read by the tap's recvmsg(). */
static long recvmsg_calls(void)
{
	long before = rig_counter(&vmm, "kvnet.rx.packets_recvmsg");
	unsigned int i;

	for (i = 0; i < 40; i++)
		rig_inject(&vmm, i, 100);
	rig_rx_post(&vmm, 40, NULL);
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	for (i = 0; i < 40; i++)
		rig_rx_expect(&vmm, i, 100);
	wait_worker_idle();
	return rig_counter(&vmm, "kvnet.rx.packets_recvmsg") - before;
}

CASE(rx_direct_set_selects_the_copy)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_DIRECT, 0), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_DIRECT), 0);
	EXPECT_EQ(recvmsg_calls(), 40);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_DIRECT, 1), 0);
	EXPECT_OP(recvmsg_calls(), <, 40);
}

static uint32_t shortcut_policy(void)
{
	return attr_u32(the_policy(), KVNET_A_POLICY_SHORTCUT);
}

CASE(shortcut_is_as_the_parameter_until_set)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_parameter("shortcut", 'N');
	EXPECT_EQ(shortcut_policy(), 0);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_SHORTCUT, 1), 0);
	EXPECT_EQ(shortcut_policy(), 1);
	vdev_parameter("shortcut", 'Y');
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_SHORTCUT, 0), 0);
	EXPECT_EQ(shortcut_policy(), 0);
	/* another owner's device has no policy of its own yet */
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(vmm.v.fd);
	EXPECT_EQ(shortcut_policy(), 1);
}

/* Of n frames, those that the kicking thread has sent. */
static long sent_inline(unsigned int n)
{
	long before = rig_counter(&vmm, "kvnet.tx.polls_inline");

	while (n-- && !ksft_failed()) {
		ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
		vdev_kick_always(&vmm.v.q[VDEV_TX]);
		ASSERT(rig_tx_drain(&vmm, 3000));
		wait_worker_idle();
	}
	return rig_counter(&vmm, "kvnet.tx.polls_inline") - before;
}

CASE(tx_inline_set_selects_the_thread)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	flow_one(&vmm);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_TX_INLINE, 1), 0);
	EXPECT(WAIT_FOR(5000, sent_inline(1)));
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_TX_INLINE, 0), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_TX_INLINE), 0);
	EXPECT_EQ(sent_inline(20), 0);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_TX_INLINE, 1), 0);
	EXPECT(WAIT_FOR(5000, sent_inline(1)));
}

#define FEW	16	/* buffers, since a page is cached when it has been used once */

/* Of n frames, those that a softirq has received. */
static long received_inline(unsigned int n)
{
	long before = rig_counter(&vmm, "kvnet.rx.polls_inline");
	unsigned int i;

	for (i = 0; i < n && !ksft_failed(); i++) {
		rig_rx_post(&vmm, FEW, NULL);
		vdev_kick_always(&vmm.v.q[VDEV_RX]);
		rig_inject(&vmm, i, 100);
		rig_rx_expect(&vmm, i, 100);
		wait_worker_idle();
	}
	return rig_counter(&vmm, "kvnet.rx.polls_inline") - before;
}

CASE(rx_inline_set_selects_the_context)
{
	netlink_begin(&(struct rig_cfg){ .bufs = FEW });
	vdev_no_spin(&vmm.v);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_INLINE, 1), 0);
	EXPECT(WAIT_FOR(5000, received_inline(1)));
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_INLINE, 0), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_INLINE), 0);
	EXPECT_EQ(received_inline(20), 0);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_INLINE, 1), 0);
	EXPECT(WAIT_FOR(5000, received_inline(1)));
}

CASE(rx_inline_set_later_takes_effect)
{
	char before;

	netlink_need();
	before = vdev_parameter("rx_inline", 'N');
	netlink_begin(&(struct rig_cfg){ .bufs = FEW });
	vdev_parameter("rx_inline", before);
	vdev_no_spin(&vmm.v);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_INLINE), 0);
	EXPECT_EQ(received_inline(20), 0);
	EXPECT_EQ(policy_u8(KVNET_A_POLICY_RX_INLINE, 1), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_INLINE), 1);
	EXPECT(WAIT_FOR(5000, received_inline(1)));
}

/*** rights ***/

/* Root of a container: its own devices. */
static void in_a_container(void)
{
	rig_enter_netns();
	vdev_own(vmm.v.fd);
	genl_open(&genl);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 1), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_POLL_US), 1);
}

CASE(set_in_a_container_works)
{
	int status;
	pid_t pid;

	netlink_need();
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
