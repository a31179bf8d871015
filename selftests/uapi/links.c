// SPDX-License-Identifier: GPL-2.0
/* Network devices by netlink: see links.h. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "ksft.h"
#include "links.h"
#include "rig.h"

struct request {
	struct nlmsghdr n;
	struct ifinfomsg i;
	uint8_t attrs[512];
};

static void *tail(struct request *r)
{
	return (uint8_t *)r + NLMSG_ALIGN(r->n.nlmsg_len);
}

static struct rtattr *put(struct request *r, unsigned short type,
			  const void *data, size_t len)
{
	struct rtattr *a = tail(r);

	ASSERT((uint8_t *)a + RTA_SPACE(len) <= (uint8_t *)(r + 1));
	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	if (len)
		memcpy(RTA_DATA(a), data, len);
	r->n.nlmsg_len = NLMSG_ALIGN(r->n.nlmsg_len) + RTA_SPACE(len);
	return a;
}

static struct rtattr *nest(struct request *r, unsigned short type)
{
	return put(r, type, NULL, 0);
}

static void nest_end(struct request *r, struct rtattr *a)
{
	a->rta_len = (uint8_t *)tail(r) - (uint8_t *)a;
}

static void put_name(struct request *r, const char *name)
{
	put(r, IFLA_IFNAME, name, strlen(name) + 1);
}

static struct request ask(int type, int ifindex)
{
	return (struct request) {
		.n = { .nlmsg_len = NLMSG_LENGTH(sizeof(struct ifinfomsg)),
		       .nlmsg_type = type,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK },
		.i = { .ifi_index = ifindex },
	};
}

static int answer(struct request *r)
{
	int fd = ASSERT_SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_ROUTE));
	struct {
		struct nlmsghdr n;
		struct nlmsgerr e;
		uint8_t more[1024];
	} a;

	ASSERT_EQ(send(fd, r, r->n.nlmsg_len, 0), r->n.nlmsg_len);
	ASSERT(recv(fd, &a, sizeof(a), 0) > 0);
	close(fd);
	return a.e.error;
}

/* Namespaces die late: no two devices of a run may share an index. */
static int fresh_index(void)
{
	static int n;

	return 1000 + getpid() % 100000 * 16 + n++ % 16;
}

static struct request ask_new(const char *name)
{
	struct request r = ask(RTM_NEWLINK, fresh_index());

	r.n.nlmsg_flags |= NLM_F_CREATE | NLM_F_EXCL;
	put_name(&r, name);
	return r;
}

bool link_module(const char *name)
{
	char command[64];

	snprintf(command, sizeof(command), "modprobe -q %s 2>/dev/null", name);
	return !system(command);
}

static int answer_to_new(struct request *r, const char *kind)
{
	int ret = answer(r);

	return ret == -EOPNOTSUPP && link_module(kind) ? answer(r) : ret;
}

int link_add_veth(const char *name, const char *peer)
{
	struct request r = ask_new(name);
	struct rtattr *info = nest(&r, IFLA_LINKINFO), *data, *end;
	struct ifinfomsg other = { .ifi_index = fresh_index() };

	put(&r, IFLA_INFO_KIND, "veth", 5);
	data = nest(&r, IFLA_INFO_DATA);
	end = put(&r, VETH_INFO_PEER, &other, sizeof(other));
	put_name(&r, peer);
	nest_end(&r, end);
	nest_end(&r, data);
	nest_end(&r, info);
	return answer_to_new(&r, "veth");
}

int link_add_upper(const char *kind, const char *name, int lower,
		   unsigned int mode)
{
	bool ipv = !strcmp(kind, "ipvtap");
	struct request r = ask_new(name);
	uint16_t short_mode = mode;
	struct rtattr *info, *data;

	put(&r, IFLA_LINK, &lower, sizeof(lower));
	info = nest(&r, IFLA_LINKINFO);
	put(&r, IFLA_INFO_KIND, kind, strlen(kind) + 1);
	data = nest(&r, IFLA_INFO_DATA);
	if (ipv)
		put(&r, IFLA_IPVLAN_MODE, &short_mode, sizeof(short_mode));
	else
		put(&r, IFLA_MACVLAN_MODE, &mode, sizeof(mode));
	nest_end(&r, data);
	nest_end(&r, info);
	return answer_to_new(&r, kind);
}

int link_delete(int ifindex)
{
	struct request r = ask(RTM_DELLINK, ifindex);

	return answer(&r);
}

int link_rename(int ifindex, const char *name)
{
	struct request r = ask(RTM_NEWLINK, ifindex);

	put_name(&r, name);
	return answer(&r);
}

int link_move(int ifindex, int netns)
{
	struct request r = ask(RTM_NEWLINK, ifindex);

	put(&r, IFLA_NET_NS_FD, &netns, sizeof(netns));
	return answer(&r);
}

int link_up(int ifindex, bool up)
{
	struct request r = ask(RTM_NEWLINK, ifindex);

	r.i.ifi_change = IFF_UP;
	r.i.ifi_flags = up ? IFF_UP : 0;
	return answer(&r);
}

int link_mtu(int ifindex, uint32_t mtu)
{
	struct request r = ask(RTM_NEWLINK, ifindex);

	put(&r, IFLA_MTU, &mtu, sizeof(mtu));
	return answer(&r);
}

int link_mac(int ifindex, const uint8_t *mac)
{
	struct request r = ask(RTM_NEWLINK, ifindex);

	put(&r, IFLA_ADDRESS, mac, 6);
	return answer(&r);
}

int link_open_tap(int ifindex)
{
	char path[32];
	int fd;

	snprintf(path, sizeof(path), "/dev/tap%d", ifindex);
	fd = -1;	/* devtmpfs makes the node in a thread of its own */
	WAIT_FOR(2000, (fd = open(path, O_RDWR | O_CLOEXEC)) >= 0);
	return fd < 0 ? -errno : fd;
}

int link_own_netns(void)
{
	return ASSERT_SYS(open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC));
}

int link_new_netns(void)
{
	int old = link_own_netns();

	rig_enter_netns();
	return old;
}
