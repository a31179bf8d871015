// SPDX-License-Identifier: GPL-2.0
/*
 * What the worker is: a thread of the VMM where the kernel can make one, with the CPUs,
 * cgroups and limits of the VMM's threads, or a kernel thread in the VMM's cgroups.
 *
 * And a process that has the descriptor and is not the owner. While the worker waits for a page,
 * this process waits in an ioctl, and is killed: the owner does not notice. Nor does it keep the
 * owner from being killed, nor, with a page fault of its own, from its ioctls.
 *
 * @hosts: 6.1 6.12 newest
 * @debug: kasan kcsan
 * @again: kthread
 * @seconds: 7
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 * @skip: uapi-uml.* | .*: no controller cpu: .* | the test hosts have it
 * @skip: .*-6\.1 | .*: no threads .* | newer kernels have them
 */
#include <grp.h>
#include <linux/vhost_types.h>
#include <sys/resource.h>
#include <time.h>

#include "cgroup.h"
#include "flow.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

static struct rig rig;

static void choose(const char *kind)
{
	choose_worker(kind);
	vdev_allow_choice();
}

static struct worker the_worker(void)
{
	struct worker w;

	ASSERT_EQ(workers_of(getpid(), &w), DEVICE_WORKERS);
	return w;
}

static unsigned long long cpu_ns(clockid_t clock)
{
	struct timespec ts;

	ASSERT_SYS(clock_gettime(clock, &ts));
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/*
 * CPU time of this process but for its own thread: that of its workers. The thread runs on
 * between the two readings, for long where the host takes the CPU away: so there are two
 * figures, one that is never too small and one that is never too large.
 */
static unsigned long long cpu_of_others_at_most(void)
{
	unsigned long long own = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

	return cpu_ns(CLOCK_PROCESS_CPUTIME_ID) - own;
}

static unsigned long long cpu_of_others_at_least(void)
{
	unsigned long long all = cpu_ns(CLOCK_PROCESS_CPUTIME_ID);
	unsigned long long own = cpu_ns(CLOCK_THREAD_CPUTIME_ID);

	return all > own ? all - own : 0;
}

static void expect_status(const struct worker *w, const char *name,
			  const char *want)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", w->pid, w->tid);
	if (strcmp(word_of(path, name), want))
		FAIL("the worker's %s: %s, not %s", name, word_of(path, name),
		     want);
}

/* The kind that module parameter and kernel give without a choice. */
static const char *own_choice(void)
{
	const char *path = "/sys/module/kvnet/parameters/fork_from_owner_default";
	int fd = vdev_is_vhost() ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	char c = 'Y';

	if (fd >= 0 && read(fd, &c, 1) != 1)
		FAIL("%s: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
	return kernel_has_vhost_task() && c == 'Y' ? "task" : "kthread";
}

/* Is it a thread of this process, or a kernel thread, a child of kthreadd? */
static void expect_kind(const char *kind)
{
	struct worker w = the_worker();

	if (!strcmp(kind, "task")) {
		EXPECT_EQ(w.pid, getpid());
		return;
	}
	EXPECT_EQ(w.pid, w.tid);
	expect_status(&w, "PPid", "2");
}

CASE(default_worker_is_the_modules_choice)
{
	choose("");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_kind(own_choice());
	flow_one(&rig);
}

CASE(task_worker_is_thread_of_owner)
{
	choose("task");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_kind("task");
	flow_one(&rig);
	wait_worker_idle();
}

CASE(kthread_worker_is_child_of_kthreadd)
{
	choose("kthread");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_kind("kthread");
	flow_one(&rig);
	wait_worker_idle();
}

/* Its CPU time counts as the process's, also after its end. */
CASE(task_worker_time_is_the_owners)
{
	unsigned long long before, used = 0;

	choose("task");
	rig_open(&rig, &(struct rig_cfg){ 0 });
	before = cpu_of_others_at_most();
	EXPECT(WAIT_FOR(3000, (flow_one(&rig),
			used = cpu_of_others_at_least()) > before));
	rig_close(&rig);
	ASSERT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	if (!WAIT_FOR(3000, cpu_of_others_at_least() >= used))
		FAIL("%llu ns while it lived, %llu ns when it has gone", used,
		     cpu_of_others_at_least());
}

/*** FORK_FROM_OWNER ***/

static int set_kind(uint8_t kind)
{
	return __vdev_ioctl(rig.v.fd, VHOST_SET_FORK_FROM_OWNER, &kind);
}

static int get_kind(void)
{
	uint8_t kind = 77;
	int ret = __vdev_ioctl(rig.v.fd, VHOST_GET_FORK_FROM_OWNER, &kind);

	return ret ? ret : kind;
}

CASE(fork_from_owner_checks_its_argument)
{
	int task = kernel_has_vhost_task() ? 0 : -EOPNOTSUPP, own;

	choose("");
	rig.v.fd = vdev_open_node();
	if (vdev_is_vhost() && get_kind() < 0)
		ksft_skip("this kernel's vhost_net has no choice");
	own = !strcmp(own_choice(), "task");
	EXPECT_EQ(get_kind(), own);
	EXPECT_EQ(set_kind(VHOST_FORK_OWNER_KTHREAD), 0);
	EXPECT_EQ(get_kind(), VHOST_FORK_OWNER_KTHREAD);
	EXPECT_EQ(set_kind(2), -EINVAL);
	EXPECT_EQ(set_kind(255), -EINVAL);
	EXPECT_EQ(get_kind(), VHOST_FORK_OWNER_KTHREAD);
	EXPECT_EQ(set_kind(VHOST_FORK_OWNER_TASK), task);
	EXPECT_EQ(get_kind(), !task);
	vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
	EXPECT_EQ(set_kind(VHOST_FORK_OWNER_KTHREAD), -EBUSY);
	EXPECT_EQ(set_kind(9), -EBUSY);
	EXPECT_EQ(get_kind(), !task);
	expect_kind(task ? "kthread" : "task");
	close(rig.v.fd);
}

/* RESET_OWNER resets the choice. */
CASE(fork_from_owner_ends_with_reset)
{
	choose("");
	rig.v.fd = vdev_open_node();
	if (vdev_is_vhost() && get_kind() < 0)
		ksft_skip("this kernel's vhost_net has no choice");
	EXPECT_EQ(set_kind(VHOST_FORK_OWNER_KTHREAD), 0);
	vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
	expect_kind("kthread");
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	ASSERT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	EXPECT_EQ(get_kind(), !strcmp(own_choice(), "task"));
	vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL);
	expect_kind(own_choice());
	close(rig.v.fd);
}

/*** where it may run ***/

static void expect_cpus(const char *when, const char *want)
{
	struct worker w = the_worker();
	char path[64];
	bool ok;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", w.pid, w.tid);
	/* a thread runs where it was until the kernel moves it */
	ok = WAIT_FOR(3000, !strcmp(word_of(path, "Cpus_allowed_list"), want));
	if (!ok)
		FAIL("%s: the worker may run on CPU %s, not %s", when,
		     word_of(path, "Cpus_allowed_list"), want);
}

static void need_two_cpus(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
}

static void stays_in_the_cpuset(const char *kind)
{
	struct cgroup g;
	unsigned int i;

	need_two_cpus();
	choose(kind);
	cgroup_make(&g, "cpuset");
	cgroup_set(&g, "cpuset.cpus", "1");
	cgroup_join(&g, getpid());
	for (i = 0; i < 50 && !ksft_failed(); i++) {
		struct worker w;
		int fd = vdev_open_node();

		/* as soon as SET_OWNER has returned */
		vdev_own(fd);
		w = the_worker();
		expect_status(&w, "Cpus_allowed_list", "1");
		close(fd);
		ASSERT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	}
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_cpus("set before", "1");
	flow_one(&rig);
	expect_cpus("after traffic", "1");
	for (i = 0; i < 4; i++) {
		cgroup_set(&g, "cpuset.cpus", i % 2 ? "1" : "0");
		expect_cpus("changed", i % 2 ? "1" : "0");
		flow_one(&rig);
	}
	rig_close(&rig);
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

CASE_ROW(task_stays_in_cpuset, stays_in_the_cpuset("task"))
CASE_ROW(kthread_stays_in_cpuset, stays_in_the_cpuset("kthread"))

/* taskset, isolcpus: the worker has the affinity of the VMM's thread. */
CASE(task_inherits_affinity)
{
	cpu_set_t set;

	need_two_cpus();
	choose("task");
	CPU_ZERO(&set);
	CPU_SET(1, &set);
	ASSERT_SYS(sched_setaffinity(0, sizeof(set), &set));
	rig_open(&rig, &(struct rig_cfg){ 0 });
	expect_cpus("of the owner", "1");
	flow_one(&rig);
}

/*** which groups it is in ***/

static void expect_group(const char *when)
{
	struct worker w = the_worker();
	char own[512];

	strcpy(own, cgroups_of(getpid(), getpid()));
	if (strcmp(cgroups_of(w.pid, w.tid), own))
		FAIL("%s: the worker is in %s, not %s", when,
		     cgroups_of(w.pid, w.tid), own);
}

static void is_in_the_owners_group(const char *kind)
{
	struct cgroup g[2];
	unsigned int i;

	choose(kind);
	cgroup_make(&g[0], NULL);
	cgroup_make(&g[1], NULL);
	cgroup_join(&g[0], getpid());
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		int fd = vdev_open_node();

		/* as soon as SET_OWNER has returned: on one CPU no other task has run since */
		run_first(true);
		vdev_own(fd);
		expect_group("created there");
		run_first(false);
		close(fd);
		ASSERT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	}
	if (!strcmp(kind, "task")) {
		rig_open(&rig, &(struct rig_cfg){ 0 });
		cgroup_join(&g[1], getpid());
		expect_group("moved");
		flow_one(&rig);
		rig_close(&rig);
	}
	cgroup_leave(getpid());
	cgroup_remove(&g[0]);
	cgroup_remove(&g[1]);
}

CASE_ROW(task_is_in_owners_cgroup, is_in_the_owners_group("task"))
CASE_ROW(kthread_is_in_owners_cgroup, is_in_the_owners_group("kthread"))

/*** which cgroup its CPU time is charged to ***/

static unsigned long long cpu_of(const struct worker *w)
{
	char path[64];
	unsigned long long ns = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", w->pid,
		 w->tid);
	f = fopen(path, "r");
	ASSERT(f && fscanf(f, "%llu", &ns) == 1);
	fclose(f);
	return ns;
}

/* A second of traffic or more, driven from outside of the owner's group. */
static void keep_it_busy(void)
{
	uint64_t end = ksft_now_ms() + ksft_rounds(1000);
	static uint8_t f[FRAME_MAX + 1];
	uint32_t in = 0;

	do {
		rig_rx_post(&rig, 256, NULL);
		vdev_kick(&rig.v.q[VDEV_RX]);
		rig_inject(&rig, in++, 1000);
		while (rig_rx(&rig, NULL, f, sizeof(f), 0) >= 0)
			;
		rig_tx_reap(&rig);
		while (!rig_tx(&rig, 1000, NULL))
			;
		vdev_kick(&rig.v.q[VDEV_TX]);
		while (rig_sniff(&rig, f, sizeof(f), 0) >= 0)
			;
	} while (ksft_now_ms() < end && !ksft_failed());
}

/* Returns how much of the time the worker has run, in per cent. */
static unsigned int measure(const struct cgroup *g, const char *how, const char *limit)
{
	struct worker w = the_worker();
	unsigned long long ns = cpu_of(&w);
	long before = cgroup_get(g, "cpu.stat", "usage_usec"), us = 0;
	uint64_t start = ksft_now_ms(), ms;
	int status;
	pid_t pid = ASSERT_SYS(fork());

	if (!pid) {
		cgroup_leave(getpid());
		if (limit)
			cgroup_set(g, "cpu.max", limit);
		keep_it_busy();
		if (limit)
			cgroup_set(g, "cpu.max", "max");
		_exit(0);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ns = cpu_of(&w) - ns;
	ms = ksft_now_ms() - start;
	/* the kernel updates the group's figure now and then */
	WAIT_FOR(3000, (us = cgroup_get(g, "cpu.stat", "usage_usec") - before) +
		 20000 >= (long)(ns / 1000));
	ksft_note("%s: the worker %llu ms of %llu, its group %ld ms", how,
		  ns / 1000000, (unsigned long long)ms, us / 1000);
	EXPECT_OP(ns, >, 0);
	EXPECT_GE(us + 20000, ns / 1000);
	return ns / 10000 / ms;
}

static void is_charged(const char *kind)
{
	struct cgroup g;

	choose(kind);
	cgroup_make(&g, NULL);
	cgroup_join(&g, getpid());
	rig_open(&rig, &(struct rig_cfg){ 0 });
	measure(&g, kind, NULL);
	rig_close(&rig);
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

CASE_ROW(task_is_charged_to_owners_cgroup, is_charged("task"))
CASE_ROW(kthread_is_charged_to_owners_cgroup, is_charged("kthread"))

/* No frame is lost. Whether a kernel thread is throttled depends on the kernel: limits.rst. */
CASE(task_with_cpu_max_is_throttled)
{
	struct cgroup g;
	unsigned int had;

	choose("task");
	cgroup_make(&g, "cpu");
	if (!cgroup_has(&g, "cpu.max"))
		ksft_skip("no controller cpu: it gives shares, no tenths");
	cgroup_join(&g, getpid());
	rig_open(&rig, &(struct rig_cfg){ 0 });
	had = measure(&g, "task", "10000 100000");
	ksft_note("throttled %ld times", cgroup_get(&g, "cpu.stat", "nr_throttled"));
	if (!vdev_is_vhost())
		EXPECT_LE(had, 25);
	rig_close(&rig);
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

/*** how many there may be ***/

#define DEVICES	200
#define ALLOWED	11	/* this process, and threads of five devices */

/* SET_OWNER on all of them: how many succeed? The others leave nothing behind. */
static unsigned int own_many(const int *fd)
{
	unsigned int n = 0, i;
	int ret;

	for (i = 0; i < DEVICES; i++) {
		ret = __vdev_ioctl(fd[i], VHOST_SET_OWNER, NULL);
		n += !ret;
		/* vhost_net has one error for all reasons */
		if (ret && ret != (vdev_is_vhost() ? -ENOMEM : -EAGAIN))
			FAIL("device %u: %s", i, strerror(-ret));
	}
	return n;
}

static void open_many(int *fd)
{
	unsigned int i;

	for (i = 0; i < DEVICES; i++)
		fd[i] = vdev_open_node();
}

/* The refused devices have no workers, and after the close there are none at all. */
static void none_is_left(const int *fd, unsigned int n)
{
	unsigned int i;

	EXPECT_EQ(workers_of(getpid(), NULL), n * DEVICE_WORKERS);
	for (i = 0; i < DEVICES; i++)
		close(fd[i]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
}

static void allow_many_files(void)
{
	struct rlimit lim = { DEVICES + 50, DEVICES + 50 };

	ASSERT_SYS(setrlimit(RLIMIT_NOFILE, &lim));
}

CASE_TIMED(pids_max_bounds_workers, 60)
{
	unsigned int n, round;
	int fd[DEVICES];
	struct cgroup g;

	choose("task");
	allow_many_files();
	cgroup_make(&g, "pids");
	cgroup_set(&g, "pids.max", "11");
	cgroup_join(&g, getpid());
	for (round = 0; round < 2 && !ksft_failed(); round++) {
		open_many(fd);
		n = own_many(fd);
		EXPECT_EQ(n, (ALLOWED - 1) / DEVICE_WORKERS);
		EXPECT_EQ(cgroup_get(&g, "pids.current", NULL), n * DEVICE_WORKERS + 1);
		none_is_left(fd, n);
		EXPECT(WAIT_FOR(3000, cgroup_get(&g, "pids.current",
						 NULL) == 1));
	}
	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	rig_close(&rig);
	cgroup_leave(getpid());
	cgroup_remove(&g);
	no_leak_found();
}

static void become_other_user(void)
{
	struct rlimit lim = { ALLOWED, ALLOWED };

	ASSERT_SYS(setrlimit(RLIMIT_NPROC, &lim));
	ASSERT_SYS(setgroups(0, NULL));
	ASSERT_SYS(setresgid(65533, 65533, 65533));
	ASSERT_SYS(setresuid(65533, 65533, 65533));
}

CASE_TIMED(rlimit_nproc_bounds_workers, 60)
{
	int fd[DEVICES];
	unsigned int n;

	choose("task");
	allow_many_files();
	open_many(fd);
	become_other_user();
	n = own_many(fd);
	EXPECT_EQ(n, (ALLOWED - 1) / DEVICE_WORKERS);
	none_is_left(fd, n);
}

/*** a process that is not the owner, and waits for the worker ***/

static void in_set_features(void)
{
	__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &rig.v.features);
}

static void in_write(void)
{
	struct vhost_msg msg = {
		.type = VHOST_IOTLB_MSG,
		.iotlb = { .size = 4096, .uaddr = 4096, .perm = VHOST_ACCESS_RW,
			   .type = VHOST_IOTLB_UPDATE },
	};
	ssize_t n = write(rig.v.fd, &msg, sizeof(msg));

	(void)n;	/* refused, or not */
}

static void in_set_backend(void)
{
	__vdev_backend(&rig.v, VDEV_RX, -1);
}

/* A rig whose pages of send buffers can be taken away. */
static void open_rig(void)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	if (vdev_is_vhost())
		ksft_skip("vhost_net's waiters cannot be killed");
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	frames_pass(&rig);
	pager_open();
	pager_take_away(q->bufs, q->buf_size * q->buf_num);
}

/* A frame whose page does not come before pager_go_on(). */
static void send_late(unsigned int n)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	pager_take_again(q->bufs, q->buf_size * q->buf_num);
	pager.holds = true;
	gr_publish(&q->ring);
	ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	ASSERT(pager_asked(n, 3000));
}

static void arrives(void)
{
	pager_go_on();
	rig_expect(&rig, rig.tx_seq - 1, 1000);
	rig_tx_drain(&rig, 3000);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[VDEV_TX].err), 0);
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.state"), "running"));
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.drop_fault"), "0"));
}

static bool waits(pid_t pid)
{
	char state = task_state(pid, pid);

	return state == 'D' || state == 'Z';
}

/* Returns when the process waits in its call, or has ended. */
static pid_t fork_non_owner(void (*call)(void))
{
	pid_t pid = ASSERT_SYS(fork());

	if (!pid) {
		call();
		_exit(0);
	}
	ASSERT(WAIT_FOR(3000, waits(pid)));
	return pid;
}

static void non_owner_killed(void (*call)(void))
{
	open_rig();
	send_late(1);
	kill_child(fork_non_owner(call));
	arrives();
	/* later page faults are served as well */
	send_late(2);
	arrives();
	frames_pass(&rig);
	rig_close(&rig);
}

CASE_ROW(non_owner_in_set_features_can_be_killed, non_owner_killed(in_set_features))
CASE_ROW(non_owner_in_write_can_be_killed, non_owner_killed(in_write))
CASE_ROW(non_owner_in_set_backend_can_be_killed, non_owner_killed(in_set_backend))

static int asker;	/* thread of the owner that waits for the worker */

static void *owner_asks(void *arg)
{
	__atomic_store_n(&asker, gettid(), __ATOMIC_RELEASE);
	vdev_get_base(&rig.v, VDEV_TX);
	return arg;
}

static bool asker_waits(void)
{
	return task_state(getpid(), __atomic_load_n(&asker, __ATOMIC_ACQUIRE)) == 'D';
}

/* It waits for the owner, which waits for the worker. */
CASE(non_owner_behind_owner_can_be_killed)
{
	pthread_t owner;

	open_rig();
	send_late(1);
	ASSERT_EQ(pthread_create(&owner, NULL, owner_asks, NULL), 0);
	ASSERT(WAIT_FOR(3000, asker_waits()));
	kill_child(fork_non_owner(in_set_backend));
	EXPECT(asker_waits());
	arrives();
	ASSERT_EQ(pthread_join(owner, NULL), 0);
	frames_pass(&rig);
	rig_close(&rig);
}

/* The owner waits for the other process, which waits for the worker. */
static void owner_killed(void (*call)(void))
{
	unsigned int before = workers();
	pid_t pid, non_owner;
	int p[2];

	ASSERT_SYS(pipe(p));
	pid = fork();
	if (!pid) {
		close(p[0]);
		open_rig();
		send_late(1);
		non_owner = fork_non_owner(call);
		ASSERT_EQ(write(p[1], &non_owner, sizeof(non_owner)),
			  sizeof(non_owner));
		close(p[1]);
		vdev_get_base(&rig.v, VDEV_TX);
		for (;;)
			pause();
	}
	close(p[1]);
	if (read(p[0], &non_owner, sizeof(non_owner)) != sizeof(non_owner)) {
		waitpid(pid, NULL, 0);
		return;		/* it has failed, or skipped */
	}
	WAIT_FOR(200, task_state(pid, pid) == 'D');
	kill_child(pid);
	kill(non_owner, SIGKILL);
	no_worker_left(before);
}

CASE_ROW(owner_behind_set_features_can_be_killed, owner_killed(in_set_features))
CASE_ROW(owner_behind_write_can_be_killed, owner_killed(in_write))

/*** a page fault of that process ***/

struct late_call {
	unsigned long req;
	int want;		/* what it returns once the page is there */
	void *page;
};

static void *call_late(void *arg)
{
	const struct late_call *c = arg;

	EXPECT_EQ(__vdev_ioctl(rig.v.fd, c->req, c->page), c->want);
	return arg;
}

/* Writes to the line when the call waits for the page, and lets it come after an answer. */
static void non_owner_is_late(struct late_call *c, int line)
{
	pthread_t thread;
	char word = 0;

	c->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(c->page != MAP_FAILED);
	pager_open();
	pager.holds = true;
	pager_take_away(c->page, PAGE);
	ASSERT_EQ(pthread_create(&thread, NULL, call_late, c), 0);
	ASSERT(pager_asked(1, 3000));
	ASSERT_EQ(write(line, &word, 1), 1);
	ASSERT_EQ(read(line, &word, 1), 1);
	pager_go_on();
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

static bool owner_is_done;

static void *owners_calls(void *arg)
{
	struct vhost_vring_state num = { .index = VDEV_TX, .num = 64 };

	vdev_own(rig.v.fd);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_NUM, &num);
	vdev_ioctl(rig.v.fd, VHOST_GET_VRING_BASE, &num);
	__atomic_store_n(&owner_is_done, true, __ATOMIC_RELEASE);
	return arg;
}

static void owner_does_not_wait(struct late_call c)
{
	pthread_t owner;
	int line[2], status;
	char word;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net's owner waits for it");
	rig.v.fd = vdev_open_node();
	ASSERT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		close(line[0]);
		non_owner_is_late(&c, line[1]);
		_exit(0);
	}
	close(line[1]);
	if (read(line[0], &word, 1) != 1) {
		waitpid(pid, &status, 0);
		return;		/* it has failed, or skipped */
	}
	ASSERT_EQ(pthread_create(&owner, NULL, owners_calls, NULL), 0);
	if (!WAIT_FOR(5000, __atomic_load_n(&owner_is_done, __ATOMIC_ACQUIRE)))
		FAIL("the owner waits for a page of another process");
	ASSERT_EQ(write(line[0], &word, 1), 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	ASSERT_EQ(pthread_join(owner, NULL), 0);
	close(rig.v.fd);
}

CASE(fault_in_set_fork_from_owner_does_not_block_owner)
{
	vdev_allow_choice();
	/* by then there is an owner */
	owner_does_not_wait((struct late_call){ VHOST_SET_FORK_FROM_OWNER,
						-EBUSY });
}

CASE(fault_in_get_fork_from_owner_does_not_block_owner)
{
	vdev_allow_choice();
	owner_does_not_wait((struct late_call){ VHOST_GET_FORK_FROM_OWNER, 0 });
}

KSFT_MAIN()
