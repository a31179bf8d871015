// SPDX-License-Identifier: GPL-2.0
/*
 * Each thing that can fail of each step, in its turn: allocations, of page tables, tasks
 * and pinned pages, too, and copies from and to user memory, where the kernel can have
 * them fail.  The error is a clean one, what did not happen did not happen, nothing is
 * left behind, and the device carries packets afterwards.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dirtylog.h"
#include "flow.h"
#include "inject.h"
#include "pin_rig.h"
#include "policy_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

VDEV_ONE_THREAD()

#define BURST	24
#define MOST	400	/* failures of one step */

static struct dirtylog dl;
static unsigned int injected, steps, workers_before;
static unsigned long files_before;
static long pinned_before;
static int efd[2];

static int call(unsigned long req, const void *arg)
{
	return __vdev_ioctl(vmm.v.fd, req, arg);
}

/*** steps ***/

static int do_open(void)
{
	int fd = open(vdev_path(), O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
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

static int do_worker(void)
{
	unsigned int id = 0, attach[2] = { VDEV_TX, 0 };
	int ret = call(VHOST_NEW_WORKER, &id), freed;

	if (ret)
		return ret;
	attach[1] = id;
	ret = call(VHOST_ATTACH_VRING_WORKER, attach);
	attach[1] = 0;
	while (call(VHOST_ATTACH_VRING_WORKER, attach) == -EFAULT)
		;
	while ((freed = call(VHOST_FREE_WORKER, &id)) == -EFAULT)
		;
	EXPECT_EQ(freed, 0);
	return ret;
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

static uint32_t id;

static int do_policy(void)
{
	struct nlattr *nest;
	struct ask a;

	ask_begin(&a, &genl, KVNET_CMD_DEV_SET);
	ask_u32(&a, KVNET_A_DEV_ID, id);
	nest = ask_nest(&a, KVNET_A_DEV_POLICY);
	ask_u32(&a, KVNET_A_POLICY_POLL_US, 17);
	ask_u8(&a, KVNET_A_POLICY_COPY_FRAMES, 1);
	ask_text(&a, KVNET_A_POLICY_CPUS, "0");
	ask_nest_end(&a, nest);
	return genl_do(&genl, &a, false, NULL, NULL);
}

static const struct step {
	const char *name;
	int (*call)(void);
} all[] = {
#define S(f) { #f, do_##f }
	S(open), S(another_owner), S(features), S(feature_words), S(get_features), S(mem),
	S(queue), S(addr), S(kick), S(call), S(err), S(backend), S(busy), S(get_base),
	S(log), S(worker), S(fdinfo), S(poll), S(devices), S(queues), S(workers),
	S(policy),
};

/*** around them ***/

/* What has waited for a guest that has no queues now. */
static void empty_tap(void)
{
	struct pollfd p = { .fd = vmm.tap, .events = POLLIN };
	static uint8_t f[FRAME_MAX];

	while (poll(&p, 1, 0) == 1 && read(vmm.tap, f, sizeof(f)) > 0)
		;
}

static void set_up_again(void)
{
	struct vdev *v = &vmm.v;
	unsigned int q;

	for (q = 0; q < 2; q++)
		__vdev_backend(v, q, -1);
	empty_tap();
	call(VHOST_SET_OWNER, NULL);	/* if it has got none */
	vdev_set_features(v, v->features);
	vdev_set_mem(v);
	for (q = 0; q < 2; q++)
		vdev_queue_reset(v, q);
	vmm.tx_out = 0;
	rig_start(&vmm);
	id = the_id();	/* another with each owner */
}

/* Rings that are new, and nothing of the old ones under way. */
static void carries_packets(void)
{
	static uint8_t f[FRAME_MAX];

	set_up_again();
	while (rig_sniff(&vmm, f, sizeof(f), 0) >= 0)
		;
	flow_one(&vmm);
}

static void each_of(const struct step *s)
{
	unsigned int n;
	bool hit = true;
	int ret = 0;

	for (n = 1; hit && n < MOST && !ksft_failed(); n++) {
		inject_nth(n);
		ret = s->call();
		hit = inject_hit();
		inject_nth(0);
		if (ret && !(hit && inject_clean(ret)))
			FAIL("%s, failure %u: %s", s->name, n, strerror(-ret));
		injected += hit;
		/* without an answer that is still on its way */
		genl_close(&genl);
		genl_open(&genl);
		carries_packets();
	}
	if (n >= MOST)
		FAIL("%s does not come to an end", s->name);
	steps++;
}

static void begin(void)
{
	if (vdev_is_vhost())
		ksft_skip("steps are kvnet's, too");
	inject_knobs("0");
	workers_before = workers();
	files_before = open_files();
	pinned_before = pages_pinned();
	netlink_begin(&(struct rig_cfg){ .num = 64, .bufs = 32, .tx_buf = 66000 });
	dirtylog_open(&dl, &vmm.v);
	efd[0] = vdev_eventfd();
	efd[1] = vdev_eventfd();
	carries_packets();
}

static void end(void)
{
	rig_close(&vmm);
	close(efd[0]);
	close(efd[1]);
	genl_close(&genl);
	no_worker_left(workers_before);
	no_file_left(files_before, 16);
	if (!WAIT_FOR(3000, pages_pinned() <= pinned_before))
		FAIL("pinned pages: %ld, then %ld", pinned_before, pages_pinned());
	no_leak_found();
	ksft_note("sites %u in %u steps, injected %u, leaks %s", injected, steps, injected,
		  ksft_failed() ? "not known" : "0");
}

CASE_TIMED(of_each_call, 120)
{
	unsigned int i;

	begin();
	for (i = 0; i < sizeof(all) / sizeof(*all) && !ksft_failed(); i++)
		each_of(&all[i]);
	EXPECT_OP(injected, >, 50);
	end();
}

/* A device with an owner, in each step of its life, and gone in between. */
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

CASE_TIMED(and_closed_after_that, 120)
{
	unsigned int n;
	bool hit = true;

	begin();
	for (n = 1; hit && n < MOST && !ksft_failed(); n++) {
		inject_nth(n);
		live_and_die();
		hit = inject_hit();
		inject_nth(0);
		injected += hit;
	}
	steps++;
	carries_packets();
	end();
}

/*** the data path ***/

static bool arrived(unsigned int q)
{
	return gr_used_pending(&vmm.v.q[q].ring);
}

/* The worker for all, or the thread that kicks and who brings a frame, too. */
static void by_worker(bool all)
{
	policy_want();
	ask_u8(&policy_request, KVNET_A_POLICY_TX_BY_VCPU, !all);
	ask_u8(&policy_request, KVNET_A_POLICY_RX_IN_PLACE, !all);
	ASSERT_EQ(policy_ask(), 0);
}

/* Frames each way, while the n-th of what the thread does fails; they may get lost. */
static bool frames(int fd, unsigned int n, unsigned int burst,
		   const struct shape *shape, uint32_t len)
{
	unsigned int i;
	bool hit;

	rig_rx_post(&vmm, BURST, NULL);
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	/* some of what a frame needs is had for several at once */
	for (i = 0; i < burst; i++)
		rig_tx(&vmm, len, shape);
	inject_other_nth(fd, n);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	WAIT_FOR(300, arrived(VDEV_TX));
	hit = inject_other_hit(fd);
	if (!hit) {	/* and what is left of them for the other way */
		inject_other_nth(fd, 0);
		for (i = 0; i < burst && len < 4000; i++)
			rig_inject(&vmm, i, len);
		inject_other_nth(fd, n);
		WAIT_FOR(300, arrived(VDEV_RX) || len >= 4000);
		hit = inject_other_hit(fd);
	}
	inject_other_nth(fd, 0);
	return hit;
}

/* A page table that cannot be had is the process's trouble, not the device's. */
static void touch_memory(void)
{
	const struct vdev *v = &vmm.v;
	size_t off;

	for (off = 0; off < v->mem_size; off += 4096)
		*(volatile uint8_t *)(v->host + off);
	for (off = 0; off < VDEV_RING_ZONE; off += 4096)
		*(volatile uint8_t *)(v->ring_host + off);
}

static void on_the_way(pid_t tid, unsigned int burst, const struct shape *shape, uint32_t len)
{
	int fd = inject_other(tid);
	unsigned int n;
	bool hit = true;

	for (n = 1; hit && n < MOST && !ksft_failed(); n++) {
		hit = frames(fd, n, burst, shape, len);
		injected += hit;
		carries_packets();
	}
	steps++;
	close(fd);
}

CASE_TIMED(of_packets_on_their_way, 120)
{
	static const struct shape indirect = { .piece = 100, .indirect = true };

	struct worker w;

	begin();
	touch_memory();
	vdev_no_spin(&vmm.v);
	ASSERT_EQ(workers_of(getpid(), &w), 1);
	on_the_way(gettid(), 1, NULL, 100);	/* it kicks, and sends */
	by_worker(true);
	on_the_way(w.tid, BURST, NULL, 100);
	on_the_way(w.tid, BURST, NULL, 3000);
	on_the_way(w.tid, 4, NULL, 60000);
	on_the_way(w.tid, BURST, &indirect, 1000);
	dirtylog_on(&dl);
	on_the_way(w.tid, BURST, NULL, 500);
	dirtylog_off(&dl);
	by_worker(false);
	EXPECT_OP(injected, >, 4);
	end();
}

KSFT_MAIN()
