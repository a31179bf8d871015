// SPDX-License-Identifier: GPL-2.0
/*
 * What an operator sees of backends: whose interface one is of several, and how much waits
 * there.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/if_tun.h>
#include <net/if.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "links.h"
#include "netlink_rig.h"
#include "packet_rig.h"
#include "procfs.h"

VDEV_ONE_THREAD()

#define TAP_LEN		8

static void told_as(int fd, int ifindex)
{
	struct attrs d;

	vdev_backend(&vmm.v, VDEV_TX, fd);
	d = the_device();
	EXPECT_EQ(attr_has(d, KVNET_A_DEV_IFINDEX), ifindex != 0);
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
}

static int add_upper(const char *kind, const char *name, const char *lower, unsigned int mode)
{
	if (link_add_upper(kind, name, if_nametoindex(lower), mode))
		ksft_skip("no %s", kind);
	ASSERT_EQ(link_up(if_nametoindex(name), true), 0);
	return if_nametoindex(name);
}

/* None of the others, whichever is looked at first; and none is kept for that. */
CASE(one_of_several_uppers)
{
	int upper[4], fd[4];
	unsigned int i;

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	ASSERT_EQ(link_add_veth("va", "vb"), 0);
	ASSERT_EQ(link_up(if_nametoindex("va"), true), 0);
	ASSERT_EQ(link_up(if_nametoindex("vb"), true), 0);
	upper[0] = add_upper("macvtap", "m0", "va", MACVLAN_MODE_BRIDGE);
	upper[1] = add_upper("macvtap", "m1", "va", MACVLAN_MODE_BRIDGE);
	upper[2] = add_upper("ipvtap", "i0", "vb", IPVLAN_MODE_L2);
	upper[3] = add_upper("ipvtap", "i1", "vb", IPVLAN_MODE_L2);
	for (i = 0; i < 4; i++) {
		fd[i] = link_open_tap(upper[i]);
		ASSERT(fd[i] >= 0);
		ASSERT_SYS(ioctl(fd[i], TUNSETVNETHDRSZ, &vmm.v.hdr_len));
	}
	for (i = 0; i < 4; i++)
		told_as(fd[i], upper[i]);
	for (i = 0; i < 4; i++) {
		close(fd[i]);
		ASSERT_EQ(link_delete(upper[i]), 0);
	}
}

/* The interface that it had is in another namespace; others are where the socket is. */
CASE(an_upper_that_is_elsewhere)
{
	int first, other, fd, old, elsewhere;

	netlink_begin(&(struct rig_cfg){ .stopped = true });
	ASSERT_EQ(link_add_veth("va", "vb"), 0);
	first = add_upper("macvtap", "m0", "va", MACVLAN_MODE_BRIDGE);
	add_upper("macvtap", "m1", "va", MACVLAN_MODE_BRIDGE);
	fd = link_open_tap(first);
	ASSERT(fd >= 0);
	ASSERT_SYS(ioctl(fd, TUNSETVNETHDRSZ, &vmm.v.hdr_len));
	old = link_new_netns();
	elsewhere = link_own_netns();
	ASSERT_SYS(setns(old, CLONE_NEWNET));
	ASSERT_EQ(link_move(first, elsewhere), 0);
	ASSERT_SYS(setns(elsewhere, CLONE_NEWNET));
	other = if_nametoindex("m0");
	ASSERT(other);
	ASSERT_EQ(link_up(other, true), 0);
	ASSERT_SYS(setns(old, CLONE_NEWNET));
	told_as(fd, 0);
	close(fd);
	close(elsewhere);
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
	ASSERT(WAIT_FOR(3000, rig_counter(&vmm, "kvnet.rx.wait_buffers") > 0));
	worker_rests();
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
