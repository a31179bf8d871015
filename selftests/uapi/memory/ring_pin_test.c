// SPDX-License-Identifier: GPL-2.0
/*
 * Rings pinned into the kernel: while the queue runs, within the owner's limit of locked memory,
 * and in memory of all kinds that a VMM may have. What cannot be pinned is reached by user
 * addresses, and works.
 *
 * @hosts: 6.1 newest
 * @seconds: 7
 * @skip: uapi-.* | .*: looks at a split ring | the caller chose packed rings
 * @skip: uapi-.* | .*: a packed ring's .* | the caller chose packed rings
 * @skip: uapi-(uml|smp-).* | .*: no huge pages | the test hosts have them
 * @skip: uapi-(uml|smp-).* | .*: this kernel takes no .* | the test hosts take pages off line
 * @skip: (uapi|test)-[67n].* | .*: no file system with a disk | User-Mode Linux has one
 */
#include <linux/magic.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "pin_rig.h"

static struct rig rig;

CASE(rings_pinned_while_the_queue_runs)
{
	unsigned int i;

	need_pinned_rings();
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	EXPECT_EQ(pinned_kb(), 0);
	for (i = 0; i < 3; i++) {
		rig_start(&rig);
		expect_rings(&rig, "pinned");
		EXPECT(pinned_kb() > 0);
		frames_pass(&rig);
		rig_stop(&rig);
		expect_rings(&rig, "user");
		EXPECT_EQ(pinned_kb(), 0);
	}
	rig_start(&rig);
	vdev_close(&rig.v);
	EXPECT_EQ(pinned_kb(), 0);
}

static unsigned long kb_of(uint64_t addr, size_t len)
{
	return ((addr + len - 1) / 4096 - addr / 4096 + 1) * 4;
}

/* The areas' pages; a page that holds parts of two areas counts twice. */
static unsigned long kb_of_areas(unsigned int i)
{
	const struct gr_cfg *c = &rig.v.q[i].ring.cfg;
	struct vhost_vring_addr a;

	vdev_queue_addr(&rig.v, i, &a);
	return kb_of(a.desc_user_addr, gr_desc_bytes(c)) +
	       kb_of(a.avail_user_addr, gr_avail_bytes(c)) +
	       kb_of(a.used_user_addr, gr_used_bytes(c));
}

CASE_TIMED(rings_of_all_sizes_are_charged_right, 60)
{
	unsigned int num;

	need_pinned_rings();
	for (num = 1; num <= 32768; num *= 2) {
		rig_open(&rig, &(struct rig_cfg){ .num = num, .bufs = 1 });
		expect_rings(&rig, "pinned");
		EXPECT_EQ(pinned_kb(), kb_of_areas(VDEV_RX) + kb_of_areas(VDEV_TX));
		frames_pass(&rig);
		pin_rig_close(&rig);
	}
}

static void not_pinned_within(unsigned long limit)
{
	need_pinned_rings();
	limit_locked_memory(limit);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_rings(&rig, "user");
	EXPECT_EQ(pinned_kb(), 0);
	frames_pass(&rig);
}

CASE_ROW(rings_beyond_the_limit_not_pinned, not_pinned_within(0))

/* All of a queue's areas are pinned or none. */
CASE_ROW(ring_partly_beyond_the_limit_not_pinned, not_pinned_within(2 * 4096))

/* A read of such a ring may wait for its page, also while the worker spins. */
CASE(ring_unpinned_may_be_busy_polled)
{
	struct vhost_vring_state busy = { .index = VDEV_TX, .num = 100000 };
	uint64_t end = ksft_now_ms() + ksft_patience(5000);
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i;

	need_pinned_rings();
	limit_locked_memory(0);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_rings(&rig, "user");
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &busy);
	do {
		/* more than the thread that kicks would send */
		for (i = 0; i < 10; i++)
			ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick_always(q);
		/* let the worker spin, where there is one CPU */
		EXPECT(!vdev_eventfd_wait(q->err, 2));
		ASSERT(rig_tx_drain(&rig, 3000));
	} while (rig_counter(&rig, "kvnet.tx.busy_poll_misses") < 3 && ksft_now_ms() < end);
	EXPECT_GE(rig_counter(&rig, "kvnet.tx.busy_poll_misses"), 3);
}

/* To a free page of the rings' zone, 'by' bytes from its beginning. */
static void move_descriptors(unsigned int i, unsigned int by)
{
	struct gr_cfg *c = &rig.v.q[i].ring.cfg;
	size_t len = gr_desc_bytes(c);

	ASSERT(rig.v.ring_used + len + by <= VDEV_RING_ZONE);
	c->desc = memcpy(rig.v.mem + rig.v.ring_used + by, c->desc, len);
	rig.v.ring_used += (len + by + 4095) & ~4095ul;
	vdev_queue_tell(&rig.v, i, 0);
}

/* The VMM may place descriptors anywhere; but the kernel's own loads are aligned. */
CASE(descriptors_unaligned_not_pinned)
{
	unsigned int by;

	need_pinned_rings();
	for (by = 1; by <= 8; by++) {
		rig_open(&rig, &(struct rig_cfg){ .num = 256, .stopped = true });
		move_descriptors(VDEV_RX, by);
		move_descriptors(VDEV_TX, by);
		rig_start(&rig);
		expect_rings(&rig, by < 8 ? "user" : "pinned");
		if (by < 8)
			EXPECT_EQ(pinned_kb(), 0);
		frames_pass(&rig);
		rig_close(&rig);
	}
}

CASE(pin_rings_off_pins_nothing)
{
	need_pinned_rings();
	vdev_parameter("pin_rings", '0');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	vdev_parameter("pin_rings", '1');
	expect_rings(&rig, "user");
	frames_pass(&rig);
}

/*
 * Other memory replaces that of a running queue's ring, and the VMM sets the ring or the
 * table again.  The device works on the new memory, and does not touch the old.
 */
static void replace_ring(void)
{
	size_t size = rig.v.ring_used;
	void *copy = malloc(size);

	ASSERT(copy);
	memcpy(copy, rig.v.ring_host, size);
	ASSERT(mmap(rig.v.ring_host, (size + 4095) & ~4095ul,
		    PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS |
		    MAP_FIXED, -1, 0) == rig.v.ring_host);
	memcpy(rig.v.ring_host, copy, size);
	free(copy);
}

static uint16_t split_used_idx(uint64_t used)
{
	struct vring_used *u = (struct vring_used *)(uintptr_t)used;

	return __atomic_load_n(&u->idx, __ATOMIC_ACQUIRE);
}

static void moved_by(bool addr, const char *how)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	struct vhost_vring_addr a;
	uint16_t before;
	uint32_t seq;

	need_pinned_rings();
	limit_locked_memory(1 << 20);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (rig.v.features & F_PACKED)
		ksft_skip("looks at a split ring");
	frames_pass(&rig);
	expect_rings(&rig, "pinned");
	replace_ring();
	if (strcmp(how, "pinned"))
		limit_locked_memory(0);
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	if (addr)
		vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &a);
	else
		vdev_set_mem(&rig.v);
	before = split_used_idx(a.used_user_addr);
	seq = rig.tx_seq;
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	gr_publish(&q->ring);
	/* the driver has written to the old memory: bring it along */
	memcpy((void *)(uintptr_t)a.desc_user_addr, q->ring.cfg.desc,
	       q->num * sizeof(struct vring_desc));
	memcpy((void *)(uintptr_t)a.avail_user_addr, q->ring.cfg.avail,
	       sizeof(struct vring_avail) + 2 * q->num);
	vdev_kick_always(q);
	EXPECT(rig_expect(&rig, seq, 100));
	EXPECT(WAIT_FOR(2000, split_used_idx(a.used_user_addr) ==
			(uint16_t)(before + 1)));
	EXPECT_EQ(split_used_idx((uintptr_t)q->ring.cfg.used), before);
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), how));
}

CASE_ROW(ring_memory_replaced_pinned_by_set_vring_addr, moved_by(true, "pinned"))
CASE_ROW(ring_memory_replaced_pinned_by_set_mem_table, moved_by(false, "pinned"))

/* The new memory may not be pinned: the device must not use the old pin. */
CASE(ring_memory_replaced_beyond_the_limit_not_pinned)
{
	moved_by(true, "user");
	rig_close(&rig);
}

/* Mappings of several pages, as the kernel lists them. */
static unsigned int mappings(void)
{
	FILE *f = fopen("/proc/vmallocinfo", "r");
	char line[512];
	unsigned int n = 0;

	if (!f)
		ksft_skip("no /proc/vmallocinfo: %s", strerror(errno));
	while (fgets(line, sizeof(line), f))
		n += strstr(line, "[kvnet]") && strstr(line, "vmap");
	fclose(f);
	return n;
}

CASE(large_ring_mapped_while_the_queue_runs)
{
	unsigned int i;

	need_pinned_rings();
	rig_open(&rig, &(struct rig_cfg){ .num = 4096, .bufs = 1, .stopped = true });
	for (i = 0; i < 3; i++) {
		EXPECT_EQ(mappings(), 0);
		rig_start(&rig);
		expect_rings(&rig, "pinned");
		/* of descriptors, at the least */
		EXPECT_GE(mappings(), 2);
		rig_stop(&rig);
	}
	EXPECT_EQ(mappings(), 0);
	rig_close(&rig);
}

/*** kinds of memory ***/

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
	pin_rig_close(&rig);
}

/* QEMU's memory by default */
CASE_ROW(private_memory_pinned, rings_work_in(-1, MAP_PRIVATE | MAP_ANONYMOUS, "pinned"))
CASE_ROW(shared_memory_pinned, rings_work_in(-1, MAP_SHARED | MAP_ANONYMOUS, "pinned"))

/* memory-backend-memfd */
CASE(memfd_pinned)
{
	rings_work_in(ASSERT_SYS(memfd_create("guest", MFD_CLOEXEC)),
		      MAP_SHARED, "pinned");
}

CASE(memfd_of_huge_pages_pinned)
{
	if (!huge_pages_get(16))
		ksft_skip("no huge pages");
	rings_work_in(ASSERT_SYS(memfd_create("guest", MFD_CLOEXEC |
					      MFD_HUGETLB)), MAP_SHARED,
		      "pinned");
}

CASE(private_huge_pages_pinned)
{
	if (!huge_pages_get(16))
		ksft_skip("no huge pages");
	rings_work_in(-1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, "pinned");
}

/* A file in the directory, unlinked at once. */
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
CASE(file_in_memory_pinned)
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
CASE_ROW(file_on_disk_not_pinned, rings_work_in(disk_file(), MAP_SHARED, "user"))

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

/* What the device writes after the page was saved is saved, too. */
CASE(file_on_disk_written_is_saved)
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

/* The used ring's page is a file's and private memory alternately, as fast as can be. */
static struct {
	void *at;
	int fd;
	bool stop;
	unsigned long rounds;
	pthread_t thread;
} remap;

static void map_used(int fd)
{
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED;

	ASSERT(mmap(remap.at, 4096, PROT_READ | PROT_WRITE, MAP_FIXED | flags,
		    fd, 0) == remap.at);
}

/*
 * Has the address space locked most of the time, by changes of unused memory: other threads
 * wait for the lock, and get it one after the other.
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
		__atomic_add_fetch(&remap.rounds, 1, __ATOMIC_RELEASE);
	}
	return arg;
}

/* Set the ring up meanwhile; true if it is pinned. */
static bool pins_while_remapped(void)
{
	unsigned long before = __atomic_load_n(&remap.rounds, __ATOMIC_ACQUIRE);
	pthread_t lock;
	int ret;

	remap.stop = false;
	ASSERT_EQ(pthread_create(&remap.thread, NULL, remap_thread, NULL), 0);
	ASSERT_EQ(pthread_create(&lock, NULL, lock_thread, NULL), 0);
	WAIT_FOR(3000, __atomic_load_n(&remap.rounds, __ATOMIC_ACQUIRE) != before);
	ret = __vdev_backend(&rig.v, VDEV_TX, rig.tap);
	__atomic_store_n(&remap.stop, true, __ATOMIC_RELEASE);
	pthread_join(remap.thread, NULL);
	pthread_join(lock, NULL);
	return !ret && !strcmp(ring_is(&rig, "kvnet.tx.access"), "pinned");
}

/*
 * The page may become a file's while the device pins it. Then the device would write to the
 * file by way of the pin, which must not happen.
 */
CASE_TIMED(file_on_disk_mapped_meanwhile_not_pinned, 60)
{
	static uint8_t zeroes[4096];
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	unsigned int i, pinned = 0;
	uint8_t *file;

	need_pinned_rings();
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
	ksft_note("%u of %u times pinned, mapped %lu times", pinned, i, remap.rounds);
	EXPECT_EQ(pinned_kb(), 0);
	munmap(file, 4096);
	rig_close(&rig);
}

/* memory-backend-file,share=off: what is written is not the file's. */
CASE_ROW(private_file_on_disk_pinned, rings_work_in(disk_file(), MAP_PRIVATE, "pinned"))

/*
 * The device writes to memory that the VMM has freed by MADV_FREE (a balloon, free page
 * hints). Only the device knows of the write, and has to mark the page dirty when it unpins it.
 */
CASE(page_freed_by_madvise_and_written_is_dirty)
{
	uint8_t *control = mmap(NULL, 4096, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), *used;
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	uint16_t idx;

	need_pinned_rings();
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
	/* have the kernel reclaim it: a page that is not dirty loses its contents */
	if (!WAIT_FOR(2000, (madvise(control, 4096, MADV_PAGEOUT), !*control)))
		ksft_skip("memory that was freed stays");
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
 * The host takes pages off line whose memory begins to fail: a pinned page has to stay, and
 * device and driver go on using it.
 */
CASE(page_pinned_does_not_go_off_line)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	uint8_t *page[3];
	unsigned int i;

	need_pinned_rings();
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

static void works_with_tx_unpinned(void)
{
	rig_start(&rig);
	if (!vdev_is_vhost()) {
		EXPECT(!strcmp(ring_is(&rig, "kvnet.rx.access"), "pinned"));
		EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	}
	frames_pass(&rig);
	pin_rig_close(&rig);
}

/* The device does not write the driver's area, so the VMM may map it read-only. */
CASE(area_read_only_not_pinned)
{
	struct vhost_vring_addr a;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	if (rig.v.features & F_PACKED)
		ksft_skip("a packed ring's descriptors are written");
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	ASSERT_EQ(a.desc_user_addr % 4096, 0);
	ASSERT_SYS(mprotect((void *)(uintptr_t)a.desc_user_addr, 4096,
			    PROT_READ));
	works_with_tx_unpinned();
}

/* The used ring is a file's, which cannot be pinned: then no area is. */
CASE(used_ring_on_disk_pins_no_area)
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
	pin_rig_close(&rig);
}

/* The end of the descriptors is not mapped: the rest is used, and is not pinned. */
CASE(ring_with_a_hole_not_pinned)
{
	struct vhost_vring_addr a;
	size_t len = 4 * 4096;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .num = 1024, .bufs = 16 });
	vdev_queue_addr(&rig.v, VDEV_TX, &a);
	ASSERT_EQ(gr_desc_bytes(&rig.v.q[VDEV_TX].ring.cfg), len);
	ASSERT_SYS(munmap((uint8_t *)(uintptr_t)a.desc_user_addr + 4096, len - 4096));
	works_with_tx_unpinned();
}

KSFT_MAIN()
