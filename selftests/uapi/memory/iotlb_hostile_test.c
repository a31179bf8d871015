// SPDX-License-Identifier: GPL-2.0
/*
 * A VMM that translates to nonsense or not at all, and a guest whose addresses
 * have no translation: a queue may stop, but nothing hangs, nothing is touched
 * that was not allowed, and after a restart the device is as new.
 *
 * @again: packed
 * @seconds: 9
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "exchange.h"
#include "iommu.h"

#define F_BASE	(F_V1 | F_MRG | F_IND)

static struct rig rig;
static struct iommu io;
static struct exchange x;

static void ready(uint64_t features)
{
	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 32,
						.features = features }, 2);
	x = (struct exchange){ .r = &rig, .burst = 8 };
}

/* Frames that wait in the tap are of no interest any more. */
static void flush_tap(void)
{
	static uint8_t f[FRAME_MAX + 64];

	ASSERT_SYS(fcntl(rig.tap, F_SETFL, O_NONBLOCK));
	while (read(rig.tap, f, sizeof(f)) >= 0)
		;
	ASSERT_SYS(fcntl(rig.tap, F_SETFL, 0));
	while (rig_sniff(&rig, f, sizeof(f), 0) >= 0)
		;
}

/* Backends off, nothing mapped, rings empty. */
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
	flush_tap();
}

/* Whatever has happened: a stop, a start, and all works. */
static void as_new(void)
{
	clear_all();
	iommu_map_used(&io);
	rig_start(&rig);
	iommu_serve(&io);
	exchange_tx(&x);
	exchange_rx(&x);
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

static bool all_bytes(const uint8_t *p, size_t len, uint8_t b)
{
	return p[0] == b && !memcmp(p, p + 1, len - 1);
}

/* A page without the permission that the buffer needs. */
static void forbidden(unsigned int q, uint8_t perm)
{
	struct vhost_iotlb_msg m = { 0 };
	uint8_t *buf, junk[64];
	uint16_t used;

	ready(F_BASE);
	buf = rig.v.q[q].bufs;
	map_all_but(buf, 4096);
	iommu_map_area(&io, buf, 4096, perm);
	rig_start(&rig);
	used = gr_raw_used_idx(&rig.v.q[q].ring);
	EXPECT(offer(q) == buf);
	vdev_kick_always(&rig.v.q[q]);
	/* an error, or a question whether that is really so; no data */
	EXPECT(WAIT_FOR(3000, vdev_eventfd_wait(rig.v.q[q].err, 0) ||
			iommu_read(&io, &m)));
	if (m.type)
		EXPECT(m.perm & ~perm & IOMMU_RW);
	if (q == VDEV_RX) {
		EXPECT_EQ(gr_raw_used_idx(&rig.v.q[q].ring), used);
		EXPECT(all_bytes(buf, 4096, RX_CANARY));
	} else {
		EXPECT_EQ(rig_sniff(&rig, junk, sizeof(junk), 0), -1);
	}
	other_queue_works(q);
	as_new();
}

CASE(permissions_of_buffers)
{
	forbidden(VDEV_RX, IOMMU_RO);
	forbidden(VDEV_TX, IOMMU_WO);
}

/* Of an indirect table none but to read it is needed, whatever is in the buffers. */
CASE(permissions_of_tables)
{
	const struct shape table = { .piece = 100, .indirect = true };
	const size_t len = 256ul << 10;
	const uint8_t *at;
	unsigned int q;

	for (q = 0; q < 2; q++) {
		ready(F_BASE);
		at = rig.v.q[q].ring.cfg.ind;
		ASSERT_EQ((uintptr_t)at % 4096, 0);
		map_all_but(at, len);
		iommu_map_area(&io, at, len, IOMMU_RO);
		rig_start(&rig);
		if (q == VDEV_RX) {
			rig_rx_post(&rig, 4, &table);
			vdev_kick_always(&rig.v.q[q]);
			rig_inject(&rig, 77, 1000);
			EXPECT(rig_rx_expect(&rig, 77, 1000));
		} else {
			ASSERT_EQ(rig_tx(&rig, 1000, &table), 0);
			vdev_kick_always(&rig.v.q[q]);
			EXPECT(rig_expect(&rig, rig.tx_seq - 1, 1000));
			EXPECT(rig_tx_drain(&rig, 3000));
		}
		EXPECT_EQ(vdev_eventfd_take(rig.v.q[q].err), 0);
		as_new();
	}
}

/* A device may notice at once that a queue is of no use. */
static void start_lamely(unsigned int q)
{
	int ret = __vdev_backend(&rig.v, q, rig.tap);

	EXPECT(!ret || ret == -EFAULT);
	vdev_backend(&rig.v, !q, rig.tap);
}

/*
 * A used ring that may only be read stays as it is. The device writes the
 * descriptors of a packed one.
 */
CASE(permissions_of_rings)
{
	unsigned int q;

	for (q = 0; q < 4; q++) {
		const struct gr_cfg *c;

		ready(F_BASE);
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
		start_lamely(q % 2);
		offer(q % 2);
		vdev_kick_always(&rig.v.q[q % 2]);
		other_queue_works(q % 2);
		EXPECT_EQ(gr_raw_used_idx(&rig.v.q[q % 2].ring), 0);
		as_new();
	}
}

/* Once the translation is right, frames come in, or the queue has said no. */
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

	ready(F_BASE | F_EVENT);
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
	/* vhost gives neither a buffer nor an error for it */
	if (q == VDEV_RX)
		WAIT_FOR(100, stopped_or_dropped(vq));
	else if (!vdev_is_vhost())
		EXPECT(WAIT_FOR(3000, stopped_or_dropped(vq)));
	other_queue_works(q);
	if (q == VDEV_RX)
		goes_on_receiving(buf);
	as_new();
}

CASE(buffers_that_lead_nowhere)
{
	leads_nowhere(VDEV_RX, PROT_NONE);
	leads_nowhere(VDEV_TX, PROT_NONE);
	leads_nowhere(VDEV_RX, PROT_READ);
}

CASE(rings_that_lead_nowhere)
{
	unsigned int q, area;

	for (q = 0; q < 2; q++) {
		for (area = 0; area < 2 && !ksft_failed(); area++) {
			const struct gr_cfg *c;
			const uint8_t *p;
			void *hole;

			ready(F_BASE);
			c = &rig.v.q[q].ring.cfg;
			p = area ? c->used : c->desc;
			hole = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE |
				    MAP_ANONYMOUS, -1, 0);
			map_all_but(p, 4096);
			iommu_send(&io, VHOST_IOTLB_UPDATE, vdev_bus(&rig.v, p),
				   4096, (uintptr_t)hole, IOMMU_RW);
			start_lamely(q);
			offer(q);
			vdev_kick_always(&rig.v.q[q]);
			WAIT_FOR(200, stopped_or_dropped(&rig.v.q[q]));
			other_queue_works(q);
			as_new();
		}
	}
}

/* The VMM never answers: the queue waits, no more. */
static void never_answered(unsigned int q)
{
	struct vdev_queue *vq = &rig.v.q[q];
	struct vhost_iotlb_msg m;
	unsigned int i, n = 0;

	ready(F_BASE | F_EVENT);
	map_all_but(vq->bufs, 16 * 4096);
	rig_start(&rig);
	for (i = 0; i < 16; i++)
		offer(q);
	for (i = 0; i < 100; i++) {
		vdev_kick_always(vq);
		other_queue_works(q);
	}
	while (iommu_read(&io, &m))
		n++;
	EXPECT_GE(n, 1);
	if (!vdev_is_vhost())
		EXPECT_LE(n, 64);
	EXPECT_EQ(gr_raw_used_idx(&vq->ring), 0);
	as_new();
}

CASE(answers_that_never_come)
{
	never_answered(VDEV_RX);
	never_answered(VDEV_TX);
}

/* Its driver gets nothing back, so it has nothing to kick for; nor has it been asked to. */
static void asked_again(unsigned int q)
{
	struct vdev_queue *vq = &rig.v.q[q];
	struct vhost_iotlb_msg first, again;

	ready(F_BASE | F_EVENT);
	map_all_but(vq->bufs, 16 * 4096);
	rig_start(&rig);
	offer(q);
	vdev_kick_always(vq);
	ASSERT(iommu_readable(&io, 3000));
	ASSERT(iommu_read(&io, &first));
	/* a VMM that could not tell may be able to by now */
	ASSERT(iommu_readable(&io, 10000));
	ASSERT(iommu_read(&io, &again));
	EXPECT_EQ(again.iova, first.iova);
	EXPECT_EQ(again.perm, first.perm);
	iommu_answer(&io, &again);
	EXPECT(WAIT_FOR(3000, (iommu_pump(&io), gr_used_pending(&vq->ring))));
	as_new();
}

CASE(asked_again_after_a_while)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net asks at each kick, or never");
	asked_again(VDEV_RX);
	asked_again(VDEV_TX);
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

CASE_TIMED(addresses_without_translation, 40)
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
		ready(F_BASE | F_EVENT);
		for (i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
			clear_all();
			map_all_but(rig.v.mem, 4096);
			iommu_map_area(&io, rig.v.mem, 4096, IOMMU_RW);
			rig_start(&rig);
			wild_descriptor(q, &rows[i]);
			WAIT_FOR(200, iommu_readable(&io, 0) ||
				 stopped_or_dropped(&rig.v.q[q]));
			/* ask and be told nothing useful, many times */
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

KSFT_MAIN()
