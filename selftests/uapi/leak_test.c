// SPDX-License-Identifier: GPL-2.0
/* What is left behind by many devices and many eventfds: nothing. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "procfs.h"
#include "rig.h"

static struct rig rig;

static void carries_packets(struct rig *r)
{
	static uint32_t seq;

	rig_rx_post(r, 8, NULL);
	vdev_kick(&r->v.q[VDEV_RX]);
	rig_inject(r, ++seq, 80);
	rig_rx_expect(r, seq, 80);
	ASSERT_EQ(rig_tx(r, 90, NULL), 0);
	vdev_kick(&r->v.q[VDEV_TX]);
	rig_expect(r, r->tx_seq - 1, 90);
	rig_tx_drain(r, 3000);
}

CASE_TIMED(open_and_close_200_times, 60)
{
	unsigned int n = ksft_rounds(200), before = workers(), i;
	unsigned long files = 0;
	struct vdev v;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	for (i = 0; i < n && !ksft_failed(); i++) {
		if (i == 20)
			files = open_files();
		vdev_open(&v);
		vdev_set_features(&v, F_V1 | F_MRG | F_IND | F_EVENT);
		vdev_memory(&v, 8 << 20, 2);
		vdev_set_mem(&v);
		vdev_queue_make(&v, 0, 256);
		vdev_queue_make(&v, 1, 256);
		vdev_queue_tell(&v, 0, 0);
		vdev_queue_tell(&v, 1, 0);
		vdev_backend(&v, 0, rig.tap);
		vdev_backend(&v, 1, rig.tap);
		vdev_close(&v);
	}
	rig_close(&rig);
	no_worker_left(before);
	if (!WAIT_FOR(3000, open_files() <= files + 16))
		FAIL("open files: %lu, then %lu", files, open_files());
	no_leak_found();
}

CASE(eventfds_replaced_do_not_leak)
{
	static const unsigned long req[] = {
		VHOST_SET_VRING_KICK, VHOST_SET_VRING_CALL, VHOST_SET_VRING_ERR,
	};
	unsigned int first, i, n = ksft_rounds(3000);
	unsigned long files;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	first = eventfd_number();
	files = open_files();
	for (i = 0; i < n; i++) {
		int fd = vdev_eventfd();

		ASSERT_EQ(__vdev_vring_fd(&rig.v, req[i % 3], i % 2, fd), 0);
		if (i % 5 == 0)		/* the same one again */
			ASSERT_EQ(__vdev_vring_fd(&rig.v, req[i % 3], i % 2,
						  fd), 0);
		if (i % 7 == 0)
			ASSERT_EQ(__vdev_vring_fd(&rig.v, req[i % 3], i % 2,
						  -1), 0);
		close(fd);
	}
	if (!WAIT_FOR(2000, eventfd_number() < first + 32))
		FAIL("eventfd number %u, then %u", first, eventfd_number());
	if (!WAIT_FOR(2000, open_files() < files + 32))
		FAIL("open files: %lu, then %lu", files, open_files());
}

CASE(as_many_devices_as_descriptors)
{
	struct rlimit lim = { 80, 80 };
	unsigned int before = workers();
	int fd[80], n;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	ASSERT_SYS(setrlimit(RLIMIT_NOFILE, &lim));
	for (n = 0; n < 80; n++) {
		fd[n] = open(vdev_path(), O_RDWR);
		if (fd[n] < 0)
			break;
		vdev_ioctl(fd[n], VHOST_SET_OWNER, NULL);
	}
	EXPECT_EQ(errno, EMFILE);
	EXPECT_GE(n, 20);
	carries_packets(&rig);
	while (n--)
		close(fd[n]);
	carries_packets(&rig);
	no_worker_left(before + 2);
}

KSFT_MAIN()
