// SPDX-License-Identifier: GPL-2.0
/*
 * What RESET_OWNER leaves of the set-up: nothing. Whoever becomes the owner next finds
 * the device as a new one, and what the one before had told it is not used any more.
 */
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dirtylog.h"
#include "exchange.h"
#include "iommu.h"
#include "procfs.h"

static struct rig rig;

static uint32_t state_of(unsigned int i, unsigned long req)
{
	struct vhost_vring_state s = { i, 12345 };

	vdev_ioctl(rig.v.fd, req, &s);
	return s.num;
}

static void set_state(unsigned int i, unsigned long req, uint32_t num)
{
	struct vhost_vring_state s = { i, num };

	vdev_ioctl(rig.v.fd, req, &s);
}

static unsigned long long features_of(const char *name)
{
	unsigned long long n = 0;
	char line[128], path[64];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", rig.v.fd);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			n = strtoull(line + strlen(name), NULL, 0);
	fclose(f);
	return n;
}

static void another_owner(void)
{
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	vdev_own(rig.v.fd);
}

static void set_up_anew(uint64_t features)
{
	vdev_set_features(&rig.v, features);
	vdev_set_mem(&rig.v);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
}

CASE(numbers)
{
	uint32_t busy[2];
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ .stopped = true });
	for (i = 0; i < 2; i++) {
		busy[i] = state_of(i, VHOST_GET_VRING_BUSYLOOP_TIMEOUT);
		set_state(i, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, 4321 + i);
		vdev_set_base(&rig.v, i, 7);
		if (!vdev_is_vhost())
			set_state(i, VHOST_SET_VRING_ENDIAN,
				  VHOST_VRING_BIG_ENDIAN);
	}
	if (!vdev_is_vhost())
		EXPECT(features_of("kvnet.features:") & F_V1);
	another_owner();
	for (i = 0; i < 2; i++) {
		EXPECT_EQ(state_of(i, VHOST_GET_VRING_BUSYLOOP_TIMEOUT), busy[i]);
		EXPECT_EQ(vdev_get_base(&rig.v, i), 0);
		if (!vdev_is_vhost())
			EXPECT_EQ(state_of(i, VHOST_GET_VRING_ENDIAN),
				  VHOST_VRING_LITTLE_ENDIAN);
	}
	if (!vdev_is_vhost())
		EXPECT_EQ(features_of("kvnet.features:"), 0);
}

/* A queue that has been told how long it is, but not where. */
/* Whose it was is let go of once: a process, and a network. */
CASE(given_back_and_closed)
{
	pid_t pid = ASSERT_SYS(fork());
	int i, fd, status = 0;

	if (!pid) {
		ASSERT_SYS(unshare(CLONE_NEWNET));
		for (i = 0; i < 20; i++) {
			fd = vdev_open_node();
			vdev_own(fd);
			vdev_ioctl(fd, VHOST_RESET_OWNER, NULL);
			close(fd);
		}
		_exit(ksft_failed());
	}
	ASSERT_SYS(waitpid(pid, &status, 0));
	EXPECT_EQ(status, 0);
}

CASE(addresses)
{
	unsigned int i;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	rig_stop(&rig);
	another_owner();
	vdev_set_features(&rig.v, rig.v.features);
	vdev_set_mem(&rig.v);
	for (i = 0; i < 2; i++) {
		set_state(i, VHOST_SET_VRING_NUM, rig.v.q[i].num);
		EXPECT_EQ(__vdev_backend(&rig.v, i, rig.tap), -EFAULT);
	}
}

/* Nobody hears of the next owner's log, nor is it written where this one's was. */
CASE(dirty_log)
{
	struct exchange x = { .r = &rig, .burst = 8 };
	int fd = vdev_eventfd();
	struct dirtylog dl;
	size_t i;

	rig_open(&rig, &(struct rig_cfg){ .bufs = 32, .stopped = true });
	dirtylog_open(&dl, &rig.v);
	dirtylog_on(&dl);
	vdev_ioctl(rig.v.fd, VHOST_SET_LOG_FD, &fd);
	rig_start(&rig);
	exchange_rx(&x);
	EXPECT(vdev_eventfd_wait(fd, 3000));
	rig_stop(&rig);

	another_owner();
	vdev_eventfd_take(fd);
	dirtylog_clear(&dl);
	/* the log is at 0, where nothing is: vhost_net starts, and loses what is received */
	set_up_anew(rig.v.features | F_LOG);
	if (!vdev_is_vhost()) {
		EXPECT_EQ(__vdev_backend(&rig.v, VDEV_RX, rig.tap), -EFAULT);
	} else {
		rig_start(&rig);
		rig_rx_post(&rig, 4, NULL);
		vdev_kick_always(&rig.v.q[VDEV_RX]);
		rig_inject(&rig, 0, 500);
		EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_RX].err, 3000));
		rig_stop(&rig);
	}
	for (i = 0; i < dl.bytes / sizeof(*dl.map); i++)
		if (dl.map[i]) {
			FAIL("the old log has been written");
			break;
		}
	/* and one that works */
	another_owner();
	dirtylog_base(&dl);
	set_up_anew(rig.v.features | F_LOG);
	rig_start(&rig);
	exchange_rx(&x);
	rig_stop(&rig);
	EXPECT_EQ(vdev_eventfd_take(fd), 0);
	for (i = 0; i < dl.bytes / sizeof(*dl.map) && !dl.map[i]; i++)
		;
	EXPECT(i < dl.bytes / sizeof(*dl.map));
	dirtylog_close(&dl);
	close(fd);
}

/* Given back before the worker has had its turn: what it was to do is nobody's. */
CASE(work_under_way)
{
	const struct sched_param first = { .sched_priority = 1 }, as_others = { 0 };
	struct exchange x = { .r = &rig, .burst = 8 };
	unsigned int i;
	uint8_t f[256];

	rig_open(&rig, &(struct rig_cfg){ .bufs = 200 });
	exchange_tx(&x);
	wait_worker_idle();
	/* more than the thread that kicks would send itself */
	for (i = 0; i < 100; i++)
		ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	ASSERT_SYS(sched_setscheduler(0, SCHED_FIFO, &first));
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	vdev_ioctl(rig.v.fd, VHOST_RESET_OWNER, NULL);
	ASSERT_SYS(sched_setscheduler(0, SCHED_OTHER, &as_others));
	vdev_own(rig.v.fd);
	set_up_anew(rig.v.features);
	rig.tx_out = 0;
	/* what had been sent may be under way on another CPU */
	while (rig_sniff(&rig, f, sizeof(f), 100) >= 0)
		;
	rig_start(&rig);
	exchange_tx(&x);
	exchange_rx(&x);
	rig_close(&rig);
}

/* The one before wanted messages of the second format. */
CASE(format_of_messages)
{
	struct vhost_msg msg;
	struct iommu io;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 16 }, 2);
	another_owner();
	set_up_anew(rig.v.features);
	rig_start(&rig);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick_always(&rig.v.q[VDEV_TX]);
	ASSERT(iommu_readable(&io, 3000));
	ASSERT_EQ(read(rig.v.fd, &msg, sizeof(msg)), sizeof(msg));
	EXPECT_EQ(msg.type, VHOST_IOTLB_MSG);
	EXPECT_EQ(msg.iotlb.type, VHOST_IOTLB_MISS);
	iommu_close(&io);
}

KSFT_MAIN()
