// SPDX-License-Identifier: GPL-2.0
/*
 * Live migration in small: while packets flow, a thread takes bits from the log
 * and copies those pages, as QEMU does.  After the stop and a last pass the copy
 * must equal the guest's memory, wherever the device may have written.
 *
 * The guest writes nothing but its avail rings, descriptors and what it sends:
 * a hypervisor would see these.
 *
 * @hosts: newest
 * @again: packed
 * @seconds: 12
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "dirtylog.h"
#include "iommu.h"

#define F_BASE	(F_V1 | F_MRG | F_IND)
#define BURST	32u

static struct rig rig;
static struct iommu io;
static struct dirtylog dl;
static uint8_t *image, *device_pages;
static uint32_t rx_seq;
static uint32_t max_len;
static bool platform, stop;
static unsigned long rounds, moved;
static void (*disturb)(unsigned int turn);

static void post(void)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	struct gr_buf b = { .len = q->buf_size, .write = true };

	if (q->buf_left < q->buf_num / 2)
		return;
	while ((b.ptr = vdev_buf_get(q)))
		ASSERT(gr_add(&q->ring, &b, 1, GR_ALL_DIRECT, b.ptr) >= 0);
	vdev_kick(q);
}

/* As rig_rx(), for buffers that still have their old contents. */
static bool take(uint32_t seq, uint32_t len)
{
	static uint8_t flat[FRAME_MAX + 8192];
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	unsigned int have = 0, want = 1;
	struct gr_done d;
	size_t at = 0;

	while (have++ < want) {
		if (!WAIT_FOR(5000, gr_used_pending(&q->ring)) ||
		    gr_get_used(&q->ring, &d) != 1) {
			FAIL("RX: frame %u did not arrive", seq);
			return false;
		}
		ASSERT(at + d.len <= sizeof(flat));
		memcpy(flat + at, d.token, d.len);
		at += d.len;
		vdev_buf_put(q, d.token);
		if (have == 1 && rig.v.features & F_MRG)
			want = flat[10] | flat[11] << 8;
	}
	return frame_check(flat + rig.v.hdr_len, at - rig.v.hdr_len, seq, len);
}

static void *guest(void *arg)
{
	uint32_t len[BURST], first;
	unsigned int i, n;

	while (!__atomic_load_n(&stop, __ATOMIC_ACQUIRE) && !ksft_failed()) {
		post();
		n = 1 + ksft_below(BURST);
		first = rx_seq;
		for (i = 0; i < n; i++) {
			len[i] = FRAME_MIN + ksft_below(max_len - FRAME_MIN);
			rig_inject(&rig, rx_seq++, len[i]);
		}
		for (i = 0; i < n; i++) {
			if (!take(first + i, len[i]))
				break;
			post();
		}
		ASSERT_EQ(rig_tx(&rig, 500, NULL), 0);
		vdev_kick(&rig.v.q[VDEV_TX]);
		rig_expect(&rig, rig.tx_seq - 1, 500);
		rig_tx_drain(&rig, 3000);
		__atomic_fetch_add(&rounds, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

/*
 * Descriptors are the guest's and the device's in turn: those that are the
 * device's now. What the guest wrote nobody has logged here.
 */
static bool used_descs_equal(const struct gr_cfg *c)
{
	const struct gr_packed_desc *d = c->desc;
	const uint8_t *copy = image + ((uint8_t *)c->desc - rig.v.mem);
	unsigned int i;

	for (i = 0; c->packed && i < c->num; i++) {
		bool avail = d[i].flags & GR_PACKED_F_AVAIL;
		bool used = d[i].flags & GR_PACKED_F_USED;

		if (avail == used && memcmp(copy + 16 * i + 8, &d[i].len, 8)) {
			FAIL("used descriptor %u is not in the copy", i);
			return false;
		}
	}
	return true;
}

static void compare(void)
{
	unsigned int bad = 0;
	size_t i;

	for (i = 0; i < 2; i++)
		used_descs_equal(&rig.v.q[i].ring.cfg);
	for (i = 0; i < dl.pages; i++)
		if (device_pages[i] && memcmp(image + i * LOG_PAGE, rig.v.mem +
					      i * LOG_PAGE, LOG_PAGE) && !bad++)
			FAIL("page %zu of %zu was written and not logged", i,
			     dl.pages);
	if (bad > 1)
		FAIL("... and %u others", bad - 1);
}

/* Pages of the pool that hold nothing that the guest writes. */
static void mark_buffers(const struct vdev_queue *q)
{
	size_t from = q->bufs - rig.v.mem;
	size_t to = from + (size_t)q->buf_num * q->buf_size;

	from = (from + LOG_PAGE - 1) / LOG_PAGE * LOG_PAGE;
	to = to / LOG_PAGE * LOG_PAGE;
	pages_mark(&dl, device_pages, rig.v.mem + from, to - from);
}

static void ready(const struct rig_cfg *cfg, uint32_t longest)
{
	unsigned int i;

	platform = cfg->features & F_PLATFORM;
	max_len = longest;
	if (platform) {
		iommu_rig(&io, &rig, cfg, 2);
		io.in_table = true;
		iommu_map_used(&io);
		iommu_serve(&io);
		rig_start(&rig);
	} else {
		rig_open(&rig, cfg);
	}
	dirtylog_open(&dl, &rig.v);
	image = malloc(rig.v.mem_size);
	device_pages = calloc(1, dl.pages);
	ASSERT(image && device_pages);
	for (i = 0; i < 2; i++) {
		const struct gr_cfg *c = &rig.v.q[i].ring.cfg;

		pages_mark(&dl, device_pages, c->used, gr_used_bytes(c));
	}
	mark_buffers(&rig.v.q[VDEV_RX]);
}

static unsigned long rounds_done(void)
{
	return __atomic_load_n(&rounds, __ATOMIC_ACQUIRE);
}

static void another_round(void)
{
	unsigned long seen = rounds_done();

	WAIT_FOR(8000, ksft_failed() || seen != rounds_done());
}

/*
 * Log on under traffic, copy all, copy what is dirty until the guest has done
 * 'more' rounds, stop, copy the rest.
 */
static void migrate(unsigned int more)
{
	uint64_t end = ksft_now_ms() + ksft_patience(20000);
	unsigned long until = rounds_done() + more;
	unsigned int i, n;

	dirtylog_clear(&dl);
	dirtylog_on(&dl);
	memcpy(image, rig.v.mem, rig.v.mem_size);
	for (i = 0; rounds_done() < until && !ksft_failed(); i++) {
		n = dirtylog_move(&dl, dl.map, image);
		moved += n;
		if (disturb)
			disturb(i);
		if (!n)
			sched_yield();
		if (ksft_now_ms() > end)
			FAIL("the guest has come to a halt");
	}
	rig_stop(&rig);
	moved += dirtylog_move(&dl, dl.map, image);
	compare();
	EXPECT(!dirtylog_strays(&dl));
	dirtylog_off(&dl);
	if (platform)
		iommu_map_used(&io);
	rig_start(&rig);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
}

static void migrations(const char *what, const struct rig_cfg *cfg,
		       uint32_t longest, unsigned int n, unsigned int more)
{
	unsigned int i;
	pthread_t t;

	rx_seq = rounds = moved = 0;
	stop = false;
	ready(cfg, longest);
	ASSERT_EQ(pthread_create(&t, NULL, guest, NULL), 0);
	for (i = 0; i < n && !ksft_failed(); i++) {
		migrate(more);
		another_round();
	}
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	ksft_note("%s: %lu pages copied, %u frames", what, moved, rx_seq);
	EXPECT_GE(moved, n);
	if (platform)
		iommu_close(&io);
	dirtylog_close(&dl);
	rig_close(&rig);
	free(image);
	free(device_pages);
}

CASE_TIMED(copy_is_complete, 60)
{
	unsigned int n = ksft_rounds(3);

	migrations("small", &(struct rig_cfg){ .features = F_BASE | F_EVENT },
		   1500, n, 50);
	migrations("flags", &(struct rig_cfg){ .features = F_BASE, .regions = 4,
					       .rx_buf = 2000 },
		   1500, n, 50);
	migrations("big", &(struct rig_cfg){ .features = F_BASE | F_EVENT,
					     .num = 1024, .rx_buf = 5000,
					     .regions = 8 }, 60000, n, 15);
	migrations("not mergeable", &(struct rig_cfg){ .features = F_V1,
						       .bufs = 64 },
		   1500, n, 30);
}

CASE_TIMED(copy_by_iova_is_complete, 60)
{
	migrations("iova", &(struct rig_cfg){ .features = F_BASE | F_EVENT |
					      F_PLATFORM, .rx_buf = 3000 },
		   1500, ksft_rounds(3), 50);
}

/* A new bitmap under way; bits that are in the old one count still. */
static void new_base(unsigned int turn)
{
	uint64_t *old;

	if (turn % 4)
		return;
	old = dirtylog_replace(&dl);
	moved += dirtylog_move(&dl, old, image);
	dirtylog_unmap(&dl, old);	/* not used any more */
}

CASE_TIMED(bitmap_replaced_under_traffic, 40)
{
	disturb = new_base;
	migrations("base", &(struct rig_cfg){ .features = F_BASE | F_EVENT },
		   1500, ksft_rounds(2), 80);
}

/* QEMU: the log grows before the table does. */
static void new_table(unsigned int turn)
{
	uint8_t *host;

	if (turn % 8)
		return;
	new_base(0);
	/* packed rings are logged by their place in the table: it must stay */
	if (rig.v.features & F_PACKED)
		return;
	host = vdev_map_host(&rig.v);
	vdev_set_mem(&rig.v);
	vdev_unmap_host(&rig.v, host);
}

CASE_TIMED(memory_table_moves_while_logging, 40)
{
	disturb = new_table;
	migrations("table", &(struct rig_cfg){ .features = F_BASE | F_EVENT,
					       .regions = 4 },
		   1500, ksft_rounds(2), 80);
}

static void addresses_again(unsigned int turn)
{
	if (turn % 4 == 0)
		dirtylog_addrs(&rig.v);
}

CASE_TIMED(addresses_set_again_while_logging, 40)
{
	disturb = addresses_again;
	migrations("addresses", &(struct rig_cfg){ .features = F_BASE }, 1500,
		   ksft_rounds(2), 80);
}

static void unmap_some(unsigned int turn)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	size_t first = iommu_page(&io, q->bufs);

	if (turn % 4 == 0)
		iommu_unmap_all(&io, 0);
	else
		iommu_unmap(&io, first + ksft_below(q->buf_num));
}

CASE_TIMED(unmapped_by_iova_while_logging, 40)
{
	disturb = unmap_some;
	migrations("unmap", &(struct rig_cfg){ .features = F_BASE | F_EVENT |
					       F_PLATFORM },
		   1500, ksft_rounds(2), 80);
}

/* On and off, much faster than anything could be copied. */
CASE_TIMED(toggled_under_traffic, 40)
{
	unsigned int i;
	pthread_t t;

	ready(&(struct rig_cfg){ .features = F_BASE | F_EVENT }, 1500);
	ASSERT_EQ(pthread_create(&t, NULL, guest, NULL), 0);
	for (i = 0; i < ksft_rounds(400) && !ksft_failed(); i++) {
		dirtylog_on(&dl);
		if (i % 16 == 0)
			another_round();
		dirtylog_off(&dl);
		if (i % 16 == 8)
			another_round();
	}
	migrate(20);
	__atomic_store_n(&stop, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
}

KSFT_MAIN()
