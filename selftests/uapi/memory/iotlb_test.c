// SPDX-License-Identifier: GPL-2.0
/*
 * The device IOTLB's message channel: read, write, poll, and what becomes of
 * messages when backends and features change.
 *
 * @hosts: 6.1 newest
 * @seconds: 3
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "iommu.h"
#include "pin_rig.h"
#include "procfs.h"

#ifndef EBADFD
#define EBADFD 77
#endif

/* bytes, that are no ring */
#define ELSEWHERE	(256 << 10)

static struct rig rig;
static struct iommu io;

/* A device may look for work, and miss, as soon as it has a backend. */
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

CASE(without_platform_there_are_no_messages)
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

/* A miss that could not be read is retried, as one without an answer; vhost_net forgets it. */
static void read_into_nowhere(void)
{
	uint8_t *nowhere = rig.v.host + rig.v.host_span - 4096;

	if (vdev_is_vhost())
		return;
	while (iommu_readable(&io, 0))
		EXPECT(read(rig.v.fd, nowhere, 256) == -1 && errno == EFAULT);
	EXPECT(iommu_readable(&io, 5000));
}

CASE(a_miss_is_read_and_answered)
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

/* As an iommu_answer() ahead of the question. */
CASE(update_before_the_miss_is_read)
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
CASE(misses_are_not_repeated)
{
	unsigned int i, j, n = 0, again = 0, kicks = ksft_rounds(10000);
	struct vhost_iotlb_msg m, first[16];
	uint64_t at[16], now;

	ready(2);
	one_frame();
	ASSERT(iommu_readable(&io, 3000));
	for (i = 0; i < kicks; i++) {
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		if (i < kicks / 2)	/* not even read */
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

/* Who has been told is told again after a stop, and not before. */
CASE(a_stop_withdraws_messages)
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

CASE(platform_off_and_on)
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

		/* nothing of the old translations is left: all are missed */
		iommu_forget(&io);
		io.misses = 0;
		restart_with(features);
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
		frame_passes();
		EXPECT(io.misses);
		iommu_check_graves(&io);
	}
}

/* As a VMM that starts a device again: what it has told before is forgotten. */
CASE(platform_said_again)
{
	ready(2);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	frame_passes();
	iommu_forget(&io);
	io.misses = 0;
	restart_with(rig.v.features);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	frame_passes();
	EXPECT(io.misses);
	iommu_check_graves(&io);
	finish();
}

/* What has been asked for by then is asked for again. */
CASE(platform_said_again_while_it_waits)
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

/* Without taking the backends away first; QEMU does not, others might. */
CASE(platform_toggled_while_running)
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
	iommu_forget(&io);
	restart_with(on);
	while (rig_sniff(&rig, rig.v.mem + rig.v.mem_size - 256, 256, 0) >= 0)
		;
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	frame_passes();
	iommu_check_graves(&io);
}

/*
 * Waits for a ring where nothing is, is told that there is no IOMMU, and where the ring is
 * then: it goes on by itself.
 */
CASE(platform_off_while_it_waits)
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
	/* it has been told, and waits no more */
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &off);
	one_frame();
	rig_expect(&rig, rig.tx_seq - 1, 100);
	rig_stop(&rig);
	finish();
}

/* What the guest calls its rings is an address of the owner's, too, of something else. */
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

static bool all_zero(const uint8_t *p, size_t len)
{
	return !*p && !memcmp(p, p + 1, len - 1);
}

static bool waits(void)
{
	return !strncmp(ring_is(&rig, "kvnet.tx.state"), "waiting", 7);
}

/* CVE-2026-97988. There is no IOMMU any more: the rings are where the owner says next. */
CASE(rings_are_no_addresses_of_the_owner)
{
	uint8_t *other = mmap(NULL, ELSEWHERE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct vhost_vring_addr a;
	uint64_t off;

	if (vdev_is_vhost())
		ksft_skip("of vhost_net only newer ones forget them");
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
	EXPECT(all_zero(other, ELSEWHERE));
	/* nor does it help to say so twice */
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
	EXPECT(all_zero(other, ELSEWHERE));
	rig_close(&rig);
}

/* Waits for a ring where nothing is, and is told of another one: it goes on by itself. */
CASE(another_ring_while_it_waits)
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
	/* and the question is nobody's any more */
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

static bool asleep(pid_t tid)
{
	char path[64], stat[256] = "", *p;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", tid);
	f = fopen(path, "r");
	if (!f)
		return false;
	p = fgets(stat, sizeof(stat), f);
	fclose(f);
	p = p ? strrchr(stat, ')') : NULL;
	return p && p[2] == 'S';
}

static void reader_start(struct reader *r)
{
	memset(r, 0, sizeof(*r));
	ASSERT_EQ(pthread_create(&r->thread, NULL, read_one, r), 0);
	ASSERT(WAIT_FOR(3000, __atomic_load_n(&r->tid, __ATOMIC_ACQUIRE) &&
			asleep(r->tid)));
}

static void on_signal(int sig)
{
	(void)sig;
}

CASE(blocked_reader_is_woken)
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

CASE(reset_owner_forgets_all)
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

/* The read keeps the file open; the process's end must end all. */
CASE(closed_or_killed_with_a_blocked_reader)
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

KSFT_MAIN()
