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
	operator = operator_is_held(WITH_ROSTER);
	vmm_is_to_do_it(pid);
	EXPECT(WAIT_FOR(3000, waits(pid, pid)));
	kill_vmm(pid);
	EXPECT(held(WITH_ROSTER));
	let_go("");
	EXPECT_EQ(operator_said(operator), 0);
}

CASE(vmm_that_hires)
{
	killed_in(hire);
}

/* The second thread's end, then an operator. */
CASE(vmm_that_hires_for_the_first_time)
{
	pid_t pid, operator;

	begin("task");
	ASSERT_SYS(setenv("KVNET_THREADS", "2", 1));
	pid = fork_vmm(hire);
	hold(IN_A_TURN);
	ASSERT_SYS(kill(pid, SIGUSR2));
	ASSERT(WAIT_FOR(3000, held(IN_A_TURN) == 2));
	vmm_is_to_do_it(pid);
	EXPECT(WAIT_FOR(3000, waits(pid, pid)));
	operator = operator_is_held(WITH_ROSTER);
	let_go("-" IN_A_TURN);
	EXPECT(WAIT_FOR(3000, workers_of(pid, NULL) == 1 && waits(pid, pid)));
	kill_vmm(pid);
	EXPECT(held(WITH_ROSTER));
	let_go("");
	EXPECT_EQ(operator_said(operator), 0);
}

CASE(vmm_that_frees_a_worker)
{
	killed_in(free_worker);
}

static int attach(void)
{
	unsigned int arg[2] = { VDEV_TX, 1 };

	return __vdev_ioctl(vmm.v.fd, VHOST_ATTACH_VRING_WORKER, arg);
}

CASE(vmm_that_attaches_a_queue)
{
	killed_in(attach);
}

static int start_again(void)
{
	rig_stop(&vmm);
	rig_start(&vmm);
	return 0;
}

/* Whose workers may be to follow its memory. */
CASE(vmm_that_starts_a_queue)
{
	killed_in(start_again);
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

CASE_TIMED(operators_who_meet, 60)
{
	pid_t pid, operator;

	begin("task");
	pid = fork_vmm(NULL);
	operator = operator_is_held(WITH_ROSTER);
	lists_wait_for_nobody(WITH_ROSTER);
	EXPECT_EQ(operator_said(operator_in(WITH_ROSTER)), -EBUSY);
	let_go("");
	EXPECT_EQ(operator_said(operator), 0);
	EXPECT_EQ(operator_said(operator_in(WITH_ROSTER)), 0);
	kill_vmm(pid);
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
	EXPECT_EQ(operator_said(operator_in(WITH_ROSTER)), -EBUSY);
	let_go("");
	EXPECT_EQ(operator_said(operator_in(WITH_ROSTER)), 0);
	kill_vmm(pid);
}

static int be_nice(uint32_t id)
{
	struct nlattr *policy;
	struct ask a;

	ask_begin(&a, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&a, KVNET_A_DEV_ID, id);
	policy = ask_nest(&a, KVNET_A_DEV_POLICY);
	ask_u32(&a, KVNET_A_POLICY_NICE, 1);
	ask_nest_end(&a, policy);
	return genl_do(&genl, &a, false, NULL, NULL);
}

static pid_t operator_of(uint32_t id, bool cpus)
{
	pid_t pid = ASSERT_SYS(fork());

	if (!pid) {
		genl_open(&genl);
		_exit(-(cpus ? policy_place(&genl, id) : be_nice(id)));
	}
	return pid;
}

/* One user's are asked for their cpusets one after the other. */
CASE_TIMED(operators_of_two_devices, 60)
{
	pid_t pid[2], operator;
	uint32_t id;

	begin("task");
	pid[0] = fork_vmm(NULL);
	id = the_id();
	operator = operator_is_held(WITH_CPUSET);
	pid[1] = fork_vmm(NULL);
	EXPECT_EQ(operator_said(operator_of(id + 1, true)), -EBUSY);
	EXPECT_EQ(operator_said(operator_of(id + 1, false)), 0);
	let_go("");
	operator_said(operator);
	EXPECT_EQ(operator_said(operator_of(id + 1, true)), 0);
	kill_vmm(pid[0]);
	kill_vmm(pid[1]);
}

/* To take its place, which it does not get to, and it does not keep its process. */
CASE(a_worker_that_begins)
{
	pid_t pid, operator, worker;

	begin("task");
	pid = fork_vmm(hire);
	hold(WHO_BEGINS);
	vmm_is_to_do_it(pid);
	ASSERT(WAIT_FOR(3000, held(WHO_BEGINS)));
	worker = newest_thread(pid);
	operator = operator_is_held(WITH_ROSTER);
	let_go("-" WHO_BEGINS);
	EXPECT(WAIT_FOR(3000, !held(WHO_BEGINS) && waits(pid, worker)));
	kill_vmm(pid);
	EXPECT(held(WITH_ROSTER));
	let_go("");
	EXPECT_EQ(operator_said(operator), 0);
}

/*** a worker that is asked for its cpuset ***/

/*
 * Its end waits, since nothing else may keep its control groups. Of a device that has been passed
 * on nobody looks whether it has ended.
 */
static void worker_ends(const char *kind, bool passed_on)
{
	pid_t pid, operator;
	struct worker w;
	int fd = -1;

	begin(kind);
	pid = fork_vmm(NULL);
	if (passed_on)
		fd = file_of(pid, vmm.v.fd);
	ASSERT(workers_of(pid, &w));
	operator = operator_is_held(WITH_WORKER);
	ASSERT_SYS(kill(pid, SIGKILL));
	/* it gets there, or is gone */
	EXPECT(WAIT_FOR(3000, waits(w.pid, w.tid) || !task_state(w.pid, w.tid)));
	EXPECT_EQ(task_state(w.pid, w.tid), 'D');
	EXPECT(held(WITH_WORKER));
	let_go("");
	EXPECT(WAIT_FOR(3000, !task_state(w.pid, w.tid)));
	EXPECT(WAIT_FOR(3000, child_ended(pid, NULL)));
	EXPECT_EQ(operator_said(operator), -EOWNERDEAD);
	if (passed_on)
		close(fd);
}

CASE(a_worker_that_ends)
{
	worker_ends("task", false);
}

CASE(a_kernel_thread_that_ends)
{
	worker_ends("kthread", false);
}

CASE(a_worker_that_ends_of_a_device_passed_on)
{
	worker_ends("task", true);
}

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
		operator = operator_is_held(WITH_ROSTER);
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
	operator = operator_is_held(WITH_ROSTER);
	pid = ASSERT_SYS(clone(gives_back, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));
	EXPECT(WAIT_FOR(3000, waits(pid, pid)));
	kill_before_workers_run(pid);
	EXPECT_EQ(start_one(), -EIO);
	ASSERT_SYS(sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){ 0 }));
	EXPECT(held(WITH_ROSTER));
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
