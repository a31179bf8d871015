// SPDX-License-Identifier: GPL-2.0
/* The real socket, to the real kernel: what others send to it is not heard. */
#include "nl.h"
#include "unit.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

static bool waits(struct nl_socket *s)
{
	struct pollfd p = { .fd = nl_socket_fd(s), .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* which families are there? */
static void ask(struct nl_socket *s, uint32_t seq, void *buf)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = GENL_ID_CTRL;
	nlh->nlmsg_flags = NLM_F_REQUEST;
	nlh->nlmsg_seq = seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = CTRL_CMD_GETFAMILY;
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, "nlctrl");
	EXPECT_EQ(nl_socket_send(s, nlh, nlh->nlmsg_len), nlh->nlmsg_len);
}

static uint32_t port_of(struct nl_socket *s)
{
	struct sockaddr_nl a;
	socklen_t len = sizeof(a);

	EXPECT_EQ(getsockname(nl_socket_fd(s), (struct sockaddr *)&a, &len), 0);
	return a.nl_pid;
}

/* an answer to @seq, from another socket; root of the network namespace may */
static int forge(const struct sockaddr_nl *to, uint32_t seq)
{
	struct nlmsghdr nlh = { .nlmsg_len = sizeof(nlh), .nlmsg_type = NLMSG_DONE, .nlmsg_seq = seq };
	int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC);
	int ret = sendto(fd, &nlh, sizeof(nlh), 0, (const struct sockaddr *)to, sizeof(*to)) < 0 ? -errno : 0;

	close(fd);
	return ret;
}

CASE(answers_of_others)
{
	_Alignas(struct nlmsghdr) char buf[NL_BUFFER];
	struct nl_socket *s = nl_socket_open();
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;
	struct sockaddr_nl to = { .nl_family = AF_NETLINK };

	EXPECT_TRUE(s != NULL);
	to.nl_pid = port_of(s);
	EXPECT_EQ(forge(&to, 1), -ECONNREFUSED);
	EXPECT_TRUE(!waits(s));
	ask(s, 1, buf);
	EXPECT_TRUE(nl_socket_recv(s, buf, sizeof(buf)) > 0);
	EXPECT_EQ(nlh->nlmsg_type, GENL_ID_CTRL);
	nl_socket_close(s);
}

CASE(events_of_others)
{
	const struct sockaddr_nl to = { .nl_family = AF_NETLINK, .nl_groups = 1 << (GENL_ID_CTRL - 1) };
	_Alignas(struct nlmsghdr) char buf[NL_BUFFER];
	struct nl_socket *s = nl_socket_open();
	int ret;

	EXPECT_EQ(nl_socket_join(s, GENL_ID_CTRL), 0);
	ret = forge(&to, 1);
	unit_context("forged: %s", strerror(-ret));
	EXPECT_TRUE(waits(s));
	EXPECT_EQ(nl_socket_recv(s, buf, sizeof(buf)), -1);
	EXPECT_EQ(errno, EAGAIN);
	forge(&to, 2);
	forge(&to, 3);
	nl_socket_drain(s);
	EXPECT_TRUE(!waits(s));
	nl_socket_close(s);
}
