// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sees of queues and their backends: what they count, how far they are, what
 * they wait for, to which tap they belong, and how much waits there. And what an operator sets:
 * busy polling, inline TX, how frames are received. All of a request happens, or nothing.
 *
 * @hosts: 6.1 newest
 * @debug: kmsan
 * @seconds: 4
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 * @skip: .*-6\.1 | .*: PACKET_VNET_HDR_SZ .* | kernels from 6.6 on have it
 */
#include <linux/if_tun.h>
#include <net/if.h>

#include "flow.h"
#include "iommu.h"
#include "links.h"
#include "netlink_rig.h"
#include "packet_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

/* Each reason to drop a frame that fdinfo has: the counters end with these. */
static bool shows_all_drops(struct attrs q, const char *prefix)
{
	char path[64], line[256], key[64];
	unsigned int i, n = 0, shown = 0;
	struct attrs one;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", vmm.v.fd);
	snprintf(key, sizeof(key), "%s.drop_", prefix);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		n += !strncmp(line, key, strlen(key));
	fclose(f);
	for (i = 0; attr_nth(q, KVNET_A_QUEUE_COUNTERS, i, &one); i++)
		shown += !strncmp(attr_text(one, KVNET_A_COUNTER_NAME), "drop_", 5);
	return n > 4 && shown == n;
}

static void same_counters(unsigned int index, const char *prefix)
{
	struct attrs q, one;
	char name[64];
	unsigned int i;

	q = the_queue(index);
	for (i = 0; attr_nth(q, KVNET_A_QUEUE_COUNTERS, i, &one); i++) {
		snprintf(name, sizeof(name), "%s.%s", prefix,
			 attr_text(one, KVNET_A_COUNTER_NAME));
		if (attr_u64(one, KVNET_A_COUNTER_VALUE) !=
		    (uint64_t)rig_counter(&vmm, name))
			FAIL("%s: %lu, fdinfo has %ld", name,
			     (unsigned long)attr_u64(one, KVNET_A_COUNTER_VALUE),
			     rig_counter(&vmm, name));
	}
	EXPECT_OP(i, >, 20);
	EXPECT(shows_all_drops(q, prefix));
	snprintf(name, sizeof(name), "%s.kicks", prefix);
	EXPECT_EQ(attr_u64(q, KVNET_A_QUEUE_KICKS), rig_counter(&vmm, name));
	snprintf(name, sizeof(name), "%s.wakeups", prefix);
	EXPECT_EQ(attr_u64(q, KVNET_A_QUEUE_WAKEUPS), rig_counter(&vmm, name));
}

CASE(queue_shown_with_all_attributes)
{
	struct flow f = { .r = &vmm };
	struct attrs q;
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ .num = 128 });
	vdev_no_spin(&vmm.v);
	flow_exact(&f, 20, flow_lens, FLOW_LENS);
	wait_worker_idle();
	same_counters(VDEV_RX, "kvnet.rx");
	same_counters(VDEV_TX, "kvnet.tx");
	for (i = 0; i < 2; i++) {
		q = the_queue(i);
		EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_STATE), KVNET_QUEUE_STATE_RUNNING);
		EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_SIZE), 128);
		EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_ACCESS), KVNET_RING_ACCESS_PINNED);
		EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_BACKEND), KVNET_BACKEND_TAP);
		EXPECT(attr_has(q, KVNET_A_QUEUE_WORKER));
		EXPECT(!attr_has(q, KVNET_A_QUEUE_ERROR));
		EXPECT_EQ(attr_has(q, KVNET_A_QUEUE_SHORTCUT), i == VDEV_TX);
		EXPECT(!attr_has(q, KVNET_A_QUEUE_SHORTCUT_IFINDEX));
		if (!(vmm.v.features & F_PACKED))
			EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_USED),
				  vdev_get_base(&vmm.v, i) & 0xffff);
	}
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_QUEUE_GET), 2);
	rig_stop(&vmm);
	q = the_queue(VDEV_TX);
	EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_STATE), KVNET_QUEUE_STATE_STOPPED);
	EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_BACKEND), KVNET_BACKEND_NONE);
	EXPECT(!attr_has(q, KVNET_A_QUEUE_BACKLOG));
	EXPECT(!attr_has(q, KVNET_A_QUEUE_SHORTCUT));
}

static uint32_t shortcut_shown(void)
{
	return attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_SHORTCUT);
}

static bool sent_without_a_bridge(void)
{
	flow_one(&vmm);
	return shortcut_shown() == KVNET_SHORTCUT_NO_BRIDGE;
}

/* The first batch goes by the tap's sendmsg(). */
CASE(shortcut_of_a_new_backend_is_idle)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	EXPECT_EQ(shortcut_shown(), KVNET_SHORTCUT_IDLE);
	EXPECT(WAIT_FOR(3000, sent_without_a_bridge()));
	vdev_backend(&vmm.v, VDEV_TX, -1);
	vdev_backend(&vmm.v, VDEV_TX, vmm.tap);
	EXPECT_EQ(shortcut_shown(), KVNET_SHORTCUT_IDLE);
}

/* Frames for a guest without buffers: all of them, in the tap and in the device. */
CASE(backlog_without_buffers_is_shown)
{
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	for (i = 0; i < 77; i++)
		rig_inject(&vmm, i, 60);
	EXPECT(WAIT_FOR(3000, attr_u32(the_queue(VDEV_RX), KVNET_A_QUEUE_BACKLOG) == 77));
	EXPECT(!attr_has(the_queue(VDEV_TX), KVNET_A_QUEUE_BACKLOG));
	rig_rx_post(&vmm, 77, NULL);
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	for (i = 0; i < 77; i++)
		rig_rx_expect(&vmm, i, 60);
	EXPECT_EQ(attr_u32(the_queue(VDEV_RX), KVNET_A_QUEUE_BACKLOG), 0);
}

/* The difference between the numbers of hits and misses. */
static long hits_and_misses_differ(void)
{
	return labs(rig_counter(&vmm, "kvnet.tx.busy_poll_misses") -
		    rig_counter(&vmm, "kvnet.tx.busy_poll_hits"));
}

/* Hits are not misses: a worker polls once more when all is sent, and nothing comes. */
CASE(busy_polls_shown_equal_fdinfo)
{
	struct vhost_vring_state s = { .index = VDEV_TX, .num = 1000 };
	unsigned int i, round;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
	for (round = 0; round < 500 && !hits_and_misses_differ(); round++) {
		/* more than inline TX would send */
		for (i = 0; i < 10; i++)
			ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
		vdev_kick(&vmm.v.q[VDEV_TX]);
		ASSERT(rig_tx_drain(&vmm, 3000));
		wait_worker_idle();
	}
	EXPECT_GE(hits_and_misses_differ(), 1);
	same_counters(VDEV_RX, "kvnet.rx");
	same_counters(VDEV_TX, "kvnet.tx");
}

/* How far both sides of a ring are, while the device has some of its buffers. */
CASE(ring_positions_are_shown)
{
	struct vdev_queue *q = &vmm.v.q[VDEV_TX];
	uint32_t base = 7 | 3 << 16, used = 3;
	struct attrs q_shown;

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	if (q->ring.cfg.packed) {
		base |= GR_EVENT_WRAP | GR_EVENT_WRAP << 16;
		used |= GR_EVENT_WRAP;
	} else {
		((uint16_t *)q->ring.cfg.used)[1] = used;
		base = 7;
	}
	vdev_set_base(&vmm.v, VDEV_TX, base);
	rig_start(&vmm);
	q_shown = the_queue(VDEV_TX);
	EXPECT_EQ(attr_u32(q_shown, KVNET_A_QUEUE_AVAIL), base & 0xffff);
	EXPECT_EQ(attr_u32(q_shown, KVNET_A_QUEUE_USED), used);
}

/* A queue waits from its IOTLB miss to the answer. */
CASE(queue_waiting_for_the_iotlb_is_shown)
{
	struct iommu io;

	netlink_need();
	iommu_rig(&io, &vmm, &(struct rig_cfg){ .bufs = 16 }, 2);
	genl_open(&genl);
	iommu_map_used(&io);
	rig_start(&vmm);
	ASSERT_EQ(rig_tx(&vmm, 100, NULL), 0);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	ASSERT(iommu_readable(&io, 3000));
	EXPECT(WAIT_FOR(3000, attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_STATE) ==
			      KVNET_QUEUE_STATE_WAITING));
	EXPECT(WAIT_FOR(5000, (iommu_pump(&io), rig_tx_reap(&vmm) < 0 || !vmm.tx_out)));
	rig_expect(&vmm, vmm.tx_seq - 1, 100);
	EXPECT_EQ(attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_STATE), KVNET_QUEUE_STATE_RUNNING);
	iommu_close(&io);
	rig_close(&vmm);
}

/*** backends ***/

#define TAP_LEN		8

static void shown_as(int fd, int ifindex)
{
	struct attrs d;

	vdev_backend(&vmm.v, VDEV_TX, fd);
	d = the_device();
	EXPECT(attr_has(d, KVNET_A_DEV_IFINDEX));
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_IFINDEX), ifindex);
	vdev_backend(&vmm.v, VDEV_TX, -1);
}

CASE(interface_of_a_tap_queue_is_shown)
{
	struct ifreq ifr = {
		.ifr_name = "many",
		.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE,
	};
	unsigned int i;
	int fd[3];

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	for (i = 0; i < 3; i++) {
		fd[i] = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
		ASSERT_SYS(ioctl(fd[i], TUNSETIFF, &ifr));
		ASSERT_SYS(ioctl(fd[i], TUNSETVNETHDRSZ, &vmm.v.hdr_len));
	}
	ASSERT_EQ(link_up(if_nametoindex("many"), true), 0);
	for (i = 0; i < 3; i++)
		shown_as(fd[i], if_nametoindex("many"));
	/* a detached queue still belongs to the tap */
	ifr.ifr_flags = IFF_DETACH_QUEUE;
	ASSERT_SYS(ioctl(fd[1], TUNSETQUEUE, &ifr));
	shown_as(fd[1], if_nametoindex("many"));
}

static unsigned int backlog_shown(void)
{
	return attr_u32(the_queue(VDEV_RX), KVNET_A_QUEUE_BACKLOG);
}

static void inject(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		rig_inject(&vmm, i, 60);
}

/* The device has one frame, for which there is no buffer. */
static void device_has_one(void)
{
	inject(1);
	ASSERT(WAIT_FOR(3000, rig_counter(&vmm, "kvnet.rx.no_buf") > 0));
	wait_worker_idle();
	EXPECT_EQ(backlog_shown(), 1);
}

CASE(backlog_of_a_full_tap_is_shown)
{
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	ASSERT_EQ(link_queue_len(vmm.ifindex, TAP_LEN), 0);
	device_has_one();
	inject(TAP_LEN - 1);
	EXPECT_EQ(backlog_shown(), TAP_LEN);
	inject(3);
	EXPECT_EQ(backlog_shown(), 1 + TAP_LEN);
}

CASE(backlog_of_a_packet_socket_is_shown)
{
	static const struct packet_how how = { F_V1 | F_MRG, 12 };
	struct packet_rig p = { 0 };

	netlink_begin(&(struct rig_cfg){ .stopped = true, .features = how.features });
	packet_veth(&p);
	p.r = vmm;
	flow_swap(&vmm, packet_backend(&p, p.near, &how), p.far);
	packet_attach(&p, vmm.tap);
	vdev_no_spin(&vmm.v);
	device_has_one();
	inject(5);
	EXPECT(WAIT_FOR(3000, backlog_shown() == 6));
}

/*** set: requests that are refused ***/

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

/*** set: busy polling, frames ***/

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

/*** set: rights ***/

/* Root of a container: its own devices. */
static void in_a_container(void)
{
	ASSERT_SYS(unshare(CLONE_NEWUSER));
	rig_enter_netns();
	vdev_own(vmm.v.fd);
	genl_open(&genl);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_POLL_US, 1), 0);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_POLL_US), 1);
}

CASE(set_in_a_container_works)
{
	netlink_need();
	need_user_namespaces();
	vmm.v.fd = vdev_open_node();
	in_child(in_a_container);
}

KSFT_MAIN()
