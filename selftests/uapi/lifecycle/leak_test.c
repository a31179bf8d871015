// SPDX-License-Identifier: GPL-2.0
/*
 * Many devices, eventfds and frames leave nothing behind.
 *
 * @hosts: 6.1
 * @seconds: 4
 * @skip: (uapi|test)-[67n].* | .*: no kmemleak | User-Mode Linux has it
 */
#include <linux/kernel-page-flags.h>

#include "dirtylog.h"
#include "flow.h"
#include "links.h"
#include "procfs.h"
#include "rig.h"
#include "tracing.h"

#define REFUSED_LEN	1400
#define LONG_LEN	40000	/* of a frame that no batch takes */
#define REGIONS		64
#define SENDERS		8
#define UNREAD		80
#define REFUSED		512	/* more than a ring has, and a batch */
#define AGAIN		30	/* times: kmemleak misses some of the leaks */

static struct rig rig;

CASE_TIMED(open_and_close_leaks_nothing, 60)
{
	unsigned int n = ksft_rounds(200), before = workers(), first = 0, i;
	unsigned long files = 0;
	struct vdev v;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	for (i = 0; i < n && !ksft_failed(); i++) {
		if (i == 20) {
			files = open_files();
			first = eventfd_number();
		}
		vdev_open(&v);
		vdev_set_features(&v, F_V1 | F_MRG | F_IND | F_EVENT);
		vdev_memory(&v, 8 << 20, 2);
		vdev_set_mem(&v);
		vdev_queue_make(&v, 0, 256);
		vdev_queue_make(&v, 1, 256);
		vdev_queue_tell(&v, 0, 0);
		vdev_queue_tell(&v, 1, 0);
		vdev_backend(&v, 0, rig.tap);
		vdev_backend(&v, 1, rig.tap);
		vdev_close(&v);
	}
	rig_close(&rig);
	no_worker_left(before);
	/* one eventfd or file that each round leaves behind shows in either number */
	if (!WAIT_FOR(3000, eventfd_number() < first + 16))
		FAIL("eventfd number %u, then %u", first, eventfd_number());
	no_file_left(files, 16);
	no_leak_found();
}

CASE(eventfds_replaced_leak_no_file)
{
	static const unsigned long req[] = {
		VHOST_SET_VRING_KICK, VHOST_SET_VRING_CALL, VHOST_SET_VRING_ERR,
	};
	unsigned int first, i, n = ksft_rounds(3000);
	unsigned long files;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	first = eventfd_number();
	files = open_files();
	for (i = 0; i < n; i++) {
		int fd = vdev_eventfd();

		ASSERT_EQ(__vdev_vring_fd(&rig.v, req[i % 3], i % 2, fd), 0);
		if (i % 5 == 0)		/* the same one again */
			ASSERT_EQ(__vdev_vring_fd(&rig.v, req[i % 3], i % 2,
						  fd), 0);
		if (i % 7 == 0)
			ASSERT_EQ(__vdev_vring_fd(&rig.v, req[i % 3], i % 2,
						  -1), 0);
		close(fd);
	}
	if (!WAIT_FOR(2000, eventfd_number() < first + 32))
		FAIL("eventfd number %u, then %u", first, eventfd_number());
	no_file_left(files, 32);
}

/*** pages for frames, by the kernel's tracepoints of page allocation ***/

#define LARGE	"order == 3"	/* frames are parts of these: KVNET_FRAG_MAX */

static struct {
	unsigned long pfn[4096];
	unsigned int n, came;
} pages;

/* Called before anything is sent: pages allocated before are not seen. */
static void pages_begin(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net keeps them till the device is closed");
	if (!tracing_begin() || !tracing_on("kmem/mm_page_alloc", LARGE) ||
	    !tracing_on("kmem/mm_page_free", LARGE))
		ksft_skip("no tracing of pages");
}

/* The flags of frag.c, which drivers use in interrupts only. */
static bool may_be_for_frames(const char *line)
{
	return strstr(line, "__GFP_NOMEMALLOC") && strstr(line, "__GFP_IO") &&
	       (strstr(line, "__GFP_KSWAPD_RECLAIM") || strstr(line, "GFP_NOWAIT"));
}

static void look_at_page(const char *line, void *arg)
{
	const char *at = strstr(line, " pfn=");
	unsigned long pfn;
	unsigned int i;

	if (!at || sscanf(at, " pfn=%lx", &pfn) != 1)
		return;
	for (i = 0; i < pages.n && pages.pfn[i] != pfn; i++)
		;
	if (strstr(line, "mm_page_free:") && i < pages.n) {
		pages.pfn[i] = pages.pfn[--pages.n];
	} else if (strstr(line, "mm_page_alloc:") && may_be_for_frames(line)) {
		ASSERT(pages.n < sizeof(pages.pfn) / sizeof(pages.pfn[0]));
		pages.pfn[pages.n++] = pfn;
		pages.came++;
	}
}

/*
 * A slab may be allocated with the same flags, and stays: netlink copies a message that takes
 * less than half of its memory into a smaller buffer.
 */
static bool is_slab(int flags, unsigned long pfn)
{
	uint64_t f;

	return pread(flags, &f, sizeof(f), pfn * sizeof(f)) == sizeof(f) && f >> KPF_SLAB & 1;
}

static void leave_out_slabs(void)
{
	int flags = ASSERT_SYS(open("/proc/kpageflags", O_RDONLY | O_CLOEXEC));
	unsigned int i = 0;

	while (i < pages.n)
		if (is_slab(flags, pages.pfn[i]))
			pages.pfn[i] = pages.pfn[--pages.n];
		else
			i++;
	close(flags);
}

/* How many pages have been allocated and not freed? */
static unsigned int pages_kept(void)
{
	pages.n = 0;
	pages.came = 0;
	tracing_look(look_at_page, NULL);
	leave_out_slabs();
	return pages.n;
}

static void pages_have_gone(const char *what)
{
	if (!WAIT_FOR(3000, !pages_kept()))
		FAIL("%s: %u of %u pages have stayed", what, pages.n, pages.came);
	EXPECT_GE(pages.came, 1);
	tracing_end();
}

/* A new device in the place of the last one sends a frame. */
static void one_more_sends(void)
{
	struct vdev *v = &rig.v;

	close(v->fd);
	v->fd = vdev_open_node();
	vdev_own(v->fd);
	rig_set_up_again(&rig);
	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	rig_expect(&rig, rig.tx_seq - 1, 1000);
	rig_tx_drain(&rig, 3000);
}

CASE(devices_that_have_sent_leak_no_page)
{
	const unsigned int n = 20;
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .bufs = 8 });
	pages_begin();
	for (i = 0; i < n && !ksft_failed(); i++)
		one_more_sends();
	close(rig.v.fd);
	rig.v.fd = -1;
	pages_have_gone("devices");
	EXPECT_GE(pages.came, n);
	rig_close(&rig);
}

/* Frames in several chunks of memory at once, which are freed together. */
static void send_unread(struct rig *r)
{
	uint8_t f[FRAME_MAX];
	unsigned int i;

	for (i = 0; i < UNREAD; i++) {
		ASSERT_EQ(rig_tx(r, REFUSED_LEN, NULL), 0);
		vdev_kick(&r->v.q[VDEV_TX]);
		ASSERT(rig_tx_drain(r, 3000));
	}
	for (i = 0; i < UNREAD; i++)
		ASSERT_EQ(rig_sniff(r, f, sizeof(f), 3000), REFUSED_LEN);
}

/* Without a tap a device keeps no pages: its owner may have died. */
CASE(stopped_queues_keep_no_page)
{
	static struct rig r[SENDERS];
	unsigned int i;

	for (i = 0; i < SENDERS; i++)
		rig_open(&r[i], &(struct rig_cfg){ .here = i > 0 });
	pages_begin();
	for (i = 0; i < SENDERS; i++)
		send_unread(&r[i]);
	EXPECT_GE(pages_kept(), SENDERS);
	for (i = 0; i < SENDERS; i++)
		rig_stop(&r[i]);
	pages_have_gone("stopped queues");
	rig_start(&r[0]);
	flow_one(&r[0]);
	for (i = 0; i < SENDERS; i++)
		rig_close(&r[i]);
}

/* One leaked frame of a kind keeps its page. */
static void send_refused(const struct virtio_net_hdr *hdr, uint32_t len, unsigned int n)
{
	struct virtio_net_hdr_mrg_rxbuf h = { .hdr = *hdr };
	static uint8_t f[LONG_LEN];

	frame_make(f, 0, len);
	while (n && !ksft_failed()) {
		if (!rig_tx_raw(&rig, &h, f, len, NULL)) {
			n--;
			continue;
		}
		vdev_kick(&rig.v.q[VDEV_TX]);
		rig_tx_drain(&rig, 5000);
	}
	vdev_kick(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 5000);
}

CASE(refused_frames_leak_no_page)
{
	static const struct {
		const char *whose;
		struct virtio_net_hdr hdr;
		uint32_t len;
	} bad[] = {
		{ "an unknown kind's", { .gso_type = 0x7f } },
		{ "no segment's", { .gso_type = 1, .gso_size = 0 } },
		/* made into a socket buffer before that is seen */
		{ "no segment's, with a checksum",
		  { .flags = 1, .gso_type = 1, .csum_start = 34, .csum_offset = 16 } },
		{ "a checksum's behind it", { .flags = 1, .csum_start = 65000 } },
		{ "a checksum's at its end",
		  { .flags = 1, .csum_start = 1390, .csum_offset = 16 } },
		{ "no segment's, too long for a batch",
		  { .flags = 1, .gso_type = 1, .csum_start = 34, .csum_offset = 16 }, LONG_LEN },
	};
	unsigned int kind;

	rig_open(&rig, &(struct rig_cfg){ .tx_buf = LONG_LEN + 64, .stopped = true });
	for (kind = 0; kind < 6 && !ksft_failed(); kind++) {
		pages_begin();
		rig_start(&rig);
		/* and one that is not */
		ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		rig_expect(&rig, rig.tx_seq - 1, 1000);
		send_refused(&bad[kind].hdr, bad[kind].len ?: REFUSED_LEN, REFUSED);
		rig_stop(&rig);
		pages_have_gone(bad[kind].whose);
		/* it was copied into more than one chunk */
		if (bad[kind].len)
			EXPECT_GE(pages.came, 2);
	}
	rig_close(&rig);
}

/* Batches for a deleted tap. */
CASE(refused_batches_leak_no_page)
{
	static const struct virtio_net_hdr plain;

	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 2048, .stopped = true });
	pages_begin();
	rig_start(&rig);
	flow_one(&rig);
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	send_refused(&plain, REFUSED_LEN, REFUSED);
	EXPECT_GE(rig_counter(&rig, "kvnet.tx.drop_tap"), REFUSED);
	close(rig.v.fd);
	rig.v.fd = -1;
	pages_have_gone("a batch's");
	rig_close(&rig);
}

/*** leaks that kmemleak finds at the end of the run, when they are some seconds old ***/

static void need_kmemleak(void)
{
	if (access("/sys/kernel/debug/kmemleak", W_OK))
		ksft_skip("no kmemleak");
}

/* The IOMMU state of a queue is allocated once. */
CASE(features_set_again_leak_nothing)
{
	unsigned int i;

	need_kmemleak();
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	for (i = 0; i < AGAIN; i++)
		vdev_set_features(&rig.v, rig.cfg.features | F_PLATFORM);
	rig_close(&rig);
}

/* Sets tables of which the last region is beyond the log. */
static void set_tables(unsigned int n)
{
	struct vhost_memory *table = calloc(1, sizeof(*table) + REGIONS * sizeof(*table->regions));
	unsigned int i;

	ASSERT(table);
	table->nregions = REGIONS;
	for (i = 0; i < REGIONS; i++)
		table->regions[i] = (struct vhost_memory_region){
			.guest_phys_addr = i == REGIONS - 1 ? -8192ull : i * 4096ull,
			.memory_size = 4096,
			.userspace_addr = (uintptr_t)rig.v.host,
		};
	for (i = 0; i < n; i++)
		EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, table), -EFAULT);
	free(table);
}

/* Tables that a running device refuses. */
CASE(refused_tables_leak_nothing)
{
	struct dirtylog log;

	need_kmemleak();
	rig_open(&rig, &(struct rig_cfg){ 0 });
	dirtylog_open(&log, &rig.v);
	dirtylog_on(&log);
	set_tables(AGAIN);
	flow_one(&rig);
	rig_close(&rig);
	dirtylog_close(&log);
}

KSFT_MAIN()
