// SPDX-License-Identifier: GPL-2.0
/* Who is held in the midst of what he does, and a VMM that is another process: see held_rig.h. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow.h"
#include "held_rig.h"
#include "inject.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

void hold(const char *call)
{
	ASSERT(inject_put(INJECT_HOLD, call));
}

void let_go(const char *which)
{
	ASSERT(inject_put(INJECT_HOLD, *which ? which : "\n"));
}

unsigned int held(const char *call)
{
	return inject_count(INJECT_HOLD, call);
}

bool waits(pid_t pid, pid_t tid)
{
	static unsigned int looks;

	looks = task_state(pid, tid) == 'D' ? looks + 1 : 0;
	if (looks < 30)
		return false;
	looks = 0;
	return true;
}

void begin(const char *kind)
{
	if (access(INJECT_HOLD, R_OK))
		ksft_skip("a module whose calls do not wait");
	let_go("");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	rig_enter_netns();
	genl_open(&genl);
}

pid_t operator_asks(void)
{
	pid_t pid = ASSERT_SYS(fork());

	if (!pid) {
		genl_open(&genl);
		_exit(genl_count(&genl, KVNET_CMD_DEV_GET) != 1);
	}
	return pid;
}

pid_t operator_is_held(void)
{
	pid_t pid;

	hold(WITH_DEVICE);
	pid = operator_asks();
	ASSERT(WAIT_FOR(3000, held(WITH_DEVICE)));
	return pid;
}

int operator_said(pid_t pid)
{
	int status = 0;

	if (!EXPECT(WAIT_FOR(10000, child_ended(pid, &status))))
		return 1;
	return -WEXITSTATUS(status);
}

static int (*vmm_does)(void);

static void do_it(int sig)
{
	(void)sig;
	vmm_does();
}

int hire(void)
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
	ASSERT_EQ(write(tell, &vmm.v.fd, sizeof(vmm.v.fd)), sizeof(vmm.v.fd));
	for (;;)
		pause();
}

pid_t fork_vmm(int (*does)(void))
{
	int tell[2];
	pid_t pid;

	ASSERT_SYS(pipe(tell));
	pid = ASSERT_SYS(fork());
	if (!pid)
		be_vmm(does, tell[1]);
	close(tell[1]);
	ASSERT_EQ(read(tell[0], &vmm.v.fd, sizeof(vmm.v.fd)), sizeof(vmm.v.fd));
	close(tell[0]);
	return pid;
}

void vmm_is_to_do_it(pid_t pid)
{
	ASSERT_SYS(kill(pid, SIGUSR1));
}

void kill_vmm(pid_t pid)
{
	ASSERT_SYS(kill(pid, SIGKILL));
	EXPECT(WAIT_FOR(5000, child_ended(pid, NULL)));
}
