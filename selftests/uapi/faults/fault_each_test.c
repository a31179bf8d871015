// SPDX-License-Identifier: GPL-2.0
/*
 * Of each ioctl, file operation and netlink request, each call that can fail fails in turn.
 * The error is a clean one, the step has no effect then, nothing is left behind, and the device
 * carries packets afterwards: see fault_rig.h. Then calls that do not end until the test says so.
 *
 * @module: failing
 * @seconds: 2
 * @skip: (uapi|test)-[67n].* | .*: no /sys/kernel/debug/fails.* | User-Mode Linux lets allocations fail
 * @skip: (uapi|test)-.* | .*: a module whose calls .* | uapi-uml-failing has one whose calls do
 */
#include "dirtylog.h"
#include "fault_rig.h"
#include "inject.h"
#include "module.h"
#include "pager.h"
#include "procfs.h"
#include "rx_inline_rig.h"
#include "vhost_abi.h"

#define BURST	24

static struct dirtylog dl;
static int efd[2];

static int call(unsigned long req, const void *arg)
{
	return __vdev_ioctl(vmm.v.fd, req, arg);
}

/*** steps ***/

static int do_open(void)
{
	int fd = open(vdev_path(), O_RDWR | O_CLOEXEC), ret;
	uint64_t features = 0;

	if (fd < 0)
		return -errno;
	/* the first call makes the device */
	ret = __vdev_ioctl(fd, VHOST_GET_FEATURES, &features);
	close(fd);
	return ret;
}

/* A device that never had an owner, and is closed at once. */
static int do_new_owner(void)
{
	int fd = open(vdev_path(), O_RDWR | O_CLOEXEC), ret;

	if (fd < 0)
		return -errno;
	ret = __vdev_ioctl(fd, VHOST_SET_OWNER, NULL);
	close(fd);
	return ret;
}

static int do_another_owner(void)
{
	int ret = call(VHOST_RESET_OWNER, NULL);

	return ret ? ret : call(VHOST_SET_OWNER, NULL);
}

static int do_mem(void)
{
	return __vdev_set_mem(&vmm.v);
}

static int do_queue(void)
{
	int ret = __vdev_backend(&vmm.v, VDEV_RX, -1);

	vdev_queue_renew(&vmm.v, VDEV_RX);
	if (!ret)
		ret = __vdev_queue_tell(&vmm.v, VDEV_RX, 0);
	return ret ? ret : __vdev_backend(&vmm.v, VDEV_RX, vmm.tap);
}

static int do_backend(void)
{
	int ret = __vdev_backend(&vmm.v, VDEV_TX, -1);

	return ret ? ret : __vdev_backend(&vmm.v, VDEV_TX, vmm.tap);
}

static int do_log(void)
{
	uint64_t f = vmm.v.features | F_LOG;
	int ret = __dirtylog_base(&vmm.v, (uintptr_t)dl.map);

	if (!ret)
		ret = call(VHOST_SET_LOG_FD, &efd[1]);
	return ret ? ret : call(VHOST_SET_FEATURES, &f);
}

static int do_fdinfo(void)
{
	char path[64], text[8192];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", vmm.v.fd);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int do_poll(void)
{
	struct pollfd p[2] = {
		{ .fd = vmm.v.fd, .events = POLLIN },
		{ .fd = vmm.v.q[VDEV_RX].kick, .events = POLLIN },
	};

	return poll(p, 2, 0) < 0 ? -errno : 0;
}

static int list(uint8_t cmd)
{
	struct ask a;

	ask_begin(&a, &genl, cmd);
	return genl_do(&genl, &a, true, NULL, NULL);
}

static int do_devices(void)
{
	return list(KVNET_CMD_DEV_GET);
}

static int do_queues(void)
{
	return list(KVNET_CMD_QUEUE_GET);
}

static int do_workers(void)
{
	return list(KVNET_CMD_WORKER_GET);
}

/* One device: an answer, not a list. */
static int do_device(void)
{
	struct ask a;

	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	ask_u32(&a, KVNET_A_DEV_ID, fault_device);
	return genl_do(&genl, &a, false, NULL, NULL);
}

/* Other values each time. A request that fails changes nothing, unless its answer alone got lost. */
static int do_policy(void)
{
	static uint32_t poll_us;
	struct nlattr *nest;
	struct ask a;
	int ret;

	poll_us++;
	ask_begin(&a, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&a, KVNET_A_DEV_ID, fault_device);
	nest = ask_nest(&a, KVNET_A_DEV_POLICY);
	ask_u32(&a, KVNET_A_POLICY_POLL_US, poll_us);
	ask_u8(&a, KVNET_A_POLICY_RX_DIRECT, 1);
	ask_u8(&a, KVNET_A_POLICY_SHORTCUT, 1);
	ask_nest_end(&a, nest);
	ret = genl_do(&genl, &a, false, NULL, NULL);
	if (ret && ret != -ENOBUFS && ret != -EFAULT) {
		genl_close(&genl);
		genl_open(&genl);
		EXPECT_OP(attr_u32(attr_nest(the_device(), KVNET_A_DEV_POLICY),
				   KVNET_A_POLICY_POLL_US), !=, poll_us);
	}
	return ret;
}

static struct abi_features words = { .count = 2 };
static struct vhost_vring_addr addr;
static struct vhost_vring_file event = { .index = VDEV_TX };
static struct vhost_vring_state state = { .index = VDEV_RX, .num = 10 };

static const struct fault_step all[] = {
#define S(f) { #f, do_##f }
	S(open), S(new_owner), S(another_owner), S(mem), S(queue), S(backend), S(log),
	S(fdinfo), S(poll), S(policy), S(devices), S(queues), S(workers), S(device),
#define IOCTL(req, arg) { #req, NULL, req, arg }
	IOCTL(VHOST_SET_FEATURES, &vmm.v.features),
	IOCTL(VHOST_SET_FEATURES_ARRAY, &words),
	IOCTL(VHOST_GET_FEATURES, &(uint64_t){ 0 }),
	IOCTL(VHOST_SET_VRING_ADDR, &addr),
	IOCTL(VHOST_SET_VRING_KICK, &event),
	IOCTL(VHOST_SET_VRING_CALL, &event),
	IOCTL(VHOST_SET_VRING_ERR, &event),
	IOCTL(VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &state),
	IOCTL(VHOST_GET_VRING_BASE, &state),
};

/* Rings of more than a page. */
static void begin(void)
{
	fault_begin(&(struct rig_cfg){ .num = 512, .bufs = 32, .tx_buf = 66000 });
	dirtylog_open(&dl, &vmm.v);
	efd[0] = vdev_eventfd();
	efd[1] = vdev_eventfd();
	words.word[0] = vmm.v.features;
	vdev_queue_addr(&vmm.v, VDEV_TX, &addr);
	event.fd = efd[0];
}

static void end(void)
{
	close(efd[0]);
	close(efd[1]);
	fault_end();
}

CASE_TIMED(each_call_fails_cleanly, 120)
{
	unsigned int i;

	begin();
	for (i = 0; i < sizeof(all) / sizeof(*all) && !ksft_failed(); i++)
		fault_each(&all[i]);
	EXPECT_OP(fault_injected, >, 50);
	end();
}

/* A device from open() to close(), whatever fails in between. */
static void live_and_die(void)
{
	struct rig r = vmm;
	struct vdev *v = &r.v;
	unsigned int q;

	v->fd = open(vdev_path(), O_RDWR | O_CLOEXEC);
	if (v->fd < 0)
		return;
	__vdev_ioctl(v->fd, VHOST_SET_OWNER, NULL);
	__vdev_ioctl(v->fd, VHOST_SET_FEATURES, &v->features);
	__vdev_set_mem(v);
	for (q = 0; q < 2; q++) {
		__vdev_queue_tell(v, q, 0);
		__vdev_backend(v, q, r.tap);
	}
	close(v->fd);
}

CASE_TIMED(close_after_failure_leaks_nothing, 120)
{
	struct injector in;
	unsigned int n;
	bool hit;

	begin();
	FOR_EACH_INJECTOR(&in, gettid()) {
		for (n = 1, hit = true; hit && n < FAULT_MOST && !ksft_failed(); n++) {
			injector_nth(&in, n);
			live_and_die();
			hit = injector_hit(&in);
			injector_nth(&in, 0);
			fault_injected += hit;
		}
		EXPECT_OP(n, <, FAULT_MOST);
	}
	fault_carries_packets();
	end();
}

static void packets(pid_t tid, unsigned int burst, uint32_t len, const struct shape *shape)
{
	fault_on_the_way(tid, &(struct fault_load){ burst, len, shape });
}

CASE_TIMED(frames_on_their_way_fail_cleanly, 240)
{
	static const struct shape indirect = { .piece = 100, .indirect = true };
	struct worker w;

	begin();
	fault_touch_memory(&vmm.v);
	vdev_no_spin(&vmm.v);
	ASSERT_EQ(workers_of(getpid(), &w), DEVICE_WORKERS);
	packets(gettid(), 1, 100, NULL);	/* inline TX */
	packets(w.tid, 1, 100, NULL);	/* fills the page cache */
	fault_by_worker(true);
	packets(w.tid, BURST, 100, NULL);
	packets(w.tid, BURST, 3000, NULL);
	packets(w.tid, 4, 60000, NULL);
	packets(w.tid, BURST, 1000, &indirect);
	dirtylog_on(&dl);
	packets(w.tid, BURST, 500, NULL);
	dirtylog_off(&dl);
	fault_by_worker(false);
	EXPECT_OP(fault_injected, >, 4);
	end();
}

/* Receives a frame into many pieces, while the n-th call of its copy fails. */
static bool frame_in_pieces(const struct injector *in, unsigned int n)
{
	static const struct shape pieces = { .piece = 300, .split_hdr = true };
	struct vdev_queue *q = &vmm.v.q[VDEV_RX];
	bool hit, got;

	fault_set_up_again();
	ASSERT_EQ(rig_rx_post(&vmm, 2, &pieces), 2);
	vdev_kick_always(q);
	wait_worker_idle();
	injector_nth(in, n);
	rig_inject(&vmm, n, 1000);
	WAIT_FOR(3000, gr_used_pending(&q->ring) || injector_hit(in));
	wait_worker_idle();
	hit = injector_hit(in);
	injector_nth(in, 0);
	got = gr_used_pending(&q->ring);
	EXPECT(got || hit);
	if (got)
		rig_rx_expect(&vmm, n, 1000);
	fault_carries_packets();
	return hit;
}

/* The guest gets the whole frame, or none. */
CASE_TIMED(frame_in_pieces_fails_as_a_whole, 120)
{
	struct injector in;
	struct worker w;
	unsigned int n;

	begin();
	fault_touch_memory(&vmm.v);
	vdev_no_spin(&vmm.v);
	ASSERT_EQ(workers_of(getpid(), &w), DEVICE_WORKERS);
	fault_by_worker(true);
	FOR_EACH_INJECTOR(&in, w.tid)
		UNTIL_NONE_FAILS(&in, n, frame_in_pieces(&in, n));
	EXPECT_OP(fault_injected, >, 2);	/* header, and pieces of data */
	end();
}

/*** calls that are held ***/

/*
 * An invalidation of the owner's memory has begun, and does not end until the test says so.
 * Neither a last close nor a frame waits for it. Likewise a kernel thread is held while it
 * joins its owner's cgroups.
 */

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

CASE_ROW(last_close_with_task_returns, closed_last("task"))
CASE_ROW(last_close_with_kthread_returns, closed_last("kthread"))

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
