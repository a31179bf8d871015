// SPDX-License-Identifier: GPL-2.0
/*
 * A queue asks for the translations that its next chains need together with the first: which
 * misses the VMM reads before it answers, and a VMM that answers late, wrongly, some or none.
 *
 * @hosts: newest
 * @again: packed
 * @seconds: 25
 */
#include <endian.h>

#include "exchange.h"
#include "iommu.h"
#include "procfs.h"

#define BATCH		32u	/* misses of a queue at a time */
#define LEN		1000u	/* bytes of a frame */
#define TABLES		(256ul << 10)	/* bytes at cfg.ind */

static struct rig rig;
static struct iommu io;
static struct exchange x;
static uint32_t first_seq;	/* of the frames that are offered */

static struct vhost_iotlb_msg read_ahead[4 * BATCH];
static uint64_t read_at;

/* Rings are mapped and buffers are not, nor are tables; a buffer begins with a page. */
static void ready(const struct rig_cfg *cfg)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net reports one miss at a time");
	iommu_rig(&io, &rig, cfg, 2);
	x = (struct exchange){ .r = &rig, .burst = 8 };
	for (i = 0; i < 2; i++) {
		const struct gr_cfg *c = &rig.v.q[i].ring.cfg;

		ASSERT_EQ((uintptr_t)rig.v.q[i].bufs % IOMMU_PAGE, 0);
		iommu_map_area(&io, c->desc, gr_desc_bytes(c) + gr_avail_bytes(c),
			       c->packed ? IOMMU_RW : IOMMU_RO);
		iommu_map_area(&io, c->used, gr_used_bytes(c), IOMMU_RW);
	}
	rig_start(&rig);
	wait_worker_idle();
}

static void ready_with_pages(void)
{
	ready(&(struct rig_cfg){ .bufs = 4 * BATCH });
}

static void finish(void)
{
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[VDEV_RX].err), 0);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[VDEV_TX].err), 0);
	iommu_check_graves(&io);
	iommu_close(&io);
	rig_close(&rig);
}

/* n buffers at once, and frames for them; the queue stops before the first. */
static void offer(unsigned int q, unsigned int n, const struct shape *shape)
{
	unsigned int i;

	first_seq = q == VDEV_TX ? rig.tx_seq : x.rx_seq;
	if (q == VDEV_RX)
		rig_rx_post(&rig, n, shape);
	for (i = 0; i < n; i++) {
		if (q == VDEV_TX)
			ASSERT_EQ(rig_tx(&rig, LEN, shape), 0);
		else
			rig_inject(&rig, x.rx_seq++, LEN);
	}
	vdev_kick_always(&rig.v.q[q]);
	wait_worker_idle();
}

/* All that waits to be read; the worker sleeps. */
static unsigned int read_all(void)
{
	unsigned int n = 0;

	read_at = ksft_now_ms();
	while (n < 4 * BATCH && iommu_read(&io, &read_ahead[n]))
		n++;
	return n;
}

/* A second after the VMM has read, the queue may ask again, or wait for the first alone. */
static bool not_retried_yet(void)
{
	return ksft_now_ms() - read_at < 900;
}

static void answer(unsigned int from, unsigned int n)
{
	while (n--)
		iommu_answer(&io, &read_ahead[from++]);
}

static size_t page_of(const struct vhost_iotlb_msg *m)
{
	return (m->iova - iommu_iova(&io, 0)) / IOMMU_PAGE;
}

/* The misses are those of so many pages from here on, in order, each once. */
static void expect_pages(const uint8_t *at, unsigned int n, uint8_t perm)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		EXPECT_EQ(page_of(&read_ahead[i]), iommu_page(&io, at) + i);
		EXPECT_EQ(read_ahead[i].perm, perm);
	}
}

static uint8_t perm_of(unsigned int q)
{
	return q == VDEV_TX ? IOMMU_RO : IOMMU_WO;
}

/* Frames from the k-th on; the first one may take as long as a retry. */
static void expect_frames(unsigned int q, unsigned int k, unsigned int n)
{
	struct pollfd p = { .fd = rig.sniff, .events = POLLIN };

	if (!n)
		return;
	if (q == VDEV_TX)
		EXPECT_EQ(poll(&p, 1, ksft_patience(10000)), 1);
	else
		EXPECT(WAIT_FOR(10000, gr_used_pending(&rig.v.q[q].ring)));
	for (; n-- && !ksft_failed(); k++) {
		if (q == VDEV_TX)
			EXPECT(rig_expect(&rig, first_seq + k, LEN));
		else
			EXPECT(rig_rx_expect(&rig, first_seq + k, LEN));
	}
}

static bool stands_still(unsigned int q)
{
	struct pollfd p = { .fd = rig.sniff, .events = POLLIN };
	bool moved;

	wait_worker_idle();
	moved = q == VDEV_TX ? poll(&p, 1, 0) : gr_used_pending(&rig.v.q[q].ring);
	return !moved;
}

/* All is answered from here on. */
static void rest_passes(unsigned int q, unsigned int k, unsigned int n)
{
	iommu_serve(&io);
	expect_frames(q, k, n);
	if (q == VDEV_TX)
		EXPECT(rig_tx_drain(&rig, 3000));
	exchange_tx(&x);
	iommu_serve_end(&io);
}

static const char *misses_of(unsigned int q)
{
	return q == VDEV_TX ? "kvnet.tx.iotlb_misses" : "kvnet.rx.iotlb_misses";
}

/* Each chain has its own page: the VMM reads all of them, and the worker is woken once. */
static void pages_ahead(unsigned int q, unsigned int n)
{
	unsigned int most = n < BATCH ? n : BATCH;
	long stops;

	ready_with_pages();
	stops = rig_counter(&rig, misses_of(q));
	offer(q, n, NULL);
	ASSERT_EQ(read_all(), most);
	expect_pages(rig.v.q[q].bufs, most, perm_of(q));
	answer(0, most - 1);
	EXPECT(stands_still(q) || !not_retried_yet());
	answer(most - 1, 1);
	expect_frames(q, 0, most);
	wait_worker_idle();
	if (stops >= 0)
		EXPECT_EQ(rig_counter(&rig, misses_of(q)), stops + 1 + (n > most));
	EXPECT_EQ(read_all(), n - most < BATCH ? n - most : BATCH);
	answer(0, n - most < BATCH ? n - most : BATCH);
	if (n > most)
		rest_passes(q, most, n - most);
	finish();
}

CASE(misses_of_next_chains_read_before_an_answer)
{
	unsigned int q;

	for (q = 0; q < 2 && !ksft_failed(); q++) {
		pages_ahead(q, 1);
		pages_ahead(q, 8);
		pages_ahead(q, BATCH);
	}
}

CASE(misses_of_next_chains_bounded)
{
	unsigned int q;

	for (q = 0; q < 2 && !ksft_failed(); q++) {
		pages_ahead(q, BATCH + 1);
		pages_ahead(q, 3 * BATCH);
	}
}

/* Chains of several pages, as one descriptor or cut into many, and whole packets of 64 KiB. */
CASE(misses_of_chains_with_many_pages_read_at_once)
{
	static const struct shape cut = { .piece = 3000, .split_hdr = true };
	const struct shape *shapes[] = { NULL, &cut };
	uint32_t len = 5 * IOMMU_PAGE - 100;
	unsigned int i, k;

	for (i = 0; i < 2 && !ksft_failed(); i++) {
		ready(&(struct rig_cfg){ .bufs = 8, .tx_buf = 5 * IOMMU_PAGE });
		for (k = 0; k < 4; k++)
			ASSERT_EQ(rig_tx(&rig, len, shapes[i]), 0);
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		wait_worker_idle();
		ASSERT_EQ(read_all(), 20);
		expect_pages(rig.v.q[VDEV_TX].bufs, 20, IOMMU_RO);
		answer(0, 20);
		for (k = 0; k < 4; k++)
			EXPECT(rig_expect(&rig, k, len));
		EXPECT(rig_tx_drain(&rig, 3000));
		EXPECT_EQ(read_all(), 0);
		finish();
	}
}

/* Tables first, as far as they can be seen, then what they point to. */
CASE(misses_of_tables_then_of_their_buffers)
{
	static const struct shape table = { .piece = 1400, .indirect = true };
	size_t first, last;
	unsigned int q, i, n;

	for (q = 0; q < 2 && !ksft_failed(); q++) {
		ready_with_pages();
		first = iommu_page(&io, rig.v.q[q].ring.cfg.ind);
		last = first + TABLES / IOMMU_PAGE - 1;
		offer(q, 2 * BATCH, &table);
		n = read_all();
		EXPECT(n >= 1 && n <= BATCH);
		for (i = 0; i < n; i++) {
			EXPECT(page_of(&read_ahead[i]) >= first && page_of(&read_ahead[i]) <= last);
			EXPECT_EQ(read_ahead[i].perm, IOMMU_RO);
			EXPECT(!i || page_of(&read_ahead[i]) != page_of(&read_ahead[i - 1]));
		}
		ksft_note("%u pages of tables", n);
		answer(0, n);
		EXPECT(stands_still(q));
		ASSERT_EQ(read_all(), BATCH);
		expect_pages(rig.v.q[q].bufs, BATCH, perm_of(q));
		answer(0, BATCH);
		rest_passes(q, 0, 2 * BATCH);
		finish();
	}
}

/* The misses of a batch never push each other out of the IOTLB. */
CASE(misses_with_a_small_iotlb_do_not_evict_each_other)
{
	static const char *const sizes[] = { "8", "16", "33" };
	unsigned int i, q;

	for (i = 0; i < 6 && !ksft_failed(); i++) {
		q = i % 2;
		if (vdev_is_vhost())
			ksft_skip("vhost_net reports one miss at a time");
		vdev_parameter_text("max_iotlb_entries", sizes[i / 2]);
		iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = BATCH, .num = 32 }, 2);
		x = (struct exchange){ .r = &rig, .burst = 8 };
		iommu_map_used(&io);
		iommu_serve(&io);
		rig_start(&rig);
		offer(q, BATCH, NULL);
		expect_frames(q, 0, BATCH);
		iommu_serve_end(&io);
		finish();
	}
}

/*** a VMM that does otherwise ***/

/* Only the first is answered: the queue goes on after a while, as far as it gets. */
static void only_the_first_answered(unsigned int q, bool read_others)
{
	ready_with_pages();
	offer(q, 8, NULL);
	if (read_others)
		ASSERT_EQ(read_all(), 8);
	else
		ASSERT(iommu_read(&io, &read_ahead[0]));
	expect_pages(rig.v.q[q].bufs, 1, perm_of(q));
	answer(0, 1);
	expect_frames(q, 0, 1);
	EXPECT(stands_still(q));
	/* it asks for the others */
	ASSERT_EQ(read_all(), 7);
	expect_pages(rig.v.q[q].bufs + IOMMU_PAGE, 7, perm_of(q));
	answer(0, 7);
	expect_frames(q, 1, 7);
	EXPECT_EQ(read_all(), 0);
	rest_passes(q, 0, 0);
	finish();
}

CASE(misses_answered_but_for_others_do_not_stop_the_queue)
{
	unsigned int i;

	for (i = 0; i < 4 && !ksft_failed(); i++)
		only_the_first_answered(i % 2, i / 2);
}

/* Only the first is not: the queue waits, it is asked for once more, and the other queue works. */
CASE(misses_answered_but_for_the_first_stop_one_queue)
{
	unsigned int q, n;

	for (q = 0; q < 2 && !ksft_failed(); q++) {
		ready_with_pages();
		iommu_map_area(&io, rig.v.q[!q].bufs, 4 * BATCH * IOMMU_PAGE, IOMMU_RW);
		offer(q, 8, NULL);
		ASSERT_EQ(read_all(), 8);
		answer(1, 7);
		for (n = 0; n < 20 && !ksft_failed(); n++) {
			if (q == VDEV_TX)
				exchange_rx(&x);
			else
				exchange_tx(&x);
			EXPECT(stands_still(q));
		}
		ASSERT(iommu_readable(&io, 10000));
		ASSERT_EQ(read_all(), 1);
		expect_pages(rig.v.q[q].bufs, 1, perm_of(q));
		answer(0, 1);
		expect_frames(q, 0, 8);
		finish();
	}
}

/* Wrong answers are none; what was asked for stays asked for. */
CASE(misses_answered_wrongly_stay)
{
	struct vhost_iotlb_msg m;
	unsigned int q, i;

	for (q = 0; q < 2 && !ksft_failed(); q++) {
		ready_with_pages();
		offer(q, 8, NULL);
		ASSERT_EQ(read_all(), 8);
		for (i = 0; i < 8; i++) {
			m = read_ahead[i];
			/* refused, of no byte that is needed, elsewhere, and taken back */
			iommu_send(&io, VHOST_IOTLB_UPDATE, m.iova, 4096, ~0ull << 47, IOMMU_RW);
			iommu_send(&io, VHOST_IOTLB_UPDATE, m.iova + (1ull << 40), 4096,
				   (uintptr_t)rig.v.host, IOMMU_RW);
			EXPECT_EQ(iommu_send(&io, VHOST_IOTLB_INVALIDATE, m.iova, 4096, 0, 0), 0);
		}
		EXPECT(stands_still(q));
		for (i = 8; i--;)
			iommu_answer(&io, &read_ahead[i]);
		expect_frames(q, 0, 8);
		rest_passes(q, 0, 0);
		finish();
	}
}

/* What has been answered, and is invalidated before the queue goes on, is asked for again. */
CASE(misses_answered_and_invalidated_are_repeated)
{
	unsigned int q;

	for (q = 0; q < 2 && !ksft_failed(); q++) {
		ready_with_pages();
		offer(q, 8, NULL);
		ASSERT_EQ(read_all(), 8);
		answer(0, 4);
		iommu_unmap(&io, page_of(&read_ahead[0]));
		iommu_unmap(&io, page_of(&read_ahead[2]));
		answer(4, 4);
		wait_worker_idle();
		ASSERT_EQ(read_all(), 2);
		EXPECT_EQ(page_of(&read_ahead[0]), iommu_page(&io, rig.v.q[q].bufs));
		EXPECT_EQ(page_of(&read_ahead[1]), iommu_page(&io, rig.v.q[q].bufs) + 2);
		answer(0, 2);
		expect_frames(q, 0, 8);
		finish();
	}
}

/* A stop, a reset or another IOTLB drops what is queued and what is pending. */
CASE(misses_pending_dropped_by_a_stop)
{
	unsigned int q, how, n, got, read;
	uint64_t features;

	for (how = 0; how < 6 && !ksft_failed(); how++) {
		q = how % 2;
		ready_with_pages();
		features = rig.v.features;
		offer(q, 8, NULL);
		for (read = how; read; read--)
			ASSERT(iommu_read(&io, &read_ahead[0]));
		if (how / 2 == 0) {
			rig_stop(&rig);
			EXPECT_EQ(read_all(), 0);
			rig_start(&rig);
			/* another backend starts the queue again, from the same chain */
			n = 8;
		} else if (how / 2 == 1) {
			vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &features);
			iommu_drop_all(&io);
			n = 1;	/* of the ring */
		} else {
			vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
			EXPECT_EQ(read_all(), 0);
			iommu_close(&io);
			rig_close(&rig);
			continue;
		}
		vdev_kick_always(&rig.v.q[q]);
		EXPECT(iommu_readable(&io, 3000));
		wait_worker_idle();
		got = read_all();
		EXPECT_GE(got, n);
		if (how / 2 == 1)
			EXPECT_OP(page_of(&read_ahead[0]), <, VDEV_RING_ZONE / IOMMU_PAGE);
		answer(0, got);
		rest_passes(q, 0, 8);
		finish();
	}
}

/* What is wrong further on in the ring is found when the queue gets there, and not before. */
static void bad_chain_ahead(unsigned int q, bool head)
{
	struct vdev_queue *vq = &rig.v.q[q];
	unsigned int i;

	ready_with_pages();
	if (head && vq->ring.cfg.packed) {
		finish();
		return;
	}
	if (q == VDEV_RX)
		rig_rx_post(&rig, 4, NULL);
	for (i = 0; i < 4; i++) {
		if (q == VDEV_TX)
			ASSERT_EQ(rig_tx(&rig, LEN, NULL), 0);
	}
	if (head)
		gr_raw_avail(&vq->ring, 2, 0xffff);
	else
		gr_raw_desc(&vq->ring, 2)->addr = htole64(~0ull - 100);
	vdev_kick_always(vq);
	if (q == VDEV_RX)
		for (i = 0; i < 4; i++)
			rig_inject(&rig, x.rx_seq++, LEN);
	wait_worker_idle();
	EXPECT_EQ(vdev_eventfd_take(vq->err), 0);
	ASSERT_EQ(read_all(), 2);
	expect_pages(vq->bufs, 2, perm_of(q));
	answer(0, 2);
	first_seq = 0;
	expect_frames(q, 0, 2);
	EXPECT(vdev_eventfd_wait(vq->err, 3000));
	vdev_eventfd_take(vq->err);
	finish();
}

CASE(bad_chain_ahead_breaks_the_queue_when_it_gets_there)
{
	unsigned int i;

	for (i = 0; i < 4 && !ksft_failed(); i++)
		bad_chain_ahead(i % 2, i / 2);
}

/* A chain as long as the ring, a table as long as can be, and segments of gigabytes: bounded work. */
CASE(chains_ahead_without_end_are_left)
{
	static const struct shape cut = { .piece = 16 };
	struct vdev_queue *vq = &rig.v.q[VDEV_TX];
	unsigned int i, n;

	ready_with_pages();
	for (i = 0; i < 3; i++)
		ASSERT_EQ(rig_tx(&rig, LEN, i ? &cut : NULL), 0);
	gr_raw_desc(&vq->ring, 1)->len = htole32(~0u - 4096);
	vdev_kick_always(vq);
	wait_worker_idle();
	n = read_all();
	EXPECT_EQ(n, BATCH);
	expect_pages(vq->bufs, BATCH, IOMMU_RO);
	first_seq = 0;
	answer(0, BATCH);
	expect_frames(VDEV_TX, 0, 1);
	iommu_serve(&io);
	EXPECT(WAIT_FOR(10000, vdev_eventfd_wait(vq->err, 0) || io.strays));
	iommu_serve_end(&io);
	iommu_close(&io);
	rig_close(&rig);
}

KSFT_MAIN()
