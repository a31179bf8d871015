// SPDX-License-Identifier: GPL-2.0
/*
 * Allocations that fail: pages of a call, several at once; those of a ring that is mapped, and
 * of IOTLB messages; and, at random, those of the worker while packets flow.  Needs a kernel
 * with CONFIG_FAILSLAB and debugfs.  Each one of every call: fault_each_test.c.
 *
 * @hosts: 6.1
 * @again: slow
 * @seconds: 9
 * @skip: (uapi|test)-[67n].* | .*: no /sys/kernel/debug/fails.* | User-Mode Linux lets allocations fail
 */
#include "exchange.h"
#include "fault_rig.h"
#include "flow.h"
#include "inject.h"
#include "iommu.h"
#include "pin_rig.h"
#include "procfs.h"

static struct rig rig;

/* A file's first call creates the device. */
static int do_first_call(void)
{
	struct vhost_msg_v2 msg;

	ASSERT_SYS(fcntl(rig.v.fd, F_SETFL, O_NONBLOCK));
	return read(rig.v.fd, &msg, sizeof(msg)) < 0 && errno == EAGAIN ? 0 : -errno;
}

static int do_owner(void)
{
	return __vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
}

#define PAGE_FAULTS	"/sys/kernel/debug/fail_page_alloc/"

static void page_faults(const char *knob, unsigned int value)
{
	char path[64], text[16];

	snprintf(path, sizeof(path), PAGE_FAULTS "%s", knob);
	snprintf(text, sizeof(text), "%u", value);
	ASSERT(inject_put(path, text));
}

/* Of the page allocations of this thread, n fail after the first ones. */
static void fail_pages(int self, unsigned int first, unsigned int n)
{
	page_faults("space", first);
	page_faults("times", n);
	page_faults("probability", 100);
	ASSERT_EQ(pwrite(self, "1", 1, 0), 1);
}

/* Ends that. Returns how many failures are left. */
static unsigned int stop_failing(int self)
{
	char left[16] = "";
	int fd;

	ASSERT_EQ(pwrite(self, "0", 1, 0), 1);
	fd = ASSERT_SYS(open(PAGE_FAULTS "times", O_RDONLY));
	ASSERT(read(fd, left, sizeof(left) - 1) > 0);
	close(fd);
	page_faults("space", 0);
	inject_knobs("0");
	return atoi(left);
}

/* The error is a clean one, and the device works afterwards. */
static void works_all_the_same(int (*step)(void), int ret, unsigned int n)
{
	if (ret && !inject_clean(ret))
		FAIL("allocation %u: %s", n, strerror(-ret));
	if (ret || step != do_owner)
		vdev_own(rig.v.fd);
	rig_set_up_again(&rig);
	rig_start(&rig);
	flow_one(&rig);
}

/* A new device, as it is before the step. */
static void another_device(void)
{
	close(rig.v.fd);
	rig.v.fd = vdev_open_node();
}

/* Did one of them fail? */
static bool without_pages(int self, int (*step)(void), unsigned int first, unsigned int n)
{
	unsigned int left;
	int ret;

	another_device();
	fail_pages(self, first, n);
	ret = step();
	left = stop_failing(self);
	works_all_the_same(step, ret, n);
	return left < n;
}

static void each_without_pages(int self, int (*step)(void), unsigned int times)
{
	bool hit = true;
	unsigned int n;

	for (n = 0; hit && n < 300 && !ksft_failed(); n++)
		hit = without_pages(self, step, n, times);
	EXPECT(!hit);
	ksft_note("%u times after one of %u pages", times, n - 1);
}

/*
 * A call with a fallback fails only if that fails, too: kvmalloc() falls back to single pages,
 * which it allocates in bulk and then each by itself.
 */
static void without_several(int (*step)(void))
{
	unsigned int n;
	int self;

	inject_knobs("0");
	self = ASSERT_SYS(open("/proc/thread-self/make-it-fail", O_WRONLY | O_CLOEXEC));
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	for (n = 4; n <= 12 && !ksft_failed(); n++)
		without_pages(self, step, 0, n);
	each_without_pages(self, step, 2);
	each_without_pages(self, step, 3);
	close(self);
	rig_close(&rig);
	no_leak_found();
}

CASE_ROW_TIMED(first_call_without_pages_fails_cleanly, 60, without_several(do_first_call))
CASE_ROW_TIMED(set_owner_without_pages_fails_cleanly, 60, without_several(do_owner))

/* A ring of several pages, within its first one: without memory to map it, it is not mapped. */
CASE_TIMED(ring_without_memory_is_not_mapped, 60)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	struct vhost_vring_addr a;
	struct injector in;
	unsigned int n;
	bool hit = true;
	int ret;

	inject_knobs("0");
	injector_open(&in, gettid(), false);
	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .num = 1024, .bufs = 16 });
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	/* empty memory of its own */
	a.avail_user_addr = (uintptr_t)rig.v.ring_host + VDEV_RING_ZONE / 2 + 4096 - 1024;
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	for (n = 1; hit && n < 300 && !ksft_failed(); n++) {
		injector_nth(&in, n);
		ret = __vdev_backend(&rig.v, VDEV_TX, rig.tap);
		hit = injector_hit(&in);
		injector_nth(&in, 0);
		if (ret && !(hit && inject_clean(ret)))
			FAIL("allocation %u: %s", n, strerror(-ret));
		if (!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"))
			EXPECT_EQ(pinned_kb(), 0);
		vdev_kick_always(q);
		wait_worker_idle();
		EXPECT_EQ(vdev_eventfd_take(q->err), 0);
		vdev_backend(&rig.v, VDEV_TX, -1);
		EXPECT_EQ(pinned_kb(), 0);
	}
	EXPECT_OP(n, >, 4);
	injector_close(&in);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	flow_one(&rig);
	rig_close(&rig);
	no_leak_found();
}

/* Behind an IOMMU each of the VMM's messages is taken, or refused with an error. */
static void send_translations(struct iommu *io, const struct injector *in)
{
	uint64_t far = 1ull << 40;
	unsigned int n;
	bool hit = true;
	int ret;

	for (n = 1; hit && n < 300 && !ksft_failed(); n++) {
		injector_nth(in, n);
		ret = iommu_send(io, VHOST_IOTLB_UPDATE, far + n * 8192, 4096,
				 (uintptr_t)rig.v.host, IOMMU_RW);
		hit = injector_hit(in);
		injector_nth(in, 0);
		if (!ret == hit)
			FAIL("update, allocation %u: %s", n, strerror(-ret));
	}
	EXPECT_OP(n, >, 2);
}

CASE_TIMED(iommu_without_memory_fails_cleanly, 60)
{
	uint64_t v2 = BIT64(VHOST_BACKEND_F_IOTLB_MSG_V2);
	struct exchange x = { .r = &rig, .burst = 4 };
	static struct iommu io;
	struct injector in;
	unsigned int n, i;
	bool hit = true;
	int ret;

	inject_knobs("0");
	injector_open(&in, gettid(), false);
	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	for (n = 1; hit && n < 300 && !ksft_failed(); n++) {
		vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
		vdev_own(rig.v.fd);
		vdev_ioctl(rig.v.fd, VHOST_SET_BACKEND_FEATURES, &v2);
		injector_nth(&in, n);
		ret = __vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &rig.v.features);
		hit = injector_hit(&in);
		injector_nth(&in, 0);
		if (ret && !(hit && inject_clean(ret)))
			FAIL("allocation %u: %s", n, strerror(-ret));
		if (ret)
			continue;
		vdev_set_mem(&rig.v);
		for (i = 0; i < 2; i++)
			vdev_queue_reset(&rig.v, i);
		rig.tx_out = 0;
		iommu_map_used(&io);
		rig_start(&rig);
		iommu_serve(&io);
		exchange_tx(&x);
		exchange_rx(&x);
		iommu_serve_end(&io);
		rig_stop(&rig);
	}
	EXPECT_OP(n, >, 4);
	send_translations(&io, &in);
	injector_close(&in);
	iommu_close(&io);
	rig_close(&rig);
	no_leak_found();
}

/* Allocations of this process's workers fail, as inject_knobs() says. */
static void mark_workers(const char *value)
{
	struct worker w[2];
	unsigned int i;
	char path[64];

	ASSERT_EQ(list_workers(getpid(), w, DEVICE_WORKERS), DEVICE_WORKERS);
	for (i = 0; i < DEVICE_WORKERS; i++) {
		snprintf(path, sizeof(path), "/proc/%d/task/%d/make-it-fail", w[i].pid, w[i].tid);
		ASSERT(inject_put(path, value));
	}
}

CASE_TIMED(worker_without_memory_recovers, 60)
{
	unsigned int round, i, back = 0, lost = 0;
	struct vdev_queue *tx = &rig.v.q[VDEV_TX];
	uint32_t seq = 100, last = 0;
	static uint8_t f[70000];
	ssize_t n;

	inject_knobs("0");
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 66000, .bufs = 64,
					  .rx_buf = 2048 });
	fault_touch_memory(&rig.v);
	flow_one(&rig);
	last = rig.tx_seq - 1;
	mark_workers("1");
	inject_knobs("20");
	for (round = 0; round < ksft_rounds(50) && !ksft_failed(); round++) {
		rig_rx_post(&rig, 64, NULL);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		for (i = 0; i < 16; i++) {
			rig_tx(&rig, FRAME_MIN + ksft_below(i % 4 ? 1400 :
							    60000), NULL);
			rig_inject(&rig, seq++, 500);
		}
		vdev_kick_always(tx);
		/* lost is allowed; wrong, twice or stuck is not */
		WAIT_FOR(200, rig_tx_reap(&rig) < 0 || !rig.tx_out);
		while ((n = rig_sniff(&rig, f, sizeof(f), 0)) >= 0) {
			if (frame_seq(f) <= last)
				FAIL("frame %u after %u", frame_seq(f), last);
			lost += frame_seq(f) - last - 1;
			last = frame_seq(f);
			frame_check(f, n, last, n);
		}
		while ((n = rig_rx(&rig, NULL, f, sizeof(f), 1)) >= 0) {
			frame_check(f, n, frame_seq(f), 500);
			back++;
		}
	}
	inject_knobs("0");
	ksft_note("%u frames lost on the way out, %u of %u came in", lost, back,
		  seq - 100);
	vdev_kick_always(tx);
	rig_tx_drain(&rig, 3000);
	wait_worker_idle();
	while (rig_sniff(&rig, f, sizeof(f), 0) >= 0)
		;
	while (rig_rx(&rig, NULL, f, sizeof(f), 0) >= 0)
		;
	flow_one(&rig);
	rig_close(&rig);
	no_leak_found();
}

/*
 * Without the worker's chunks, which are longer, each frame gets pages of its own. None has some
 * 4000 bytes: for these tun allocates a head of 8 KiB, with vhost_net as well.
 */
CASE_TIMED(frames_without_high_order_pages_reach_the_host, 60)
{
	static const uint32_t len[] = { 60, 1514, 9014, 20000, 31000, 60000 };
	static uint8_t f[70000];
	unsigned int i, k;
	uint32_t seq;
	long left;

	vdev_parameter("tx_inline", 'N');
	inject_knobs("0");
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 65600, .bufs = 16 });
	fault_touch_memory(&rig.v);
	mark_workers("1");
	left = inject_high_order();
	for (i = 0; i < sizeof(len) / sizeof(*len) && !ksft_failed(); i++) {
		seq = rig.tx_seq;
		for (k = 0; k < 16; k++)
			rig_tx(&rig, len[i], NULL);
		vdev_kick(&rig.v.q[VDEV_TX]);
		for (k = 0; k < 16 && !ksft_failed(); k++) {
			EXPECT_EQ(rig_sniff(&rig, f, sizeof(f), 3000), len[i]);
			frame_check(f, len[i], seq + k, len[i]);
		}
		rig_tx_drain(&rig, 3000);
	}
	left -= inject_high_order();
	ksft_note("%ld allocations failed", left);
	EXPECT(left > 0);
	inject_knobs("0");
	rig_close(&rig);
	no_leak_found();
}

/* The frame stays in the ring. */
CASE_TIMED(frame_without_pages_is_sent_when_there_are_some, 60)
{
	static uint8_t f[2048];
	uint32_t seq;

	vdev_parameter("tx_inline", 'N');
	inject_knobs("0");
	rig_open(&rig, &(struct rig_cfg){ .bufs = 16 });
	fault_touch_memory(&rig.v);
	mark_workers("1");
	seq = rig.tx_seq;
	ASSERT_EQ(rig_tx(&rig, 500, NULL), 0);
	inject_knobs("100");
	vdev_kick(&rig.v.q[VDEV_TX]);
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.tx.sndbuf_full") > 10));
	EXPECT_OP(rig_sniff(&rig, f, sizeof(f), 0), <, 0);
	inject_knobs("0");
	EXPECT_EQ(rig_sniff(&rig, f, sizeof(f), 3000), 500);
	frame_check(f, 500, seq, 500);
	rig_tx_drain(&rig, 3000);
	EXPECT_EQ(rig_counter(&rig, "kvnet.tx.drop_fault"), 0);
	rig_close(&rig);
	no_leak_found();
}

KSFT_MAIN()
