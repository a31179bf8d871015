/* SPDX-License-Identifier: GPL-2.0 */
/*
 * netlink - a request to rtnetlink, put together attribute by attribute, and its
 * answer, which is 0 or -errno. For the network namespace of the caller.
 */
#ifndef SELFTESTS_NETLINK_H
#define SELFTESTS_NETLINK_H

#include <linux/rtnetlink.h>
#include <stddef.h>
#include <stdint.h>

struct nl_request {
	struct nlmsghdr n;
	uint8_t body[576];
};

/* 'head' is what the type begins with, such as a struct ifinfomsg. */
struct nl_request nl_ask(int type, int flags, const void *head, size_t len);
/* The attribute; 'data' is NULL for none. */
struct rtattr *nl_put(struct nl_request *r, unsigned short type, const void *data,
		      size_t len);
/* What is put from then on, until the end, is within it. */
struct rtattr *nl_nest(struct nl_request *r, unsigned short type);
void nl_nest_end(struct nl_request *r, struct rtattr *nest);
int nl_answer(const struct nl_request *r);

#endif /* SELFTESTS_NETLINK_H */
