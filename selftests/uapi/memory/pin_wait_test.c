// SPDX-License-Identifier: GPL-2.0
/*
 * Memory that comes late: userfaultfd, as for a guest that runs on while its
 * memory is still on its way (post-copy migration).  The device waits for a
 * page wherever it needs one, and no wait outlives the VMM.
 *
 * @hosts: 6.1
 * @again: kthread
 * @seconds: 5
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

static struct rig rig;

static void open_rig(void)
{
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
}

/*
 * Who pins did not wait for a page before Linux 6.5: then it is as if unpinned,
 * unless somebody else has touched the page before.
 */
static void expect_late_rings(const char *how)
{
	if (!kernel_before(6, 5))
		expect_rings(&rig, how);
}

/* The guest arrives, and of its memory nothing does yet. */
static void postcopy(const char *how)
{
	open_rig();
	pager_open();
	pager_take_away(rig.v.mem, rig.v.mem_size);
	rig_start(&rig);
	EXPECT(pager.pages > 0);
	expect_late_rings(how);
	frames_pass(&rig);
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

CASE(pinned_ring_comes_late)
{
	postcopy("pinned");
}

CASE(unpinned_ring_comes_late)
{
	limit_locked_memory(0);
	postcopy("user");
}

/* The worker pins anew, and has to wait for the ring. */
CASE(ring_goes_and_comes_late)
{
	open_rig();
	rig_start(&rig);
	frames_pass(&rig);
	pager_open();
	pager_take_away(rig.v.mem, VDEV_RING_ZONE);
	vdev_set_mem(&rig.v);
	frames_pass(&rig);
	EXPECT(pager.pages > 0);
	expect_late_rings("pinned");
	rig_close(&rig);
	EXPECT_EQ(pinned_kb(), 0);
}

/*** a VMM that is killed while the device waits ***/

enum waits {
	IN_START,	/* SET_BACKEND, for the ring */
	IN_PIN,		/* the worker, for the ring */
	IN_COPY,	/* the worker, for a packet */
};

struct death {
	enum waits waits;
	bool pager_first;	/* its file is older than the device */
	bool stop;		/* another thread wants to stop the queue */
	bool elsewhere;		/* the pager lives on, in another process */
};

static int stopper;	/* thread that wants to stop the queue */

static void *stop_thread(void *arg)
{
	__atomic_store_n(&stopper, gettid(), __ATOMIC_RELEASE);
	rig_stop(&rig);
	return arg;
}

/* Does it sleep where only what it waits for wakes it? */
static bool stopper_waits(void)
{
	return task_state(getpid(), __atomic_load_n(&stopper,
						    __ATOMIC_ACQUIRE)) == 'D';
}

static void try_to_stop(void)
{
	pthread_t thread;

	ASSERT_EQ(pthread_create(&thread, NULL, stop_thread, NULL), 0);
	ASSERT(WAIT_FOR(3000, stopper_waits()));
}

/* Until the device wants a page that does not come, then tell so. */
static void vmm(const struct death *d, int told)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];

	if (d->pager_first)
		pager_open();
	open_rig();
	if (!d->pager_first)
		pager_open();
	pager.holds = true;
	if (d->waits == IN_START) {
		pager.told = told;
		pager_take_away(rig.v.mem, VDEV_RING_ZONE);
		rig_start(&rig);
		FAIL("started without its ring");
		return;
	}
	rig_start(&rig);
	frames_pass(&rig);
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	if (d->waits == IN_COPY) {
		pager_take_away(q->bufs, q->buf_size * q->buf_num);
		/* Not before: the device may look without a kick. */
		gr_publish(&q->ring);
		ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
	} else {
		gr_publish(&q->ring);
		pager_take_away(rig.v.mem, VDEV_RING_ZONE);
		vdev_set_mem(&rig.v);
	}
	ASSERT(pager_asked(1, 3000));
	if (d->stop)
		try_to_stop();
	pager_tell(told);
}

static void killed(struct death d)
{
	unsigned int threads = workers();
	long before = pages_pinned();
	int p[2], fd, status;
	pid_t pid;

	if (vdev_is_vhost() && d.waits != IN_START)
		ksft_skip("vhost_net may let it hang");
	ASSERT_SYS(pipe(p));
	pid = fork();
	if (!pid) {
		close(p[0]);
		vmm(&d, p[1]);
		for (;;)
			pause();
	}
	close(p[1]);
	if (read(p[0], &fd, sizeof(fd)) != sizeof(fd)) {
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		return;		/* it has failed, or skipped */
	}
	fd = d.elsewhere ? file_of(pid, fd) : -1;
	ASSERT_SYS(kill(pid, SIGKILL));
	if (!WAIT_FOR(5000, waitpid(pid, &status, WNOHANG) == pid))
		FAIL("the VMM cannot be killed");
	/* if it was not, this gives it its pages */
	close(fd);
	no_worker_left(threads);
	EXPECT(WAIT_FOR(3000, pages_pinned() <= before));
}

CASE(killed_in_start)
{
	killed((struct death){ IN_START });
}

CASE(killed_in_start_pager_elsewhere)
{
	killed((struct death){ IN_START, .elsewhere = true });
}

CASE(killed_in_copy)
{
	killed((struct death){ IN_COPY });
}

CASE(killed_in_copy_pager_first)
{
	killed((struct death){ IN_COPY, .pager_first = true });
}

CASE(killed_in_copy_pager_elsewhere)
{
	killed((struct death){ IN_COPY, .elsewhere = true });
}

CASE(killed_in_copy_while_stopping)
{
	killed((struct death){ IN_COPY, .stop = true });
}

CASE(killed_in_copy_while_stopping_pager_elsewhere)
{
	killed((struct death){ IN_COPY, .stop = true, .elsewhere = true });
}

CASE(killed_in_pin)
{
	killed((struct death){ IN_PIN });
}

CASE(killed_in_pin_pager_first)
{
	killed((struct death){ IN_PIN, .pager_first = true });
}

CASE(killed_in_pin_while_stopping_pager_elsewhere)
{
	killed((struct death){ IN_PIN, .stop = true, .elsewhere = true });
}

KSFT_MAIN()
