// SPDX-License-Identifier: GPL-2.0
/*
 * Each call of the module that can fail fails in turn, as in fault_each_test: with IOTLB messages,
 * with a packet socket, for a frame that is sent again, for kernel threads, without an owner, and
 * in notifications. Then all that failing/kvnet_failing.c can make fail has failed, here or in the
 * tests before this one.
 *
 * @tier: all
 * @module: failing
 * @skip: .* | .*: no freezer of version 1.* | not every kernel is built with it
 * @skip: (uapi|test)-[67n].* | .*: no /sys/kernel/debug/fails.* | User-Mode Linux lets allocations fail
 * @skip: (uapi|test)-.* | .*: a module whose calls .* | uapi-uml-failing has one whose calls do
 */
#include "fault_rig.h"
#include "flow.h"
#include "inject.h"
#include "iommu.h"
#include "netlink_rig.h"
#include "packet_rig.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vdev.h"

static struct rig rig;
static struct iommu io;

/* A message that cannot be copied is invalid, as with vhost. */
static bool clean(int ret, bool hit)
{
	return !ret || (hit && (inject_clean(ret) || ret == -EINVAL));
}

/* Maps or unmaps a page that no queue uses. */
static bool write_message(struct injector *in, unsigned int n, uint8_t type)
{
	bool hit;
	int ret;

	injector_nth(in, n);
	ret = iommu_send(&io, type, 1ull << 40, IOMMU_PAGE, (uintptr_t)rig.v.host, IOMMU_RW);
	hit = injector_end(in, ret);
	if (!clean(ret, hit))
		FAIL("message %u, failure %u: %s", type, n, strerror(-ret));
	return hit;
}

static struct vhost_msg_v2 miss;

/* A miss that could not be copied is read again. */
static bool read_miss(struct injector *in, unsigned int n, uint8_t type)
{
	ssize_t got;
	bool hit;

	ASSERT(iommu_readable(&io, 3000));
	injector_nth(in, n);
	got = read(rig.v.fd, &miss, sizeof(miss));
	hit = injector_hit(in);
	injector_nth(in, 0);
	if (hit && !(got < 0 && errno == EFAULT))
		FAIL("failure %u: %zd", n, got);
	if (!hit)
		EXPECT_EQ(miss.iotlb.type, type);
	return hit;
}

static void until_none(struct injector *in, uint8_t type,
		       bool (*once)(struct injector *in, unsigned int n, uint8_t type))
{
	unsigned int n;

	UNTIL_NONE_FAILS(in, n, once(in, n, type));
}

/* The worker finds a frame, and the used ring is not mapped. */
static void ask_for_a_page(void)
{
	iommu_unmap_all(&io, 0);
	rig_tx(&rig, 100, NULL);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
}

CASE_TIMED(iotlb_messages_fail_cleanly, 60)
{
	struct injector in;

	if (vdev_is_vhost())
		ksft_skip("some of these calls are kvnet's alone");
	inject_knobs("0");
	iommu_rig(&io, &rig, &(struct rig_cfg){ .num = 64 }, 2);
	iommu_map_used(&io);
	rig_start(&rig);
	FOR_EACH_INJECTOR(&in, gettid()) {
		until_none(&in, VHOST_IOTLB_UPDATE, write_message);
		until_none(&in, VHOST_IOTLB_INVALIDATE, write_message);
		ask_for_a_page();
		until_none(&in, VHOST_IOTLB_MISS, read_miss);
	}
	EXPECT_OP(fault_injected, >, 3);
	iommu_close(&io);
	rig_close(&rig);
	no_leak_found();
}

CASE_TIMED(packet_socket_frames_fail_cleanly, 60)
{
	static const struct packet_how how = { F_V1 | F_MRG, 12 };
	struct packet_rig p;
	struct worker w;

	fault_begin(&(struct rig_cfg){ .num = 64, .bufs = 32, .features = how.features });
	packet_veth(&p);
	p.r = vmm;
	flow_swap(&vmm, packet_backend(&p, p.near, &how), p.far);
	fault_carries_packets();
	fault_touch_memory(&vmm.v);
	vdev_no_spin(&vmm.v);
	ASSERT_EQ(workers_of(getpid(), &w), DEVICE_WORKERS);
	fault_on_the_way(w.tid, &(struct fault_load){ 24, 1000 });
	EXPECT_OP(fault_injected, >, 2);
	fault_end();
}

/* Sent, or dropped where a user copy failed. */
static long frames_done(void)
{
	return rig_counter(&vmm, "kvnet.tx.packets") + rig_counter(&vmm, "kvnet.tx.drop_fault") +
	       rig_counter(&vmm, "kvnet.tx.broken");
}

/* The worker sends one frame while the n-th allocation fails: the frame stays in the ring. */
static bool send_with_failure(struct injector *in, unsigned int n, uint32_t len)
{
	long before = frames_done();
	bool hit;

	ASSERT_EQ(rig_tx(&vmm, len, NULL), 0);
	wait_worker_idle();
	injector_nth(in, n);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	EXPECT(WAIT_FOR(3000, frames_done() > before));
	hit = injector_hit(in);
	injector_nth(in, 0);
	EXPECT_EQ(rig_counter(&vmm, "kvnet.tx.drop_tap"), 0);
	fault_carries_packets();
	return hit;
}

static void send_without_memory(unsigned int tap, uint32_t len)
{
	struct injector in;
	unsigned int n;

	fault_begin(&(struct rig_cfg){ .num = 64, .bufs = 8, .tx_buf = 66000, .tap = tap });
	fault_by_worker(true);
	fault_touch_memory(&vmm.v);
	injector_open(&in, worker_tid(1), false);
	UNTIL_NONE_FAILS(&in, n, send_with_failure(&in, n, len));
	ksft_note("%u bytes: %u failures", len, n - 1);
	injector_close(&in);
	fault_end();
}

CASE_TIMED(tx_frame_without_memory_is_sent_again, 60)
{
	send_without_memory(TAP_SNDBUF, 1000);
	send_without_memory(0, 20000);
	send_without_memory(0, 100);
	EXPECT_OP(fault_injected, >, 2);
}

static int set_owner(void)
{
	int ret = vdev_set_kind(vmm.v.fd);

	return ret ? ret : __vdev_ioctl(vmm.v.fd, VHOST_SET_OWNER, NULL);
}

static int another_owner(void)
{
	int ret = __vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);

	return ret ? ret : set_owner();
}

/* What the kernel thread does when it starts is part of the step. */
CASE_TIMED(set_owner_with_kthread_fails_cleanly, 60)
{
	static const struct fault_step owner = { "another owner", another_owner };

	choose_worker("kthread");
	fault_begin(&(struct rig_cfg){ .num = 64, .bufs = 32 });
	fault_each(&owner);
	ASSERT_SYS(unsetenv("KVNET_WORKER"));
	fault_end();
}

/* A device that gets no owner is closed; the next owner gets its number, and is not closed. */
static bool closed_without_owner(struct injector *in, unsigned int n)
{
	int fd = vdev_open_node(), ret;
	bool hit;

	ASSERT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL), 0);
	injector_nth(in, n);
	ret = __vdev_ioctl(fd, VHOST_SET_OWNER, NULL);
	hit = injector_end(in, ret);
	if (ret && !(hit && inject_clean(ret)))
		FAIL("failure %u: %s", n, strerror(-ret));
	if (!ret)
		ASSERT_EQ(__vdev_ioctl(fd, VHOST_RESET_OWNER, NULL), 0);
	fault_set_up_again();
	close(fd);
	EXPECT_EQ(the_id(), fault_device);
	return hit;
}

CASE_TIMED(set_owner_refused_closes_cleanly, 60)
{
	struct injector in;
	unsigned int n;

	fault_begin(&(struct rig_cfg){ .num = 64, .bufs = 32 });
	FOR_EACH_INJECTOR(&in, gettid())
		UNTIL_NONE_FAILS(&in, n, closed_without_owner(&in, n));
	EXPECT_OP(fault_injected, >, 5);
	fault_end();
}

/* Is there a notification, or the report that one is lost? */
static bool something_is_reported(const struct genl *g)
{
	static uint8_t buf[8 << 10];
	bool any = false;

	while (recv(g->fd, buf, sizeof(buf), MSG_DONTWAIT) >= 0 || errno == ENOBUFS)
		any = true;
	return any;
}

static bool start_is_reported(struct injector *in, unsigned int n, const struct genl *g)
{
	bool hit;
	int ret;

	fault_set_up_again();
	ASSERT_EQ(__vdev_backend(&vmm.v, VDEV_TX, -1), 0);
	something_is_reported(g);
	injector_nth(in, n);
	ret = __vdev_backend(&vmm.v, VDEV_TX, vmm.tap);
	hit = injector_end(in, ret);
	if (!something_is_reported(g) && !ret)
		FAIL("failure %u: nothing is reported of a queue that was started", n);
	return hit;
}

/* A listener that lost a notification gets ENOBUFS. */
CASE_TIMED(notification_lost_is_reported, 60)
{
	struct injector in;
	struct genl g;
	unsigned int n;

	fault_begin(&(struct rig_cfg){ .num = 64, .bufs = 32 });
	genl_open(&g);
	ASSERT_EQ(genl_join(&g), 0);
	FOR_EACH_INJECTOR(&in, gettid())
		UNTIL_NONE_FAILS(&in, n, start_is_reported(&in, n, &g));
	EXPECT_OP(fault_injected, >, 2);
	genl_close(&g);
	fault_end();
}

/* Since the module was loaded. */
CASE(each_call_that_can_fail_has_failed)
{
	FILE *f = fopen("/sys/module/kvnet/parameters/failed", "r");
	unsigned int n = 0, times;
	char name[64];

	if (!f)
		ksft_skip("a module whose calls do not fail");
	for (; fscanf(f, "%63s %u", name, &times) == 2; n++) {
		ksft_note("%s: %u", name, times);
		if (!times)
			FAIL("%s has not failed once", name);
	}
	fclose(f);
	EXPECT_OP(n, >, 15);
}

KSFT_MAIN()
