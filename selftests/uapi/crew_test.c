// SPDX-License-Identifier: GPL-2.0
/*
 * Several workers of one device: NEW_WORKER, FREE_WORKER, ATTACH_VRING_WORKER and
 * GET_VRING_WORKER, as vhost-scsi has them.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "exchange.h"
#include "flow.h"
#include "pager.h"
#include "pin_rig.h"
#include "procfs.h"
#include "vhost_abi.h"
#include "vmm.h"

VDEV_ONE_THREAD()

#define WORKERS	8	/* that a device may have */

static struct rig rig;

static int new_worker(void)
{
	unsigned int id = -1u;
	int ret = __vdev_ioctl(rig.v.fd, VHOST_NEW_WORKER, &id);

	return ret ? ret : (int)id;
}

static int free_worker(unsigned int id)
{
	return __vdev_ioctl(rig.v.fd, VHOST_FREE_WORKER, &id);
}

static int attach(unsigned int queue, unsigned int id)
{
	unsigned int arg[2] = { queue, id };

	return __vdev_ioctl(rig.v.fd, VHOST_ATTACH_VRING_WORKER, arg);
}

static int serving(unsigned int queue)
{
	unsigned int arg[2] = { queue, -1u };
	int ret = __vdev_ioctl(rig.v.fd, VHOST_GET_VRING_WORKER, arg);

	EXPECT_EQ(arg[0], queue);
	return ret ? ret : (int)arg[1];
}

static void need_tasks(void)
{
	if (vdev_is_vhost())
		ksft_skip("vhost_net refuses them");
	if (!kernel_has_vhost_task())
		ksft_skip("no threads of the owner before Linux 6.11");
	ASSERT_SYS(setenv("KVNET_WORKER", "task", 1));
}

static void begin(const struct rig_cfg *cfg)
{
	need_tasks();
	rig_open(&rig, cfg);
}

static void pass(unsigned int n)
{
	struct flow f = { .r = &rig, .rx_seq = rig.tx_seq };

	flow_exact(&f, n, flow_lens, FLOW_LENS);
}

CASE(ids)
{
	unsigned int i;

	begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(serving(0), 0);
	EXPECT_EQ(serving(1), 0);
	for (i = 1; i < WORKERS; i++)
		EXPECT_EQ(new_worker(), i);
	EXPECT_EQ(workers_of(getpid(), NULL), WORKERS);
	EXPECT_EQ(new_worker(), -ENOMEM);
	EXPECT_EQ(workers_of(getpid(), NULL), WORKERS);
	/* the lowest that is free */
	EXPECT_EQ(free_worker(5), 0);
	EXPECT_EQ(free_worker(3), 0);
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == WORKERS - 2));
	EXPECT_EQ(new_worker(), 3);
	EXPECT_EQ(new_worker(), 5);
	flow_one(&rig);
	rig_close(&rig);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
}

CASE(errors)
{
	begin(&(struct rig_cfg){ 0 });
	EXPECT_EQ(free_worker(0), -EBUSY);
	EXPECT_EQ(free_worker(1), -ENODEV);
	EXPECT_EQ(free_worker(WORKERS), -ENODEV);
	EXPECT_EQ(free_worker(-1u), -ENODEV);
	EXPECT_EQ(attach(0, 1), -ENODEV);
	EXPECT_EQ(attach(1, -1u), -ENODEV);
	EXPECT_EQ(attach(2, 0), -ENOBUFS);
	EXPECT_EQ(serving(2), -ENOBUFS);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_NEW_WORKER, NULL), -EFAULT);
	EXPECT_EQ(__vdev_ioctl(rig.v.fd, VHOST_FREE_WORKER, NULL), -EFAULT);
	/* who was not told of it has none; its thread has been waited for, but may be on its way out */
	EXPECT(WAIT_FOR(3000, workers_of(getpid(), NULL) == 1));
	EXPECT_EQ(new_worker(), 1);
	EXPECT_EQ(attach(1, 1), 0);
	EXPECT_EQ(serving(0), 0);
	EXPECT_EQ(serving(1), 1);
	EXPECT_EQ(free_worker(0), -EBUSY);
	EXPECT_EQ(free_worker(1), -EBUSY);
	EXPECT_EQ(attach(1, 1), 0);
	EXPECT_EQ(attach(1, 0), 0);
	EXPECT_EQ(free_worker(1), 0);
	EXPECT_EQ(free_worker(1), -ENODEV);
	EXPECT_EQ(attach(1, 1), -ENODEV);
	EXPECT_EQ(serving(1), 0);
	flow_one(&rig);
}

/* Before and after there is an owner; of another process. */
CASE(only_of_an_owner)
{
	int status;
	pid_t pid;

	need_tasks();
	rig.v.fd = vdev_open_node();
	EXPECT_EQ(new_worker(), -EINVAL);
	EXPECT_EQ(free_worker(0), -EINVAL);
	EXPECT_EQ(attach(0, 0), -EINVAL);
	EXPECT_EQ(serving(0), -EINVAL);
	vdev_own(rig.v.fd);
	EXPECT_EQ(new_worker(), 1);
	pid = ASSERT_SYS(fork());
	if (!pid) {
		EXPECT_EQ(new_worker(), -EPERM);
		EXPECT_EQ(free_worker(1), -EPERM);
		EXPECT_EQ(attach(0, 1), -EPERM);
		EXPECT_EQ(serving(0), -EPERM);
		_exit(ksft_failed());
	}
	ASSERT_EQ(waitpid(pid, &status, 0), pid);
	EXPECT_EQ(status, 0);
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	EXPECT_EQ(new_worker(), -EINVAL);
	vdev_own(rig.v.fd);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	EXPECT_EQ(free_worker(1), -ENODEV);
	EXPECT_EQ(serving(1), 0);
	close(rig.v.fd);
}

/* Nobody's limits bound those. */
CASE(not_of_kernel_threads)
{
	need_tasks();
	ASSERT_SYS(setenv("KVNET_WORKER", "kthread", 1));
	rig_open(&rig, &(struct rig_cfg){ 0 });
	EXPECT_EQ(new_worker(), -EFAULT);
	EXPECT_EQ(workers_of(getpid(), NULL), 1);
	EXPECT_EQ(attach(1, 0), 0);
	EXPECT_EQ(serving(1), 0);
	EXPECT_EQ(free_worker(0), -EBUSY);
	flow_one(&rig);
}

CASE(limits_of_the_owner_bound_them)
{
	struct rlimit lim = { 3, 3 };
	unsigned int n = 0;

	begin(&(struct rig_cfg){ 0 });
	ASSERT_SYS(setrlimit(RLIMIT_NPROC, &lim));
	ASSERT_SYS(setresuid(65531, 65531, 65531));
	while (n < WORKERS && new_worker() > 0)
		n++;
	EXPECT_OP(n, <, 3);
	EXPECT_EQ(new_worker(), -ENOMEM);
	EXPECT_EQ(workers_of(getpid(), NULL), 1 + n);
	flow_one(&rig);
}

static unsigned long long cpu_of(const struct worker *w)
{
	unsigned long long ns = 0;
	char path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", w->pid, w->tid);
	f = fopen(path, "r");
	ASSERT(f && fscanf(f, "%llu", &ns) == 1);
	fclose(f);
	return ns;
}

/* The queues with two workers, then both with the second one alone. */
CASE(two_workers_then_the_second_alone)
{
	struct worker first, second;
	unsigned long long ns;

	begin(&(struct rig_cfg){ 0 });
	ASSERT_EQ(workers_of(getpid(), &first), 1);
	pass(50);
	ASSERT_EQ(new_worker(), 1);
	ASSERT_EQ(attach(VDEV_TX, 1), 0);
	pass(50);
	ASSERT_EQ(attach(VDEV_TX, 0), 0);
	ASSERT_EQ(attach(VDEV_RX, 1), 0);
	pass(50);
	ASSERT_EQ(attach(VDEV_TX, 1), 0);
	pass(50);
	ns = cpu_of(&first);
	pass(50);
	EXPECT_EQ(cpu_of(&first), ns);
	ASSERT_EQ(free_worker(0), 0);
	ASSERT(WAIT_FOR(3000, workers_of(getpid(), &second) == 1));
	EXPECT_OP(second.tid, !=, first.tid);
	pass(50);
	ns = cpu_of(&second);
	EXPECT_OP(ns, >, 0);
	rig_close(&rig);
	no_leak_found();
}

/* With work that the first one is at, and which it does not finish alone. */
CASE(attached_while_it_runs)
{
	struct vdev_queue *q = &rig.v.q[VDEV_TX];
	uint32_t seq;
	long wakes;

	need_tasks();
	pin_rig_open(&rig, -1, MAP_PRIVATE | MAP_ANONYMOUS);
	pager_open();
	pager.holds = true;
	rig_start(&rig);
	frames_pass(&rig);
	ASSERT_EQ(new_worker(), 1);
	seq = rig.tx_seq;
	ASSERT_EQ(rig_tx(&rig, 1000, NULL), 0);
	pager_take_away(q->bufs, (size_t)q->buf_size * q->buf_num);
	vdev_kick_always(q);
	ASSERT(pager_asked(1, 3000));
	wakes = rig_counter(&rig, "kvnet.tx.wakes");
	EXPECT_EQ(attach(VDEV_TX, 1), 0);
	pager_go_on();
	rig_expect(&rig, seq, 1000);
	ASSERT(rig_tx_drain(&rig, 3000));
	/* it is handed over, without another kick */
	EXPECT(WAIT_FOR(3000, rig_counter(&rig, "kvnet.tx.wakes") > wakes));
	frames_pass(&rig);
}

/* Another backend, table, features while the queues have workers of their own. */
CASE(set_up_again)
{
	unsigned int i;

	begin(&(struct rig_cfg){ 0 });
	ASSERT_EQ(new_worker(), 1);
	ASSERT_EQ(attach(VDEV_TX, 1), 0);
	for (i = 0; i < 5; i++) {
		pass(20);
		rig_stop(&rig);
		ASSERT_EQ(attach(i % 2, i / 2 % 2), 0);
		EXPECT_EQ(serving(i % 2), i / 2 % 2);
		rig_start(&rig);
		vdev_set_mem(&rig.v);
	}
	pass(20);
}

/* Workers come and go, and queues go from one to another. */
static void shuffle(unsigned int i)
{
	static int id[2] = { 0, 0 };
	unsigned int q = i % 2;
	int fresh;

	switch (ksft_below(3)) {
	case 0:
		fresh = new_worker();
		if (fresh < 0 || attach(q, fresh))
			FAIL("new worker: %d", fresh);
		id[q] = fresh;
		break;
	case 1:
		id[q] = id[!q];
		EXPECT_EQ(attach(q, id[q]), 0);
		break;
	default:
		break;
	}
	EXPECT_EQ(serving(q), id[q]);
	for (fresh = 0; fresh < WORKERS; fresh++)
		if (fresh == id[0] || fresh == id[1])
			EXPECT_EQ(free_worker(fresh), -EBUSY);
		else
			free_worker(fresh);
}

static void under_traffic(const struct rig_cfg *cfg, unsigned int poll_us)
{
	struct vhost_vring_state busy = { 0, poll_us };
	struct exchange x = { .r = &rig };
	unsigned int i, n = ksft_rounds(150);

	begin(cfg);
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &busy);
	exchange_start(&x);
	for (i = 0; i < n && !ksft_failed(); i++) {
		shuffle(i);
		if (i % 4 == 0)
			exchange_wait(&x);
	}
	exchange_end(&x);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[0].err), 0);
	EXPECT_EQ(vdev_eventfd_take(rig.v.q[1].err), 0);
	rig_close(&rig);
	EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	no_leak_found();
}

CASE_TIMED(moved_under_traffic, 60)
{
	under_traffic(&(struct rig_cfg){ 0 }, 0);
}

CASE_TIMED(moved_while_they_spin, 60)
{
	under_traffic(&(struct rig_cfg){ 0 }, 200);
}

CASE_TIMED(moved_while_the_tap_is_full, 60)
{
	under_traffic(&(struct rig_cfg){ .tap = TAP_SNDBUF }, 0);
}

/*** the end ***/

static void vmm(int ready)
{
	struct exchange x = { .r = &rig };

	rig_open(&rig, &(struct rig_cfg){ 0 });
	if (new_worker() != 1 || new_worker() != 2 || attach(VDEV_TX, 1))
		_exit(1);
	exchange_start(&x);
	close(ready);
	for (;;) {
		attach(ksft_below(2), ksft_below(3));
		free_worker(2);
		new_worker();
	}
}

CASE_TIMED(killed, 60)
{
	need_tasks();
	vmm_killed_often(vmm, ksft_rounds(20), 5000);
	no_leak_found();
}

/* RESET_OWNER and the last close, with queues at two workers and traffic under way. */
CASE_TIMED(reset_and_closed, 60)
{
	unsigned int i, k, n = ksft_rounds(30);

	for (i = 0; i < n && !ksft_failed(); i++) {
		begin(&(struct rig_cfg){ 0 });
		ASSERT_EQ(new_worker(), 1);
		ASSERT_EQ(attach(VDEV_TX, 1), 0);
		rig_rx_post(&rig, 100, NULL);
		for (k = 0; k < 100; k++) {
			rig_tx(&rig, 60, NULL);
			rig_inject(&rig, k, 60);
		}
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		vdev_kick_always(&rig.v.q[VDEV_TX]);
		if (i % 3 == 0)
			attach(VDEV_TX, 0);
		if (i % 2)
			vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
		rig_close(&rig);
		EXPECT(WAIT_FOR(3000, !workers_of(getpid(), NULL)));
	}
	no_leak_found();
}

KSFT_MAIN()
