// SPDX-License-Identifier: GPL-2.0
/* Network devices by netlink: see links.h. */
#include <linux/ethtool.h>
#include <linux/if_link.h>
#include <linux/pkt_sched.h>
#include <linux/sockios.h>
#include <linux/veth.h>
#include <net/if.h>
#include <sys/mount.h>

#include "ksft.h"
#include "links.h"
#include "netlink.h"
#include "rig.h"

static void put_name(struct nl_request *r, const char *name)
{
	nl_put(r, IFLA_IFNAME, name, strlen(name) + 1);
}

static struct nl_request ask(int type, int flags, const struct ifinfomsg *link)
{
	return nl_ask(type, flags, link, sizeof(*link));
}

/* A change of a device that is there. */
static struct nl_request change(int ifindex)
{
	return ask(RTM_NEWLINK, 0, &(struct ifinfomsg){ .ifi_index = ifindex });
}

/* Namespaces die late: no two devices of a run may share an index. */
static int fresh_index(void)
{
	static int n;

	return 1000 + getpid() % 100000 * 16 + n++ % 16;
}

static struct nl_request ask_new(const char *name)
{
	struct nl_request r = ask(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL,
				  &(struct ifinfomsg){ .ifi_index = fresh_index() });

	put_name(&r, name);
	return r;
}

/* From this column on, after the name. */
static struct link_sent read_counters(const char *name, unsigned int column)
{
	struct link_sent c = { 0 };
	char line[512], *p;
	int n = 0;
	FILE *f = fopen("/proc/thread-self/net/dev", "r");

	ASSERT(f);
	while (fgets(line, sizeof(line), f)) {
		p = strchr(line, ':');
		if (!p)
			continue;
		*p = 0;
		if (strcmp(line + strspn(line, " "), name))
			continue;
		for (p++; column--; p += strcspn(p, " "))
			p += strspn(p, " ");
		n = sscanf(p, "%lu %lu %lu %lu %lu %lu", &c.bytes, &c.packets, &c.errors,
			   &c.dropped, &c.fifo, &c.frame);
		break;
	}
	fclose(f);
	ASSERT_EQ(n, 6);
	return c;
}

struct link_sent link_sent(const char *name)
{
	return read_counters(name, 8);
}

struct link_sent link_received(const char *name)
{
	return read_counters(name, 0);
}

bool link_module(const char *name)
{
	char command[64];

	snprintf(command, sizeof(command), "modprobe -q %s 2>/dev/null", name);
	return !system(command);
}

static int answer_to_new(struct nl_request *r, const char *kind)
{
	int ret = nl_answer(r);

	return ret == -EOPNOTSUPP && link_module(kind) ? nl_answer(r) : ret;
}

int link_add_veth(const char *name, const char *peer)
{
	struct nl_request r = ask_new(name);
	struct rtattr *info = nl_nest(&r, IFLA_LINKINFO), *data, *end;
	struct ifinfomsg other = { .ifi_index = fresh_index() };

	nl_put(&r, IFLA_INFO_KIND, "veth", 5);
	data = nl_nest(&r, IFLA_INFO_DATA);
	end = nl_put(&r, VETH_INFO_PEER, &other, sizeof(other));
	put_name(&r, peer);
	nl_nest_end(&r, end);
	nl_nest_end(&r, data);
	nl_nest_end(&r, info);
	return answer_to_new(&r, "veth");
}

int link_add_dummy(const char *name, uint32_t tx_queues)
{
	struct nl_request r = ask_new(name);
	struct rtattr *info = nl_nest(&r, IFLA_LINKINFO);

	nl_put(&r, IFLA_INFO_KIND, "dummy", 6);
	nl_nest_end(&r, info);
	nl_put(&r, IFLA_NUM_TX_QUEUES, &tx_queues, sizeof(tx_queues));
	return answer_to_new(&r, "dummy");
}

int link_add_upper(const char *kind, const char *name, int lower,
		   unsigned int mode)
{
	bool ipv = !strcmp(kind, "ipvtap");
	struct nl_request r = ask_new(name);
	uint16_t short_mode = mode;
	struct rtattr *info, *data;

	nl_put(&r, IFLA_LINK, &lower, sizeof(lower));
	info = nl_nest(&r, IFLA_LINKINFO);
	nl_put(&r, IFLA_INFO_KIND, kind, strlen(kind) + 1);
	data = nl_nest(&r, IFLA_INFO_DATA);
	if (ipv)
		nl_put(&r, IFLA_IPVLAN_MODE, &short_mode, sizeof(short_mode));
	else
		nl_put(&r, IFLA_MACVLAN_MODE, &mode, sizeof(mode));
	nl_nest_end(&r, data);
	nl_nest_end(&r, info);
	return answer_to_new(&r, kind);
}

int link_delete(int ifindex)
{
	struct nl_request r = ask(RTM_DELLINK, 0,
				  &(struct ifinfomsg){ .ifi_index = ifindex });

	return nl_answer(&r);
}

int link_rename(int ifindex, const char *name)
{
	struct nl_request r = change(ifindex);

	put_name(&r, name);
	return nl_answer(&r);
}

int link_move(int ifindex, int netns)
{
	struct nl_request r = change(ifindex);

	nl_put(&r, IFLA_NET_NS_FD, &netns, sizeof(netns));
	return nl_answer(&r);
}

int link_up(int ifindex, bool up)
{
	struct nl_request r = ask(RTM_NEWLINK, 0, &(struct ifinfomsg){
		.ifi_index = ifindex, .ifi_change = IFF_UP,
		.ifi_flags = up ? IFF_UP : 0 });

	return nl_answer(&r);
}

static bool runs(int ifindex)
{
	struct ifreq ifr = { 0 };
	int fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));

	if (!if_indextoname(ifindex, ifr.ifr_name) || ioctl(fd, SIOCGIFFLAGS, &ifr))
		ifr.ifr_flags = 0;
	close(fd);
	return ifr.ifr_flags & IFF_RUNNING;
}

int link_pair_up(int one, int other)
{
	int ret = link_up(one, true);

	ret = ret ? ret : link_up(other, true);
	if (!ret && !WAIT_FOR(5000, runs(one) && runs(other)))
		ret = -ENETDOWN;
	/* link_up() takes RTNL: the work that set the carrier is over then */
	return ret ? ret : link_up(one, true);
}

int link_mtu(int ifindex, uint32_t mtu)
{
	struct nl_request r = change(ifindex);

	nl_put(&r, IFLA_MTU, &mtu, sizeof(mtu));
	return nl_answer(&r);
}

int link_queue_len(int ifindex, uint32_t n)
{
	struct nl_request r = change(ifindex);

	nl_put(&r, IFLA_TXQLEN, &n, sizeof(n));
	return nl_answer(&r);
}

int link_mac(int ifindex, const uint8_t *mac)
{
	struct nl_request r = change(ifindex);

	nl_put(&r, IFLA_ADDRESS, mac, 6);
	return nl_answer(&r);
}

void link_mount_sysfs(void)
{
	ASSERT_SYS(unshare(CLONE_NEWNS));
	ASSERT_SYS(mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL));
	ASSERT_SYS(mount("none", "/sys", "sysfs", 0, NULL));
}

void link_sysfs(const char *name, const char *file, const char *value)
{
	char path[96];
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", name, file);
	f = fopen(path, "w");
	ASSERT(f);
	ASSERT(fputs(value, f) >= 0);
	ASSERT_EQ(fclose(f), 0);
}

int link_ethtool(const char *name, void *command)
{
	struct ifreq ifr = { .ifr_data = command };
	int fd = ASSERT_SYS(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
	int ret;

	snprintf(ifr.ifr_name, sizeof(ifr.ifr_name), "%s", name);
	ret = ioctl(fd, SIOCETHTOOL, &ifr) ? -errno : 0;
	close(fd);
	return ret;
}

int link_feature(const char *name, uint32_t command, bool on)
{
	return link_ethtool(name, &(struct ethtool_value){ .cmd = command, .data = on });
}

int link_qdisc(int ifindex, int flags, const char *kind, const void *options,
	       size_t len)
{
	const struct tcmsg t = { .tcm_ifindex = ifindex, .tcm_parent = TC_H_ROOT };
	struct nl_request r = nl_ask(RTM_NEWQDISC, flags, &t, sizeof(t));

	nl_put(&r, TCA_KIND, kind, strlen(kind) + 1);
	nl_put(&r, TCA_OPTIONS, options, len);
	return nl_answer(&r);
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
