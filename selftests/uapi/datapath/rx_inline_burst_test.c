// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that come together, for buffers as short as they can be or in many segments: inline
 * RX stays short, whatever the driver does.
 *
 * @hosts: 6.1
 * @again: packed
 * @seconds: 5
 * @skip: (uapi|test)-.* | .*: a packed ring has no index | its run with split rings tells
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "iommu.h"
#include "procfs.h"
#include "rx_inline_rig.h"
#include "segments.h"

#define BUFFERS		8
#define SEGMENT		950
#define SEGMENTS	3
#define WHOLE		(12 + SEGMENTS_HEADERS + SEGMENT)	/* one of them, with its header */

static int gso;

/* With some buffers, on a page or some. */
static void begin(unsigned int num, unsigned int bufs, unsigned int size)
{
	rx_inline_need_kvnet();
	rig_open(&rig, &(struct rig_cfg){ .rx_num = num, .bufs = bufs, .rx_buf = size });
	gso = rig_packet_socket(&rig, 0, true);
	rx_inline_ready();
	rx_inline_warm_up();
}

static void end(void)
{
	close(gso);
	rig_close(&rig);
}

/* The driver has got all of its buffers back. */
static void take_buffers(void)
{
	static uint8_t f[FRAME_MAX];
	unsigned int i;

	for (i = 0; i < BUFFERS && !ksft_failed(); i++) {
		rig_inject(&rig, seq++, 60);
		ASSERT(rig_rx(&rig, NULL, f, sizeof(f), 3000) > 0);
		rx_inline_reply();
	}
}

/* So many, all of them on the same page, which is known. */
static void give_short_ones(unsigned int n, uint32_t len)
{
	struct gr_buf b = { .ptr = rx->bufs, .len = len, .write = true };

	while (n--)
		ASSERT(gr_add(&rx->ring, &b, 1, GR_ALL_DIRECT, rx) >= 0);
	vdev_kick(rx);
}

/* Bytes that have been written to used buffers, when there are so many. */
static bool written(unsigned long want)
{
	static unsigned long all;
	struct gr_done d;
	int ret;

	if (!want)
		all = 0;
	while ((ret = gr_get_used(&rx->ring, &d)) == 1)
		all += d.len;
	ASSERT_EQ(ret, 0);
	return all >= want;
}

static void send_segments(void)
{
	ASSERT(segments_send(gso, SEGMENT, SEGMENTS));
}

/* A frame, after which the page of these buffers is known. */
static void learn(void)
{
	written(0);
	rig_inject(&rig, seq++, 60);
	ASSERT(WAIT_FOR(3000, written(12 + 60)));
	wait_worker_idle();
}

CASE(frame_in_several_buffers_is_inline)
{
	long n_inline, wakes;

	begin(256, BUFFERS, 4096);
	take_buffers();
	give_short_ones(2 * 9, 8);
	learn();
	n_inline = rx_inline_counter("kvnet.rx.packets_inline");
	wakes = rx_inline_counter("kvnet.rx.wakeups");
	written(0);
	rig_inject(&rig, seq, 60);
	EXPECT(WAIT_FOR(3000, written(72)));
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets_inline"), n_inline + 1);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.wakeups"), wakes);
	end();
}

/* As many buffers as there are bytes are for the worker, as many as the ring has. */
CASE(buffer_per_byte_goes_to_worker)
{
	long n_inline, packets;

	begin(4096, BUFFERS, 4096);
	take_buffers();
	give_short_ones(72 + SEGMENTS * WHOLE, 1);
	learn();
	packets = rx_inline_counter("kvnet.rx.packets");
	n_inline = rx_inline_counter("kvnet.rx.packets_inline");
	written(0);
	send_segments();
	EXPECT(WAIT_FOR(3000, written(SEGMENTS * WHOLE)));
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), packets + SEGMENTS);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets_inline"), n_inline);
	end();
}

/*** behind an IOMMU, where each page is a piece ***/

static struct iommu io;

/* The device knows where it is, and each page is there. */
static void map(const void *ptr, size_t len)
{
	const uint8_t *last = (const uint8_t *)ptr + len - 1;
	size_t i;

	iommu_map_area(&io, ptr, len, IOMMU_RW);
	for (i = iommu_page(&io, ptr); i <= iommu_page(&io, last); i++)
		*(volatile uint8_t *)io.at[i] = 0;
}

static void begin_in_pieces(unsigned int bufs, unsigned int pages)
{
	rx_inline_need_kvnet();
	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = bufs, .rx_buf = pages * IOMMU_PAGE,
						.tx_buf = 2048 }, 2);
	iommu_map_used(&io);
	map(rx->bufs, (size_t)bufs * pages * IOMMU_PAGE);
	iommu_serve(&io);
	rig_start(&rig);
}

static void end_in_pieces(void)
{
	iommu_close(&io);
	rig_close(&rig);
}

/*
 * Of each what a frame may need is learnt, and no more; of some buffers at a time. A page
 * more is, if one stands where the sixteen begin that are looked for together.
 */
CASE(buffer_of_some_pieces_caches_few_pages)
{
	const unsigned int bufs = 48, pages = 16;
	long known, missed;

	begin_in_pieces(bufs, pages);
	rx_inline_ready();
	rx_inline_warm_up();
	known = rx_inline_counter("kvnet.pages_cached");
	missed = rx_inline_counter("kvnet.rx.inline_skip_uncached");
	ksft_note("%ld pages, %ld times", known, missed);
	EXPECT_LE(known, 2 * bufs);
	EXPECT_LE(known, 2 * missed * 128 / pages);
	end_in_pieces();
}

/* Nothing is of one that no frame is received into in place. */
CASE(buffer_of_a_thousand_pieces_goes_to_worker)
{
	const unsigned int pages = 1000, few = 6;
	struct gr_buf b = { .len = 128, .write = true };
	unsigned int i;
	long n_inline;

	begin_in_pieces(1, pages);
	vdev_no_spin(&rig.v);
	b.ptr = vdev_alloc(&rig.v, b.len, IOMMU_PAGE);
	map(b.ptr, b.len);
	for (i = 0; i < few; i++)
		ASSERT(gr_add(&rx->ring, &b, 1, GR_ALL_DIRECT, rx) >= 0);
	b.ptr = rx->bufs;
	b.len = pages * IOMMU_PAGE;
	ASSERT(gr_add(&rx->ring, &b, 1, GR_ALL_DIRECT, rx) >= 0);
	vdev_kick_always(rx);
	/* When a page was not known, the worker has looked ahead, at the long one, too. */
	for (i = 0; i < few && !rx_inline_counter("kvnet.rx.inline_skip_uncached"); i++)
		learn();
	EXPECT_EQ(rx_inline_counter("kvnet.rx.inline_skip_uncached"), 1);
	ksft_note("%ld pages", rx_inline_counter("kvnet.pages_cached"));
	EXPECT_LE(rx_inline_counter("kvnet.pages_cached"), 2);
	for (; i < few; i++)
		learn();
	n_inline = rx_inline_counter("kvnet.rx.packets_inline");
	learn();
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), few + 1);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets_inline"), n_inline);
	/* Nor was it for its page that the long one was left to the worker. */
	EXPECT_EQ(rx_inline_counter("kvnet.rx.inline_skip_uncached"), 1);
	EXPECT_GE(rx_inline_counter("kvnet.rx.inline_skip_complex"), 1);
	end_in_pieces();
}

/*** a driver that says something else all the time ***/

static bool changing;

/* As much as is there, or as much again; the ring has two places. */
static void *change_mind(void *arg)
{
	unsigned int i;

	for (i = 1; __atomic_load_n(&changing, __ATOMIC_RELAXED); i++)
		gr_raw_avail_idx(&rx->ring, gr_raw_used_idx(&rx->ring) + 2 + i % 2 * 2);
	return arg;
}

static void start_again(void)
{
	rig_start_again(&rig);
	rx_inline_ready();
	rx_inline_warm_up();
}

/*
 * More buffers than the ring has, in one turn: the driver is wrong, but in place there is
 * nobody who may say so.
 */
CASE_TIMED(more_buffers_than_ring_are_survived, 120)
{
	unsigned int i, k, n = ksft_rounds(10);
	pthread_t thread;
	long broken = 0;

	if (vdev_layout(F_V1) & F_PACKED)
		ksft_skip("a packed ring has no index");
	begin(2, 2, 1024);
	for (i = 0; i < n && !ksft_failed(); i++) {
		__atomic_store_n(&changing, true, __ATOMIC_RELAXED);
		ASSERT_EQ(pthread_create(&thread, NULL, change_mind, NULL), 0);
		for (k = 0; k < 5 && rx_inline_counter("kvnet.rx.broken") == broken; k++) {
			send_segments();
			wait_worker_idle();
		}
		broken = rx_inline_counter("kvnet.rx.broken");
		__atomic_store_n(&changing, false, __ATOMIC_RELAXED);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		start_again();
	}
	ksft_note("broken %ld times of %u", broken, i);
	end();
}

/*** buffers that are a part of the ring ***/

#define PAIR		2u			/* buffers, all that the ring has */
#define FIRST		(12 + SEGMENTS_HEADERS)	/* bytes of a frame before its word */
#define SPARE		2048			/* where the ring's page is free */

/* What a frame brings into the second buffer: of the ring, as the device sees it. */
union word {
	uint8_t byte[8];
	struct {
		uint16_t flags, idx, ring[PAIR];
	} split;				/* all of the available ring */
	struct {
		uint32_t len;
		uint16_t id, flags;
	} packed;				/* a descriptor, but for its address */
};

static bool is_packed(void)
{
	return rig.v.features & F_PACKED;
}

/* The n-th pair is there; in a packed ring its first one, for all of a frame. */
static union word word_of_pair(unsigned int n)
{
	union word w = { .split = { .idx = htole16(PAIR * (n + 1)), .ring = { 0, htole16(1) } } };

	if (is_packed())
		w = (union word) { .packed = {
			.len = htole32(FIRST + sizeof(w)),
			.flags = htole16(GR_DESC_F_WRITE | gr_raw_lap(!(n % 2), false)) } };
	return w;
}

static void set_buffer(unsigned int i, const void *ptr, uint32_t len)
{
	struct gr_desc *d = gr_raw_desc(&rx->ring, i);

	if (is_packed())
		gr_raw_set_packed(d, vdev_gpa(&rig.v, ptr), len, i, 0);
	else
		gr_raw_set(d, vdev_gpa(&rig.v, ptr), len, GR_DESC_F_WRITE, 0);
}

/* Two that have been set. */
static void show_pair(unsigned int n)
{
	uint64_t one = 1;
	unsigned int i;

	for (i = PAIR; i--;) {
		if (is_packed())
			gr_raw_show(&rx->ring, i, GR_DESC_F_WRITE | gr_raw_lap(!(n % 2), false));
		else
			gr_raw_avail(&rx->ring, i, i);
	}
	if (!is_packed())
		gr_raw_avail_idx(&rx->ring, PAIR * (n + 1));
	ASSERT_EQ(write(rx->kick, &one, sizeof(one)), sizeof(one));
	wait_worker_idle();
}

/* Frames that bring this, after one of the guest's; returns how many are received in place. */
static long bring(union word w, unsigned int frames)
{
	long packets = rx_inline_counter("kvnet.rx.packets");
	long n_inline = rx_inline_counter("kvnet.rx.packets_inline");

	rx_inline_reply();
	ASSERT(segments_send_words(gso, w.byte, frames));
	ASSERT(WAIT_FOR(3000, rx_inline_counter("kvnet.rx.packets") > packets));
	wait_worker_idle();
	return rx_inline_counter("kvnet.rx.packets_inline") - n_inline;
}

/* The ring's page becomes known, since buffers are there; returns how many pairs it took. */
static unsigned int learn_ring(void)
{
	volatile uint8_t *at = rx_inline_hva(rx->area);
	unsigned int n = 0, i;
	long n_inline = 0;

	/* what is not there is not brought in */
	*at = *at;
	for (; n < 20 && !n_inline; n++) {
		for (i = 0; i < PAIR; i++)
			set_buffer(i, rx->area + SPARE, FIRST + sizeof(union word));
		show_pair(n);
		for (i = 0; i < PAIR; i++)
			n_inline = bring(word_of_pair(n), 1);
	}
	EXPECT_EQ(n_inline, 1);
	return n;
}

/*
 * What the first of two frames brings makes its own buffers available again, when both are
 * received in one turn: as if another CPU had done so just then.
 */
static long offer_again(void)
{
	unsigned int n;

	rig_start_again(&rig);
	n = learn_ring();
	set_buffer(0, rx->area + SPARE, FIRST);
	set_buffer(1, is_packed() ? (uint8_t *)gr_raw_desc(&rx->ring, 0) + 8 : rx->ring.cfg.avail,
		   sizeof(union word));
	show_pair(n);
	return bring(word_of_pair(n + 1), PAIR);
}

CASE(frame_that_offers_its_own_buffers_is_inline_once)
{
	unsigned int i;
	long n_inline = 0;

	begin(PAIR, PAIR, 1024);
	/* where the worker was there first, once more */
	for (i = 0; i < 5 && !n_inline && !ksft_failed(); i++)
		n_inline = offer_again();
	EXPECT_EQ(n_inline, 1);
	ksft_note("the %uth time, %ld times broken", i, rx_inline_counter("kvnet.rx.broken"));
	end();
}

KSFT_MAIN()
