// SPDX-License-Identifier: GPL-2.0
/*
 * A VMM that is frozen: by its control group, as a container that is paused, or
 * with all others when the machine goes to sleep.  Its worker stops, too, nothing
 * writes to the guest's memory any more, and then all goes on without a loss.
 *
 * The machine hibernates while frames are on their way to a guest whose memory is in the
 * swap space: with test_resume it writes the image, reads it again and goes on from it.
 * That needs a disk to swap to, see scripts/vm.sh --disk, and half a minute or more.
 *
 * @hosts: 6.12 newest
 * @seconds: 5
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 * @skip: uapi-smp-.* | .*: no test of suspending.* | the test hosts have it
 * @skip: .* | .*: no freezer of version 1.* | not every kernel is built with it
 * @skip: .*-6\.1 | .*: the worker is the kernel's .* | newer kernels have threads of the owner
 * @skip: uapi-(uml|smp-).* | .*: the kernel has no test .* | make uapi TESTS=freezer_test
 * @skip: .*-6\.1 | .*: Linux before 6\.4 .* | newer kernels do
 */
#include <arpa/inet.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "cgroup.h"
#include "flow.h"
#include "inject.h"
#include "links.h"
#include "pin_rig.h"
#include "procfs.h"
#include "swap.h"
#include "tracing.h"

#define LEN		200
#define TX_WAITING	8	/* frames that the guest does not kick for */

static struct rig rig;
static struct cgroup group;

/* Shared by the VMM and a process outside of its group, "the world". */
static struct shared {
	uint32_t injected;
	uint32_t received;
} *shared;

static void open_in(const struct cgroup *g)
{
	shared = mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(shared != MAP_FAILED);
	cgroup_join(g, getpid());
	rig_open(&rig, &(struct rig_cfg){ 0 });
}

/* With a worker that is a thread of the VMM: a kernel thread is not frozen with it. */
static void open_in_group(void)
{
	if (!kernel_has_vhost_task())
		ksft_skip("the worker is the kernel's before Linux 6.11");
	cgroup_make(&group, NULL);
	open_in(&group);
}

static uint32_t load(const uint32_t *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void inject(unsigned int n)
{
	while (n--) {
		rig_inject(&rig, shared->injected, LEN);
		__atomic_add_fetch(&shared->injected, 1, __ATOMIC_RELEASE);
	}
}

static bool guest_has_all(void)
{
	return gr_raw_used_idx(&rig.v.q[VDEV_RX].ring) == shared->injected;
}

static bool memory_changed(const uint8_t *copy)
{
	return memcmp(copy, rig.v.mem, rig.v.mem_size);
}

static bool host_got_something(void)
{
	struct pollfd p = { .fd = rig.sniff, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

static bool freeze(void)
{
	cgroup_freeze(&group, true);
	if (cgroup_frozen(&group, true, 5000))
		return true;
	FAIL("the group does not freeze");
	return false;
}

static void thaw(void)
{
	cgroup_freeze(&group, false);
	EXPECT(cgroup_frozen(&group, false, 5000));
}

static bool all_stopped(pid_t vmm)
{
	struct worker w;

	return workers_of(vmm, &w) && task_state(vmm, vmm) == 'T' &&
	       task_state(w.pid, w.tid) == 'T';
}

/* As a debugger does, or a shell. */
static bool stop(void)
{
	ASSERT_SYS(kill(getppid(), SIGSTOP));
	return EXPECT(WAIT_FOR(3000, all_stopped(getppid())));
}

static void cont(void)
{
	ASSERT_SYS(kill(getppid(), SIGCONT));
}

/* The world stops a VMM that is idle, and lets it go on. */
static void halt_idle(bool (*halt)(void), void (*go_on)(void))
{
	struct vdev_queue *tx = &rig.v.q[VDEV_TX];
	uint8_t *copy = malloc(rig.v.mem_size);
	unsigned int i;

	for (i = 0; i < 4 && !ksft_failed(); i++) {
		inject(10);
		EXPECT(WAIT_FOR(3000, guest_has_all()));
		if (!halt())
			break;
		memcpy(copy, rig.v.mem, rig.v.mem_size);
		inject(20);
		if (!i)
			EXPECT_EQ(write(tx->kick, &(uint64_t){ 1 }, 8), 8);
		EXPECT(!WAIT_FOR(100, memory_changed(copy)));
		EXPECT(i || !host_got_something());
		go_on();
		EXPECT(WAIT_FOR(3000, guest_has_all()));
	}
	go_on();
	free(copy);
}

static void freeze_idle(void)
{
	halt_idle(freeze, thaw);
}

static void stop_idle(void)
{
	halt_idle(stop, cont);
}

static pid_t fork_world(void (*fn)(void))
{
	pid_t pid = ASSERT_SYS(fork());

	if (pid)
		return pid;
	cgroup_leave(getpid());
	fn();
	_exit(0);
}

static bool world_ends(pid_t pid)
{
	siginfo_t info = { 0 };

	return !waitid(P_PID, pid, &info, WEXITED | WNOHANG | WNOWAIT) &&
	       info.si_pid == pid;
}

static void end_world(pid_t world)
{
	int status;

	ASSERT_EQ(waitpid(world, &status, 0), world);
	EXPECT_EQ(status, 0);
	cgroup_leave(getpid());
	rig_close(&rig);
	cgroup_remove(&group);
}

static void is_halted_while_idle(void (*by)(void))
{
	uint32_t i;
	pid_t pid;

	/* without busy polling: a worker that spins would find what no kick announces */
	vdev_no_spin(&rig.v);
	rig_rx_post(&rig, 256, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	wait_worker_idle();
	for (i = 0; i < TX_WAITING; i++)
		ASSERT_EQ(rig_tx(&rig, LEN, NULL), 0);
	gr_publish(&rig.v.q[VDEV_TX].ring);
	pid = fork_world(by);
	while (!world_ends(pid))
		ksft_relax(1000);
	for (i = 0; i < shared->injected && !ksft_failed(); i++)
		rig_rx_expect(&rig, i, LEN);
	for (i = 0; i < TX_WAITING && !ksft_failed(); i++)
		rig_expect(&rig, i, LEN);
	end_world(pid);
}

CASE(frozen_idle_task_writes_nothing)
{
	open_in_group();
	is_halted_while_idle(freeze_idle);
}

/* A kernel thread, by a cgroup of version 1. */
CASE(frozen_idle_kthread_writes_nothing)
{
	choose_worker("kthread");
	cgroup_make_old(&group, "freezer");
	open_in(&group);
	is_halted_while_idle(freeze_idle);
}

/* Injects frames all the time, as many as the guest can take. */
static void inject_while(unsigned int ms)
{
	uint64_t end = ksft_now_ms() + ms;
	unsigned int turn = 0;

	do {
		if (shared->injected - load(&shared->received) < 200)
			inject(1);
		else
			ksft_relax(turn++);
	} while (ksft_now_ms() < end);
}

static void freeze_busy(void)
{
	uint8_t *copy = malloc(rig.v.mem_size);
	unsigned int i, n = ksft_rounds(20);

	for (i = 0; i < n && !ksft_failed(); i++) {
		inject_while(ksft_below(20));
		if (!freeze())
			break;
		memcpy(copy, rig.v.mem, rig.v.mem_size);
		inject_while(10);
		EXPECT(!memory_changed(copy));
		thaw();
	}
	thaw();
	free(copy);
}

/* Frames both ways, each one in order. */
static void pump(uint32_t *sniffed)
{
	static uint8_t f[FRAME_MAX + 1];
	ssize_t n;

	rig_rx_post(&rig, 256, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	while ((n = rig_rx(&rig, NULL, f, sizeof(f), 0)) >= 0) {
		frame_check(f, n, shared->received, LEN);
		__atomic_add_fetch(&shared->received, 1, __ATOMIC_RELEASE);
		rig_rx_post(&rig, 1, NULL);
	}
	rig_tx_reap(&rig);
	while (rig.tx_seq - *sniffed < 100 && !rig_tx(&rig, LEN, NULL))
		;
	vdev_kick(&rig.v.q[VDEV_TX]);
	while ((n = rig_sniff(&rig, f, sizeof(f), 0)) >= 0)
		frame_check(f, n, (*sniffed)++, LEN);
}

CASE_TIMED(frozen_busy_owner_loses_nothing, 40)
{
	uint32_t sniffed = 0;
	pid_t pid;

	open_in_group();
	pid = fork_world(freeze_busy);
	while (!world_ends(pid) && !ksft_failed())
		pump(&sniffed);
	while (shared->received < shared->injected && !ksft_failed()) {
		rig_rx_post(&rig, 256, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
		if (rig_rx_expect(&rig, shared->received, LEN))
			shared->received++;
	}
	while (sniffed < rig.tx_seq && !ksft_failed())
		rig_expect(&rig, sniffed++, LEN);
	ksft_note("%u frames in, %u out", shared->received, sniffed);
	end_world(pid);
}

CASE(stopped_owner_is_not_written_to)
{
	open_in_group();
	is_halted_while_idle(stop_idle);
}

/* As a paused container is removed. */
CASE(frozen_owner_can_be_killed)
{
	unsigned int before = workers();
	int p[2];
	pid_t pid;
	char c;

	if (!kernel_has_vhost_task())
		ksft_skip("the worker is the kernel's before Linux 6.11");
	cgroup_make(&group, NULL);
	ASSERT_SYS(pipe(p));
	pid = fork();
	if (!pid) {
		close(p[0]);
		rig_open(&rig, &(struct rig_cfg){ 0 });
		flow_one(&rig);
		cgroup_join(&group, getpid());
		close(p[1]);
		for (;;)
			pause();
	}
	close(p[1]);
	EXPECT_EQ(read(p[0], &c, 1), 0);
	freeze();
	kill_child(pid);
	no_worker_left(before);
	cgroup_remove(&group);
}

/*** suspend ***/

/* Traces when workers run, and when all tasks are frozen. */
static void trace_start(void)
{
	if (!tracing_begin() ||
	    !tracing_on("sched/sched_switch", "next_comm ~ \"kvnet-*\" || next_comm ~ \"vhost-*\" || "
			"prev_comm ~ \"kvnet-*\" || prev_comm ~ \"vhost-*\"") ||
	    !tracing_on("power/suspend_resume", ""))
		ksft_skip("no tracing: %s", strerror(errno));
}

/* What the trace says about the time while all tasks were frozen. */
struct frozen {
	bool now;
	int ran;	/* times that a worker ran; -1: tasks were never frozen */
	int preempted;	/* workers that have lost their CPU, and go on from there */
};

static bool is_worker(const char *text, const char *field)
{
	const char *name = strstr(text, field);

	if (!name)
		return false;
	name += strlen(field);
	return !strncmp(name, "kvnet-", 6) || !strncmp(name, "vhost-", 6);
}

static void note_frozen(const char *text, void *data)
{
	struct frozen *f = data;

	if (strstr(text, "freeze_processes[0] end")) {
		f->now = true;
		f->ran = f->ran < 0 ? 0 : f->ran;
	} else if (strstr(text, "thaw_processes[0] begin")) {
		f->now = false;
	} else if (strstr(text, "sched_switch")) {
		/* A task counts as frozen that is preempted on its last steps to the freezer. */
		if (is_worker(text, "next_comm=") && f->preempted) {
			f->preempted--;
		} else if (is_worker(text, "next_comm=") && f->now) {
			ksft_note("%.*s", (int)strcspn(text, "\n"), text);
			f->ran++;
		}
		f->preempted += is_worker(text, "prev_comm=") && strstr(text, "prev_state=R");
	}
}

/* Returns struct frozen's ran. */
static int trace_end(void)
{
	struct frozen f = { .ran = -1 };

	tracing_look(note_frozen, &f);
	tracing_end();
	return f.ran;
}

/* Has the host send an ARP request, and repeat it after one and two seconds. */
static void send_arp_requests(const char *addr)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_port = htons(9) };
	int fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	struct ifreq ifr = { 0 };

	memcpy(ifr.ifr_name, rig.name, sizeof(rig.name));
	sin.sin_addr.s_addr = inet_addr("10.77.0.1");
	memcpy(&ifr.ifr_addr, &sin, sizeof(sin));
	ASSERT_SYS(ioctl(fd, SIOCSIFADDR, &ifr));
	sin.sin_addr.s_addr = inet_addr(addr);
	ASSERT_EQ(sendto(fd, "?", 1, 0, (struct sockaddr *)&sin, sizeof(sin)),
		  1);
	close(fd);
}

static unsigned int received(void)
{
	return gr_raw_used_idx(&rig.v.q[VDEV_RX].ring);
}

/* Suspends as far as the freezer, stays there for three seconds, and resumes. */
static void sleep_and_wake(void)
{
	if (!inject_put("/sys/power/pm_test", "freezer") ||
	    !inject_put("/sys/module/suspend/parameters/pm_test_delay", "3"))
		ksft_skip("no test of suspending: %s", strerror(errno));
	if (!inject_put("/sys/power/state", "freeze"))
		FAIL("the machine does not freeze: %s", strerror(errno));
	inject_put("/sys/power/pm_test", "none");
}

CASE_TIMED(suspended_machine_runs_no_worker, 40)
{
	int ran;

	/* on one CPU the task that waits may keep a worker from running that should not run */
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	rig_rx_post(&rig, 100, NULL);
	vdev_kick(&rig.v.q[VDEV_RX]);
	send_arp_requests("10.77.0.2");
	ASSERT(WAIT_FOR(3000, received() > 1));
	trace_start();
	sleep_and_wake();
	ran = trace_end();
	if (ran < 0)
		FAIL("nothing was frozen");
	else if (ran)
		FAIL("the worker ran %d times while all tasks were frozen", ran);
	/* the requests of meanwhile have arrived */
	EXPECT(WAIT_FOR(3000, received() >= 3));
	rig_close(&rig);
}

/*** hibernation ***/

#define SWAP_FRAMES	250
#define SWAP_LEN	1000

static void sh(const char *what, const char *command)
{
	if (system(command))
		ksft_skip("%s", what);
}

static void need_hibernation(void)
{
	if (access("/sys/power/disk", W_OK) ||
	    !inject_put("/sys/power/disk", "test_resume"))
		ksft_skip("the kernel has no test of hibernation");
	swap_need();
}

/*
 * From now on frames to the guest arrive late, and one after the other: by netem, as
 * "tc qdisc add dev ... root netem delay 2s rate 150kbit" would have it.
 */
static void come_late(void)
{
	struct {
		struct tc_netem_qopt opt;
		struct rtattr latency;
		int64_t ns;
		struct rtattr rate_attr;
		struct tc_netem_rate rate;
	} __attribute__((packed)) netem = {
		.opt = { .limit = 1000 },
		.latency = { RTA_LENGTH(sizeof(netem.ns)), TCA_NETEM_LATENCY64 },
		.ns = 2000000000,
		.rate_attr = { RTA_LENGTH(sizeof(netem.rate)), TCA_NETEM_RATE },
		.rate = { .rate = 150000 / 8 },
	};

	sh("no netem", "modprobe sch_netem");
	ASSERT_EQ(link_qdisc(rig.ifindex, NLM_F_CREATE | NLM_F_EXCL, "netem", &netem,
			     sizeof(netem)), 0);
}

CASE_TIMED(hibernation_under_traffic_loses_nothing, 300)
{
	struct vdev_queue *rx = &rig.v.q[VDEV_RX];
	uint32_t i;
	bool done;

	need_hibernation();
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	frames_pass(&rig);
	come_late();
	ASSERT_EQ(rig_rx_post(&rig, SWAP_FRAMES, NULL), SWAP_FRAMES);
	ASSERT_SYS(madvise(rx->bufs, rx->buf_size * rx->buf_num,
			   MADV_PAGEOUT));
	ASSERT(swapped_kb() >= SWAP_FRAMES * 2);
	vdev_kick(rx);
	for (i = 0; i < SWAP_FRAMES; i++)
		rig_inject(&rig, i, SWAP_LEN);
	done = inject_put("/sys/power/state", "disk");
	if (!done && errno == EBUSY)
		ksft_skip("Linux before 6.4 does not read an image while it swaps");
	if (!done)
		FAIL("the machine does not hibernate: %s", strerror(errno));
	/* the bytes behind each frame are as they were, too */
	for (i = 0; i < SWAP_FRAMES && !ksft_failed(); i++)
		if (WAIT_FOR(20000, gr_used_pending(&rx->ring)))
			rig_rx_expect(&rig, i, SWAP_LEN);
		else
			FAIL("frame %u does not come", i);
	rig_close(&rig);
}

KSFT_MAIN()
