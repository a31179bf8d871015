// SPDX-License-Identifier: GPL-2.0
/*
 * A process that has the descriptor and is not the owner.  While the worker waits for a
 * page, this process waits in an ioctl, and is killed: the owner does not notice.  Nor does
 * it keep the owner from being killed, nor, with a page fault of its own, from its ioctls.
 *
 * @hosts: 6.1
 * @again: kthread
 * @seconds: 2
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/vhost_types.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

static struct rig rig;

static void in_set_features(void)
{
	__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &rig.v.features);
}

static void in_write(void)
{
	struct vhost_msg msg = {
		.type = VHOST_IOTLB_MSG,
		.iotlb = { .size = 4096, .uaddr = 4096, .perm = VHOST_ACCESS_RW,
			   .type = VHOST_IOTLB_UPDATE },
	};
	ssize_t n = write(rig.v.fd, &msg, sizeof(msg));

	(void)n;	/* refused, or not */
}

static void in_set_backend(void)
{
	__vdev_backend(&rig.v, VDEV_RX, -1);
}

/* A rig whose pages of send buffers can be taken away. */
static void open_rig(void)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	if (vdev_is_vhost())
		ksft_skip("vhost_net's waiters cannot be killed");
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	rig_start(&rig);
	frames_pass(&rig);
	pager_open();
	pager_take_away(q->bufs, q->buf_size * q->buf_num);
}

/* A frame whose page does not come before pager_go_on(). */
static void send_late(unsigned int n)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	pager_take_again(q->bufs, q->buf_size * q->buf_num);
	pager.holds = true;
	gr_publish(&q->ring);
	ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	ASSERT(pager_asked(n, 3000));
}

static void arrives(void)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", rig.v.fd);
	pager_go_on();
	rig_expect(&rig, rig.tx_seq - 1, 1000);
	rig_tx_drain(&rig, 3000);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[VDEV_TX].err), 0);
	EXPECT(!strcmp(word_of(path, "kvnet.tx.state"), "running"));
	EXPECT(!strcmp(word_of(path, "kvnet.tx.drop_fault"), "0"));
}

static bool waits(pid_t pid)
{
	char state = task_state(pid, pid);

	return state == 'D' || state == 'Z';
}

/* Returns when the process waits in its call, or has ended. */
static pid_t fork_non_owner(void (*call)(void))
{
	pid_t pid = ASSERT_SYS(fork());

	if (!pid) {
		call();
		_exit(0);
	}
	ASSERT(WAIT_FOR(3000, waits(pid)));
	return pid;
}

static void kill_non_owner(pid_t pid)
{
	int status;

	ASSERT_SYS(kill(pid, SIGKILL));
	if (!WAIT_FOR(5000, waitpid(pid, &status, WNOHANG) == pid))
		FAIL("the process that is not the owner cannot be killed");
}

static void non_owner_killed(void (*call)(void))
{
	open_rig();
	send_late(1);
	kill_non_owner(fork_non_owner(call));
	arrives();
	/* later page faults are served as well */
	send_late(2);
	arrives();
	frames_pass(&rig);
	rig_close(&rig);
}

CASE(non_owner_in_set_features_can_be_killed)
{
	non_owner_killed(in_set_features);
}

CASE(non_owner_in_write_can_be_killed)
{
	non_owner_killed(in_write);
}

CASE(non_owner_in_set_backend_can_be_killed)
{
	non_owner_killed(in_set_backend);
}

static int asker;	/* thread of the owner that waits for the worker */

static void *owner_asks(void *arg)
{
	__atomic_store_n(&asker, gettid(), __ATOMIC_RELEASE);
	vdev_get_base(&rig.v, VDEV_TX);
	return arg;
}

static bool asker_waits(void)
{
	return task_state(getpid(), __atomic_load_n(&asker, __ATOMIC_ACQUIRE)) == 'D';
}

/* It waits for the owner, which waits for the worker. */
CASE(non_owner_behind_owner_can_be_killed)
{
	pthread_t owner;

	open_rig();
	send_late(1);
	ASSERT_EQ(pthread_create(&owner, NULL, owner_asks, NULL), 0);
	ASSERT(WAIT_FOR(3000, asker_waits()));
	kill_non_owner(fork_non_owner(in_set_backend));
	EXPECT(asker_waits());
	arrives();
	ASSERT_EQ(pthread_join(owner, NULL), 0);
	frames_pass(&rig);
	rig_close(&rig);
}

/* The owner waits for the other process, which waits for the worker. */
static void owner_killed(void (*call)(void))
{
	unsigned int before = workers();
	pid_t pid, non_owner;
	int p[2], status;

	ASSERT_SYS(pipe(p));
	pid = fork();
	if (!pid) {
		close(p[0]);
		open_rig();
		send_late(1);
		non_owner = fork_non_owner(call);
		ASSERT_EQ(write(p[1], &non_owner, sizeof(non_owner)),
			  sizeof(non_owner));
		close(p[1]);
		vdev_get_base(&rig.v, VDEV_TX);
		for (;;)
			pause();
	}
	close(p[1]);
	if (read(p[0], &non_owner, sizeof(non_owner)) != sizeof(non_owner)) {
		waitpid(pid, &status, 0);
		return;		/* it has failed, or skipped */
	}
	WAIT_FOR(200, task_state(pid, pid) == 'D');
	ASSERT_SYS(kill(pid, SIGKILL));
	if (!WAIT_FOR(5000, waitpid(pid, &status, WNOHANG) == pid))
		FAIL("the owner cannot be killed");
	kill(non_owner, SIGKILL);
	no_worker_left(before);
}

CASE(owner_behind_set_features_can_be_killed)
{
	owner_killed(in_set_features);
}

CASE(owner_behind_write_can_be_killed)
{
	owner_killed(in_write);
}

/*** a page fault of the process that is not the owner ***/

struct late_call {
	unsigned long req;
	int want;		/* what it returns once the page is there */
	void *page;
};

static void *call_late(void *arg)
{
	const struct late_call *c = arg;

	EXPECT_EQ(__vdev_ioctl(rig.v.fd, c->req, c->page), c->want);
	return arg;
}

/* Writes to the line when the call waits for the page, and lets it come after an answer. */
static void non_owner_is_late(struct late_call *c, int line)
{
	pthread_t thread;
	char word = 0;

	c->page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	ASSERT(c->page != MAP_FAILED);
	pager_open();
	pager.holds = true;
	pager_take_away(c->page, PAGE);
	ASSERT_EQ(pthread_create(&thread, NULL, call_late, c), 0);
	ASSERT(pager_asked(1, 3000));
	ASSERT_EQ(write(line, &word, 1), 1);
	ASSERT_EQ(read(line, &word, 1), 1);
	pager_go_on();
	ASSERT_EQ(pthread_join(thread, NULL), 0);
}

static bool owner_is_done;

static void *owners_calls(void *arg)
{
	struct vhost_vring_state num = { .index = VDEV_TX, .num = 64 };

	vdev_own(rig.v.fd);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_NUM, &num);
	vdev_ioctl(rig.v.fd, VHOST_GET_VRING_BASE, &num);
	__atomic_store_n(&owner_is_done, true, __ATOMIC_RELEASE);
	return arg;
}

static void owner_does_not_wait(struct late_call c)
{
	pthread_t owner;
	int line[2], status;
	char word;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net's owner waits for it");
	rig.v.fd = vdev_open_node();
	ASSERT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, line));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		close(line[0]);
		non_owner_is_late(&c, line[1]);
		_exit(0);
	}
	close(line[1]);
	if (read(line[0], &word, 1) != 1) {
		waitpid(pid, &status, 0);
		return;		/* it has failed, or skipped */
	}
	ASSERT_EQ(pthread_create(&owner, NULL, owners_calls, NULL), 0);
	if (!WAIT_FOR(5000, __atomic_load_n(&owner_is_done, __ATOMIC_ACQUIRE)))
		FAIL("the owner waits for a page of another process");
	ASSERT_EQ(write(line[0], &word, 1), 1);
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	ASSERT_EQ(pthread_join(owner, NULL), 0);
	close(rig.v.fd);
}

CASE(fault_in_set_fork_from_owner_does_not_block_owner)
{
	vdev_allow_choice();
	/* by then there is an owner */
	owner_does_not_wait((struct late_call){ VHOST_SET_FORK_FROM_OWNER,
						-EBUSY });
}

CASE(fault_in_get_fork_from_owner_does_not_block_owner)
{
	vdev_allow_choice();
	owner_does_not_wait((struct late_call){ VHOST_GET_FORK_FROM_OWNER, 0 });
}

KSFT_MAIN()
