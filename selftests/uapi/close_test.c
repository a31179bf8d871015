// SPDX-License-Identifier: GPL-2.0
/*
 * The last close of a device by a process that it has been passed to, while its owner lives
 * and nobody can have the worker run: whoever has the last descriptor does not wait for that.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "flow.h"
#include "pin_rig.h"
#include "policy_rig.h"
#include "procfs.h"
#include "slow_file.h"

VDEV_ONE_THREAD()

#define MANY	90
#define SOME	8
#define FIRST	100	/* descriptor of theirs */
#define OPERATORS	4

static struct rig rig;
static struct cgroup group;
static pid_t owner;

/* How the worker is kept from running, and what its end waits for. */
struct way {
	void (*open)(void);
	bool (*stopped)(const struct worker *w);
	void (*go_on)(void);		/* NULL: it ends, nevertheless */
	bool stays;			/* in the lists, since it has its tap, until then */
	unsigned int more;		/* devices, whose numbers follow */
	bool chance;			/* it may end before that goes on */
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
	/* who ends has less patience than who closes */
	if (more < MANY)
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
	ASSERT_EQ(workers_of(owner, &w), 1 + way->more);
	EXPECT(WAIT_FOR(3000, way->stopped(&w)));
	close(last_goes);
	if (!WAIT_FOR(3000, child_ended(last, NULL)))
		FAIL("the last close has not returned");
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_DEV_GET), way->stays);
	if (way->go_on && !way->chance) {
		/* which is looked for more than once */
		EXPECT(!WAIT_FOR(200, module_users() <= users));
		EXPECT_EQ(workers(), before + 1 + way->more);
	}
	if (way->go_on)
		way->go_on();
	/* a thread's end is its debugger's to see */
	EXPECT(WAIT_FOR(1000, waitpid(w.tid, NULL, __WALL | WNOHANG) < 0));
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

/*** it ends, wherever it sleeps ***/

static bool by_a_signal(const struct worker *w)
{
	ASSERT_SYS(kill(owner, SIGSTOP));
	return task_state(owner, owner) == 'T' && (w->pid != owner || task_state(owner, w->tid) == 'T');
}

/* Of the worker alone, which has to stop once more when it goes on. */
static bool by_a_debugger(const struct worker *w)
{
	static bool seized;

	if (!seized)
		seized = !ASSERT_SYS(ptrace(PTRACE_SEIZE, w->tid, NULL, NULL));
	ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL);
	return task_state(owner, w->tid) == 't' && !ptrace(PTRACE_INTERRUPT, w->tid, NULL, NULL);
}

CASE(owner_is_stopped)
{
	last_close(&(struct way){ open_it, by_a_signal });
}

CASE(worker_is_traced)
{
	need("task");
	last_close(&(struct way){ open_it, by_a_debugger });
}

/*** it cannot: somebody else waits for it then ***/

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

/* One thread for what may be several devices: this one's is the last to leave it. */
static void shared(void (*open)(void))
{
	char was = vdev_parameter("share_workers", '1');

	open();
	vdev_parameter("share_workers", was);
}

static void open_shared_in_group(void)
{
	shared(open_in_group);
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

CASE(owner_of_a_shared_thread_is_frozen)
{
	frozen(&(struct way){ open_shared_in_group, by_a_freezer, thaw });
}

static void open_several_in_group(int more)
{
	int i, fd;

	open_in_group();
	for (i = 0; i <= more; i++) {
		fd = i ? vdev_open_node() : rig.v.fd;
		if (i)
			vdev_own(fd);
		ASSERT_EQ(dup3(fd, FIRST + i, O_CLOEXEC), FIRST + i);
		close(fd);
	}
	rig.v.fd = FIRST;
}

static void open_many_in_group(void)
{
	open_several_in_group(MANY);
}

static void open_some_in_group(void)
{
	open_several_in_group(SOME);
}

/* Who ends with many of them does not wait for each. */
CASE(owner_of_many_is_frozen)
{
	frozen(&(struct way){ open_many_in_group, by_a_freezer, thaw, .more = MANY });
}

/* Nor does who closes some wait as long for each as for the first. */
CASE(owner_of_some_is_frozen)
{
	frozen(&(struct way){ open_some_in_group, by_a_freezer, thaw, .more = SOME });
}

/* Only that of version 1 takes the kernel's threads. */
CASE(kthread_is_frozen)
{
	need("kthread");
	cgroup_make_old(&group, "freezer");
	last_close(&(struct way){ open_in_group, by_a_freezer, thaw });
	cgroup_remove(&group);
}

/* What the guest sends is in a file that is not there yet. */
static void open_with_file(void)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	struct stat st;
	size_t size;
	int fd;

	slow_file_leave();
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	size = (size_t)q->buf_size * q->buf_num;
	fd = ASSERT_SYS(open(SLOW_FILE, O_RDONLY | O_CLOEXEC));
	ASSERT_SYS(fstat(fd, &st));
	ASSERT((size_t)st.st_size >= size);
	ASSERT(mmap(q->bufs, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0) == q->bufs);
	/* a close later might ask who serves it no more */
	close(fd);
	rig_start(&rig);
	vdev_kick_always(q);
}

static void open_shared_with_file(void)
{
	shared(open_with_file);
}

static bool by_a_page(const struct worker *w)
{
	(void)w;
	return slow_file_asked();
}

static void waits_for_a_page(const char *kind, void (*open)(void))
{
	need(kind);
	slow_file_make(4 << 20);
	last_close(&(struct way){ open, by_a_page, slow_file_deliver, true });
}

CASE(page_does_not_come)
{
	waits_for_a_page("task", open_with_file);
}

CASE(page_does_not_come_to_a_kthread)
{
	waits_for_a_page("kthread", open_with_file);
}

CASE(page_does_not_come_to_a_shared_thread)
{
	waits_for_a_page("task", open_shared_with_file);
}

/*** operators who have found the device ***/

static pid_t operator[OPERATORS];

/* One is at it and the others wait for that, when they get no more time. */
static bool by_operators(const struct worker *w)
{
	unsigned int i;
	uint32_t id;

	(void)w;
	genl_open(&genl);
	id = the_id();
	genl_close(&genl);
	cgroup_starve(&group);
	/* nor do they keep the last one from being told to go on */
	policy_operators(operator, OPERATORS, id);
	for (i = 0; i < OPERATORS; i++)
		cgroup_join(&group, operator[i]);
	return true;
}

static void feed(void)
{
	unsigned int i;

	cgroup_feed(&group);
	for (i = 0; i < OPERATORS; i++)
		EXPECT(WAIT_FOR(3000, child_ended(operator[i], NULL)));
}

static void placed(const char *kind)
{
	need(kind);
	cgroup_make(&group, "cpu");
	/* the kernel's clock is too coarse to keep all time from them, here and there */
	last_close(&(struct way){ open_in_group, by_operators, feed, .chance = true });
	cgroup_remove(&group);
}

CASE_TIMED(operators_of_a_task_starve, 60)
{
	placed("task");
}

CASE_TIMED(operators_of_a_kthread_starve, 60)
{
	placed("kthread");
}

KSFT_MAIN()
