// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that are closed, or whose owner is killed, as soon as they have a worker,
 * even before it ever ran: while the guest's memory is not there yet, and nobody is
 * going to bring it (userfaultfd).  Each of them ends.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"

#define STEP_US	1	/* the hammer falls later, from round to round */

static struct rig rig;

/* Stopped, with a frame to send that is not there. */
static void open_rig(void)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	if (vdev_is_vhost())
		ksft_skip("vhost_net may let it hang");
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	gr_publish(&q->ring);
	pager_open();
	pager_take_away_for_ever(q->bufs, q->buf_size * q->buf_num);
	close(rig.v.fd);
}

/* A device in the place of the last one, and off it goes. */
static void start_another(void)
{
	struct vdev *v = &rig.v;
	unsigned int i;

	v->fd = vdev_open_node();
	vdev_own(v->fd);
	vdev_set_features(v, v->features);
	vdev_set_mem(v);
	for (i = 0; i < 2; i++)
		vdev_queue_tell(v, i, 0);
	rig_start(&rig);
}

static uint64_t now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

static void spin_until(uint64_t us)
{
	while (now_us() < us)
		;
}

static void allow_cpus(unsigned int mask)
{
	cpu_set_t set;
	unsigned int i;

	CPU_ZERO(&set);
	for (i = 0; i < 2; i++)
		if (mask & 1u << i)
			CPU_SET(i, &set);
	ASSERT_SYS(sched_setaffinity(0, sizeof(set), &set));
}

/* Before whoever is in less of a hurry; a worker is in none. */
static void hurry(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &param));
}

/* What a round is made of; each of its processes has a CPU, or wants it. */
static struct round {
	unsigned int hogged;	/* round for which CPU 1 is kept */
	unsigned int set;	/* round for which the hammer is set */
	unsigned int free;	/* round in which CPU 1 is free again */
	uint64_t when;		/* the hammer is to fall, in us */
} *now;

static unsigned int load(const unsigned int *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void store(unsigned int *p, unsigned int v)
{
	__atomic_store_n(p, v, __ATOMIC_RELEASE);
}

/* Keeps CPU 1 until it is to be free. */
static void hog(int next)
{
	unsigned int round;

	allow_cpus(2);
	hurry(2);
	while (read(next, &round, sizeof(round)) == sizeof(round)) {
		store(&now->hogged, round);
		while (load(&now->free) != round)
			;
	}
}

/*
 * Takes CPU 0 away from who closes the device, wherever he is, for as long as a worker
 * needs that has CPU 1 meanwhile.
 */
static void hammer(int next)
{
	unsigned int round;

	allow_cpus(1);
	hurry(3);
	while (read(next, &round, sizeof(round)) == sizeof(round)) {
		struct timespec ts = { .tv_sec = now->when / 1000000,
				       .tv_nsec = now->when % 1000000 * 1000 };

		store(&now->set, round);
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		store(&now->free, round);
		spin_until(now_us() + 3000);
	}
}

static int fork_helper(void (*fn)(int))
{
	int p[2];

	ASSERT_SYS(pipe2(p, O_CLOEXEC));
	if (!fork()) {
		close(p[1]);
		fn(p[0]);
		_exit(0);
	}
	close(p[0]);
	return p[1];
}

static void tell(int helper, unsigned int round)
{
	ASSERT_EQ(write(helper, &round, sizeof(round)), sizeof(round));
}

/*
 * The kernel itself has to give way, too, as kernels may that are built for it.
 * Returns how it was, which the file says in brackets.
 */
static const char *preempt(const char *how)
{
	int fd = open("/sys/kernel/debug/sched/preempt", O_RDWR | O_CLOEXEC);
	static char before[64];
	char was[64], *end;
	ssize_t n;

	if (fd < 0)
		return how;
	n = read(fd, was, sizeof(was) - 1);
	was[n > 0 ? n : 0] = 0;
	if (write(fd, how, strlen(how)) < 0)
		ksft_note("preemption is not %s: %s", how, strerror(errno));
	close(fd);
	end = strchr(was, ')');
	if (!end || !strchr(was, '('))
		return how;
	*end = 0;
	strcpy(before, strchr(was, '(') + 1);
	return before;
}

static void has_gone(unsigned int users)
{
	EXPECT(WAIT_FOR(3000, module_users() <= users));
}

/*
 * The worker cannot run before the device is about to be closed: then it does, and
 * who closes stands still, some microseconds further on in each round.
 */
static void race(unsigned int users)
{
	unsigned int n = ksft_rounds(300), i;
	const char *before;
	int hogs, hammers;

	now = mmap(NULL, sizeof(*now), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(now != MAP_FAILED);
	hogs = fork_helper(hog);
	hammers = fork_helper(hammer);
	before = preempt("full");
	hurry(1);
	for (i = 1; i <= n && !ksft_failed(); i++) {
		tell(hogs, i);
		while (load(&now->hogged) != i)
			;
		start_another();
		allow_cpus(1);
		now->when = now_us() + 300 + n * STEP_US;
		tell(hammers, i);
		while (load(&now->set) != i)
			;
		spin_until(now->when - i * STEP_US);
		close(rig.v.fd);
		store(&now->free, i);
		has_gone(users);
		allow_cpus(3);
	}
	preempt(before);
}

static void closed_at_once(const char *kind)
{
	unsigned int before = workers(), n = ksft_rounds(100), users, i;

	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	open_rig();
	users = module_users();
	if (sysconf(_SC_NPROCESSORS_ONLN) > 1) {
		race(users);
	} else {
		hurry(1);	/* it runs when who closes waits for it */
		for (i = 0; i < n && !ksft_failed(); i++) {
			start_another();
			close(rig.v.fd);
			has_gone(users);
		}
	}
	no_worker_left(before);
}

CASE_TIMED(thread_closed_at_once, 60)
{
	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	closed_at_once("task");
}

CASE_TIMED(kthread_closed_at_once, 60)
{
	closed_at_once("kthread");
}

/*
 * SET_BACKEND does not wait for the worker that it has set going. Who calls it is in no hurry
 * here: the worker runs as soon as it is woken.
 */
static void backend_is_set(const char *kind)
{
	struct sched_param param = { 0 };
	struct vdev *v = &rig.v;
	unsigned int i, k;

	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	open_rig();
	for (k = 0; k < 4 && !ksft_failed(); k++) {
		v->fd = vdev_open_node();
		vdev_own(v->fd);
		ASSERT_SYS(sched_setscheduler(0, SCHED_IDLE, &param));
		vdev_set_features(v, v->features);
		vdev_set_mem(v);
		for (i = 0; i < 2; i++)
			vdev_queue_tell(v, i, 0);
		rig_start(&rig);
		ASSERT_SYS(sched_setscheduler(0, SCHED_OTHER, &param));
		close(v->fd);
	}
}

CASE(backend_of_a_thread_that_waits)
{
	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	backend_is_set("task");
}

CASE(backend_of_a_kthread_that_waits)
{
	backend_is_set("kthread");
}

static void vmm(int ready)
{
	open_rig();
	close(ready);
	start_another();
	for (;;)
		pause();
}

static void killed_at_once(const char *kind)
{
	unsigned int before = workers(), n = ksft_rounds(30), i;
	int p[2], status;
	pid_t pid;
	char c;

	if (vdev_is_vhost())
		ksft_skip("vhost_net may let it hang");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	for (i = 0; i < n && !ksft_failed(); i++) {
		ASSERT_SYS(pipe(p));
		pid = ASSERT_SYS(fork());
		if (!pid) {
			close(p[0]);
			vmm(p[1]);
		}
		close(p[1]);
		EXPECT_EQ(read(p[0], &c, 1), 0);
		close(p[0]);
		spin_until(now_us() + ksft_below(2000));
		kill(pid, SIGKILL);
		if (!WAIT_FOR(5000, waitpid(pid, &status, WNOHANG) == pid))
			FAIL("round %u: the owner cannot be killed", i);
	}
	no_worker_left(before);
}

CASE_TIMED(owner_of_a_thread_killed_at_once, 60)
{
	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	killed_at_once("task");
}

CASE_TIMED(owner_of_a_kthread_killed_at_once, 60)
{
	killed_at_once("kthread");
}

/* As soon as SET_OWNER has returned: nobody else has run since, on one CPU. */
static void is_there_at_once(const char *kind)
{
	const struct sched_param first = { .sched_priority = 1 }, as_others = { 0 };
	struct cgroup g;
	struct worker w;
	unsigned int i;
	char own[512];

	if (!strcmp(kind, "task") && !kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	cgroup_make(&g, NULL);
	cgroup_join(&g, getpid());
	for (i = 0; i < 3 && !ksft_failed(); i++) {
		int fd = vdev_open_node();

		ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &first));
		vdev_own(fd);
		ASSERT_EQ(workers_of(getpid(), &w), 1);
		strcpy(own, cgroups_of(getpid(), getpid()));
		EXPECT(!strcmp(cgroups_of(w.pid, w.tid), own));
		ASSERT_SYS(sched_setscheduler(0, SCHED_OTHER, &as_others));
		close(fd);
		ASSERT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	}
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

CASE(thread_is_in_the_owners_group_at_once)
{
	is_there_at_once("task");
}

CASE(kthread_is_in_the_owners_group_at_once)
{
	is_there_at_once("kthread");
}

KSFT_MAIN()
