// SPDX-License-Identifier: GPL-2.0
/*
 * Traffic by way of the device IOTLB: rings and buffers are faulted in page by
 * page, taken away and come back elsewhere.
 *
 * @hosts: newest
 * @again: packed
 * @seconds: 10
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

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

/* So many frames that each buffer is used once, at least. */
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
CASE_TIMED(faulted_in_page_by_page, 40)
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

/* Chains, tables and frames of many pages, each page somewhere else. */
CASE_TIMED(big_frames_in_pieces, 40)
{
	static const struct shape direct = { .piece = 3000, .split_hdr = true };
	static const struct shape table = { .piece = 5000, .indirect = true };

	pieces(F_BASE | F_EVENT, NULL);
	pieces(F_BASE, &direct);
	pieces(F_BASE | F_EVENT, &table);
	pieces(F_V1 | F_IND, &table);
}

static uint8_t *views[2];	/* of the whole memory, both right */

/* Wide ones over small ones, parts of wide ones away: halves must stay right. */
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

CASE_TIMED(overlapping_updates_and_holes, 40)
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

/* What has been told of once is known in the next session, too. */
CASE(calls_not_asked_for_do_not_come)
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

/* Features that are told anew come with an empty IOTLB: no ring is where it was. */
CASE(rings_are_looked_for_in_the_new_iotlb)
{
	struct vhost_iotlb_msg m;

	ready(&(struct rig_cfg){ .features = F_BASE }, 2);
	iommu_serve(&io);
	exchange_tx(&x);
	exchange_rx(&x);
	wait_worker_idle();
	iommu_serve_end(&io);
	ASSERT(!iommu_readable(&io, 0));
	iommu_set_features(&io, rig.v.features);
	iommu_forget(&io);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	ASSERT(iommu_readable(&io, 3000));
	ASSERT(iommu_read(&io, &m));
	EXPECT_OP(m.iova - iommu_iova(&io, 0), <, VDEV_RING_ZONE);
	iommu_answer(&io, &m);
	iommu_serve(&io);
	exchange_tx(&x);
	exchange_rx(&x);
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

/* No IOMMU has such pages, but the messages can say it. */
CASE(rings_in_pieces_of_eight_bytes)
{
	tiny_pieces(F_BASE | F_EVENT);
	tiny_pieces(F_BASE);
}

static void unmap_while_running(const char *what, uint64_t features,
				void (*change)(unsigned int i), unsigned int n)
{
	struct rig_cfg cfg = { .features = features, .bufs = 64,
			       .tx_buf = 3000, .rx_buf = 1600 };
	unsigned long misses;
	unsigned int i;

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
		ksft_note("%s: change %u, %lu misses", what, i, misses);
	EXPECT_GE(misses, 20);
	finish();
}

static void unmap_buffer(unsigned int i)
{
	struct vdev_queue *q = &rig.v.q[i % 2];
	size_t pages = q->buf_num * q->buf_size / IOMMU_PAGE;

	iommu_unmap(&io, iommu_page(&io, q->bufs) + ksft_below(pages));
}

CASE_TIMED(buffers_unmapped_under_traffic, 40)
{
	unmap_while_running("event", F_BASE | F_EVENT, unmap_buffer, 500);
	unmap_while_running("flags", F_BASE, unmap_buffer, 500);
}

static void unmap_ring(unsigned int i)
{
	const struct gr_cfg *c = &rig.v.q[i % 2].ring.cfg;

	if (ksft_below(2))
		iommu_unmap_area(&io, c->used, gr_used_bytes(c));
	else
		iommu_unmap_area(&io, c->desc, gr_desc_bytes(c) +
				 gr_avail_bytes(c));
}

CASE_TIMED(rings_unmapped_under_traffic, 40)
{
	unmap_while_running("event", F_BASE | F_EVENT, unmap_ring, 300);
	unmap_while_running("flags", F_BASE, unmap_ring, 300);
}

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

CASE_TIMED(everything_unmapped_under_traffic, 40)
{
	unmap_while_running("event", F_BASE | F_EVENT, unmap_anything, 200);
	unmap_while_running("flags", F_BASE, unmap_anything, 200);
}

static void move_table(unsigned int i)
{
	uint8_t *old = vdev_map_host(&rig.v);

	(void)i;
	vdev_set_mem(&rig.v);
	vdev_unmap_host(&rig.v, old);
	unmap_buffer(i);
}

/* The table says where guest-physical memory is; nothing goes by it here. */
CASE(memory_table_does_not_matter)
{
	unmap_while_running("table", F_BASE | F_EVENT, move_table, 100);
}

/* 'n' translations that nobody needs, one in four of them the same again. */
static void flood(unsigned int n, unsigned int *nr)
{
	uint64_t far = 1ull << 40;
	int ret;

	for (; n && !ksft_failed(); n--) {
		uint64_t at = *nr % 4 ? far + *nr * 8192ull : far;

		ret = iommu_send(&io, VHOST_IOTLB_UPDATE, at, 4096,
				 (uintptr_t)rig.v.host, IOMMU_RW);
		EXPECT(!ret || ret == -EFAULT);	/* that is ENOSPC */
		if ((*nr)++ % 4096 == 0) {
			exchange_tx(&x);
			exchange_rx(&x);
		}
	}
}

#define FLOOD_KB	1500

/* Memory that is gone after so many updates, in KiB. */
static long lost_in_flood(unsigned int n, unsigned int *nr)
{
	long before = memory_available_kb();
	uint64_t start = ksft_now_ms();

	flood(n, nr);
	ksft_note("%u updates in %llu ms", n,
		  (unsigned long long)(ksft_now_ms() - start));
	return memory_taken_kb(before, FLOOD_KB);
}

/*
 * Far more translations than a device keeps (2048 by vhost's default): memory
 * stays what it was, the oldest may be forgotten and are missed again.
 */
CASE_TIMED(updates_without_end, 60)
{
	unsigned int n = 100000, nr = 0, i;
	long lost = 0;

	ready(&(struct rig_cfg){ .bufs = 32, .rx_buf = 2048 }, 2);
	iommu_serve(&io);
	flood(8192, &nr);
	/*
	 * 75 000 of them would be 2.4 MB at the least, each time; what others take
	 * meanwhile (KASAN keeps what was freed for a while) they take once.
	 */
	for (i = 0; i < 3; i++) {
		lost = lost_in_flood(n, &nr);
		if (lost <= FLOOD_KB)
			break;
	}
	if (lost > FLOOD_KB)
		FAIL("%ld KiB have gone", lost);
	exchange_tx(&x);
	exchange_rx(&x);
	finish();
}

KSFT_MAIN()
