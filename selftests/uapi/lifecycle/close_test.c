// SPDX-License-Identifier: GPL-2.0
/*
 * The last close of a device by a process that it has been passed to, while its owner lives
 * and its workers cannot run: the close does not wait for them.  And what is free when it has
 * returned.
 *
 * @hosts: 6.1 6.12 newest
 * @debug: kasan kcsan
 * @waits: yes
 * @seconds: 16
 * @skip: uapi-uml.* | .*: no controller cpu: .* | the test hosts have it
 * @skip: .* | .*: no freezer of version 1.* | not every kernel is built with it
 * @skip: .*-6\.1 | .*: the worker is the kernel's .* | newer kernels have threads of the owner
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "flow.h"
#include "genl.h"
#include "pin_rig.h"
#include "procfs.h"

#define MANY	90
#define FIRST	100	/* descriptor of theirs */

static struct rig rig;
static struct cgroup group;
static pid_t owner;

/* How the workers are kept from running, and what their end waits for. */
struct way {
	void (*open)(void);
	bool (*stopped)(const struct worker *w);
	void (*go_on)(void);
	unsigned int more;		/* devices, whose numbers follow */
};

/* Tells where its device is, and has it no longer as soon as it is told to go on. */
static void be_owner(const struct way *way, int tell, int go)
{
	char c;

	way->open();
	ASSERT_EQ(write(tell, &rig.v.fd, sizeof(int)), sizeof(int));
	EXPECT_EQ(read(go, &c, 1), 0);
	ASSERT_SYS(close_range(rig.v.fd, rig.v.fd + way->more, 0));
	for (;;)
		pause();
}

/* Has the devices of another process until it is told to go on. */
static void have(int fd, unsigned int more, int tell, int go)
{
	int pidfd = syscall(SYS_pidfd_open, owner, 0), got;
	unsigned int i;
	char c = 0;

	for (i = 0; i <= more; i++) {
		got = ASSERT_SYS(syscall(SYS_pidfd_getfd, pidfd, fd + i, 0));
		ASSERT_SYS(dup2(got, FIRST + i));
		close(got);
	}
	EXPECT_EQ(write(tell, &c, 1), 1);
	EXPECT_EQ(read(go, &c, 1), 0);
	close_range(FIRST, FIRST + more, 0);
	_exit(0);
}

static bool has_no_device(pid_t pid, int fd)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%d", pid, fd);
	return access(path, F_OK);
}

/* From the owner to the last one who has it, who closes it as soon as *last_goes is closed. */
static pid_t pass_on(const struct way *way, int *last_goes)
{
	int tell[2], last_tells[2], owner_goes[2], goes[2], fd;
	pid_t last;
	char c;

	ASSERT(!pipe(tell) && !pipe(last_tells) && !pipe(owner_goes) && !pipe(goes));
	owner = ASSERT_SYS(fork());
	if (!owner) {
		close(owner_goes[1]);
		close(goes[1]);
		be_owner(way, tell[1], owner_goes[0]);
	}
	close(tell[1]);
	if (read(tell[0], &fd, sizeof(fd)) != sizeof(fd))
		ksft_abort();	/* it has said why */
	last = ASSERT_SYS(fork());
	if (!last) {
		close(owner_goes[1]);
		close(goes[1]);
		have(fd, way->more, last_tells[1], goes[0]);
	}
	close(last_tells[1]);
	ASSERT_EQ(read(last_tells[0], &c, 1), 1);
	close(owner_goes[1]);
	EXPECT(WAIT_FOR(3000, has_no_device(owner, fd + way->more)));
	*last_goes = goes[1];
	return last;
}

/* There, its devices are to be seen. */
static void enter_network_of(pid_t pid, struct genl *genl, unsigned int devices)
{
	int pidfd = syscall(SYS_pidfd_open, pid, 0);

	ASSERT_SYS(setns(pidfd, CLONE_NEWNET));
	close(pidfd);
	genl_open(genl);
	EXPECT_EQ(genl_count(genl, KVNET_CMD_DEV_GET), devices);
}

static void last_close(const struct way *way)
{
	unsigned int before = workers(), users;
	struct worker w;
	struct genl genl;
	int last_goes;
	pid_t last;

	if (vdev_is_vhost())
		ksft_skip("the last close of vhost_net's waits");
	users = module_users();
	last = pass_on(way, &last_goes);
	enter_network_of(owner, &genl, 1 + way->more);
	ASSERT_EQ(workers_of(owner, &w), DEVICE_WORKERS * (1 + way->more));
	EXPECT(WAIT_FOR(3000, way->stopped(&w)));
	close(last_goes);
	if (!WAIT_FOR(3000, child_ended(last, NULL)))
		FAIL("the last close has not returned");
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), 0);
	EXPECT_EQ(module_users(), users + 1 + way->more);
	EXPECT_EQ(workers(), before + DEVICE_WORKERS * (1 + way->more));
	way->go_on();
	no_worker_left(before);
	EXPECT(WAIT_FOR(3000, module_users() <= users));
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), 0);
	kill(owner, SIGKILL);
	EXPECT(WAIT_FOR(3000, waitpid(owner, NULL, WNOHANG)));
}

static void need(const char *kind)
{
	if (!strcmp(kind, "task") && !kernel_has_vhost_task())
		ksft_skip("the worker is the kernel's before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
}

static void open_it(void)
{
	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
}

/*** stopped ***/

static bool by_a_signal(const struct worker *w)
{
	ASSERT_SYS(kill(owner, SIGSTOP));
	return task_state(owner, owner) == 'T' && (w->pid != owner || task_state(owner, w->tid) == 'T');
}

/* One worker alone. */
static pid_t traced;

static bool by_a_debugger(const struct worker *w)
{
	if (!traced)
		ASSERT_SYS(ptrace(PTRACE_SEIZE, w->tid, NULL, NULL));
	traced = w->tid;
	ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL);
	return task_state(owner, w->tid) == 't' && !ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL);
}

static void go_on(void)
{
	ASSERT_SYS(kill(owner, SIGCONT));
}

CASE(owner_is_stopped)
{
	need("task");
	last_close(&(struct way){ open_it, by_a_signal, go_on });
}

static void leave_it(void)
{
	ASSERT_SYS(ptrace(PTRACE_DETACH, traced, NULL, NULL));
}

CASE(worker_is_traced)
{
	need("task");
	last_close(&(struct way){ open_it, by_a_debugger, leave_it });
}

/*** frozen ***/

static bool by_a_freezer(const struct worker *w)
{
	(void)w;
	cgroup_freeze(&group, true);
	return cgroup_frozen(&group, true, 100);
}

static void open_in_group(void)
{
	cgroup_join(&group, getpid());
	open_it();
}

static void kill_it(void)
{
	ASSERT_SYS(kill(owner, SIGKILL));
}

static void thaw(void)
{
	cgroup_freeze(&group, false);
}

static void frozen(const struct way *way)
{
	need("task");
	cgroup_make(&group, NULL);
	last_close(way);
	cgroup_remove(&group);
}

CASE(owner_is_frozen_and_goes_on)
{
	frozen(&(struct way){ open_in_group, by_a_freezer, thaw });
}

CASE(owner_is_frozen_and_killed)
{
	frozen(&(struct way){ open_in_group, by_a_freezer, kill_it });
}

static void open_many_in_group(void)
{
	int i, fd;

	open_in_group();
	for (i = 0; i <= MANY; i++) {
		fd = i ? vdev_open_node() : rig.v.fd;
		if (i)
			vdev_own(fd);
		ASSERT_EQ(dup3(fd, FIRST + i, O_CLOEXEC), FIRST + i);
		close(fd);
	}
	rig.v.fd = FIRST;
}

CASE(owner_of_many_is_frozen)
{
	frozen(&(struct way){ open_many_in_group, by_a_freezer, thaw, .more = MANY });
}

/* Only the freezer of cgroup v1 freezes kernel threads. */
CASE(kthread_is_frozen)
{
	need("kthread");
	cgroup_make_old(&group, "freezer");
	last_close(&(struct way){ open_in_group, by_a_freezer, thaw });
	cgroup_remove(&group);
}

/*** what is free when close() has returned ***/

/* -EBUSY as long as the device has the tap. */
static int attach_to_tap(const char *name)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	if (!ioctl(fd, TUNSETIFF, &ifr))
		return fd;
	close(fd);
	return -errno;
}

static void tap_is_free(const char *kind)
{
	unsigned int i, n = ksft_rounds(30);

	need(kind);
	for (i = 0; i < n && !ksft_failed(); i++) {
		rig_open(&rig, &(struct rig_cfg){ .stopped = true, .bufs = 8 });
		ASSERT_SYS(ioctl(rig.tap, TUNSETPERSIST, 1));
		vdev_backend(&rig.v, VDEV_RX, rig.tap);
		close(rig.tap);
		close(rig.v.fd);
		rig.tap = attach_to_tap(rig.name);
		EXPECT_OP(rig.tap, >=, 0);
		ioctl(rig.tap, TUNSETPERSIST, 0);
		rig_close(&rig);
	}
}

CASE_TIMED(tap_is_free_of_tasks, 60)
{
	tap_is_free("task");
}

CASE_TIMED(tap_is_free_of_kernel_threads, 60)
{
	tap_is_free("kthread");
}

KSFT_MAIN()
