// SPDX-License-Identifier: GPL-2.0
/*
 * share_workers: whose turn it is. A page that does not come (userfaultfd) holds a turn as long
 * as the test likes: so who waits for whom is no matter of chance.
 */
#define _GNU_SOURCE
#include <linux/vhost.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "genl.h"
#include "pager.h"
#include "procfs.h"
#include "share_rig.h"
#include "vmm.h"

VDEV_ONE_THREAD()

/*** a device that waits for a page ***/

/* The guest has told of a frame: nobody looks before the buffers are missing. */
static void publish(unsigned int i)
{
	struct vdev_queue *q = &sharer[i].v.q[VDEV_TX];

	gr_publish(&q->ring);
	ASSERT_EQ(write(q->kick, &(uint64_t){ 1 }, 8), 8);
}

/* The first one's turn waits, and nobody is going to bring the page. */
static void get_stuck(void)
{
	struct vdev_queue *rx = &sharer[0].v.q[VDEV_RX], *tx = &sharer[0].v.q[VDEV_TX];

	pager_open();
	pager.holds = true;
	ASSERT_EQ(rig_tx(&sharer[0], 1000, NULL), 0);
	ASSERT(rx->bufs < tx->bufs);
	pager_take_away(rx->bufs, tx->bufs + tx->buf_size * tx->buf_num - rx->bufs);
	publish(0);
	ASSERT(pager_asked(1, 3000));
}

/* More than the thread that kicks sends by itself. */
static void some_for_the_second(void)
{
	unsigned int i;

	for (i = 0; i < 40; i++)
		ASSERT_EQ(rig_tx(&sharer[1], 1000, NULL), 0);
	vdev_kick_always(&sharer[1].v.q[VDEV_TX]);
}

/* Others leave, and need not wait for it; then it leaves, and the rest goes on. */
static void one_is_stuck(void)
{
	share_begin(3);
	share_pass(0, 2);
	share_pass(1, 2);
	share_pass(2, 2);
	get_stuck();
	rig_close(&sharer[1]);
	/* it waits still */
	EXPECT_EQ(vdev_eventfd_take(sharer[0].v.q[VDEV_TX].err), 0);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	rig_close(&sharer[0]);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	share_pass(2, 5);
	share_open(1);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	share_pass(1, 5);
	rig_close(&sharer[1]);
	rig_close(&sharer[2]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
}

CASE(one_waits_for_a_page)
{
	share_need("task");
	one_is_stuck();
}

CASE(one_waits_for_a_page_kernel_threads)
{
	share_need("kthread");
	one_is_stuck();
}

/* They wait for it, and go on when it comes. */
CASE(all_wait_until_it_comes)
{
	share_begin(2);
	share_pass(0, 2);
	share_pass(1, 2);
	get_stuck();
	some_for_the_second();
	EXPECT(!WAIT_FOR(300, (rig_tx_reap(&sharer[1]), !sharer[1].tx_out)));
	pager_go_on();
	EXPECT(rig_tx_drain(&sharer[1], 3000));
	EXPECT(rig_tx_drain(&sharer[0], 3000));
	rig_close(&sharer[0]);
	rig_close(&sharer[1]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
}

/* Who leaves has nobody but himself not wait for a page any more. */
static void nothing_is_lost(const char *kind)
{
	uint32_t seq;

	share_need(kind);
	share_begin(2);
	share_pass(0, 2);
	share_pass(1, 2);
	seq = sharer[0].tx_seq;
	get_stuck();
	rig_close(&sharer[1]);
	pager_go_on();
	EXPECT(rig_expect(&sharer[0], seq, 1000));
	EXPECT(rig_tx_drain(&sharer[0], 3000));
	EXPECT_EQ(rig_counter(&sharer[0], "kvnet.tx.drop_fault"), 0);
	share_end(1);
}

CASE(nothing_is_lost_when_others_leave)
{
	nothing_is_lost("task");
}

CASE(nothing_is_lost_when_others_leave_kernel_threads)
{
	nothing_is_lost("kthread");
}

/*
 * Who has had a turn, and wants another, comes after who has waited meanwhile: the first
 * one's second turn is to wait for a page, too, and by then the other one has had his.
 */
static void take_turns(const char *kind)
{
	uint32_t seq = 12345;

	share_need(kind);
	share_begin(2);
	share_pass(0, 2);
	share_pass(1, 2);
	ASSERT_EQ(rig_rx_post(&sharer[0], 1, NULL), 1);
	vdev_kick_always(&sharer[0].v.q[VDEV_RX]);
	worker_rests();
	get_stuck();
	rig_inject(&sharer[0], seq, 60);
	some_for_the_second();
	pager_bring_one();
	EXPECT(pager_asked(2, 3000));
	EXPECT(rig_tx_drain(&sharer[1], 500));
	pager_go_on();
	EXPECT(rig_rx_expect(&sharer[0], seq, 60));
	EXPECT(rig_tx_drain(&sharer[0], 3000));
	EXPECT(rig_tx_drain(&sharer[1], 3000));
	share_end(2);
}

CASE(turn_after_turn)
{
	take_turns("task");
}

CASE(turn_after_turn_kernel_threads)
{
	take_turns("kthread");
}

static void stuck_till_killed(int ready)
{
	share_begin(2);
	share_pass(1, 2);
	share_pass(0, 2);
	get_stuck();
	close(ready);
	for (;;)
		pause();
}

CASE_TIMED(killed_while_one_waits, 60)
{
	share_need("task");
	vmm_killed_often(stuck_till_killed, 2, 1000);
}

CASE_TIMED(killed_while_one_waits_kernel_threads, 60)
{
	share_need("kthread");
	vmm_killed_often(stuck_till_killed, 2, 1000);
}

/*** who leaves in the midst of his turn ***/

#define AT_ONCE		2	/* real-time priorities */
#define SOON		1

static struct {
	pthread_t thread;
	pid_t tid;
	bool gives_back;	/* and does not close it */
	bool left;
} leaver;

static void priority(pid_t tid, int policy, int priority)
{
	const struct sched_param p = { .sched_priority = priority };

	ASSERT_SYS(sched_setscheduler(tid, policy, &p));
}

/* Whoever wakes somebody of a higher priority there does no more before that one sleeps. */
static void all_on_one_cpu(pid_t tid)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	ASSERT_SYS(sched_setaffinity(tid, sizeof(one), &one));
}

/* It has the queue's lock as soon as the turn lets go of that; then the turn is not over. */
static void *leave_thread(void *arg)
{
	priority(0, SCHED_FIFO, AT_ONCE);
	__atomic_store_n(&leaver.tid, gettid(), __ATOMIC_RELEASE);
	if (leaver.gives_back) {
		ASSERT_SYS(ioctl(sharer[0].v.fd, VHOST_RESET_OWNER));
	} else {
		close(sharer[0].v.fd);
		sharer[0].v.fd = -1;
	}
	__atomic_store_n(&leaver.left, true, __ATOMIC_RELEASE);
	return arg;
}

static void begin_on_one_cpu(const char *kind)
{
	struct worker w;

	share_need(kind);
	all_on_one_cpu(0);
	share_begin(2);
	ASSERT_EQ(workers_of(getpid(), &w), 1);
	all_on_one_cpu(w.tid);
	share_pass(0, 2);
	share_pass(1, 2);
	get_stuck();
}

static void leave(void)
{
	ASSERT_EQ(pthread_create(&leaver.thread, NULL, leave_thread, NULL), 0);
}

static bool has_left(void)
{
	return __atomic_load_n(&leaver.left, __ATOMIC_ACQUIRE);
}

/* What it had is not used any more, and it waits no longer than that. */
static void leaves(const char *kind)
{
	begin_on_one_cpu(kind);
	leave();
	if (leaver.gives_back) {
		ASSERT(WAIT_FOR(3000, __atomic_load_n(&leaver.tid, __ATOMIC_ACQUIRE)));
		pager_go_on();
	}
	ASSERT(WAIT_FOR(3000, has_left()));
	pthread_join(leaver.thread, NULL);
	rig_close(&sharer[0]);
	share_pass(1, 5);
	rig_close(&sharer[1]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
}

CASE_TIMED(leaves_in_its_turn, 10)
{
	leaves("task");
}

CASE_TIMED(leaves_in_its_turn_kernel_threads, 10)
{
	leaves("kthread");
}

/* That ends no wait; the turn goes on until the page has come. */
CASE_TIMED(gives_back_in_its_turn, 10)
{
	leaver.gives_back = true;
	leaves("task");
}

CASE_TIMED(gives_back_in_its_turn_kernel_threads, 10)
{
	leaver.gives_back = true;
	leaves("kthread");
}

static bool device_goes(struct genl *genl)
{
	struct attrs event;
	uint8_t cmd;

	do
		cmd = genl_event(genl, 3000, &event);
	while (cmd && cmd != KVNET_CMD_DEV_DEL_NTF);
	return cmd;
}

/* By the time that it runs again the next turn is under way, and waits for a page, too. */
static void next_turn_follows(const char *kind)
{
	struct vdev_queue *q = &sharer[1].v.q[VDEV_TX];
	struct genl genl;
	uint32_t seq;

	begin_on_one_cpu(kind);
	seq = sharer[1].tx_seq;
	ASSERT_EQ(rig_tx(&sharer[1], 1000, NULL), 0);
	pager_take_away_for_ever(q->bufs, q->buf_size * q->buf_num);
	publish(1);
	genl_open(&genl);
	ASSERT_EQ(genl_join(&genl), 0);
	priority(0, SCHED_FIFO, SOON);
	leave();
	/* It sleeps when we run. */
	ASSERT(WAIT_FOR(3000, __atomic_load_n(&leaver.tid, __ATOMIC_ACQUIRE)));
	priority(leaver.tid, SCHED_IDLE, 0);
	priority(0, SCHED_OTHER, 0);
	ASSERT(pager_asked(2, 3000));
	EXPECT(device_goes(&genl));
	EXPECT(WAIT_FOR(3000, has_left()));
	pager_go_on();
	pthread_join(leaver.thread, NULL);
	rig_close(&sharer[0]);
	/* nor has its end ended that wait */
	EXPECT(rig_expect(&sharer[1], seq, 1000));
	EXPECT(rig_tx_drain(&sharer[1], 3000));
	rig_close(&sharer[1]);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
}

CASE(leaver_does_not_wait_for_the_next_turn)
{
	next_turn_follows("task");
}

CASE(leaver_does_not_wait_for_the_next_turn_kernel_threads)
{
	next_turn_follows("kthread");
}

KSFT_MAIN()
