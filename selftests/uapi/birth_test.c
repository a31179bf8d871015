// SPDX-License-Identifier: GPL-2.0
/*
 * Devices that are closed, or whose owner is killed, as soon as they have a worker,
 * even before it ever ran: while the guest's memory is not there yet, and nobody is
 * going to bring it (userfaultfd).  Each of them ends.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"

#define STEP_US	2	/* from one round to the next */

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

static void spin_us(unsigned int us)
{
	struct timespec ts;
	uint64_t end = 0, now;

	do {
		clock_gettime(CLOCK_MONOTONIC, &ts);
		now = ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
		if (!end)
			end = now + us;
	} while (now < end);
}

/* On this CPU, before whoever is not in a hurry: a worker has to wait. */
static void hurry_on(unsigned int cpu)
{
	struct sched_param param = { .sched_priority = 2 };
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	ASSERT_SYS(sched_setaffinity(0, sizeof(set), &set));
	ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &param));
}

/* Keeps the other CPU, until some time after it is told to go. */
static struct hog {
	unsigned int busy;	/* round that it keeps the CPU for */
	unsigned int go;	/* round that is about to end */
	unsigned int us;
} *hog;

static void keep_cpu(int next)
{
	unsigned int round;

	hurry_on(1);
	while (read(next, &round, sizeof(round)) == sizeof(round)) {
		__atomic_store_n(&hog->busy, round, __ATOMIC_RELEASE);
		while (__atomic_load_n(&hog->go, __ATOMIC_ACQUIRE) != round)
			;
		spin_us(hog->us);
	}
	_exit(0);
}

static int fork_hog(void)
{
	int p[2];

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		return -1;
	hog = mmap(NULL, sizeof(*hog), PROT_READ | PROT_WRITE,
		   MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(hog != MAP_FAILED);
	ASSERT_SYS(pipe(p));
	if (!fork()) {
		close(p[1]);
		keep_cpu(p[0]);
	}
	close(p[0]);
	return p[1];
}

static void hog_begin(int next, unsigned int round)
{
	if (next < 0)
		return;
	hog->us = round * STEP_US;
	ASSERT_EQ(write(next, &round, sizeof(round)), sizeof(round));
	while (__atomic_load_n(&hog->busy, __ATOMIC_ACQUIRE) != round)
		;
}

/* All CPUs are busy, and one is free just when the device is closed. */
static void closed_at_once(const char *kind)
{
	unsigned int before = workers(), n = ksft_rounds(200), i;
	int next;

	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	open_rig();
	next = fork_hog();
	hurry_on(0);
	for (i = 1; i <= n && !ksft_failed(); i++) {
		hog_begin(next, i);
		start_another();
		if (next >= 0)
			__atomic_store_n(&hog->go, i, __ATOMIC_RELEASE);
		close(rig.v.fd);
	}
	close(next);
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
		spin_us(ksft_below(2000));
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

KSFT_MAIN()
