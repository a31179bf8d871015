// SPDX-License-Identifier: GPL-2.0
/*
 * Several threads of the owner issue random ioctls at the same time.  The results do not
 * matter; the kernel's log does, and that nothing is left behind.
 *
 * @hosts: newest
 * @debug: kasan kcsan
 * @again: kthread
 * @seconds: 4
 */
#include "procfs.h"
#include "rig.h"

#define THREADS	4

static struct rig rig;
static uint64_t deadline;
static struct vhost_memory *tables[2];
static struct vhost_vring_addr addrs[2];
static int fds[4];

static unsigned int pick(unsigned int *state, unsigned int n)
{
	return rand_r(state) % n;
}

static void one_call(unsigned int *rnd, bool resets)
{
	unsigned int q = pick(rnd, 2);
	struct vhost_vring_state s = { .index = q, .num = 256 };
	uint64_t one = 1, features = rig.v.features;
	int fd = rig.v.fd;

	switch (pick(rnd, resets ? 15 : 14)) {
	case 0:
	case 1:
		__vdev_backend(&rig.v, q, rig.tap);
		break;
	case 2:
		__vdev_backend(&rig.v, q, -1);
		break;
	case 3:
		__vdev_ioctl(fd, VHOST_SET_MEM_TABLE, tables[pick(rnd, 2)]);
		break;
	case 4:
		__vdev_vring_fd(&rig.v, VHOST_SET_VRING_CALL, q,
				fds[pick(rnd, 4)]);
		break;
	case 5:
		__vdev_vring_fd(&rig.v, VHOST_SET_VRING_KICK, q,
				pick(rnd, 3) ? rig.v.q[q].kick : -1);
		break;
	case 6:
		__vdev_vring_fd(&rig.v, VHOST_SET_VRING_ERR, q,
				fds[pick(rnd, 4)]);
		break;
	case 7:
		__vdev_ioctl(fd, VHOST_GET_VRING_BASE, &s);
		break;
	case 8:
		__vdev_ioctl(fd, VHOST_SET_VRING_NUM, &s);
		break;
	case 9:
		__vdev_ioctl(fd, VHOST_SET_VRING_ADDR, &addrs[q]);
		break;
	case 10:
		features ^= pick(rnd, 2) ? F_EVENT : F_MRG;
		__vdev_ioctl(fd, VHOST_SET_FEATURES, &features);
		break;
	case 11:
	case 12:
	case 13:
		if (write(rig.v.q[q].kick, &one, 8) != 8)
			pick(rnd, 2);
		break;
	case 14:
		__vdev_ioctl(fd, VHOST_RESET_OWNER, NULL);
		__vdev_ioctl(fd, VHOST_SET_OWNER, NULL);
		break;
	}
}

static void *storm(void *arg)
{
	unsigned int rnd = (uintptr_t)arg;
	bool resets = rnd & 1;

	while (ksft_now_ms() < deadline)
		one_call(&rnd, resets);
	return NULL;
}

static void *traffic(void *arg)
{
	struct guest_ring *tx = &rig.v.q[VDEV_TX].ring;
	struct guest_ring *rx = &rig.v.q[VDEV_RX].ring;
	unsigned int rnd = 1, i;
	uint16_t at = 0;

	/* valid buffers only, but no bookkeeping: the base may jump */
	for (i = 0; i < 256; i++) {
		gr_raw_set(gr_raw_desc(tx, i),
			   vdev_gpa(&rig.v, rig.v.q[1].bufs + i * 2048), 1000,
			   0, 0);
		gr_raw_set(gr_raw_desc(rx, i),
			   vdev_gpa(&rig.v, rig.v.q[0].bufs + i * 2048), 2048,
			   GR_DESC_F_WRITE, 0);
		gr_raw_avail(tx, i, i);
		gr_raw_avail(rx, i, i);
	}
	while (ksft_now_ms() < deadline) {
		at += pick(&rnd, 20);
		gr_raw_avail_idx(tx, at);
		gr_raw_avail_idx(rx, at);
		rig_inject(&rig, at, 500);
		ksft_relax(0);
	}
	return arg;
}

static void run_storm(bool resets)
{
	unsigned int before = workers(), i;
	struct vdev *v = &rig.v;
	pthread_t t[THREADS + 1];

	rig_open(&rig, &(struct rig_cfg){ .tx_buf = 2048, .rx_buf = 2048 });
	tables[0] = vdev_table(v);
	vdev_map_host(v);
	tables[1] = vdev_table(v);
	for (i = 0; i < 2; i++)
		vdev_queue_addr(v, i, &addrs[i]);
	for (i = 0; i < 3; i++)
		fds[i] = vdev_eventfd();
	fds[3] = -1;
	deadline = ksft_now_ms() + ksft_rounds(1500);
	for (i = 0; i < THREADS; i++)
		ASSERT_EQ(pthread_create(&t[i], NULL, storm, (void *)(uintptr_t)
			  ((ksft_random() & ~1u) | resets)), 0);
	ASSERT_EQ(pthread_create(&t[i], NULL, traffic, NULL), 0);
	for (i = 0; i <= THREADS; i++)
		pthread_join(t[i], NULL);

	/* afterwards it is a device like any other */
	if (resets)
		vdev_ioctl(v->fd, VHOST_RESET_OWNER, NULL);
	if (resets)
		vdev_ioctl(v->fd, VHOST_SET_OWNER, NULL);
	__vdev_backend(v, 0, -1);
	__vdev_backend(v, 1, -1);
	vdev_set_features(v, rig.cfg.features);
	vdev_set_mem(v);
	vdev_queue_reset(v, 0);
	vdev_queue_reset(v, 1);
	close(rig.tap);
	rig.tap = rig_tap_new(&rig, 0);
	rig.sniff = rig_packet_socket(&rig, FRAME_TYPE, false);
	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 90, NULL), 0);
	vdev_kick_always(&v->q[VDEV_TX]);
	rig_expect(&rig, 0, 90);
	rig_tx_drain(&rig, 3000);
	rig_close(&rig);
	no_worker_left(before);
	no_leak_found();
}

CASE_ROW_TIMED(ioctls_at_once_keep_device_usable, 60, run_storm(false))
CASE_ROW_TIMED(ioctls_and_resets_at_once_keep_device_usable, 60, run_storm(true))

/* The last reference goes while another thread is inside a call. */
CASE_TIMED(close_during_ioctls_leaves_no_worker, 60)
{
	unsigned int before = workers(), i, n;
	pthread_t t[THREADS];

	for (n = 0; n < ksft_rounds(10); n++) {
		rig_open(&rig, &(struct rig_cfg){ 0 });
		tables[0] = vdev_table(&rig.v);
		tables[1] = tables[0];
		for (i = 0; i < 2; i++)
			vdev_queue_addr(&rig.v, i, &addrs[i]);
		deadline = ksft_now_ms() + 40;
		for (i = 0; i < THREADS; i++)
			ASSERT_EQ(pthread_create(&t[i], NULL, storm,
						 (void *)(uintptr_t)(2 * i +
						 2)), 0);
		ksft_relax(1000);
		close(rig.v.fd);	/* the others get EBADF from now on */
		for (i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		close(rig.tap);
	}
	no_worker_left(before);
}

KSFT_MAIN()
