// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sees of backends: the tap that a queue of several belongs to, and how much
 * waits there.
 *
 * @hosts: 6.1 newest
 * @debug: kmsan
 * @skip: .*-6\.1 | .*: PACKET_VNET_HDR_SZ .* | kernels from 6.6 on have it
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "links.h"
#include "netlink_rig.h"
#include "packet_rig.h"
#include "procfs.h"

#define TAP_LEN		8

static void told_as(int fd, int ifindex)
{
	struct attrs d;

	vdev_backend(&vmm.v, VDEV_TX, fd);
	d = the_device();
	EXPECT(attr_has(d, KVNET_A_DEV_IFINDEX));
	EXPECT_EQ(attr_u32(d, KVNET_A_DEV_IFINDEX), ifindex);
	vdev_backend(&vmm.v, VDEV_TX, -1);
}

CASE(a_queue_of_a_tap)
{
	struct ifreq ifr = {
		.ifr_name = "many",
		.ifr_flags = IFF_TAP | IFF_NO_PI | IFF_VNET_HDR | IFF_MULTI_QUEUE,
	};
	unsigned int i;
	int fd[3];

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	for (i = 0; i < 3; i++) {
		fd[i] = ASSERT_SYS(open("/dev/net/tun", O_RDWR | O_CLOEXEC));
		ASSERT_SYS(ioctl(fd[i], TUNSETIFF, &ifr));
		ASSERT_SYS(ioctl(fd[i], TUNSETVNETHDRSZ, &vmm.v.hdr_len));
	}
	ASSERT_EQ(link_up(if_nametoindex("many"), true), 0);
	for (i = 0; i < 3; i++)
		told_as(fd[i], if_nametoindex("many"));
	/* it is no less a queue of the tap's */
	ifr.ifr_flags = IFF_DETACH_QUEUE;
	ASSERT_SYS(ioctl(fd[1], TUNSETQUEUE, &ifr));
	told_as(fd[1], if_nametoindex("many"));
}

static unsigned int backlog(void)
{
	return attr_u32(the_queue(VDEV_RX), KVNET_A_QUEUE_BACKLOG);
}

static void inject(unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++)
		rig_inject(&vmm, i, 60);
}

/* One frame has been taken, for which there is no buffer. */
static void one_is_taken(void)
{
	inject(1);
	ASSERT(WAIT_FOR(3000, rig_counter(&vmm, "kvnet.rx.no_buf") > 0));
	wait_worker_idle();
	EXPECT_EQ(backlog(), 1);
}

CASE(a_tap_that_is_full)
{
	struct ifreq ifr = { .ifr_qlen = TAP_LEN };

	netlink_begin(&(struct rig_cfg){ 0 });
	vdev_no_spin(&vmm.v);
	strcpy(ifr.ifr_name, vmm.name);
	ASSERT_SYS(ioctl(vmm.sniff, SIOCSIFTXQLEN, &ifr));
	one_is_taken();
	inject(TAP_LEN - 1);
	EXPECT_EQ(backlog(), TAP_LEN);
	inject(3);
	EXPECT_EQ(backlog(), 1 + TAP_LEN);
}

CASE(a_packet_socket)
{
	static const struct packet_how how = { F_V1 | F_MRG, 12 };
	struct packet_rig p = { 0 };

	netlink_begin(&(struct rig_cfg){ .stopped = true, .features = how.features });
	packet_veth(&p);
	p.r = vmm;
	flow_swap(&vmm, packet_backend(&p, p.near, &how), p.far);
	packet_attach(&p, vmm.tap);
	vdev_no_spin(&vmm.v);
	one_is_taken();
	inject(5);
	EXPECT(WAIT_FOR(3000, backlog() == 6));
}

KSFT_MAIN()
