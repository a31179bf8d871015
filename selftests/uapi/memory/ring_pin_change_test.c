// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that changes under pinned rings: other memory in its place, protection, children,
 * and ioctls and IOTLB messages about it.
 *
 * And memory that comes late (userfaultfd), as for a guest that runs on while its memory is
 * still on its way (post-copy migration): the device waits for a page wherever it needs one,
 * and no wait outlives the VMM.
 *
 * @hosts: 6.1 newest
 * @again: kthread
 * @seconds: 8
 * @skip: (uapi|test)-6\.1 | .*: before Linux 6.5 no pin waits for a page | newer kernels wait
 */
#include "exchange.h"
#include "iommu.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

static struct rig rig;
static struct iommu io;

static void start_in(int flags)
{
	pin_rig_open(&rig, -1, flags | MAP_ANONYMOUS);
	rig_start(&rig);
	expect_rings(&rig, "pinned");
	frames_pass(&rig);
}

/* The VMM maps other memory in the rings' place, which is not written. */
CASE(ring_unmapped_stays_pinned)
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
	ksft_all_bytes("other memory at the ring's address", other, 0x5a, VDEV_RING_ZONE);
	ASSERT_SYS(munmap(rig.v.mem, VDEV_RING_ZONE));
	EXPECT_EQ(pinned_kb(), 0);
	EXPECT(pages_pinned() <= before);
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EFAULT);
	EXPECT_EQ(pinned_kb(), 0);
}

CASE(ring_unmapped_and_set_again_stops_the_queue)
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

/* Shared memory keeps its contents when its pages are dropped. */
CASE(shared_ring_dropped_stays_pinned)
{
	start_in(MAP_SHARED);
	ASSERT_SYS(madvise(rig.v.mem, rig.v.mem_size, MADV_DONTNEED));
	frames_pass(&rig);
	vdev_set_mem(&rig.v);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
}

/* Private memory is empty afterwards, and the VMM starts the queues again. */
CASE(private_ring_dropped_is_pinned_again)
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

/* The guest's rings work whatever protection the VMM's mapping has. */
CASE(ring_protected_stays_pinned)
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

/* A child has copies of the VMM's pages; the device uses the VMM's own. */
static void pages_kept_by_fork(bool pin_again)
{
	unsigned int i;
	pid_t pid;

	start_in(MAP_PRIVATE);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		pid = ASSERT_SYS(fork());
		if (!pid) {
			/* else the VMM pins pages that both have */
			if (!pin_again)
				memset(rig.v.mem, i, rig.v.mem_size);
			for (;;)
				pause();
		}
		if (pin_again)
			vdev_set_mem(&rig.v);
		frames_pass(&rig);
		ASSERT_SYS(kill(pid, SIGKILL));
		ASSERT_EQ(waitpid(pid, NULL, 0), pid);
		frames_pass(&rig);
	}
	expect_rings(&rig, "pinned");
}

CASE_ROW(fork_while_pinned_keeps_the_pages, pages_kept_by_fork(false))
CASE_ROW(fork_before_pinning_again_keeps_the_pages, pages_kept_by_fork(true))

/* Ring and table are set again and again, unchanged: the device pins no more than before. */
CASE(ring_pinned_again_is_charged_once)
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

/* The ring within the limit is unpinned, and the other one is pinned. */
CASE(limit_for_one_queue_passes_to_the_other)
{
	unsigned long kb;

	need_pinned_rings();
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

/* Rings by IOVA, pinned. */
static void start_by_iova(void)
{
	iommu_rig(&io, &rig, &(struct rig_cfg){ 0 }, 2);
	iommu_map_used(&io);
	rig_start(&rig);
	iommu_serve(&io);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
}

static void close_by_iova(void)
{
	iommu_serve_end(&io);
	iommu_check_graves(&io);
	iommu_close(&io);
	pin_rig_close(&rig);
}

/* Pages at scattered user addresses are pinned, and unpinned when the VMM invalidates them. */
CASE(ring_invalidated_is_unpinned)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned long kb;
	unsigned int i;

	start_by_iova();
	kb = pinned_kb();
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		wait_worker_idle();		/* it would miss the page again */
		iommu_unmap_area(&io, q->ring.cfg.used, 1);
		if (!vdev_is_vhost())
			EXPECT(pinned_kb() < kb);
		iommu_map_used(&io);
		frames_pass(&rig);
		expect_rings(&rig, "pinned");
		EXPECT_EQ(pinned_kb(), kb);
	}
	close_by_iova();
}

/* The user address of an area begins at another place in a word than its IOVA. */
static void pinned_if_at(unsigned int area, unsigned int by, const char *how)
{
	static uint8_t there[2 * IOMMU_PAGE] __attribute__((aligned(4096)));
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
	/* a second miss for the same page may be answered late */
	wait_worker_idle();
	frames_pass(&rig);
	if (strcmp(ring_is(&rig, "kvnet.tx.access"), how))
		FAIL("area %u, %u bytes on: %s", area, by, ring_is(&rig, "kvnet.tx.access"));
	close_by_iova();
}

CASE(ring_translated_within_a_word_not_pinned)
{
	need_pinned_rings();
	pinned_if_at(0, 4, "user");
	pinned_if_at(0, 8, "pinned");
	pinned_if_at(1, 1, "user");
	pinned_if_at(1, 2, "pinned");
	pinned_if_at(2, 2, "user");
	pinned_if_at(2, 4, "pinned");
}

/* By a single byte: the first or the last one of an area. */
static void invalidated_at(const void *area, size_t at)
{
	const uint8_t *byte = (const uint8_t *)area + at;
	unsigned long kb = pinned_kb();

	wait_worker_idle();
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_INVALIDATE, vdev_bus(&rig.v, byte), 1, 0, 0), 0);
	EXPECT_OP(pinned_kb(), <, kb);
	/* and all of its page */
	iommu_unmap_area(&io, byte, 1);
	iommu_map_used(&io);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	EXPECT_EQ(pinned_kb(), kb);
}

/* The byte before an area, or behind its end, leaves it pinned. */
static void kept_at(const void *area, ssize_t at)
{
	unsigned long kb = pinned_kb();

	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_INVALIDATE,
			     vdev_bus(&rig.v, (const uint8_t *)area + at), 1, 0, 0), 0);
	EXPECT_EQ(pinned_kb(), kb);
}

CASE(ring_invalidated_by_a_byte_is_unpinned)
{
	const struct gr_cfg *c = &rig.v.q[VDEV_TX].ring.cfg;

	need_pinned_rings();
	start_by_iova();
	invalidated_at(c->desc, 0);
	invalidated_at(c->desc, gr_desc_bytes(c) - 1);
	invalidated_at(c->avail, 0);
	invalidated_at(c->avail, gr_avail_bytes(c) - 1);
	invalidated_at(c->used, 0);
	invalidated_at(c->used, gr_used_bytes(c) - 1);
	kept_at(c->avail, gr_avail_bytes(c));
	kept_at(c->used, -1);
	kept_at(c->used, gr_used_bytes(c));
	close_by_iova();
}

static void *two_pages(void)
{
	void *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(p != MAP_FAILED);
	return p;
}

/*
 * The two halves of a page of descriptors, at these offsets in pages of the VMM's: one of them
 * ends within a page or begins there, so the ring cannot be mapped page by page.
 */
static void halves(unsigned int first, unsigned int second)
{
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
	/* all of it in one piece, at another address */
	iommu_unmap(&io, iommu_page(&io, c->desc));
	iommu_serve(&io);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	close_by_iova();
	munmap(at[0], 8192);
	munmap(at[1], 8192);
}

CASE(ring_in_pieces_of_pages_not_pinned)
{
	need_pinned_rings();
	halves(2048, 1024);
	halves(0, 0);
}

CASE(vmm_killed_leaves_no_page_pinned)
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

/*** memory that comes late ***/

static void open_rig(void)
{
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
}

/*
 * Pinning did not wait for a page before Linux 6.5: then the ring is not pinned, unless
 * another access has brought the page before.
 */
static void expect_late_rings(const char *how)
{
	if (!kernel_before(6, 5))
		expect_rings(&rig, how);
}

/* The guest starts, and all of its memory is still missing. */
static void postcopy(const char *how)
{
	open_rig();
	pager_open();
	pager_take_away(rig.v.mem, rig.v.mem_size);
	rig_start(&rig);
	EXPECT(pager.pages > 0);
	expect_late_rings(how);
	frames_pass(&rig);
	pin_rig_close(&rig);
}

CASE_ROW(ring_missing_at_start_is_pinned, postcopy("pinned"))

CASE(ring_missing_at_start_works_unpinned)
{
	limit_locked_memory(0);
	postcopy("user");
}

/* The worker pins again, and has to wait for the ring. */
CASE(ring_missing_while_running_is_pinned_again)
{
	open_rig();
	rig_start(&rig);
	frames_pass(&rig);
	pager_open();
	pager_take_away(rig.v.mem, VDEV_RING_ZONE);
	vdev_set_mem(&rig.v);
	frames_pass(&rig);
	EXPECT(pager.pages > 0);
	expect_late_rings("pinned");
	pin_rig_close(&rig);
}

/*** a VMM that is killed while the device waits ***/

enum waits {
	IN_START,	/* SET_BACKEND, for the ring */
	IN_PIN,		/* the worker, for the ring */
	IN_COPY,	/* the worker, for a packet */
};

struct death {
	enum waits waits;
	bool pager_first;	/* its file is older than the device */
	bool stop;		/* another thread wants to stop the queue */
	bool elsewhere;		/* the pager lives on, in another process */
};

static int stopper;	/* thread that wants to stop the queue */

static void *stop_thread(void *arg)
{
	__atomic_store_n(&stopper, gettid(), __ATOMIC_RELEASE);
	rig_stop(&rig);
	return arg;
}

/* Does it sleep uninterruptibly? */
static bool stopper_waits(void)
{
	return task_state(getpid(), __atomic_load_n(&stopper,
						    __ATOMIC_ACQUIRE)) == 'D';
}

static void try_to_stop(void)
{
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, stop_thread, NULL), 0);
	ASSERT(WAIT_FOR(3000, stopper_waits()));
}

/* Runs until the device waits for a page that does not come, then writes to 'told'. */
static void vmm(const struct death *d, int told)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	if (d->pager_first)
		pager_open();
	open_rig();
	if (!d->pager_first)
		pager_open();
	pager.holds = true;
	if (d->waits == IN_START) {
		pager.told = told;
		pager_take_away(rig.v.mem, VDEV_RING_ZONE);
		rig_start(&rig);
		FAIL("started without its ring");
		return;
	}
	rig_start(&rig);
	frames_pass(&rig);
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	if (d->waits == IN_COPY) {
		pager_take_away(q->bufs, q->buf_size * q->buf_num);
		/* not before: the device may poll without a kick */
		gr_publish(&q->ring);
		ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	} else {
		gr_publish(&q->ring);
		pager_take_away(rig.v.mem, VDEV_RING_ZONE);
		vdev_set_mem(&rig.v);
	}
	ASSERT(pager_asked(1, 3000));
	if (d->stop)
		try_to_stop();
	pager_tell(told);
}

static void killed(struct death d)
{
	unsigned int threads = workers();
	long before = pages_pinned();
	int p[2], fd, status;
	pid_t pid;

	if (vdev_is_vhost() && d.waits != IN_START)
		ksft_skip("vhost_net may let it hang");
	/* There the pin of a kernel thread may spin, with mmap_lock, until that is to end. */
	if (kernel_before(6, 5) && d.waits == IN_PIN)
		ksft_skip("before Linux 6.5 no pin waits for a page");
	ASSERT_SYS(pipe(p));
	pid = fork();
	if (!pid) {
		close(p[0]);
		vmm(&d, p[1]);
		for (;;)
			pause();
	}
	close(p[1]);
	if (read(p[0], &fd, sizeof(fd)) != sizeof(fd)) {
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		return;		/* the VMM has failed, or skipped */
	}
	fd = d.elsewhere ? file_of(pid, fd) : -1;
	ASSERT_SYS(kill(pid, SIGKILL));
	if (!WAIT_FOR(5000, waitpid(pid, &status, WNOHANG) == pid))
		FAIL("the VMM cannot be killed");
	/* one that was not killed gets its pages by this */
	close(fd);
	no_worker_left(threads);
	EXPECT(WAIT_FOR(3000, pages_pinned() <= before));
}

CASE_ROW(vmm_killed_in_set_backend_ends, killed((struct death){ IN_START }))
CASE_ROW(vmm_killed_in_set_backend_ends_with_a_pager_elsewhere,
	killed((struct death){ IN_START, .elsewhere = true }))
CASE_ROW(vmm_killed_in_a_copy_ends, killed((struct death){ IN_COPY }))
CASE_ROW(vmm_killed_in_a_copy_ends_with_an_older_pager,
	killed((struct death){ IN_COPY, .pager_first = true }))
CASE_ROW(vmm_killed_in_a_copy_ends_with_a_pager_elsewhere,
	killed((struct death){ IN_COPY, .elsewhere = true }))
CASE_ROW(vmm_killed_in_a_copy_ends_during_a_stop, killed((struct death){ IN_COPY, .stop = true }))
CASE_ROW(vmm_killed_in_a_copy_ends_during_a_stop_with_a_pager_elsewhere,
	killed((struct death){ IN_COPY, .stop = true, .elsewhere = true }))
CASE_ROW(vmm_killed_in_a_pin_ends, killed((struct death){ IN_PIN }))
CASE_ROW(vmm_killed_in_a_pin_ends_with_an_older_pager,
	killed((struct death){ IN_PIN, .pager_first = true }))
CASE_ROW(vmm_killed_in_a_pin_ends_during_a_stop_with_a_pager_elsewhere,
	killed((struct death){ IN_PIN, .stop = true, .elsewhere = true }))

KSFT_MAIN()
