// SPDX-License-Identifier: GPL-2.0
/* Bridges by rtnetlink: see bridge.h. */
#include <net/if.h>

#include "bridge.h"
#include "ksft.h"
#include "links.h"
#include "netlink.h"

static int add_plain(const char *name)
{
	const struct ifinfomsg link = { 0 };
	struct nl_request r = nl_ask(RTM_NEWLINK, NLM_F_CREATE | NLM_F_EXCL, &link, sizeof(link));
	struct rtattr *info;

	nl_put(&r, IFLA_IFNAME, name, strlen(name) + 1);
	info = nl_nest(&r, IFLA_LINKINFO);
	nl_put(&r, IFLA_INFO_KIND, "bridge", 7);
	nl_nest_end(&r, info);
	return nl_answer(&r);
}

int bridge_set(int bridge, unsigned short attr, uint32_t value, size_t len)
{
	const struct ifinfomsg link = { .ifi_index = bridge };
	struct nl_request r = nl_ask(RTM_NEWLINK, 0, &link, sizeof(link));
	struct rtattr *info = nl_nest(&r, IFLA_LINKINFO), *data;

	nl_put(&r, IFLA_INFO_KIND, "bridge", 7);
	data = nl_nest(&r, IFLA_INFO_DATA);
	nl_put(&r, attr, &value, len);	/* these machines are little-endian */
	nl_nest_end(&r, data);
	nl_nest_end(&r, info);
	return nl_answer(&r);
}

int bridge_add(const char *name)
{
	int ret = add_plain(name), bridge;

	if (ret == -EOPNOTSUPP && link_module("bridge"))
		ret = add_plain(name);
	if (ret)
		ksft_skip("no bridge: %s", strerror(-ret));
	bridge = if_nametoindex(name);
	ASSERT_EQ(bridge_set(bridge, IFLA_BR_FORWARD_DELAY, 0, 4), 0);
	/* it would send frames of its own */
	bridge_set(bridge, IFLA_BR_MCAST_SNOOPING, 0, 1);
	ASSERT_EQ(link_up(bridge, true), 0);
	return bridge;
}

int bridge_join(int port, int bridge)
{
	const struct ifinfomsg link = { .ifi_index = port };
	struct nl_request r = nl_ask(RTM_NEWLINK, 0, &link, sizeof(link));

	nl_put(&r, IFLA_MASTER, &bridge, sizeof(bridge));
	return nl_answer(&r);
}

int bridge_of(const char *name, const int *port, unsigned int n)
{
	int bridge = bridge_add(name);
	unsigned int i;

	for (i = 0; i < n; i++)
		ASSERT_EQ(bridge_join(port[i], bridge), 0);
	for (i = 0; i < n; i++)
		ASSERT_EQ(bridge_port_forwards(port[i]), 0);
	return bridge;
}

int bridge_port_set(int port, unsigned short attr, uint8_t value)
{
	const struct ifinfomsg link = { .ifi_family = PF_BRIDGE, .ifi_index = port };
	struct nl_request r = nl_ask(RTM_SETLINK, 0, &link, sizeof(link));
	struct rtattr *info = nl_nest(&r, IFLA_PROTINFO | NLA_F_NESTED);

	nl_put(&r, attr, &value, sizeof(value));
	nl_nest_end(&r, info);
	return nl_answer(&r);
}

/* It is refused as long as the device does not run. */
int bridge_port_forwards(int port)
{
	int ret = 0;

	WAIT_FOR(5000, (ret = bridge_port_set(port, IFLA_BRPORT_STATE,
					      BR_STATE_FORWARDING)) != -ENETDOWN);
	return ret;
}

static struct nl_request ask_fdb(int type, int flags, int port, const uint8_t *mac, uint16_t state)
{
	const struct ndmsg n = { .ndm_family = PF_BRIDGE, .ndm_ifindex = port,
				 .ndm_state = state, .ndm_flags = NTF_MASTER };
	struct nl_request r = nl_ask(type, flags, &n, sizeof(n));

	nl_put(&r, NDA_LLADDR, mac, 6);
	return r;
}

int bridge_fdb_set(int port, const uint8_t *mac, uint16_t state)
{
	struct nl_request r = ask_fdb(RTM_NEWNEIGH, NLM_F_CREATE | NLM_F_REPLACE, port, mac, state);

	return nl_answer(&r);
}

int bridge_fdb_delete(int port, const uint8_t *mac)
{
	struct nl_request r = ask_fdb(RTM_DELNEIGH, 0, port, mac, 0);

	return nl_answer(&r);
}

static int change_vlan(int type, int port, bool self, struct bridge_vlan_info v)
{
	const struct ifinfomsg link = { .ifi_family = PF_BRIDGE, .ifi_index = port };
	struct nl_request r = nl_ask(type, 0, &link, sizeof(link));
	struct rtattr *spec = nl_nest(&r, IFLA_AF_SPEC);
	const uint16_t flags = BRIDGE_FLAGS_SELF;

	if (self)
		nl_put(&r, IFLA_BRIDGE_FLAGS, &flags, sizeof(flags));
	nl_put(&r, IFLA_BRIDGE_VLAN_INFO, &v, sizeof(v));
	nl_nest_end(&r, spec);
	return nl_answer(&r);
}

int bridge_vlan_add(int port, bool self, uint16_t vid, uint16_t flags)
{
	return change_vlan(RTM_SETLINK, port, self, (struct bridge_vlan_info){ flags, vid });
}

int bridge_vlan_delete(int port, bool self, uint16_t vid)
{
	return change_vlan(RTM_DELLINK, port, self, (struct bridge_vlan_info){ 0, vid });
}
