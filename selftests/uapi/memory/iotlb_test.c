// SPDX-License-Identifier: GPL-2.0
/*
 * The device IOTLB's messages: read, write and poll them, what becomes of a pending miss when
 * backends and features change, and which messages are refused.
 *
 * @hosts: 6.1 newest
 * @debug: kmsan
 * @seconds: 3
 */
#include "exchange.h"
#include "iommu.h"
#include "pin_rig.h"
#include "procfs.h"

#ifndef EBADFD
#define EBADFD 77
#endif

/* bytes beside the rings */
#define ELSEWHERE	(256 << 10)

static struct rig rig;
static struct iommu io;

/* The worker may poll, and miss, as soon as the device has a backend. */
static void ready_but_stopped(int version)
{
	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, version);
	iommu_map_used(&io);
}

static void ready(int version)
{
	ready_but_stopped(version);
	rig_start(&rig);
}

static void finish(void)
{
	iommu_close(&io);
	rig_close(&rig);
}

/* A frame out, all misses on its way answered. */
static void frame_passes(void)
{
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	if (!WAIT_FOR(5000, (iommu_pump(&io), rig_tx_reap(&rig) < 0 ||
			     !rig.tx_out)))
		FAIL("TX: %u buffers are not given back", rig.tx_out);
	rig_expect(&rig, rig.tx_seq - 1, 100);
}

static void one_frame(void)
{
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
}

static void set_blocking(bool on)
{
	ASSERT_SYS(fcntl(rig.v.fd, F_SETFL, on ? 0 : O_NONBLOCK));
}

CASE(messages_without_access_platform_refused)
{
	uint8_t buf[256];

	rig_open(&rig, &(struct rig_cfg){ .bufs = 16 });
	if (!(rig.v.offered & F_PLATFORM))
		ksft_skip("no VIRTIO_F_ACCESS_PLATFORM");
	iommu_open(&io, &rig.v, 2);
	EXPECT(!iommu_readable(&io, 0));
	EXPECT_EQ(read(rig.v.fd, buf, sizeof(struct vhost_msg) - 1), 0);
	EXPECT(read(rig.v.fd, buf, sizeof(buf)) == -1 && errno == EAGAIN);
	set_blocking(true);
	EXPECT(read(rig.v.fd, buf, sizeof(buf)) == -1 && errno == EBADFD);
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, 0, 4096,
			     (uintptr_t)rig.v.host, IOMMU_RW), -EFAULT);
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_INVALIDATE, 0, 4096, 0, 0),
		  -EFAULT);
}

/* A miss that could not be read is retried, as one without an answer; vhost_net drops it. */
static void read_into_nowhere(void)
{
	uint8_t *nowhere = rig.v.host + rig.v.host_span - 4096;

	if (vdev_is_vhost())
		return;
	while (iommu_readable(&io, 0))
		EXPECT(read(rig.v.fd, nowhere, 256) == -1 && errno == EFAULT);
	EXPECT(iommu_readable(&io, 5000));
}

CASE(miss_answered_lets_the_frame_pass)
{
	struct vhost_iotlb_msg m;
	uint8_t buf[256];
	int version;

	for (version = 1; version <= 2 && !ksft_failed(); version++) {
		ready_but_stopped(version);
		EXPECT(!iommu_readable(&io, 0));
		EXPECT(!iommu_read(&io, &m));
		rig_start(&rig);
		one_frame();
		ASSERT(iommu_readable(&io, 3000));
		/* too small a buffer takes nothing away */
		EXPECT_EQ(read(rig.v.fd, buf, sizeof(struct vhost_msg) - 1), 0);
		EXPECT_EQ(read(rig.v.fd, buf, 0), 0);
		EXPECT(iommu_readable(&io, 0));
		read_into_nowhere();
		ASSERT(iommu_read(&io, &m));
		EXPECT(m.iova - iommu_iova(&io, 0) < rig.v.mem_size);
		iommu_answer(&io, &m);
		frame_passes();
		finish();
	}
}

/* The VMM maps what it has not been asked for yet. */
CASE(miss_answered_unread_lets_the_frame_pass)
{
	const struct gr_cfg *c = &rig.v.q[VDEV_TX].ring.cfg;

	ready(2);
	one_frame();
	ASSERT(iommu_readable(&io, 3000));
	iommu_map_area(&io, c->desc, gr_desc_bytes(c),
		       c->packed ? IOMMU_RW : IOMMU_RO);
	iommu_map_area(&io, c->avail, gr_avail_bytes(c), IOMMU_RO);
	iommu_map_area(&io, rig.v.q[VDEV_TX].bufs, 4096, IOMMU_RO);
	frame_passes();
}

/* Unanswered, a miss is reported once in a second, however often the guest kicks. */
CASE(miss_unanswered_not_repeated_within_a_second)
{
	unsigned int i, j, n = 0, again = 0, kicks = ksft_rounds(10000);
	struct vhost_iotlb_msg m, first[16];
	uint64_t at[16], now;

	ready(2);
	one_frame();
	ASSERT(iommu_readable(&io, 3000));
	for (i = 0; i < kicks; i++) {
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		if (i < kicks / 2)	/* the VMM does not even read */
			continue;
		while (now = ksft_now_ms(), iommu_read(&io, &m)) {
			for (j = 0; j < n && first[j].iova != m.iova; j++)
				;
			if (j == 16) {
				FAIL("so many different places");
				continue;
			}
			if (j == n)
				first[n++] = m;
			else if (ksft_now_ms() - at[j] < 900)
				again++;
			at[j] = now;
		}
	}
	if (vdev_is_vhost())	/* up to 7.2, one for each kick */
		ksft_note("%u misses reported %u times", n, n + again);
	else
		EXPECT_EQ(again, 0);
	for (i = 0; i < n; i++)
		iommu_answer(&io, &first[i]);
	frame_passes();
}

/* A miss, whether the VMM has read it or not, is queued again only after a stop and a start. */
CASE(miss_pending_withdrawn_by_a_stop)
{
	struct vhost_iotlb_msg m;
	int taken;

	for (taken = 0; taken < 2 && !ksft_failed(); taken++) {
		ready(2);
		one_frame();
		ASSERT(iommu_readable(&io, 3000));
		if (taken)
			ASSERT(iommu_read(&io, &m));
		rig_stop(&rig);
		EXPECT(!iommu_readable(&io, 0));
		EXPECT(!iommu_read(&io, &m));
		rig_start(&rig);
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		ASSERT(iommu_readable(&io, 3000));
		frame_passes();
		finish();
	}
}

/* Up to 6.1, vhost keeps its IOTLB when ACCESS_PLATFORM is cleared. */
static bool keeps_iotlb(void)
{
	uint64_t on = rig.v.features, off = on & ~F_PLATFORM;
	bool kept;

	if (!vdev_is_vhost())
		return false;
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &off);
	kept = !iommu_send(&io, VHOST_IOTLB_INVALIDATE, 0, 4096, 0, 0);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &on);
	return kept;
}

static void restart_with(uint64_t features)
{
	rig_stop(&rig);
	vdev_set_features(&rig.v, features);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig.tx_out = 0;
	if (features & F_PLATFORM)
		iommu_map_used(&io);
	rig_start(&rig);
}

CASE(access_platform_off_and_on_empties_the_iotlb)
{
	struct exchange x = { .r = &rig, .burst = 8 };
	struct vhost_iotlb_msg m;
	uint64_t features;
	unsigned int i;

	ready_but_stopped(2);
	if (keeps_iotlb())
		ksft_skip("this vhost_net keeps its IOTLB");
	features = rig.v.features;
	restart_with(features);
	for (i = 0; i < ksft_rounds(10) && !ksft_failed(); i++) {
		iommu_serve(&io);
		exchange_tx(&x);
		exchange_rx(&x);
		iommu_serve_end(&io);
		one_frame();	/* on its way, or waiting for a translation */

		restart_with(features & ~F_PLATFORM);
		EXPECT(!iommu_read(&io, &m));
		EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, 0, 4096,
				     (uintptr_t)rig.v.host, IOMMU_RW), -EFAULT);
		while (rig_sniff(&rig, (uint8_t *)&m, sizeof(m), 0) >= 0)
			;
		exchange_tx(&x);
		exchange_rx(&x);

		/* no old translation is left: all are missed */
		iommu_drop_all(&io);
		io.misses = 0;
		restart_with(features);
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
		frame_passes();
		EXPECT(io.misses);
		iommu_check_graves(&io);
	}
}

/* As a VMM that starts a device again: earlier translations are dropped. */
CASE(access_platform_set_again_empties_the_iotlb)
{
	ready(2);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	frame_passes();
	/* the worker writes to the used ring behind the frame, too */
	rig_stop(&rig);
	iommu_drop_all(&io);
	io.misses = 0;
	restart_with(rig.v.features);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	frame_passes();
	EXPECT(io.misses);
	iommu_check_graves(&io);
	finish();
}

/* A miss that is pending then is queued again. */
CASE(access_platform_set_again_repeats_the_miss)
{
	struct vhost_iotlb_msg m;

	ready(2);
	one_frame();
	ASSERT(iommu_readable(&io, 3000));
	while (iommu_readable(&io, 200))
		ASSERT(iommu_read(&io, &m));
	iommu_call_wakes(&io, VHOST_SET_FEATURES, &rig.v.features);
	EXPECT(iommu_readable(&io, 3000));
	frame_passes();
	finish();
}

/* Without removing the backends first; QEMU removes them, other VMMs might not. */
CASE(access_platform_toggled_under_traffic_recovers)
{
	uint64_t on, off;
	unsigned int i;

	ready(2);
	on = rig.v.features;
	off = on & ~F_PLATFORM;
	iommu_serve(&io);
	for (i = 0; i < ksft_rounds(200); i++) {
		iommu_set_features(&io, i % 2 ? on : off);
		if (rig_tx(&rig, 100, NULL) == 0)
			vdev_kick_always(&rig.v.q[VDEV_TX]);
		rig_inject(&rig, i, 100);
		iommu_send(&io, VHOST_IOTLB_UPDATE, iommu_iova(&io, i), 4096,
			   (uintptr_t)rig.v.host, IOMMU_RW);
	}
	iommu_serve_end(&io);
	iommu_set_features(&io, on);
	iommu_drop_all(&io);
	restart_with(on);
	while (rig_sniff(&rig, rig.v.mem + rig.v.mem_size - 256, 256, 0) >= 0)
		;
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	frame_passes();
	iommu_check_graves(&io);
}

/*
 * The queue waits for the translation of a ring. The VMM clears ACCESS_PLATFORM and sets the
 * ring's user addresses: the queue goes on without a kick.
 */
CASE(access_platform_off_resumes_a_waiting_queue)
{
	struct vhost_vring_addr a;
	struct vhost_iotlb_msg m;
	uint64_t off;

	if (vdev_is_vhost())
		ksft_skip("vhost_net waits for a kick");
	ready_but_stopped(2);
	off = rig.v.features & ~F_PLATFORM;
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	a.desc_user_addr += 1ull << 40;
	a.avail_user_addr += 1ull << 40;
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	rig.v.features = off;	/* the driver's addresses are without one, too */
	one_frame();
	ASSERT(iommu_readable(&io, 3000));
	ASSERT(iommu_read(&io, &m));
	EXPECT_GE(m.iova, 1ull << 40);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &off);
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	rig_expect(&rig, rig.tx_seq - 1, 100);
	EXPECT(rig_tx_drain(&rig, 3000));
	/* once more, while the queue does not wait */
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &off);
	one_frame();
	rig_expect(&rig, rig.tx_seq - 1, 100);
	rig_stop(&rig);
	finish();
}

/* The rings' IOVAs are the owner's user addresses of other memory, too. */
static void map_rings_at(uint8_t *at, struct vhost_vring_addr *a)
{
	const struct gr_cfg *c = &rig.v.q[VDEV_TX].ring.cfg;

	vdev_queue_addr(&rig.v, VDEV_TX, a);
	a->desc_user_addr = (uintptr_t)at;
	a->avail_user_addr = (uintptr_t)at + ELSEWHERE / 4;
	a->used_user_addr = (uintptr_t)at + ELSEWHERE / 2;
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, a->desc_user_addr, gr_desc_bytes(c),
			     (uintptr_t)c->desc, IOMMU_RW), 0);
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, a->avail_user_addr, gr_avail_bytes(c),
			     (uintptr_t)c->avail, IOMMU_RO), 0);
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, a->used_user_addr, gr_used_bytes(c),
			     (uintptr_t)c->used, IOMMU_RW), 0);
}

static bool waits(void)
{
	return !strncmp(ring_is(&rig, "kvnet.tx.state"), "waiting", 7);
}

/*
 * CVE-2026-97988. Ring addresses that were set as IOVAs are no user addresses when
 * ACCESS_PLATFORM is cleared: the queue waits until the owner sets others.
 */
CASE(ring_by_iova_without_the_iotlb_not_used)
{
	uint8_t *other = mmap(NULL, ELSEWHERE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vhost_vring_addr a;
	uint64_t off;

	if (vdev_is_vhost())
		ksft_skip("of vhost_net only newer ones drop them");
	ready_but_stopped(2);
	off = rig.v.features & ~F_PLATFORM;
	map_rings_at(other, &a);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	frame_passes();
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &off);
	one_frame();
	EXPECT(WAIT_FOR(3000, waits()));
	wait_worker_idle();
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	ksft_all_bytes("memory that is no ring", other, 0, ELSEWHERE);
	/* nor are they when it is set and cleared once more */
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &rig.v.features);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &off);
	EXPECT(waits());
	rig_stop(&rig);
	iommu_close(&io);
	rig.v.features = off;
	rig.tx_out = 0;
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	rig_expect(&rig, rig.tx_seq - 1, 100);
	ksft_all_bytes("memory that is no ring", other, 0, ELSEWHERE);
	rig_close(&rig);
}

/*
 * The queue waits for a ring that has no translation, and the VMM sets another one: the queue
 * goes on without a kick.
 */
CASE(ring_moved_resumes_a_waiting_queue)
{
	const struct gr_cfg *c = &rig.v.q[VDEV_TX].ring.cfg;
	struct vhost_vring_addr a, far;
	struct vhost_iotlb_msg m;

	if (vdev_is_vhost())
		ksft_skip("vhost_net waits for a kick");
	ready_but_stopped(2);
	iommu_map_area(&io, c->desc, gr_desc_bytes(c), c->packed ? IOMMU_RW : IOMMU_RO);
	iommu_map_area(&io, c->avail, gr_avail_bytes(c), IOMMU_RO);
	iommu_map_area(&io, rig.v.q[VDEV_TX].bufs, 4096, IOMMU_RO);
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	far = a;
	far.desc_user_addr += 1ull << 40;
	far.avail_user_addr += 1ull << 40;
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &far);
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	one_frame();
	ASSERT(iommu_readable(&io, 3000));
	iommu_call_wakes(&io, VHOST_SET_VRING_ADDR, &a);
	rig_expect(&rig, rig.tx_seq - 1, 100);
	EXPECT(rig_tx_drain(&rig, 3000));
	/* and the miss is withdrawn */
	EXPECT(!iommu_read(&io, &m));
	rig_stop(&rig);
	finish();
}

struct reader {
	pthread_t thread;
	pid_t tid;
	ssize_t got;
	int error;
};

static void *read_one(void *arg)
{
	struct reader *r = arg;
	uint8_t buf[256];

	__atomic_store_n(&r->tid, syscall(SYS_gettid), __ATOMIC_RELEASE);
	r->got = read(rig.v.fd, buf, sizeof(buf));
	r->error = r->got < 0 ? errno : 0;
	return NULL;
}

static void reader_start(struct reader *r)
{
	memset(r, 0, sizeof(*r));
	ASSERT_EQ(pthread_create(&r->thread, NULL, read_one, r), 0);
	ASSERT(WAIT_FOR(3000, __atomic_load_n(&r->tid, __ATOMIC_ACQUIRE) &&
			task_state(getpid(), r->tid) == 'S'));
}

static void on_signal(int sig)
{
}

CASE(reader_blocked_is_woken)
{
	struct sigaction sa = { .sa_handler = on_signal };
	uint64_t off;
	struct reader r;

	ready_but_stopped(2);
	off = rig.v.features & ~F_PLATFORM;
	set_blocking(true);
	reader_start(&r);
	rig_start(&rig);
	one_frame();
	pthread_join(r.thread, NULL);
	EXPECT_EQ(r.got, sizeof(struct vhost_msg_v2));

	rig_stop(&rig);
	sigaction(SIGUSR1, &sa, NULL);
	reader_start(&r);
	pthread_kill(r.thread, SIGUSR1);
	pthread_join(r.thread, NULL);
	EXPECT_EQ(r.error, EINTR);

	if (keeps_iotlb())
		return;
	reader_start(&r);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &off);
	pthread_join(r.thread, NULL);
	EXPECT_EQ(r.error, EBADFD);
}

CASE(reset_owner_drops_misses_and_translations)
{
	struct vhost_iotlb_msg m;
	struct reader r;

	ready(2);
	one_frame();
	ASSERT(iommu_readable(&io, 3000));
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	EXPECT(!iommu_read(&io, &m));
	EXPECT(iommu_send(&io, VHOST_IOTLB_UPDATE, 0, 4096,
			  (uintptr_t)rig.v.host, IOMMU_RW) < 0);
	finish();

	ready_but_stopped(2);
	set_blocking(true);
	reader_start(&r);
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	pthread_join(r.thread, NULL);
	EXPECT_EQ(r.error, EBADFD);
}

/* The read keeps the file open; the end of the process must end the worker. */
CASE(close_or_kill_with_a_blocked_reader_ends_the_worker)
{
	unsigned int before = workers();
	struct reader r;
	int how, status;
	pid_t pid;

	for (how = 0; how < 2; how++) {
		pid = fork();
		if (!pid) {
			ready_but_stopped(2);
			set_blocking(true);
			reader_start(&r);
			close(rig.v.fd);
			if (how)
				kill(getpid(), SIGKILL);
			_exit(0);
		}
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		if (how)
			EXPECT(WIFSIGNALED(status));
		else if (WIFEXITED(status) &&
			 WEXITSTATUS(status) == KSFT_SKIP)
			ksft_skip("no VIRTIO_F_ACCESS_PLATFORM");
		else
			EXPECT_EQ(status, 0);
	}
	no_worker_left(before);
}

/*** messages that are refused ***/

enum verdict { ACCEPTED, REFUSED, EITHER };

#define KERNEL_ADDR	0xffff888000000000ull
#define HERE		0	/* stands for the rig's memory */

struct row {
	const char *name;
	struct vhost_iotlb_msg m;
	enum verdict want;
	bool elsewhere;		/* not the page that must stay untranslated */
	bool kvnet_refuses;	/* and vhost_net may not */
};

#define UPDATE(i, s, u, p) \
	{ .iova = (i), .size = (s), .uaddr = (u), .perm = (p), \
	  .type = VHOST_IOTLB_UPDATE }
#define OTHER(t) \
	{ .size = 4096, .perm = IOMMU_RW, .type = (t) }
#define INVALIDATE(i, s) \
	{ .iova = (i), .size = (s), .type = VHOST_IOTLB_INVALIDATE }

static const struct row rows[] = {
	{ "update of size 0", UPDATE(0, 0, HERE, IOMMU_RW), REFUSED },
	{ "update that wraps", UPDATE(~0ull - 4095, 8192, HERE, IOMMU_RW),
	  REFUSED, true },
	{ "update that ends at 2^64", UPDATE(~0ull - 4095, 4096, HERE, IOMMU_RW),
	  EITHER, true },
	{ "kernel address", UPDATE(0, 4096, KERNEL_ADDR, IOMMU_RW), REFUSED },
	{ "kernel address, read", UPDATE(0, 4096, KERNEL_ADDR, IOMMU_RO),
	  REFUSED },
	{ "kernel address, write", UPDATE(0, 4096, KERNEL_ADDR, IOMMU_WO),
	  REFUSED },
	{ "address that wraps", UPDATE(0, 8192, ~0ull - 4095, IOMMU_RW),
	  REFUSED },
	{ "out of user space", UPDATE(0, 1ull << 62, HERE, IOMMU_RW), REFUSED },
	{ "all but a byte", UPDATE(0, ~0ull, HERE, IOMMU_RW), REFUSED, true },
	/* vhost accepts it, and finds a page that allows nothing */
	{ "no permission", UPDATE(0, 4096, HERE, 0), EITHER, true },
	{ "unknown permission", UPDATE(0, 4096, HERE, 0xf0), EITHER, true },
	{ "miss", OTHER(VHOST_IOTLB_MISS), REFUSED },
	{ "access failure", OTHER(VHOST_IOTLB_ACCESS_FAIL), REFUSED },
	{ "begin of batch", OTHER(VHOST_IOTLB_BATCH_BEGIN), REFUSED },
	{ "end of batch", OTHER(VHOST_IOTLB_BATCH_END), REFUSED },
	{ "type 0", OTHER(0), REFUSED },
	{ "type 255", OTHER(255), REFUSED },
	{ "invalidate nothing", INVALIDATE(0x1000, 0), ACCEPTED, true },
	{ "invalidate what is not there", INVALIDATE(0x1000, 0x1000), ACCEPTED,
	  true },
	{ "invalidate that wraps", INVALIDATE(~0ull - 4095, 8192), EITHER,
	  true, true },
};

static const char *answer_text(int ret)
{
	return ret ? strerror(-ret) : "accepted";
}

static void judge(const struct row *row)
{
	struct vhost_iotlb_msg m = row->m;
	int ret;

	if (!row->elsewhere)
		m.iova = iommu_iova(&io, iommu_page(&io,
				    rig.v.q[VDEV_TX].ring.cfg.desc));
	if (m.uaddr == HERE)
		m.uaddr = (uintptr_t)rig.v.host;
	ret = iommu_send(&io, m.type, m.iova, m.size, m.uaddr, m.perm);
	if (ret && ret != -EFAULT && ret != -EINVAL)
		FAIL("%s: %s", row->name, answer_text(ret));
	else if (row->want == ACCEPTED ? ret : row->want == REFUSED && !ret)
		FAIL("%s: %s", row->name, answer_text(ret));
	else if (row->kvnet_refuses && !ret && !vdev_is_vhost())
		FAIL("%s: accepted", row->name);
}

/* No refused message has become a translation. */
static void descriptors_are_still_missed(void)
{
	size_t page = iommu_page(&io, rig.v.q[VDEV_TX].ring.cfg.desc);

	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	frame_passes();
	EXPECT(io.missed[page]);
}

CASE(message_with_wrong_contents_refused)
{
	int version;
	size_t i;

	for (version = 1; version <= 2; version++) {
		ready_but_stopped(version);
		for (i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			judge(&rows[i]);
		descriptors_are_still_missed();
		finish();
	}
}

union any_msg {
	struct vhost_msg v1;
	struct vhost_msg_v2 v2;
	uint8_t bytes[256];
};

static int send_raw(union any_msg *u, size_t len)
{
	ssize_t n = write(rig.v.fd, u, len);

	return n < 0 ? -errno : n;
}

/* The message without padding has 'full' bytes. */
static void sizes_of(union any_msg *u, size_t full)
{
	size_t len;
	int ret;

	for (len = 1; len <= sizeof(u->v1); len++) {
		ret = send_raw(u, len);
		if (len < full && ret != -EINVAL && ret != -EFAULT)
			FAIL("%zu bytes of %zu: %s", len, full, answer_text(ret));
		else if (len == sizeof(u->v1) && ret != (int)len)
			FAIL("the whole message: %d", ret);
	}
	/* vhost accepts a longer one, and ignores the rest */
	ret = send_raw(u, sizeof(*u));
	EXPECT(ret == sizeof(u->v1) || ret == -EINVAL || ret == -EFAULT);
}

CASE(message_of_wrong_size_or_type_refused)
{
	struct vhost_iotlb_msg m = {
		.iova = 0x5000, .size = 4096, .perm = IOMMU_RW,
		.type = VHOST_IOTLB_UPDATE,
	};
	union any_msg u = { 0 }, *nowhere;
	static const int types[] = { 0, 3, 255, -1, 1 << 16 | 1, 2 << 24 };
	uint64_t backend_features;
	size_t i;
	int ret;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	m.uaddr = (uintptr_t)rig.v.host;
	u.v1 = (struct vhost_msg){ .type = VHOST_IOTLB_MSG, .iotlb = m };
	sizes_of(&u, offsetof(struct vhost_msg, iotlb) + sizeof(m));
	u.v2 = (struct vhost_msg_v2){ .type = VHOST_IOTLB_MSG_V2, .iotlb = m };
	sizes_of(&u, offsetof(struct vhost_msg_v2, iotlb) + sizeof(m));
	for (i = 0; i < sizeof(types) / sizeof(*types); i++) {
		u.v1 = (struct vhost_msg){ .type = types[i], .iotlb = m };
		ret = send_raw(&u, sizeof(u.v1));
		if (ret != -EINVAL && ret != -EFAULT)
			FAIL("type %d: %s", types[i], answer_text(ret));
	}
	/* without VHOST_BACKEND_F_IOTLB_ASID the field is reserved: either */
	vdev_ioctl(rig.v.fd, VHOST_GET_BACKEND_FEATURES, &backend_features);
	EXPECT_EQ(backend_features, BIT64(VHOST_BACKEND_F_IOTLB_MSG_V2));
	u.v2 = (struct vhost_msg_v2){ .type = VHOST_IOTLB_MSG_V2, .asid = 1,
				      .iotlb = m };
	ret = send_raw(&u, sizeof(u.v2));
	EXPECT(ret == sizeof(u.v2) || ret == -EINVAL || ret == -EFAULT);
	if (ret > 0)
		ksft_note("asid 1 is accepted");
	nowhere = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		       0);
	EXPECT(send_raw(nowhere, sizeof(u.v2)) < 0);
}

/* vhost_net does not check who writes. */
static void update_as_non_owner(void)
{
	int ret = iommu_send(&io, VHOST_IOTLB_UPDATE,
			     vdev_bus(&rig.v, rig.v.q[VDEV_TX].ring.cfg.desc), 4096,
			     (uintptr_t)rig.v.host, IOMMU_RW);

	EXPECT(vdev_is_vhost() ? !ret : ret == -EPERM || ret == -EFAULT);
}

/* Another process's user addresses are not the owner's. */
CASE(update_by_another_process_refused)
{
	ready_but_stopped(2);
	in_child(update_as_non_owner);
	if (!vdev_is_vhost())
		descriptors_are_still_missed();
}

static void invalidate_as_non_owner(void)
{
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_INVALIDATE, 0, 0, 0, 0), -EFAULT);
}

/* Else the translation would be missed again. */
CASE(invalidate_by_another_process_refused)
{
	struct exchange x = { .r = &rig, .burst = 1 };

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not check");
	ready(2);
	iommu_serve(&io);
	exchange_tx(&x);
	wait_worker_idle();
	iommu_serve_end(&io);
	EXPECT_EQ(iommu_pump(&io), 0);
	io.misses = 0;
	in_child(invalidate_as_non_owner);
	iommu_serve(&io);
	exchange_tx(&x);
	EXPECT_EQ(io.misses, 0);
	iommu_close(&io);
}

/* ACCESS_PLATFORM and LOG_ALL change what the owner's addresses mean. */
static void change_features_as_non_owner(void)
{
	static const uint64_t bits[] = { F_PLATFORM, BIT64(VHOST_F_LOG_ALL) };
	uint64_t f = rig.v.features;
	unsigned int i;

	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &f), 0);
	for (i = 0; i < 2; i++) {
		f = rig.v.features ^ bits[i];
		EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &f), -EPERM);
	}
}

static void set_features(void)
{
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &rig.v.features);
}

CASE(address_features_by_another_process_refused)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not check");
	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	in_child(change_features_as_non_owner);
	/* without an owner each process may */
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	in_child(set_features);
	iommu_close(&io);
}

KSFT_MAIN()
