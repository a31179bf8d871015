// SPDX-License-Identifier: GPL-2.0
/*
 * Rings in memory of all kinds that a VMM may have: pinned where that can be,
 * reached by user addresses where not, and working in any case.
 *
 * @hosts: 6.1
 * @seconds: 4
 * @skip: uapi-.* | .*: a packed ring's .* | the caller chose packed rings
 * @skip: uapi-(uml|smp-).* | .*: no huge pages | the test hosts have them
 * @skip: uapi-(uml|smp-).* | .*: this kernel takes no .* | the test hosts take pages off line
 * @skip: (uapi|test)-[67n].* | .*: no file system with a disk | User-Mode Linux has one
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "pin_rig.h"

static struct rig rig;

static void rings_work_in(int fd, int flags, const char *how)
{
	pin_rig_open(&rig, fd, flags);
	rig_start(&rig);
	expect_rings(&rig, how);
	if (!vdev_is_vhost())
		EXPECT_EQ(!!pinned_kb(), !strcmp(how, "pinned"));
	frames_pass(&rig);
	rig_stop(&rig);
	EXPECT_EQ(pinned_kb(), 0);
	rig_start(&rig);
	expect_rings(&rig, how);
	frames_pass(&rig);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

/* QEMU's memory, if nothing is said of it. */
CASE(private_memory)
{
	rings_work_in(-1, MAP_PRIVATE | MAP_ANONYMOUS, "pinned");
}

CASE(shared_memory)
{
	rings_work_in(-1, MAP_SHARED | MAP_ANONYMOUS, "pinned");
}

/* memory-backend-memfd */
CASE(memfd)
{
	rings_work_in(ASSERT_SYS(memfd_create("guest", MFD_CLOEXEC)),
		      MAP_SHARED, "pinned");
}

CASE(memfd_of_huge_pages)
{
	if (!huge_pages_get(16))
		ksft_skip("no huge pages");
	rings_work_in(ASSERT_SYS(memfd_create("guest", MFD_CLOEXEC |
					      MFD_HUGETLB)), MAP_SHARED,
		      "pinned");
}

CASE(private_huge_pages)
{
	if (!huge_pages_get(16))
		ksft_skip("no huge pages");
	rings_work_in(-1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, "pinned");
}

/* A file in the directory, of which nothing stays behind. */
static int file_in(const char *dir)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "%s/kvnet-pin-XXXXXX", dir);
	fd = mkostemp(path, O_CLOEXEC);
	if (fd >= 0)
		unlink(path);
	return fd;
}

/* memory-backend-file,share=on,mem-path=/dev/shm */
CASE(file_in_memory)
{
	int fd = file_in("/dev/shm");
	struct statfs fs;

	if (fd < 0 || fstatfs(fd, &fs) || fs.f_type != TMPFS_MAGIC)
		ksft_skip("no tmpfs at /dev/shm");
	rings_work_in(fd, MAP_SHARED, "pinned");
}

#define DISK	"/run/kvnet-pin-disk"

static bool in_memory(const char *path)
{
	struct statfs fs;

	return statfs(path, &fs) || fs.f_type == TMPFS_MAGIC ||
	       fs.f_type == RAMFS_MAGIC;
}

/*
 * A file on a file system that writes it to a disk: KVNET_DISK is a directory
 * there, else the machine's own /tmp from within User-Mode Linux, else one made
 * here.  It stays mounted (hostfs of Linux 6.12 leaks memory when it goes).
 */
static int disk_file(void)
{
	const char *dir = getenv("KVNET_DISK");

	if (!dir || !*dir) {
		dir = DISK;
		mkdir(DISK, 0700);
		if (in_memory(DISK) && mount("none", DISK, "hostfs", 0, "/tmp") &&
		    system("exec > /dev/null 2>&1; modprobe -a loop crc32c_generic ext4;"
			   "truncate -s 32M " DISK ".img && mke2fs -F " DISK
			   ".img && mount -t ext4 -o loop " DISK ".img " DISK))
			ksft_skip("no file system with a disk");
	}
	if (in_memory(dir))
		ksft_skip("%s is in memory", dir);
	return ASSERT_SYS(file_in(dir));
}

/*
 * memory-backend-file,share=on: the file system wants to know when a page is
 * written, which it cannot if the page is pinned.
 */
CASE(file_on_disk)
{
	rings_work_in(disk_file(), MAP_SHARED, "user");
}

static uint8_t *page_of(const void *p)
{
	return (uint8_t *)((uintptr_t)p & ~4095ul);
}

/* Is what the device has written on the disk, once it has been saved? */
static bool saved(int fd, const struct vdev_queue *q)
{
	static uint8_t page[4096] __attribute__((aligned(4096)));
	const uint8_t *used = (const uint8_t *)q->ring.cfg.used;
	off_t at = (used - rig.v.mem) & ~4095l;

	ASSERT_SYS(fsync(fd));
	ASSERT_EQ(pread(fd, page, sizeof(page), at), sizeof(page));
	return !memcmp(page, rig.v.mem + at, sizeof(page));
}

/* ... so that what the device writes after it was saved is saved, too. */
CASE(file_on_disk_is_saved)
{
	int fd = disk_file(), disk;
	unsigned int i;
	char path[64];

	/* past the pages in memory, where that is possible */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	disk = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	if (disk < 0)
		disk = ASSERT_SYS(dup(fd));
	pin_rig_open(&rig, fd, MAP_SHARED);
	rig_start(&rig);
	for (i = 0; i < 4; i++) {
		frames_pass(&rig);
		EXPECT(WAIT_FOR(2000, saved(disk, &rig.v.q[VDEV_RX])));
		EXPECT(WAIT_FOR(2000, saved(disk, &rig.v.q[VDEV_TX])));
	}
	rig_close(&rig);
}

/* The used ring's page is a file's and private memory in turn, as fast as can be. */
static struct {
	void *at;
	int fd;
	bool stop;
	unsigned long turns;
	pthread_t thread;
} remap;

static void map_used(int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	ASSERT(mmap(remap.at, 4096, PROT_READ | PROT_WRITE, MAP_FIXED | flags,
		    fd, 0) == remap.at);
}

/*
 * Has the address space locked most of the time, by changes of nothing that matters:
 * whoever wants it waits, and those who wait get it one after the other.
 */
static void *lock_thread(void *arg)
{
	const size_t len = 8 << 20;
	uint8_t *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(p != MAP_FAILED);
	madvise(p, len, MADV_NOHUGEPAGE);
	memset(p, 1, len);
	while (!__atomic_load_n(&remap.stop, __ATOMIC_ACQUIRE)) {
		mprotect(p, len, PROT_READ);
		mprotect(p, len, PROT_READ | PROT_WRITE);
	}
	munmap(p, len);
	return arg;
}

static void *remap_thread(void *arg)
{
	while (!__atomic_load_n(&remap.stop, __ATOMIC_ACQUIRE)) {
		map_used(remap.fd);
		map_used(-1);
		__atomic_add_fetch(&remap.turns, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

/* Set the ring up meanwhile; true if it is pinned. */
static bool pins_while_remapped(void)
{
	unsigned long turns = __atomic_load_n(&remap.turns, __ATOMIC_ACQUIRE);
	pthread_t lock;
	int ret;

	remap.stop = false;
	ASSERT_EQ(pthread_create(&remap.thread, NULL, remap_thread, NULL), 0);
	ASSERT_EQ(pthread_create(&lock, NULL, lock_thread, NULL), 0);
	WAIT_FOR(3000, __atomic_load_n(&remap.turns, __ATOMIC_ACQUIRE) != turns);
	ret = __vdev_backend(&rig.v, VDEV_TX, rig.tap);
	__atomic_store_n(&remap.stop, true, __ATOMIC_RELEASE);
	pthread_join(remap.thread, NULL);
	pthread_join(lock, NULL);
	return !ret && !strcmp(ring_is(&rig, "kvnet.tx.access"), "pinned");
}

/*
 * ... and it may have become a file's while the device looks. What is written by way
 * of the pin is then written to the file, which is what must not be.
 */
CASE_TIMED(file_on_disk_comes_and_goes, 60)
{
	static uint8_t zeroes[4096];
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i, pinned = 0;
	uint8_t *file;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin");
	remap.fd = disk_file();
	ASSERT_EQ(write(remap.fd, zeroes, 4096), 4096);
	file = mmap(NULL, 4096, PROT_READ, MAP_SHARED, remap.fd, 0);
	ASSERT(file != MAP_FAILED);
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	remap.at = page_of(q->ring.cfg.used);
	for (i = 0; i < ksft_rounds(30) && !ksft_failed(); i++) {
		uint32_t seq = rig.tx_seq;

		vdev_queue_reset(&rig.v, VDEV_TX);
		rig.tx_out = 0;
		ASSERT_EQ(pwrite(remap.fd, zeroes, 4096, 0), 4096);
		if (pins_while_remapped()) {
			pinned++;
			ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
			vdev_kick_always(q);
			EXPECT(rig_expect(&rig, seq, 100));
		}
		vdev_backend(&rig.v, VDEV_TX, -1);
		if (memcmp(file, zeroes, 4096))
			FAIL("round %u: a file's page is pinned", i);
	}
	ksft_note("%u of %u times pinned, %lu turns", pinned, i, remap.turns);
	EXPECT_EQ(pinned_kb(), 0);
	munmap(file, 4096);
	rig_close(&rig);
}

/* memory-backend-file,share=off: what is written is not the file's. */
CASE(private_file_on_disk)
{
	rings_work_in(disk_file(), MAP_PRIVATE, "pinned");
}

/*
 * Memory that the VMM had given up (MADV_FREE: a balloon, free page hints) and the
 * device has written since is needed again. None but the device knows that it is
 * written, and it has to say so when it lets go of the page.
 */
CASE(written_after_it_was_given_up)
{
	uint8_t *control = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *used;
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	uint16_t idx;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin");
	ASSERT(control != MAP_FAILED);
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	if (rig.v.features & F_PACKED)
		ksft_skip("a packed ring's descriptors are the driver's, too");
	rig_start(&rig);
	frames_pass(&rig);
	used = page_of(q->ring.cfg.used);
	ASSERT(page_of(q->ring.cfg.avail) != used);
	*control = 1;
	ASSERT_SYS(madvise(control, 4096, MADV_FREE));
	ASSERT_SYS(madvise(used, 4096, MADV_FREE));
	frames_pass(&rig);
	idx = gr_raw_used_idx(&q->ring);
	ASSERT(idx);
	rig_stop(&rig);
	EXPECT_EQ(pinned_kb(), 0);
	/* have it taken, in earnest: what nobody has written since is gone then */
	if (!WAIT_FOR(2000, (madvise(control, 4096, MADV_PAGEOUT), !*control)))
		ksft_skip("memory that is given up stays");
	ASSERT_SYS(madvise(used, 4096, MADV_PAGEOUT));
	EXPECT_EQ(gr_raw_used_idx(&q->ring), idx);
	rig_start(&rig);
	frames_pass(&rig);
	rig_close(&rig);
}

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE	101
#endif

/*
 * The host would like to do without a page, since its memory begins to fail: one that
 * is pinned has to stay, and the device and the driver still meet there.
 */
CASE(page_is_to_go_off_line)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	uint8_t *page[3];
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net does not pin");
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	page[0] = page_of(q->ring.cfg.desc);
	page[1] = page_of(q->ring.cfg.avail);
	page[2] = page_of(q->ring.cfg.used);
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		frames_pass(&rig);
		EXPECT_EQ(madvise(page[i], 4096, MADV_SOFT_OFFLINE), -1);
		if (errno == EINVAL)
			ksft_skip("this kernel takes no page off line");
		EXPECT_EQ(errno, EBUSY);
		expect_rings(&rig, "pinned");
		frames_pass(&rig);
	}
	rig_close(&rig);
}

/* The driver's area need not be written by us, so it may not be for us. */
CASE(read_only_area)
{
	struct vhost_vring_addr a;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	if (rig.v.features & F_PACKED)
		ksft_skip("a packed ring's descriptors are written");
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	ASSERT_EQ(a.desc_user_addr % 4096, 0);
	ASSERT_SYS(mprotect((void *)(uintptr_t)a.desc_user_addr, 4096,
			    PROT_READ));
	rig_start(&rig);
	if (!vdev_is_vhost()) {
		EXPECT(!strcmp(ring_is(&rig, "kvnet.rx.access"), "pinned"));
		EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	}
	frames_pass(&rig);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

/* The used ring is a file's, which cannot be pinned: then nothing is, not even in part. */
CASE(used_ring_on_disk)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	remap.fd = disk_file();
	ASSERT_SYS(ftruncate(remap.fd, 4096));
	remap.at = page_of(q->ring.cfg.used);
	ASSERT(remap.at != page_of(q->ring.cfg.avail));
	map_used(remap.fd);
	vdev_backend(&rig.v, VDEV_TX, rig.tap);
	if (!vdev_is_vhost())
		EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	EXPECT_EQ(pinned_kb(), 0);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	frames_pass(&rig);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

/* The end of the descriptors is not there: what is there is used, and is not pinned. */
CASE(hole_in_a_ring)
{
	struct vhost_vring_addr a;
	size_t len = 4 * 4096;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .num = 1024, .bufs = 16 });
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	ASSERT_EQ(gr_desc_bytes(&rig.v.q[VDEV_TX].ring.cfg), len);
	ASSERT_SYS(munmap((uint8_t *)(uintptr_t)a.desc_user_addr + 4096, len - 4096));
	rig_start(&rig);
	if (!vdev_is_vhost()) {
		EXPECT(!strcmp(ring_is(&rig, "kvnet.rx.access"), "pinned"));
		EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	}
	frames_pass(&rig);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

/* A ring that is not there: no backend, and nothing stays pinned. */
CASE(no_memory_at_all)
{
	struct vhost_vring_addr a;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	ASSERT_SYS(munmap((void *)(uintptr_t)(a.used_user_addr & ~4095ul),
			  4096));
	EXPECT_EQ(__vdev_backend(&rig.v, VDEV_TX, rig.tap), -EFAULT);
	EXPECT_EQ(pinned_kb(), 0);
	rig_close(&rig);
}

KSFT_MAIN()
