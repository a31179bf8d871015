// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that are closed, or whose owner is killed, as soon as they have a worker,
 * even before it first runs; also while the guest's memory is not there yet, and does not
 * come (userfaultfd).  Each of them ends.
 *
 * @hosts: newest
 * @seconds: 4
 * @skip: .*-6\.1 | .*: no threads .* | newer kernels have them
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

static struct rig rig;

/* Stopped, with a frame to send, which is not there if it is late. */
static void open_rig(bool late)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	if (vdev_is_vhost())
		ksft_skip("vhost_net may let it hang");
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	gr_publish(&q->ring);
	if (late) {
		pager_open();
		pager_take_away_for_ever(q->bufs, q->buf_size * q->buf_num);
	}
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

/* Before its workers. */
static void hurry(int priority)
{
	struct sched_param param = { .sched_priority = priority };

	ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &param));
}

/* The worker runs when the close waits for it, or after that. */
static void closed_at_once(const char *kind, bool late)
{
	unsigned int before = workers(), n = ksft_rounds(100), i;

	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	open_rig(late);
	hurry(1);
	for (i = 0; i < n && !ksft_failed(); i++) {
		start_another();
		close(rig.v.fd);
	}
	no_worker_left(before);
}

CASE_TIMED(thread_closed_at_once, 60)
{
	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	closed_at_once("task", false);
}

CASE_TIMED(kthread_closed_at_once, 60)
{
	closed_at_once("kthread", true);
}

/*
 * SET_BACKEND does not wait for the worker that it has set going. The caller is in no hurry
 * here: the worker runs as soon as it is woken.
 */
static void set_backends(void)
{
	const struct sched_param param = { 0 };

	open_rig(true);
	ASSERT_SYS(sched_setscheduler(0, SCHED_IDLE, &param));
	start_another();
	_exit(ksft_failed());
}

static void backend_is_set(const char *kind)
{
	unsigned int k;
	int status;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net may let it hang");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	for (k = 0; k < 4 && !ksft_failed(); k++) {
		pid = ASSERT_SYS(fork());
		if (!pid)
			set_backends();
		EXPECT(WAIT_FOR(5000, waitpid(pid, &status, WNOHANG) == pid));
		EXPECT_EQ(status, 0);
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
	open_rig(true);
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
		ASSERT_EQ(workers_of(getpid(), &w), DEVICE_WORKERS);
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
