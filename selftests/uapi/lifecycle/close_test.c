// SPDX-License-Identifier: GPL-2.0
/*
 * The last close of a device.  By a process that it has been passed to, while its owner lives
 * and its workers cannot run: the close does not wait for them.  As soon as it has a worker,
 * even before that first runs, also while the guest's memory does not come (userfaultfd).
 * And by a worker that answers a request of asynchronous I/O: it never returns to user
 * space, where such a file would be released.
 *
 * @hosts: 6.1 6.12 newest
 * @debug: kasan kcsan
 * @waits: yes
 * @seconds: 21
 * @skip: uapi-uml.* | .*: no controller cpu: .* | the test hosts have it
 * @skip: .* | .*: no freezer of version 1.* | not every kernel is built with it
 * @skip: .*-6\.1 | .*: no threads .* | newer kernels have them
 */
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/ptrace.h>

#include "cgroup.h"
#include "flow.h"
#include "genl.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "rig.h"
#include "vmm.h"
#include "watched.h"

#define MANY	90
#define FIRST	100	/* descriptor of theirs */

static struct rig rig;
static struct cgroup group;
static pid_t owner;

/* How the workers are kept from running, and how they go on. */
struct way {
	void (*open)(void);
	bool (*stopped)(const struct worker *w);
	void (*go_on)(void);
	unsigned int more;		/* devices, with the descriptors that follow */
};

/* The owner: writes the number of its device to tell, and closes it when go is closed. */
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

/* The last holder: has the devices of the owner until go is closed. */
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

/* Returns the last holder of the devices, which closes them when *last_goes is closed. */
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
		ksft_abort();	/* the owner has said why */
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

/* The network namespace where netlink shows the devices. */
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
	kill_child(owner);
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

/* The worker that a debugger stops, alone. */
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

CASE(last_close_with_owner_stopped_returns)
{
	choose_worker("task");
	last_close(&(struct way){ open_it, by_a_signal, go_on });
}

static void leave_it(void)
{
	ASSERT_SYS(ptrace(PTRACE_DETACH, traced, NULL, NULL));
}

CASE(last_close_with_worker_traced_returns)
{
	choose_worker("task");
	last_close(&(struct way){ open_it, by_a_debugger, leave_it });
}

/*** frozen ***/

static bool by_a_freezer(const struct worker *w)
{
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
	choose_worker("task");
	cgroup_make(&group, NULL);
	last_close(way);
	cgroup_remove(&group);
}

CASE_ROW(last_close_with_owner_frozen_returns,
	frozen(&(struct way){ open_in_group, by_a_freezer, thaw }))
CASE_ROW(last_close_with_owner_frozen_and_killed_returns,
	frozen(&(struct way){ open_in_group, by_a_freezer, kill_it }))

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

CASE_ROW(last_close_of_many_with_owner_frozen_returns,
	frozen(&(struct way){ open_many_in_group, by_a_freezer, thaw, .more = MANY }))

/* Only the freezer of cgroup v1 freezes kernel threads. */
CASE(last_close_with_kthread_frozen_returns)
{
	choose_worker("kthread");
	cgroup_make_old(&group, "freezer");
	last_close(&(struct way){ open_in_group, by_a_freezer, thaw });
	cgroup_remove(&group);
}

/*** what is free when close() has returned ***/

/* Fails with -EBUSY as long as the device has the tap. */
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

	choose_worker(kind);
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

CASE_ROW_TIMED(close_with_task_frees_tap, 60, tap_is_free("task"))
CASE_ROW_TIMED(close_with_kthread_frees_tap, 60, tap_is_free("kthread"))

/*** devices that are closed as soon as they have a worker ***/

/* Stopped, with a frame to send; late: its page does not come. */
static void open_late(bool late)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	if (vdev_is_vhost())
		ksft_skip("vhost_net may let it hang");
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	gr_publish(&q->ring);
	if (late) {
		pager_open();
		pager_take_away_for_ever(q->bufs, q->buf_size * q->buf_num);
	}
	close(rig.v.fd);
}

/* Starts a new device in the place of the last one. */
static void start_another(void)
{
	rig.v.fd = vdev_open_node();
	rig_take_over(&rig);
}

/* The worker first runs when the close waits for it, or after that. */
static void closed_at_once(const char *kind, bool late)
{
	unsigned int before = workers(), n = ksft_rounds(100), i;

	choose_worker(kind);
	open_late(late);
	/* before its workers */
	run_first(true);
	for (i = 0; i < n && !ksft_failed(); i++) {
		start_another();
		close(rig.v.fd);
	}
	no_worker_left(before);
}

CASE_ROW_TIMED(early_close_with_task_leaves_no_worker, 60, closed_at_once("task", false))
CASE_ROW_TIMED(early_close_with_kthread_leaves_no_worker, 60, closed_at_once("kthread", true))

/*
 * SET_BACKEND does not wait for the worker that it has woken. The caller is SCHED_IDLE: the
 * worker runs as soon as it is woken, and waits for the page.
 */
static void set_backends(void)
{
	const struct sched_param param = { 0 };

	open_late(true);
	ASSERT_SYS(sched_setscheduler(0, SCHED_IDLE, &param));
	start_another();
}

static void backend_is_set(const char *kind)
{
	unsigned int k;

	if (vdev_is_vhost())
		ksft_skip("vhost_net may let it hang");
	choose_worker(kind);
	for (k = 0; k < 4 && !ksft_failed(); k++)
		in_child(set_backends);
}

CASE_ROW(set_backend_with_task_waiting_returns, backend_is_set("task"))
CASE_ROW(set_backend_with_kthread_waiting_returns, backend_is_set("kthread"))

static void late_vmm(int ready)
{
	open_late(true);
	close(ready);
	start_another();
	for (;;)
		pause();
}

static void killed_at_once(const char *kind)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net may let it hang");
	choose_worker(kind);
	vmm_killed_often(late_vmm, ksft_rounds(30), 2000);
}

CASE_ROW_TIMED(early_kill_with_task_leaves_no_worker, 60, killed_at_once("task"))
CASE_ROW_TIMED(early_kill_with_kthread_leaves_no_worker, 60, killed_at_once("kthread"))

/*** files whose last holder is a request that a worker answers ***/

/* Maps the rings in the IOTLB, and nothing else. */
static void map_rings(const struct vdev *v)
{
	struct vhost_msg_v2 m = {
		.type = VHOST_IOTLB_MSG_V2,
		.iotlb = {
			.iova = VDEV_GPA, .size = VDEV_RING_ZONE,
			.uaddr = (uintptr_t)v->mem, .perm = VHOST_ACCESS_RW,
			.type = VHOST_IOTLB_UPDATE,
		},
	};
	uint64_t v2 = 1 << VHOST_BACKEND_F_IOTLB_MSG_V2;

	vdev_ioctl(v->fd, VHOST_SET_BACKEND_FEATURES, &v2);
	ASSERT_EQ(write(v->fd, &m, sizeof(m)), (ssize_t)sizeof(m));
}

/* The request alone holds the device, and the worker completes it by an IOTLB miss. */
static void ask_by_the_worker(void)
{
	struct vdev_queue *tx = &rig.v.q[VDEV_TX];
	aio_context_t ctx;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .features = F_V1 | F_PLATFORM });
	vdev_no_spin(&rig.v);
	map_rings(&rig.v);
	rig_start(&rig);
	wait_worker_idle();
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	gr_publish(&tx->ring);
	ctx = aio_poll(rig.v.fd);
	close(rig.v.fd);
	ASSERT_EQ(write(tx->kick, &(uint64_t){ 1 }, 8), 8);
	aio_told(ctx);
}

/* A worker that released its own device would wait for its own end. */
CASE_TIMED(device_held_by_aio_alone_is_released, 40)
{
	unsigned int before;
	char c = 0, by_vcpu;
	int p[2];
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("an owner of such a device of vhost_net cannot be killed");
	/* with inline TX the vCPU thread would hold the device, too, for a moment */
	by_vcpu = vdev_parameter("tx_inline", '0');
	before = module_users();
	ASSERT_SYS(pipe2(p, O_CLOEXEC));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		ask_by_the_worker();
		ASSERT_EQ(write(p[1], &c, 1), 1);
		for (;;)
			pause();
	}
	ASSERT_EQ(read(p[0], &c, 1), 1);
	vdev_parameter("tx_inline", by_vcpu);
	if (!WAIT_FOR(5000, module_users() == before))
		FAIL("module: %u users, then %u", before, module_users());
	kill_child(pid);
}

/* Eventfds that a request alone holds, which the worker's signal completes. */
CASE(eventfds_held_by_aio_alone_are_released)
{
	unsigned int i, first;
	struct vhost_vring_file f = { .index = VDEV_RX };
	static uint8_t frame[FRAME_MAX];
	aio_context_t ctx;

	if (vdev_is_vhost())
		ksft_skip("vhost_net keeps them until its end");
	vdev_parameter("rx_inline", '0');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	rig_rx_post(&rig, 64, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	first = eventfd_number();
	for (i = 0; i < 16 && !ksft_failed(); i++) {
		f.fd = vdev_eventfd();
		vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL, &f);
		ctx = aio_poll(f.fd);
		close(f.fd);
		gr_call_on(&rig.v.q[VDEV_RX].ring, 0);
		rig_inject(&rig, i, 60);
		aio_told(ctx);
		EXPECT(rig_rx(&rig, NULL, frame, sizeof(frame), 3000) > 0);
	}
	f.fd = rig.v.q[VDEV_RX].call;
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL, &f);
	if (!WAIT_FOR(3000, eventfd_number() <= first + 2))
		FAIL("the number of an eventfd is %u, and was %u before", eventfd_number(), first);
	rig_close(&rig);
}

KSFT_MAIN()
