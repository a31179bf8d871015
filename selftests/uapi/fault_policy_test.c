// SPDX-License-Identifier: GPL-2.0
/*
 * A policy of which something fails: all of it holds afterwards, of each worker, or nothing.
 * Each thing that can fail does so in its turn, as in fault_each_test.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "cgroup.h"
#include "fault_rig.h"
#include "flow.h"
#include "inject.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

VDEV_ONE_THREAD()

#define WORKERS	2

/* How a thread runs. */
struct seat {
	int sched;
	int priority;
	int nice;
	cpu_set_t cpus;
};

static const char *one_cpu, *all_cpus;	/* what is wanted, and what was before */

static struct seat seat_of(unsigned int worker)
{
	pid_t t = worker_tid(worker);
	struct sched_param p = { 0 };
	struct seat s = { .sched = sched_getscheduler(t) };

	ASSERT_SYS(sched_getparam(t, &p));
	ASSERT_SYS(sched_getaffinity(t, sizeof(s.cpus), &s.cpus));
	s.priority = p.sched_priority;
	s.nice = getpriority(PRIO_PROCESS, t);
	return s;
}

static void runs_as(const struct seat *want)
{
	unsigned int i;

	for (i = 0; i < WORKERS; i++) {
		struct seat s = seat_of(i);

		EXPECT_EQ(s.sched, want->sched);
		EXPECT_EQ(s.priority, want->priority);
		EXPECT_EQ(s.nice, want->nice);
		EXPECT(CPU_EQUAL(&s.cpus, &want->cpus));
	}
}

/* Not yet: the device is looked up, which is not to fail. */
static void want(const char *cpus, int nice, int sched, unsigned int priority)
{
	policy_want();
	ask_u32(&policy_request, KVNET_A_POLICY_NICE, nice);
	ask_text(&policy_request, KVNET_A_POLICY_CPUS, cpus);
	if (sched >= 0)
		ask_u32(&policy_request, KVNET_A_POLICY_SCHED, sched);
	if (priority)
		ask_u32(&policy_request, KVNET_A_POLICY_RT_PRIORITY, priority);
}

static int ask_for(const char *cpus, int nice, int sched, unsigned int priority)
{
	want(cpus, nice, sched, priority);
	return policy_ask();
}

/* How often it could not be found out what the cpuset has. */
static unsigned int not_found_out(const struct injector *in)
{
	return in->module ? inject_count(INJECT_FAILED, "cgroup_attach_task_all") : 0;
}

static bool all_or_nothing(struct injector *in, unsigned int n, int sched,
			   const struct seat *before, const struct seat *after)
{
	unsigned int unknown = not_found_out(in);
	bool hit, holds;
	int ret;

	want(one_cpu, after->nice, sched, 0);
	injector_nth(in, n);
	ret = policy_ask();
	hit = injector_end(in, ret);
	if (not_found_out(in) != unknown)
		EXPECT_EQ(ret, -ENOMEM);
	if (ret && !(hit && inject_clean(ret)))
		FAIL("failure %u: %s", n, strerror(-ret));
	/* without an answer that is still on its way */
	genl_close(&genl);
	genl_open(&genl);
	/* It may be the answer that has failed. */
	holds = !strcmp(attr_text(the_policy(), KVNET_A_POLICY_CPUS), one_cpu);
	EXPECT(ret || holds);
	runs_as(holds ? after : before);
	if (ksft_failed())
		ksft_note("failure %u", n);
	return hit;
}

static void each(int sched)
{
	struct seat before, after;
	struct injector in;
	unsigned int n;

	ASSERT_EQ(ask_for(all_cpus, 2, SCHED_RR, 5), 0);
	before = seat_of(0);
	EXPECT_EQ(before.priority, 5);
	EXPECT_EQ(before.nice, 2);
	ASSERT_EQ(ask_for(one_cpu, 6, sched, 0), 0);
	after = seat_of(0);
	FOR_EACH_INJECTOR(&in, gettid()) {
		for (n = 1; !ksft_failed() && EXPECT_OP(n, <, FAULT_MOST); n = injector_next(&in, n)) {
			ASSERT_EQ(ask_for(all_cpus, 2, SCHED_RR, 5), 0);
			if (!all_or_nothing(&in, n, sched, &before, &after))
				break;
			fault_injected++;
		}
	}
}

static void begin(void)
{
	unsigned int id;

	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", "task", 1));
	fault_begin(&(struct rig_cfg){ .num = 64, .bufs = 32 });
	ASSERT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_NEW_WORKER, &id), 0);
	ASSERT_EQ(id, 1);
	ASSERT(worker_tid(1));
	one_cpu = "0";
	all_cpus = sysconf(_SC_NPROCESSORS_ONLN) > 1 ? "1" : "";
}

static void end(void)
{
	EXPECT_OP(fault_injected, >, 5);
	ksft_note("%u failures", fault_injected);
	flow_one(&vmm);
	fault_end();
}

CASE_TIMED(of_where_and_how_nice, 60)
{
	begin();
	each(-1);
	end();
}

CASE_TIMED(of_a_class, 60)
{
	begin();
	each(SCHED_BATCH);
	end();
}

/* Nobody is outside of the owner's cpuset because it could not be found out. */
CASE_TIMED(of_what_the_cpuset_has, 60)
{
	struct injector in;
	struct cgroup g;
	unsigned int n;
	unsigned int unknown;
	bool hit = true;
	int ret;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	cgroup_make(&g, "cpuset");
	cgroup_set(&g, "cpuset.cpus", "0");
	cgroup_join(&g, getpid());
	begin();
	FOR_EACH_INJECTOR(&in, gettid()) {
		for (n = 1, hit = true; hit && !ksft_failed() && EXPECT_OP(n, <, FAULT_MOST); n++) {
			policy_want();
			ask_text(&policy_request, KVNET_A_POLICY_CPUS, "1");
			unknown = not_found_out(&in);
			injector_nth(&in, n);
			ret = policy_ask();
			hit = injector_hit(&in);
			injector_nth(&in, 0);
			if (not_found_out(&in) != unknown)
				EXPECT_EQ(ret, -ENOMEM);
			if (!ret || (ret != -EINVAL && !(hit && inject_clean(ret))))
				FAIL("failure %u: %s", n, strerror(-ret));
			genl_close(&genl);
			genl_open(&genl);
			EXPECT(!strcmp(attr_text(the_worker(0), KVNET_A_WORKER_CPUS), "0"));
			EXPECT(!*attr_text(the_policy(), KVNET_A_POLICY_CPUS));
			fault_injected += hit;
		}
	}
	end();
	cgroup_leave(getpid());
	cgroup_remove(&g);
}

/* Who could become an owner can be placed. */
CASE_TIMED(of_what_an_owner_got, 60)
{
	struct injector in;
	unsigned int n;
	bool hit = true;
	int ret;

	begin();
	FOR_EACH_INJECTOR(&in, gettid()) {
		for (n = 1, hit = true; hit && !ksft_failed() && EXPECT_OP(n, <, FAULT_MOST); n++) {
			ASSERT_EQ(__vdev_ioctl(vmm.v.fd, VHOST_RESET_OWNER, NULL), 0);
			injector_nth(&in, n);
			ret = __vdev_ioctl(vmm.v.fd, VHOST_SET_OWNER, NULL);
			hit = injector_hit(&in);
			injector_nth(&in, 0);
			if (ret)
				vdev_own(vmm.v.fd);
			EXPECT_EQ(policy_text(KVNET_A_POLICY_CPUS, one_cpu), 0);
			fault_injected += hit;
		}
	}
	fault_carries_packets();
	end();
}

KSFT_MAIN()
