// SPDX-License-Identifier: GPL-2.0
/*
 * Transmit must go on: with a tap that would like to collect packets, and after a
 * memory table that came late.
 *
 * @hosts: 6.1
 */
#include <errno.h>
#include <linux/ethtool.h>
#include <linux/if_tun.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "rig.h"

static struct rig rig;

/* As "ethtool -C rx-frames": the tap collects that many packets if told more. */
static void tap_collects(const struct rig *r, unsigned int frames)
{
	struct ethtool_coalesce c = { .cmd = ETHTOOL_GCOALESCE };
	struct ifreq ifr = { .ifr_data = (void *)&c };
	int fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));

	memcpy(ifr.ifr_name, r->name, sizeof(r->name));
	ASSERT_SYS(ioctl(fd, SIOCETHTOOL, &ifr));
	c.cmd = ETHTOOL_SCOALESCE;
	c.rx_max_coalesced_frames = frames;
	ASSERT_SYS(ioctl(fd, SIOCETHTOOL, &ifr));
	close(fd);
}

/*
 * What such a tap collects it keeps, and with it the room in its send buffer, until
 * it is told that no more will come: whoever says "more" waits for himself.  (Nothing
 * else is kept here, so there is always room: tx_full_test.c has taps that are full.)
 */
CASE(collecting_tap_with_small_sndbuf)
{
	int sndbuf = 64 << 10, i;

	if (vdev_is_vhost())
		ksft_skip("vhost_net sends with MSG_MORE and may wait for ever");
	rig_open(&rig, &(struct rig_cfg){ .tap = TAP_SNDBUF });
	ASSERT_SYS(ioctl(rig.tap, TUNSETSNDBUF, &sndbuf));
	tap_collects(&rig, 64);
	for (i = 0; i < 200; i++)
		ASSERT_EQ(rig_tx(&rig, 1400, NULL), 0);
	vdev_kick(&rig.v.q[VDEV_TX]);
	for (i = 0; i < 200 && !ksft_failed(); i++)
		rig_expect(&rig, i, 1400);
	EXPECT_EQ(rig_tx_drain(&rig, 3000), true);
	rig_close(&rig);
}

CASE(memory_table_comes_late)
{
	const struct vhost_memory none = { .nregions = 0 };
	struct vdev_queue *q;
	struct pollfd err;

	rig_open(&rig, &(struct rig_cfg){ 0 });
	q = &rig.v.q[VDEV_TX];
	vdev_ioctl(rig.v.fd, VHOST_SET_MEM_TABLE, &none);
	ASSERT_EQ(rig_tx(&rig, 100, NULL), 0);
	vdev_kick(q);
	err = (struct pollfd){ .fd = q->err, .events = POLLIN };
	ASSERT_EQ(poll(&err, 1, ksft_patience(3000)), 1);
	vdev_set_mem(&rig.v);
	vdev_kick(q);
	rig_expect(&rig, 0, 100);
	EXPECT_EQ(rig_tx_drain(&rig, 3000), true);
	rig_close(&rig);
}

KSFT_MAIN()
