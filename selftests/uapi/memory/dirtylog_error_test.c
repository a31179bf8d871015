// SPDX-License-Identifier: GPL-2.0
/*
 * Dirty logs that are not there, too short, or of another's memory.
 *
 * @seconds: 4
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dirtylog.h"
#include "exchange.h"
#include "iommu.h"
#include "procfs.h"

#define KERNEL_ADDR	0xffff888000000000ull

static struct rig rig;
static struct dirtylog dl;
static struct exchange x;

static void ready(void)
{
	rig_open(&rig, &(struct rig_cfg){ .bufs = 200, .stopped = true });
	dirtylog_open(&dl, &rig.v);
	x = (struct exchange){ .r = &rig, .burst = 8 };
}

static void finish(void)
{
	dirtylog_close(&dl);
	rig_close(&rig);
}

/* Both backends: 0, or the error of the first that is refused. */
static int start(void)
{
	int ret = __vdev_backend(&rig.v, VDEV_RX, rig.tap);

	return ret ? ret : __vdev_backend(&rig.v, VDEV_TX, rig.tap);
}

static int features(uint64_t f)
{
	return __vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &f);
}

/* Nothing that a log can do to a device outlasts this. */
static void as_new(void)
{
	static uint8_t f[FRAME_MAX + 64];

	rig_stop(&rig);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig.tx_out = 0;
	ASSERT_SYS(fcntl(rig.tap, F_SETFL, O_NONBLOCK));
	while (read(rig.tap, f, sizeof(f)) >= 0)
		;
	ASSERT_SYS(fcntl(rig.tap, F_SETFL, 0));
	while (rig_sniff(&rig, f, sizeof(f), 0) >= 0)
		;
	dirtylog_on(&dl);
	rig_start(&rig);
	exchange_tx(&x);
	exchange_rx(&x);
	EXPECT(dirtylog_has(&dl, (rig.v.q[VDEV_RX].bufs - rig.v.mem) /
			    LOG_PAGE));
	rig_stop(&rig);
	dirtylog_off(&dl);
}

/*
 * A log out of user space is refused: at once by a device that runs, else by
 * the time that it is to run.
 */
CASE(log_in_kernel_memory)
{
	static const uint64_t bases[] = {
		KERNEL_ADDR, ~0ull, ~0ull - 4095, 1ull << 63,
	};
	unsigned int i;
	int ret;

	for (i = 0; i < 4 && !ksft_failed(); i++) {
		ready();
		ret = __dirtylog_base(&rig.v, bases[i]);
		if (!ret)
			ret = features(rig.v.features | F_LOG);
		if (!ret)
			ret = start();
		EXPECT_EQ(ret, -EFAULT);
		dirtylog_base(&dl);
		vdev_set_features(&rig.v, rig.v.features & ~F_LOG);
		as_new();

		dirtylog_on(&dl);
		rig_start(&rig);
		EXPECT_EQ(__dirtylog_base(&rig.v, bases[i]), -EFAULT);
		exchange_tx(&x);
		exchange_rx(&x);
		finish();
	}
}

CASE(bad_arguments)
{
	uint64_t used;
	int fd = -5;
	void *hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	ready();
	used = vdev_gpa(&rig.v, rig.v.q[VDEV_RX].ring.cfg.used);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_LOG_BASE, hole), -EFAULT);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, hole), -EFAULT);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd), -EBADF);
	fd = rig.tap;
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd), -EINVAL);
	EXPECT_EQ(__dirtylog_addr(&rig.v, VDEV_RX, used + 1), -EINVAL);
	EXPECT_EQ(__dirtylog_addr(&rig.v, VDEV_RX, used + 2), -EINVAL);
	EXPECT_EQ(__dirtylog_addr(&rig.v, VDEV_RX, used), 0);
	dirtylog_on(&dl);
	rig_start(&rig);
	EXPECT_EQ(__dirtylog_addr(&rig.v, VDEV_RX, used + 2), -EINVAL);
	/* a bit for that would be beyond the end of user space */
	EXPECT_EQ(__dirtylog_addr(&rig.v, VDEV_RX, ~3ull), -EINVAL);
	EXPECT_EQ(__dirtylog_addr(&rig.v, VDEV_RX, 1ull << 63), -EINVAL);
	EXPECT_EQ(__dirtylog_addr(&rig.v, VDEV_RX, used), 0);
	exchange_tx(&x);
	exchange_rx(&x);
}

/* What was not checked when the queue was off is checked when it is set up. */
CASE(used_log_out_of_reach_at_start)
{
	int ret;

	ready();
	dirtylog_on(&dl);
	ret = __dirtylog_addr(&rig.v, VDEV_RX, ~3ull);
	if (!ret)
		ret = start();
	EXPECT(ret == -EFAULT || ret == -EINVAL);
	dirtylog_addrs(&rig.v);
	as_new();
}

/* The end of what may be a user's address: a copy that copies nothing looks no further. */
static uint64_t end_of_user_space(void)
{
	int fd = ASSERT_SYS(open("/dev/null", O_WRONLY | O_CLOEXEC));
	uint64_t ok = 4096, bad = 1ull << 63, at;

	while (bad - ok > 4096) {
		at = ok + (bad - ok) / 8192 * 4096;
		if (write(fd, (void *)(uintptr_t)at, 1) == 1)
			ok = at;
		else
			bad = at;
	}
	close(fd);
	return bad;
}

/* A packed ring is written where its descriptors are, which the guest's memory tells. */
CASE(log_of_packed_descriptors_out_of_reach)
{
	struct vhost_vring_addr a;
	uint64_t base;

	rig_open(&rig, &(struct rig_cfg){ .features = F_V1 | F_MRG | F_PACKED,
					  .stopped = true });
	dirtylog_open(&dl, &rig.v);
	vdev_queue_addr(&rig.v, VDEV_RX, &a);
	a.desc_user_addr = (uintptr_t)rig.v.host +
			   ((uint8_t *)rig.v.q[VDEV_RX].ring.cfg.desc - rig.v.mem);
	a.flags = 1 << VHOST_VRING_F_LOG;
	a.log_guest_addr = 0;
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	/* a page, no more: of the first of guest-physical addresses */
	base = end_of_user_space() - 4096;
	ASSERT_EQ(__dirtylog_base(&rig.v, base), 0);
	EXPECT_EQ(start(), -EFAULT);
	dirtylog_base(&dl);
	ASSERT_EQ(start(), 0);
	EXPECT_EQ(__dirtylog_base(&rig.v, base), -EFAULT);
	rig_stop(&rig);
	finish();
}

/* What the log has no room for is lost, or stops the queue; no more. */
static void log_faults(uint64_t base, uint64_t f)
{
	unsigned int i;
	int ret;

	EXPECT_EQ(__dirtylog_base(&rig.v, base), 0);
	EXPECT_EQ(features(rig.v.features | f), 0);
	rig.v.log_used = f;
	dirtylog_addrs(&rig.v);
	ret = start();
	EXPECT(!ret || ret == -EFAULT);
	for (i = 0; i < 20; i++) {
		rig_rx_post(&rig, 4, NULL);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		rig_inject(&rig, x.rx_seq++, 500);
		rig_tx(&rig, 100, NULL);
		vdev_kick_always(&rig.v.q[VDEV_TX]);
	}
	WAIT_FOR(200, gr_raw_used_idx(&rig.v.q[0].ring) >= 20 ||
		 vdev_eventfd_wait(rig.v.q[0].err, 0));
	WAIT_FOR(200, gr_raw_used_idx(&rig.v.q[1].ring) >= 20 ||
		 vdev_eventfd_wait(rig.v.q[1].err, 0));
	as_new();
}

/*
 * Of what a queue to the host writes there is only the ring. Without a frame that is the wish
 * for the next kick; of many frames those are sent that are given back together.
 */
static void ring_cannot_be_logged(unsigned int frames)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i;
	uint8_t *p;

	ready();
	p = mmap(NULL, dl.bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(p != MAP_FAILED);
	ASSERT_EQ(__dirtylog_base(&rig.v, (uintptr_t)p), 0);
	ASSERT_EQ(features(rig.v.features | F_LOG), 0);
	rig.v.log_used = true;
	dirtylog_addrs(&rig.v);
	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(q);
	EXPECT(rig_tx_drain(&rig, 3000));
	wait_worker_idle();
	EXPECT_EQ(vdev_eventfd_take(q->err), 0);
	munmap(p, dl.bytes);
	for (i = 0; i < frames; i++)
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(q);
	EXPECT(vdev_eventfd_wait(q->err, 3000));
	wait_worker_idle();
	EXPECT_LE(rig_counter(&rig, "kvnet.tx.packets"), 1 + frames / 2);
	as_new();
	finish();
}

CASE(used_ring_that_cannot_be_logged)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net goes on");
	ring_cannot_be_logged(0);
	ring_cannot_be_logged(200);
}

/* As soon as a queue starts it writes to its ring: whether it is to be called, or kicked. */
CASE(start_that_cannot_be_logged)
{
	int more, ifindex;

	if (vdev_is_vhost())
		ksft_skip("vhost_net goes on");
	ready();
	ifindex = rig.ifindex;
	more = rig_tap_new(&rig, 0);
	rig.ifindex = ifindex;
	dirtylog_on(&dl);
	dirtylog_protect(&dl, PROT_NONE);
	EXPECT_EQ(start(), -EFAULT);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[VDEV_RX].err), 0);
	/* Nor does one that runs go on with another backend. */
	dirtylog_protect(&dl, PROT_READ | PROT_WRITE);
	rig_start(&rig);
	wait_worker_idle();
	dirtylog_protect(&dl, PROT_NONE);
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_RX, more), -EFAULT);
	dirtylog_protect(&dl, PROT_READ | PROT_WRITE);
	close(more);
	as_new();
	finish();
}

CASE(log_without_memory)
{
	uint8_t *p;

	ready();
	log_faults(0, F_LOG);	/* none was ever set */
	p = mmap(NULL, dl.bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	log_faults((uintptr_t)p, F_LOG);
	mprotect(p, dl.bytes, PROT_NONE);
	log_faults((uintptr_t)p, F_LOG);
	munmap(p, dl.bytes);
	log_faults((uintptr_t)p, F_LOG);
	/* ends before the bits of the guest's memory */
	p = mmap(NULL, dl.bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p + VDEV_GPA / LOG_PAGE / 8, 4096);
	log_faults((uintptr_t)p, F_LOG);
	finish();
}

/* The log goes away and comes back while packets flow. */
CASE(log_that_comes_and_goes)
{
	unsigned int i;

	ready();
	dirtylog_on(&dl);
	rig_start(&rig);
	for (i = 0; i < ksft_rounds(30); i++) {
		dirtylog_protect(&dl, i % 2 ? PROT_READ | PROT_WRITE :
				 PROT_NONE);
		rig_rx_post(&rig, 4, NULL);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		rig_inject(&rig, x.rx_seq++, 500);
		rig_tx(&rig, 100, NULL);
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		if (i % 4 == 3)
			WAIT_FOR(20, gr_raw_used_idx(&rig.v.q[1].ring) > i);
	}
	dirtylog_protect(&dl, PROT_READ | PROT_WRITE);
	as_new();
}

CASE(eventfd_of_the_log)
{
	int fd = vdev_eventfd(), none = -1;

	ready();
	dirtylog_on(&dl);
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd);
	rig_start(&rig);
	vdev_eventfd_take(fd);
	exchange_rx(&x);
	EXPECT(vdev_eventfd_wait(fd, 3000));
	/* of each queue */
	wait_worker_idle();
	vdev_eventfd_take(fd);
	dirtylog_clear(&dl);
	exchange_tx(&x);
	EXPECT(vdev_eventfd_wait(fd, 3000));
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &none);
	vdev_eventfd_take(fd);
	exchange_rx(&x);
	exchange_tx(&x);
	EXPECT_EQ(vdev_eventfd_take(fd), 0);
	/* not a sound without a log */
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd);
	dirtylog_off(&dl);
	vdev_eventfd_take(fd);
	exchange_rx(&x);
	exchange_tx(&x);
	EXPECT_EQ(vdev_eventfd_take(fd), 0);
}

/* CVE-2015-6252: each call left an eventfd behind. */
CASE(eventfds_of_the_log_do_not_leak)
{
	unsigned int first, i, n = ksft_rounds(3000);
	int none = -1;

	ready();
	dirtylog_on(&dl);
	rig_start(&rig);
	first = eventfd_number();
	for (i = 0; i < n; i++) {
		int fd = vdev_eventfd();

		vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd);
		if (i % 5 == 0)
			vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd);
		if (i % 7 == 0)
			vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &none);
		close(fd);
		if (i % 64 == 0)
			exchange_rx(&x);
	}
	if (!WAIT_FOR(2000, eventfd_number() < first + 32))
		FAIL("eventfd number %u, then %u", first, eventfd_number());
	finish();
	if (!WAIT_FOR(2000, eventfd_number() < first + 32))
		FAIL("eventfd number %u, then %u", first, eventfd_number());
}

/* Translated to memory that is not the guest's: there is no bit for it. */
CASE(written_by_iova_outside_of_the_table)
{
	static struct iommu io;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 32 }, 2);
	dirtylog_open(&dl, &rig.v);
	x = (struct exchange){ .r = &rig, .burst = 8 };
	dirtylog_on(&dl);
	iommu_map_used(&io);
	iommu_serve(&io);
	rig_start(&rig);
	rig_rx_post(&rig, 4, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	rig_inject(&rig, 0, 500);
	WAIT_FOR(1000, gr_used_pending(&rig.v.q[0].ring) ||
		 vdev_eventfd_wait(rig.v.q[0].err, 0));
	EXPECT(!dirtylog_strays(&dl));
	rig_stop(&rig);
	iommu_close(&io);
	rig_close(&rig);
}

KSFT_MAIN()
