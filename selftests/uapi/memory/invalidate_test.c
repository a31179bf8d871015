// SPDX-License-Identifier: GPL-2.0
/*
 * The owner's memory changes all the time: eight threads drop a large area again and again, and
 * one invalidation has not ended when the next one begins. Neither a last close, by another
 * process or by the kernel itself, nor a frame waits for them.
 *
 * @hosts: 6.1 6.12
 * @seconds: 8
 */
#include <linux/if_tun.h>
#include <net/if.h>
#include <sys/resource.h>

#include "procfs.h"
#include "rx_inline_rig.h"

#define THREADS		8
#define AREA		(8ul << 30)
#define TABLE		(2ul << 20)	/* what one page table covers */
#define PIPES		3

/*** the owner ***/

static struct {
	uint8_t *area;
	pthread_t thread[THREADS];
	pthread_barrier_t begin;
	bool over;
} changes;

/* Each is in the midst of a call nearly always, whether it runs or another task does. */
static void *drop_area(void *arg)
{
	/* the test's other tasks do not wait for a CPU */
	setpriority(PRIO_PROCESS, gettid(), 19);
	pthread_barrier_wait(&changes.begin);
	while (!__atomic_load_n(&changes.over, __ATOMIC_RELAXED))
		ASSERT_SYS(madvise(changes.area, AREA, MADV_DONTNEED));
	return arg;
}

/* The page tables stay when the pages go, and the kernel looks through all of them. */
static void changes_begin(void)
{
	volatile uint8_t *at;
	unsigned int i;

	changes.area = mmap(NULL, AREA, PROT_READ,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	ASSERT(changes.area != MAP_FAILED);
	/* refused where there are none */
	madvise(changes.area, AREA, MADV_NOHUGEPAGE);
	for (at = changes.area; at < changes.area + AREA; at += TABLE)
		(void)*at;
	pthread_barrier_init(&changes.begin, NULL, THREADS + 1);
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(pthread_create(&changes.thread[i], NULL, drop_area, NULL), 0);
	pthread_barrier_wait(&changes.begin);
}

static void changes_end(void)
{
	unsigned int i;

	__atomic_store_n(&changes.over, true, __ATOMIC_RELAXED);
	for (i = 0; i < THREADS; i++)
		pthread_join(changes.thread[i], NULL);
	munmap(changes.area, AREA);
}

/* Writes its rig to 'tell'; closes the device when 'go' can be read. */
static void be_owner(int tell, int go)
{
	char c;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (!vdev_is_vhost()) {
		/* the device has a notifier as soon as it caches a page */
		rx_inline_ready();
		rx_inline_warm_up();
	}
	ASSERT_SYS(ioctl(rig.tap, TUNSETPERSIST, 1));
	ASSERT_EQ(write(tell, &rig, sizeof(rig)), sizeof(rig));
	ASSERT_EQ(read(go, &c, 1), 1);
	close(rig.v.fd);
	close(rig.tap);
	changes_begin();
	ASSERT_EQ(write(tell, &c, 1), 1);
	for (;;)
		pause();
}

/*** the last holder ***/

/* Leaves open files to the kernel alone, which closes them when it next collects garbage. */
static void leave_to_kernel(int fd)
{
	union {
		struct cmsghdr align;
		char at[CMSG_SPACE(2 * sizeof(int))];
	} control = { 0 };
	char c = 0;
	struct iovec iov = { &c, 1 };
	struct msghdr m = {
		.msg_iov = &iov, .msg_iovlen = 1,
		.msg_control = &control, .msg_controllen = sizeof(control),
	};
	struct cmsghdr *h = CMSG_FIRSTHDR(&m);
	int s[2];

	ASSERT_SYS(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s));
	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(2 * sizeof(int));
	/* the second socket is in its own queue */
	memcpy(CMSG_DATA(h), (int[]){ s[1], fd }, 2 * sizeof(int));
	ASSERT_EQ(sendmsg(s[0], &m, 0), 1);
	close(fd);
	close(s[1]);
	close(s[0]);
}

/* Has the kernel collect again. */
static void collect_garbage(void)
{
	close(ASSERT_SYS(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)));
}

static void close_it(int fd)
{
	close(fd);
}

static void hold_device(pid_t owner, int fd, void (*end)(int fd), int tell, int go)
{
	char c = 0;

	fd = file_of(owner, fd);
	ASSERT_EQ(write(tell, &c, 1), 1);
	ASSERT_EQ(read(go, &c, 1), 1);
	end(fd);
	_exit(0);
}

/*** the test ***/

static struct {
	pid_t owner;
	pid_t holder;
	int holder_goes;
} others;

/* The owner's memory changes, and another process alone has the device; it closes it by end(). */
static void others_begin(void (*end)(int fd))
{
	int tell[2], go[2], holder_tells[2], holder_goes[2], pidfd;
	char c = 0;

	ASSERT(!pipe(tell) && !pipe(go) && !pipe(holder_tells) && !pipe(holder_goes));
	others.owner = ASSERT_SYS(fork());
	if (!others.owner)
		be_owner(tell[1], go[0]);
	close(tell[1]);
	if (read(tell[0], &rig, sizeof(rig)) != sizeof(rig))
		ksft_abort();	/* the owner has printed why */
	others.holder = ASSERT_SYS(fork());
	if (!others.holder)
		hold_device(others.owner, rig.v.fd, end, holder_tells[1], holder_goes[0]);
	ASSERT_EQ(read(holder_tells[0], &c, 1), 1);
	others.holder_goes = holder_goes[1];
	ASSERT_EQ(write(go[1], &c, 1), 1);
	ASSERT_EQ(read(tell[0], &c, 1), 1);
	pidfd = ASSERT_SYS(syscall(SYS_pidfd_open, others.owner, 0));
	ASSERT_SYS(setns(pidfd, CLONE_NEWNET));
	close(pidfd);
}

static void holder_ends(void)
{
	char c = 0;

	ASSERT_EQ(write(others.holder_goes, &c, 1), 1);
}

/* The device has the tap as long as it exists. */
static bool tap_is_free(void)
{
	struct ifreq ifr = { .ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR };
	int fd = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
	bool ret;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", rig.name);
	ret = !ioctl(fd, TUNSETIFF, &ifr);
	if (ret)
		ioctl(fd, TUNSETPERSIST, 0);
	close(fd);
	return ret;
}

static void device_is_gone(void)
{
	if (!WAIT_FOR(3000, (collect_garbage(), tap_is_free())))
		FAIL("the device still has the tap");
	if (!WAIT_FOR(3000, !workers_of(others.owner, NULL)))
		FAIL("the device still has workers");
}

/* A task that waits for the owner's memory goes on then. */
static void owner_dies(void)
{
	ASSERT_SYS(kill(others.owner, SIGKILL));
	EXPECT(WAIT_FOR(5000, child_ended(others.owner, NULL)));
}

CASE(last_close_by_another_process_does_not_wait)
{
	others_begin(close_it);
	holder_ends();
	if (!WAIT_FOR(3000, child_ended(others.holder, NULL)))
		FAIL("the last close has not returned");
	device_is_gone();
	owner_dies();
}

static bool has_no_writer(int fd)
{
	struct pollfd p = { .fd = fd };

	return poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

/* The kernel closes them in the same task as the device, one after the other. */
static void pipes_end(void)
{
	unsigned int i;
	int p[2];

	for (i = 0; i < PIPES && !ksft_failed(); i++) {
		ASSERT_SYS(pipe2(p, O_CLOEXEC));
		leave_to_kernel(p[1]);
		if (!WAIT_FOR(3000, (collect_garbage(), has_no_writer(p[0]))))
			FAIL("a pipe does not end, though the kernel has its last writer");
		close(p[0]);
	}
}

CASE(last_close_by_the_kernel_does_not_wait)
{
	others_begin(leave_to_kernel);
	holder_ends();
	if (!WAIT_FOR(3000, child_ended(others.holder, NULL)))
		FAIL("the last holder has not ended");
	pipes_end();
	device_is_gone();
	owner_dies();
}

/* Does each fill of the cache find an invalidation in progress? */
static bool frames_are_left_to_the_worker(uint8_t *pool, size_t len)
{
	long missed = rx_inline_counter("kvnet.rx.inline_skip_uncached");

	ASSERT_SYS(madvise(pool, len, MADV_DONTNEED));
	memset(rx->bufs, RX_CANARY, rx->buf_num * rx->buf_size);
	rx_inline_some(8, 60);
	return rx_inline_counter("kvnet.rx.inline_skip_uncached") >= missed + 4 &&
	       !rx_inline_counter("kvnet.pages_cached");
}

/* No page is cached meanwhile: the worker receives the frames, and does not wait. */
CASE(frames_during_invalidations_go_to_the_worker)
{
	bool left = false;
	unsigned int i;
	uint8_t *pool;
	size_t len;

	rx_inline_begin_private();
	/* registers the notifier, at a moment without a change */
	rx_inline_warm_up();
	pool = rx_inline_pool(&len);
	changes_begin();
	/* Between two changes a fill succeeds: that of a try, not of all. */
	for (i = 0; i < 50 && !left; i++)
		left = frames_are_left_to_the_worker(pool, len);
	EXPECT(left);
	changes_end();
	rx_inline_warm_up();
	EXPECT_OP(rx_inline_counter("kvnet.pages_cached"), >, 0);
	rig_close(&rig);
}

KSFT_MAIN()
