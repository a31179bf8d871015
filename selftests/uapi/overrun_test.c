// SPDX-License-Identifier: GPL-2.0
/*
 * Receive buffers that are too few or too many for a frame: which frames are
 * dropped, which wait, and that the queue goes on with the next one.
 */
#include <stdlib.h>
#include <unistd.h>

#include "pin_rig.h"
#include "rig.h"

static struct rig rig;

static long counter(const char *name)
{
	return strtol(ring_is(&rig, name), NULL, 10);
}

static void post(unsigned int n, const struct shape *shape)
{
	ASSERT_EQ(rig_rx_post(&rig, n, shape), n);
	vdev_kick(&rig.v.q[VDEV_RX]);
}

/* A buffer of more pieces than the device takes, in a new ring. */
static void show_endless_buffer(unsigned int n)
{
	struct gr_desc *table = vdev_alloc(&rig.v, 16 * n, 16);
	uint64_t data = vdev_gpa(&rig.v, vdev_alloc(&rig.v, n, 16)), one = 1;
	unsigned int i;

	for (i = 0; i < n; i++) {
		uint16_t flags = GR_DESC_F_WRITE;

		if (rig.v.features & F_PACKED)
			gr_raw_set_packed(&table[i], data + i, 1, 0, flags);
		else
			gr_raw_set(&table[i], data + i, 1,
				   flags | (i + 1 < n ? GR_DESC_F_NEXT : 0),
				   i + 1);
	}
	gr_raw_offer(&rig.v.q[VDEV_RX].ring, vdev_gpa(&rig.v, table), 16 * n,
		     GR_DESC_F_INDIRECT);
	ASSERT_EQ(write(rig.v.q[VDEV_RX].kick, &one, 8), 8);
}

/* The driver broke a rule, and no frame had a part in it. */
CASE(frame_survives_a_chain_that_is_too_long)
{
	rig_open(&rig, &(struct rig_cfg){ .rx_buf = 2048 });
	rig_inject(&rig, 7, 100);
	rig_inject(&rig, 8, 900);
	show_endless_buffer(1500);
	EXPECT(vdev_eventfd_wait(rig.v.q[VDEV_RX].err, 3000));
	if (!vdev_is_vhost()) {
		EXPECT_EQ(counter("kvnet.rx.broken"), 1);
		EXPECT_EQ(counter("kvnet.rx.drop_overrun"), 0);
	}
	rig_stop(&rig);
	vdev_queue_reset(&rig.v, VDEV_RX);
	vdev_queue_reset(&rig.v, VDEV_TX);
	rig_start(&rig);
	post(16, NULL);
	rig_rx_expect(&rig, 7, 100);
	rig_rx_expect(&rig, 8, 900);
}

KSFT_MAIN()
