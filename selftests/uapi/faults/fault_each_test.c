// SPDX-License-Identifier: GPL-2.0
/*
 * Of each ioctl, file operation and netlink request, each call that can fail fails in turn.
 * The error is a clean one, the step has no effect then, nothing is left behind, and the device
 * carries packets afterwards: see fault_rig.h.
 *
 * @module: failing
 * @skip: (uapi|test)-[67n].* | .*: no /sys/kernel/debug/fails.* | User-Mode Linux lets allocations fail
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "dirtylog.h"
#include "fault_rig.h"
#include "inject.h"
#include "procfs.h"
#include "vhost_abi.h"

#define BURST	24

static struct dirtylog dl;
static int efd[2];

static int call(unsigned long req, const void *arg)
{
	return __vdev_ioctl(vmm.v.fd, req, arg);
}

/*** steps ***/

static int do_open(void)
{
	int fd = open(vdev_path(), O_RDWR | O_CLOEXEC), ret;
	uint64_t features = 0;

	if (fd < 0)
		return -errno;
	/* the first call makes the device */
	ret = __vdev_ioctl(fd, VHOST_GET_FEATURES, &features);
	close(fd);
	return ret;
}

static int do_another_owner(void)
{
	int ret = call(VHOST_RESET_OWNER, NULL);

	return ret ? ret : call(VHOST_SET_OWNER, NULL);
}

static int do_features(void)
{
	return call(VHOST_SET_FEATURES, &vmm.v.features);
}

static int do_feature_words(void)
{
	struct abi_features f = { .count = 2, .word = { vmm.v.features } };

	return call(VHOST_SET_FEATURES_ARRAY, &f);
}

static int do_get_features(void)
{
	uint64_t f = 0;

	return call(VHOST_GET_FEATURES, &f);
}

static int do_mem(void)
{
	return __vdev_set_mem(&vmm.v);
}

static int do_queue(void)
{
	int ret = __vdev_backend(&vmm.v, VDEV_RX, -1);

	vdev_queue_renew(&vmm.v, VDEV_RX);
	if (!ret)
		ret = __vdev_queue_tell(&vmm.v, VDEV_RX, 0);
	return ret ? ret : __vdev_backend(&vmm.v, VDEV_RX, vmm.tap);
}

static int do_addr(void)
{
	struct vhost_vring_addr a;

	vdev_queue_addr(&vmm.v, VDEV_TX, &a);
	return call(VHOST_SET_VRING_ADDR, &a);
}

static int do_kick(void)
{
	return __vdev_vring_fd(&vmm.v, VHOST_SET_VRING_KICK, VDEV_TX, efd[0]);
}

static int do_call(void)
{
	return __vdev_vring_fd(&vmm.v, VHOST_SET_VRING_CALL, VDEV_TX, efd[0]);
}

static int do_err(void)
{
	return __vdev_vring_fd(&vmm.v, VHOST_SET_VRING_ERR, VDEV_TX, efd[0]);
}

static int do_backend(void)
{
	int ret = __vdev_backend(&vmm.v, VDEV_TX, -1);

	return ret ? ret : __vdev_backend(&vmm.v, VDEV_TX, vmm.tap);
}

static int do_busy(void)
{
	return call(VHOST_SET_VRING_BUSYLOOP_TIMEOUT,
		    &(struct vhost_vring_state){ 0, 10 });
}

static int do_get_base(void)
{
	return call(VHOST_GET_VRING_BASE, &(struct vhost_vring_state){ 0 });
}

static int do_log(void)
{
	uint64_t f = vmm.v.features | F_LOG;
	int ret = __dirtylog_base(&vmm.v, (uintptr_t)dl.map);

	if (!ret)
		ret = call(VHOST_SET_LOG_FD, &efd[1]);
	return ret ? ret : call(VHOST_SET_FEATURES, &f);
}

static int do_fdinfo(void)
{
	char path[64], text[8192];
	int fd, ret = 0;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", vmm.v.fd);
	fd = open(path, O_RDONLY);
	if (fd < 0)
		return -errno;
	if (read(fd, text, sizeof(text)) < 0)
		ret = -errno;
	close(fd);
	return ret;
}

static int do_poll(void)
{
	struct pollfd p[2] = {
		{ .fd = vmm.v.fd, .events = POLLIN },
		{ .fd = vmm.v.q[VDEV_RX].kick, .events = POLLIN },
	};

	return poll(p, 2, 0) < 0 ? -errno : 0;
}

static int list(uint8_t cmd)
{
	struct ask a;

	ask_begin(&a, &genl, cmd);
	return genl_do(&genl, &a, true, NULL, NULL);
}

static int do_devices(void)
{
	return list(KVNET_CMD_DEV_GET);
}

static int do_queues(void)
{
	return list(KVNET_CMD_QUEUE_GET);
}

static int do_workers(void)
{
	return list(KVNET_CMD_WORKER_GET);
}

/* One device: an answer, not a list. */
static int do_device(void)
{
	struct ask a;

	ask_begin(&a, &genl, KVNET_CMD_DEV_GET);
	ask_u32(&a, KVNET_A_DEV_ID, fault_device);
	return genl_do(&genl, &a, false, NULL, NULL);
}

static int do_policy(void)
{
	struct nlattr *nest;
	struct ask a;

	ask_begin(&a, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&a, KVNET_A_DEV_ID, fault_device);
	nest = ask_nest(&a, KVNET_A_DEV_POLICY);
	ask_u32(&a, KVNET_A_POLICY_POLL_US, 17);
	ask_u8(&a, KVNET_A_POLICY_RX_DIRECT, 1);
	ask_u8(&a, KVNET_A_POLICY_SHORTCUT, 1);
	ask_nest_end(&a, nest);
	return genl_do(&genl, &a, false, NULL, NULL);
}

static const struct fault_step all[] = {
#define S(f) { #f, do_##f }
	S(open), S(another_owner), S(features), S(feature_words), S(get_features), S(mem),
	S(queue), S(addr), S(kick), S(call), S(err), S(backend), S(busy), S(get_base),
	S(log), S(fdinfo), S(poll), S(policy), S(devices), S(queues),
	S(workers), S(device),
};

/* Rings of more than a page. */
static void begin(void)
{
	fault_begin(&(struct rig_cfg){ .num = 512, .bufs = 32, .tx_buf = 66000 });
	dirtylog_open(&dl, &vmm.v);
	efd[0] = vdev_eventfd();
	efd[1] = vdev_eventfd();
}

static void end(void)
{
	close(efd[0]);
	close(efd[1]);
	fault_end();
}

CASE_TIMED(each_call_fails_cleanly, 120)
{
	unsigned int i;

	begin();
	for (i = 0; i < sizeof(all) / sizeof(*all) && !ksft_failed(); i++)
		fault_each(&all[i]);
	EXPECT_OP(fault_injected, >, 50);
	end();
}

/* A device from open() to close(), whatever fails in between. */
static void live_and_die(void)
{
	struct rig r = vmm;
	struct vdev *v = &r.v;
	unsigned int q;

	v->fd = open(vdev_path(), O_RDWR | O_CLOEXEC);
	if (v->fd < 0)
		return;
	__vdev_ioctl(v->fd, VHOST_SET_OWNER, NULL);
	__vdev_ioctl(v->fd, VHOST_SET_FEATURES, &v->features);
	__vdev_set_mem(v);
	for (q = 0; q < 2; q++) {
		__vdev_queue_tell(v, q, 0);
		__vdev_backend(v, q, r.tap);
	}
	close(v->fd);
}

CASE_TIMED(close_after_failure_leaks_nothing, 120)
{
	struct injector in;
	unsigned int n;
	bool hit;

	begin();
	FOR_EACH_INJECTOR(&in, gettid()) {
		for (n = 1, hit = true; hit && n < FAULT_MOST && !ksft_failed(); n++) {
			injector_nth(&in, n);
			live_and_die();
			hit = injector_hit(&in);
			injector_nth(&in, 0);
			fault_injected += hit;
		}
		EXPECT_OP(n, <, FAULT_MOST);
	}
	fault_carries_packets();
	end();
}

static void packets(pid_t tid, unsigned int burst, uint32_t len, const struct shape *shape)
{
	fault_on_the_way(tid, &(struct fault_load){ burst, len, shape });
}

CASE_TIMED(frames_on_their_way_fail_cleanly, 240)
{
	static const struct shape indirect = { .piece = 100, .indirect = true };
	struct worker w;

	begin();
	fault_touch_memory();
	vdev_no_spin(&vmm.v);
	ASSERT_EQ(workers_of(getpid(), &w), DEVICE_WORKERS);
	packets(gettid(), 1, 100, NULL);	/* inline TX */
	packets(w.tid, 1, 100, NULL);	/* fills the page cache */
	fault_by_worker(true);
	packets(w.tid, BURST, 100, NULL);
	packets(w.tid, BURST, 3000, NULL);
	packets(w.tid, 4, 60000, NULL);
	packets(w.tid, BURST, 1000, &indirect);
	dirtylog_on(&dl);
	packets(w.tid, BURST, 500, NULL);
	dirtylog_off(&dl);
	fault_by_worker(false);
	EXPECT_OP(fault_injected, >, 4);
	end();
}

/* Receives a frame into many pieces, while the n-th call of its copy fails. */
static bool frame_in_pieces(const struct injector *in, unsigned int n)
{
	static const struct shape pieces = { .piece = 300, .split_hdr = true };
	struct vdev_queue *q = &vmm.v.q[VDEV_RX];
	bool hit, got;

	fault_set_up_again();
	ASSERT_EQ(rig_rx_post(&vmm, 2, &pieces), 2);
	vdev_kick_always(q);
	wait_worker_idle();
	injector_nth(in, n);
	rig_inject(&vmm, n, 1000);
	WAIT_FOR(3000, gr_used_pending(&q->ring) || injector_hit(in));
	wait_worker_idle();
	hit = injector_hit(in);
	injector_nth(in, 0);
	got = gr_used_pending(&q->ring);
	EXPECT(got || hit);
	if (got)
		rig_rx_expect(&vmm, n, 1000);
	fault_carries_packets();
	return hit;
}

/* The guest gets the whole frame, or none. */
CASE_TIMED(frame_in_pieces_fails_as_a_whole, 120)
{
	struct injector in;
	struct worker w;
	unsigned int n;

	begin();
	fault_touch_memory();
	vdev_no_spin(&vmm.v);
	ASSERT_EQ(workers_of(getpid(), &w), DEVICE_WORKERS);
	fault_by_worker(true);
	FOR_EACH_INJECTOR(&in, w.tid)
		UNTIL_NONE_FAILS(&in, n, frame_in_pieces(&in, n));
	EXPECT_OP(fault_injected, >, 2);	/* header, and pieces of data */
	end();
}

KSFT_MAIN()
