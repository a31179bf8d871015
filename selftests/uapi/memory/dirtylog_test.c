// SPDX-License-Identifier: GPL-2.0
/*
 * The dirty log against a model: a page that has changed has its bit set, and a
 * bit is set for nothing but what was written.
 *
 * @again: packed
 * @seconds: 8
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "dirtylog.h"
#include "iommu.h"

#define F_BASE	(F_V1 | F_MRG | F_IND)

static struct rig rig;
static struct iommu io;
static struct dirtylog dl;
static uint8_t *shadow, *expected;
static uint32_t rx_seq;
static bool platform, scattered;

/* The page after the one where the next buffer is used: there the ring goes on elsewhere. */
static size_t ring_edge(void)
{
	const struct guest_ring *ring = &rig.v.q[VDEV_RX].ring;

	return ((const uint8_t *)gr_used_place(ring) - rig.v.mem) / LOG_PAGE + 1;
}

/* From there to the end of the rings' zone, the memory is at another place of the host's. */
static void scatter(size_t edge)
{
	struct vhost_memory *m = calloc(1, sizeof(*m) + 3 * sizeof(*m->regions));
	uint64_t at[] = { 0, edge, VDEV_RING_ZONE, rig.v.mem_size };
	const uint8_t *host[] = { rig.v.host, rig.v.ring_host, rig.v.host };
	unsigned int i;

	ASSERT(m);
	m->nregions = 3;
	for (i = 0; i < 3; i++)
		m->regions[i] = (struct vhost_memory_region) {
			.guest_phys_addr = VDEV_GPA + at[i],
			.memory_size = at[i + 1] - at[i],
			.userspace_addr = (uintptr_t)host[i] + at[i],
		};
	vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, m);
	free(io.table);
	io.table = m;
}

static void ready(const struct rig_cfg *cfg)
{
	platform = cfg->features & F_PLATFORM;
	rx_seq = 0;
	if (platform) {
		iommu_rig(&io, &rig, cfg, 2);
		io.in_table = true;
		if (scattered)
			scatter(ring_edge() * LOG_PAGE);
		iommu_map_used(&io);
		iommu_serve(&io);
	} else {
		rig_open(&rig, cfg);
	}
	dirtylog_open(&dl, &rig.v);
	dirtylog_on(&dl);
	if (platform)
		iommu_map_used(&io);	/* SET_FEATURES may have dropped it */
	rig_start(&rig);
	shadow = malloc(rig.v.mem_size);
	expected = malloc(dl.pages);
	ASSERT(shadow && expected);
}

static void finish(void)
{
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[0].err), 0);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[1].err), 0);
	if (platform)
		iommu_close(&io);
	dirtylog_close(&dl);
	rig_close(&rig);
	free(shadow);
	free(expected);
}

/* From here on the log is watched; the guest itself is to write no more. */
static void watch(void)
{
	dirtylog_clear(&dl);	/* before the copy: a bit comes after its write */
	memcpy(shadow, rig.v.mem, rig.v.mem_size);
	memset(expected, 0, dl.pages);
	pages_mark_used(&dl, expected);
}

/* What was written, as the last n used buffers say. */
static void expect_used(uint16_t n)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];

	for (; n; n--) {
		const struct gr_done *d = gr_taken(&q->ring, n);
		/* by IOVA, vhost logs all of a buffer that it uses */
		size_t len = platform && vdev_is_vhost() ? q->buf_size : d->len;

		pages_mark(&dl, expected, d->token, len);
	}
}

/* A bit of the used ring may be set after it is seen what it is for, in each page. */
static bool logged(size_t page)
{
	unsigned int ms = page < VDEV_RING_ZONE / LOG_PAGE ? 1000 : 0;

	return WAIT_FOR(ms, dirtylog_has(&dl, page));
}

static void judge(const char *what)
{
	size_t i;

	for (i = 0; i < dl.pages; i++) {
		bool changed = memcmp(shadow + i * LOG_PAGE,
				      rig.v.mem + i * LOG_PAGE, LOG_PAGE);

		if (changed && !logged(i))
			FAIL("%s: page %zu written, not logged", what, i);
		if (dirtylog_has(&dl, i) && !expected[i])
			FAIL("%s: page %zu logged, not written", what, i);
		if (expected[i] == 2 && !logged(i))
			FAIL("%s: page %zu not logged", what, i);
	}
	EXPECT(!dirtylog_strays(&dl));
}

static size_t page_of(const void *p)
{
	return ((const uint8_t *)p - rig.v.mem) / LOG_PAGE;
}

static void receive(unsigned int n, uint32_t len, const struct shape *shape)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	uint16_t from;
	unsigned int i;
	size_t page;

	rig_rx_post(&rig, q->buf_num, shape);
	vdev_kick_always(q);
	watch();
	from = q->ring.used_idx;
	page = page_of(gr_used_place(&q->ring));
	for (i = 0; i < n; i++)
		rig_inject(&rig, rx_seq + i, len);
	for (i = 0; i < n; i++)
		if (!rig_rx_expect(&rig, rx_seq++, len))
			return;
	expect_used(q->ring.used_idx - from);
	/* this page cannot have been missed */
	expected[page] = 2;
	judge("RX");
}

static void transmit(unsigned int n, uint32_t len, const struct shape *shape)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	uint32_t first = rig.tx_seq;
	size_t page = page_of(gr_used_place(&q->ring));
	unsigned int i;

	for (i = 0; i < n; i++)
		if (rig_tx(&rig, len, shape))
			break;
	n = i;
	watch();
	vdev_kick_always(q);	/* writes avail's index and used_event */
	for (i = 0; i < n; i++)
		if (!rig_expect(&rig, first + i, len))
			return;
	rig_tx_drain(&rig, 3000);
	if (!q->ring.cfg.packed)	/* else the device writes there, too */
		memcpy(shadow + (q->area - rig.v.mem), q->area,
		       (uint8_t *)q->ring.cfg.used - q->area);
	expected[page] = 2;
	judge("TX");
}

static const struct shape whole, chain = { .piece = 700 },
	table = { .piece = 900, .indirect = true },
	mixed = { .piece = 1000, .indirect = true, .direct = 2,
		  .split_hdr = true };
static const struct shape *const shapes[] = { &whole, &chain, &table, &mixed };

static void model(uint64_t features, unsigned int regions, unsigned int num)
{
	static const uint32_t len[] = { FRAME_MIN, 60, 1500, 4084, 4085, 9000,
					30000, 65000 };
	struct rig_cfg cfg = { .features = features, .regions = regions,
			       .num = num, .bufs = 32, .tx_buf = 66000,
			       .rx_buf = features & F_MRG ? 5000 : 66000 };
	unsigned int i, j;

	ready(&cfg);
	for (i = 0; i < sizeof(len) / sizeof(*len) && !ksft_failed(); i++) {
		for (j = 0; j < 4 && !ksft_failed(); j++) {
			unsigned int n = len[i] > 9000 ? 1 : 3;

			if (!(features & F_IND) && shapes[j]->indirect)
				continue;
			/* a chain has at most as many elements as the ring */
			if (cfg.rx_buf > 60000 && shapes[j] != &whole)
				continue;
			receive(n, len[i], shapes[j]);
			if (len[i] < 30000)
				transmit(n, len[i], shapes[j]);
		}
		if (ksft_failed())
			ksft_note("%u bytes, shape %u", len[i], j - 1);
	}
	finish();
}

CASE_TIMED(pages_written_are_logged, 40)
{
	model(F_BASE | F_EVENT, 1, 512);
	model(F_BASE, 4, 1024);
	model(F_V1 | F_MRG, 8, 256);
	model(F_V1 | F_IND | F_EVENT, 2, 256);
	model(0, 1, 256);
}

/* The bit is that of the address that the driver has given, as with vhost_net. */
CASE(page_in_table_twice_is_logged_once)
{
	struct vhost_memory *m = calloc(1, sizeof(*m) + 2 * sizeof(*m->regions));
	const struct rig_cfg cfg = { .bufs = 32, .rx_buf = 5000 };
	const size_t at[] = { VDEV_RING_ZONE, 0 };	/* the buffers, and all */
	unsigned int i;

	ASSERT(m);
	ready(&cfg);
	m->nregions = 2;
	for (i = 0; i < 2; i++)
		m->regions[i] = (struct vhost_memory_region) {
			.guest_phys_addr = VDEV_GPA / (2 - i) + at[i],
			.memory_size = rig.v.mem_size - at[i],
			.userspace_addr = (uintptr_t)rig.v.host + at[i],
		};
	vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, m);
	receive(3, 9000, &whole);
	receive(3, 1500, &chain);
	receive(3, 9000, &mixed);
	finish();
	free(m);
}

/* By way of the IOTLB; bits are those of guest-physical pages all the same. */
CASE_TIMED(pages_written_by_iova_are_logged, 40)
{
	model(F_BASE | F_EVENT | F_PLATFORM, 1, 512);
	model(F_BASE | F_PLATFORM, 4, 1024);
}

/*
 * A packet of several buffers, and in a split ring one used element, goes over the edge of
 * two translations.
 */
CASE(ring_in_two_places_of_the_host)
{
	size_t edge;

	scattered = true;
	ready(&(struct rig_cfg){ .features = F_V1 | F_MRG | F_PLATFORM, .num = 1024,
				 .base = 508, .bufs = 32, .rx_buf = 1000 });
	edge = ring_edge();
	receive(1, 4000, &whole);
	EXPECT_EQ(rig.rx_bufs, 5);
	EXPECT(logged(edge));
	EXPECT(memcmp(shadow + edge * LOG_PAGE, rig.v.mem + edge * LOG_PAGE, LOG_PAGE));
	finish();
}

/*
 * Whoever sees the used index sees the bits of the data.  Copies the page at
 * once then; a bit that came later would come too late for it.
 */
static struct gr_watch seen;
static void *tokens[GR_NUM_MAX];

static void *order_reader(void *arg)
{
	struct guest_ring *ring = &rig.v.q[VDEV_RX].ring;
	struct gr_used_elem e;
	uint8_t *late = arg;
	size_t i;

	while (!__atomic_load_n(&late[0], __ATOMIC_ACQUIRE)) {
		if (!gr_watch_next(ring, &seen, &e)) {
			sched_yield();
		} else {
			size_t from = (uint8_t *)tokens[e.id] - rig.v.mem;

			for (i = from / LOG_PAGE;
			     i <= (from + e.len - 1) / LOG_PAGE; i++)
				if (!dirtylog_has(&dl, i))
					late[1] = 1;
		}
	}
	return NULL;
}

CASE_TIMED(data_is_logged_before_it_is_used, 40)
{
	static uint8_t late[2];	/* stop, too late */
	unsigned int round, i;
	pthread_t t;

	/* vhost logs too late when it gives back more than 64 at once */
	ready(&(struct rig_cfg){ .bufs = 48, .rx_buf = 5000 });
	for (round = 0; round < ksft_rounds(60) && !ksft_failed(); round++) {
		rig_rx_post(&rig, 48, NULL);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		watch();
		for (i = 0; i < rig.v.q[VDEV_RX].num; i++)
			tokens[i] = rig.v.q[VDEV_RX].ring.slot[i].token;
		gr_watch_start(&rig.v.q[VDEV_RX].ring, &seen);
		late[0] = 0;
		ASSERT_EQ(pthread_create(&t, NULL, order_reader, late), 0);
		for (i = 0; i < 40; i++)
			rig_inject(&rig, rx_seq + i, 500);
		for (i = 0; i < 40; i++)
			if (!rig_rx_expect(&rig, rx_seq++, 500))
				break;
		__atomic_store_n(&late[0], 1, __ATOMIC_RELEASE);
		pthread_join(t, NULL);
		EXPECT_EQ(late[1], 0);
	}
	finish();
}

/* Without LOG_ALL, or with it off again, no bit is touched. */
CASE(nothing_is_logged_when_off)
{
	size_t i;

	ready(&(struct rig_cfg){ .bufs = 32 });
	dirtylog_off(&dl);
	dirtylog_clear(&dl);
	rig_rx_post(&rig, 32, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	for (i = 0; i < 10; i++)
		rig_inject(&rig, rx_seq + i, 500);
	for (i = 0; i < 10; i++)
		rig_rx_expect(&rig, rx_seq++, 500);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 3000);
	for (i = 0; i < dl.bytes / 8; i++)
		EXPECT_EQ(dl.map[i], 0);
	finish();
}

/* LOG_ALL is for data, VHOST_VRING_F_LOG for the used ring. */
CASE(used_ring_without_its_flag)
{
	size_t page, i;

	ready(&(struct rig_cfg){ .bufs = 32 });
	rig.v.log_used = false;
	dirtylog_addrs(&rig.v);
	rig_rx_post(&rig, 32, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	watch();
	page = page_of(gr_used_place(&rig.v.q[VDEV_RX].ring));
	rig_inject(&rig, rx_seq, 500);
	rig_rx_expect(&rig, rx_seq++, 500);
	EXPECT(!dirtylog_has(&dl, page));
	memset(expected, 0, dl.pages);
	expect_used(1);
	for (i = 0; i < dl.pages; i++)
		EXPECT_EQ(dirtylog_has(&dl, i), expected[i]);
	finish();
}

KSFT_MAIN()
