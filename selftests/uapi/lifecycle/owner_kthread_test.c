// SPDX-License-Identifier: GPL-2.0
/*
 * An owner that has passed its devices on and closed them is killed: its kernel threads
 * end when its memory goes.
 *
 * @hosts: 6.1
 * @debug: kasan kcsan
 * @waits: yes
 * @seconds: 12
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "rig.h"

static struct rig rig, other;
/* Where the owner's memory comes from late: its number there, and ours. */
static int pages_from = -1;

/* What is to be sent is not there, and does not come. */
static void be_late(const struct rig *r)
{
	const struct vdev_queue *q = &r->v.q[VDEV_TX];
	size_t len = (q->buf_size * q->buf_num + PAGE - 1) & ~(PAGE - 1);
	/* where the device is told that the memory is */
	uint8_t *bufs = r->v.host + (q->bufs - r->v.mem);

	pager_open();
	pager_take_away_for_ever(bufs, len);
	ASSERT_SYS(madvise(bufs, len, MADV_REMOVE));
	pages_from = pager.fd;
}

/* Becomes the owner of our devices, and has closed them when it says so, or keeps them. */
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

/* A device that has no owner yet, whose guest can send for long. */
static void open_for_another(struct rig *r, bool here)
{
	rig_open(r, &(struct rig_cfg){ .num = GR_NUM_MAX, .bufs = 1, .tx_buf = 66000,
				       .stopped = true, .here = here });
	rig_disown(r);
}

/* By kernel threads. */
static void begin(struct rig *const *r, unsigned int n)
{
	unsigned int i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net keeps the memory until the last close");
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	for (i = 0; i < n; i++)
		open_for_another(r[i], i);
}

static pid_t serve_another(struct rig *const *r, unsigned int n)
{
	begin(r, n);
	return fork_owner(r, n, false, true);
}

/* As many frames as there is room for, all of them the same. */
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
 * The owner has closed the devices and is killed. Kernel threads that are amid work do that, leave its
 * memory, and end then; so do those that have none.
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
	ASSERT_SYS(kill(owner, SIGKILL));
	ASSERT_EQ(waitpid(owner, NULL, 0), owner);
	for (i = 0; i < n_devices; i++)
		EXPECT(vdev_eventfd_wait(r[i]->v.q[VDEV_TX].err, 20000));
	EXPECT(WAIT_FOR(3000, !workers_of(owner, NULL)));
	for (i = 0; i < n_devices; i++)
		rig_close(r[i]);
}

CASE_TIMED(killed_amid_work_of_another, 40)
{
	killed_amid_work(1);
}

/* The threads of each are in its memory; none of them keeps it for another. */
CASE_TIMED(killed_amid_work_of_two_devices, 40)
{
	killed_amid_work(2);
}

/* No thread was in its memory when it died. */
static void killed_meanwhile(bool kick)
{
	struct rig *const r[] = { &rig };
	pid_t owner;

	owner = serve_another(r, 1);
	wait_workers_idle(owner);
	ASSERT_SYS(kill(owner, SIGKILL));
	ASSERT_EQ(waitpid(owner, NULL, 0), owner);
	if (kick)
		vdev_kick_always(&rig.v.q[VDEV_TX]);
	EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_TX].err, 3000));
	EXPECT(WAIT_FOR(3000, !workers_of(owner, NULL)));
	EXPECT(!strcmp(ring_is(&rig, "kvnet.tx.access"), "user"));
	rig_close(&rig);
}

/* A thread that is woken later does not enter what is left. */
CASE_TIMED(killed_before_a_kick, 40)
{
	killed_meanwhile(true);
}

/* Nor do its memory and the tap wait for that. */
CASE_TIMED(killed_and_nothing_comes, 40)
{
	killed_meanwhile(false);
}

/*
 * One thread waits for a page of the dead owner's, which only this process has, and keeps its memory
 * until then.
 */
CASE_TIMED(killed_while_one_waits_for_a_page, 40)
{
	struct rig *const r[] = { &rig };
	struct pollfd asked = { .events = POLLIN };
	pid_t owner;

	begin(r, 1);
	fill_ring(&rig);
	owner = fork_owner(r, 1, true, true);
	asked.fd = pages_from;
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	ASSERT_EQ(poll(&asked, 1, 3000), 1);
	ASSERT_SYS(kill(owner, SIGKILL));
	ASSERT_EQ(waitpid(owner, NULL, 0), owner);
	close(pages_from);
	EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_TX].err, 20000));
	EXPECT(WAIT_FOR(3000, !workers_of(owner, NULL)));
	rig_close(&rig);
}

KSFT_MAIN()
