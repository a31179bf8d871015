// SPDX-License-Identifier: GPL-2.0
/*
 * The owner changes the memory that single frames go to, by all calls that can, at any
 * moment: nothing is written to a page that is gone, and no frame is lost.
 *
 * @hosts: newest
 * @seconds: 31
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "rx_inline_rig.h"

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

CASE(invalidated_by_dontneed)
{
	taken(by_dontneed);
}

CASE(invalidated_by_munmap)
{
	taken(by_unmap);
}

CASE(invalidated_by_mapping_over)
{
	taken(by_mapping_over);
}

CASE(invalidated_by_mremap)
{
	taken(by_moving);
}

CASE(invalidated_by_mprotect)
{
	taken(by_protection);
}

CASE(invalidated_by_punching_a_hole)
{
	taken(by_hole);
}

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

/* The rig is that of this device from now on. */
static void work_on(unsigned int i)
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

/* From one of those from the first on: it forgets, others do not, and all receive. */
static void take_from(unsigned int first, unsigned int whose)
{
	long before[DEVICES];
	unsigned int i;
	uint8_t *at;
	size_t len;

	work_on(whose);
	rx_inline_warm_up();
	put_aside(whose);
	for (i = first; i < DEVICES; i++)
		before[i] = pages_invalidated(i);
	at = rx_inline_pool(&len);
	by_dontneed(at, len);
	for (i = first; i < DEVICES && !ksft_failed(); i++) {
		if (i == whose)
			EXPECT_OP(pages_invalidated(i), >, before[i]);
		else
			EXPECT_EQ(pages_invalidated(i), before[i]);
		work_on(i);
		rx_inline_some(2, 60);
		rx_inline_some(1, 1514);
		put_aside(i);
	}
}

/* Each forgets its own pages, whichever others come and go. */
CASE_TIMED(devices_of_one_process, 60)
{
	unsigned int i;

	rx_inline_need_kvnet();
	for (i = 0; i < DEVICES; i++) {
		open_one_more(!i);
		put_aside(i);
	}
	take_from(0, 0);
	take_from(0, DEVICES - 1);
	work_on(0);
	rig_close(&rig);
	take_from(1, 1);
	open_one_more(false);
	put_aside(0);
	take_from(0, 0);
	take_from(0, 1);
	for (i = 0; i < DEVICES; i++) {
		work_on(i);
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
	(void)arg;
	while (!__atomic_load_n(&dropper.stop, __ATOMIC_RELAXED)) {
		by_dontneed(dropper.at, dropper.len);
		sched_yield();
	}
	return NULL;
}

/* A device loses its pages all the time, and others of the process begin and end meanwhile. */
CASE_TIMED(devices_come_and_go_meanwhile, 60)
{
	unsigned int i, k;
	pthread_t thread;

	rx_inline_need_kvnet();
	open_one_more(true);
	dropper.at = rx_inline_pool(&dropper.len);
	put_aside(0);
	ASSERT_EQ(pthread_create(&thread, NULL, drops_pages, NULL), 0);
	for (i = 0; i < ksft_rounds(12) && !ksft_failed(); i++) {
		work_on(0);
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
	work_on(0);
	rx_inline_warm_up();
	rig_close(&rig);
}

/* It would be a cluster of pages each time. */
#define GONE_KB(n)	((long)((n) * 4 * PAGE / 1024) - 1)

/* Memory that is gone after n times of it, in KiB. */
static long gone_after(unsigned int n)
{
	long before = memory_available_kb();
	unsigned int i;
	size_t len;
	uint8_t *at = rx_inline_pool(&len);

	for (i = 0; i < n && !ksft_failed(); i++) {
		rx_inline_warm_up();
		by_dontneed(at, len);
		memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
	}
	return memory_taken_kb(before, GONE_KB(n));
}

/* Pages that the device has known are the host's again when the owner lets go of them. */
CASE_TIMED(what_was_known_is_given_back, 60)
{
	const unsigned int n = 30;
	unsigned int i;
	long gone = 0;

	rx_inline_begin_private();
	gone_after(4);
	/* what others take they take once */
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		gone = gone_after(n);
		ksft_note("%ld KiB have gone", gone);
		if (gone <= GONE_KB(n))
			break;
	}
	if (i == 3)
		FAIL("%ld KiB have gone", gone);
	rig_close(&rig);
}

/* Memory that may not be written is not. */
CASE(read_only)
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

/* Missing, as in a post-copy migration: the worker waits, and nobody else. */
CASE(missing)
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
		rx_inline_touch();
		memset(other.view[!i], 0x77, other.len);
		/* now and then long enough for some frames, on one busy CPU, too */
		for (k = 0; k < 20U << other.turns % 8; k++)
			sched_yield();
		if (!is_all(other.view[!i], other.len, 0x77))
			other.bad++;
		other.turns++;
	}
	return NULL;
}

static bool more_than(long n_inline)
{
	return rx_inline_counter("kvnet.rx.polls_inline") > n_inline;
}

CASE_TIMED(nothing_is_written_to_what_is_gone, 60)
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
	ASSERT_EQ(pthread_create(&thread, NULL, swap_thread, NULL), 0);
	/* And until some have been received in place: who has one CPU may swap each time, and it may
	 * have become a stream, which ends with some that are far apart.
	 */
	for (i = 0; i < n || i % 100 ||
	     (!more_than(n_inline) && ksft_now_ms() < deadline); i++) {
		if (i >= n)
			wait_worker_idle();
		EXPECT(blind());
		if (ksft_failed())
			break;
	}
	__atomic_store_n(&other.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(other.bad, 0);
	EXPECT_GE(other.turns, 1);
	EXPECT(more_than(n_inline));
	other_close();
	rig_close(&rig);
}

/* A child has the memory as it was, private pages not being its parent's any more. */
CASE(a_child_sees_nothing)
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
 * The guest gives buffers as soon as it sees that it has none left. The worker, which was
 * woken since pages were not known, looks for those of the buffers that come next meanwhile.
 */
static void give_and_take(uint8_t *at, size_t len)
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

CASE_TIMED(no_buffer_is_overlooked, 60)
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
		give_and_take(at, len);
		rig_rx_post(&rig, 2, NULL);
		vdev_kick(rx);
		rx_inline_reply();
		wait_worker_idle();
	}
	EXPECT_GE(rx_inline_counter("kvnet.rx.inline_skip_uncached"), 5);
	/* A guest that has a CPU of its own often gives some before the worker misses them. */
	EXPECT_GE(rx_inline_counter("kvnet.rx.no_buf"), 3);
	rig_close(&rig);
}

KSFT_MAIN()
