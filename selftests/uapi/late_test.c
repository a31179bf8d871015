// SPDX-License-Identifier: GPL-2.0
/*
 * What is closed and cannot end: a user has so much of it, and gets no new device until some
 * has ended. Here the workers of all are frozen with their owner, or wait for a page.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/securebits.h>
#include <linux/vhost.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cgroup.h"
#include "pin_rig.h"
#include "procfs.h"
#include "slow_file.h"

#define MOST	64
#define FIRST	900	/* descriptor of the owner's */

/* In the same bucket, <linux/hash.h>. */
enum { SOMEBODY = 1000, ANOTHER = 2364 };

static struct cgroup group;
static pid_t owner;

static void become(uid_t uid)
{
	ASSERT_SYS(setresuid(uid, uid, uid));
}

/* As root but in name. */
static void become_mighty(uid_t uid)
{
	ASSERT_SYS(prctl(PR_SET_SECUREBITS, SECBIT_NO_SETUID_FIXUP));
	become(uid);
}

/* How the owner's workers are kept from their end. */
struct way {
	void (*prepare)(void);	/* the owner is still root */
	int (*open)(void);	/* a device, of which it is the owner then */
	void (*opened)(void);	/* all are; may be NULL */
	void (*stop)(void);	/* all of them */
	void (*go_on)(void);
	bool gives_back;	/* the owner does, and keeps the descriptors */
};

/* What the owner is to do with some of its devices. */
struct order {
	int first, num;
};

static int tells[2], orders[2];

static void be_owner(const struct way *way)
{
	struct order o;
	char c = 0;
	int i, fd;

	/* they are counted; the other's device does nothing, and he has no say in parameters */
	ASSERT_SYS(setenv("KVNET_THREADS", "1", 1));
	way->prepare();
	become_mighty(SOMEBODY);
	for (i = 0; i < MOST; i++) {
		fd = way->open();
		ASSERT_EQ(dup3(fd, FIRST + i, O_CLOEXEC), FIRST + i);
		close(fd);
	}
	if (way->opened)
		way->opened();
	ASSERT_EQ(write(tells[1], &c, 1), 1);
	while (read(orders[0], &o, sizeof(o)) == sizeof(o)) {
		for (fd = FIRST + o.first; fd < FIRST + o.first + o.num; fd++)
			ASSERT_SYS(way->gives_back ? ioctl(fd, VHOST_RESET_OWNER) : close(fd));
		ASSERT_EQ(write(tells[1], &c, 1), 1);
	}
	_exit(0);
}

static void hear(void)
{
	char c;

	ASSERT_EQ(read(tells[0], &c, 1), 1);
}

/* It gives them back, or others have them, too. */
static void order(int first, int num)
{
	struct order o = { first, num };

	ASSERT_EQ(write(orders[1], &o, sizeof(o)), sizeof(o));
	hear();
}

/* A process that closes some of the owner's when it is killed. */
static pid_t have(unsigned int first, unsigned int num)
{
	int pidfd, tell[2];
	unsigned int i;
	pid_t pid;
	char c = 0;

	ASSERT_SYS(pipe(tell));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		pidfd = ASSERT_SYS(syscall(SYS_pidfd_open, owner, 0));
		for (i = first; i < first + num; i++)
			ASSERT_SYS(syscall(SYS_pidfd_getfd, pidfd, FIRST + i, 0));
		ASSERT_EQ(write(tell[1], &c, 1), 1);
		for (;;)
			pause();
	}
	close(tell[1]);
	ASSERT_EQ(read(tell[0], &c, 1), 1);
	close(tell[0]);
	return pid;
}

static void closes(pid_t pid)
{
	ASSERT_SYS(kill(pid, SIGKILL));
	if (!WAIT_FOR(10000, child_ended(pid, NULL)))
		FAIL("who closes them has not ended");
}

/* SET_OWNER's errno for a process that becomes another one in some way. */
static int own(void (*change)(void *), void *arg)
{
	int fd, status;
	pid_t pid;

	pid = ASSERT_SYS(fork());
	if (!pid) {
		fd = vdev_open_node();
		change(arg);
		_exit(ioctl(fd, VHOST_SET_OWNER) ? errno : 0);
	}
	ASSERT_SYS(waitpid(pid, &status, 0));
	return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

static void to_user(void *arg)
{
	become(*(uid_t *)arg);
}

static int own_as(uid_t uid)
{
	return own(to_user, &uid);
}

static void to_mighty(void *arg)
{
	become_mighty(*(uid_t *)arg);
}

/* A user namespace: who makes it, what it maps, and who is in there; all twice if nested. */
struct inside {
	uid_t maker;
	const char *map;
	uid_t uid;
	bool nested;
};

static void write_map(pid_t pid, const char *name, const char *map)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);
	fd = ASSERT_SYS(open(path, O_WRONLY | O_CLOEXEC));
	ASSERT_EQ(write(fd, map, strlen(map)), (ssize_t)strlen(map));
	close(fd);
}

/* By a child that stays outside. */
static void to_inside(void *arg)
{
	const struct inside *in = arg;
	int made[2], status;
	pid_t maps;
	char c;

	ASSERT_SYS(pipe(made));
	maps = ASSERT_SYS(fork());
	if (!maps) {
		close(made[1]);
		ASSERT(!read(made[0], &c, 1));
		write_map(getppid(), "uid_map", in->map);
		write_map(getppid(), "gid_map", "0 0 1");
		_exit(0);
	}
	if (in->maker)
		become(in->maker);
	ASSERT_SYS(unshare(CLONE_NEWUSER));
	close(made[1]);
	ASSERT_SYS(waitpid(maps, &status, 0));
	ASSERT_EQ(status, 0);
	become(in->uid);
	if (in->nested)
		ASSERT_SYS(unshare(CLONE_NEWUSER));
}

static int own_inside(uid_t maker, const char *map, uid_t uid, bool nested)
{
	return own(to_inside, &(struct inside){ maker, map, uid, nested });
}

static void who_is_somebody(void)
{
	uid_t uid = SOMEBODY;

	EXPECT_EQ(own_as(SOMEBODY), EAGAIN);
	EXPECT_EQ(own_as(ANOTHER), 0);
	EXPECT_EQ(own_as(0), 0);
	EXPECT_EQ(own(to_mighty, &uid), 0);
	/* who makes a user namespace is everybody in there */
	EXPECT_EQ(own_inside(SOMEBODY, "0 1000 1\n1 2364 1", 1, false), EAGAIN);
	EXPECT_EQ(own_inside(SOMEBODY, "0 2364 1\n1 1000 1", 0, false), EAGAIN);
	EXPECT_EQ(own_inside(SOMEBODY, "0 1000 1\n1 2364 1", 1, true), EAGAIN);
	EXPECT_EQ(own_inside(ANOTHER, "0 2364 1\n1 1000 1", 1, false), 0);
	EXPECT_EQ(own_inside(ANOTHER, "0 1000 1\n1 2364 1", 0, false), 0);
	/* of root's it is the root of that */
	EXPECT_EQ(own_inside(0, "0 1000 1\n1 2364 1", 1, false), EAGAIN);
	EXPECT_EQ(own_inside(0, "0 2364 1\n1 1000 1", 1, false), 0);
	EXPECT_EQ(own_inside(0, "1 1000 1", 1, false), 0);
}

/* A device of that user which nothing happens to: he is known as long as it stays. */
static pid_t own_one(uid_t uid)
{
	pid_t pid;
	char c = 0;
	int fd;

	pid = ASSERT_SYS(fork());
	if (!pid) {
		fd = vdev_open_node();
		become(uid);
		vdev_own(fd);
		ASSERT_EQ(write(tells[1], &c, 1), 1);
		for (;;)
			pause();
	}
	hear();
	return pid;
}

static void late(const char *kind, const struct way *way)
{
	pid_t another, most = 0, last = 0;
	unsigned int before, users;

	if (vdev_is_vhost())
		ksft_skip("the last close of vhost_net's waits");
	ASSERT_SYS(setenv("KVNET_WORKER", kind, 1));
	ASSERT(!pipe(tells) && !pipe(orders));
	another = own_one(SOMEBODY);
	before = workers();
	users = module_users();
	owner = ASSERT_SYS(fork());
	if (!owner)
		be_owner(way);
	hear();
	if (!way->gives_back) {
		most = have(0, MOST - 1);
		last = have(MOST - 1, 1);
		order(0, MOST);
	}
	way->stop();

	if (way->gives_back)
		order(0, MOST - 1);
	else
		closes(most);
	EXPECT_EQ(workers(), before + MOST);
	EXPECT_EQ(own_as(SOMEBODY), 0);
	if (way->gives_back)
		order(MOST - 1, 1);
	else
		closes(last);
	EXPECT(WAIT_FOR(3000, workers() == before + MOST));
	who_is_somebody();

	way->go_on();
	if (!way->gives_back)
		EXPECT(WAIT_FOR(5000, module_users() <= users));
	EXPECT(WAIT_FOR(5000, workers() == before));
	EXPECT(WAIT_FOR(1000, own_as(SOMEBODY) == 0));
	closes(owner);
	closes(another);
}

static void join_group(void)
{
	cgroup_join(&group, getpid());
}

static int open_idle(void)
{
	int fd = vdev_open_node();

	vdev_own(fd);
	return fd;
}

/* Credentials of its own: it shares its thread with nobody. */
static int open_shared(void)
{
	ASSERT_SYS(setgroups(0, NULL));
	return open_idle();
}

static void leave_group(void)
{
	cgroup_leave(getpid());
}

static void freeze(void)
{
	cgroup_freeze(&group, true);
	EXPECT(cgroup_frozen(&group, true, 3000));
}

static void thaw(void)
{
	cgroup_freeze(&group, false);
}

static const struct way by_freezer = { join_group, open_idle, NULL, freeze, thaw };

CASE_TIMED(tasks, 60)
{
	if (!kernel_has_vhost_task())
		ksft_skip("the worker is the kernel's before Linux 6.11");
	cgroup_make(&group, NULL);
	late("task", &by_freezer);
	cgroup_remove(&group);
}

/* Only the freezer of version 1 takes the kernel's threads. */
CASE_TIMED(kernel_threads, 60)
{
	cgroup_make_old(&group, "freezer");
	late("kthread", &by_freezer);
	cgroup_remove(&group);
}

/* The device is over, and can be owned again, but its thread is not. */
CASE_TIMED(shared_threads_of_devices_given_back, 60)
{
	char was;

	cgroup_make_old(&group, "freezer");
	was = vdev_parameter("share_workers", '1');
	late("kthread", &(struct way){ join_group, open_shared, leave_group, freeze, thaw,
				       .gives_back = true });
	vdev_parameter("share_workers", was);
	cgroup_remove(&group);
}

/* What guests send is in a file that is not there yet. */
static int file = -1;

static void open_file(void)
{
	struct stat st;

	slow_file_leave();
	file = ASSERT_SYS(open(SLOW_FILE, O_RDONLY | O_CLOEXEC));
	/* without it, the file's size is not known */
	ASSERT_SYS(fstat(file, &st));
}

static int open_with_file(void)
{
	static off_t at;
	struct vdev_queue *q;
	struct rig rig;
	size_t size;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .bufs = 16, .here = at });
	pin_rig_move(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	q = &rig.v.q[VDEV_TX];
	size = (size_t)q->buf_size * q->buf_num;
	ASSERT(mmap(q->bufs, size, PROT_READ, MAP_PRIVATE | MAP_FIXED, file, at) == q->bufs);
	at += size;
	rig_start(&rig);
	vdev_kick_always(q);
	return rig.v.fd;
}

static void all_wait(void)
{
	EXPECT(WAIT_FOR(5000, slow_file_asked() == MOST));
}

CASE_TIMED(kernel_threads_that_wait_for_a_page, 60)
{
	slow_file_make(MOST * (64 << 10));
	late("kthread", &(struct way){ open_file, open_with_file, NULL, all_wait, slow_file_deliver });
}

KSFT_MAIN()
