// SPDX-License-Identifier: GPL-2.0
/*
 * Whose coverage the kernel's kcov tells: what a thread has done in calls is the thread's, and what
 * workers and softirqs do is for who had the handle when it became the owner.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow.h"
#include "place_rig.h"
#include "reached.h"
#include "vhost_abi.h"

/* Which only the one, the other or the third comes to. */
#define OF_A_CALL	"kvnet_ioctl"
#define OF_A_WORKER	"kvnet_crew_watched"
#define OF_A_SOFTIRQ	"kvnet_vq_begin_soft"
#define OF_THE_END	"kvnet_net_abandon"
#define OF_A_BEGINNING	"kvnet_crew_seat"

static struct rig one;

static void need_kcov(void)
{
	if (!reached_open())
		ksft_skip("no kcov, or a module that was built without it, or addresses that are moved");
	EXPECT(!reached_function(OF_A_CALL));
	EXPECT(!reached_function(OF_A_WORKER));
	EXPECT(!reached_function(OF_A_SOFTIRQ));
}

static void *call(void *arg)
{
	uint64_t features;

	reached_here(0);
	ASSERT_SYS(ioctl(*(int *)arg, VHOST_GET_FEATURES, &features));
	return NULL;
}

static void call_in_a_thread(int fd)
{
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, call, &fd), 0);
	pthread_join(thread, NULL);
}

CASE(a_call_is_its_threads)
{
	struct reached r = { 0 };
	int fd;

	need_kcov();
	fd = ASSERT_SYS(open(vdev_path(), O_RDWR | O_CLOEXEC));
	EXPECT(!reached_more(&r));
	call_in_a_thread(fd);
	EXPECT(reached_more(&r));
	EXPECT(reached_function(OF_A_CALL));
	EXPECT_OP(r.points, >, 3);
	EXPECT_EQ(r.called, r.points);
	/* the way from one call to the next is new once */
	call_in_a_thread(fd);
	reached_more(&r);
	call_in_a_thread(fd);
	EXPECT(!reached_more(&r));
	close(fd);
}

static void pass(struct rig *r)
{
	rig_open(r, &(struct rig_cfg){ .bufs = 16, .num = 64 });
	flow_one(r);
	rig_close(r);
}

/* Of a process that has it from its parent, too. */
static void of_a_worker(const char *kind)
{
	struct reached r = { 0 };
	int status;
	pid_t pid;

	setenv("KVNET_WORKER", kind, 1);
	need_kcov();
	pid = ASSERT_SYS(fork());
	if (!pid) {
		pass(&one);
		_exit(ksft_failed());
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	EXPECT(reached_more(&r));
	EXPECT(reached_function(OF_A_WORKER));
	EXPECT_OP(r.points, >, 50);
	EXPECT_EQ(r.called, 0);
}

CASE(a_task_works_for_its_owner)
{
	of_a_worker("task");
}

CASE(a_kernel_thread_works_for_its_owner)
{
	of_a_worker("kthread");
}

/* When the owner has died by a signal; and when it began. */
CASE(a_task_ends_for_its_owner)
{
	int status;
	pid_t pid;

	setenv("KVNET_WORKER", "task", 1);
	need_kcov();
	EXPECT(!reached_function(OF_THE_END));
	EXPECT(!reached_function(OF_A_BEGINNING));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		rig_open(&one, &(struct rig_cfg){ .bufs = 16, .num = 64 });
		flow_one(&one);
		kill(getpid(), SIGKILL);
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFSIGNALED(status));
	EXPECT(WAIT_FOR(3000, ({ reached_look(); reached_function(OF_THE_END); })));
	EXPECT(reached_function(OF_A_BEGINNING));
}

CASE(a_softirq_works_for_the_owner)
{
	need_kcov();
	place_begin();
	place_warm_up();
	reached_look();
	EXPECT(reached_function(OF_A_SOFTIRQ));
	rig_close(&rig);
}

/* Its owner had no handle then. */
CASE(a_device_of_before_works_for_nobody)
{
	struct reached r = { 0 };

	rig_open(&one, &(struct rig_cfg){ .bufs = 16, .num = 64 });
	need_kcov();
	flow_one(&one);
	EXPECT(!reached_more(&r));
	rig_stop(&one);
	vdev_ioctl(one.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(one.v.fd);
	rig_set_up_again(&one);
	rig_start(&one);
	flow_one(&one);
	rig_close(&one);
	EXPECT(reached_more(&r));
	EXPECT(reached_function(OF_A_WORKER));
}

KSFT_MAIN()
