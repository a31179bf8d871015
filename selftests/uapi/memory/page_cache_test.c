// SPDX-License-Identifier: GPL-2.0
/*
 * The pages that single frames are copied to are cached. The owner changes that memory, by
 * all calls that can, at any moment, and the kernel merges, splits, swaps and moves the pages:
 * nothing is written to a page that is gone, no frame is lost, and the bytes around a frame
 * stay what they are. invalidate_test has memory that changes all the time.
 *
 * @hosts: newest
 * @seconds: 34
 * @skip: uapi-(uml|smp-).* | .*: no disk to swap to | the test hosts have one
 * @skip: uapi-smp-.* | .*: another CPU's memory map .* | one CPU, and the test hosts
 * @skip: uapi-(uml|smp-).* | huge_page_split_keeps_the_rest: no huge pages | the test hosts have them
 * @skip: uapi-(uml|smp-).* | .*: this kernel takes no page .* | the test hosts take pages off line
 */
#include <sys/prctl.h>

#include "cgroup.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "rx_inline_rig.h"
#include "swap.h"

#define SOME		40

static off_t offset_of_pool(void)
{
	off_t at = rx->bufs - rig.v.mem;

	return at - at % PAGE;
}

static void by_dontneed(uint8_t *at, size_t len)
{
	ASSERT_SYS(madvise(at, len, MADV_DONTNEED));
}

static void by_unmap(uint8_t *at, size_t len)
{
	ASSERT_SYS(munmap(at, len));
	ASSERT(mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    rig.v.memfd, offset_of_pool()) == at);
}

static void by_mapping_over(uint8_t *at, size_t len)
{
	ASSERT(mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		    rig.v.memfd, offset_of_pool()) == at);
}

static void by_moving(uint8_t *at, size_t len)
{
	uint8_t *to = mmap(NULL, len, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ASSERT(to != MAP_FAILED);
	ASSERT(mremap(at, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, to) == to);
	ASSERT(mremap(to, len, len, MREMAP_MAYMOVE | MREMAP_FIXED, at) == at);
}

static void by_protection(uint8_t *at, size_t len)
{
	ASSERT_SYS(mprotect(at, len, PROT_READ));
	ASSERT_SYS(mprotect(at, len, PROT_READ | PROT_WRITE));
}

/* A balloon. The pages lose their contents, which are no frame of the test. */
static void by_hole(uint8_t *at, size_t len)
{
	ASSERT_SYS(fallocate(rig.v.memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			     offset_of_pool(), len));
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
}

static void pages_invalidated_by(void (*away)(uint8_t *at, size_t len))
{
	unsigned int i;
	uint8_t *at;
	size_t len;
	long pages;

	rx_inline_begin();
	at = rx_inline_pool(&len);
	for (i = 0; i < 4 && !ksft_failed(); i++) {
		rx_inline_warm_up();
		pages = rx_inline_counter("kvnet.pages_invalidated");
		away(at, len);
		EXPECT_OP(rx_inline_counter("kvnet.pages_invalidated"), >, pages);
		rx_inline_some(4, 60);
		rx_inline_touch();
		rx_inline_some(4, 60);
		rx_inline_some(2, 1514);
	}
	rx_inline_warm_up();
	EXPECT_GE(rx_inline_counter("kvnet.rx.inline_skip_uncached"), 4);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.drop_fault"), 0);
	rig_close(&rig);
}

CASE_ROW(pages_dropped_by_madvise_are_invalidated, pages_invalidated_by(by_dontneed))
CASE_ROW(pages_unmapped_are_invalidated, pages_invalidated_by(by_unmap))
CASE_ROW(pages_mapped_over_are_invalidated, pages_invalidated_by(by_mapping_over))
CASE_ROW(pages_moved_by_mremap_are_invalidated, pages_invalidated_by(by_moving))
CASE_ROW(pages_protected_are_invalidated, pages_invalidated_by(by_protection))
CASE_ROW(pages_punched_out_are_invalidated, pages_invalidated_by(by_hole))

/*** devices of one process ***/

#define DEVICES		3

static struct {
	struct rig rig;
	uint32_t seq;
} device[DEVICES];

static void put_aside(unsigned int i)
{
	device[i].rig = rig;
	device[i].seq = seq;
}

/* Makes 'rig' and 'seq' those of this device. */
static void switch_to(unsigned int i)
{
	rig = device[i].rig;
	seq = device[i].seq;
}

static void open_one_more(bool first)
{
	rig_open(&rig, &(struct rig_cfg){ .here = !first });
	rx_inline_ready();
	rx_inline_warm_up();
}

static long pages_invalidated(unsigned int i)
{
	return rig_counter(&device[i].rig, "kvnet.pages_invalidated");
}

static void warm_up(unsigned int i)
{
	switch_to(i);
	rx_inline_warm_up();
	put_aside(i);
}

/* Drops one device's pages. False if another device from 'first' on has lost some, too. */
static bool others_keep_pages(unsigned int first, unsigned int whose)
{
	long before[DEVICES];
	bool keep = true;
	unsigned int i;
	uint8_t *at;
	size_t len;

	warm_up(whose);
	for (i = first; i < DEVICES; i++)
		before[i] = pages_invalidated(i);
	at = rx_inline_pool(&len);
	by_dontneed(at, len);
	EXPECT_OP(pages_invalidated(whose), >, before[whose]);
	for (i = first; i < DEVICES; i++)
		keep = keep && (i == whose || pages_invalidated(i) == before[i]);
	return keep;
}

/*
 * One of the devices from 'first' on loses its cached pages, the others keep theirs; all receive.
 * The kernel may migrate pages at any time, to compact memory: then all is tried again.
 */
static void invalidate_one(unsigned int first, unsigned int whose)
{
	unsigned int i, tries = 5;

	while (!others_keep_pages(first, whose) && --tries && !ksft_failed())
		for (i = first; i < DEVICES; i++)
			warm_up(i);
	EXPECT_OP(tries, >, 0);
	for (i = first; i < DEVICES && !ksft_failed(); i++) {
		switch_to(i);
		rx_inline_some(2, 60);
		rx_inline_some(1, 1514);
		put_aside(i);
	}
}

/* While others are closed and opened. */
CASE_TIMED(devices_of_one_process_invalidate_their_own_pages, 60)
{
	unsigned int i;

	rx_inline_need_kvnet();
	for (i = 0; i < DEVICES; i++) {
		open_one_more(!i);
		put_aside(i);
	}
	invalidate_one(0, 0);
	invalidate_one(0, DEVICES - 1);
	switch_to(0);
	rig_close(&rig);
	invalidate_one(1, 1);
	open_one_more(false);
	put_aside(0);
	invalidate_one(0, 0);
	invalidate_one(0, 1);
	for (i = 0; i < DEVICES; i++) {
		switch_to(i);
		rig_close(&rig);
	}
}

static struct {
	uint8_t *at;
	size_t len;
	bool stop;
} dropper;

static void *drops_pages(void *arg)
{
	while (!__atomic_load_n(&dropper.stop, __ATOMIC_RELAXED)) {
		by_dontneed(dropper.at, dropper.len);
		sched_yield();
	}
	return NULL;
}

/* The first device's pages are invalidated all the time, while others are opened and closed. */
CASE_TIMED(devices_opened_and_closed_disturb_no_other, 60)
{
	unsigned int i, k;
	pthread_t thread;

	rx_inline_need_kvnet();
	open_one_more(true);
	dropper.at = rx_inline_pool(&dropper.len);
	put_aside(0);
	ASSERT_EQ(pthread_create(&thread, NULL, drops_pages, NULL), 0);
	for (i = 0; i < ksft_rounds(12) && !ksft_failed(); i++) {
		switch_to(0);
		for (k = 0; k < 8; k++) {
			rx_inline_one(k % 2 ? 60 : 1514, 3000);
			rx_inline_reply();
		}
		put_aside(0);
		rig_open(&rig, &(struct rig_cfg){ .here = true });
		rx_inline_ready();
		for (k = 0; k < 4; k++) {
			rx_inline_one(60, 3000);
			rx_inline_reply();
		}
		rig_close(&rig);
	}
	__atomic_store_n(&dropper.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	switch_to(0);
	rx_inline_warm_up();
	rig_close(&rig);
}

#define DROPS		30

static void cache_and_drop(void)
{
	unsigned int i;
	size_t len;
	uint8_t *at = rx_inline_pool(&len);

	for (i = 0; i < DROPS && !ksft_failed(); i++) {
		rx_inline_warm_up();
		by_dontneed(at, len);
		memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
	}
}

/* Pages that the device has cached are free when the owner drops them. */
CASE_TIMED(pages_dropped_are_freed, 60)
{
	rx_inline_begin_private();
	rx_inline_warm_up();
	/* a leak would take a cluster of pages each time */
	memory_is_given_back(cache_and_drop, DROPS * 4 * PAGE / 1024 - 1);
	rig_close(&rig);
}

CASE(buffer_read_only_drops_the_frame)
{
	uint8_t *at;
	size_t len;
	long drops;

	rx_inline_begin();
	rx_inline_warm_up();
	at = rx_inline_pool(&len);
	drops = rx_inline_counter("kvnet.rx.drop_fault");
	ASSERT_SYS(mprotect(at, len, PROT_READ));
	rig_inject(&rig, seq++, 60);
	EXPECT(WAIT_FOR(3000, rx_inline_counter("kvnet.rx.drop_fault") == drops + 1));
	ASSERT_SYS(mprotect(at, len, PROT_READ | PROT_WRITE));
	rx_inline_warm_up();
	rig_close(&rig);
}

/* As in a post-copy migration: the worker waits for the pages, no softirq does. */
CASE(buffer_missing_waits_in_the_worker)
{
	uint8_t *at;
	size_t len;

	rx_inline_begin_private();
	rx_inline_warm_up();
	at = rx_inline_pool(&len);
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
	pager_open();
	pager_take_away(at, len);
	rx_inline_some(SOME, 60);
	EXPECT_OP(pager.pages, >, 0);
	rx_inline_warm_up();
	rig_close(&rig);
}

/*** memory that is replaced ***/

static struct {
	int fd[2];
	uint8_t *view[2];
	size_t len;
	bool stop;
	unsigned long rounds;
	unsigned int bad;
} other;

static void other_open(void)
{
	unsigned int i;

	rx_inline_pool(&other.len);
	for (i = 0; i < 2; i++) {
		other.fd[i] = ASSERT_SYS(memfd_create("other", MFD_CLOEXEC));
		ASSERT_SYS(ftruncate(other.fd[i], other.len));
		other.view[i] = mmap(NULL, other.len, PROT_READ | PROT_WRITE,
				     MAP_SHARED, other.fd[i], 0);
		ASSERT(other.view[i] != MAP_FAILED);
	}
}

static void other_close(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		munmap(other.view[i], other.len);
		close(other.fd[i]);
	}
}

static void other_map(unsigned int i)
{
	size_t len;
	uint8_t *at = rx_inline_pool(&len);

	if (mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 other.fd[i], 0) != at)
		other.bad++;
}

static bool is_all(const uint8_t *p, size_t len, uint8_t value)
{
	return *p == value && !memcmp(p, p + 1, len - 1);
}

/* A frame, whose contents are not compared: they may be in either memory. */
static bool pass_a_frame(void)
{
	struct gr_done d;

	rig_inject(&rig, seq++, 60);
	if (!WAIT_FOR(3000, gr_used_pending(&rx->ring)) ||
	    gr_get_used(&rx->ring, &d) != 1)
		return false;
	vdev_buf_put(rx, d.token);
	rig_rx_post(&rig, 1, NULL);
	vdev_kick(rx);
	return true;
}

/* Maps the two memories in turn: the one that is not mapped must not be written. */
static void *replace_thread(void *arg)
{
	unsigned int i = 0, k;

	while (!__atomic_load_n(&other.stop, __ATOMIC_RELAXED)) {
		i = !i;
		other_map(i);
		rx_inline_touch();
		memset(other.view[!i], 0x77, other.len);
		/* now and then long enough for some frames, on one busy CPU, too */
		for (k = 0; k < 20U << other.rounds % 8; k++)
			sched_yield();
		if (!is_all(other.view[!i], other.len, 0x77))
			other.bad++;
		other.rounds++;
	}
	return NULL;
}

static bool more_than(long n_inline)
{
	return rx_inline_counter("kvnet.rx.polls_inline") > n_inline;
}

CASE_TIMED(memory_replaced_under_frames_is_not_written, 60)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(15000);
	unsigned int i, n = ksft_rounds(1000);
	pthread_t thread;
	long n_inline;

	rx_inline_begin();
	rx_inline_warm_up();
	other_open();
	other.stop = false;
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	ASSERT_EQ(pthread_create(&thread, NULL, replace_thread, NULL), 0);
	/*
	 * And until a softirq has received some. With one CPU the memory may be replaced before each
	 * frame; and a stream of frames is the worker's until some frames are far apart.
	 */
	for (i = 0; i < n || i % 100 ||
	     (!more_than(n_inline) && ksft_now_ms() < deadline); i++) {
		if (i >= n)
			wait_worker_idle();
		EXPECT(pass_a_frame());
		if (ksft_failed())
			break;
	}
	__atomic_store_n(&other.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(other.bad, 0);
	EXPECT_GE(other.rounds, 1);
	EXPECT(more_than(n_inline));
	other_close();
	rig_close(&rig);
}

/* The child has copies of the private pages; frames go to the parent's. */
CASE(child_of_the_owner_sees_no_frame)
{
	int go[2], status;
	pid_t pid;
	char c;

	rx_inline_begin_private();
	rx_inline_warm_up();
	ASSERT_EQ(pipe(go), 0);
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
	pid = fork();
	if (!pid) {
		close(go[1]);
		if (read(go[0], &c, 1) != 0)
			_exit(2);
		_exit(!is_all(rx->bufs, rx->buf_num * rx->buf_size, RX_CANARY));
	}
	close(go[0]);
	rx_inline_some(SOME, 60);
	close(go[1]);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	rx_inline_warm_up();
	rig_close(&rig);
}

/*
 * The guest adds buffers as soon as it sees that none is left. Meanwhile the worker, which was
 * woken since pages were not cached, fills the cache for the next buffers.
 */
static void add_during_a_fill(uint8_t *at, size_t len)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(3000);
	unsigned int i;

	by_dontneed(at, len);
	for (i = 0; i < 4; i++)
		rig_inject(&rig, seq + i, 60);
	while (!gr_used_pending(&rx->ring) && ksft_now_ms() < deadline)
		;
	rig_rx_post(&rig, 2, NULL);
	vdev_kick(rx);
	for (i = 0; i < 4 && !ksft_failed(); i++)
		rig_rx_expect(&rig, seq++, 60);
}

CASE_TIMED(buffers_added_during_a_fill_are_not_missed, 60)
{
	unsigned int i;
	uint8_t *at;
	size_t len;

	rx_inline_need_kvnet();
	rig_open(&rig, &(struct rig_cfg){ 0 });
	vdev_no_spin(&rig.v);
	rx_inline_touch();
	rig_rx_post(&rig, 2, NULL);
	vdev_kick_always(rx);
	seq = 0;
	at = rx_inline_pool(&len);
	for (i = 0; i < 40 && !ksft_failed(); i++) {
		rx_inline_some(2, 60);
		add_during_a_fill(at, len);
		rig_rx_post(&rig, 2, NULL);
		vdev_kick(rx);
		rx_inline_reply();
		wait_worker_idle();
	}
	EXPECT_GE(rx_inline_counter("kvnet.rx.inline_skip_uncached"), 5);
	/* A guest with a CPU of its own often adds some before the worker finds none. */
	EXPECT_GE(rx_inline_counter("kvnet.rx.no_buf"), 3);
	rig_close(&rig);
}

/*** changes by the kernel ***/

#define FEW		4	/* pages that stay off line */
#define HUGE		(2ul << 20)

#ifndef MADV_SOFT_OFFLINE
#define MADV_SOFT_OFFLINE	101
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE		25
#endif

#define KSM "/sys/kernel/mm/ksm/"

static long ksm_read(const char *what)
{
	char path[64], text[32] = "";
	int fd;

	snprintf(path, sizeof(path), KSM "%s", what);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) < 0)
		ksft_skip("no KSM");
	close(fd);
	return atol(text);
}

static void ksm_write(const char *what, const char *value)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), KSM "%s", what);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0 || write(fd, value, strlen(value)) < 0)
		ksft_skip("no KSM");
	close(fd);
}

/* KSM makes them one page: a frame must be written to one of them only. */
CASE(pages_merged_by_ksm_are_written_apart)
{
	size_t len;
	uint8_t *at;

	if (is_user_mode_linux() && sysconf(_SC_NPROCESSORS_ONLN) > 1)
		ksft_skip("another CPU's memory map is not changed at once");
	ksm_read("run");
	rx_inline_begin_private();
	rx_inline_warm_up();
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
	at = rx_inline_pool(&len);
	ASSERT_SYS(madvise(at, len, MADV_MERGEABLE));
	ksm_write("sleep_millisecs", "1");
	ksm_write("pages_to_scan", "10000");
	ksm_write("run", "1");
	EXPECT(WAIT_FOR(20000, ksm_read("pages_sharing") > (long)(len / PAGE / 2)));
	/* rig_rx() sees that nothing has changed beyond a frame. */
	rx_inline_some(SOME, 60);
	ksm_write("run", "2");
	EXPECT(WAIT_FOR(20000, !ksm_read("pages_shared")));
	rx_inline_warm_up();
	rig_close(&rig);
}

static unsigned long huge_kb(void)
{
	return strtoul(word_of("/proc/self/smaps_rollup", "AnonHugePages"), NULL, 10);
}

/* Moves the buffers into a huge page. */
static void make_huge(uint8_t *at)
{
	volatile uint8_t *huge = (uint8_t *)((uintptr_t)at & ~(HUGE - 1));
	size_t i;

	if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
		ksft_skip("no huge pages");
	ASSERT(huge >= rig.v.mem && huge + HUGE <= rig.v.mem + rig.v.mem_size);
	/* MADV_COLLAPSE wants them mapped */
	for (i = 0; i < HUGE; i += PAGE)
		huge[i] = huge[i];
	/* a page in a CPU's batch of the LRU cannot be moved for a moment */
	if (!WAIT_FOR(5000, !madvise((void *)huge, HUGE, MADV_COLLAPSE)))
		FAIL("MADV_COLLAPSE: %s", strerror(errno));
	EXPECT_GE(huge_kb(), HUGE / 1024);
}

/* A part of the huge page is dropped. */
CASE(huge_page_split_keeps_the_rest)
{
	unsigned long before;
	unsigned int i;
	size_t len;
	uint8_t *at;

	rx_inline_need_kvnet();
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	at = rx_inline_pool(&len);
	make_huge(at);
	/* khugepaged is to leave this process alone */
	ASSERT_SYS(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
	before = huge_kb();
	rig_start(&rig);
	rx_inline_ready();
	rx_inline_warm_up();
	EXPECT_EQ(huge_kb(), before);
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		ASSERT_SYS(madvise(at + i * PAGE, PAGE, MADV_DONTNEED));
		EXPECT_OP(huge_kb(), <, before);
		memset(at + i * PAGE, RX_CANARY, PAGE);
		rx_inline_some(4, 60);
	}
	rx_inline_warm_up();
	rig_close(&rig);
}

/*** while frames come ***/

/* Has the kernel take pages, once; false to end. */
typedef bool taker(uint8_t *at, size_t len, unsigned int round);

static struct {
	taker *take;
	bool stop;
	unsigned int rounds;
	unsigned long swapped;	/* KiB, the most that was seen */
} taking;

static void *take_thread(void *arg)
{
	unsigned long kb;
	size_t len;
	uint8_t *at = rx_inline_pool(&len);

	while (!__atomic_load_n(&taking.stop, __ATOMIC_RELAXED) &&
	       taking.take(at, len, taking.rounds)) {
		__atomic_add_fetch(&taking.rounds, 1, __ATOMIC_RELAXED);
		kb = swapped_kb();
		taking.swapped = kb > taking.swapped ? kb : taking.swapped;
		sched_yield();
	}
	return NULL;
}

/* A softirq has received some, the worker others, since pages were gone; all came. */
static void expect_both(long n_inline, long missed, long invalidated)
{
	EXPECT_OP(rx_inline_counter("kvnet.rx.polls_inline"), >, n_inline);
	EXPECT_OP(rx_inline_counter("kvnet.rx.inline_skip_uncached"), >, missed);
	EXPECT_OP(rx_inline_counter("kvnet.pages_invalidated"), >, invalidated);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.drop_fault"), 0);
}

/* Frames, short and long, for at least so many rounds of the taker. */
static void under_frames(taker *take, unsigned int rounds)
{
	long n_inline, missed, invalidated;
	pthread_t thread;
	uint64_t end;

	rx_inline_warm_up();
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	missed = rx_inline_counter("kvnet.rx.inline_skip_uncached");
	invalidated = rx_inline_counter("kvnet.pages_invalidated");
	taking.take = take;
	taking.rounds = 0;
	taking.swapped = 0;
	__atomic_store_n(&taking.stop, false, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_create(&thread, NULL, take_thread, NULL), 0);
	end = ksft_now_ms() + ksft_patience(20000);
	while (!ksft_failed() && ksft_now_ms() < end &&
	       (__atomic_load_n(&taking.rounds, __ATOMIC_RELAXED) < rounds ||
		rx_inline_counter("kvnet.rx.inline_skip_uncached") == missed)) {
		rx_inline_one(seq % 3 ? 60 : 1514, 3000);
		rx_inline_reply();
	}
	__atomic_store_n(&taking.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_GE(taking.rounds, rounds);
	if (!ksft_failed())
		rx_inline_warm_up();
	expect_both(n_inline, missed, invalidated);
}

static bool by_pageout(uint8_t *at, size_t len, unsigned int round)
{
	return EXPECT_EQ(madvise(at, len, MADV_PAGEOUT), 0);
}

CASE_TIMED(pages_swapped_out_lose_no_frame, 60)
{
	swap_need();
	rx_inline_begin_private();
	under_frames(by_pageout, ksft_rounds(60));
	EXPECT_OP(taking.swapped, >, 0);
	rig_close(&rig);
}

/* A group whose memory is reclaimed, shared memory, too. */
static struct cgroup group;

static bool by_reclaim(uint8_t *at, size_t len, unsigned int round)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "%s/memory.reclaim", group.path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* more than there is: EAGAIN */
	if (write(fd, "4M", 2) < 0 && errno != EAGAIN)
		FAIL("memory.reclaim: %s", strerror(errno));
	close(fd);
	return true;
}

CASE_TIMED(pages_reclaimed_lose_no_frame, 60)
{
	swap_need();
	cgroup_make(&group, "memory");
	cgroup_join(&group, getpid());
	rx_inline_begin();
	under_frames(by_reclaim, ksft_rounds(8));
	rig_close(&rig);
	cgroup_leave(getpid());
	cgroup_remove(&group);
}

/* The kernel takes a page off line, and moves its contents to another. */
static bool by_moving_off(uint8_t *at, size_t len, unsigned int round)
{
	return round < FEW && round < len / PAGE &&
	       EXPECT_EQ(madvise(at + round * PAGE, PAGE, MADV_SOFT_OFFLINE), 0);
}

CASE_TIMED(pages_moved_off_line_lose_no_frame, 60)
{
	rx_inline_begin_private();
	if (madvise(rig.v.mem, 0, MADV_SOFT_OFFLINE) && errno == EINVAL)
		ksft_skip("this kernel takes no page off line");
	under_frames(by_moving_off, FEW);
	rig_close(&rig);
}

KSFT_MAIN()
