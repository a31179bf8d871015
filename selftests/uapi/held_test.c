// SPDX-License-Identifier: GPL-2.0
/*
 * Somebody is held in the midst of what he does, with all that he has, and others come: an
 * operator who places workers, a VMM that makes one, a worker that begins.  It takes the
 * module that lets one do so (failing/kvnet_failing.c).
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "flow.h"
#include "inject.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

VDEV_ONE_THREAD()

/* where a thread of the kernel's is held for an operator: with the roster; he has the device */
#define WITH_ROSTER	"sched_setattr_nocheck"
/* or with the worker, too */
#define WITH_WORKER	"cgroup_attach_task_all"
/* or when it knows its cpuset */
#define WITH_CPUSET	"home"
/* or as he puts it there */
#define WHO_MOVES	"set_cpus_allowed_ptr"
/* where a worker is held, in a turn, with the queue */
#define IN_A_TURN	"pin_user_pages_fast"
/* where who makes a worker is held, with the roster */
#define WHO_HIRES	"vhost_task_create"
/* and a worker, when nothing of it is known yet */
#define WHO_BEGINS	"begin"

/*** who is held ***/

static void hold(const char *call)
{
	ASSERT(inject_put(INJECT_HOLD, call));
}

/* With "-CALL": these alone. */
static void let_go(const char *which)
{
	ASSERT(inject_put(INJECT_HOLD, *which ? which : "\n"));
}

static unsigned int held(const char *call)
{
	return inject_count(INJECT_HOLD, call);
}

/* It waits, and not for a moment, as for memory. */
static bool waits(pid_t pid, pid_t tid)
{
	static unsigned int looks;

	looks = task_state(pid, tid) == 'D' ? looks + 1 : 0;
	if (looks < 30)
		return false;
	looks = 0;
	return true;
}

static void begin(const char *kind)
{
	if (access(INJECT_HOLD, R_OK))
		ksft_skip("a module whose calls do not wait");
	let_go("");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	rig_enter_netns();
	genl_open(&genl);
}

static pid_t operator_in(const char *call)
{
	pid_t pid = ASSERT_SYS(fork());

	if (!pid) {
		genl_open(&genl);
		_exit(-(strcmp(call, WITH_ROSTER) ?
			policy_text(KVNET_A_POLICY_CPUS, "0") :
			policy_u32(KVNET_A_POLICY_SCHED, SCHED_BATCH)));
	}
	return pid;
}

/* Until he is there. */
static pid_t operator_is_held(const char *call)
{
	pid_t pid;

	hold(call);
	pid = operator_in(call);
	ASSERT(WAIT_FOR(3000, held(call)));
	return pid;
}

static int operator_said(pid_t pid)
{
	int status = 0;

	if (!EXPECT(WAIT_FOR(10000, child_ended(pid, &status))))
		return 1;
	return -WEXITSTATUS(status);
}

/*** a VMM that is another process ***/

static int (*vmm_does)(void);

static void do_it(int sig)
{
	(void)sig;
	vmm_does();
}

static int hire(void)
{
	uint32_t id = 0;

	return __vdev_ioctl(vmm.v.fd, VHOST_NEW_WORKER, &id);
}

/* With a second thread for its queue that sends, which pins the ring anew. */
static void send_one(int sig)
{
	(void)sig;
	vdev_set_mem(&vmm.v);
	ASSERT_EQ(rig_tx(&vmm, 100, NULL), 0);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
}

/* Until it is told to do something. */
static void be_vmm(int (*does)(void), int tell)
{
	vmm_does = does;
	signal(SIGUSR1, do_it);
	signal(SIGUSR2, send_one);
	rig_open(&vmm, &(struct rig_cfg){ .here = true });
	if (*getenv("KVNET_THREADS") == '2') {
		flow_one(&vmm);
		ASSERT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 2));
	} else if (!strcmp(getenv("KVNET_WORKER"), "task")) {
		ASSERT_EQ(hire(), 0);
		genl_open(&genl);
		ASSERT(worker_tid(1));
	}
	ASSERT_EQ(write(tell, "", 1), 1);
	for (;;)
		pause();
}

static pid_t fork_vmm(int (*does)(void))
{
	int tell[2];
	pid_t pid;
	char c;

	ASSERT_SYS(pipe(tell));
	pid = ASSERT_SYS(fork());
	if (!pid)
		be_vmm(does, tell[1]);
	close(tell[1]);
	ASSERT_EQ(read(tell[0], &c, 1), 1);
	close(tell[0]);
	return pid;
}

static void vmm_is_to_do_it(pid_t pid)
{
	ASSERT_SYS(kill(pid, SIGUSR1));
}

static void kill_vmm(pid_t pid)
{
	ASSERT_SYS(kill(pid, SIGKILL));
	EXPECT(WAIT_FOR(5000, child_ended(pid, NULL)));
}

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

static int free_worker(void)
{
	uint32_t id = 1;

	return __vdev_ioctl(vmm.v.fd, VHOST_FREE_WORKER, &id);
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

/* The last that its process has made. */
static pid_t newest_thread(pid_t pid)
{
	pid_t tid, newest = 0;
	struct dirent *entry;
	char path[32];
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	dir = opendir(path);
	ASSERT(dir);
	while ((entry = readdir(dir))) {
		tid = atoi(entry->d_name);
		newest = tid > newest ? tid : newest;
	}
	closedir(dir);
	return newest;
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

/* Its end waits, since nothing else may keep its control groups. */
static void worker_ends(const char *kind)
{
	pid_t pid, operator;
	struct worker w;

	begin(kind);
	pid = fork_vmm(NULL);
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
}

CASE(a_worker_that_ends)
{
	worker_ends("task");
}

CASE(a_kernel_thread_that_ends)
{
	worker_ends("kthread");
}

/*** a cpuset that changes meanwhile ***/

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
	struct cgroup g;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	/* of only one worker */
	begin("kthread");
	cgroup_make(&g, "cpuset");
	cgroup_set(&g, "cpuset.cpus", "0-1");
	cgroup_join(&g, getpid());
	pid = fork_vmm(NULL);
	operator = operator_is_held(WITH_CPUSET);
	goes_on_to(WHO_MOVES, "-" WITH_CPUSET);
	cgroup_set(&g, "cpuset.cpus", "0");
	/* the second look, which has seen that */
	goes_on_to(WITH_CPUSET, "-" WHO_MOVES);
	EXPECT_EQ(operator_said(operator_in(WITH_CPUSET)), -EBUSY);
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

	begin("task");
	pid = fork_vmm(NULL);
	operator = operator_is_held(WITH_CPUSET);
	/* it takes as long to tell this one so */
	EXPECT_EQ(operator_said(operator_in(WITH_CPUSET)), -EBUSY);
	let_go("");
	EXPECT_EQ(operator_said(operator), -EAGAIN);
	EXPECT(!policy_placed());
	EXPECT_EQ(operator_said(operator_in(WITH_CPUSET)), 0);
	EXPECT(policy_placed());
	kill_vmm(pid);
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

/* It is killed as it gives the device back: the owner, which lives on, is told so. */
static void half_given_back(const char *kind)
{
	static uint8_t stack[64 << 10] __attribute__((aligned(16)));
	pid_t pid, operator;

	begin(kind);
	rig_open(&vmm, &(struct rig_cfg){ .here = true });
	flow_one(&vmm);
	operator = operator_is_held(WITH_ROSTER);
	pid = ASSERT_SYS(clone(gives_back, stack + sizeof(stack), CLONE_VM | SIGCHLD, NULL));
	EXPECT(WAIT_FOR(3000, waits(pid, pid)));
	kill_vmm(pid);
	EXPECT_EQ(start_one(), -EIO);
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
