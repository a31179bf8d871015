// SPDX-License-Identifier: GPL-2.0
/*
 * Who receives: whoever puts a lone frame into the tap, if the page is known that it
 * goes to; else the worker. Pages may be taken away from the owner at any moment, in
 * all the ways there are: nothing is written to one that is gone, and no frame is lost.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pager.h"
#include "pin_rig.h"
#include "place_rig.h"
#include "procfs.h"

#define SOME		40

CASE(a_lone_frame_is_received_by_who_brings_it)
{
	static const uint32_t len[] = { 26, 60, 241, 242, 256, 257, 1514, 2048 };
	long wakes, soft, runs;
	unsigned int i;

	place_begin();
	place_warm_up();
	wakes = place_counter("kvnet.rx.wakes");
	soft = place_counter("kvnet.rx.runs_soft");
	runs = place_counter("kvnet.rx.runs");
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		place_one(len[i % 8], 0);
		place_answer();
	}
	EXPECT_EQ(place_counter("kvnet.rx.runs_soft") - soft, SOME);
	EXPECT_EQ(place_counter("kvnet.rx.wakes"), wakes);
	EXPECT_EQ(place_counter("kvnet.rx.runs"), runs);
	EXPECT_EQ(place_counter("kvnet.rx.packets"), seq);
	EXPECT_GE(place_counter("kvnet.pages"), 1);
	rig_close(&rig);
}

CASE(not_if_told_so)
{
	char was;

	place_need_kvnet();
	was = place_in_place('N');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	place_ready();
	place_some(SOME, 60);
	EXPECT_EQ(place_counter("kvnet.rx.runs_soft"), 0);
	EXPECT_EQ(place_counter("kvnet.pages"), 0);
	EXPECT_GE(place_counter("kvnet.rx.wakes"), SOME);
	rig_close(&rig);
	place_in_place(was);
}

/* Longer ones are not short of a worker; all arrive in order. */
CASE(what_is_long_is_for_the_worker)
{
	unsigned int i;

	place_begin();
	place_warm_up();
	for (i = 0; i < SOME && !ksft_failed(); i++)
		place_one(i % 2 ? 60 : 9000, 3000);
	EXPECT_GE(place_counter("kvnet.rx.soft_slow"), 1);
	EXPECT_EQ(place_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

/* One that keeps coming is for the worker, till it has ended. */
CASE(a_stream_is_for_the_worker)
{
	unsigned int i;
	long soft;

	place_begin();
	place_warm_up();
	for (i = 0; i < 100 && !ksft_failed(); i++)
		rig_inject(&rig, seq + i, 60);
	soft = place_counter("kvnet.rx.runs_soft");
	EXPECT_GE(place_counter("kvnet.rx.wakes"), 1);
	for (i = 0; i < 100 && !ksft_failed(); i++)
		rig_rx_expect(&rig, seq++, 60);
	EXPECT_GE(soft, 1);
	rig_rx_post(&rig, BUFS, NULL);
	vdev_kick(rx);
	place_warm_up();
	rig_close(&rig);
}

/* Who writes into the log may have to wait, so it is the worker. */
CASE(a_log_is_for_the_worker)
{
	static uint8_t log[1 << 20];
	uint64_t base = (uintptr_t)log, features;
	long soft;

	place_begin();
	place_warm_up();
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_BASE, &base);
	features = rig.v.features | F_LOG;
	if (rig.v.hdr_len == 12)
		features &= ~F_NETHDR;
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &features);
	soft = place_counter("kvnet.rx.runs_soft");
	place_some(SOME, 60);
	EXPECT_EQ(place_counter("kvnet.rx.runs_soft"), soft);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &rig.v.features);
	place_warm_up();
	rig_close(&rig);
}

/*** pages that are taken away ***/

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

/* A balloon. What was in the pages is gone, but nobody has sent that. */
static void by_hole(uint8_t *at, size_t len)
{
	(void)at;
	ASSERT_SYS(fallocate(rig.v.memfd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
			     offset_of_pool(), len));
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
}

static void taken(void (*away)(uint8_t *at, size_t len))
{
	unsigned int i;
	uint8_t *at;
	size_t len;
	long pages;

	place_begin();
	at = place_pool(&len);
	for (i = 0; i < 4 && !ksft_failed(); i++) {
		place_warm_up();
		pages = place_counter("kvnet.pages_taken");
		away(at, len);
		EXPECT_OP(place_counter("kvnet.pages_taken"), >, pages);
		place_some(4, 60);
		place_touch();
		place_some(4, 60);
		place_some(2, 1514);
	}
	place_warm_up();
	EXPECT_GE(place_counter("kvnet.rx.soft_missed"), 4);
	EXPECT_EQ(place_counter("kvnet.rx.packets"), seq);
	EXPECT_EQ(place_counter("kvnet.rx.drop_fault"), 0);
	rig_close(&rig);
}

CASE(taken_by_dontneed)
{
	taken(by_dontneed);
}

CASE(taken_by_munmap)
{
	taken(by_unmap);
}

CASE(taken_by_mapping_over)
{
	taken(by_mapping_over);
}

CASE(taken_by_mremap)
{
	taken(by_moving);
}

CASE(taken_by_mprotect)
{
	taken(by_protection);
}

CASE(taken_by_punching_a_hole)
{
	taken(by_hole);
}

/* Memory that may not be written is not. */
CASE(read_only)
{
	uint8_t *at;
	size_t len;
	long drops;

	place_begin();
	place_warm_up();
	at = place_pool(&len);
	drops = place_counter("kvnet.rx.drop_fault");
	ASSERT_SYS(mprotect(at, len, PROT_READ));
	rig_inject(&rig, seq++, 60);
	EXPECT(WAIT_FOR(3000, place_counter("kvnet.rx.drop_fault") == drops + 1));
	ASSERT_SYS(mprotect(at, len, PROT_READ | PROT_WRITE));
	place_warm_up();
	rig_close(&rig);
}

/* Missing, as in a post-copy migration: the worker waits, and nobody else. */
CASE(missing)
{
	uint8_t *at;
	size_t len;

	place_begin_private();
	place_warm_up();
	at = place_pool(&len);
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
	pager_open();
	pager_take_away(at, len);
	place_some(SOME, 60);
	EXPECT_OP(pager.pages, >, 0);
	place_warm_up();
	rig_close(&rig);
}

/*** of other memory there is nothing in what was there before, and the reverse ***/

static struct {
	int fd[2];
	uint8_t *view[2];
	size_t len;
	bool stop;
	unsigned long turns;
	unsigned int bad;
} other;

static void other_open(void)
{
	unsigned int i;

	place_pool(&other.len);
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
	uint8_t *at = place_pool(&len);

	if (mmap(at, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
		 other.fd[i], 0) != at)
		other.bad++;
}

static bool is_all(const uint8_t *p, size_t len, uint8_t value)
{
	return *p == value && !memcmp(p, p + 1, len - 1);
}

/* A frame, whose contents nobody looks at. */
static bool blind(void)
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

/* Swap the memory, and see that nothing comes where it was. */
static void *swap_thread(void *arg)
{
	unsigned int i = 0, k;

	(void)arg;
	while (!__atomic_load_n(&other.stop, __ATOMIC_RELAXED)) {
		i = !i;
		other_map(i);
		place_touch();
		memset(other.view[!i], 0x77, other.len);
		for (k = 0; k < 20; k++)
			sched_yield();
		if (!is_all(other.view[!i], other.len, 0x77))
			other.bad++;
		other.turns++;
	}
	return NULL;
}

CASE_TIMED(nothing_is_written_to_what_is_gone, 60)
{
	unsigned int i, n = ksft_rounds(1000);
	pthread_t thread;
	long soft;

	place_begin();
	place_warm_up();
	other_open();
	other.stop = false;
	soft = place_counter("kvnet.rx.runs_soft");
	ASSERT_EQ(pthread_create(&thread, NULL, swap_thread, NULL), 0);
	for (i = 0; i < n && !ksft_failed(); i++)
		EXPECT(blind());
	__atomic_store_n(&other.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(other.bad, 0);
	EXPECT_GE(other.turns, 1);
	EXPECT_OP(place_counter("kvnet.rx.runs_soft"), >, soft);
	other_close();
	rig_close(&rig);
}

/* A child has the memory as it was, private pages not being its parent's any more. */
CASE(a_child_sees_nothing)
{
	int go[2], status;
	pid_t pid;
	char c;

	place_begin_private();
	place_warm_up();
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
	place_some(SOME, 60);
	close(go[1]);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	place_warm_up();
	rig_close(&rig);
}

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

/* Pages that are one page: a frame goes to one of them only. */
CASE(merged)
{
	size_t len;
	uint8_t *at;

	ksm_read("run");
	place_begin_private();
	place_warm_up();
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
	at = place_pool(&len);
	ASSERT_SYS(madvise(at, len, MADV_MERGEABLE));
	ksm_write("sleep_millisecs", "1");
	ksm_write("pages_to_scan", "10000");
	ksm_write("run", "1");
	EXPECT(WAIT_FOR(20000, ksm_read("pages_sharing") > (long)(len / PAGE / 2)));
	/* rig_rx() sees that nothing has changed beyond a frame. */
	place_some(SOME, 60);
	ksm_write("run", "2");
	EXPECT(WAIT_FOR(20000, !ksm_read("pages_shared")));
	place_warm_up();
	rig_close(&rig);
}

/* A part of a huge page goes: the rest stays what it is. */
CASE(a_huge_page_is_split)
{
	unsigned int i;
	size_t len;
	uint8_t *at;

	place_need_kvnet();
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	madvise(rig.v.mem, rig.v.mem_size, MADV_HUGEPAGE);
	rig_start(&rig);
	place_ready();
	place_warm_up();
	at = place_pool(&len);
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		madvise(at + i * PAGE, PAGE, MADV_DONTNEED);
		memset(at + i * PAGE, RX_CANARY, PAGE);
		place_some(4, 60);
	}
	place_warm_up();
	rig_close(&rig);
}

/*** the rest of the device's life ***/

static void change_something(unsigned int i)
{
	struct vhost_vring_file call = { VDEV_RX, i % 2 ? rx->call : -1 };
	size_t len;
	uint8_t *at = place_pool(&len);

	switch (i % 4) {
	case 0:
	case 1:
		vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL, &call);
		break;
	case 2:
		vdev_set_mem(&rig.v);
		break;
	default:
		madvise(at, len, MADV_DONTNEED);
	}
}

static bool changing;
static void *change_thread(void *arg)
{
	unsigned int i;

	(void)arg;
	for (i = 0; __atomic_load_n(&changing, __ATOMIC_RELAXED); i++)
		change_something(i);
	return NULL;
}

/* Set-up that changes all the time, and no frame is lost, doubled or out of order. */
CASE_TIMED(while_the_set_up_changes, 60)
{
	unsigned int n = ksft_rounds(500);
	pthread_t thread;

	place_begin();
	place_warm_up();
	__atomic_store_n(&changing, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_create(&thread, NULL, change_thread, NULL), 0);
	while (n-- && !ksft_failed())
		place_one(60, 3000);
	__atomic_store_n(&changing, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(place_counter("kvnet.rx.packets"), seq);
	place_warm_up();
	rig_close(&rig);
}

/* In another process: frames while the owner is stopped. */
static int stop_owner(pid_t owner)
{
	long packets = place_counter("kvnet.rx.packets");
	unsigned int i;
	bool alone;

	if (kill(owner, SIGSTOP) || !WAIT_FOR(3000, task_state(owner, owner) == 'T'))
		return 2;
	for (i = 0; i < 3; i++)
		rig_inject(&rig, seq + i, 60);
	alone = place_counter("kvnet.rx.packets") == packets;
	return kill(owner, SIGCONT) ? 2 : !alone;
}

/* Nobody writes to the memory of one that is stopped: where its threads do not run, ... */
CASE(stopped)
{
	const char *worker = getenv("KVNET_WORKER");
	unsigned int i, k;
	int status;
	pid_t pid;

	if (!kernel_has_vhost_task() || (worker && !strcmp(worker, "kthread")))
		ksft_skip("a kernel thread does not stop");
	place_begin();
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		place_warm_up();
		pid = fork();
		if (!pid)
			_exit(stop_owner(getppid()));
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
		/* ... and then it has them. */
		for (k = 0; k < 3; k++)
			rig_rx_expect(&rig, seq++, 60);
		rig_rx_post(&rig, 3, NULL);
		vdev_kick(rx);
	}
	rig_close(&rig);
}

/* The device goes, with frames on their way. */
CASE_TIMED(closed_while_frames_come, 60)
{
	unsigned int i, before, n = ksft_rounds(10);
	int status, sync[2];
	pid_t pid;
	char c;

	place_need_kvnet();
	before = workers();
	for (i = 0; i < n && !ksft_failed(); i++) {
		place_begin();
		place_warm_up();
		ASSERT_EQ(pipe(sync), 0);
		pid = fork();
		if (!pid) {
			close(rig.v.fd);
			if (write(sync[1], "", 1) != 1)
				_exit(1);
			for (;;)
				rig_inject(&rig, seq, 60);
		}
		ASSERT_EQ(read(sync[0], &c, 1), 1);
		if (i % 2)
			vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
		rig_close(&rig);
		kill(pid, SIGKILL);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		close(sync[0]);
		close(sync[1]);
	}
	no_worker_left(before);
}

KSFT_MAIN()
