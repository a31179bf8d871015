// SPDX-License-Identifier: GPL-2.0
/*
 * Inline RX: a single frame is received in its sender's softirq if the pages that it goes to
 * are cached, else by the worker. page_cache_test has what happens to pages.
 *
 * @hosts: 6.1
 * @debug: kasan kcsan kmsan
 * @seconds: 20
 * @skip: uapi-(uml|smp-).* | .*: no huge pages | the test hosts have them
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 * @skip: .*-6\.1 | .*: a kernel thread does not stop | newer kernels have threads of the owner
 * @skip: .*-6\.1 | .*: Linux before 6\.8 .* | newer kernels do
 * @skip: .* | .*: no freezer of version 1.* | not every kernel is built with it
 */
#include <limits.h>
#include <linux/filter.h>
#include <linux/if_ether.h>
#include <sys/ptrace.h>
#include <time.h>

#include "bridge.h"
#include "cgroup.h"
#include "links.h"
#include "netlink_rig.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "rx_inline_rig.h"
#include "vhost_abi.h"
#include "watched.h"

#define SOME		40
#define TAPS		8
#define PENDING		4	/* of a CPU's softirq, work.h */
#define LONG_FILTER	2000	/* instructions */
#define LONG_WAIT	2000	/* us: 20 times KVNET_THROTTLE_QUICK_NS */

CASE(single_frame_is_received_in_softirq)
{
	static const uint32_t len[] = { 26, 60, 241, 242, 256, 257, 1514, 2048 };
	long wakes, n_inline, runs;
	unsigned int i;

	rx_inline_begin();
	rx_inline_warm_up();
	wakes = rx_inline_counter("kvnet.rx.wakeups");
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	runs = rx_inline_counter("kvnet.rx.polls");
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		rx_inline_one(len[i % 8], 0);
		rx_inline_reply();
	}
	EXPECT_EQ(rx_inline_counter("kvnet.rx.polls_inline") - n_inline, SOME);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.wakeups"), wakes);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.polls"), runs);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	EXPECT_GE(rx_inline_counter("kvnet.pages_cached"), 1);
	rig_close(&rig);
}

static struct rig many[TAPS];

/* Guests behind a bridge; what is sent into that goes to all of them. */
static void open_many(struct rig *br)
{
	unsigned int i;
	int port[TAPS];

	rig_enter_netns();
	for (i = 0; i < TAPS; i++) {
		rig_open(&many[i], &(struct rig_cfg){ .here = true });
		port[i] = many[i].ifindex;
		vdev_no_spin(&many[i].v);
		rig = many[i];
		rx_inline_touch();
		rig_rx_post(&many[i], BUFS, NULL);
		vdev_kick_always(&many[i].v.q[VDEV_RX]);
	}
	br->ifindex = bridge_of("br0", port, TAPS);
	br->inject = rig_packet_socket(br, 0, false);
}

static void expect_and_post(struct rig *r, uint32_t n)
{
	rig_rx_expect(r, n, 60);
	rig_rx_post(r, r->rx_bufs, NULL);
	vdev_kick(&r->v.q[VDEV_RX]);
}

/* Sends a frame to all guests; returns how many of them received it inline. */
static unsigned int to_all(struct rig *br, uint32_t n)
{
	long n_inline = 0;
	unsigned int i;

	for (i = 0; i < TAPS; i++)
		n_inline -= rig_counter(&many[i], "kvnet.rx.packets_inline");
	rig_inject(br, n, 60);
	for (i = 0; i < TAPS; i++)
		expect_and_post(&many[i], n);
	wait_worker_idle();
	for (i = 0; i < TAPS; i++)
		n_inline += rig_counter(&many[i], "kvnet.rx.packets_inline");
	return n_inline;
}

/* One frame to many taps, from one CPU: a softirq polls some, workers the others. */
CASE_TIMED(softirq_receives_for_few_taps, 60)
{
	uint64_t end = ksft_now_ms() + ksft_patience(10000);
	unsigned int i, n, few = 0, more = 0;
	struct rig br;

	rx_inline_need_kvnet();
	open_many(&br);
	seq = 0;
	while (few < SOME / 2 && ksft_now_ms() < end && !ksft_failed()) {
		n = to_all(&br, seq++);
		few += n && n <= PENDING;
		more += n > PENDING;
	}
	ksft_note("of %u, %u were received inline by up to %u taps, %u by more",
		  seq, few, PENDING, more);
	EXPECT_GE(few, SOME / 2);
	EXPECT_LE(more, few / 4);
	for (i = 0; i < TAPS; i++)
		rig_close(&many[i]);
}

/* A socket whose filter takes some us for each frame to the port, and drops it. */
static void add_watcher(const struct rig *port)
{
	static struct sock_filter code[LONG_FILTER];
	const struct sock_fprog prog = { LONG_FILTER, code };
	unsigned int i;

	code[0] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_IMM, ~0u);
	for (i = 1; i < LONG_FILTER - 1; i++)
		code[i] = (struct sock_filter)BPF_STMT(BPF_ALU | BPF_DIV | BPF_K, 1);
	code[i] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, 0);
	ASSERT_SYS(setsockopt(rig_packet_socket(port, ETH_P_ALL, false), SOL_SOCKET,
			      SO_ATTACH_FILTER, &prog, sizeof(prog)));
}

/* The least time that a frame to the port takes its sender, in us. */
static long time_to_send(struct rig *port)
{
	struct timespec from, to;
	long us, least = LONG_MAX;
	unsigned int i;

	for (i = 0; i < 5; i++) {
		clock_gettime(CLOCK_MONOTONIC, &from);
		rig_inject(port, 0, 60);
		clock_gettime(CLOCK_MONOTONIC, &to);
		us = (to.tv_sec - from.tv_sec) * 1000000 +
		     (to.tv_nsec - from.tv_nsec) / 1000;
		least = us < least ? us : least;
	}
	return least;
}

/* Adds sockets until a frame takes LONG_WAIT; returns how many. */
static unsigned int slow_down(struct rig *port)
{
	unsigned int n;

	for (n = 0; time_to_send(port) < LONG_WAIT; n++)
		add_watcher(port);
	return n;
}

/* A guest behind a bridge, which sends each frame to the guest's tap and then to @port. */
static void open_before(struct rig *br, struct rig *port)
{
	rig_enter_netns();
	rig_tap_new(port, TAP_BARE);
	port->inject = rig_packet_socket(port, 0, false);
	rig_open(&rig, &(struct rig_cfg){ .here = true });
	/* a bridge has its newest port first */
	br->ifindex = bridge_of("br0", (int[]){ port->ifindex, rig.ifindex }, 2);
	br->inject = rig_packet_socket(br, 0, false);
	rx_inline_ready();
}

/*
 * The softirq that is to receive comes late, since its CPU first sends the frame to a slow port:
 * as it does behind a NAPI poll with frames of other devices.
 */
CASE_TIMED(late_softirq_is_throttled, 60)
{
	struct rig br, port = { 0 };
	unsigned int i;
	long n_inline;

	rx_inline_need_kvnet();
	open_before(&br, &port);
	i = slow_down(&port);
	n_inline = rx_inline_counter("kvnet.rx.packets_inline");
	ksft_note("%u sockets", i);
	for (i = 0; i < 4 * SOME && !ksft_failed(); i++) {
		if (rx_inline_counter("kvnet.rx.inline_throttled"))
			break;
		rig_inject(&br, seq++, 60);
		expect_and_post(&rig, seq - 1);
	}
	ksft_note("%u frames, %ld in a softirq", i,
		  rx_inline_counter("kvnet.rx.packets_inline") - n_inline);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.inline_throttled"), 1);
	n_inline = rx_inline_counter("kvnet.rx.packets_inline");
	for (i = 0; i < SOME / 2 && !ksft_failed(); i++) {
		rig_inject(&br, seq++, 60);
		expect_and_post(&rig, seq - 1);
	}
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets_inline"), n_inline);
	rig_close(&rig);
}

/* The worker looks the tap's device up, among many: not the softirq. */
CASE(first_frame_of_tap_goes_to_worker)
{
	long slow;

	rx_inline_begin();
	rx_inline_warm_up();
	slow = rx_inline_counter("kvnet.rx.inline_skip_complex");
	rx_inline_some(3, 60);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.inline_skip_complex"), slow);
	vdev_backend(&rig.v, VDEV_RX, -1);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	wait_worker_idle();
	rx_inline_some(3, 60);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.inline_skip_complex"), slow + 1);
	rig_close(&rig);
}

/* Pages that are neighbours for the guest are not for the host. */
static void scatter(uint8_t *at, size_t len)
{
	size_t odd, i;

	ASSERT_SYS(madvise(at, len, MADV_DONTNEED));
	for (odd = 0; odd < 2; odd++)
		for (i = odd * PAGE; i < len; i += 2 * PAGE)
			at[i] = 1;
}

/* Frames that begin on one page and end on another, in several buffers, in any order. */
CASE(frame_across_pages_is_inline)
{
	uint8_t *at;
	size_t len;
	long n_inline;

	rx_inline_need_kvnet();
	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .bufs = 16, .rx_buf = 700 });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	at = rx_inline_pool(&len);
	scatter(at, len);
	rig_start(&rig);
	rx_inline_ready();
	rx_inline_warm_up();
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	rx_inline_some(SOME / 2, 1514);
	EXPECT_GE(rx_inline_counter("kvnet.rx.polls_inline") - n_inline, SOME / 4);
	rig_close(&rig);
}

CASE(rx_inline_off_receives_by_worker)
{
	rx_inline_need_kvnet();
	vdev_parameter("rx_inline", 'N');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	rx_inline_ready();
	rx_inline_some(SOME, 60);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.polls_inline"), 0);
	EXPECT_EQ(rx_inline_counter("kvnet.pages_cached"), 0);
	EXPECT_GE(rx_inline_counter("kvnet.rx.wakeups"), SOME);
	rig_close(&rig);
}

/* An isolated CPU is free of the kernel's work: the worker receives, and sends. */
CASE(isolated_cpu_does_no_inline_work)
{
	struct cgroup g;
	long n_inline, n_sent;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	if (kernel_before(6, 8))
		ksft_skip("Linux before 6.8 does not tell a module of isolated cpusets");
	rx_inline_begin();
	cgroup_make(&g, "cpuset");
	cgroup_set(&g, "cpuset.cpus", "1");
	cgroup_join(&g, getpid());
	rx_inline_warm_up();
	n_sent = rx_inline_counter("kvnet.tx.packets_inline");
	rx_inline_some(SOME, 60);
	EXPECT_OP(rx_inline_counter("kvnet.tx.packets_inline"), >, n_sent);

	cgroup_set(&g, "cpuset.cpus.partition", "isolated");
	n_inline = rx_inline_counter("kvnet.rx.packets_inline");
	n_sent = rx_inline_counter("kvnet.tx.packets_inline");
	rx_inline_some(SOME, 60);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets_inline"), n_inline);
	EXPECT_EQ(rx_inline_counter("kvnet.tx.packets_inline"), n_sent);

	cgroup_set(&g, "cpuset.cpus.partition", "member");
	rx_inline_warm_up();
	rx_inline_some(SOME, 60);
	EXPECT_OP(rx_inline_counter("kvnet.tx.packets_inline"), >, n_sent);
	cgroup_leave(getpid());
	rig_close(&rig);
	cgroup_remove(&g);
}

/* Short and long frames in turn arrive in order. */
CASE(long_frame_goes_to_worker)
{
	unsigned int i;

	rx_inline_begin();
	rx_inline_warm_up();
	for (i = 0; i < SOME && !ksft_failed(); i++)
		rx_inline_one(i % 2 ? 60 : 9000, 3000);
	EXPECT_GE(rx_inline_counter("kvnet.rx.inline_skip_complex"), 1);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	rig_close(&rig);
}

/* The worker receives until the stream ends. */
CASE(stream_goes_to_worker)
{
	unsigned int i;
	long n_inline;

	rx_inline_begin();
	rx_inline_warm_up();
	for (i = 0; i < 100 && !ksft_failed(); i++)
		rig_inject(&rig, seq + i, 60);
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	EXPECT_GE(rx_inline_counter("kvnet.rx.wakeups"), 1);
	for (i = 0; i < 100 && !ksft_failed(); i++)
		rig_rx_expect(&rig, seq++, 60);
	EXPECT_GE(n_inline, 1);
	rig_rx_post(&rig, BUFS, NULL);
	vdev_kick(rx);
	rx_inline_warm_up();
	rig_close(&rig);
}

/* A write into the dirty log may sleep, so the worker receives. */
CASE(frame_with_dirty_log_goes_to_worker)
{
	static uint8_t log[1 << 20];
	uint64_t base = (uintptr_t)log, features;
	long n_inline;

	rx_inline_begin();
	rx_inline_warm_up();
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_BASE, &base);
	features = rig.v.features | F_LOG;
	if (rig.v.hdr_len == 12)
		features &= ~F_NETHDR;
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &features);
	n_inline = rx_inline_counter("kvnet.rx.polls_inline");
	rx_inline_some(SOME, 60);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.polls_inline"), n_inline);
	vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &rig.v.features);
	rx_inline_warm_up();
	rig_close(&rig);
}

/*** a call that takes long ***/

/* Frames with a call for each. Returns how many were received inline. */
static long called_for_some(unsigned int n)
{
	long n_inline = rx_inline_counter("kvnet.rx.packets_inline");

	while (n-- && !ksft_failed()) {
		gr_call_on(&rx->ring, 0);
		rx_inline_some(1, 60);
	}
	return rx_inline_counter("kvnet.rx.packets_inline") - n_inline;
}

static void expect_worker(void)
{
	EXPECT_EQ(called_for_some(SOME / 4), 0);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
}

/*
 * A signal wakes all watchers of the eventfd, with interrupts off. The softirq of the sender
 * does that for no VMM for long, nor soon again, whatever the VMM does about it.
 */
CASE_TIMED(slow_call_is_throttled, 60)
{
	struct watched w;

	rx_inline_begin();
	rx_inline_warm_up();
	watched_start(&w, rx->call);
	ksft_note("%ld frames inline", called_for_some(SOME / 2));
	expect_worker();
	EXPECT_GE(rx_inline_counter("kvnet.rx.inline_throttled"), 1);
	watched_end(&w);
	expect_worker();
	vdev_backend(&rig.v, VDEV_RX, -1);
	vdev_backend(&rig.v, VDEV_RX, rig.tap);
	expect_worker();
	rig_close(&rig);
}

/*** pages that are not there ***/

/* Filling the cache ahead of the frames neither faults pages in nor waits for them. */
CASE(huge_pages_ahead_are_not_faulted_in)
{
	const size_t huge = 2ul << 20;
	uint8_t *at, *end;
	size_t len;
	long n_inline;

	rx_inline_need_kvnet();
	if (!huge_pages_get(16))
		ksft_skip("no huge pages");
	rig_open(&rig, &(struct rig_cfg){ .bufs = 128, .rx_buf = 65536, .stopped = true });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB);
	rig_start(&rig);
	rx_inline_ready();
	pager_open();
	pager.holds = true;
	at = rx_inline_pool(&len);
	end = (uint8_t *)((uintptr_t)(at + len) & -huge);
	at = (uint8_t *)((uintptr_t)(at + huge) & -huge);
	pager_take_away(at, end - at);
	n_inline = rx_inline_counter("kvnet.rx.packets_inline");
	rx_inline_some(8, 60);
	EXPECT_OP(rx_inline_counter("kvnet.rx.packets_inline"), >, n_inline);
	EXPECT(!pager_asked(1, 0));
	close(pager.fd);
	rig_close(&rig);
}

/*** owner, set-up and close ***/

/*
 * SET_OWNER with a signal pending: inline RX is on all the same. With a kernel thread, since
 * the kernel makes no thread of a process that has a signal pending.
 */
static void own_under_ptrace(void)
{
	uint8_t kind = VHOST_FORK_OWNER_KTHREAD;
	char was = vdev_parameter("rx_inline", 'N');

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_allow_choice();
	vdev_ioctl(vmm.v.fd, VHOST_SET_FORK_FROM_OWNER, &kind);
	vdev_parameter("rx_inline", 'Y');
	ASSERT_SYS(ptrace(PTRACE_TRACEME, 0, NULL, NULL));
	ASSERT_SYS(kill(getpid(), SIGSTOP));
	vdev_ioctl(vmm.v.fd, VHOST_SET_OWNER, NULL);
	EXPECT_EQ(attr_u32(the_policy(), KVNET_A_POLICY_RX_INLINE), 1);
	vdev_parameter("rx_inline", was);
	_exit(0);
}

static void ignored(int signal)
{
}

/* In a child: its address space has had no mmu notifier before. */
CASE(set_owner_with_signal_pending_succeeds)
{
	int status, sent = 0, pass = 0;
	pid_t pid;

	rx_inline_need_kvnet();
	ASSERT(signal(SIGALRM, ignored) != SIG_ERR);
	pid = fork();
	if (!pid)
		own_under_ptrace();
	for (;;) {
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		if (!WIFSTOPPED(status))
			break;
		/* the stop, then the entry of the call; or a signal for the process */
		if (WSTOPSIG(status) == SIGTRAP)
			ASSERT_SYS(kill(pid, sent++ ? 0 : SIGALRM));
		pass = WSTOPSIG(status) == SIGALRM ? SIGALRM : 0;
		ASSERT_SYS(ptrace(sent ? PTRACE_CONT : PTRACE_SYSCALL, pid, NULL, pass));
	}
	EXPECT_EQ(status, 0);
	EXPECT_EQ(sent, 1);
}

static void change_something(unsigned int i)
{
	struct vhost_vring_file call = { VDEV_RX, i % 2 ? rx->call : -1 };
	size_t len;
	uint8_t *at = rx_inline_pool(&len);

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

	for (i = 0; __atomic_load_n(&changing, __ATOMIC_RELAXED); i++)
		change_something(i);
	return NULL;
}

/* Set-up that changes all the time, and no frame is lost, doubled or out of order. */
CASE_TIMED(setup_changes_lose_no_frame, 60)
{
	unsigned int n = ksft_rounds(500);
	pthread_t thread;

	rx_inline_begin();
	rx_inline_warm_up();
	__atomic_store_n(&changing, true, __ATOMIC_RELAXED);
	ASSERT_EQ(pthread_create(&thread, NULL, change_thread, NULL), 0);
	while (n-- && !ksft_failed())
		rx_inline_one(60, 3000);
	__atomic_store_n(&changing, false, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	EXPECT_EQ(rx_inline_counter("kvnet.rx.packets"), seq);
	rx_inline_warm_up();
	rig_close(&rig);
}

/* In another process: frames while the owner is stopped. */
static int stop_owner(pid_t owner)
{
	long packets = rx_inline_counter("kvnet.rx.packets");
	unsigned int i;
	bool alone;

	if (kill(owner, SIGSTOP) || !WAIT_FOR(3000, task_state(owner, owner) == 'T'))
		return 2;
	for (i = 0; i < 3; i++)
		rig_inject(&rig, seq + i, 60);
	alone = rx_inline_counter("kvnet.rx.packets") == packets;
	return kill(owner, SIGCONT) ? 2 : !alone;
}

/* It has the receive queue, and waits for the other one. */
static void *change_setup(void *arg)
{
	int fd = -1;

	__atomic_store_n((pid_t *)arg, gettid(), __ATOMIC_RELEASE);
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd);
	return NULL;
}

CASE(frame_during_change_of_setup_waits)
{
	struct vdev_queue *tx = &rig.v.q[VDEV_TX];
	pthread_t thread;
	pid_t tid = 0;

	rx_inline_begin_private();
	rx_inline_warm_up();
	pager_open();
	/* the worker waits for a page of the frame, and holds the lock of its queue */
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	pager_take_away(tx->bufs, tx->buf_size * tx->buf_num);
	pager.holds = true;
	vdev_kick_always(tx);
	ASSERT(pager_asked(1, 3000));
	ASSERT_EQ(pthread_create(&thread, NULL, change_setup, &tid), 0);
	ASSERT(WAIT_FOR(3000, task_state(getpid(), __atomic_load_n(&tid, __ATOMIC_ACQUIRE)) == 'D'));
	rig_inject(&rig, seq, 60);
	EXPECT(!gr_used_pending(&rx->ring));
	pager_go_on();
	pthread_join(thread, NULL);
	rig_rx_expect(&rig, seq, 60);
	rig_expect(&rig, rig.tx_seq - 1, 1000);
	rig_close(&rig);
}

/* While the owner and its worker are stopped, no softirq writes to its memory, ... */
CASE(stopped_owner_gets_no_frame)
{
	const char *worker = getenv("KVNET_WORKER");
	unsigned int i, k;
	int status;
	pid_t pid;

	if (!kernel_has_vhost_task() || (worker && !strcmp(worker, "kthread")))
		ksft_skip("a kernel thread does not stop");
	rx_inline_begin();
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		rx_inline_warm_up();
		pid = fork();
		if (!pid)
			_exit(stop_owner(getppid()));
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
		/* ... and the frames come after SIGCONT */
		for (k = 0; k < 3; k++)
			rig_rx_expect(&rig, seq++, 60);
		rig_rx_post(&rig, 3, NULL);
		vdev_kick(rx);
	}
	rig_close(&rig);
}

/* Nor while a kernel thread is frozen, alone in its group. */
CASE(frozen_kthread_gets_no_frame)
{
	unsigned int i, k;
	struct cgroup g;
	struct worker w;
	uint16_t used;

	choose_worker("kthread");
	rx_inline_need_kvnet();
	cgroup_make_old(&g, "freezer");
	rx_inline_begin();
	ASSERT_EQ(workers_of(getpid(), &w), DEVICE_WORKERS);
	cgroup_join(&g, w.tid);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		rx_inline_warm_up();
		cgroup_freeze(&g, true);
		EXPECT(cgroup_frozen(&g, true, 5000));
		used = gr_raw_used_idx(&rx->ring);
		for (k = 0; k < 3; k++)
			rig_inject(&rig, seq + k, 60);
		EXPECT(!WAIT_FOR(100, gr_raw_used_idx(&rx->ring) != used));
		cgroup_freeze(&g, false);
		for (k = 0; k < 3; k++)
			rig_rx_expect(&rig, seq++, 60);
		rig_rx_post(&rig, 3, NULL);
		vdev_kick(rx);
	}
	rig_close(&rig);
	cgroup_remove(&g);
}

/* The device is closed or reset with frames on their way. */
CASE_TIMED(close_under_traffic_leaves_no_worker, 60)
{
	unsigned int i, before, n = ksft_rounds(10);
	int status, sync[2];
	pid_t pid;
	char c;

	rx_inline_need_kvnet();
	before = workers();
	for (i = 0; i < n && !ksft_failed(); i++) {
		rx_inline_begin();
		rx_inline_warm_up();
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
