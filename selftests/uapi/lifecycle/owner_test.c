// SPDX-License-Identifier: GPL-2.0
/*
 * The end of a VMM whose device has other holders, too: a request that is pending
 * in the kernel, a table of open files, a child.  Its memory, the tap and the
 * worker are free at once; the file and the module when no process has it any more.
 * Kernel threads end when the memory of their owner goes.
 *
 * @hosts: 6.1 newest
 * @debug: kasan kcsan
 * @waits: yes
 * @seconds: 23
 * @skip: .*-6\.1 | .*: no threads .* | newer kernels have them
 */
#include <linux/io_uring.h>
#include <net/if.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

#include "flow.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "rig.h"
#include "watched.h"

#define STORE		"/tmp/owner-memory"
#define STORE_SIZE	(32u << 20)

static struct rig rig, other;

/*** memory whose only holder is the VMM's address space ***/

/* A file system of our own reports to the page how much is in use. */
static void store_open(void)
{
	if (mkdir(STORE, 0700) && errno != EEXIST)
		ksft_skip("%s: %s", STORE, strerror(errno));
	if (unshare(CLONE_NEWNS) || mount("none", STORE, "tmpfs", 0, NULL))
		ksft_skip("no tmpfs: %s", strerror(errno));
}

static unsigned long store_used(void)
{
	struct statvfs s;

	ASSERT_SYS(statvfs(STORE, &s));
	return s.f_blocks - s.f_bfree;
}

static void store_map(void)
{
	int fd = ASSERT_SYS(open(STORE "/ram", O_RDWR | O_CREAT, 0600));
	void *p;

	ASSERT_SYS(ftruncate(fd, STORE_SIZE));
	p = mmap(NULL, STORE_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	ASSERT(p != MAP_FAILED);
	memset(p, 1, STORE_SIZE);
	/* a child does not inherit it */
	ASSERT_SYS(madvise(p, STORE_SIZE, MADV_DONTFORK));
	ASSERT_SYS(unlink(STORE "/ram"));
	close(fd);
}

/*** other holders of the device ***/

static void by_aio_poll(void)
{
	aio_poll(rig.v.fd);
}

/* Registered with an io_uring that is mapped, and not open any more. */
static void by_io_uring(void)
{
	struct io_uring_params p = { 0 };
	int fd = syscall(__NR_io_uring_setup, 4, &p);
	void *ring;

	if (fd < 0)
		ksft_skip("no io_uring: %s", strerror(errno));
	ASSERT_SYS(syscall(__NR_io_uring_register, fd, IORING_REGISTER_FILES,
			   &rig.v.fd, 1));
	ring = mmap(NULL, p.sq_off.array + p.sq_entries * sizeof(__u32),
		    PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd,
		    IORING_OFF_SQ_RING);
	ASSERT(ring != MAP_FAILED);
	close(fd);
}

/* What the VMM reports before it is killed. */
struct report {
	char tap[16];
	pid_t child;
};

static pid_t fork_vmm(void (*hold)(void), struct report *told)
{
	int p[2];
	pid_t pid;

	ASSERT_SYS(pipe2(p, O_CLOEXEC));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		close(p[0]);
		rig_open(&rig, &(struct rig_cfg){ 0 });
		flow_one(&rig);
		store_map();
		hold();
		memcpy(told->tap, rig.name, sizeof(told->tap));
		ASSERT_EQ(write(p[1], told, sizeof(*told)), sizeof(*told));
		for (;;)
			pause();
	}
	close(p[1]);
	if (read(p[0], told, sizeof(*told)) != sizeof(*told)) {
		waitpid(pid, NULL, 0);
		ksft_abort();		/* it has failed, or skipped */
	}
	close(p[0]);
	return pid;
}

/* Enters the network namespace of its tap. */
static void enter_network_of(pid_t pid)
{
	char path[64];
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/ns/net", pid);
	fd = ASSERT_SYS(open(path, O_RDONLY | O_CLOEXEC));
	ASSERT_SYS(setns(fd, CLONE_NEWNET));
	close(fd);
}

/*
 * vhost_net holds the address space until the last close, and so memory and tap; and for
 * ever where the holder of the file belongs to that address space.  Should that change, the
 * documentation has to say so.
 */
static void left_by_vhost_net(const struct report *told)
{
	if (WAIT_FOR(1000, !store_used()))
		FAIL("vhost_net releases the memory now");
	EXPECT(if_nametoindex(told->tap));
	EXPECT(module_users());
	ksft_skip("vhost_net: %lu pages of memory, tap and module stay in use",
		  store_used());
}

/* Kills the VMM: what it alone held is free. */
static void kill_vmm(pid_t pid, const struct report *told)
{
	enter_network_of(pid);
	ASSERT(if_nametoindex(told->tap));
	EXPECT_GE(store_used() * 4096, STORE_SIZE);
	kill_child(pid);
	if (vdev_is_vhost())
		left_by_vhost_net(told);
	if (!WAIT_FOR(5000, !workers_of(pid, NULL)))
		FAIL("its worker is left");
	if (!WAIT_FOR(5000, !store_used()))
		FAIL("%lu pages of its memory are left", store_used());
	if (!WAIT_FOR(5000, !if_nametoindex(told->tap)))
		FAIL("its tap is still in use");
}

/* Without the device of the case before, which may not be released yet. */
static unsigned int other_users(void)
{
	if (!WAIT_FOR(5000, !module_users()))
		ksft_note("the module has %u other users", module_users());
	return module_users();
}

/* If the device held the memory: the memory holds the request, which holds the device. */
static void held_by_itself(void (*hold)(void))
{
	unsigned int before = other_users();
	struct report told = { 0 };
	pid_t pid;

	store_open();
	pid = fork_vmm(hold, &told);
	EXPECT_EQ(module_users(), before + 1);
	kill_vmm(pid, &told);
	if (!WAIT_FOR(5000, module_users() == before))
		FAIL("module: %u users, then %u", before, module_users());
	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
}

CASE_ROW_TIMED(killed_with_aio_poll_frees_memory, 40, held_by_itself(by_aio_poll))
CASE_ROW_TIMED(killed_with_io_uring_frees_memory, 40, held_by_itself(by_io_uring))

/*** a child that has the descriptor, too ***/

static struct orders {
	bool look;	/* the owner is dead */
	bool looked;
	bool end;
} *orders;

static bool flag(const bool *p)
{
	return __atomic_load_n(p, __ATOMIC_ACQUIRE);
}

static void raise_flag(bool *p)
{
	__atomic_store_n(p, true, __ATOMIC_RELEASE);
}

/* A child that outlives the owner may close the device, and nothing else. */
static void outlive(void)
{
	uint64_t features;
	unsigned int i;

	close(rig.tap);
	munmap(rig.v.mem, rig.v.mem_size);
	while (!flag(&orders->look))
		ksft_relax(1000);
	for (i = 0; i < 2; i++) {
		struct vdev_queue *q = &rig.v.q[i];
		struct vhost_vring_state s = { .index = i, .num = 256 };

		/* the error eventfd signals that the queue will not go on */
		ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
		EXPECT(vdev_eventfd_wait(q->err, 3000));
		EXPECT_EQ(__vdev_backend(&rig.v, i, -1), -EPERM);
		EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_VRING_NUM, &s),
			  -EPERM);
	}
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_GET_FEATURES, &features), 0);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_SET_OWNER, NULL), -EBUSY);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL), -EPERM);
	for (i = 0; i < 2; i++) {
		close(rig.v.q[i].kick);
		close(rig.v.q[i].call);
		close(rig.v.q[i].err);
	}
	raise_flag(&orders->looked);
	while (!flag(&orders->end))
		ksft_relax(1000);
	close(rig.v.fd);
	_exit(0);
}

static void by_child(void)
{
	if (!fork())
		outlive();
}

static void outlived(const char *kind)
{
	unsigned int before = other_users(), first = eventfd_number();
	struct report told = { 0 };
	pid_t pid;
	int fd;

	choose_worker(kind);
	store_open();
	orders = mmap(NULL, sizeof(*orders), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	ASSERT(orders != MAP_FAILED);
	pid = fork_vmm(by_child, &told);
	kill_vmm(pid, &told);
	EXPECT_EQ(module_users(), before + 1);
	raise_flag(&orders->look);
	EXPECT(WAIT_FOR(10000, flag(&orders->looked)));
	/* of each queue's three eventfds, the kick, the first one, is released */
	EXPECT(WAIT_FOR(3000, eventfd_number() <= first));
	fd = vdev_eventfd();
	EXPECT(WAIT_FOR(3000, eventfd_number() <= first + 3));
	close(fd);
	raise_flag(&orders->end);
	if (!WAIT_FOR(5000, module_users() == before))
		FAIL("module: %u users, then %u", before, module_users());
}

CASE_ROW_TIMED(killed_with_child_and_task_frees_memory, 40, outlived("task"))
CASE_ROW_TIMED(killed_with_child_and_kthread_frees_memory, 40, outlived("kthread"))

/*** another program, which has the descriptor, too ***/

static bool by_main_thread;

static void execute(int sig)
{
	execlp("sleep", "sleep", "1000", NULL);
	_exit(1);
}

static void *pause_for_ever(void *arg)
{
	while (pause())
		;
	return NULL;
}

/* The thread that takes the signal executes, beside three others. */
static void by_next_program(void)
{
	sigset_t set;
	pthread_t t;
	int i;

	ASSERT_SYS(fcntl(rig.v.fd, F_SETFD, 0));
	ASSERT(signal(SIGUSR1, execute) != SIG_ERR);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(pthread_create(&t, NULL, pause_for_ever, NULL), 0);
	pthread_sigmask(SIG_UNBLOCK, &set, NULL);
	if (by_main_thread)
		return;
	ASSERT_EQ(pthread_create(&t, NULL, pause_for_ever, NULL), 0);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void executes(const char *kind, bool main_thread)
{
	unsigned int before = module_users(), i;
	struct report told = { 0 };
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net keeps the memory until the last close");
	choose_worker(kind);
	by_main_thread = main_thread;
	store_open();
	for (i = 0; i < 2 && !ksft_failed(); i++) {
		pid = fork_vmm(by_next_program, &told);
		ASSERT_SYS(kill(pid, SIGUSR1));
		if (!WAIT_FOR(5000, !workers_of(pid, NULL)))
			FAIL("its worker is left");
		if (!WAIT_FOR(5000, !store_used()))
			FAIL("%lu pages of its memory are left", store_used());
		EXPECT_EQ(module_users(), before + 1);
		kill_child(pid);
		EXPECT(WAIT_FOR(5000, module_users() == before));
	}
}

CASE_ROW_TIMED(exec_by_main_thread_frees_memory, 40, executes("task", true))
CASE_ROW_TIMED(exec_by_other_thread_frees_memory, 40, executes("task", false))
CASE_ROW_TIMED(exec_with_kthread_frees_memory, 40, executes("kthread", true))

/* A thread with a table of open files of its own, which is closed when it exits. */
static void *close_ones_own(void *arg)
{
	*(pid_t *)arg = gettid();
	if (unshare(CLONE_FILES))
		FAIL("no files of one's own: %s", strerror(errno));
	return NULL;
}

static void thread_exits(const char *kind)
{
	pthread_t thread;
	pid_t tid = 0;

	choose_worker(kind);
	rig_open(&rig, &(struct rig_cfg){ 0 });
	flow_one(&rig);
	ASSERT_EQ(pthread_create(&thread, NULL, close_ones_own, &tid), 0);
	pthread_join(thread, NULL);
	ASSERT(WAIT_FOR(3000, !task_state(getpid(), tid)));
	flow_one(&rig);
	rig_close(&rig);
}

CASE_ROW(thread_exit_keeps_task, thread_exits("task"))
CASE_ROW(thread_exit_keeps_kthread, thread_exits("kthread"))

static int own_and_exit(void *fd)
{
	vdev_own(*(int *)fd);
	_exit(0);
}

/*
 * A process with the same memory counts as the owner: it resets the device after the worker
 * has ended with the process that called SET_OWNER, and starts again.
 */
CASE(owner_process_exit_allows_reset)
{
	static uint8_t stack[1 << 16] __attribute__((aligned(16)));
	unsigned int before = workers(), i;
	struct vdev *v = &rig.v;
	int status;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("vhost_net's worker is gone for good");
	/* kernel threads serve for as long as the memory is there */
	choose_worker("task");
	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	rig_disown(&rig);
	no_worker_left(before);
	pid = ASSERT_SYS(clone(own_and_exit, stack + sizeof(stack), CLONE_VM | CLONE_VFORK | SIGCHLD,
			       &v->fd));
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	ASSERT_EQ(status, 0);
	no_worker_left(before);
	EXPECT_EQ(__vdev_ioctl(v->fd, VHOST_SET_OWNER, NULL), -EBUSY);
	/* there is no worker to serve it */
	vdev_set_features(v, v->features);
	vdev_set_mem(v);
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(__vdev_queue_tell(v, i, 0), -EIO);
		EXPECT_EQ(__vdev_backend(v, i, rig.tap), -EIO);
	}
	vdev_ioctl(v->fd, VHOST_RESET_OWNER, NULL);
	rig_take_over(&rig);
	flow_one(&rig);
	rig_close(&rig);
}

/*** an owner of kernel threads that has passed its devices on and closed them ***/

/* The userfaultfd of the owner's memory: its number in the owner, then ours. */
static int pages_from = -1;

/* The pages of the send buffers are missing, and do not come. */
static void be_late(const struct rig *r)
{
	const struct vdev_queue *q = &r->v.q[VDEV_TX];
	size_t len = (q->buf_size * q->buf_num + PAGE - 1) & ~(PAGE - 1);
	/* in the device's view of the memory */
	uint8_t *bufs = r->v.host + (q->bufs - r->v.mem);

	pager_open();
	pager_take_away_for_ever(bufs, len);
	ASSERT_SYS(madvise(bufs, len, MADV_REMOVE));
	pages_from = pager.fd;
}

/* A process that becomes the owner of our devices, and closes them before this returns, or not. */
static pid_t fork_owner(struct rig *const *r, unsigned int n, bool late, bool closes)
{
	int p[2];
	pid_t pid;

	ASSERT_SYS(pipe2(p, O_CLOEXEC));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		while (n--) {
			rig_take_over(r[n]);
			if (closes)
				close(r[n]->v.fd);
		}
		if (late)
			be_late(r[0]);
		ASSERT_EQ(write(p[1], &pages_from, sizeof(pages_from)), sizeof(pages_from));
		for (;;)
			pause();
	}
	close(p[1]);
	if (read(p[0], &pages_from, sizeof(pages_from)) != sizeof(pages_from))
		ksft_skip("no userfaultfd");
	close(p[0]);
	if (late)
		pages_from = file_of(pid, pages_from);
	return pid;
}

/* A device that has no owner yet, whose full ring takes long to send. */
static void open_for_another(struct rig *r, bool here)
{
	rig_open(r, &(struct rig_cfg){ .num = GR_NUM_MAX, .bufs = 1, .tx_buf = 66000,
				       .stopped = true, .here = here });
	rig_disown(r);
}

/* Devices for an owner in another process, with kernel threads. */
static void begin_kthread(struct rig *const *r, unsigned int n)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net keeps the memory until the last close");
	choose_worker("kthread");
	for (i = 0; i < n; i++)
		open_for_another(r[i], i);
}

static pid_t serve_another(struct rig *const *r, unsigned int n)
{
	begin_kthread(r, n);
	return fork_owner(r, n, false, true);
}

/* Fills the ring with frames, all of them the same memory. */
static int fill_ring(struct rig *r)
{
	struct vdev_queue *q = &r->v.q[VDEV_TX];
	const uint32_t len = 60000;
	struct gr_buf buf = { q->bufs, r->v.hdr_len + len, false };
	int n = 0;

	frame_make(q->bufs + r->v.hdr_len, 0, len);
	while (gr_add(&q->ring, &buf, 1, GR_ALL_DIRECT, q) >= 0)
		n++;
	EXPECT_OP(n, >, 10000);
	return n;
}

/*
 * The owner has closed the devices and is killed. Kernel threads at work end their poll, leave
 * its memory, and exit; so do idle ones.
 */
static void killed_amid_work(unsigned int n_devices)
{
	struct rig *const r[] = { &rig, &other };
	pid_t owner;
	unsigned int i;

	owner = serve_another(r, n_devices);
	for (i = 0; i < n_devices; i++)
		fill_ring(r[i]);
	for (i = 0; i < n_devices; i++)
		vdev_kick_always(&r[i]->v.q[VDEV_TX]);
	for (i = 0; i < n_devices; i++)
		EXPECT(WAIT_FOR(3000, rig_counter(r[i], "kvnet.tx.packets") > 0));
	EXPECT_EQ(workers_of(owner, NULL), 2 * n_devices);
	kill_child(owner);
	for (i = 0; i < n_devices; i++)
		EXPECT(vdev_eventfd_wait(r[i]->v.q[VDEV_TX].err, 20000));
	EXPECT(WAIT_FOR(3000, !workers_of(owner, NULL)));
	for (i = 0; i < n_devices; i++)
		rig_close(r[i]);
}

CASE_ROW_TIMED(killed_with_kthread_at_work_ends_kthread, 40, killed_amid_work(1))

/* The threads of both use the memory; none of them keeps it for the others. */
CASE_ROW_TIMED(killed_with_two_devices_at_work_ends_kthreads, 40, killed_amid_work(2))

/* No thread uses the memory when the owner dies. */
static void killed_meanwhile(bool kick)
{
	struct rig *const r[] = { &rig };
	pid_t owner;

	owner = serve_another(r, 1);
	wait_workers_idle(owner);
	kill_child(owner);
	if (kick)
		vdev_kick_always(&rig.v.q[VDEV_TX]);
	EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_TX].err, 3000));
	EXPECT(WAIT_FOR(3000, !workers_of(owner, NULL)));
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	rig_close(&rig);
}

/* A thread that is woken later does not use the memory any more. */
CASE_ROW_TIMED(killed_and_kicked_ends_kthread, 40, killed_meanwhile(true))

/* Memory and tap are released without a kick. */
CASE_ROW_TIMED(killed_without_kick_ends_kthread, 40, killed_meanwhile(false))

/*
 * A thread waits for a page of the dead owner, which this process has to supply, and keeps the
 * memory until then.
 */
CASE_TIMED(killed_with_kthread_in_page_fault_ends_kthread, 40)
{
	struct rig *const r[] = { &rig };
	struct pollfd asked = { .events = POLLIN };
	pid_t owner;

	begin_kthread(r, 1);
	fill_ring(&rig);
	owner = fork_owner(r, 1, true, true);
	asked.fd = pages_from;
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	ASSERT_EQ(poll(&asked, 1, 3000), 1);
	kill_child(owner);
	close(pages_from);
	EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_TX].err, 20000));
	EXPECT(WAIT_FOR(3000, !workers_of(owner, NULL)));
	rig_close(&rig);
}

KSFT_MAIN()
