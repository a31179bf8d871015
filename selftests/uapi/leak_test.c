// SPDX-License-Identifier: GPL-2.0
/* What is left behind by many devices and many eventfds: nothing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

#include "dirtylog.h"
#include "flow.h"
#include "links.h"
#include "procfs.h"
#include "rig.h"

#define REFUSED_LEN	1400
#define REGIONS		64
#define SENDERS		48
#define UNREAD		80

static struct rig rig;

CASE_TIMED(open_and_close_200_times, 60)
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
	/* one that is left behind in each round shows, in either number */
	if (!WAIT_FOR(3000, eventfd_number() < first + 16))
		FAIL("eventfd number %u, then %u", first, eventfd_number());
	no_file_left(files, 16);
	no_leak_found();
}

CASE(eventfds_replaced_do_not_leak)
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

CASE(as_many_devices_as_descriptors)
{
	struct rlimit lim = { 80, 80 };
	unsigned int before = workers();
	int fd[80], n;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	ASSERT_SYS(setrlimit(RLIMIT_NOFILE, &lim));
	for (n = 0; n < 80; n++) {
		fd[n] = open(vdev_path(), O_RDWR);
		if (fd[n] < 0)
			break;
		vdev_ioctl(fd[n], VHOST_SET_OWNER, NULL);
	}
	EXPECT_EQ(errno, EMFILE);
	EXPECT_GE(n, 20);
	flow_one(&rig);
	while (n--)
		close(fd[n]);
	flow_one(&rig);
	no_worker_left(before + 2);
}

/* Nobody else has the tap's file: its device goes with the last who uses it. */
CASE(tap_goes_with_its_user)
{
	unsigned int way;

	for (way = 0; way < 2 && !ksft_failed(); way++) {
		rig_open(&rig, &(struct rig_cfg){ 0 });
		close(rig.tap);
		rig.tap = -1;
		flow_one(&rig);
		if (way) {
			vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
		} else {
			close(rig.v.fd);
			rig.v.fd = -1;
		}
		EXPECT(WAIT_FOR(3000, !if_nametoindex(rig.name)));
		rig_close(&rig);
	}
}

/* A device in the place of the last one, which has sent a frame. */
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

/* Memory for frames goes with the device that has sent them. */
CASE_TIMED(devices_that_have_sent_do_not_leak, 60)
{
	const unsigned int n = 200;
	unsigned int i, k;
	long taken = 0, before;

	rig_open(&rig, &(struct rig_cfg){ .bufs = 8 });
	for (k = 0; k < 4 && !ksft_failed(); k++) {
		before = memory_available_kb();
		for (i = 0; i < n && !ksft_failed(); i++)
			one_more_sends();
		/* of each it would be 32 KiB at the least; what others take they take once */
		taken = memory_taken_kb(before, 16l * n);
		if (taken <= 16l * n)
			break;
	}
	if (k == 4)
		FAIL("%ld KiB have gone with %u devices", taken, n);
	rig_close(&rig);
}

/* Several chunks of memory at once, which come back together. */
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

/* Also what each CPU keeps of what was freed there. */
static long memory_free_kb(void)
{
	FILE *f = fopen("/proc/zoneinfo", "r");
	long sum = 0, pages;
	char line[128];

	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, " nr_free_pages %ld", &pages) == 1 ||
		    sscanf(line, " count: %ld", &pages) == 1)
			sum += pages;
	fclose(f);
	return sum * sysconf(_SC_PAGESIZE) / 1024;
}

/* Nor does a device have it whose tap is taken away: its owner may have died. */
CASE_TIMED(stopped_queues_keep_no_memory_for_frames, 60)
{
	static struct rig r[SENDERS];
	long running;
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net keeps it till the device is closed");
	for (i = 0; i < SENDERS; i++) {
		rig_open(&r[i], &(struct rig_cfg){ .here = i > 0 });
		send_unread(&r[i]);
	}
	running = memory_free_kb();
	for (i = 0; i < SENDERS; i++)
		rig_stop(&r[i]);
	/* each has 160 KiB */
	if (!WAIT_FOR(2000, memory_free_kb() - running >= SENDERS * 128))
		FAIL("%ld KiB have come back from %u devices",
		     memory_free_kb() - running, SENDERS);
	rig_start(&r[0]);
	flow_one(&r[0]);
	for (i = 0; i < SENDERS; i++)
		rig_close(&r[i]);
}

/* Memory that is gone after n frames with this header, in KiB. */
static long taken_by(const struct virtio_net_hdr *hdr, unsigned int n)
{
	struct virtio_net_hdr_mrg_rxbuf h = { .hdr = *hdr };
	static uint8_t f[REFUSED_LEN];
	long before = 0;
	unsigned int i;

	frame_make(f, 0, sizeof(f));
	for (i = 0; i < n + 512; i++) {
		if (i == 512)
			before = memory_available_kb();
		if (!rig_tx_raw(&rig, &h, f, sizeof(f), NULL))
			continue;
		vdev_kick(&rig.v.q[VDEV_TX]);
		if (!rig_tx_drain(&rig, 5000))
			break;
	}
	vdev_kick(&rig.v.q[VDEV_TX]);
	rig_tx_drain(&rig, 5000);
	return memory_taken_kb(before, (long)n / 2);
}

/*
 * Each frame would hold at least its own length, and would each time; what others take
 * meanwhile (KASAN keeps what was freed) they take once.
 */
static void none_is_taken(const char *whose, const struct virtio_net_hdr *hdr)
{
	unsigned int n = ksft_rounds(20000), i;
	long taken = 0;

	for (i = 0; i < 3 && !ksft_failed(); i++) {
		taken = taken_by(hdr, n);
		if (taken <= (long)n / 2)
			break;
	}
	if (i == 3)
		FAIL("%s: %ld KiB have gone", whose, taken);
}

/* Frames that are refused somewhere on the way take no memory with them. */
CASE_TIMED(refused_frames_do_not_leak, 60)
{
	static const struct {
		const char *whose;
		struct virtio_net_hdr hdr;
	} bad[] = {
		{ "an unknown kind's", { .gso_type = 0x7f } },
		{ "no segment's", { .gso_type = 1, .gso_size = 0 } },
		/* made into a socket buffer before that is seen */
		{ "no segment's, with a checksum",
		  { .flags = 1, .gso_type = 1, .csum_start = 34, .csum_offset = 16 } },
		/* by kvnet; vhost_net retries such a frame for ever */
		{ "a checksum's behind it", { .flags = 1, .csum_start = 65000 } },
		{ "a checksum's at its end",
		  { .flags = 1, .csum_start = 1390, .csum_offset = 16 } },
	};
	unsigned int kind, kinds = vdev_is_vhost() ? 3 : 5;

	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 2048 });
	for (kind = 0; kind < kinds && !ksft_failed(); kind++)
		none_is_taken(bad[kind].whose, &bad[kind].hdr);
	flow_one(&rig);
}

/* Nor do batches that nobody takes any more. */
CASE_TIMED(refused_batches_do_not_leak, 60)
{
	static const struct virtio_net_hdr plain;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not give such frames back");
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 2048 });
	flow_one(&rig);
	ASSERT_EQ(link_delete(rig.ifindex), 0);
	none_is_taken("a batch's", &plain);
	EXPECT_GE(rig_counter(&rig, "kvnet.tx.drop_tap"), ksft_rounds(20000));
	rig_close(&rig);
}

/* Memory that is gone after n tables of which the last region is beyond the log, in KiB. */
static long taken_by_tables(unsigned int n)
{
	static struct {
		struct vhost_memory m;
		struct vhost_memory_region r[REGIONS];
	} table;
	long before = memory_available_kb();
	unsigned int i;

	table.m.nregions = REGIONS;
	for (i = 0; i < REGIONS; i++)
		table.r[i] = (struct vhost_memory_region){
			.guest_phys_addr = i == REGIONS - 1 ? -8192ull : i * 4096ull,
			.memory_size = 4096,
			.userspace_addr = (uintptr_t)rig.v.host,
		};
	for (i = 0; i < n; i++)
		EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, &table), -EFAULT);
	return memory_taken_kb(before, (long)n / 2);
}

/* Memory that is gone after the features were told n times, in KiB. */
static long taken_by_features(unsigned int n)
{
	long before = memory_available_kb();
	unsigned int i;

	for (i = 0; i < n; i++)
		vdev_set_features(&rig.v, rig.cfg.features | F_PLATFORM);
	return memory_taken_kb(before, 4l * n);
}

/* What a queue needs behind an IOMMU it needs once. */
CASE_TIMED(features_told_again_do_not_leak, 60)
{
	unsigned int n = ksft_rounds(1000), i;
	long taken = 0;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	/* each would hold 12 KiB, and would each time */
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		taken = taken_by_features(n);
		if (taken <= 4l * n)
			break;
	}
	if (i == 3)
		FAIL("%ld KiB have gone", taken);
	rig_close(&rig);
}

/* Nor do tables that a running device does not do with. */
CASE_TIMED(refused_tables_do_not_leak, 60)
{
	unsigned int n = ksft_rounds(5000), i;
	struct dirtylog log;
	long taken = 0;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	dirtylog_open(&log, &rig.v);
	dirtylog_on(&log);
	/* each would hold more than a KiB, and would each time */
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		taken = taken_by_tables(n);
		if (taken <= (long)n / 2)
			break;
	}
	if (i == 3)
		FAIL("%ld KiB have gone", taken);
	flow_one(&rig);
	rig_close(&rig);
	dirtylog_close(&log);
}

KSFT_MAIN()
