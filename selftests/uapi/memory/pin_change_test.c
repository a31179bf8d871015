// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that changes under rings that are pinned: other memory in its place,
 * protection, children; and what is told to the device of it.
 *
 * @hosts: 6.1 newest
 * @seconds: 3
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "iommu.h"
#include "pin_rig.h"
#include "procfs.h"

static struct rig rig;

static void start_in(int flags)
{
	pin_rig_open(&rig, -1, flags | MAP_ANONYMOUS);
	rig_start(&rig);
	expect_rings(&rig, "pinned");
	frames_pass(&rig);
}

/* The VMM's own view of the rings goes: nobody else's memory is written. */
CASE(unmapped_while_running)
{
	long before = pages_pinned();
	uint8_t *other;
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net works on whatever is at the address");
	start_in(MAP_PRIVATE);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	gr_publish(&rig.v.q[VDEV_TX].ring);
	other = mmap(rig.v.mem, VDEV_RING_ZONE, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ASSERT(other == rig.v.mem);
	memset(other, 0x5a, VDEV_RING_ZONE);
	for (i = 0; i < 2; i++) {
		uint64_t one = 1;

		ASSERT_EQ(write(rig.v.q[i].kick, &one, 8), 8);
	}
	rig_expect(&rig, rig.tx_seq - 1, 100);
	rig_stop(&rig);
	for (i = 0; i < VDEV_RING_ZONE; i++)
		ASSERT_EQ(other[i], 0x5a);
	ASSERT_SYS(munmap(rig.v.mem, VDEV_RING_ZONE));
	EXPECT_EQ(pinned_kb(), 0);
	EXPECT(pages_pinned() <= before);
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EFAULT);
	EXPECT_EQ(pinned_kb(), 0);
}

CASE(unmapped_and_told)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	start_in(MAP_PRIVATE);
	ASSERT_SYS(munmap(rig.v.mem, VDEV_RING_ZONE));
	vdev_set_mem(&rig.v);
	ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	EXPECT(vdev_eventfd_wait(q->err, 3000));
	rig_stop(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

/* Shared memory that was given up is what it was when it comes back. */
CASE(given_up_and_shared)
{
	start_in(MAP_SHARED);
	ASSERT_SYS(madvise(rig.v.mem, rig.v.mem_size, MADV_DONTNEED));
	frames_pass(&rig);
	vdev_set_mem(&rig.v);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
}

/* Private memory that was given up is empty, and the device is told. */
CASE(given_up_and_private)
{
	unsigned int i;

	start_in(MAP_PRIVATE);
	rig_stop(&rig);
	for (i = 0; i < 3; i++) {
		ASSERT_SYS(madvise(rig.v.mem, VDEV_RING_ZONE, MADV_DONTNEED));
		vdev_queue_reset(&rig.v, VDEV_RX);
		vdev_queue_reset(&rig.v, VDEV_TX);
		rig_start(&rig);
		expect_rings(&rig, "pinned");
		frames_pass(&rig);
		rig_stop(&rig);
	}
}

/* What a VMM may do with its own view is not the guest's business. */
CASE(protected_while_running)
{
	struct vdev *v = &rig.v;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_rings(&rig, "pinned");
	if (vdev_is_vhost())
		ksft_skip("vhost_net needs the ring at its address");
	ASSERT_SYS(mprotect(v->ring_host, VDEV_RING_ZONE, PROT_NONE));
	frames_pass(&rig);
	ASSERT_SYS(mprotect(v->ring_host, VDEV_RING_ZONE, PROT_READ));
	frames_pass(&rig);
	vdev_set_mem(v);
	vdev_kick_always(&v->q[VDEV_RX]);
	vdev_kick_always(&v->q[VDEV_TX]);
	EXPECT(vdev_eventfd_wait(v->q[VDEV_TX].err, 3000));
	EXPECT_EQ(pinned_kb(), 0);
	ASSERT_SYS(mprotect(v->ring_host, VDEV_RING_ZONE,
			    PROT_READ | PROT_WRITE));
	rig_stop(&rig);
	rig_start(&rig);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
}

/* A child has copies of the VMM's pages; the device keeps to the VMM's own. */
static void child_writes(int how)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		memset(rig.v.mem, how, rig.v.mem_size);
		pause();
	}
	frames_pass(&rig);
	ASSERT_SYS(kill(pid, SIGKILL));
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	frames_pass(&rig);
}

CASE(fork_while_pinned)
{
	unsigned int i;

	start_in(MAP_PRIVATE);
	for (i = 0; i < 5 && !ksft_failed(); i++)
		child_writes(i);
	expect_rings(&rig, "pinned");
}

CASE(fork_and_pinned_anew)
{
	unsigned int i;

	start_in(MAP_PRIVATE);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		pid_t pid = fork();

		if (!pid)
			for (;;)
				pause();
		vdev_set_mem(&rig.v);
		frames_pass(&rig);
		ASSERT_SYS(kill(pid, SIGKILL));
		ASSERT_EQ(waitpid(pid, NULL, 0), pid);
		frames_pass(&rig);
	}
}

/* Told again and again of what it knows, the device pins no more than before. */
CASE(pinned_anew_is_counted_once)
{
	struct vhost_vring_addr a;
	unsigned long kb;
	long pages;
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	kb = pinned_kb();
	pages = pages_pinned();
	for (i = 0; i < ksft_rounds(20) && !ksft_failed(); i++) {
		vdev_set_mem(&rig.v);
		if (i % 2)
			frames_pass(&rig);
		vdev_queue_addr(&rig.v, i % 2, &a);
		vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
		if (i % 3)
			frames_pass(&rig);
	}
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	EXPECT_EQ(pinned_kb(), kb);
	EXPECT_EQ(pages_pinned(), pages);
}

/* The ring that there was room for goes, and another one takes its place. */
CASE(limit_for_one_queue)
{
	unsigned long kb;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin rings");
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	kb = pinned_kb();
	rig_close(&rig);
	limit_locked_memory(kb << 10);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	EXPECT(!strcmp(ring_is(&rig, "kvnet.rx.access"), "pinned"));
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	EXPECT_EQ(pinned_kb(), kb);
	frames_pass(&rig);
	vdev_backend(&rig.v, VDEV_RX, -1);
	EXPECT_EQ(pinned_kb(), 0);
	vdev_set_mem(&rig.v);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	EXPECT(rig_tx_drain(&rig, 2000));
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "pinned"));
	EXPECT_EQ(pinned_kb(), kb);
}

/* Pages that an IOMMU has scattered are pinned, and let go of when unmapped. */
CASE(invalidated_by_the_iommu)
{
	static struct iommu io;
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned long kb;
	unsigned int i;

	iommu_rig(&io, &rig, &(struct rig_cfg){ 0 }, 2);
	iommu_map_used(&io);
	rig_start(&rig);
	iommu_serve(&io);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	kb = pinned_kb();
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		wait_worker_idle();		/* it would ask for it again */
		iommu_unmap_area(&io, q->ring.cfg.used, 1);
		if (!vdev_is_vhost())
			EXPECT(pinned_kb() < kb);
		iommu_map_used(&io);
		frames_pass(&rig);
		expect_rings(&rig, "pinned");
		EXPECT_EQ(pinned_kb(), kb);
	}
	iommu_serve_end(&io);
	iommu_check_graves(&io);
	iommu_close(&io);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

/* An area is elsewhere for the device than its pages are, and begins within another word. */
static void pinned_if_at(unsigned int area, unsigned int by, const char *how)
{
	static uint8_t there[2 * IOMMU_PAGE] __attribute__((aligned(4096)));
	static struct iommu io;
	struct gr_cfg *c = &rig.v.q[VDEV_TX].ring.cfg;
	void **place = area == 0 ? &c->desc : area == 1 ? &c->avail : &c->used;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .num = 256 }, 2);
	iommu_map_used(&io);
	iommu_unmap_area(&io, *place, 1);
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, vdev_bus(&rig.v, *place), IOMMU_PAGE,
			     (uintptr_t)there + by, IOMMU_RW), 0);
	*place = memcpy(there + by, *place, IOMMU_PAGE);
	rig_start(&rig);
	iommu_serve(&io);
	frames_pass(&rig);
	/* what has been asked for twice may be answered late */
	wait_worker_idle();
	frames_pass(&rig);
	if (strcmp(ring_is(&rig, "kvnet.tx.access"), how))
		FAIL("area %u, %u bytes on: %s", area, by, ring_is(&rig, "kvnet.tx.access"));
	iommu_serve_end(&io);
	iommu_close(&io);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

CASE(within_a_word_by_the_iommu)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin rings");
	pinned_if_at(0, 4, "user");
	pinned_if_at(0, 8, "pinned");
	pinned_if_at(1, 1, "user");
	pinned_if_at(1, 2, "pinned");
	pinned_if_at(2, 2, "user");
	pinned_if_at(2, 4, "pinned");
}

/* By a single byte: the first or the last one of an area. */
static void invalidated_at(struct iommu *io, const void *area, size_t at)
{
	const uint8_t *byte = (const uint8_t *)area + at;
	unsigned long kb = pinned_kb();

	wait_worker_idle();
	EXPECT_EQ(iommu_send(io, VHOST_IOTLB_INVALIDATE, vdev_bus(&rig.v, byte), 1, 0, 0), 0);
	EXPECT_OP(pinned_kb(), <, kb);
	/* and all of its page */
	iommu_unmap_area(io, byte, 1);
	iommu_map_used(io);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	EXPECT_EQ(pinned_kb(), kb);
}

CASE(invalidated_by_a_byte)
{
	static struct iommu io;
	const struct gr_cfg *c = &rig.v.q[VDEV_TX].ring.cfg;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin rings");
	iommu_rig(&io, &rig, &(struct rig_cfg){ 0 }, 2);
	iommu_map_used(&io);
	rig_start(&rig);
	iommu_serve(&io);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	invalidated_at(&io, c->desc, 0);
	invalidated_at(&io, c->desc, gr_desc_bytes(c) - 1);
	invalidated_at(&io, c->avail, 0);
	invalidated_at(&io, c->avail, gr_avail_bytes(c) - 1);
	invalidated_at(&io, c->used, 0);
	invalidated_at(&io, c->used, gr_used_bytes(c) - 1);
	iommu_close(&io);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

static void *two_pages(void)
{
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(p != MAP_FAILED);
	return p;
}

/*
 * The two halves of a page of descriptors, so far within pages of the VMM's: one of them ends
 * within a page or begins there, and is no piece of a ring that is mapped page by page.
 */
static void halves(unsigned int first, unsigned int second)
{
	static struct iommu io;
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	const struct gr_cfg *c = &q->ring.cfg;
	uint8_t *at[2] = { two_pages(), two_pages() };
	uint64_t iova;

	iommu_rig(&io, &rig, &(struct rig_cfg){ 0 }, 2);
	iommu_map_used(&io);
	iommu_map_area(&io, c->avail, gr_avail_bytes(c), c->packed ? IOMMU_RW : IOMMU_RO);
	iova = vdev_bus(&rig.v, c->desc);
	ASSERT_EQ(gr_desc_bytes(c), 4096);
	ASSERT_EQ(iova % 4096, 0);
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, iova, 2048, (uintptr_t)at[0] + first,
			     IOMMU_RW), 0);
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, iova + 2048, 2048,
			     (uintptr_t)at[1] + second, IOMMU_RW), 0);
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	vdev_kick_always(q);
	wait_worker_idle();
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.state"), "running"));
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	/* all of it in one piece, and somewhere else */
	iommu_unmap(&io, iommu_page(&io, c->desc));
	iommu_serve(&io);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	iommu_close(&io);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
	munmap(at[0], 8192);
	munmap(at[1], 8192);
}

CASE(pieces_that_are_no_pages)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin rings");
	halves(2048, 1024);
	halves(0, 0);
}

/* A VMM that dies takes no page with it. */
CASE(nothing_stays_pinned_after_a_kill)
{
	long before = pages_pinned();
	unsigned int threads = workers(), i;

	for (i = 0; i < ksft_rounds(5); i++) {
		int p[2], status;
		pid_t pid;

		ASSERT_SYS(pipe(p));
		pid = fork();
		if (!pid) {
			start_in(i % 2 ? MAP_PRIVATE : MAP_SHARED);
			close(p[0]);
			close(p[1]);
			for (;;)
				frames_pass(&rig);
		}
		close(p[1]);
		EXPECT_EQ(read(p[0], &status, 1), 0);
		close(p[0]);
		EXPECT(vdev_is_vhost() || pages_pinned() > before);
		ASSERT_SYS(kill(pid, SIGKILL));
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		no_worker_left(threads);
		EXPECT(WAIT_FOR(3000, pages_pinned() <= before));
	}
}

KSFT_MAIN()
