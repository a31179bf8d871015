// SPDX-License-Identifier: GPL-2.0
/*
 * When a page's bit is set: whoever is told of what was written finds it in the
 * log, also of a session that gave back nothing, of a copy that failed half-way;
 * and with a log that cannot be written no more is written.
 *
 * @again: packed
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "dirtylog.h"
#include "pager.h"
#include "pin_rig.h"

#define F_BASE	(F_V1 | F_MRG | F_IND)
#define BATCH	64	/* used buffers that are worth a flush */

static struct rig rig;
static struct dirtylog dl;

static void ready(const struct rig_cfg *cfg)
{
	rig_open(&rig, cfg);
	dirtylog_open(&dl, &rig.v);
	dirtylog_on(&dl);
	rig_start(&rig);
}

static void finish(void)
{
	dirtylog_close(&dl);
	rig_close(&rig);
}

static size_t page_of(const void *p)
{
	return ((const uint8_t *)p - rig.v.mem) / LOG_PAGE;
}

/* The first page that begins at p or later, in the guest's view. */
static uint8_t *next_page(uint8_t *p)
{
	return rig.v.mem + (p - rig.v.mem + LOG_PAGE - 1) / LOG_PAGE * LOG_PAGE;
}

/* The same in the device's view. */
static void *host_page(const uint8_t *p)
{
	ASSERT_EQ(rig.v.regions, 1);
	return rig.v.host + (p - rig.v.mem);
}

/* What the device writes to ask for kicks, and to be left alone. */
static const void *kick_wish(const struct guest_ring *r)
{
	const uint8_t *used = r->cfg.used;

	return r->cfg.packed || !r->cfg.event_idx ? used :
	       used + 4 + 8 * r->cfg.num;
}

/*
 * A frame that waits for more buffers than there are yet: at each kick the device
 * looks, gives nothing back, and asks for a kick when there is another one.
 */
static void asks_again(uint64_t features)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	unsigned int i;
	size_t page;

	/* num: avail_event in another page than the used index */
	ready(&(struct rig_cfg){ .features = features, .num = 1024,
				 .rx_buf = 512 });
	page = page_of(kick_wish(&q->ring));
	rig_inject(&rig, 0, 8000);
	for (i = 0; i < 8 && !ksft_failed(); i++) {
		ASSERT_EQ(rig_rx_post(&rig, 1, NULL), 1);
		dirtylog_clear(&dl);
		vdev_kick_always(q);
		if (!WAIT_FOR(2000, dirtylog_has(&dl, page)))
			FAIL("the device asks for a kick, and its log does not tell");
	}
	EXPECT(!gr_used_pending(&q->ring));
	finish();
}

CASE(wish_for_kicks_is_logged)
{
	asks_again(F_BASE);
	asks_again(F_BASE | F_EVENT);
}

/* A page of the device's view that is not there, until it is brought. */
static int take_away(uint8_t *page)
{
	struct uffdio_api api = { .api = UFFD_API,
				  .features = UFFD_FEATURE_MISSING_SHMEM };
	struct uffdio_register reg = {
		.range = { (uintptr_t)host_page(page), LOG_PAGE },
		.mode = UFFDIO_REGISTER_MODE_MISSING,
	};
	int fd = syscall(__NR_userfaultfd, O_CLOEXEC | O_NONBLOCK);

	if (fd < 0)
		ksft_skip("userfaultfd: %s", strerror(errno));
	ASSERT_SYS(ioctl(fd, UFFDIO_API, &api));
	ASSERT_SYS(madvise(page, LOG_PAGE, MADV_REMOVE));
	ASSERT_SYS(ioctl(fd, UFFDIO_REGISTER, &reg));
	return fd;
}

static void bring(int fd, const uint8_t *page, const uint8_t *holds)
{
	struct uffdio_copy copy = {
		.dst = (uintptr_t)host_page(page), .src = (uintptr_t)holds,
		.len = LOG_PAGE,
	};

	ASSERT_SYS(ioctl(fd, UFFDIO_COPY, &copy));
}

/*
 * The device gives back a batch and calls, and then waits for a page of the next
 * frame: its session goes on. Whoever was called finds the ring in the log.
 */
static void called(uint64_t features)
{
	static uint8_t holds[LOG_PAGE] __attribute__((aligned(LOG_PAGE)));
	struct rig_cfg cfg = { .features = features, .bufs = BATCH + 1,
			       .tx_buf = 3 * LOG_PAGE };
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	size_t used;
	unsigned int i;
	uint8_t *page;
	int fd;

	ready(&cfg);
	used = page_of(gr_used_place(&q->ring));
	for (i = 0; i < BATCH; i++)
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	/* the one buffer that is left */
	page = next_page(q->bufs + (size_t)q->buf_free[0] * q->buf_size);
	ASSERT_EQ(rig_tx(&rig, 2 * LOG_PAGE, NULL), 0);
	memcpy(holds, page, LOG_PAGE);
	fd = take_away(page);
	gr_call_each(&q->ring);
	dirtylog_clear(&dl);
	vdev_kick_always(q);
	ASSERT(vdev_eventfd_wait(fd, 3000));
	EXPECT(vdev_eventfd_take(q->call));
	if (!dirtylog_has(&dl, used))
		FAIL("called, and the used ring is not in the log");
	bring(fd, page, holds);
	for (i = 0; i <= BATCH && !ksft_failed(); i++)
		rig_expect(&rig, i, i < BATCH ? 100 : 2 * LOG_PAGE);
	EXPECT(rig_tx_drain(&rig, 3000));
	close(fd);
	finish();
}

CASE(used_ring_is_logged_before_the_call)
{
	called(F_BASE);
	called(F_BASE | F_EVENT);
}

/* Frames wait for buffers, and by then there is no log. */
static void log_breaks(uint32_t len)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	unsigned int i, n = 8;

	ready(&(struct rig_cfg){ .bufs = 16, .rx_buf = 2048 });
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

CASE(nothing_is_written_after_the_log_broke)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net goes on");
	log_breaks(100);
	log_breaks(1000);
}

/* Frames that the device has done with, one way or the other. */
static long frames_gone(void)
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

	ready(&(struct rig_cfg){ .features = F_V1, .bufs = 8,
				 .rx_buf = 4 * LOG_PAGE });
	page = next_page(q->bufs + LOG_PAGE);
	b.ptr = page - before;
	memset(b.ptr, RX_CANARY, before);
	ASSERT_SYS(mprotect(host_page(page), LOG_PAGE, PROT_NONE));
	ASSERT(gr_add(&q->ring, &b, 1, GR_ALL_DIRECT, b.ptr) >= 0);
	vdev_kick_always(q);
	dirtylog_clear(&dl);
	rig_inject(&rig, 0, len);
	ASSERT(WAIT_FOR(3000, frames_gone() == 1));
	/* else there is nothing to log */
	EXPECT(*(uint8_t *)b.ptr != RX_CANARY);
	if (!dirtylog_has(&dl, page_of(page - 1)))
		FAIL("%u bytes, of which %u are written: not logged", len,
		     before);
	finish();
}

CASE(half_a_copy_is_logged)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net does not");
	half_a_copy(60, 200);
	half_a_copy(200, 200);
	/* of this one tun says that all is well, but for what is left */
	half_a_copy(1000, 3000);
}

/* What a queue writes as it starts is logged by then, whatever its worker is at. */
CASE(start_is_logged_without_a_worker)
{
	struct vdev_queue *tx = &rig.v.q[VDEV_TX];

	/* which waits for a page of the other queue's */
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	dirtylog_open(&dl, &rig.v);
	dirtylog_on(&dl);
	pager_open();
	pager.holds = true;
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
