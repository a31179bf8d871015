// SPDX-License-Identifier: GPL-2.0
/*
 * The dirty log against a model: a page that has changed has its bit set, and no other bit
 * is set.
 *
 * Then live migration in small: while packets flow, a thread takes bits from the log and
 * copies those pages, as QEMU does. After the stop and a last pass the copy must equal the
 * guest's memory, wherever the device may have written. The guest writes nothing but its
 * avail rings, descriptors and what it sends: a hypervisor would see these.
 *
 * @hosts: newest
 * @again: packed
 * @seconds: 20
 */
#include "dirtylog.h"
#include "exchange.h"
#include "iommu.h"

#define F_BASE	(F_V1 | F_MRG | F_IND)

static struct rig rig;
static struct iommu io;
static struct dirtylog dl;
static uint32_t rx_seq;
static bool platform, scattered;

/* The page after the one where the next buffer is used: there the ring goes on elsewhere. */
static size_t ring_edge(void)
{
	const struct guest_ring *ring = &rig.v.q[VDEV_RX].ring;

	return ((const uint8_t *)gr_used_place(ring) - rig.v.mem) / LOG_PAGE + 1;
}

/* From there to the end of the rings' zone, the memory is in another mapping of the VMM's. */
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

/* With F_PLATFORM the guest's pages are where the memory table has them. */
static void open_rig(const struct rig_cfg *cfg)
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
}

static void close_rig(void)
{
	if (platform)
		iommu_close(&io);
	dirtylog_close(&dl);
	rig_close(&rig);
}

/*** the model ***/

static uint8_t *shadow, *expected;

static void ready(const struct rig_cfg *cfg)
{
	open_rig(cfg);
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
	close_rig();
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

/* What the device has written, according to the last n used buffers. */
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

/* A bit of the used ring may be set after the guest sees the used entry. */
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
	/* the device has written to this page */
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

/* The bit is that of the driver's address, as with vhost_net. */
CASE(page_in_the_table_twice_is_logged_once)
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
CASE(ring_in_two_host_mappings_is_logged)
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
 * A VMM that sees the used index sees the bits of the data: it may copy the page at once, and
 * a bit that is set later is too late.
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
CASE(log_off_sets_no_bit)
{
	unsigned int i;

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
	ksft_all_bytes("the log", dl.map, 0, dl.bytes);
	finish();
}

/* LOG_ALL is for data, VHOST_VRING_F_LOG for the used ring. */
CASE(used_ring_without_its_flag_is_not_logged)
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

/*** live migration ***/

static uint8_t *image, *device_pages;
static unsigned long moved;
static struct exchange guest;

/* What else the VMM does between two passes over the log. */
typedef void disturber(unsigned int pass);

/*
 * Guest and device write descriptors in turn. Only those are compared that the device has
 * written last: what the guest writes is not logged here.
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

static void start_guest(const struct rig_cfg *cfg)
{
	struct rig_cfg kept = *cfg;
	unsigned int i;

	kept.kept = true;	/* the guest's own writes are not logged */
	open_rig(&kept);
	rig_start(&rig);
	image = malloc(rig.v.mem_size);
	device_pages = calloc(1, dl.pages);
	ASSERT(image && device_pages);
	for (i = 0; i < 2; i++) {
		const struct gr_cfg *c = &rig.v.q[i].ring.cfg;

		pages_mark(&dl, device_pages, c->used, gr_used_bytes(c));
	}
	mark_buffers(&rig.v.q[VDEV_RX]);
	guest = (struct exchange){
		.r = &rig, .max_len = rig.cfg.tx_buf - rig.v.hdr_len,
	};
	exchange_start(&guest);
}

static unsigned long rounds_done(void)
{
	return __atomic_load_n(&guest.rounds, __ATOMIC_ACQUIRE);
}

/*
 * Log on under traffic, copy all, copy what is dirty until the guest has done
 * 'more' rounds, stop, copy the rest.
 */
static void migrate(unsigned int more, disturber *disturb)
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

static void migrations(const char *what, const struct rig_cfg *cfg, disturber *disturb,
		       unsigned int n, unsigned int more)
{
	unsigned int i;

	moved = 0;
	start_guest(cfg);
	for (i = 0; i < n && !ksft_failed(); i++) {
		migrate(more, disturb);
		exchange_wait(&guest);
	}
	exchange_end(&guest);
	ksft_note("%s: %lu pages copied, %u frames", what, moved, guest.rx_seq);
	EXPECT_GE(moved, n);
	close_rig();
	free(image);
	free(device_pages);
}

CASE_TIMED(copy_under_traffic_is_complete, 60)
{
	unsigned int n = ksft_rounds(3);

	migrations("event", &(struct rig_cfg){ .features = F_BASE | F_EVENT }, NULL, n, 50);
	migrations("flags", &(struct rig_cfg){ .features = F_BASE, .regions = 4,
					       .rx_buf = 2000 }, NULL, n, 50);
	migrations("big", &(struct rig_cfg){ .features = F_BASE | F_EVENT, .num = 1024,
					     .tx_buf = 60000, .rx_buf = 5000,
					     .regions = 8 }, NULL, n, 15);
	migrations("not mergeable", &(struct rig_cfg){ .features = F_V1, .bufs = 64 }, NULL, n, 30);
}

CASE_TIMED(copy_by_iova_is_complete, 60)
{
	migrations("iova", &(struct rig_cfg){ .features = F_BASE | F_EVENT | F_PLATFORM,
					      .rx_buf = 3000 }, NULL, ksft_rounds(3), 50);
}

/* A new bitmap while packets flow; the bits in the old one still count. */
static void new_base(unsigned int i)
{
	uint64_t *old;

	if (i % 4)
		return;
	old = dirtylog_replace(&dl);
	moved += dirtylog_move(&dl, old, image);
	dirtylog_unmap(&dl, old);	/* not used any more */
}

CASE_TIMED(bitmap_replaced_under_traffic_loses_no_bit, 40)
{
	migrations("base", &(struct rig_cfg){ .features = F_BASE | F_EVENT }, new_base,
		   ksft_rounds(2), 80);
}

/* QEMU: the log grows before the table does. */
static void new_table(unsigned int i)
{
	uint8_t *host;

	if (i % 8)
		return;
	new_base(0);
	/* packed rings are logged by their place in the table: it must stay */
	if (rig.v.features & F_PACKED)
		return;
	host = vdev_map_host(&rig.v);
	vdev_set_mem(&rig.v);
	vdev_unmap_host(&rig.v, host);
}

CASE_TIMED(memory_table_moved_while_logging_loses_no_page, 40)
{
	migrations("table", &(struct rig_cfg){ .features = F_BASE | F_EVENT, .regions = 4 },
		   new_table, ksft_rounds(2), 80);
}

static void addresses_again(unsigned int i)
{
	if (i % 4 == 0)
		dirtylog_addrs(&rig.v);
}

CASE_TIMED(ring_addresses_set_again_while_logging_lose_no_page, 40)
{
	migrations("addresses", &(struct rig_cfg){ .features = F_BASE }, addresses_again,
		   ksft_rounds(2), 80);
}

/* At most once for each frame: without an end to it the guest gets none on a slow machine. */
static void unmap_some(unsigned int i)
{
	struct vdev_queue *q = &rig.v.q[VDEV_RX];
	size_t first = iommu_page(&io, q->bufs);
	uint16_t now = __atomic_load_n(&q->ring.used_idx, __ATOMIC_ACQUIRE);
	static uint16_t seen;

	if (seen == now)
		return;
	seen = now;
	if (i % 4 == 0)
		iommu_unmap_all(&io, 0);
	else
		iommu_unmap(&io, first + ksft_below(q->buf_num));
}

CASE_TIMED(pages_unmapped_while_logging_are_logged, 40)
{
	migrations("unmap", &(struct rig_cfg){ .features = F_BASE | F_EVENT | F_PLATFORM },
		   unmap_some, ksft_rounds(2), 80);
}

/* On and off, much faster than anything could be copied. */
CASE_TIMED(log_toggled_under_traffic_stays_complete, 40)
{
	unsigned int i;

	start_guest(&(struct rig_cfg){ .features = F_BASE | F_EVENT });
	for (i = 0; i < ksft_rounds(400) && !ksft_failed(); i++) {
		dirtylog_on(&dl);
		if (i % 16 == 0)
			exchange_wait(&guest);
		dirtylog_off(&dl);
		if (i % 16 == 8)
			exchange_wait(&guest);
	}
	migrate(20, NULL);
	exchange_end(&guest);
}

KSFT_MAIN()
