// SPDX-License-Identifier: GPL-2.0
/*
 * Files whose last holder is a request of asynchronous I/O that a worker answers: a worker
 * never returns to user space, where such a file goes.
 *
 * @hosts: 6.1
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "aio.h"
#include "procfs.h"
#include "rig.h"

static struct rig rig;

/* Rings are there for the device, and nothing else is. */
static void map_rings(const struct vdev *v)
{
	struct vhost_msg_v2 m = {
		.type = VHOST_IOTLB_MSG_V2,
		.iotlb = {
			.iova = VDEV_GPA, .size = VDEV_RING_ZONE,
			.uaddr = (uintptr_t)v->mem, .perm = VHOST_ACCESS_RW,
			.type = VHOST_IOTLB_UPDATE,
		},
	};
	uint64_t v2 = 1 << VHOST_BACKEND_F_IOTLB_MSG_V2;

	vdev_ioctl(v->fd, VHOST_SET_BACKEND_FEATURES, &v2);
	ASSERT_EQ(write(v->fd, &m, sizeof(m)), (ssize_t)sizeof(m));
}

/* Nobody has the device but the request, and it is the worker that answers it: by a question. */
static void ask_by_the_worker(void)
{
	struct vdev_queue *tx = &rig.v.q[VDEV_TX];
	aio_context_t ctx;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true, .features = F_V1 | F_PLATFORM });
	vdev_no_spin(&rig.v);
	map_rings(&rig.v);
	rig_start(&rig);
	wait_worker_idle();
	ASSERT_EQ(rig_tx(&rig, 60, NULL), 0);
	gr_publish(&tx->ring);
	ctx = aio_poll(rig.v.fd);
	close(rig.v.fd);
	ASSERT_EQ(write(tx->kick, &(uint64_t){ 1 }, 8), 8);
	aio_told(ctx);
}

/* The worker would be the last to have its own device, and wait for its own end. */
CASE_TIMED(one_that_only_its_worker_has, 40)
{
	unsigned int before;
	char c = 0, by_vcpu;
	int p[2], status;
	pid_t pid;

	if (vdev_is_vhost())
		ksft_skip("a process with such a device of vhost_net's cannot be killed");
	/* who kicks would have it, too, for a moment */
	by_vcpu = vdev_parameter("tx_inline", '0');
	before = module_users();
	ASSERT_SYS(pipe2(p, O_CLOEXEC));
	pid = ASSERT_SYS(fork());
	if (!pid) {
		ask_by_the_worker();
		ASSERT_EQ(write(p[1], &c, 1), 1);
		for (;;)
			pause();
	}
	ASSERT_EQ(read(p[0], &c, 1), 1);
	vdev_parameter("tx_inline", by_vcpu);
	if (!WAIT_FOR(5000, module_users() == before))
		FAIL("module: %u users, then %u", before, module_users());
	ASSERT_SYS(kill(pid, SIGKILL));
	if (!WAIT_FOR(5000, waitpid(pid, &status, WNOHANG) == pid))
		FAIL("it cannot be killed");
}

/* Eventfds that nobody has but a request, which the worker's signal answers. */
CASE(files_that_only_its_worker_has)
{
	unsigned int i, first;
	struct vhost_vring_file f = { .index = VDEV_RX };
	static uint8_t frame[FRAME_MAX];
	aio_context_t ctx;

	if (vdev_is_vhost())
		ksft_skip("vhost_net keeps them until its end");
	vdev_parameter("rx_inline", '0');
	rig_open(&rig, &(struct rig_cfg){ 0 });
	rig_rx_post(&rig, 64, NULL);
	vdev_kick_always(&rig.v.q[VDEV_RX]);
	first = eventfd_number();
	for (i = 0; i < 16 && !ksft_failed(); i++) {
		f.fd = vdev_eventfd();
		vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL, &f);
		ctx = aio_poll(f.fd);
		close(f.fd);
		gr_call_on(&rig.v.q[VDEV_RX].ring, 0);
		rig_inject(&rig, i, 60);
		aio_told(ctx);
		EXPECT(rig_rx(&rig, NULL, frame, sizeof(frame), 3000) > 0);
	}
	f.fd = rig.v.q[VDEV_RX].call;
	vdev_ioctl(rig.v.fd, VHOST_SET_VRING_CALL, &f);
	if (!WAIT_FOR(3000, eventfd_number() <= first + 2))
		FAIL("the number of an eventfd is %u, and was %u before", eventfd_number(), first);
	rig_close(&rig);
}

KSFT_MAIN()
