// SPDX-License-Identifier: GPL-2.0
/*
 * Somebody is held in the midst of what he does, and others come: a VMM that may be killed, other
 * operators, a worker that begins or ends.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "flow.h"
#include "held_rig.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

VDEV_ONE_THREAD()

/*** what a VMM waits for ***/

/* Whatever it is that an operator does not get done, the VMM can be killed. */
static void killed_in(int (*call)(void))
{
	pid_t pid, operator;

	begin("task");
	pid = fork_vmm(call);
	operator = operator_is_held();
	vmm_is_to_do_it(pid);
	EXPECT(WAIT_FOR(3000, waits(pid, pid)));
	kill_vmm(pid);
	EXPECT(held(WITH_DEVICE));
	let_go("");
	EXPECT_EQ(operator_said(operator), 0);
}

static int give_back(void)
{
	return __vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
}

CASE(vmm_that_gives_the_device_back)
{
	killed_in(give_back);
}

/*** who waits for an operator, or for a VMM, besides ***/

static void lists_wait_for_nobody(const char *call)
{
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), 1);
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_QUEUE_GET), 2);
	EXPECT_OP(genl_count(&genl, KVNET_CMD_WORKER_GET), >, 1);
	EXPECT(held(call));
}

CASE_TIMED(an_operator_who_meets_a_vmm, 60)
{
	pid_t pid;

	begin("task");
	pid = fork_vmm(hire);
	hold(WHO_HIRES);
	vmm_is_to_do_it(pid);
	ASSERT(WAIT_FOR(3000, held(WHO_HIRES)));
	lists_wait_for_nobody(WHO_HIRES);
	EXPECT_EQ(policy_set_one(&genl, the_id()), 0);
	EXPECT(held(WHO_HIRES));
	let_go("");
	kill_vmm(pid);
}

/*** a worker that ends ***/

/* Its owner has been there when it looked. */
CASE(a_kernel_thread_that_enters_a_dead_owner)
{
	struct worker w;
	pid_t pid;
	int fd;

	begin("kthread");
	pid = fork_vmm(NULL);
	fd = file_of(pid, vmm.v.fd);
	ASSERT(workers_of(pid, &w));
	hold(WHO_ENTERS);
	ASSERT_SYS(kill(pid, SIGUSR2));
	ASSERT(WAIT_FOR(3000, held(WHO_ENTERS)));
	kill_vmm(pid);
	EXPECT(held(WHO_ENTERS));
	let_go("");
	EXPECT(WAIT_FOR(3000, !task_state(w.pid, w.tid)));
	close(fd);
}

/* Another process than the calling one. */
static pid_t closes_last(int fd)
{
	int wait[2];
	pid_t pid;
	char c;

	ASSERT_SYS(pipe(wait));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		close(wait[1]);
		_exit(read(wait[0], &c, 1) || close(fd));
	}
	close(fd);
	close(wait[0]);
	close(wait[1]);
	return pid;
}

/*
 * It says so, and gets no time for its last instructions. Whoever closes the device waits for a
 * while only; but a process is there as long as a task of it.
 */
static void worker_is_over(const char *kind, bool operated)
{
	pid_t pid, closer, operator = 0;
	bool ended = false;
	struct worker w;
	int fd;

	begin(kind);
	pid = fork_vmm(NULL);
	ASSERT(workers_of(pid, &w));
	if (operated)
		operator = operator_is_held();
	fd = file_of(pid, vmm.v.fd);
	hold(WHO_IS_OVER);
	ASSERT_SYS(kill(pid, SIGKILL));
	/* It has closed it, too. */
	ASSERT(WAIT_FOR(3000, held(WHO_IS_OVER) && task_state(pid, pid) == 'Z'));
	closer = closes_last(fd);
	EXPECT(WAIT_FOR(3000, task_state(closer, closer) == 'D' ||
			      (ended = child_ended(closer, NULL))));
	EXPECT(!ended);
	EXPECT(WAIT_FOR(5000, child_ended(closer, NULL)));
	EXPECT(held(WHO_IS_OVER));
	let_go("");
	EXPECT(WAIT_FOR(3000, !task_state(w.pid, w.tid)));
	EXPECT(WAIT_FOR(3000, child_ended(pid, NULL)));
	if (operated)
		operator_said(operator);
}

CASE(a_worker_that_is_over)
{
	worker_is_over("task", false);
}

/* And an operator has the device, and locks. */
CASE(a_worker_that_is_over_of_an_operated_device)
{
	worker_is_over("task", true);
}

CASE(a_kernel_thread_that_is_over)
{
	worker_is_over("kthread", false);
}

/*** a process that only shares the owner's memory ***/

static int gives_back(void *arg)
{
	(void)arg;
	give_back();
	_exit(0);
}

static int start_one(void)
{
	unsigned int arg[2] = { VDEV_TX, vmm.tap };

	return __vdev_ioctl(vmm.v.fd, VHOST_NET_SET_BACKEND, arg);
}

static void all_on_one_cpu(void)
{
	cpu_set_t first;

	CPU_ZERO(&first);
	CPU_SET(0, &first);
	ASSERT_SYS(sched_setaffinity(0, sizeof(first), &first));
}

/* These two have the CPU until it is over. */
static void kill_before_workers_run(pid_t pid)
{
	const struct sched_param p = { .sched_priority = 1 };
	const time_t till = time(NULL) + 10;

	ASSERT_SYS(sched_setscheduler(pid, SCHED_FIFO, &p));
	ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &p));
	ASSERT_SYS(kill(pid, SIGKILL));
	while (!child_ended(pid, NULL) && EXPECT_OP(time(NULL), <, till))
		sched_yield();
}

/* It is killed as it gives the device back: the owner, which lives on, is told so. */
static void half_given_back(const char *kind)
{
	static uint8_t stack[64 << 10] __attribute__((aligned(16)));
	pid_t pid, operator;

	begin(kind);
	all_on_one_cpu();
	rig_open(&vmm, &(struct rig_cfg){ .here = true });
	flow_one(&vmm);
	operator = operator_is_held();
	pid = ASSERT_SYS(clone(gives_back, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));
	EXPECT(WAIT_FOR(3000, waits(pid, pid)));
	kill_before_workers_run(pid);
	EXPECT_EQ(start_one(), -EIO);
	ASSERT_SYS(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }));
	EXPECT(held(WITH_DEVICE));
	let_go("");
	EXPECT_EQ(operator_said(operator), 0);
	EXPECT_EQ(give_back(), 0);
	vdev_own(vmm.v.fd);
	rig_set_up_again(&vmm);
	rig_start(&vmm);
	flow_one(&vmm);
	rig_close(&vmm);
}

CASE(killed_as_it_gives_back)
{
	half_given_back("task");
}

CASE(killed_as_it_gives_back_kernel_threads)
{
	half_given_back("kthread");
}

KSFT_MAIN()
