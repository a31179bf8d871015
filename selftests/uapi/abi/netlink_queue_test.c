// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sees of queues: what they count, how far they are, and what they wait for.
 *
 * @hosts: 6.1 newest
 * @debug: kmsan
 * @skip: uapi-uml.* | .*: needs two CPUs | the test hosts have them
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "flow.h"
#include "iommu.h"
#include "netlink_rig.h"
#include "procfs.h"
#include "vhost_abi.h"

/* Each reason to drop a frame that fdinfo knows: the counters end with these. */
static bool told_of_all(struct attrs q, const char *prefix)
{
	char path[64], line[256], key[64];
	unsigned int i, n = 0, told = 0;
	struct attrs one;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", vmm.v.fd);
	snprintf(key, sizeof(key), "%s.drop_", prefix);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		n += !strncmp(line, key, strlen(key));
	fclose(f);
	for (i = 0; attr_nth(q, KVNET_A_QUEUE_COUNTERS, i, &one); i++)
		told += !strncmp(attr_text(one, KVNET_A_COUNTER_NAME), "drop_", 5);
	return n > 4 && told == n;
}

static void same_counters(unsigned int index, const char *prefix)
{
	struct attrs q, one;
	char name[64];
	unsigned int i;

	q = the_queue(index);
	for (i = 0; attr_nth(q, KVNET_A_QUEUE_COUNTERS, i, &one); i++) {
		snprintf(name, sizeof(name), "%s.%s", prefix,
			 attr_text(one, KVNET_A_COUNTER_NAME));
		if (attr_u64(one, KVNET_A_COUNTER_VALUE) !=
		    (uint64_t)rig_counter(&vmm, name))
			FAIL("%s: %lu, fdinfo has %ld", name,
			     (unsigned long)attr_u64(one, KVNET_A_COUNTER_VALUE),
			     rig_counter(&vmm, name));
	}
	EXPECT_OP(i, >, 20);
	EXPECT(told_of_all(q, prefix));
	snprintf(name, sizeof(name), "%s.kicks", prefix);
	EXPECT_EQ(attr_u64(q, KVNET_A_QUEUE_KICKS), rig_counter(&vmm, name));
	snprintf(name, sizeof(name), "%s.wakeups", prefix);
	EXPECT_EQ(attr_u64(q, KVNET_A_QUEUE_WAKEUPS), rig_counter(&vmm, name));
}

CASE(queues)
{
	struct flow f = { .r = &vmm };
	struct attrs q;
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ .num = 128 });
	vdev_no_spin(&vmm.v);
	flow_exact(&f, 20, flow_lens, FLOW_LENS);
	wait_worker_idle();
	same_counters(VDEV_RX, "kvnet.rx");
	same_counters(VDEV_TX, "kvnet.tx");
	for (i = 0; i < 2; i++) {
		q = the_queue(i);
		EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_STATE), KVNET_QUEUE_STATE_RUNNING);
		EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_SIZE), 128);
		EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_ACCESS), KVNET_RING_ACCESS_PINNED);
		EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_BACKEND), KVNET_BACKEND_TAP);
		EXPECT(attr_has(q, KVNET_A_QUEUE_WORKER));
		EXPECT(!attr_has(q, KVNET_A_QUEUE_ERROR));
		if (!(vmm.v.features & F_PACKED))
			EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_USED),
				  vdev_get_base(&vmm.v, i) & 0xffff);
	}
	EXPECT_EQ(genl_count(&genl, KVNET_CMD_QUEUE_GET), 2);
	rig_stop(&vmm);
	q = the_queue(VDEV_TX);
	EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_STATE), KVNET_QUEUE_STATE_STOPPED);
	EXPECT_EQ(attr_u32(q, KVNET_A_QUEUE_BACKEND), KVNET_BACKEND_NONE);
	EXPECT(!attr_has(q, KVNET_A_QUEUE_BACKLOG));
}

/* Frames for a guest that gives no buffers: all of them, wherever they wait. */
CASE(backlog)
{
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	for (i = 0; i < 77; i++)
		rig_inject(&vmm, i, 60);
	EXPECT(WAIT_FOR(3000, attr_u32(the_queue(VDEV_RX), KVNET_A_QUEUE_BACKLOG) == 77));
	EXPECT(!attr_has(the_queue(VDEV_TX), KVNET_A_QUEUE_BACKLOG));
	rig_rx_post(&vmm, 77, NULL);
	vdev_kick_always(&vmm.v.q[VDEV_RX]);
	for (i = 0; i < 77; i++)
		rig_rx_expect(&vmm, i, 60);
	EXPECT_EQ(attr_u32(the_queue(VDEV_RX), KVNET_A_QUEUE_BACKLOG), 0);
}

/* By how many of the two kinds of spins there are more. */
static long more_spins(void)
{
	return labs(rig_counter(&vmm, "kvnet.tx.busy_poll_misses") -
		    rig_counter(&vmm, "kvnet.tx.busy_poll_hits"));
}

/* Spins that were worth it are not those that were not. */
CASE(spins)
{
	struct vhost_vring_state s = { .index = VDEV_TX, .num = 100000 };
	unsigned int i, turn;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		ksft_skip("needs two CPUs");
	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_ioctl(vmm.v.fd, VHOST_SET_VRING_BUSYLOOP_TIMEOUT, &s);
	/* the last spin, still to be counted, is to make no difference */
	for (turn = 0; turn < 500 && more_spins() < 2; turn++) {
		/* more than the thread that kicks would send */
		for (i = 0; i < 10; i++)
			ASSERT_EQ(rig_tx(&vmm, 60, NULL), 0);
		vdev_kick(&vmm.v.q[VDEV_TX]);
		ASSERT(rig_tx_drain(&vmm, 3000));
	}
	vdev_no_spin(&vmm.v);
	wait_worker_idle();
	EXPECT_GE(more_spins(), 1);
	same_counters(VDEV_RX, "kvnet.rx");
	same_counters(VDEV_TX, "kvnet.tx");
}

/* How far both sides of a ring are, where some of its buffers are with the device. */
CASE(places_in_a_ring)
{
	struct vdev_queue *q = &vmm.v.q[VDEV_TX];
	uint32_t base = 7 | 3 << 16, used = 3;
	struct attrs told;

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	if (q->ring.cfg.packed) {
		base |= GR_EVENT_WRAP | GR_EVENT_WRAP << 16;
		used |= GR_EVENT_WRAP;
	} else {
		((uint16_t *)q->ring.cfg.used)[1] = used;
		base = 7;
	}
	vdev_set_base(&vmm.v, VDEV_TX, base);
	rig_start(&vmm);
	told = the_queue(VDEV_TX);
	EXPECT_EQ(attr_u32(told, KVNET_A_QUEUE_AVAIL), base & 0xffff);
	EXPECT_EQ(attr_u32(told, KVNET_A_QUEUE_USED), used);
}

/* A queue that has asked the VMM's IOMMU waits, and no longer than for the answer. */
CASE(waits_for_a_translation)
{
	struct iommu io;

	if (vdev_is_vhost())
		ksft_skip("vhost_net shows nothing");
	iommu_rig(&io, &vmm, &(struct rig_cfg){ .bufs = 16 }, 2);
	genl_open(&genl);
	iommu_map_used(&io);
	rig_start(&vmm);
	ASSERT_EQ(rig_tx(&vmm, 100, NULL), 0);
	vdev_kick_always(&vmm.v.q[VDEV_TX]);
	ASSERT(iommu_readable(&io, 3000));
	EXPECT(WAIT_FOR(3000, attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_STATE) ==
			      KVNET_QUEUE_STATE_WAITING));
	EXPECT(WAIT_FOR(5000, (iommu_pump(&io), rig_tx_reap(&vmm) < 0 || !vmm.tx_out)));
	rig_expect(&vmm, vmm.tx_seq - 1, 100);
	EXPECT_EQ(attr_u32(the_queue(VDEV_TX), KVNET_A_QUEUE_STATE), KVNET_QUEUE_STATE_RUNNING);
	iommu_close(&io);
	rig_close(&vmm);
}

KSFT_MAIN()
