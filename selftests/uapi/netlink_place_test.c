// SPDX-License-Identifier: GPL-2.0
/*
 * Where an operator has a device's workers run: CPUs and nodes, within their owner's cpuset.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "flow.h"
#include "pin_rig.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

/*** CPUs ***/

static void need_two_cpus(void)
{
	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
}

/* CPUs 0 and 1, as bits. */
static unsigned int runs_on(unsigned int worker)
{
	cpu_set_t set;

	ASSERT_SYS(sched_getaffinity(worker_tid(worker), sizeof(set), &set));
	return CPU_ISSET(0, &set) | CPU_ISSET(1, &set) << 1;
}

static void the_mask(void)
{
	unsigned int all;

	all = runs_on(0);
	EXPECT_EQ(all, 3);
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "1"), 0);
	EXPECT_EQ(runs_on(0), 2);
	EXPECT(!strcmp(attr_text(the_policy(), KVNET_A_POLICY_CPUS), "1"));
	EXPECT(!strcmp(attr_text(the_worker(0), KVNET_A_WORKER_CPUS), "1"));
	flow_one(&vmm);
	EXPECT_EQ(attr_u32(the_worker(0), KVNET_A_WORKER_CPU), 1);
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "0"), 0);
	EXPECT_EQ(runs_on(0), 1);
	flow_one(&vmm);
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "0-1"), 0);
	EXPECT_EQ(runs_on(0), 3);
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "1"), 0);
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, ""), 0);
	EXPECT_EQ(runs_on(0), 3);
	EXPECT(!*attr_text(the_policy(), KVNET_A_POLICY_CPUS));
	flow_one(&vmm);
}

CASE(cpus)
{
	need_two_cpus();
	netlink_begin(&(struct rig_cfg){ 0 });
	the_mask();
}

CASE(cpus_of_a_kernel_thread)
{
	need_two_cpus();
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	netlink_begin(&(struct rig_cfg){ 0 });
	the_mask();
}

/*** nodes ***/

/* Where a page is; 0 where the kernel has no nodes. */
static unsigned int node_of(void *page)
{
	int node = 0;

	if (syscall(SYS_get_mempolicy, &node, NULL, 0, page, 3 /* MPOL_F_NODE | MPOL_F_ADDR */))
		return 0;
	return node;
}

/* The CPUs of a node, as 0-3,8; false: there is none. */
static bool node_cpus(unsigned int node, char *list, size_t size)
{
	char path[64];
	FILE *f;
	bool ret;

	snprintf(path, sizeof(path), "/sys/devices/system/node/node%u/cpulist", node);
	f = fopen(path, "r");
	if (!f)
		return false;
	ret = fgets(list, size, f);
	fclose(f);
	list[strcspn(list, "\n")] = 0;
	return ret && *list;
}

static int node_is(void)
{
	return (int)attr_u32(the_policy(), KVNET_A_POLICY_NODE);
}

static bool cpus_are(const char *list)
{
	return !strcmp(attr_text(the_worker(0), KVNET_A_WORKER_CPUS), list);
}

/* Wherever it is: the worker is there, and not beyond what the VMM may have. */
CASE(nodes)
{
	char all[64], list[64];
	unsigned int node;

	netlink_begin(&(struct rig_cfg){ 0 });
	worker_tid(0);
	snprintf(all, sizeof(all), "%s", attr_text(the_worker(0), KVNET_A_WORKER_CPUS));
	/* each kernel has one */
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NODE, 0), 0);
	flow_one(&vmm);
	for (node = 0; node < 2 && node_cpus(node, list, sizeof(list)); node++) {
		EXPECT_EQ(policy_u32(KVNET_A_POLICY_NODE, node), 0);
		EXPECT_EQ(node_is(), node);
		EXPECT(cpus_are(list));
		flow_one(&vmm);
		if (node_cpus(!node, list, sizeof(list))) {
			EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, list), -EINVAL);
			EXPECT_EQ(node_is(), node);
			/* nor the other way about */
			node_cpus(node, list, sizeof(list));
			EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, list), 0);
			EXPECT_EQ(policy_u32(KVNET_A_POLICY_NODE, !node), -EINVAL);
			EXPECT(cpus_are(list));
			EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, ""), 0);
		}
		EXPECT_EQ(node_is(), node);
	}
	ksft_note("%u nodes", node);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NODE, KVNET_NODE_NONE), 0);
	EXPECT(cpus_are(all));
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NODE, KVNET_NODE_AUTO), 0);
	EXPECT_EQ(node_is(), KVNET_NODE_AUTO);
	rig_stop(&vmm);
	rig_start(&vmm);
	flow_one(&vmm);
	EXPECT_EQ(attr_u32(the_worker(0), KVNET_A_WORKER_NODE), node_of(vmm.v.mem));
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(vmm.v.fd);
	EXPECT_EQ(node_is(), KVNET_NODE_NONE);
	worker_tid(0);
	EXPECT(cpus_are(all));
}

/* Memory that is asked for from now on is there; ~0: wherever. */
static void memory_from(unsigned int node)
{
	unsigned long mask = 1ul << node % 64;

	if (node == ~0u)
		ASSERT_SYS(syscall(SYS_set_mempolicy, 0 /* MPOL_DEFAULT */, NULL, 0));
	else
		ASSERT_SYS(syscall(SYS_set_mempolicy, 2 /* MPOL_BIND */, &mask, 64));
}

/* A worker follows the memory when it is seen, and stays there. */
static void follow(unsigned int node, const char *list)
{
	char any[64];

	memory_from(node);
	netlink_begin(&(struct rig_cfg){ .stopped = true });
	memory_from(~0u);
	worker_tid(0);
	snprintf(any, sizeof(any), "%s", attr_text(the_worker(0), KVNET_A_WORKER_CPUS));
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NODE, KVNET_NODE_AUTO), 0);
	EXPECT(cpus_are(any));
	rig_start(&vmm);
	flow_one(&vmm);
	EXPECT_EQ(attr_u32(the_worker(0), KVNET_A_WORKER_NODE), node);
	EXPECT(cpus_are(list));
	/* another owner's memory has not been seen */
	vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(vmm.v.fd);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NODE, KVNET_NODE_AUTO), 0);
	EXPECT(WAIT_FOR(3000, cpus_are(any)));
	rig_set_up_again(&vmm);
	rig_start(&vmm);
	EXPECT(cpus_are(list));
	flow_one(&vmm);
	rig_close(&vmm);
}

static void follow_to(unsigned int node)
{
	char list[64];

	if (!node_cpus(node, list, sizeof(list)))
		ksft_skip("no node %u here", node);
	follow(node, list);
}

CASE(memory_on_a_node)
{
	follow_to(0);
}

CASE(memory_on_another_node)
{
	follow_to(1);
}

/* Of the other nobody can tell where it is: more may not be pinned. */
CASE(memory_of_one_ring)
{
	char list[64];
	unsigned int node = node_cpus(1, list, sizeof(list));

	limit_locked_memory(3 * 4096);
	if (node)
		memory_from(node);
	netlink_begin(&(struct rig_cfg){ .stopped = true, .rx_num = 16 });
	if (node)
		memory_from(~0u);
	EXPECT_EQ(policy_u32(KVNET_A_POLICY_NODE, KVNET_NODE_AUTO), 0);
	worker_tid(0);
	rig_start(&vmm);
	EXPECT_EQ(attr_u32(the_queue(VDEV_RX), KVNET_A_QUEUE_ACCESS), KVNET_RING_ACCESS_PINNED);
	EXPECT_EQ(attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_ACCESS), KVNET_RING_ACCESS_USER);
	if (node)
		EXPECT(cpus_are(list));
	flow_one(&vmm);
	rig_close(&vmm);
}

static void inside_a_cpuset(void)
{
	struct cgroup g;

	need_two_cpus();
	cgroup_make(&g, "cpuset");
	cgroup_set(&g, "cpuset.cpus", "0");
	cgroup_join(&g, getpid());
	netlink_begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(runs_on(0), 1);
	policy_want();
	ask_u32(&policy_request, KVNET_A_POLICY_NICE, 3);
	ask_text(&policy_request, KVNET_A_POLICY_CPUS, "1");
	EXPECT_EQ(policy_ask(), -EINVAL);
	EXPECT(strstr(genl.said, "cpuset"));
	EXPECT_EQ(runs_on(0), 1);
	EXPECT_EQ(getpriority(PRIO_PROCESS, worker_tid(0)), 0);
	EXPECT(!*attr_text(the_policy(), KVNET_A_POLICY_CPUS));
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "0-1"), 0);
	EXPECT_EQ(runs_on(0), 1);
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, ""), 0);
	EXPECT_EQ(runs_on(0), 1);
	/* another cpuset, where the old one's CPU is not */
	cgroup_set(&g, "cpuset.cpus", "1");
	EXPECT(WAIT_FOR(3000, runs_on(0) == 2));
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "0"), -EINVAL);
	EXPECT_EQ(runs_on(0), 2);
	EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, "0-1"), 0);
	EXPECT_EQ(runs_on(0), 2);
	flow_one(&vmm);
	rig_close(&vmm);
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

CASE(a_cpuset)
{
	inside_a_cpuset();
}

CASE(a_cpuset_of_a_kernel_thread)
{
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	inside_a_cpuset();
}

enum { REST, MOVE, END };

static struct mover {
	struct cgroup g;
	int what;	/* one of these; a move is over when it rests again */
	unsigned int wait;
	bool second;
} mover;

static void *move_cpuset(void *arg)
{
	volatile unsigned int wait;
	int what;

	while ((what = __atomic_load_n(&mover.what, __ATOMIC_ACQUIRE)) != END) {
		if (what == REST)
			continue;
		for (wait = mover.wait; wait; wait--)
			;
		mover.second = !mover.second;
		cgroup_set(&mover.g, "cpuset.cpus", mover.second ? "1" : "0");
		__atomic_store_n(&mover.what, REST, __ATOMIC_RELEASE);
	}
	return arg;
}

static void mover_is_to(int what)
{
	mover.wait = ksft_below(20000);
	__atomic_store_n(&mover.what, what, __ATOMIC_RELEASE);
}

static bool mover_rests(void)
{
	return __atomic_load_n(&mover.what, __ATOMIC_ACQUIRE) == REST;
}

/* Whatever is asked, and the cpuset moves just then: afterwards the worker is inside. */
CASE_TIMED(a_cpuset_that_moves, 60)
{
	unsigned int i, n = ksft_rounds(150);
	pthread_t thread;

	need_two_cpus();
	cgroup_make(&mover.g, "cpuset");
	cgroup_set(&mover.g, "cpuset.cpus", "0");
	cgroup_join(&mover.g, getpid());
	netlink_begin(&(struct rig_cfg){ 0 });
	worker_tid(0);
	ASSERT_EQ(pthread_create(&thread, NULL, move_cpuset, NULL), 0);
	for (i = 0; i < n && !ksft_failed(); i++) {
		mover_is_to(MOVE);
		policy_text(KVNET_A_POLICY_CPUS, i % 4 ? "" : i % 8 ? "0" : "1");
		ASSERT(WAIT_FOR(3000, mover_rests()));
		EXPECT_EQ(runs_on(0), 1 << mover.second);
	}
	mover_is_to(END);
	pthread_join(thread, NULL);
	rig_close(&vmm);
	cgroup_leave(getpid());
	cgroup_remove(&mover.g);
}

/*** an owner that dies ***/

#define OPERATORS	16
#define WORKERS		8

static struct places {
	pthread_t thread;
	uint32_t id;
	unsigned int done;
	int refused;
} places[OPERATORS];

static void *places_workers(void *arg)
{
	struct places *p = arg;

	p->refused = policy_places(p->id, &p->done);
	return NULL;
}

static int owners_fd;
static unsigned int *owners_calls;	/* that were of use */

static void does_as_told(int sig)
{
	uint32_t id = 0;

	if (!__vdev_ioctl(owners_fd, sig == SIGUSR1 ? VHOST_NEW_WORKER : VHOST_RESET_OWNER, &id))
		__atomic_add_fetch(owners_calls, 1, __ATOMIC_RELAXED);
}

static bool owner_has_done_it(void)
{
	return __atomic_load_n(owners_calls, __ATOMIC_RELAXED);
}

/* With many workers, so that to place them takes a while; it may have one more. */
static void be_owner_of(int fd, const struct cgroup *g, int tell)
{
	unsigned int i;
	uint32_t id;

	owners_fd = fd;
	signal(SIGUSR1, does_as_told);
	signal(SIGUSR2, does_as_told);
	cgroup_join(g, getpid());
	vdev_own(fd);
	for (i = 1; i < WORKERS - 1; i++)
		__vdev_ioctl(fd, VHOST_NEW_WORKER, &id);
	ASSERT_EQ(write(tell, "", 1), 1);
	for (;;)
		pause();
}

static pid_t fork_owner_of(int fd, const struct cgroup *g)
{
	int tell[2];
	pid_t pid;
	char c;

	rig_enter_netns();
	genl_open(&genl);
	owners_calls = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(owners_calls != MAP_FAILED);
	ASSERT_SYS(pipe(tell));
	pid = ASSERT_SYS(fork());
	if (!pid)
		be_owner_of(fd, g, tell[1]);
	close(tell[1]);
	ASSERT_EQ(read(tell[0], &c, 1), 1);
	close(tell[0]);
	return pid;
}

/*
 * Others have the device still, and operators place its workers just then: when these have
 * ended, their control group goes.
 */
static void owner_dies(void)
{
	int fd = vdev_open_node();
	struct cgroup g;
	unsigned int i;
	pid_t pid;

	cgroup_make(&g, "pids");
	pid = fork_owner_of(fd, &g);
	for (i = 0; i < OPERATORS; i++) {
		places[i] = (struct places){ .id = the_id() };
		ASSERT_EQ(pthread_create(&places[i].thread, NULL, places_workers, &places[i]), 0);
	}
	EXPECT(WAIT_FOR(5000, __atomic_load_n(&places[0].done, __ATOMIC_RELAXED)));
	ASSERT_SYS(kill(pid, SIGKILL));
	ASSERT_SYS(waitpid(pid, NULL, 0));
	cgroup_remove(&g);
	for (i = 0; i < OPERATORS; i++) {
		ASSERT_EQ(pthread_join(places[i].thread, NULL), 0);
		EXPECT_EQ(places[i].refused, -EOWNERDEAD);
	}
	close(fd);
}

CASE_TIMED(an_owner_that_dies, 60)
{
	owner_dies();
}

CASE_TIMED(an_owner_of_a_kernel_thread_that_dies, 60)
{
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	owner_dies();
}

/* That its owner's group has no time left does not keep who places it. */
CASE_TIMED(an_owner_that_starves, 60)
{
	int fd = vdev_open_node();
	pid_t pid, operator;
	struct cgroup g;

	cgroup_make(&g, "cpu");
	pid = fork_owner_of(fd, &g);
	cgroup_starve(&g);
	operator = ASSERT_SYS(fork());
	if (!operator)
		_exit(policy_text(KVNET_A_POLICY_CPUS, "0"));
	EXPECT(WAIT_FOR(3000, child_ended(operator, NULL)));
	cgroup_feed(&g);
	EXPECT(!strcmp(attr_text(the_policy(), KVNET_A_POLICY_CPUS), "0"));
	ASSERT_SYS(kill(pid, SIGKILL));
	ASSERT_SYS(waitpid(pid, NULL, 0));
	close(fd);
	cgroup_remove(&g);
}

#define SLOW	4

static int places_too(struct genl *own)
{
	return policy_place(own, places[0].id);
}

static int lists_all(struct genl *own)
{
	return genl_count(own, KVNET_CMD_DEV_GET) != 1 ||
	       genl_count(own, KVNET_CMD_QUEUE_GET) != 2 ||
	       genl_count(own, KVNET_CMD_WORKER_GET) < 1;
}

static bool gets_done(int (*what)(struct genl *own), unsigned int ms)
{
	pid_t pid = ASSERT_SYS(fork());
	struct genl own;
	int status = 1;

	if (!pid) {
		genl_open(&own);
		_exit(what(&own));
	}
	if (!WAIT_FOR(ms, child_ended(pid, &status)))
		kill(pid, SIGKILL);
	return !status;
}

/*
 * Operators whose group lets them wait, amidst their work: nobody notices, neither who else is
 * one or looks, nor the workers, which end, and with them the owner, even if it gives the device
 * back, which has been found by these.
 */
static void operators_starve(int owners_signal)
{
	int fd = vdev_open_node(), status;
	struct cgroup g, slow;
	pid_t pid, operator[SLOW];
	unsigned int i;

	cgroup_make(&g, "pids");
	cgroup_make(&slow, "cpu");
	pid = fork_owner_of(fd, &g);
	cgroup_starve(&slow);
	places[0].id = the_id();
	policy_operators(operator, SLOW, places[0].id);
	for (i = 0; i < SLOW; i++)
		cgroup_join(&slow, operator[i]);
	EXPECT(gets_done(places_too, 2000));
	EXPECT(gets_done(lists_all, 2000));
	if (owners_signal)
		ASSERT_SYS(kill(pid, owners_signal));
	if (owners_signal == SIGUSR1)
		EXPECT(WAIT_FOR(2000, owner_has_done_it()));
	else if (owners_signal)
		EXPECT(WAIT_FOR(2000, owner_has_done_it() || task_state(pid, pid) == 'D'));
	ASSERT_SYS(kill(pid, SIGKILL));
	EXPECT(WAIT_FOR(3000, child_ended(pid, NULL)));
	/* before one of them goes on */
	cgroup_remove_for_good(&g);
	cgroup_feed(&slow);
	for (i = 0; i < SLOW; i++) {
		ASSERT_SYS(waitpid(operator[i], &status, 0));
		EXPECT(WEXITSTATUS(status) == EOWNERDEAD || WEXITSTATUS(status) == ENODEV);
	}
	close(fd);
	cgroup_remove(&slow);
}

CASE_TIMED(an_owner_that_dies_while_operators_starve, 60)
{
	operators_starve(0);
}

CASE_TIMED(an_owner_that_hires_while_operators_starve, 60)
{
	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", "task", 1));
	operators_starve(SIGUSR1);
}

CASE_TIMED(an_owner_that_gives_back_while_operators_starve, 60)
{
	operators_starve(SIGUSR2);
}

KSFT_MAIN()
