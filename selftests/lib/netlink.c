// SPDX-License-Identifier: GPL-2.0
/* Requests to rtnetlink: see netlink.h. */
#include "ksft.h"
#include "netlink.h"

static void *tail(struct nl_request *r)
{
	return (uint8_t *)r + NLMSG_ALIGN(r->n.nlmsg_len);
}

struct nl_request nl_ask(int type, int flags, const void *head, size_t len)
{
	struct nl_request r = {
		.n = { .nlmsg_len = NLMSG_LENGTH(len), .nlmsg_type = type,
		       .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags },
	};

	ASSERT(len <= sizeof(r.body));
	memcpy(NLMSG_DATA(&r.n), head, len);
	return r;
}

struct rtattr *nl_put(struct nl_request *r, unsigned short type, const void *data,
		      size_t len)
{
	struct rtattr *a = tail(r);

	ASSERT((uint8_t *)a + RTA_SPACE(len) <= (uint8_t *)(r + 1));
	a->rta_type = type;
	a->rta_len = RTA_LENGTH(len);
	if (data)
		memcpy(RTA_DATA(a), data, len);
	r->n.nlmsg_len = NLMSG_ALIGN(r->n.nlmsg_len) + RTA_SPACE(len);
	return a;
}

struct rtattr *nl_nest(struct nl_request *r, unsigned short type)
{
	return nl_put(r, type, NULL, 0);
}

void nl_nest_end(struct nl_request *r, struct rtattr *nest)
{
	nest->rta_len = (uint8_t *)tail(r) - (uint8_t *)nest;
}

int nl_answer(const struct nl_request *r)
{
	int fd = ASSERT_SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC,
				   NETLINK_ROUTE));
	struct {
		struct nlmsghdr n;
		struct nlmsgerr e;
		uint8_t more[1024];
	} a;

	ASSERT_EQ(send(fd, r, r->n.nlmsg_len, 0), r->n.nlmsg_len);
	ASSERT(recv(fd, &a, sizeof(a), 0) >= (ssize_t)(sizeof(a.n) + sizeof(a.e)));
	ASSERT_EQ(a.n.nlmsg_type, NLMSG_ERROR);
	close(fd);
	return a.e.error;
}
