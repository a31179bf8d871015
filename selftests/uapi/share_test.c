// SPDX-License-Identifier: GPL-2.0
/*
 * share_workers: one thread for the devices of a process, and each of them as if it had one of
 * its own.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "genl.h"
#include "procfs.h"
#include "share_rig.h"
#include "vhost_abi.h"
#include "vmm.h"

VDEV_ONE_THREAD()

/*** one thread ***/

struct shares {
	unsigned int workers, devices;
};

static void add_share(struct attrs answer, void *arg)
{
	struct shares *s = arg;

	s->workers++;
	s->devices += attr_u32(answer, KVNET_A_WORKER_DEVICES);
}

/* n workers, and of how many devices the thread of each is, added up. */
static void is_told_of(unsigned int n, unsigned int devices)
{
	struct shares s = { 0 };
	struct genl g;
	struct ask a;

	genl_open(&g);
	ask_begin(&a, &g, KVNET_CMD_WORKER_GET);
	ASSERT_EQ(genl_do(&g, &a, true, add_share, &s), 0);
	genl_close(&g);
	EXPECT_EQ(s.workers, n);
	EXPECT_EQ(s.devices, devices);
}

static void all_at_once(unsigned int n)
{
	struct exchange x[SHARERS] = { 0 };
	unsigned int i;

	share_begin(n);
	is_told_of(n, n * n);
	for (i = 0; i < n; i++)
		share_pass(i, 20);
	for (i = 0; i < n; i++) {
		x[i].r = &sharer[i];
		x[i].rx_seq = sharer[i].tx_seq;
		exchange_start(&x[i]);
	}
	for (i = 0; i < 4 * n; i++)
		EXPECT(exchange_wait(&x[i % n]));
	for (i = 0; i < n; i++)
		exchange_end(&x[i]);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(vdev_eventfd_take(sharer[i].v.q[0].err), 0);
		EXPECT_EQ(vdev_eventfd_take(sharer[i].v.q[1].err), 0);
	}
	share_end(n);
}

CASE(two_tasks)
{
	share_need("task");
	all_at_once(2);
}

CASE(four_tasks)
{
	share_need("task");
	all_at_once(4);
}

CASE(two_kernel_threads)
{
	share_need("kthread");
	all_at_once(2);
}

CASE(four_kernel_threads)
{
	share_need("kthread");
	all_at_once(4);
}

CASE(not_unasked)
{
	char was;

	if (vdev_is_vhost())
		ksft_skip("vhost_net has no such thing");
	was = share('N');
	rig_open(&sharer[0], &(struct rig_cfg){ 0 });
	rig_open(&sharer[1], &(struct rig_cfg){ .here = true });
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	share_open(2);
	EXPECT_EQ(workers_of(getpid(), NULL), 3);
	share_open(3);
	EXPECT_EQ(workers_of(getpid(), NULL), 3);
	/* two have one of their own */
	is_told_of(4, 1 + 1 + 2 + 2);
	share_pass(0, 5);
	share_pass(3, 5);
	share(was);
}

CASE(kinds_do_not_mix)
{
	share_need("task");
	share_begin(1);
	share_need("kthread");
	share_open(1);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	share_open(2);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	share_pass(0, 5);
	share_pass(1, 5);
	share_pass(2, 5);
}

/* A child has an address space of its own. */
CASE(processes_do_not)
{
	int status;
	pid_t pid;

	share_begin(2);
	pid = ASSERT_SYS(fork());
	if (!pid) {
		share_begin(2);
		share_pass(0, 5);
		share_pass(1, 5);
		_exit(ksft_failed());
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	share_pass(0, 5);
	share_pass(1, 5);
}

/* Whose limits are to hold for it? */
CASE(other_credentials_do_not)
{
	share_need("task");
	share_begin(1);
	ASSERT_SYS(setresgid(65531, 65531, 65531));
	share_open(1);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	share_pass(0, 5);
	share_pass(1, 5);
}

/*** what the VMM asks for ***/

CASE(with_new_workers)
{
	unsigned int id = -1u, arg[2] = { VDEV_TX, 1 };

	share_need("task");
	share_begin(2);
	ASSERT_EQ(__vdev_ioctl(sharer[0].v.fd, VHOST_NEW_WORKER, &id), 0);
	ASSERT_EQ(id, 1);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	share_pass(0, 5);
	ASSERT_EQ(__vdev_ioctl(sharer[0].v.fd, VHOST_ATTACH_VRING_WORKER, arg), 0);
	share_pass(0, 5);
	arg[0] = VDEV_RX;
	ASSERT_EQ(__vdev_ioctl(sharer[0].v.fd, VHOST_ATTACH_VRING_WORKER, arg), 0);
	share_pass(0, 5);
	id = 0;
	/* the other one has it still */
	ASSERT_EQ(__vdev_ioctl(sharer[0].v.fd, VHOST_FREE_WORKER, &id), 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	share_pass(0, 5);
	share_pass(1, 5);
	rig_close(&sharer[0]);
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 1));
	share_pass(1, 5);
	rig_close(&sharer[1]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	no_leak_found();
}

/*** one of them changes, while another carries frames ***/

static void change(unsigned int i, unsigned int what)
{
	switch (what) {
	case 0:
		rig_close(&sharer[i]);
		share_open(i);
		break;
	case 1:
		rig_stop(&sharer[i]);
		rig_start(&sharer[i]);
		break;
	case 2:
		vdev_ioctl(sharer[i].v.fd, VHOST_RESET_OWNER, NULL);
		rig_close(&sharer[i]);
		share_open(i);
		break;
	default:
		vdev_set_mem(&sharer[i].v);
	}
}

static void busy(unsigned int i)
{
	unsigned int k;

	rig_rx_post(&sharer[i], 50, NULL);
	for (k = 0; k < 50; k++) {
		rig_tx(&sharer[i], 60, NULL);
		rig_inject(&sharer[i], k, 60);
	}
	vdev_kick_always(&sharer[i].v.q[VDEV_RX]);
	vdev_kick_always(&sharer[i].v.q[VDEV_TX]);
}

static void storm(void)
{
	struct exchange x = { .r = &sharer[0] };
	unsigned int i, n = ksft_rounds(40);

	share_begin(3);
	exchange_start(&x);
	for (i = 0; i < n && !ksft_failed(); i++) {
		busy(1 + i % 2);
		change(1 + i % 2, ksft_below(3));
		if (i % 8 == 0)
			EXPECT(exchange_wait(&x));
	}
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	exchange_end(&x);
	EXPECT_EQ(vdev_eventfd_take(sharer[0].v.q[0].err), 0);
	EXPECT_EQ(vdev_eventfd_take(sharer[0].v.q[1].err), 0);
	share_end(3);
}

CASE_TIMED(come_and_go, 90)
{
	storm();
}

CASE_TIMED(come_and_go_kernel_threads, 90)
{
	share_need("kthread");
	storm();
}

/* The thread ends with its last device, and another one wants it just then. */
CASE_TIMED(last_and_first, 60)
{
	unsigned int i, n = ksft_rounds(30);
	int status;
	pid_t pid;

	share_begin(1);
	for (i = 0; i < n && !ksft_failed(); i++) {
		rig_close(&sharer[0]);
		share_open(0);
		if (i % 10 == 0)
			share_pass(0, 2);
	}
	pid = ASSERT_SYS(fork());
	if (!pid)
		_exit(0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 1));
	share_end(1);
}

/*** the end of all ***/

static void serve_till_killed(int ready)
{
	struct exchange x[2] = { { .r = &sharer[0] }, { .r = &sharer[1] } };
	unsigned int i;

	share_begin(3);
	exchange_start(&x[0]);
	exchange_start(&x[1]);
	close(ready);
	for (i = 0;; i++)
		change(2, i % 4);
}

CASE_TIMED(killed, 60)
{
	vmm_killed_often(serve_till_killed, ksft_rounds(12), 5000);
	no_leak_found();
}

CASE_TIMED(killed_kernel_threads, 60)
{
	share_need("kthread");
	vmm_killed_often(serve_till_killed, ksft_rounds(12), 5000);
	no_leak_found();
}

/* Another program in its place: the devices' files are closed on the way. */
static void executes(const char *kind)
{
	unsigned int before = workers();
	int status;
	pid_t pid;

	share_need(kind);
	pid = ASSERT_SYS(fork());
	if (!pid) {
		share_begin(2);
		busy(0);
		busy(1);
		fcntl(sharer[0].v.fd, F_SETFD, 0);
		ASSERT_SYS(dup2(ASSERT_SYS(open("/dev/null", O_WRONLY)), 1));
		execl("/proc/self/exe", "share_test", "-l", NULL);
		_exit(1);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	no_worker_left(before);
}

CASE(another_program)
{
	executes("task");
}

CASE(another_program_kernel_threads)
{
	executes("kthread");
}

/* Who waits for a device of a dead owner is told that it will not go on. */
static void all_are_told(void)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		EXPECT(vdev_eventfd_wait(sharer[i].v.q[VDEV_RX].err, 3000));
		EXPECT(vdev_eventfd_wait(sharer[i].v.q[VDEV_TX].err, 3000));
	}
}

/* Somebody has the files still: of the dead owner they keep nothing. */
static void files_outlive(const char *kind)
{
	unsigned int before = workers();
	int status, ready[2], told[2];
	pid_t pid, heir;
	char c;

	share_need(kind);
	ASSERT_SYS(pipe(ready));
	ASSERT_SYS(pipe(told));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		share_begin(2);
		share_pass(0, 2);
		share_pass(1, 2);
		heir = ASSERT_SYS(fork());
		if (!heir) {
			all_are_told();
			ASSERT_EQ(write(told[1], "", 1), 1);
			for (;;)
				pause();
		}
		ASSERT_EQ(write(ready[1], &heir, sizeof(heir)), sizeof(heir));
		for (;;)
			pause();
	}
	close(told[1]);
	ASSERT_EQ(read(ready[0], &heir, sizeof(heir)), sizeof(heir));
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(read(told[0], &c, 1), 1);
	no_worker_left(before);
	kill(heir, SIGKILL);
}

CASE(files_outlive_the_owner)
{
	files_outlive("task");
}

CASE(files_outlive_the_owner_kernel_threads)
{
	files_outlive("kthread");
}

/* Not at work, whenever one looks. */
static bool is_at_rest(const struct worker *w)
{
	unsigned int i;
	char state;

	for (i = 0; i < 30; i++) {
		state = task_state(w->pid, w->tid);
		if (state != 'I' && state != 'S')
			return false;
		ksft_relax(1000);
	}
	return true;
}

/* So does its memory, which another process has as its own: the thread goes with the files. */
static int heir_of_memory(void *arg)
{
	pid_t owner = *(pid_t *)arg;
	struct worker w;
	unsigned int i;

	all_are_told();
	ASSERT_EQ(workers_of(owner, &w), 1);
	EXPECT(WAIT_FOR(3000, is_at_rest(&w)));
	for (i = 0; i < 2; i++)
		close(sharer[i].v.fd);
	EXPECT(WAIT_FOR(3000, !workers_of(owner, NULL)));
	_exit(0);
}

CASE(memory_outlives_the_owner)
{
	static uint8_t stack[64 << 10] __attribute__((aligned(16)));
	static pid_t owner;
	int ends[2];
	pid_t pid;
	char c;

	share_need("kthread");
	ASSERT_SYS(pipe(ends));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		share_begin(2);
		share_pass(0, 2);
		share_pass(1, 2);
		owner = getpid();
		ASSERT_SYS(clone(heir_of_memory, stack + sizeof(stack), CLONE_VM, &owner));
		_exit(0);
	}
	close(ends[1]);
	ASSERT_EQ(waitpid(pid, NULL, 0), pid);
	EXPECT_EQ(read(ends[0], &c, 1), 0);
	no_leak_found();
}

KSFT_MAIN()
