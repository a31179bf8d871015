// SPDX-License-Identifier: GPL-2.0
/*
 * Who sends: the thread that kicks, if it is little and the thread may; else the
 * worker. A guest that kicks again and again is asked not to.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "flow.h"
#include "pager.h"
#include "procfs.h"
#include "rig.h"
#include "vmm.h"

#define SOME	40

static struct rig rig;
static struct vdev_queue *tx = &rig.v.q[VDEV_TX];
static uint32_t injected;

static long counter(const char *name)
{
	return rig_counter(&rig, name);
}

static char by_vcpu(char value)
{
	return vdev_parameter("tx_by_vcpu", value);
}

static void begin_with(unsigned int tx_buf)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net's guests do not send");
	rig_open(&rig, &(struct rig_cfg){ .tx_buf = tx_buf });
	vdev_no_spin(&rig.v);
	rig_rx_post(&rig, 200, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	injected = 0;
}

static void begin(void)
{
	begin_with(0);
}

static void answer(void)
{
	rig_inject(&rig, injected, 60);
	rig_rx_expect(&rig, injected, 60);
	injected++;
}

/* A frame to the host, which has it when the kick is over, and one back. */
static void ask_and_answer(unsigned int n)
{
	uint8_t f[FRAME_MAX];
	uint32_t seq;

	while (n-- && !ksft_failed()) {
		seq = rig.tx_seq;
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(tx);
		EXPECT_EQ(rig_sniff(&rig, f, sizeof(f), 0), 60);
		EXPECT_EQ(frame_seq(f), seq);
		ASSERT(rig_tx_drain(&rig, 3000));
		answer();
	}
}

/* Once the set-up has been looked at, by the worker. */
static void settle(void)
{
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	vdev_kick(tx);
	rig_expect(&rig, rig.tx_seq - 1, 60);
	ASSERT(rig_tx_drain(&rig, 3000));
	answer();
	worker_rests();
}

CASE(a_lone_packet_is_sent_by_who_kicks)
{
	long lent, wakes, kicks;

	begin();
	settle();
	lent = counter("kvnet.tx.runs_lent");
	wakes = counter("kvnet.tx.wakes");
	kicks = counter("kvnet.tx.kicks");
	ask_and_answer(SOME);
	EXPECT_EQ(counter("kvnet.tx.runs_lent") - lent, SOME);
	EXPECT_EQ(counter("kvnet.tx.kicks") - kicks, SOME);
	EXPECT_EQ(counter("kvnet.tx.wakes"), wakes);
	EXPECT_EQ(counter("kvnet.tx.paced"), 0);
	rig_close(&rig);
}

/* What takes long to copy is not for a virtual CPU, which tries. */
CASE(a_long_packet_is_the_workers)
{
	long lent, tried;
	unsigned int i;

	begin_with(8192);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		settle();
		lent = counter("kvnet.tx.packets_lent");
		tried = counter("kvnet.tx.runs_lent");
		ASSERT_EQ(rig_tx(&rig, 4097, NULL), 0);
		vdev_kick(tx);
		rig_expect(&rig, rig.tx_seq - 1, 4097);
		ASSERT(rig_tx_drain(&rig, 3000));
		answer();
		worker_rests();
		EXPECT_EQ(counter("kvnet.tx.packets_lent"), lent);
		EXPECT_EQ(counter("kvnet.tx.runs_lent"), tried + 1);
	}
	rig_close(&rig);
}

/* What the thread that kicks cannot read without waiting the worker reads; nothing is wrong. */
CASE(a_table_that_is_not_mapped_is_the_workers)
{
	const struct shape table = { .piece = 30, .indirect = true };
	uint8_t *at;
	long lent;

	begin();
	settle();
	lent = counter("kvnet.tx.packets_lent");
	ASSERT_EQ(rig_tx(&rig, 60, &table), 0);
	at = rig.v.host + ((uint8_t *)tx->ring.cfg.ind - rig.v.mem);
	ASSERT_EQ((uintptr_t)at % 4096, 0);
	ASSERT_SYS(madvise(at, 4096, MADV_DONTNEED));
	vdev_kick(tx);
	rig_expect(&rig, rig.tx_seq - 1, 60);
	ASSERT(rig_tx_drain(&rig, 3000));
	EXPECT_EQ(counter("kvnet.tx.packets_lent"), lent);
	EXPECT_EQ(counter("kvnet.tx.broken"), 0);
	EXPECT_EQ(vdev_eventfd_take(tx->err), 0);
	rig_close(&rig);
}

CASE(not_if_told_so)
{
	char was = by_vcpu('N');

	begin();
	flow_one(&rig);
	EXPECT_EQ(counter("kvnet.tx.runs_lent"), 0);
	EXPECT_GE(counter("kvnet.tx.wakes"), 1);
	rig_close(&rig);
	by_vcpu(was);
}

/* Only a thread of the owner has the owner's memory. */
CASE(not_by_another_process)
{
	long lent, wakes;
	unsigned int i;
	uint64_t one = 1;
	int status;
	pid_t pid;

	begin();
	settle();
	lent = counter("kvnet.tx.runs_lent");
	wakes = counter("kvnet.tx.wakes");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		pid = fork();
		if (!pid)
			_exit(write(tx->kick, &one, sizeof(one)) != sizeof(one));
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
		rig_expect(&rig, 1 + i, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		answer();
	}
	EXPECT_EQ(counter("kvnet.tx.runs_lent"), lent);
	EXPECT_GE(counter("kvnet.tx.wakes") - wakes, 10);
	rig_close(&rig);
}

/* A call is a kick: the thread that brings it is the worker. */
CASE(not_by_a_worker)
{
	long lent;
	unsigned int i;

	begin();
	settle();
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL,
		   (&(struct vhost_vring_file){ VDEV_RX, tx->kick }));
	lent = counter("kvnet.tx.runs_lent");
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		gr_call_on(&rig.v.q[VDEV_RX].ring, 0);
		rig_inject(&rig, 1 + i, 60);
		rig_expect(&rig, 1 + i, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		rig_rx_expect(&rig, 1 + i, 60);
	}
	EXPECT_EQ(counter("kvnet.tx.runs_lent"), lent);
	rig_close(&rig);
}

/* Many for one kick are the worker's; none is lost or comes too early. */
CASE(bulk_is_for_the_worker)
{
	long lent, wakes;
	unsigned int i, k;

	begin();
	settle();
	lent = counter("kvnet.tx.runs_lent");
	wakes = counter("kvnet.tx.wakes");
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		for (k = 0; k < 100; k++)
			ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(tx);
		for (k = 0; k < 100; k++)
			rig_expect(&rig, 1 + i * 100 + k, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		answer();
	}
	EXPECT_GE(counter("kvnet.tx.wakes") - wakes, 1);
	/* The first one finds that it is not for the thread that kicks. */
	EXPECT_LE(counter("kvnet.tx.runs_lent") - lent, 4);
	rig_close(&rig);
}

/* 64 frames, each with a kick if one is asked for, as fast as they are taken. */
static void burst(uint32_t len, uint64_t deadline)
{
	unsigned int n = 0;

	while (n < 64 && ksft_now_ms() < deadline) {
		rig_tx_reap(&rig);
		if (rig_tx(&rig, len, NULL))
			continue;
		vdev_kick(tx);
		n++;
	}
	while (rig.tx_done != rig.tx_seq && ksft_now_ms() < deadline)
		rig_tx_reap(&rig);
}

/* Until it is asked not to kick. */
static void stream(void)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(5000);
	long paced = counter("kvnet.tx.paced");

	do
		burst(60, deadline);
	while (counter("kvnet.tx.paced") == paced && ksft_now_ms() < deadline);
	EXPECT_OP(counter("kvnet.tx.paced"), >, paced);
}

CASE(a_stream_is_asked_not_to_kick)
{
	uint32_t seq = 1;
	unsigned int i;

	begin();
	settle();
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		stream();
		ASSERT(rig_tx_drain(&rig, 3000));
		for (; seq < rig.tx_seq && !ksft_failed(); seq++)
			rig_expect(&rig, seq, 60);
		/* And what comes afterwards is lone again. */
		answer();
	}
	EXPECT_OP(tx->kicks, <, rig.tx_seq);
	rig_close(&rig);
}

/* Of long frames it may kick for each: they take longer than that. */
CASE(a_stream_of_long_frames_kicks)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(5000);
	unsigned int i;

	begin();
	settle();
	for (i = 0; i < 20; i++)
		burst(3000, deadline);
	ASSERT(rig_tx_drain(&rig, 3000));
	EXPECT_EQ(counter("kvnet.tx.paced"), 0);
	rig_close(&rig);
}

/* Frame after frame, each when the last one is done. */
static void ping_pong(unsigned int n, uint64_t deadline)
{
	while (n-- && ksft_now_ms() < deadline) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(tx);
		while (rig.tx_done != rig.tx_seq && ksft_now_ms() < deadline)
			rig_tx_reap(&rig);
	}
}

/* It does not pay to wait for more; but they are a stream, and who sends that need not do it all. */
CASE(one_after_the_other_is_for_the_worker)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(5000);
	long kicks, wakes;

	begin();
	settle();
	kicks = counter("kvnet.tx.kicks");
	wakes = counter("kvnet.tx.wakes");
	ping_pong(1500, deadline);
	do
		ping_pong(500, deadline);
	while (8 * (counter("kvnet.tx.wakes") - wakes) < counter("kvnet.tx.kicks") - kicks &&
	       ksft_now_ms() < deadline);
	wakes = counter("kvnet.tx.wakes") - wakes;
	kicks = counter("kvnet.tx.kicks") - kicks;
	EXPECT_GE(8 * wakes, kicks);
	rig_close(&rig);
}

/*** the end of a thread, a process, a device with something lent ***/

static void *kicks(void *fd)
{
	uint64_t one = 1;

	while (write(*(int *)fd, &one, sizeof(one)) == sizeof(one))
		;
	return NULL;
}

static void vmm(int ready)
{
	pthread_t thread;
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	for (i = 0; i < 2; i++)
		pthread_create(&thread, NULL, kicks, &tx->kick);
	close(ready);
	for (;;) {
		rig_tx_reap(&rig);
		if (!rig_tx(&rig, 60, NULL))
			gr_publish(&tx->ring);
	}
}

/* The last thing that it does: nothing of its own comes between kick and exit. */
static void *kicks_and_exits(void *unused)
{
	uint64_t one = 1;

	if (write(tx->kick, &one, sizeof(one)) == sizeof(one))
		syscall(SYS_exit, 0);
	FAIL("the kick: %s", strerror(errno));
	return unused;
}

CASE(thread_exits_with_its_kick)
{
	unsigned int i, before = workers();
	pthread_t thread;
	long lent;

	begin();
	settle();
	lent = counter("kvnet.tx.runs_lent");
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		ASSERT_EQ(pthread_create(&thread, NULL, kicks_and_exits, NULL), 0);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		rig_expect(&rig, 1 + i, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		answer();
	}
	/* The worker may be at the queue for one that comes early. */
	EXPECT_GE(counter("kvnet.tx.runs_lent") - lent, SOME - SOME / 8);
	rig_close(&rig);
	no_worker_left(before);
}

static volatile unsigned long begun, done;	/* kicks */

/* A task that has the owner's memory, and dies alone. */
static int kicks_for_ever(void *unused)
{
	uint64_t one = 1;

	for (;;) {
		begun++;
		if (write(tx->kick, &one, sizeof(one)) != sizeof(one))
			return 1;
		done++;
	}
	return !!unused;
}

static pid_t start_kicking(void)
{
	static uint8_t stack[32 << 10] __attribute__((aligned(16)));
	unsigned long from = done;
	pid_t pid = ASSERT_SYS(clone(kicks_for_ever, stack + sizeof(stack),
				     CLONE_VM | SIGCHLD, NULL));

	ASSERT(WAIT_FOR(3000, done > from));
	return pid;
}

/*
 * Killed anywhere in its kick. What it had kicked for is sent without another kick;
 * for the rest the next kick is enough, since nothing waits for who is gone.
 */
CASE_TIMED(kicker_killed_while_the_owner_lives, 60)
{
	unsigned int i, spin, n = ksft_rounds(100), before = workers(), kicked = 0;
	unsigned long from;
	int status;
	long lent;
	pid_t pid;

	begin();
	settle();
	lent = counter("kvnet.tx.runs_lent");
	for (i = 0; i < n && !ksft_failed(); i++) {
		pid = start_kicking();
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		from = begun;
		/* on one CPU it kicks while this process sleeps */
		if (i % 4)
			for (spin = ksft_below(10000); spin; spin--)
				(void)begun;
		else
			usleep(ksft_below(1000));
		kill(pid, SIGKILL);
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		if (done > from)	/* begun and ended since then */
			kicked++;
		else
			vdev_kick_always(tx);
		rig_expect(&rig, 1 + i, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		answer();
	}
	ksft_note("%u of %u frames were kicked for by who died", kicked, n);
	EXPECT_OP(counter("kvnet.tx.runs_lent"), >, lent);
	rig_close(&rig);
	no_worker_left(before);
}

/* Has kicked, and waits for what it writes next. */
static void *kicks_and_waits(void *late)
{
	uint64_t one = 1;
	struct iovec iov[] = { { &one, sizeof(one) }, { late, sizeof(one) } };

	EXPECT_EQ(writev(tx->kick, iov, 2), 2 * sizeof(one));
	return NULL;
}

/* Of another owner nothing can be lent as long as that of the last one has not been run. */
CASE(lent_and_not_run_yet)
{
	uint64_t *late = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	unsigned int i;
	long lent;

	ASSERT(late != MAP_FAILED);
	*late = 1;
	begin();
	settle();
	pager_open();
	pager.holds = true;
	pager_take_away(late, PAGE);
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	gr_publish(&tx->ring);
	ASSERT_EQ(pthread_create(&thread, NULL, kicks_and_waits, late), 0);
	ASSERT(pager_asked(1, 3000));
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(rig.v.fd);
	vdev_set_features(&rig.v, rig.v.features);
	vdev_set_mem(&rig.v);
	for (i = 0; i < 2; i++)
		vdev_queue_reset(&rig.v, i);
	rig.tx_out = 0;
	rig_start(&rig);
	lent = counter("kvnet.tx.runs_lent");
	for (i = 0; i < 2; i++) {
		worker_rests();
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick_always(tx);
		rig_expect(&rig, rig.tx_seq - 1, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
	}
	EXPECT_EQ(counter("kvnet.tx.runs_lent"), lent);
	pager_go_on();
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	rig_close(&rig);
}

/* A stranger has kicked, and does not return from its call: nobody waits for that. */
CASE(kicked_by_another_process_that_waits)
{
	uint64_t *late = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ASSERT(late != MAP_FAILED);
	*late = 1;
	begin();
	settle();
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	gr_publish(&tx->ring);
	pid = fork();
	if (!pid) {
		pager_open();
		pager.holds = true;
		pager_take_away(late, PAGE);
		kicks_and_waits(late);
		_exit(1);
	}
	rig_expect(&rig, rig.tx_seq - 1, 60);
	ASSERT(rig_tx_drain(&rig, 3000));
	ASSERT_SYS(kill(pid, SIGKILL));
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFSIGNALED(status));
	rig_close(&rig);
}

CASE_TIMED(killed_while_it_kicks, 60)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net's guests do not send");
	vmm_killed_often(vmm, ksft_rounds(20), 3000);
}

/* Its last file is closed, and the owner is reset, while threads kick. */
CASE_TIMED(closed_while_it_kicks, 60)
{
	unsigned int i, before, n = ksft_rounds(20);
	pthread_t thread;

	if (vdev_is_vhost())
		ksft_skip("vhost_net's guests do not send");
	before = workers();
	for (i = 0; i < n && !ksft_failed(); i++) {
		rig_open(&rig, &(struct rig_cfg){ 0 });
		ASSERT_EQ(pthread_create(&thread, NULL, kicks, &tx->kick), 0);
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick_always(tx);
		usleep(ksft_below(1000));
		if (i % 2)
			vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
		close(rig.v.fd);
		rig.v.fd = -1;
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		rig_close(&rig);
	}
	no_worker_left(before);
}

/* With new rings, and no frame of the old ones under way. */
static void another_owner(void)
{
	static uint8_t f[FRAME_MAX];
	unsigned int i;

	vdev_own(rig.v.fd);
	vdev_set_features(&rig.v, rig.v.features);
	vdev_set_mem(&rig.v);
	for (i = 0; i < 2; i++)
		vdev_queue_reset(&rig.v, i);
	rig.tx_out = 0;
	rig_rx_post(&rig, 8, NULL);
	while (rig_sniff(&rig, f, sizeof(f), 10) >= 0)
		;
}

/* A packet with each kick, which it sends itself. */
static void *sends(void *fd)
{
	uint64_t one = 1;

	do {
		rig_tx_reap(&rig);
		if (!rig_tx(&rig, 1000, NULL))
			gr_publish(&tx->ring);
	} while (write(*(int *)fd, &one, sizeof(one)) == sizeof(one));
	return NULL;
}

/*
 * By a thread that runs as soon as it can: when the one that sends lets go of the queue, and
 * has not said yet that it is done.
 */
CASE_TIMED(reset_by_who_is_in_a_hurry, 30)
{
	const struct sched_param first = { .sched_priority = 1 }, as_others = { 0 };
	unsigned int i, before, n = ksft_rounds(50);
	pthread_t thread;

	if (vdev_is_vhost())
		ksft_skip("vhost_net's guests do not send");
	before = workers();
	rig_open(&rig, &(struct rig_cfg){ .bufs = 8, .stopped = true });
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	another_owner();
	for (i = 0; i < n && !ksft_failed(); i++) {
		rig_start(&rig);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		settle();
		ASSERT_EQ(pthread_create(&thread, NULL, sends, &tx->kick), 0);
		ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &first));
		usleep(500 + ksft_below(1000));
		vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
		ASSERT_SYS(sched_setscheduler(0, SCHED_OTHER, &as_others));
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		another_owner();
	}
	rig_close(&rig);
	no_worker_left(before);
}

KSFT_MAIN()
