// SPDX-License-Identifier: GPL-2.0
/*
 * An invalidation of the owner's memory has begun, and does not end until the test says so.
 * Neither a last close nor a frame waits for it. Likewise a kernel thread is held while it
 * joins its owner's cgroups.
 *
 * @module: failing
 * @skip: (uapi|test)-.* | .*: a module whose calls .* | uapi-uml-failing has one whose calls do
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "module.h"
#include "pager.h"
#include "procfs.h"
#include "rx_inline_rig.h"

#define SOME_PAGES	(64 * PAGE)

/* The owner: closes its device, and then changes its memory, each when go is written to. */
static void be_owner(int tell, int go)
{
	uint8_t *at = mmap(NULL, SOME_PAGES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	char c;

	ASSERT(at != MAP_FAILED);
	rig_open(&rig, &(struct rig_cfg){ .here = true });
	/* its mmu notifier is registered with the first page */
	rx_inline_ready();
	rx_inline_warm_up();
	ASSERT_EQ(write(tell, &rig.v.fd, sizeof(int)), sizeof(int));
	ASSERT_EQ(read(go, &c, 1), 1);
	close(rig.v.fd);
	ASSERT_EQ(write(tell, &c, 1), 1);
	ASSERT_EQ(read(go, &c, 1), 1);
	ASSERT_SYS(madvise(at, SOME_PAGES, MADV_DONTNEED));
	for (;;)
		pause();
}

/* Another process closes last; the owner lives on. */
static void closed_last(const char *kind)
{
	int tell[2], go[2], fd;
	pid_t owner, closer;
	char c = 0;

	held_begin(kind);
	ASSERT(!pipe(tell) && !pipe(go));
	owner = ASSERT_SYS(fork());
	if (!owner)
		be_owner(tell[1], go[0]);
	ASSERT_EQ(read(tell[0], &fd, sizeof(fd)), sizeof(fd));
	fd = file_of(owner, fd);
	ASSERT_EQ(write(go[1], &c, 1), 1);
	ASSERT_EQ(read(tell[0], &c, 1), 1);
	hold(CHANGES_MEMORY);
	ASSERT_EQ(write(go[1], &c, 1), 1);
	ASSERT(WAIT_FOR(3000, held(CHANGES_MEMORY)));
	closer = ASSERT_SYS(fork());
	if (!closer) {
		/* the last close is this one, or the one of the test */
		close(fd);
		_exit(0);
	}
	close(fd);
	EXPECT(WAIT_FOR(5000, child_ended(closer, NULL)));
	EXPECT(held(CHANGES_MEMORY));
	let_go();
	ASSERT_SYS(kill(owner, SIGKILL));
	EXPECT(WAIT_FOR(5000, child_ended(owner, NULL)));
}

CASE(last_close_with_task_returns)
{
	closed_last("task");
}

CASE(last_close_with_kthread_returns)
{
	closed_last("kthread");
}

/* A device without cached pages has no mmu notifier that could delay changes of memory. */
CASE(device_without_page_has_no_notifier)
{
	uint8_t *at;
	pid_t owner;

	held_begin("task");
	hold(CHANGES_MEMORY);
	owner = ASSERT_SYS(fork());
	if (!owner) {
		at = mmap(NULL, SOME_PAGES, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		ASSERT(at != MAP_FAILED);
		rig_open(&rig, &(struct rig_cfg){ .here = true });
		EXPECT_EQ(rx_inline_counter("kvnet.pages_cached"), 0);
		ASSERT_SYS(madvise(at, SOME_PAGES, MADV_DONTNEED));
		_exit(ksft_failed());
	}
	EXPECT(WAIT_FOR(5000, child_ended(owner, NULL)));
	EXPECT(!held(CHANGES_MEMORY));
	let_go();
}

static struct {
	uint8_t *at;
	size_t len;
	int go[2];
} pool;

static void warm_up(void)
{
	held_begin("task");
	rx_inline_begin_private();
	rx_inline_warm_up();
	pool.at = rx_inline_pool(&pool.len);
}

static void drop_the_pool(void)
{
	ASSERT_SYS(madvise(pool.at, pool.len, MADV_DONTNEED));
}

static void fill_the_pool(void)
{
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
}

/* Waits for go: starting a thread changes the process's memory, too. */
static void *drops_the_pool(void *arg)
{
	char c;

	(void)arg;
	ASSERT_EQ(read(pool.go[0], &c, 1), 1);
	drop_the_pool();
	return NULL;
}

/* The worker receives, and caches no page meanwhile. */
CASE(frames_go_to_worker)
{
	pthread_t thread;
	char c = 0;
	long missed;

	warm_up();
	missed = rx_inline_counter("kvnet.rx.inline_skip_uncached");
	ASSERT(!pipe(pool.go));
	ASSERT_EQ(pthread_create(&thread, NULL, drops_the_pool, NULL), 0);
	hold(CHANGES_MEMORY);
	ASSERT_EQ(write(pool.go[1], &c, 1), 1);
	ASSERT(WAIT_FOR(3000, held(CHANGES_MEMORY)));
	fill_the_pool();
	rx_inline_some(8, 60);
	EXPECT_EQ(rx_inline_counter("kvnet.pages_cached"), 0);
	EXPECT_GE(rx_inline_counter("kvnet.rx.inline_skip_uncached"), missed + 4);
	EXPECT(held(CHANGES_MEMORY));
	let_go();
	pthread_join(thread, NULL);
	fill_the_pool();
	rx_inline_warm_up();
	EXPECT_OP(rx_inline_counter("kvnet.pages_cached"), >, 0);
	rig_close(&rig);
}

/* A worker has looked pages up, which are replaced before it may go on. */
CASE(pages_found_before_are_not_cached)
{
	warm_up();
	drop_the_pool();
	fill_the_pool();
	hold(HAS_FOUND);
	/* the worker receives the frame before it looks pages up */
	rx_inline_one(60, 3000);
	ASSERT(WAIT_FOR(3000, held(HAS_FOUND)));
	drop_the_pool();
	fill_the_pool();
	let_go();
	rx_inline_some(8, 60);
	rig_close(&rig);
}

/* A kernel thread that runs in a cgroup without CPU time would keep the locks that it holds. */
CASE(kthread_joining_cgroups_is_parked)
{
	struct worker w = {};
	pid_t owner;

	held_begin("kthread");
	hold(JOINS_CGROUPS);
	owner = ASSERT_SYS(fork());
	if (!owner) {
		vdev_own(vdev_open_node());
		_exit(0);
	}
	ASSERT(WAIT_FOR(3000, held(JOINS_CGROUPS)));
	EXPECT_EQ(workers_of(owner, &w), 1);
	EXPECT_EQ(task_state(w.pid, w.tid), 'P');
	let_go();
	EXPECT(WAIT_FOR(5000, child_ended(owner, NULL)));
	EXPECT(WAIT_FOR(3000, !workers_of(owner, NULL)));
}

KSFT_MAIN()
