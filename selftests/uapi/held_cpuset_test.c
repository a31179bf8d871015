// SPDX-License-Identifier: GPL-2.0
/*
 * Who places a worker is held when he knows where it may be, and that changes; or it takes too
 * long; or the rest fails.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cgroup.h"
#include "held_rig.h"
#include "inject.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vdev.h"

VDEV_ONE_THREAD()

/* More than the five seconds that an operator may take, by any clock. */
#define TOO_LONG_S	6

static unsigned int cpus_of(pid_t tid)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	ASSERT_SYS(sched_getaffinity(tid, sizeof(set), &set));
	return CPU_ISSET(0, &set) | CPU_ISSET(1, &set) << 1;
}

/* It goes where it may be, whatever has been said of it. */
CASE(a_worker_that_begins_as_its_cpuset_changes)
{
	pid_t pid, worker;
	struct cgroup g;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	begin("task");
	cgroup_make(&g, "cpuset");
	cgroup_set(&g, "cpuset.cpus", "0");
	pid = fork_vmm(hire);
	cgroup_join(&g, pid);
	ASSERT_EQ(operator_said(operator_in(WITH_CPUSET)), 0);
	hold(WITH_CPUSET);
	vmm_is_to_do_it(pid);
	ASSERT(WAIT_FOR(3000, held(WITH_CPUSET)));
	worker = newest_thread(pid);
	EXPECT_EQ(cpus_of(worker), 1);
	cgroup_set(&g, "cpuset.cpus", "1");
	EXPECT(WAIT_FOR(3000, cpus_of(worker) == 2));
	let_go("");
	EXPECT(WAIT_FOR(3000, task_state(pid, worker) == 'S'));
	EXPECT_EQ(cpus_of(worker), 2);
	kill_vmm(pid);
	cgroup_remove(&g);
}

static int hire_in_its_place(void)
{
	int ret = free_worker();

	return ret ? ret : hire();
}

/* Each call of a worker that begins fails in its turn: has it been the one for its class? */
static bool gets_no_class(pid_t vmm_pid, unsigned int n)
{
	unsigned int before = inject_count(INJECT_FAILED, WITH_ROSTER);
	struct injector in;
	pid_t worker;

	hold(WHO_BEGINS);
	vmm_is_to_do_it(vmm_pid);
	ASSERT(WAIT_FOR(3000, held(WHO_BEGINS)));
	worker = newest_thread(vmm_pid);
	ASSERT(injector_open(&in, worker, true));
	injector_nth(&in, n);
	let_go("");
	EXPECT(WAIT_FOR(3000, task_state(vmm_pid, worker) == 'S'));
	injector_nth(&in, 0);
	injector_close(&in);
	if (inject_count(INJECT_FAILED, WITH_ROSTER) == before)
		return false;
	EXPECT_EQ(sched_getscheduler(worker), SCHED_OTHER);
	EXPECT_EQ(cpus_of(worker), 1);
	return true;
}

/* It has its CPUs all the same. */
CASE(a_worker_that_gets_no_class)
{
	unsigned int n = 1;
	pid_t pid;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	begin("task");
	pid = fork_vmm(hire_in_its_place);
	ASSERT_EQ(operator_said(operator_in(WITH_CPUSET)), 0);
	ASSERT_EQ(operator_said(operator_in(WITH_ROSTER)), 0);
	while (!ksft_failed() && !gets_no_class(pid, n))
		ASSERT(++n < 20);
	ksft_note("of %u calls", n);
	kill_vmm(pid);
}

/* From one hold to the next. */
static void goes_on_to(const char *next, const char *from)
{
	hold(next);
	let_go(from);
	ASSERT(WAIT_FOR(3000, held(next)));
}

/* Where it may be changes after it has been put there: it is looked at again, but not for ever. */
CASE_TIMED(a_cpuset_that_changes_too_long, 60)
{
	pid_t pid, operator;
	time_t since;
	struct cgroup g;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	/* of only one worker */
	begin("kthread");
	cgroup_make(&g, "cpuset");
	cgroup_set(&g, "cpuset.cpus", "0-1");
	cgroup_join(&g, getpid());
	pid = fork_vmm(NULL);
	since = time(NULL);
	operator = operator_is_held(WITH_CPUSET);
	goes_on_to(WHO_MOVES, "-" WITH_CPUSET);
	cgroup_set(&g, "cpuset.cpus", "0");
	/* the second look, which has seen that */
	goes_on_to(WITH_CPUSET, "-" WHO_MOVES);
	EXPECT_EQ(operator_said(operator_in(WITH_CPUSET)), -EBUSY);
	EXPECT(WAIT_FOR(3000, time(NULL) > since + TOO_LONG_S));
	let_go("");
	EXPECT_EQ(operator_said(operator), -EAGAIN);
	EXPECT(!policy_placed());
	kill_vmm(pid);
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

/* Nothing is changed that took too long. */
CASE_TIMED(a_cpuset_that_cannot_be_found_out_in_time, 60)
{
	pid_t pid, operator;
	time_t since;

	begin("task");
	pid = fork_vmm(NULL);
	since = time(NULL);
	operator = operator_is_held(WITH_CPUSET);
	/* it takes as long to tell this one so */
	EXPECT_EQ(operator_said(operator_in(WITH_CPUSET)), -EBUSY);
	EXPECT(WAIT_FOR(3000, time(NULL) > since + TOO_LONG_S));
	let_go("");
	EXPECT_EQ(operator_said(operator), -EAGAIN);
	EXPECT(!policy_placed());
	EXPECT_EQ(operator_said(operator_in(WITH_CPUSET)), 0);
	EXPECT(policy_placed());
	kill_vmm(pid);
}

KSFT_MAIN()
