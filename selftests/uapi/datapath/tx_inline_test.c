// SPDX-License-Identifier: GPL-2.0
/*
 * Inline TX: the vCPU thread that kicks sends a few packets, if it may; else the worker does.
 * Kicks of a stream are suppressed.  Inline TX ends well where the thread that kicks, its
 * process, the owner or the device comes to an end.
 *
 * @hosts: 6.1
 * @seconds: 7
 */
#include <sys/uio.h>

#include "flow.h"
#include "module.h"
#include "pager.h"
#include "procfs.h"
#include "tx_inline_rig.h"
#include "vmm.h"

#define SOME	40

static struct rig rig;
static struct vdev_queue *tx = &rig.v.q[VDEV_TX];

static long counter(const char *name)
{
	return rig_counter(&rig, name);
}

/* What the counters showed when the worker had polled the queue after its start, and was idle. */
static struct {
	long polls_inline, packets_inline, wakeups, kicks;
} was;

static void begin(void)
{
	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	was.polls_inline = counter("kvnet.tx.polls_inline");
	was.packets_inline = counter("kvnet.tx.packets_inline");
	was.wakeups = counter("kvnet.tx.wakeups");
	was.kicks = counter("kvnet.tx.kicks");
}

/* A frame to the host, which has it when the kick returns, and one back. */
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
		tx_inline_reply(&rig);
	}
}

CASE(single_packet_is_sent_by_vcpu_thread)
{
	begin();
	ask_and_answer(SOME);
	EXPECT_EQ(counter("kvnet.tx.polls_inline") - was.polls_inline, SOME);
	EXPECT_EQ(counter("kvnet.tx.kicks") - was.kicks, SOME);
	EXPECT_EQ(counter("kvnet.tx.wakeups"), was.wakeups);
	EXPECT_EQ(counter("kvnet.tx.moderated"), 0);
	rig_close(&rig);
}

/* The vCPU thread polls, and leaves a packet that takes long to copy. */
CASE(long_packet_is_sent_by_worker)
{
	long n_inline, tried;
	unsigned int i;

	tx_inline_begin(&rig, 8192);
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		tx_inline_settle(&rig);
		n_inline = counter("kvnet.tx.packets_inline");
		tried = counter("kvnet.tx.polls_inline");
		tx_inline_send(&rig, 4097);
		tx_inline_reply(&rig);
		wait_worker_idle();
		EXPECT_EQ(counter("kvnet.tx.packets_inline"), n_inline);
		EXPECT_EQ(counter("kvnet.tx.polls_inline"), tried + 1);
	}
	rig_close(&rig);
}

/* The worker reads what the vCPU thread could not read without a fault; that is no error. */
CASE(unmapped_table_is_read_by_worker)
{
	const struct shape table = { .piece = 30, .indirect = true };
	uint8_t *at;

	begin();
	ASSERT_EQ(rig_tx(&rig, 60, &table), 0);
	at = rig.v.host + ((uint8_t *)tx->ring.cfg.ind - rig.v.mem);
	ASSERT_EQ((uintptr_t)at % 4096, 0);
	ASSERT_SYS(madvise(at, 4096, MADV_DONTNEED));
	vdev_kick(tx);
	tx_inline_sent(&rig, 60);
	EXPECT_EQ(counter("kvnet.tx.packets_inline"), was.packets_inline);
	EXPECT_EQ(counter("kvnet.tx.broken"), 0);
	EXPECT_EQ(vdev_eventfd_take(tx->err), 0);
	rig_close(&rig);
}

CASE(tx_inline_off_sends_by_worker)
{
	vdev_parameter("tx_inline", 'N');
	tx_inline_begin(&rig, 0);
	flow_one(&rig);
	EXPECT_EQ(counter("kvnet.tx.polls_inline"), 0);
	EXPECT_GE(counter("kvnet.tx.wakeups"), 1);
	rig_close(&rig);
}

/* Inline TX takes no time of a real-time thread. */
CASE(realtime_thread_does_not_send)
{
	unsigned int i;

	begin();
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		run_first(true);
		vdev_kick(tx);
		/* it would keep the worker from the CPU */
		run_first(false);
		tx_inline_sent(&rig, 60);
		tx_inline_reply(&rig);
		wait_worker_idle();
	}
	EXPECT_EQ(counter("kvnet.tx.packets_inline"), was.packets_inline);
	EXPECT_GE(counter("kvnet.tx.wakeups") - was.wakeups, SOME);
	ask_and_answer(1);
	EXPECT_EQ(counter("kvnet.tx.packets_inline"), was.packets_inline + 1);
	rig_close(&rig);
}

/* Only a thread of the owner has the owner's memory. */
CASE(other_process_does_not_send)
{
	unsigned int i;
	uint64_t one = 1;
	int status;
	pid_t pid;

	begin();
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		pid = fork();
		if (!pid)
			_exit(write(tx->kick, &one, sizeof(one)) != sizeof(one));
		ASSERT_EQ(waitpid(pid, &status, 0), pid);
		EXPECT_EQ(status, 0);
		tx_inline_sent(&rig, 60);
		tx_inline_reply(&rig);
	}
	EXPECT_EQ(counter("kvnet.tx.polls_inline"), was.polls_inline);
	EXPECT_GE(counter("kvnet.tx.wakeups") - was.wakeups, 10);
	rig_close(&rig);
}

/* The call of one queue is the kick of the other: the worker makes it. */
CASE(worker_that_kicks_does_not_send)
{
	unsigned int i;

	begin();
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL,
		   (&(struct vhost_vring_file){ VDEV_RX, tx->kick }));
	for (i = 0; i < 10 && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		gr_call_on(&rig.v.q[VDEV_RX].ring, 0);
		rig_inject(&rig, 1 + i, 60);
		rig_expect(&rig, 1 + i, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		rig_rx_expect(&rig, 1 + i, 60);
	}
	EXPECT_EQ(counter("kvnet.tx.polls_inline"), was.polls_inline);
	rig_close(&rig);
}

/* The worker sends many packets of one kick; none is lost or used too early. */
CASE(bulk_is_sent_by_worker)
{
	unsigned int i, k;

	begin();
	for (i = 0; i < 20 && !ksft_failed(); i++) {
		for (k = 0; k < 100; k++)
			ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick(tx);
		for (k = 0; k < 100; k++)
			rig_expect(&rig, 1 + i * 100 + k, 60);
		ASSERT(rig_tx_drain(&rig, 3000));
		tx_inline_reply(&rig);
	}
	EXPECT_GE(counter("kvnet.tx.wakeups") - was.wakeups, 1);
	/* the first poll of the vCPU thread finds too many */
	EXPECT_LE(counter("kvnet.tx.polls_inline") - was.polls_inline, 4);
	rig_close(&rig);
}

/*
 * Some frames, each with a kick if one is asked for, as fast as they are used. Even if none is
 * used before the last one is sent, they are not so many (64) that one kick for all costs nothing.
 */
static void burst(uint32_t len, uint64_t deadline)
{
	unsigned int n = 0;

	while (n < 32 && ksft_now_ms() < deadline) {
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
	long moderated = counter("kvnet.tx.moderated");

	do
		burst(60, deadline);
	while (counter("kvnet.tx.moderated") == moderated && ksft_now_ms() < deadline);
	EXPECT_OP(counter("kvnet.tx.moderated"), >, moderated);
}

CASE(stream_suppresses_kicks)
{
	uint32_t seq = 1;
	unsigned int i;

	begin();
	for (i = 0; i < 5 && !ksft_failed(); i++) {
		stream();
		ASSERT(rig_tx_drain(&rig, 3000));
		for (; seq < rig.tx_seq && !ksft_failed(); seq++)
			rig_expect(&rig, seq, 60);
		/* with a reply the next packet is a single one */
		tx_inline_reply(&rig);
	}
	EXPECT_OP(tx->kicks, <, rig.tx_seq);
	rig_close(&rig);
}

/* A long frame takes longer than its kick, so kicks stay enabled. */
CASE(stream_of_long_frames_keeps_kicks)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(5000);
	unsigned int i;

	begin();
	for (i = 0; i < 20; i++)
		burst(3000, deadline);
	ASSERT(rig_tx_drain(&rig, 3000));
	EXPECT_EQ(counter("kvnet.tx.moderated"), 0);
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

/* Kicks stay enabled, but it is a stream, which the vCPU thread need not send all by itself. */
CASE(ping_pong_is_sent_by_worker)
{
	uint64_t deadline = ksft_now_ms() + ksft_patience(5000);
	long kicks, wakes;

	tx_inline_begin(&rig, 0);
	tx_inline_settle(&rig);
	kicks = counter("kvnet.tx.kicks");
	wakes = counter("kvnet.tx.wakeups");
	ping_pong(1500, deadline);
	do
		ping_pong(500, deadline);
	while (8 * (counter("kvnet.tx.wakeups") - wakes) < counter("kvnet.tx.kicks") - kicks &&
	       ksft_now_ms() < deadline);
	wakes = counter("kvnet.tx.wakeups") - wakes;
	kicks = counter("kvnet.tx.kicks") - kicks;
	EXPECT_GE(8 * wakes, kicks);
	rig_close(&rig);
}

/*** the end of a thread, a process or the device with inline TX pending ***/

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

CASE(thread_exit_with_kick_sends_packet)
{
	unsigned int i, before = workers();
	pthread_t thread;

	begin();
	for (i = 0; i < SOME && !ksft_failed(); i++) {
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		gr_publish(&tx->ring);
		ASSERT_EQ(pthread_create(&thread, NULL, kicks_and_exits, NULL), 0);
		ASSERT_EQ(pthread_join(thread, NULL), 0);
		tx_inline_sent(&rig, 60);
		tx_inline_reply(&rig);
	}
	/* the worker may still poll the queue when the next packet comes */
	EXPECT_GE(counter("kvnet.tx.polls_inline") - was.polls_inline, SOME - SOME / 8);
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
 * A thread is killed anywhere in its kick. Packets that it has kicked for are sent without
 * another kick; for others the next kick is enough, since nothing waits for the dead thread.
 */
CASE_TIMED(thread_killed_while_kicking_loses_no_packet, 60)
{
	unsigned int i, spin, n = ksft_rounds(100), before = workers(), kicked = 0;
	unsigned long from;
	int status;
	pid_t pid;

	begin();
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
		tx_inline_sent(&rig, 60);
		tx_inline_reply(&rig);
	}
	ksft_note("the dead threads had kicked for %u of %u frames", kicked, n);
	EXPECT_OP(counter("kvnet.tx.polls_inline"), >, was.polls_inline);
	rig_close(&rig);
	no_worker_left(before);
}

/* Kicks, and faults on the page of its second write. */
static void *kicks_and_waits(void *late)
{
	uint64_t one = 1;
	struct iovec iov[] = { { &one, sizeof(one) }, { late, sizeof(one) } };

	EXPECT_EQ(writev(tx->kick, iov, 2), 2 * sizeof(one));
	return NULL;
}

/* The task_work of a packet is pending in a thread that does not return before pager_go_on(). */
static pthread_t kick_with_pending_task_work(void)
{
	uint64_t *late = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;

	ASSERT(late != MAP_FAILED);
	*late = 1;
	begin();
	pager_open();
	pager.holds = true;
	pager_take_away(late, PAGE);
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	gr_publish(&tx->ring);
	ASSERT_EQ(pthread_create(&thread, NULL, kicks_and_waits, late), 0);
	ASSERT(pager_asked(1, 3000));
	return thread;
}

/* The next owner has no inline TX while the task_work of the last one is pending. */
CASE(reset_owner_with_task_work_pending_sends_by_worker)
{
	pthread_t thread;
	unsigned int i;
	long n_inline;

	thread = kick_with_pending_task_work();
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(rig.v.fd);
	rig_set_up_again(&rig);
	rig_start(&rig);
	n_inline = counter("kvnet.tx.polls_inline");
	for (i = 0; i < 2; i++) {
		wait_worker_idle();
		ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
		vdev_kick_always(tx);
		tx_inline_sent(&rig, 60);
	}
	EXPECT_EQ(counter("kvnet.tx.polls_inline"), n_inline);
	pager_go_on();
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	rig_close(&rig);
}

/*
 * The module is in use until the task_work has run, as late as its process likes: rmmod fails
 * with EWOULDBLOCK, and does not wait uninterruptibly.
 */
CASE(module_unload_with_task_work_pending_is_refused)
{
	pthread_t thread;
	int status;
	pid_t pid;
	bool ended;

	thread = kick_with_pending_task_work();
	/* the driver's descriptors stay: the thread writes to one of them */
	close(rig.v.fd);
	close(rig.tap);
	pid = ASSERT_SYS(fork());
	if (!pid)
		_exit(-module_unload());
	ended = WAIT_FOR(3000, waitpid(pid, &status, WNOHANG) == pid);
	if (!ended)
		FAIL("rmmod waits, in state %c", task_state(pid, pid));
	pager_go_on();
	ASSERT_EQ(pthread_join(thread, NULL), 0);
	if (!ended)
		waitpid(pid, &status, 0);
	EXPECT_EQ(WEXITSTATUS(status), EWOULDBLOCK);
	if (WEXITSTATUS(status))
		module_is_unloaded();
	ASSERT_EQ(module_load(""), 0);
}

/* Another process has kicked, and does not return from its call: the worker sends. */
CASE(kick_of_blocked_process_is_served)
{
	uint64_t *late = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int status;
	pid_t pid;

	ASSERT(late != MAP_FAILED);
	*late = 1;
	begin();
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	gr_publish(&tx->ring);
	pid = ASSERT_SYS(fork());
	if (!pid) {
		pager_open();
		pager.holds = true;
		pager_take_away(late, PAGE);
		kicks_and_waits(late);
		_exit(1);
	}
	tx_inline_sent(&rig, 60);
	ASSERT_SYS(kill(pid, SIGKILL));
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT(WIFSIGNALED(status));
	rig_close(&rig);
}

/*** kicks in a circle ***/

#define LONG_LEN	3000	/* such packets are no stream */

/* The call of each device is a kick of the other. */
static void link_in_a_circle(struct rig *a, struct rig *b)
{
	struct vdev_queue *qa = &a->v.q[VDEV_TX], *qb = &b->v.q[VDEV_TX];

	ASSERT_SYS(dup2(qb->kick, qa->call));
	ASSERT_SYS(dup2(qa->kick, qb->call));
}

static void publish_one(struct rig *r)
{
	rig_tx_reap(r);
	ASSERT_EQ(rig_tx(r, LONG_LEN, NULL), 0);
	gr_publish(&r->v.q[VDEV_TX].ring);
}

/* A process that becomes the owner of both, and kicks once when *go is written to. */
static pid_t fork_kicker(struct rig *const *r, int *go)
{
	uint64_t one = 1;
	int told[2], ready[2];
	unsigned int i;
	pid_t pid;
	char c;

	ASSERT_SYS(pipe2(told, O_CLOEXEC));
	ASSERT_SYS(pipe2(ready, O_CLOEXEC));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		for (i = 0; i < 2; i++) {
			rig_take_over(r[i]);
			/* inline TX does not fault pages in */
			ASSERT_SYS(madvise(r[i]->v.host, r[i]->v.mem_size, MADV_POPULATE_WRITE));
		}
		ASSERT_EQ(write(ready[1], "", 1), 1);
		ASSERT_EQ(read(told[0], &c, 1), 1);
		ASSERT_EQ(write(r[0]->v.q[VDEV_TX].kick, &one, sizeof(one)), sizeof(one));
		for (;;)
			pause();
	}
	ASSERT_EQ(read(ready[0], &c, 1), 1);
	close(told[0]);
	close(ready[0]);
	close(ready[1]);
	*go = told[1];
	return pid;
}

/* Gives the device that is kicked a packet before it polls: n times, or until pid has ended. */
static unsigned int feed(struct rig *const *r, unsigned int n, pid_t pid)
{
	struct pollfd fd = { .events = POLLIN };
	unsigned int i;
	uint64_t count;

	for (i = 0; i < n; i++) {
		fd.fd = r[i % 2]->v.q[VDEV_TX].kick;
		if (poll(&fd, 1, ksft_patience(300)) != 1 ||
		    read(fd.fd, &count, sizeof(count)) != sizeof(count))
			break;
		if (pid && waitpid(pid, NULL, WNOHANG) == pid)
			break;
		publish_one(r[i % 2]);
	}
	return i;
}

/* The workers have polled after the start, and no kick is pending. */
static void settle_circle(struct rig *const *r, pid_t owner)
{
	unsigned int i;

	for (i = 0; i < 2; i++) {
		publish_one(r[i]);
		vdev_kick_always(&r[i]->v.q[VDEV_TX]);
		ASSERT(rig_tx_drain(r[i], 3000));
	}
	wait_workers_idle(owner);
	for (i = 0; i < 2; i++)
		vdev_eventfd_take(r[i]->v.q[VDEV_TX].kick);
}

/*
 * The task_work of a thread queues more task_work for it, which would run before the thread
 * handles its signals. A real-time process supplies the packets, in time since it preempts it.
 */
CASE_TIMED(kicks_in_a_circle_end_with_sigkill, 60)
{
	const unsigned int before = workers(), n = 500, more = 20000;
	static struct rig other;
	struct rig *const r[] = { &rig, &other };
	unsigned int i, fed;
	long n_inline;
	pid_t pid;
	int go;

	tx_inline_need_kvnet();
	choose_worker("kthread");
	vdev_parameter_text("tx_usecs", "0");
	run_on_one_cpu();
	for (i = 0; i < 2; i++) {
		rig_open(r[i], &(struct rig_cfg){ .features = F_V1, .here = i, .stopped = true });
		rig_disown(r[i]);
		gr_call_on(&r[i]->v.q[VDEV_TX].ring, 0);
	}
	link_in_a_circle(r[0], r[1]);
	pid = fork_kicker(r, &go);
	settle_circle(r, pid);
	n_inline = counter("kvnet.tx.polls_inline");
	run_first(true);
	ASSERT_EQ(write(go, "", 1), 1);
	EXPECT_EQ(feed(r, n, 0), n);
	EXPECT_GE(counter("kvnet.tx.polls_inline") - n_inline, n / 2 - 1);
	kill(pid, SIGKILL);
	fed = feed(r, more, pid);
	run_first(false);
	ksft_note("it took %u packets more", fed);
	EXPECT_OP(fed, <, more);
	EXPECT(WAIT_FOR(3000, waitpid(pid, NULL, WNOHANG)));
	close(go);
	rig_close(&other);
	rig_close(&rig);
	no_worker_left(before);
}

/*** killed, closed and reset while threads kick ***/

CASE_TIMED(owner_killed_while_kicking_leaves_no_worker, 60)
{
	tx_inline_need_kvnet();
	vmm_killed_often(vmm, ksft_rounds(20), 3000);
}

/* Its last file is closed, and the owner is reset, while threads kick. */
CASE_TIMED(close_while_kicking_leaves_no_worker, 60)
{
	unsigned int i, before, n = ksft_rounds(20);
	pthread_t thread;

	tx_inline_need_kvnet();
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

	vdev_own(rig.v.fd);
	rig_set_up_again(&rig);
	rig_rx_post(&rig, 8, NULL);
	while (rig_sniff(&rig, f, sizeof(f), 10) >= 0)
		;
}

/* A packet with each kick, which this thread sends by itself. */
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
 * RESET_OWNER by a real-time thread, which runs as soon as the thread that sends leaves the
 * queue, before that has signalled the end of its task_work.
 */
CASE_TIMED(reset_owner_by_realtime_thread_ends, 60)
{
	unsigned int i, before, n = ksft_rounds(50);
	pthread_t thread;

	tx_inline_need_kvnet();
	before = workers();
	rig_open(&rig, &(struct rig_cfg){ .bufs = 8, .stopped = true });
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	another_owner();
	for (i = 0; i < n && !ksft_failed(); i++) {
		rig_start(&rig);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		tx_inline_settle(&rig);
		ASSERT_EQ(pthread_create(&thread, NULL, sends, &tx->kick), 0);
		run_first(true);
		usleep(500 + ksft_below(1000));
		vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
		run_first(false);
		pthread_cancel(thread);
		pthread_join(thread, NULL);
		another_owner();
	}
	rig_close(&rig);
	no_worker_left(before);
}

KSFT_MAIN()
