// SPDX-License-Identifier: GPL-2.0
/*
 * Frames that arrive together, in buffers as short as they can be or in many segments: a poll
 * of inline RX stays short, whatever the driver offers.
 *
 * @hosts: 6.1
 * @again: packed
 * @seconds: 5
 * @skip: (uapi|test)-.* | .*: a packed ring has no index | its run with split rings tells
 */
#include "iommu.h"
#include "procfs.h"
#include "rx_inline_rig.h"
#include "segments.h"

#define BUFFERS		8
#define SEGMENT		950
#define SEGMENTS	3
#define WHOLE		(12 + TCP_HEADERS + SEGMENT)	/* one of them, with its header */

static int gso;

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

/* Offers n short buffers, all of them on the same cached page. */
static void give_short_ones(unsigned int n, uint32_t len)
{
	struct gr_buf b = { .ptr = rx->bufs, .len = len, .write = true };

	while (n--)
		ASSERT(gr_add(&rx->ring, &b, 1, GR_ALL_DIRECT, rx) >= 0);
	vdev_kick(rx);
}

/* Have so many bytes been written to used buffers? 0: starts to count. */
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

/* A frame, after which the page of these buffers is cached. */
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

/* As many buffers as there are bytes, as many as the ring has: too many for a softirq. */
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

/* Maps it for the device, and touches each page. */
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
 * The worker caches the pages that a frame may need of each buffer, and no more; for some buffers
 * at a time. A lookup covers 16 pages at once, so that there may be one more.
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
	ksft_note("%ld pages cached, %ld misses", known, missed);
	EXPECT_LE(known, 2 * bufs);
	EXPECT_LE(known, 2 * missed * 128 / pages);
	end_in_pieces();
}

/* A buffer of too many pieces for inline RX has no page cached. */
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
	/* after a miss the worker fills the cache ahead, for the long buffer, too */
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
	/* the long one went to the worker for its pieces, not for a miss */
	EXPECT_EQ(rx_inline_counter("kvnet.rx.inline_skip_uncached"), 1);
	EXPECT_GE(rx_inline_counter("kvnet.rx.inline_skip_complex"), 1);
	end_in_pieces();
}

/*** a driver that changes its avail index all the time ***/

static bool changing;

/* As many buffers as the ring has, two, or twice as many. */
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
 * More buffers than the ring has, in one poll: the driver is wrong, but the softirq may not
 * signal the error, and leaves the queue to the worker.
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
#define FIRST		(12 + TCP_HEADERS)	/* bytes of a frame before its word */
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

/* Publishes the pair of buffers that was set. */
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

/* Frames that carry this word, after one of the guest's; returns how many are received inline. */
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

/* Has the page of the ring cached, by buffers in it; returns how many pairs that took. */
static unsigned int learn_ring(void)
{
	volatile uint8_t *at = rx_inline_hva(rx->area);
	unsigned int n = 0, i;
	long n_inline = 0;

	/* inline RX does not fault pages in */
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
 * The first of two frames of one poll is written over the ring, and so makes its own buffers
 * available again: as if another CPU had done so just then.
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
	/* again where the worker came before the softirq */
	for (i = 0; i < 5 && !n_inline && !ksft_failed(); i++)
		n_inline = offer_again();
	EXPECT_EQ(n_inline, 1);
	ksft_note("the %uth time, %ld times broken", i, rx_inline_counter("kvnet.rx.broken"));
	end();
}

KSFT_MAIN()
