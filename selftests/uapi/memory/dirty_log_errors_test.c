// SPDX-License-Identifier: GPL-2.0
/*
 * Dirty logs that are not mapped, too short, or cannot be written; and when a page's bit is
 * set: before the guest is notified of what was written, also by a session that published
 * nothing and by a copy that failed half-way.
 *
 * @again: packed
 * @seconds: 4
 */
#include "dirtylog.h"
#include "exchange.h"
#include "iommu.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"

#define KERNEL_ADDR	0xffff888000000000ull

static struct rig rig;
static struct dirtylog dl;
static struct exchange x;

static void open_stopped(void)
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

/* Sets both backends: 0, or the error of the first that is refused. */
static int start(void)
{
	int ret = __vdev_backend(&rig.v, VDEV_RX, rig.tap);

	return ret ? ret : __vdev_backend(&rig.v, VDEV_TX, rig.tap);
}

static int features(uint64_t f)
{
	return __vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &f);
}

/* After a stop and with a log that can be written, all works. */
static void as_new(void)
{
	rig_stop(&rig);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig.tx_out = 0;
	rig_flush(&rig);
	dirtylog_on(&dl);
	rig_start(&rig);
	exchange_tx(&x);
	exchange_rx(&x);
	EXPECT(dirtylog_has(&dl, (rig.v.q[VDEV_RX].bufs - rig.v.mem) /
			    LOG_PAGE));
	rig_stop(&rig);
	dirtylog_off(&dl);
}

/* A log out of user space is refused: at once by a device that runs, else when it starts. */
CASE(log_in_kernel_memory_refused)
{
	static const uint64_t bases[] = {
		KERNEL_ADDR, ~0ull, ~0ull - 4095, 1ull << 63,
	};
	unsigned int i;
	int ret;

	for (i = 0; i < 4 && !ksft_failed(); i++) {
		open_stopped();
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

/* An address that was not checked while the queue was stopped is checked when it starts. */
CASE(used_log_out_of_reach_refused_at_start)
{
	int ret;

	open_stopped();
	dirtylog_on(&dl);
	ret = __dirtylog_addr(&rig.v, VDEV_RX, ~3ull);
	if (!ret)
		ret = start();
	EXPECT(ret == -EFAULT || ret == -EINVAL);
	dirtylog_addrs(&rig.v);
	as_new();
}

/* The end of user addresses: a write to /dev/null checks the address and copies nothing. */
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

/* A packed ring is logged by the guest address of its descriptors, which the table has. */
CASE(packed_descriptor_log_out_of_reach_refused)
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
	/* one page: the bits of the first guest-physical addresses */
	base = end_of_user_space() - 4096;
	ASSERT_EQ(__dirtylog_base(&rig.v, base), 0);
	EXPECT_EQ(start(), -EFAULT);
	dirtylog_base(&dl);
	ASSERT_EQ(start(), 0);
	EXPECT_EQ(__dirtylog_base(&rig.v, base), -EFAULT);
	rig_stop(&rig);
	finish();
}

/* Some buffers, and a frame each way, which may get lost. */
static void try_frames(void)
{
	rig_rx_post(&rig, 4, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	rig_inject(&rig, x.rx_seq++, 500);
	rig_tx(&rig, 100, NULL);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
}

/* A write that the log has no room for is lost, or stops the queue. */
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
	for (i = 0; i < 20; i++)
		try_frames();
	WAIT_FOR(200, gr_raw_used_idx(&rig.v.q[0].ring) >= 20 ||
		 vdev_eventfd_wait(rig.v.q[0].err, 0));
	WAIT_FOR(200, gr_raw_used_idx(&rig.v.q[1].ring) >= 20 ||
		 vdev_eventfd_wait(rig.v.q[1].err, 0));
	as_new();
}

/*
 * The TX queue writes only its ring. Without a frame that is the request for the next kick; of
 * many frames those are sent whose buffers are published together.
 */
static void ring_cannot_be_logged(unsigned int frames)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i;
	uint8_t *p;

	open_stopped();
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

CASE(used_ring_unloggable_stops_the_queue)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net goes on");
	ring_cannot_be_logged(0);
	ring_cannot_be_logged(200);
}

/* A queue writes to its ring when it starts: whether it wants kicks. */
CASE(start_unloggable_refused)
{
	int more, ifindex;

	if (vdev_is_vhost())
		ksft_skip("vhost_net goes on");
	open_stopped();
	ifindex = rig.ifindex;
	more = rig_tap_new(&rig, 0);
	rig.ifindex = ifindex;
	dirtylog_on(&dl);
	dirtylog_protect(&dl, PROT_NONE);
	EXPECT_EQ(start(), -EFAULT);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[VDEV_RX].err), 0);
	/* Nor does a running queue accept another backend. */
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

CASE(log_without_memory_recovers)
{
	uint8_t *p;

	open_stopped();
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

/* The log is protected and writable again while packets flow. */
CASE(log_unmapped_and_mapped_recovers)
{
	unsigned int i;

	open_stopped();
	dirtylog_on(&dl);
	rig_start(&rig);
	for (i = 0; i < ksft_rounds(30); i++) {
		dirtylog_protect(&dl, i % 2 ? PROT_READ | PROT_WRITE :
				 PROT_NONE);
		try_frames();
		if (i % 4 == 3)
			WAIT_FOR(20, gr_raw_used_idx(&rig.v.q[1].ring) > i);
	}
	dirtylog_protect(&dl, PROT_READ | PROT_WRITE);
	as_new();
}

CASE(log_eventfd_signalled_while_logging)
{
	int fd = vdev_eventfd(), none = -1;

	open_stopped();
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
	/* no event without a log */
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd);
	dirtylog_off(&dl);
	vdev_eventfd_take(fd);
	exchange_rx(&x);
	exchange_tx(&x);
	EXPECT_EQ(vdev_eventfd_take(fd), 0);
}

/* CVE-2015-6252: each call left an eventfd behind. */
CASE(log_eventfd_replaced_does_not_leak)
{
	unsigned int first, i, n = ksft_rounds(3000);
	int none = -1;

	open_stopped();
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

/* An IOVA is translated to memory outside of the table, which has no bit. */
CASE(page_outside_of_the_table_sets_no_bit)
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

/*** when a bit is set ***/

#define F_BASE	(F_V1 | F_MRG | F_IND)
#define BATCH	64	/* used buffers that are worth a flush */

static void open_logging(const struct rig_cfg *cfg)
{
	rig_open(&rig, cfg);
	dirtylog_open(&dl, &rig.v);
	dirtylog_on(&dl);
	rig_start(&rig);
}

static size_t page_of(const void *p)
{
	return ((const uint8_t *)p - rig.v.mem) / LOG_PAGE;
}

/* The first page that begins at p or later. */
static uint8_t *next_page(uint8_t *p)
{
	return rig.v.mem + (p - rig.v.mem + LOG_PAGE - 1) / LOG_PAGE * LOG_PAGE;
}

/* Where the device writes whether it wants kicks. */
static const void *kick_request(const struct guest_ring *r)
{
	const uint8_t *used = r->cfg.used;

	return r->cfg.packed || !r->cfg.event_idx ? used :
	       used + 4 + 8 * r->cfg.num;
}

/*
 * A frame waits for more buffers than there are yet: at each kick the device polls, publishes
 * nothing, and asks for a kick when there is another buffer.
 */
static void request_is_logged(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	unsigned int i;
	size_t page;

	/* num: avail_event in another page than the used index */
	open_logging(&(struct rig_cfg){ .features = features, .num = 1024,
				 .rx_buf = 512 });
	page = page_of(kick_request(&q->ring));
	rig_inject(&rig, 0, 8000);
	for (i = 0; i < 8 && !ksft_failed(); i++) {
		ASSERT_EQ(rig_rx_post(&rig, 1, NULL), 1);
		dirtylog_clear(&dl);
		vdev_kick_always(q);
		if (!WAIT_FOR(2000, dirtylog_has(&dl, page)))
			FAIL("the device asks for a kick, and its log has no bit for it");
	}
	EXPECT(!gr_used_pending(&q->ring));
	finish();
}

CASE(notification_request_is_logged)
{
	request_is_logged(F_BASE);
	request_is_logged(F_BASE | F_EVENT);
}

/* The rings and buffers are private memory, of which the pager is going to hold back some. */
static void open_with_a_pager(const struct rig_cfg *cfg)
{
	rig_open(&rig, cfg);
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	dirtylog_open(&dl, &rig.v);
	dirtylog_on(&dl);
	pager_open();
	pager.holds = true;
}

/*
 * The device publishes a batch and calls, and then waits for a page of the next frame: its
 * session goes on. By the time of the call the ring is in the log.
 */
static void called(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i;
	size_t used;

	open_with_a_pager(&(struct rig_cfg){ .features = features, .bufs = BATCH + 1,
					     .tx_buf = 3 * LOG_PAGE, .stopped = true });
	rig_start(&rig);
	used = page_of(gr_used_place(&q->ring));
	for (i = 0; i < BATCH; i++)
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	/* a page of the one buffer that is left */
	ASSERT_EQ(rig_tx(&rig, 2 * LOG_PAGE, NULL), 0);
	pager_take_away(next_page(q->bufs + (size_t)q->buf_free[0] * q->buf_size), LOG_PAGE);
	gr_call_each(&q->ring);
	dirtylog_clear(&dl);
	vdev_kick_always(q);
	ASSERT(pager_asked(1, 3000));
	EXPECT(vdev_eventfd_take(q->call));
	if (!dirtylog_has(&dl, used))
		FAIL("called, and the used ring is not in the log");
	pager_go_on();
	for (i = 0; i <= BATCH && !ksft_failed(); i++)
		rig_expect(&rig, i, i < BATCH ? 100 : 2 * LOG_PAGE);
	EXPECT(rig_tx_drain(&rig, 3000));
	finish();
}

CASE_ROW(used_ring_is_logged_before_the_call, called(F_BASE))
CASE_ROW(used_ring_is_logged_before_the_call_with_event_idx, called(F_BASE | F_EVENT))

/* Frames wait for buffers, and the log is protected before these come. */
static void log_breaks(uint32_t len)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	unsigned int i, n = 8;

	open_logging(&(struct rig_cfg){ .bufs = 16, .rx_buf = 2048 });
	for (i = 0; i < n; i++)
		rig_inject(&rig, i, len);
	ASSERT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.rx.no_buf") > 0));
	ASSERT_EQ(rig_rx_post(&rig, n, NULL), n);
	dirtylog_protect(&dl, PROT_NONE);
	vdev_kick_always(q);
	EXPECT(vdev_eventfd_wait(q->err, 3000));
	rig_stop(&rig);		/* and with it the session */
	EXPECT(!gr_used_pending(&q->ring));
	EXPECT_EQ(rig_counter(&rig, "kvnet.rx.drop_fault"), 1);
	for (i = 0; i < q->buf_num; i++) {
		const uint8_t *f = q->bufs + (size_t)i * q->buf_size +
				   rig.v.hdr_len;

		if (frame_is_ours(f, len))
			EXPECT_EQ(frame_seq(f), 0);
	}
	/* those behind the first one have not been touched */
	dirtylog_protect(&dl, PROT_READ | PROT_WRITE);
	rig_start(&rig);
	for (i = 1; i < n && !ksft_failed(); i++)
		rig_rx_expect(&rig, i, len);
	finish();
}

CASE(log_broken_stops_all_writes)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net goes on");
	log_breaks(100);
	log_breaks(1000);
}

/* Frames that the device has received or dropped. */
static long frames_done(void)
{
	return rig_counter(&rig, "kvnet.rx.drop_fault") +
	       rig_counter(&rig, "kvnet.rx.packets");
}

/* The buffer ends in a page that the device cannot write. */
static void half_a_copy(uint32_t before, uint32_t len)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	struct gr_buf b = { .len = before + 2000 + len, .write = true };
	uint8_t *page;

	open_logging(&(struct rig_cfg){ .features = F_V1, .bufs = 8,
				 .rx_buf = 4 * LOG_PAGE });
	page = next_page(q->bufs + LOG_PAGE);
	b.ptr = page - before;
	memset(b.ptr, RX_CANARY, before);
	ASSERT_SYS(mprotect(rig.v.host + (page - rig.v.mem), LOG_PAGE, PROT_NONE));
	ASSERT(gr_add(&q->ring, &b, 1, GR_ALL_DIRECT, b.ptr) >= 0);
	vdev_kick_always(q);
	dirtylog_clear(&dl);
	rig_inject(&rig, 0, len);
	ASSERT(WAIT_FOR(3000, frames_done() == 1));
	/* else there is nothing to log */
	EXPECT(*(uint8_t *)b.ptr != RX_CANARY);
	if (!dirtylog_has(&dl, page_of(page - 1)))
		FAIL("%u bytes, of which %u are written: not logged", len,
		     before);
	finish();
}

CASE(copy_failed_half_way_is_logged)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not");
	half_a_copy(60, 200);
	half_a_copy(200, 200);
	/* of this one tun reports success, and the iterator is not at its end */
	half_a_copy(1000, 3000);
}

/* What a queue writes when it starts is logged by SET_BACKEND, even if its worker is busy. */
CASE(start_with_a_busy_worker_is_logged)
{
	struct vdev_queue *tx = &rig.v.q[VDEV_TX];

	/* the worker waits for a page of the other queue's */
	open_with_a_pager(&(struct rig_cfg){ .bufs = 16, .stopped = true });
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	pager_take_away(tx->bufs, (size_t)tx->buf_size * tx->buf_num);
	vdev_kick_always(tx);
	ASSERT(pager_asked(1, 3000));
	dirtylog_clear(&dl);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	EXPECT(dirtylog_has(&dl, page_of(rig.v.q[VDEV_RX].ring.cfg.used)));
	pager_go_on();
	rig_expect(&rig, 0, 100);
	rig_tx_drain(&rig, 3000);
	finish();
}

KSFT_MAIN()
