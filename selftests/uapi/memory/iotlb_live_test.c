// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic by way of the device IOTLB: rings and buffers are faulted in page by page,
 * unmapped, and mapped elsewhere.
 *
 * A VMM translates to nonsense or not at all, or a guest's addresses have no translation: a
 * queue may stop, but nothing hangs, no other memory is touched, and after a restart the
 * device works.
 *
 * @hosts: newest
 * @again: packed
 * @seconds: 21
 */
#include "exchange.h"
#include "iommu.h"
#include "procfs.h"

#define F_BASE	(F_V1 | F_MRG | F_IND)

static struct rig rig;
static struct iommu io;
static struct exchange x;

static void ready(const struct rig_cfg *cfg, int version)
{
	iommu_rig(&io, &rig, cfg, version);
	x = (struct exchange){ .r = &rig };
	iommu_map_used(&io);
	rig_start(&rig);
}

static void finish(void)
{
	iommu_serve_end(&io);
	iommu_check_graves(&io);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[0].err), 0);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[1].err), 0);
	EXPECT_EQ(io.strays, 0);
	iommu_close(&io);
	rig_close(&rig);
}

static void missed_once(const char *what, const void *ptr, size_t len)
{
	size_t i, last = iommu_page(&io, (const uint8_t *)ptr + len - 1);

	for (i = iommu_page(&io, ptr); i <= last; i++)
		if (!io.missed[i])
			FAIL("%s: page %zu was never missed", what, i);
		else if (io.missed[i] > 1 && !vdev_is_vhost())
			FAIL("%s: page %zu missed %u times", what, i,
			     io.missed[i]);
}

static void all_faulted_in(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct vdev_queue *q = &rig.v.q[i];
		const struct gr_cfg *c = &q->ring.cfg;

		if (!c->packed)		/* else they are mapped before */
			missed_once("desc", c->desc, gr_desc_bytes(c) +
				    gr_avail_bytes(c));
		missed_once("buffers", q->bufs, q->buf_size * q->buf_num);
	}
}

/* Enough frames to use each buffer once, at least. */
static void round_trip(unsigned int bufs)
{
	unsigned int i;

	for (i = 0; i < bufs; i++) {
		uint32_t len = rig.v.q[VDEV_TX].buf_size - rig.v.hdr_len;

		ASSERT_EQ(rig_tx(&rig, len, x.shape), 0);
		vdev_kick(&rig.v.q[VDEV_TX]);
		if (!rig_expect(&rig, rig.tx_seq - 1, len))
			return;
	}
	rig_tx_drain(&rig, 3000);
	rig_rx_post(&rig, bufs, x.shape);
	vdev_kick(&rig.v.q[VDEV_RX]);
	for (i = 0; i < bufs; i++) {
		uint32_t len = rig.v.q[VDEV_RX].buf_size - rig.v.hdr_len;

		rig_inject(&rig, x.rx_seq, len);
		if (!rig_rx_expect(&rig, x.rx_seq++, len))
			return;
	}
}

static void fault_in(uint64_t features, unsigned int num, int version)
{
	/*
	 * Buffers of several pages that begin and end within one; entry 511 of
	 * a used ring lies in two pages.
	 */
	struct rig_cfg cfg = { .features = features, .num = num, .bufs = 24,
			       .tx_buf = 9000, .rx_buf = 5000, .base = 500 };

	ready(&cfg, version);
	iommu_serve(&io);
	round_trip(cfg.bufs);
	iommu_serve_end(&io);
	if (!ksft_failed())
		all_faulted_in();
	finish();
}

/* Rings of many pages, too: the largest have 129 of descriptors alone. */
CASE_TIMED(pages_missing_are_missed_once, 40)
{
	fault_in(F_BASE | F_EVENT, 256, 2);
	fault_in(F_BASE, 256, 1);
	fault_in(F_BASE | F_EVENT, 1024, 1);
	fault_in(F_BASE, 1024, 2);
	fault_in(F_BASE | F_EVENT, GR_NUM_MAX, 2);
}

static void pieces(uint64_t features, const struct shape *shape)
{
	struct rig_cfg cfg = { .features = features, .num = 1024, .bufs = 16,
			       .tx_buf = 65600, .rx_buf = 20000 };
	unsigned int i;

	ready(&cfg, 2);
	x = (struct exchange){ .r = &rig, .burst = 4, .max_len = 65000,
			       .shape = shape };
	iommu_serve(&io);
	for (i = 0; i < ksft_rounds(12) && !ksft_failed(); i++) {
		exchange_tx(&x);
		if (features & F_MRG)
			exchange_rx(&x);
		if (i % 3 == 2)
			iommu_unmap_all(&io, i % 2 ? 0 : ~0ull);
		iommu_check_graves(&io);
	}
	finish();
}

/* Chains, tables and frames of many pages, each page at another user address. */
CASE_TIMED(frames_of_many_pages_pass, 40)
{
	static const struct shape direct = { .piece = 3000, .split_hdr = true };
	static const struct shape table = { .piece = 5000, .indirect = true };

	pieces(F_BASE | F_EVENT, NULL);
	pieces(F_BASE, &direct);
	pieces(F_BASE | F_EVENT, &table);
	pieces(F_V1 | F_IND, &table);
}

static uint8_t *views[2];	/* two mappings of all the guest's memory */

/* Wide updates over small ones, parts of wide ones invalidated: what is left must stay right. */
static void wide_update(unsigned int i)
{
	size_t n = 1 + ksft_below(64), page = ksft_below(io.pages - n);
	uint8_t type = i % 3 ? VHOST_IOTLB_UPDATE : VHOST_IOTLB_INVALIDATE;

	if (type == VHOST_IOTLB_INVALIDATE)
		n = 1 + ksft_below(4);
	EXPECT_EQ(iommu_send(&io, type, iommu_iova(&io, page), n * IOMMU_PAGE,
			     (uintptr_t)views[i & 1] + page * IOMMU_PAGE,
			     IOMMU_RW), 0);
}

CASE_TIMED(updates_that_overlap_translate_right, 40)
{
	unsigned int i, j;

	ready(&(struct rig_cfg){ .bufs = 64, .rx_buf = 2000 }, 2);
	views[0] = rig.v.host;
	views[1] = mmap(NULL, rig.v.mem_size, PROT_READ | PROT_WRITE,
			MAP_SHARED, rig.v.memfd, 0);
	ASSERT(views[1] != MAP_FAILED);
	io.in_table = true;
	iommu_serve(&io);
	exchange_start(&x);
	for (i = 0; i < ksft_rounds(60) && !ksft_failed(); i++) {
		for (j = 0; j < 50; j++)
			wide_update(j);
		exchange_wait(&x);
	}
	exchange_end(&x);
	finish();
}

/* A session keeps the driver's request for no calls from the session before. */
CASE(calls_off_hold_in_the_next_session)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .features = F_BASE | F_EVENT }, 2);
	x = (struct exchange){ .r = &rig };
	iommu_map_used(&io);
	rig_start(&rig);
	iommu_serve(&io);
	exchange_tx(&x);
	gr_call_off(&q->ring);
	exchange_tx(&x);
	wait_worker_idle();
	vdev_eventfd_take(q->call);
	for (i = 0; i < 20 && !ksft_failed(); i++)
		exchange_tx(&x);
	EXPECT_EQ(vdev_eventfd_take(q->call), 0);
	finish();
}

/* Neighbouring bytes of [ptr, ptr + len), each few at another user address. */
static void map_in_pieces(const void *ptr, size_t len, size_t step)
{
	size_t from = (const uint8_t *)ptr - rig.v.mem, at;
	uint8_t *alias[4];
	unsigned int i;

	for (i = 0; i < 4; i++) {
		alias[i] = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_SHARED,
				rig.v.memfd, from & ~4095ul);
		ASSERT(alias[i] != MAP_FAILED);
	}
	for (at = 0, i = 0; at < len; at += step, i++)
		EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE,
				     vdev_bus(&rig.v, ptr) + at, step,
				     (uintptr_t)alias[i % 4] + from % 4096 + at,
				     IOMMU_RW), 0);
}

static void tiny_pieces(uint64_t features)
{
	unsigned int i;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .features = features,
						.num = 32 }, 2);
	x = (struct exchange){ .r = &rig };
	for (i = 0; i < 2; i++) {
		const struct gr_cfg *c = &rig.v.q[i].ring.cfg;

		map_in_pieces(c->desc, gr_desc_bytes(c) +
			      gr_avail_bytes(c), 8);
		map_in_pieces(c->used, gr_used_bytes(c), 8);
	}
	rig_start(&rig);
	iommu_serve(&io);
	for (i = 0; i < 40 && !ksft_failed(); i++) {
		if (i == 20)	/* and all in one piece again */
			iommu_unmap_all(&io, 0);
		exchange_tx(&x);
		exchange_rx(&x);
	}
	finish();
}

/* No IOMMU has such pages, but IOTLB messages allow them. */
CASE(rings_in_pieces_of_eight_bytes_work)
{
	tiny_pieces(F_BASE | F_EVENT);
	tiny_pieces(F_BASE);
}

static void unmap_while_running(void (*change)(unsigned int i), unsigned int n)
{
	struct rig_cfg cfg = { .bufs = 64, .tx_buf = 3000, .rx_buf = 1600 };
	unsigned long misses;
	unsigned int i, event;

	for (event = 0; event < 2 && !ksft_failed(); event++) {
		cfg.features = event ? F_BASE | F_EVENT : F_BASE;
		ready(&cfg, 2);
		iommu_serve(&io);
		exchange_start(&x);
		for (i = 0; i < ksft_rounds(n) && !ksft_failed(); i++) {
			change(i);
			if (i % 8 == 0)
				exchange_wait(&x);
			if (i % 64 == 0)
				iommu_check_graves(&io);
		}
		misses = io.misses;
		exchange_end(&x);
		if (ksft_failed())
			ksft_note("event index %u: change %u, %lu misses", event, i, misses);
		EXPECT_GE(misses, 20);
		finish();
	}
}

static void unmap_buffer(unsigned int i)
{
	struct vdev_queue *q = &rig.v.q[i % 2];
	size_t pages = q->buf_num * q->buf_size / IOMMU_PAGE;

	iommu_unmap(&io, iommu_page(&io, q->bufs) + ksft_below(pages));
}

CASE_ROW_TIMED(buffers_unmapped_under_traffic_are_missed_again, 40,
	unmap_while_running(unmap_buffer, 500))

static void unmap_ring(unsigned int i)
{
	const struct gr_cfg *c = &rig.v.q[i % 2].ring.cfg;

	if (ksft_below(2))
		iommu_unmap_area(&io, c->used, gr_used_bytes(c));
	else
		iommu_unmap_area(&io, c->desc, gr_desc_bytes(c) +
				 gr_avail_bytes(c));
}

CASE_ROW_TIMED(rings_unmapped_under_traffic_are_missed_again, 40,
	unmap_while_running(unmap_ring, 300))

static void unmap_anything(unsigned int i)
{
	switch (ksft_below(4)) {
	case 0:
		iommu_unmap_all(&io, ksft_below(2) ? 0 : ~0ull);
		iommu_check_graves(&io);
		break;
	case 1:
		unmap_ring(i);
		break;
	default:
		unmap_buffer(i);
	}
}

CASE_ROW_TIMED(everything_unmapped_under_traffic_is_missed_again, 40,
	unmap_while_running(unmap_anything, 200))

static void move_table(unsigned int i)
{
	uint8_t *old = vdev_map_host(&rig.v);

	vdev_set_mem(&rig.v);
	vdev_unmap_host(&rig.v, old);
	unmap_buffer(i);
}

/* The memory table translates guest-physical addresses, which are not used here. */
CASE_ROW_TIMED(memory_table_moved_under_traffic_is_not_used, 40,
	unmap_while_running(move_table, 100))

/* 'n' translations that no queue needs, one in four of them the same again. */
static void flood(unsigned int n)
{
	static unsigned int nr;
	uint64_t far = 1ull << 40;
	int ret;

	for (; n && !ksft_failed(); n--) {
		uint64_t at = nr % 4 ? far + nr * 8192ull : far;

		ret = iommu_send(&io, VHOST_IOTLB_UPDATE, at, 4096,
				 (uintptr_t)rig.v.host, IOMMU_RW);
		EXPECT(!ret || ret == -EFAULT);	/* that is ENOSPC */
		if (nr++ % 4096 == 0) {
			exchange_tx(&x);
			exchange_rx(&x);
		}
	}
}

static void flood_for_long(void)
{
	flood(100000);
}

/*
 * Far more translations than a device keeps (2048 by vhost's default): no memory is lost,
 * the oldest may be dropped and are missed again.
 */
CASE_TIMED(updates_without_end_take_no_memory, 60)
{
	ready(&(struct rig_cfg){ .bufs = 32, .rx_buf = 2048 }, 2);
	iommu_serve(&io);
	flood(8192);
	/* 75 000 of them would be 2.4 MB at the least */
	memory_is_given_back(flood_for_long, 1500);
	exchange_tx(&x);
	exchange_rx(&x);
	finish();
}

/*** wrong translations, and none ***/

static void ready_with(uint64_t features)
{
	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 32,
						.features = features }, 2);
	x = (struct exchange){ .r = &rig, .burst = 8 };
}

/* Backends off, nothing mapped, rings and tap empty. */
static void clear_all(void)
{
	uint64_t start = ksft_now_ms();

	rig_stop(&rig);
	EXPECT_LE(ksft_now_ms() - start, ksft_patience(3000));
	EXPECT(!iommu_readable(&io, 0));
	iommu_unmap_all(&io, 0);
	iommu_check_graves(&io);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig.tx_out = 0;
	rig_flush(&rig);
}

/* A stop, a start, and all works. */
static void as_new(void)
{
	clear_all();
	iommu_map_used(&io);
	rig_start(&rig);
	iommu_serve(&io);
	exchange_tx(&x);
	exchange_rx(&x);
	iommu_serve_end(&io);
	iommu_check_graves(&io);
	iommu_close(&io);
	rig_close(&rig);
}

static bool stopped_or_dropped(struct vdev_queue *q)
{
	return vdev_eventfd_wait(q->err, 0) || gr_used_pending(&q->ring);
}

/* All pages of both queues but the first buffer of one. */
static void map_all_but(const uint8_t *buf, size_t len)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		struct vdev_queue *q = &rig.v.q[i];
		const struct gr_cfg *c = &q->ring.cfg;

		iommu_map_area(&io, c->desc, gr_desc_bytes(c) +
			       gr_avail_bytes(c),
			       c->packed ? IOMMU_RW : IOMMU_RO);
		iommu_map_area(&io, c->used, gr_used_bytes(c), IOMMU_RW);
		iommu_map_area(&io, q->bufs, q->buf_size * q->buf_num,
			       IOMMU_RW);
	}
	iommu_unmap_area(&io, buf, len);
}

static void other_queue_works(unsigned int q)
{
	if (q == VDEV_TX)
		exchange_rx(&x);
	else
		exchange_tx(&x);
}

/* The first buffer of the pool, as big as a page, in the ring of queue q. */
static uint8_t *offer(unsigned int q)
{
	uint8_t *buf;

	if (q == VDEV_RX) {
		rig_rx_post(&rig, 1, NULL);
		buf = rig.v.q[q].bufs;
		rig_inject(&rig, x.rx_seq++, 1000);
	} else {
		buf = rig.v.q[q].bufs;
		ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	}
	return buf;
}

/* A page without the permission that the buffer needs. */
static void forbidden(unsigned int q, uint8_t perm)
{
	struct vhost_iotlb_msg m = { 0 };
	uint8_t *buf, junk[64];
	uint16_t used;

	ready_with(F_BASE);
	buf = rig.v.q[q].bufs;
	map_all_but(buf, 4096);
	iommu_map_area(&io, buf, 4096, perm);
	rig_start(&rig);
	used = gr_raw_used_idx(&rig.v.q[q].ring);
	EXPECT(offer(q) == buf);
	vdev_kick_always(&rig.v.q[q]);
	/* an error, or a miss for that permission; no data */
	EXPECT(WAIT_FOR(3000, vdev_eventfd_wait(rig.v.q[q].err, 0) ||
			iommu_read(&io, &m)));
	if (m.type)
		EXPECT(m.perm & ~perm & IOMMU_RW);
	if (q == VDEV_RX) {
		EXPECT_EQ(gr_raw_used_idx(&rig.v.q[q].ring), used);
		ksft_all_bytes("the buffer", buf, RX_CANARY, 4096);
	} else {
		EXPECT_EQ(rig_sniff(&rig, junk, sizeof(junk), 0), -1);
	}
	other_queue_works(q);
	as_new();
}

CASE(buffer_without_permission_not_touched)
{
	forbidden(VDEV_RX, IOMMU_RO);
	forbidden(VDEV_TX, IOMMU_WO);
}

/* What is mapped suffices for a frame. */
static void frame_passes(unsigned int q, const struct shape *shape)
{
	rig_start(&rig);
	if (q == VDEV_RX) {
		rig_rx_post(&rig, 4, shape);
		vdev_kick_always(&rig.v.q[q]);
		rig_inject(&rig, 77, 1000);
		EXPECT(rig_rx_expect(&rig, 77, 1000));
	} else {
		ASSERT_EQ(rig_tx(&rig, 1000, shape), 0);
		vdev_kick_always(&rig.v.q[q]);
		EXPECT(rig_expect(&rig, rig.tx_seq - 1, 1000));
		EXPECT(rig_tx_drain(&rig, 3000));
	}
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[q].err), 0);
	as_new();
}

/* An indirect table is only read, also where the device writes the buffers. */
CASE(indirect_table_read_only_suffices)
{
	const struct shape table = { .piece = 100, .indirect = true };
	const size_t len = 256ul << 10;
	const uint8_t *at;
	unsigned int q;

	for (q = 0; q < 2; q++) {
		ready_with(F_BASE);
		at = rig.v.q[q].ring.cfg.ind;
		ASSERT_EQ((uintptr_t)at % 4096, 0);
		map_all_but(at, len);
		iommu_map_area(&io, at, len, IOMMU_RO);
		frame_passes(q, &table);
	}
}

/* The device does not read what it is to write, nor write what it is to read. */
CASE(buffers_of_one_permission_suffice)
{
	struct vdev_queue *queue;
	unsigned int q;

	for (q = 0; q < 2; q++) {
		ready_with(F_BASE);
		queue = &rig.v.q[q];
		map_all_but(queue->bufs, queue->buf_size * queue->buf_num);
		iommu_map_area(&io, queue->bufs, queue->buf_size * queue->buf_num,
			       q == VDEV_RX ? IOMMU_WO : IOMMU_RO);
		frame_passes(q, NULL);
	}
}

/* SET_BACKEND may fail at once for a queue without usable rings. */
static void start_or_refuse(unsigned int q)
{
	int ret = __vdev_backend(&rig.v, q, rig.tap);

	EXPECT(!ret || ret == -EFAULT);
	vdev_backend(&rig.v, !q, rig.tap);
}

/*
 * A used ring that may only be read stays as it is. The device writes the
 * descriptors of a packed one.
 */
CASE(used_ring_read_only_not_written)
{
	unsigned int q;

	for (q = 0; q < 4; q++) {
		const struct gr_cfg *c;

		ready_with(F_BASE);
		c = &rig.v.q[q % 2].ring.cfg;
		if (q < 2 || !c->packed) {
			map_all_but(c->used, gr_used_bytes(c));
			iommu_map_area(&io, c->used, gr_used_bytes(c),
				       IOMMU_RO);
		} else {
			map_all_but(c->desc, gr_desc_bytes(c));
			iommu_map_area(&io, c->desc, gr_desc_bytes(c),
				       IOMMU_RO);
		}
		start_or_refuse(q % 2);
		offer(q % 2);
		vdev_kick_always(&rig.v.q[q % 2]);
		other_queue_works(q % 2);
		EXPECT_EQ(gr_raw_used_idx(&rig.v.q[q % 2].ring), 0);
		as_new();
	}
}

/* Once the translation is right, frames arrive, or the queue has reported an error. */
static void goes_on_receiving(const uint8_t *buf)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];

	iommu_unmap_area(&io, buf, 8192);
	iommu_map_area(&io, buf, 8192, IOMMU_RW);
	rig_inject(&rig, x.rx_seq++, 1000);
	vdev_kick_always(q);
	EXPECT(WAIT_FOR(3000, stopped_or_dropped(q)));
}

/* The translation leads to an address without memory behind it. */
static void leads_nowhere(unsigned int q, int prot)
{
	struct vdev_queue *vq = &rig.v.q[q];
	uint8_t *buf, *hole;

	ready_with(F_BASE | F_EVENT);
	hole = mmap(NULL, 8192, prot, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	buf = vq->bufs;
	map_all_but(buf, 8192);
	EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_UPDATE, vdev_bus(&rig.v, buf),
			     8192, (uintptr_t)hole, IOMMU_RW), 0);
	rig_start(&rig);
	if (prot == PROT_NONE)
		munmap(hole, 8192);
	EXPECT(offer(q) == buf);
	vdev_kick_always(vq);
	/* vhost_net neither uses the buffer nor reports an error */
	if (q == VDEV_RX)
		WAIT_FOR(100, stopped_or_dropped(vq));
	else if (!vdev_is_vhost())
		EXPECT(WAIT_FOR(3000, stopped_or_dropped(vq)));
	other_queue_works(q);
	if (q == VDEV_RX)
		goes_on_receiving(buf);
	as_new();
}

CASE(buffer_translated_to_no_memory_recovers)
{
	leads_nowhere(VDEV_RX, PROT_NONE);
	leads_nowhere(VDEV_TX, PROT_NONE);
	leads_nowhere(VDEV_RX, PROT_READ);
}

CASE(ring_translated_to_no_memory_recovers)
{
	unsigned int q, area;

	for (q = 0; q < 2; q++) {
		for (area = 0; area < 2 && !ksft_failed(); area++) {
			const struct gr_cfg *c;
			const uint8_t *p;
			void *hole;

			ready_with(F_BASE);
			c = &rig.v.q[q].ring.cfg;
			p = area ? c->used : c->desc;
			hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE |
				    MAP_ANONYMOUS, -1, 0);
			map_all_but(p, 4096);
			iommu_send(&io, VHOST_IOTLB_UPDATE, vdev_bus(&rig.v, p),
				   4096, (uintptr_t)hole, IOMMU_RW);
			start_or_refuse(q);
			offer(q);
			vdev_kick_always(&rig.v.q[q]);
			WAIT_FOR(200, stopped_or_dropped(&rig.v.q[q]));
			other_queue_works(q);
			as_new();
		}
	}
}

/* Without a kick: the driver gets no buffer back, and notifications are off. */
static void missed_again(unsigned int q)
{
	struct vdev_queue *vq = &rig.v.q[q];
	struct vhost_iotlb_msg first, again;

	ready_with(F_BASE | F_EVENT);
	map_all_but(vq->bufs, 16 * 4096);
	rig_start(&rig);
	offer(q);
	vdev_kick_always(vq);
	ASSERT(iommu_readable(&io, 3000));
	ASSERT(iommu_read(&io, &first));
	/* a VMM that could not answer may be able to by now */
	ASSERT(iommu_readable(&io, 10000));
	ASSERT(iommu_read(&io, &again));
	EXPECT_EQ(again.iova, first.iova);
	EXPECT_EQ(again.perm, first.perm);
	iommu_answer(&io, &again);
	EXPECT(WAIT_FOR(3000, (iommu_pump(&io), gr_used_pending(&vq->ring))));
	as_new();
}

CASE(miss_unanswered_repeated_after_a_while)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net repeats a miss at each kick, or never");
	missed_again(VDEV_RX);
	missed_again(VDEV_TX);
}

struct wild {
	uint64_t addr;
	uint32_t len;
	uint16_t flags;
};

/* Raw descriptors; queue TX reads them, queue RX writes. */
static void wild_descriptor(unsigned int q, const struct wild *w)
{
	struct vdev_queue *vq = &rig.v.q[q];
	uint64_t one = 1;

	gr_raw_offer(&vq->ring, w->addr, w->len,
		     w->flags | (q == VDEV_RX ? GR_DESC_F_WRITE : 0));
	if (q == VDEV_RX)
		rig_inject(&rig, x.rx_seq++, 1000);
	ASSERT_EQ(write(vq->kick, &one, 8), 8);
}

CASE_TIMED(addresses_without_translation_are_not_used, 40)
{
	static const struct wild rows[] = {
		{ ~0ull - 100, 4096, 0 },	/* wraps */
		{ ~0ull - 4095, 4096, 0 },	/* ends at 2^64 */
		{ ~0ull, 1, 0 },
		{ 0, ~0u, 0 },
		{ 0, 4096, 0 },
		{ VDEV_GPA, 4096, 0 },		/* guest-physical */
		{ IOMMU_BUS, 4096, 0 },
		{ ~0ull - 100, 4096, GR_DESC_F_INDIRECT },
		{ 0, 16, GR_DESC_F_INDIRECT },
		{ VDEV_GPA, 1 << 20, GR_DESC_F_INDIRECT },
	};
	unsigned int q, i;

	for (q = 0; q < 2; q++) {
		ready_with(F_BASE | F_EVENT);
		for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			clear_all();
			map_all_but(rig.v.mem, 4096);
			iommu_map_area(&io, rig.v.mem, 4096, IOMMU_RW);
			rig_start(&rig);
			wild_descriptor(q, &rows[i]);
			WAIT_FOR(200, iommu_readable(&io, 0) ||
				 stopped_or_dropped(&rig.v.q[q]));
			/* misses without a useful answer, many times */
			iommu_pump(&io);
			other_queue_works(q);
			EXPECT_EQ(gr_raw_used_idx(&rig.v.q[q].ring), 0);
			if (ksft_failed()) {
				ksft_note("row %u, queue %u", i, q);
				return;
			}
		}
		as_new();
	}
}

/*** all at once ***/

static bool over;

/* Random translations, some of them onto the rings themselves. */
static void *send_at_random(void *arg)
{
	struct vhost_iotlb_msg m;

	while (!__atomic_load_n(&over, __ATOMIC_ACQUIRE)) {
		uint64_t iova = iommu_iova(&io, ksft_below(io.pages));
		uint64_t size = (1 + ksft_below(64)) * 4096ull;
		uint64_t at = ksft_below(rig.v.mem_size / 2);

		if (iommu_read(&io, &m))
			iova = m.iova & ~4095ull;
		iommu_send(&io, ksft_below(3) ? VHOST_IOTLB_UPDATE : VHOST_IOTLB_INVALIDATE,
			   iova, size, (uintptr_t)rig.v.host + at, IOMMU_RW);
	}
	return arg;
}

/*
 * Messages beside ioctls that replace the IOTLB and start and stop queues. No single result is
 * right or wrong: the kernel must survive, and the device must work afterwards. stress/sysfuzz
 * has more threads, and every ioctl.
 */
CASE_TIMED(messages_and_ioctls_at_once_survived, 40)
{
	static const uint64_t flip[] = { F_PLATFORM, 0, F_LOG };
	uint64_t end = ksft_now_ms() + 1000ull * ksft_rounds(1);
	uint64_t features;
	unsigned int i;
	pthread_t t;

	ready_with(F_BASE | F_EVENT);
	iommu_map_used(&io);
	ASSERT_EQ(pthread_create(&t, NULL, send_at_random, NULL), 0);
	for (i = 0; ksft_now_ms() < end; i++) {
		features = rig.v.features ^ flip[i % 3];
		__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &features);
		__vdev_backend(&rig.v, i % 2, ksft_below(3) ? rig.tap : -1);
		__vdev_set_mem(&rig.v);
		rig_inject(&rig, i, 500);
		vdev_kick_always(&rig.v.q[i % 2]);
	}
	__atomic_store_n(&over, true, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	rig_stop(&rig);
	vdev_set_features(&rig.v, rig.v.features);
	as_new();
}

KSFT_MAIN()
