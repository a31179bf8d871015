// SPDX-License-Identifier: GPL-2.0
/*
 * Everything that a VMM can do to a device with an IOTLB, from several threads
 * at once.  No result is right or wrong here: the kernel must survive, and the
 * device must work afterwards.
 *
 * @hosts: newest
 * @seconds: 2
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include "exchange.h"
#include "iommu.h"

static struct rig rig;
static struct iommu io;

static void works(void)
{
	struct exchange x = { .r = &rig, .burst = 8 };
	static uint8_t f[FRAME_MAX + 64];

	iommu_unmap_all(&io, 0);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	ASSERT_SYS(fcntl(rig.tap, F_SETFL, O_NONBLOCK));
	while (read(rig.tap, f, sizeof(f)) >= 0)
		;
	ASSERT_SYS(fcntl(rig.tap, F_SETFL, 0));
	while (rig_sniff(&rig, f, sizeof(f), 0) >= 0)
		;
	iommu_map_used(&io);
	rig_start(&rig);
	iommu_serve(&io);
	exchange_tx(&x);
	exchange_rx(&x);
	iommu_serve_end(&io);
	iommu_check_graves(&io);
}

static bool storm_over;

static bool storm_goes_on(void)
{
	return !__atomic_load_n(&storm_over, __ATOMIC_ACQUIRE);
}

static uint32_t roll(uint32_t *state)
{
	*state = *state * 1664525u + 1013904223u;
	return *state >> 8;
}

static void *storm_of_messages(void *arg)
{
	uint32_t rnd = (uintptr_t)arg;

	while (storm_goes_on()) {
		uint64_t iova = iommu_iova(&io, roll(&rnd) % io.pages);
		uint64_t size = (1 + roll(&rnd) % 64) * 4096ull;
		uint64_t at = roll(&rnd) % (rig.v.mem_size / 2);

		iommu_send(&io, roll(&rnd) % 3 ? VHOST_IOTLB_UPDATE :
			   VHOST_IOTLB_INVALIDATE, iova, size,
			   (uintptr_t)rig.v.host + at, 1 + roll(&rnd) % 3);
	}
	return NULL;
}

static void *storm_of_reads(void *arg)
{
	struct vhost_iotlb_msg m;

	while (storm_goes_on()) {
		if (iommu_read(&io, &m))	/* it may be off by now */
			iommu_send(&io, VHOST_IOTLB_UPDATE, m.iova & ~4095ull,
				   4096, (uintptr_t)rig.v.host, IOMMU_RW);
		else
			sched_yield();
	}
	return arg;
}

static void *storm_of_calls(void *arg)
{
	uint64_t on = rig.v.features, off = on & ~F_PLATFORM, again = on | F_LOG;
	uint32_t rnd = (uintptr_t)arg;
	unsigned int q = 0;

	while (storm_goes_on()) {
		struct vhost_vring_addr addr;

		q = !q;
		switch (roll(&rnd) % 8) {
		case 0:
			__vdev_backend(&rig.v, q, -1);
			break;
		case 1:
			__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &off);
			break;
		case 2:
			__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &again);
			break;
		case 3:
			__vdev_ioctl(rig.v.fd, VHOST_SET_FEATURES, &on);
			break;
		case 4:
			vdev_queue_addr(&rig.v, q, &addr);
			__vdev_ioctl(rig.v.fd, VHOST_SET_VRING_ADDR, &addr);
			break;
		case 5:
			__vdev_set_mem(&rig.v);
			break;
		default:
			__vdev_backend(&rig.v, q, rig.tap);
		}
	}
	return NULL;
}

/* Translations at random, some of them onto the rings themselves. */
CASE_TIMED(messages_and_calls_at_the_same_time, 40)
{
	uint64_t end = ksft_now_ms() + 1500ull * ksft_rounds(1);
	uint64_t on, one = 1;
	pthread_t t[4];
	unsigned int i;

	iommu_rig(&io, &rig, &(struct rig_cfg){ .bufs = 32 }, 2);
	iommu_map_used(&io);
	rig_start(&rig);
	on = rig.v.features;
	pthread_create(&t[0], NULL, storm_of_messages, (void *)1ul);
	pthread_create(&t[1], NULL, storm_of_messages, (void *)2ul);
	pthread_create(&t[2], NULL, storm_of_reads, NULL);
	pthread_create(&t[3], NULL, storm_of_calls, (void *)3ul);
	while (ksft_now_ms() < end) {
		rig_inject(&rig, 1, 500);
		for (i = 0; i < 2; i++)
			if (write(rig.v.q[i].kick, &one, 8) != 8)
				break;
		sched_yield();
	}
	__atomic_store_n(&storm_over, true, __ATOMIC_RELEASE);
	for (i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	rig_stop(&rig);
	vdev_set_features(&rig.v, on);
	works();
}

KSFT_MAIN()
