// SPDX-License-Identifier: GPL-2.0
/*
 * The kernel invalidates the pages that single frames go to: it merges, splits, swaps, and
 * moves them. The content of the memory stays: all frames arrive, and what is around them
 * does not change.
 *
 * @hosts: newest
 * @seconds: 3
 * @skip: uapi-(uml|smp-).* | .*: no disk to swap to | the test hosts have one
 * @skip: uapi-(uml|smp-).* | a_huge_page_is_split: no huge pages | the test hosts have them
 * @skip: uapi-(uml|smp-).* | .*: this kernel takes no page .* | the test hosts take pages off line
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "cgroup.h"
#include "pager.h"
#include "pin_rig.h"
#include "rx_inline_rig.h"
#include "swap.h"

#define SOME		40
#define FEW		4	/* pages that are not given back */
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

/* Pages that are one page: a frame goes to one of them only. */
CASE(merged)
{
	size_t len;
	uint8_t *at;

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

/* The buffers are in a huge page from now on. */
static void make_huge(uint8_t *at)
{
	volatile uint8_t *huge = (uint8_t *)((uintptr_t)at & ~(HUGE - 1));
	size_t i;

	if (access("/sys/kernel/mm/transparent_hugepage", F_OK))
		ksft_skip("no huge pages");
	ASSERT(huge >= rig.v.mem && huge + HUGE <= rig.v.mem + rig.v.mem_size);
	/* what is not there becomes nothing */
	for (i = 0; i < HUGE; i += PAGE)
		huge[i] = huge[i];
	/* what a CPU holds back for a moment keeps it from that */
	if (!WAIT_FOR(5000, !madvise((void *)huge, HUGE, MADV_COLLAPSE)))
		FAIL("MADV_COLLAPSE: %s", strerror(errno));
	EXPECT_GE(huge_kb(), HUGE / 1024);
}

/* A part of a huge page goes: the rest stays what it is. */
CASE(a_huge_page_is_split)
{
	unsigned long before;
	unsigned int i;
	size_t len;
	uint8_t *at;

	rx_inline_need_kvnet();
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	at = rx_inline_pool(&len);
	make_huge(at);
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

/* Takes pages away, one time of many; false to end. */
typedef bool taker(uint8_t *at, size_t len, unsigned int turn);

static struct {
	taker *take;
	bool stop;
	unsigned int turns;
	unsigned long swapped;	/* KiB, the most that was seen */
} hand;

static void *hand_thread(void *arg)
{
	unsigned long kb;
	size_t len;
	uint8_t *at = rx_inline_pool(&len);

	(void)arg;
	while (!__atomic_load_n(&hand.stop, __ATOMIC_RELAXED) &&
	       hand.take(at, len, hand.turns)) {
		__atomic_add_fetch(&hand.turns, 1, __ATOMIC_RELAXED);
		kb = swapped_kb();
		hand.swapped = kb > hand.swapped ? kb : hand.swapped;
		sched_yield();
	}
	return NULL;
}

/* Some were in place, some were not, since pages were gone; all came. */
static void expect_both(long n_inline, long missed, long invalidated)
{
	EXPECT_OP(rx_inline_counter("kvnet.rx.polls_inline"), >, n_inline);
	EXPECT_OP(rx_inline_counter("kvnet.rx.inline_skip_uncached"), >, missed);
	EXPECT_OP(rx_inline_counter("kvnet.pages_invalidated"), >, invalidated);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.drop_fault"), 0);
}

/* Frames, short and long, for at least so many turns of the taker. */
static void under_frames(taker *take, unsigned int turns)
{
	long n_inline, missed, invalidated;
	pthread_t thread;
	uint64_t end;

	rx_inline_warm_up();
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	missed = rx_inline_counter("kvnet.rx.inline_skip_uncached");
	invalidated = rx_inline_counter("kvnet.pages_invalidated");
	hand.take = take;
	hand.turns = 0;
	hand.swapped = 0;
	__atomic_store_n(&hand.stop, false, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_create(&thread, NULL, hand_thread, NULL), 0);
	end = ksft_now_ms() + ksft_patience(20000);
	while (!ksft_failed() && ksft_now_ms() < end &&
	       (__atomic_load_n(&hand.turns, __ATOMIC_RELAXED) < turns ||
		rx_inline_counter("kvnet.rx.inline_skip_uncached") == missed)) {
		rx_inline_one(seq % 3 ? 60 : 1514, 3000);
		rx_inline_reply();
	}
	__atomic_store_n(&hand.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_GE(hand.turns, turns);
	if (!ksft_failed())
		rx_inline_warm_up();
	expect_both(n_inline, missed, invalidated);
}

static bool by_pageout(uint8_t *at, size_t len, unsigned int turn)
{
	(void)turn;
	return EXPECT_EQ(madvise(at, len, MADV_PAGEOUT), 0);
}

CASE_TIMED(swapped_out, 60)
{
	swap_need();
	rx_inline_begin_private();
	under_frames(by_pageout, ksft_rounds(60));
	EXPECT_OP(hand.swapped, >, 0);
	rig_close(&rig);
}

/* What the group can do without is asked for, shared memory, too. */
static struct cgroup group;

static bool by_reclaim(uint8_t *at, size_t len, unsigned int turn)
{
	char path[96];
	int fd;

	(void)at;
	(void)len;
	(void)turn;
	snprintf(path, sizeof(path), "%s/memory.reclaim", group.path);
	fd = open(path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	/* As many as there are: it says if they were less. */
	if (write(fd, "4M", 2) < 0 && errno != EAGAIN)
		FAIL("memory.reclaim: %s", strerror(errno));
	close(fd);
	return true;
}

CASE_TIMED(reclaimed, 60)
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

/* The host would like to do without a page: what is in it moves to another. */
static bool by_moving_off(uint8_t *at, size_t len, unsigned int turn)
{
	return turn < FEW && turn < len / PAGE &&
	       EXPECT_EQ(madvise(at + turn * PAGE, PAGE, MADV_SOFT_OFFLINE), 0);
}

CASE_TIMED(moved_off_line, 60)
{
	rx_inline_begin_private();
	if (madvise(rig.v.mem, 0, MADV_SOFT_OFFLINE) && errno == EINVAL)
		ksft_skip("this kernel takes no page off line");
	under_frames(by_moving_off, FEW);
	rig_close(&rig);
}

KSFT_MAIN()
