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
#include "flow.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vhost_abi.h"
#include "vmm.h"

VDEV_ONE_THREAD()

#define MANY		4

static struct rig rig[MANY];

static char share(char value)
{
	return vdev_parameter("share_workers", value);
}

/* What others do is as it was. */
static void open_one(unsigned int i)
{
	char was = share('Y');

	rig_open(&rig[i], &(struct rig_cfg){ .here = i, .stopped = true });
	/* memory that a pager may take away */
	if (!i)
		pin_rig_move(&rig[i], -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig[i]);
	share(was);
}

static void need_it(const char *kind)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net has no such thing");
	if (!strcmp(kind, "task") && !kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.4");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
}

static void begin(unsigned int n)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net has no such thing");
	for (i = 0; i < n; i++)
		open_one(i);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
}

static void pass(unsigned int i, unsigned int n)
{
	struct flow f = { .r = &rig[i], .rx_seq = rig[i].tx_seq };

	flow_exact(&f, n, flow_lens, FLOW_LENS);
}

static void end(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		EXPECT_EQ(workers_of(getpid(), NULL), 1);
		rig_close(&rig[i]);
	}
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	no_leak_found();
}

/*** one thread ***/

static void all_at_once(unsigned int n)
{
	struct exchange x[MANY] = { 0 };
	unsigned int i;

	begin(n);
	for (i = 0; i < n; i++)
		pass(i, 20);
	for (i = 0; i < n; i++) {
		x[i].r = &rig[i];
		x[i].rx_seq = rig[i].tx_seq;
		exchange_start(&x[i]);
	}
	for (i = 0; i < 4 * n; i++)
		EXPECT(exchange_wait(&x[i % n]));
	for (i = 0; i < n; i++)
		exchange_end(&x[i]);
	for (i = 0; i < n; i++) {
		EXPECT_EQ(vdev_eventfd_take(rig[i].v.q[0].err), 0);
		EXPECT_EQ(vdev_eventfd_take(rig[i].v.q[1].err), 0);
	}
	end(n);
}

CASE(two_tasks)
{
	need_it("task");
	all_at_once(2);
}

CASE(four_tasks)
{
	need_it("task");
	all_at_once(4);
}

CASE(two_kernel_threads)
{
	need_it("kthread");
	all_at_once(2);
}

CASE(four_kernel_threads)
{
	need_it("kthread");
	all_at_once(4);
}

CASE(not_unasked)
{
	char was;

	if (vdev_is_vhost())
		ksft_skip("vhost_net has no such thing");
	was = share('N');
	rig_open(&rig[0], &(struct rig_cfg){ 0 });
	rig_open(&rig[1], &(struct rig_cfg){ .here = true });
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	open_one(2);
	EXPECT_EQ(workers_of(getpid(), NULL), 3);
	open_one(3);
	EXPECT_EQ(workers_of(getpid(), NULL), 3);
	pass(0, 5);
	pass(3, 5);
	share(was);
}

CASE(kinds_do_not_mix)
{
	need_it("task");
	begin(1);
	need_it("kthread");
	open_one(1);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	open_one(2);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	pass(0, 5);
	pass(1, 5);
	pass(2, 5);
}

/* A child has an address space of its own. */
CASE(processes_do_not)
{
	int status;
	pid_t pid;

	begin(2);
	pid = ASSERT_SYS(fork());
	if (!pid) {
		begin(2);
		pass(0, 5);
		pass(1, 5);
		_exit(ksft_failed());
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	pass(0, 5);
	pass(1, 5);
}

/* Whose limits are to hold for it? */
CASE(other_credentials_do_not)
{
	need_it("task");
	begin(1);
	ASSERT_SYS(setresgid(65531, 65531, 65531));
	open_one(1);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	pass(0, 5);
	pass(1, 5);
}

/*** what the VMM asks for ***/

CASE(with_new_workers)
{
	unsigned int id = -1u, arg[2] = { VDEV_TX, 1 };

	need_it("task");
	begin(2);
	ASSERT_EQ(__vdev_ioctl(rig[0].v.fd, VHOST_NEW_WORKER, &id), 0);
	ASSERT_EQ(id, 1);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	pass(0, 5);
	ASSERT_EQ(__vdev_ioctl(rig[0].v.fd, VHOST_ATTACH_VRING_WORKER, arg), 0);
	pass(0, 5);
	arg[0] = VDEV_RX;
	ASSERT_EQ(__vdev_ioctl(rig[0].v.fd, VHOST_ATTACH_VRING_WORKER, arg), 0);
	pass(0, 5);
	id = 0;
	/* the other one has it still */
	ASSERT_EQ(__vdev_ioctl(rig[0].v.fd, VHOST_FREE_WORKER, &id), 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 2);
	pass(0, 5);
	pass(1, 5);
	rig_close(&rig[0]);
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 1));
	pass(1, 5);
	rig_close(&rig[1]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	no_leak_found();
}

/*** one of them changes, while another carries frames ***/

static void change(unsigned int i, unsigned int what)
{
	switch (what) {
	case 0:
		rig_close(&rig[i]);
		open_one(i);
		break;
	case 1:
		rig_stop(&rig[i]);
		rig_start(&rig[i]);
		break;
	case 2:
		vdev_ioctl(rig[i].v.fd, VHOST_RESET_OWNER, NULL);
		rig_close(&rig[i]);
		open_one(i);
		break;
	default:
		vdev_set_mem(&rig[i].v);
	}
}

static void busy(unsigned int i)
{
	unsigned int k;

	rig_rx_post(&rig[i], 50, NULL);
	for (k = 0; k < 50; k++) {
		rig_tx(&rig[i], 60, NULL);
		rig_inject(&rig[i], k, 60);
	}
	vdev_kick_always(&rig[i].v.q[VDEV_RX]);
	vdev_kick_always(&rig[i].v.q[VDEV_TX]);
}

static void storm(void)
{
	struct exchange x = { .r = &rig[0] };
	unsigned int i, n = ksft_rounds(40);

	begin(3);
	exchange_start(&x);
	for (i = 0; i < n && !ksft_failed(); i++) {
		busy(1 + i % 2);
		change(1 + i % 2, ksft_below(3));
		if (i % 8 == 0)
			EXPECT(exchange_wait(&x));
	}
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	exchange_end(&x);
	EXPECT_EQ(vdev_eventfd_take(rig[0].v.q[0].err), 0);
	EXPECT_EQ(vdev_eventfd_take(rig[0].v.q[1].err), 0);
	end(3);
}

CASE_TIMED(come_and_go, 90)
{
	storm();
}

CASE_TIMED(come_and_go_kernel_threads, 90)
{
	need_it("kthread");
	storm();
}

/* The thread ends with its last device, and another one wants it just then. */
CASE_TIMED(last_and_first, 60)
{
	unsigned int i, n = ksft_rounds(30);
	int status;
	pid_t pid;

	begin(1);
	for (i = 0; i < n && !ksft_failed(); i++) {
		rig_close(&rig[0]);
		open_one(0);
		if (i % 10 == 0)
			pass(0, 2);
	}
	pid = ASSERT_SYS(fork());
	if (!pid)
		_exit(0);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 1));
	end(1);
}

/*** a device that waits for a page ***/

/* The first one's turn waits, and nobody is going to bring the page. */
static void get_stuck(void)
{
	struct vdev_queue *q = &rig[0].v.q[VDEV_TX];

	pager_open();
	pager.holds = true;
	ASSERT_EQ(rig_tx(&rig[0], 1000, NULL), 0);
	pager_take_away(q->bufs, q->buf_size * q->buf_num);
	gr_publish(&q->ring);
	ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	ASSERT(pager_asked(1, 3000));
}

/* Others leave, and need not wait for it; then it leaves, and the rest goes on. */
static void one_is_stuck(void)
{
	begin(3);
	pass(0, 2);
	pass(1, 2);
	pass(2, 2);
	get_stuck();
	rig_close(&rig[1]);
	/* it waits still */
	EXPECT_EQ(vdev_eventfd_take(rig[0].v.q[VDEV_TX].err), 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	rig_close(&rig[0]);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	pass(2, 5);
	open_one(1);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	pass(1, 5);
	rig_close(&rig[1]);
	rig_close(&rig[2]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
}

CASE(one_waits_for_a_page)
{
	need_it("task");
	one_is_stuck();
}

CASE(one_waits_for_a_page_kernel_threads)
{
	need_it("kthread");
	one_is_stuck();
}

/* They wait for it, and go on when it comes. */
CASE(all_wait_until_it_comes)
{
	unsigned int i;

	begin(2);
	pass(0, 2);
	pass(1, 2);
	get_stuck();
	/* more than the thread that kicks sends by itself */
	for (i = 0; i < 40; i++)
		ASSERT_EQ(rig_tx(&rig[1], 1000, NULL), 0);
	vdev_kick_always(&rig[1].v.q[VDEV_TX]);
	EXPECT(!WAIT_FOR(300, (rig_tx_reap(&rig[1]), !rig[1].tx_out)));
	pager_go_on();
	EXPECT(rig_tx_drain(&rig[1], 3000));
	EXPECT(rig_tx_drain(&rig[0], 3000));
	rig_close(&rig[0]);
	rig_close(&rig[1]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
}

static void stuck_till_killed(int ready)
{
	begin(2);
	pass(1, 2);
	pass(0, 2);
	get_stuck();
	close(ready);
	for (;;)
		pause();
}

CASE_TIMED(killed_while_one_waits, 60)
{
	vmm_killed_often(stuck_till_killed, 2, 1000);
}

/*** the end of all ***/

static void serve_till_killed(int ready)
{
	struct exchange x[2] = { { .r = &rig[0] }, { .r = &rig[1] } };
	unsigned int i;

	begin(3);
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
	need_it("kthread");
	vmm_killed_often(serve_till_killed, ksft_rounds(12), 5000);
	no_leak_found();
}

/* Another program in its place: the devices' files are closed on the way. */
static void executes(const char *kind)
{
	unsigned int before = workers();
	int status;
	pid_t pid;

	need_it(kind);
	pid = ASSERT_SYS(fork());
	if (!pid) {
		begin(2);
		busy(0);
		busy(1);
		fcntl(rig[0].v.fd, F_SETFD, 0);
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

/* Somebody has the files still: of the dead owner they keep nothing. */
CASE(files_outlive_the_owner)
{
	unsigned int before = workers();
	int status, ready[2];
	pid_t pid, heir;

	ASSERT_SYS(pipe(ready));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		begin(2);
		pass(0, 2);
		pass(1, 2);
		heir = ASSERT_SYS(fork());
		if (!heir) {
			for (;;)
				pause();
		}
		ASSERT_EQ(write(ready[1], &heir, sizeof(heir)), sizeof(heir));
		for (;;)
			pause();
	}
	ASSERT_EQ(read(ready[0], &heir, sizeof(heir)), sizeof(heir));
	kill(pid, SIGKILL);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	no_worker_left(before);
	kill(heir, SIGKILL);
}

KSFT_MAIN()
