// SPDX-License-Identifier: GPL-2.0
/* Generic netlink, by hand: see genl.h. */
#include <linux/genetlink.h>

#include "genl.h"
#include "ksft.h"

#define HEADER	(NLMSG_HDRLEN + GENL_HDRLEN)
#define PIECE_MAX (32u << 10)

/*** requests ***/

void ask_begin(struct ask *a, const struct genl *g, uint8_t cmd)
{
	const struct genlmsghdr head = { .cmd = cmd, .version = KVNET_FAMILY_VERSION };

	memset(a, 0, sizeof(*a));
	a->n.nlmsg_len = HEADER;
	a->n.nlmsg_type = g->family;
	a->n.nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK;
	memcpy(a->rest, &head, sizeof(head));
}

struct nlattr *ask_put(struct ask *a, unsigned int type, const void *data, size_t len)
{
	struct nlattr *at = (void *)((uint8_t *)a + a->n.nlmsg_len);

	ASSERT(a->n.nlmsg_len + NLA_HDRLEN + NLA_ALIGN(len) <= sizeof(*a));
	at->nla_type = type;
	at->nla_len = NLA_HDRLEN + len;
	if (len)
		memcpy(at + 1, data, len);
	a->n.nlmsg_len += NLA_HDRLEN + NLA_ALIGN(len);
	return at;
}

void ask_u8(struct ask *a, unsigned int type, uint8_t value)
{
	ask_put(a, type, &value, sizeof(value));
}

void ask_u32(struct ask *a, unsigned int type, uint32_t value)
{
	ask_put(a, type, &value, sizeof(value));
}

void ask_text(struct ask *a, unsigned int type, const char *text)
{
	ask_put(a, type, text, strlen(text) + 1);
}

struct nlattr *ask_nest(struct ask *a, unsigned int type)
{
	return ask_put(a, type | NLA_F_NESTED, NULL, 0);
}

void ask_nest_end(struct ask *a, struct nlattr *nest)
{
	nest->nla_len = (uint8_t *)a + a->n.nlmsg_len - (uint8_t *)nest;
}

/*** answers ***/

static struct attrs attrs_of(const struct nlmsghdr *n, size_t header)
{
	if (n->nlmsg_len < header)
		return (struct attrs){ NULL, 0 };
	return (struct attrs){ (const uint8_t *)n + header, n->nlmsg_len - header };
}

bool attr_nth(struct attrs in, unsigned int type, unsigned int nth, struct attrs *found)
{
	struct nlattr a;

	while (in.len >= sizeof(a)) {
		memcpy(&a, in.at, sizeof(a));
		ASSERT(a.nla_len >= sizeof(a) && a.nla_len <= in.len);
		if ((a.nla_type & NLA_TYPE_MASK) == type && !nth--) {
			found->at = in.at + NLA_HDRLEN;
			found->len = a.nla_len - NLA_HDRLEN;
			return true;
		}
		if ((size_t)NLA_ALIGN(a.nla_len) >= in.len)
			break;
		in.at += NLA_ALIGN(a.nla_len);
		in.len -= NLA_ALIGN(a.nla_len);
	}
	return false;
}

bool attr_has(struct attrs in, unsigned int type)
{
	struct attrs a;

	return attr_nth(in, type, 0, &a);
}

uint32_t attr_u32(struct attrs in, unsigned int type)
{
	uint32_t value = 0;
	struct attrs a;

	if (attr_nth(in, type, 0, &a))
		memcpy(&value, a.at, a.len < 4 ? a.len : 4);
	return value;
}

uint64_t attr_u64(struct attrs in, unsigned int type)
{
	uint64_t value = 0;
	struct attrs a;

	if (attr_nth(in, type, 0, &a) && EXPECT_EQ(a.len, 8))
		memcpy(&value, a.at, 8);
	return value;
}

const char *attr_text(struct attrs in, unsigned int type)
{
	struct attrs a;

	if (!attr_nth(in, type, 0, &a))
		return "";
	ASSERT(a.len && !a.at[a.len - 1]);
	return (const char *)a.at;
}

struct attrs attr_nest(struct attrs in, unsigned int type)
{
	struct attrs a = { NULL, 0 };

	attr_nth(in, type, 0, &a);
	return a;
}

/*** a conversation ***/

/* An NLMSG_ERROR, or the end of a list: what is said besides. */
static int read_error(struct genl *g, const struct nlmsghdr *n)
{
	const struct nlmsgerr *e = NLMSG_DATA(n);
	size_t skip = NLMSG_HDRLEN + sizeof(int);
	struct attrs more;

	if (n->nlmsg_type == NLMSG_ERROR)
		skip = NLMSG_HDRLEN + sizeof(*e) + (n->nlmsg_flags & NLM_F_CAPPED ? 0 :
						   e->msg.nlmsg_len - NLMSG_HDRLEN);
	more = attrs_of(n, NLMSG_ALIGN(skip));
	if (n->nlmsg_flags & NLM_F_ACK_TLVS) {
		snprintf(g->said, sizeof(g->said), "%s", attr_text(more, NLMSGERR_ATTR_MSG));
		if (attr_has(more, NLMSGERR_ATTR_OFFS))
			g->bad = attr_u32(more, NLMSGERR_ATTR_OFFS);
	}
	return e->error;
}

int genl_do(struct genl *g, struct ask *a, bool list,
	    void (*each)(struct attrs answer, void *arg), void *arg)
{
	static __thread uint8_t buf[PIECE_MAX];
	const struct genlmsghdr *head;
	struct nlmsghdr *n;
	int len;

	a->n.nlmsg_seq = ++g->seq;
	if (list)
		a->n.nlmsg_flags |= NLM_F_DUMP;
	g->said[0] = 0;
	g->bad = -1;
	if (send(g->fd, a, a->n.nlmsg_len, 0) != (ssize_t)a->n.nlmsg_len)
		return -errno;
	for (;;) {
		len = recv(g->fd, buf, g->piece, 0);
		if (len < 0)
			return -errno;
		for (n = (void *)buf; NLMSG_OK(n, (unsigned int)len); n = NLMSG_NEXT(n, len)) {
			if (n->nlmsg_seq != g->seq)
				continue;
			if (n->nlmsg_type == NLMSG_ERROR || n->nlmsg_type == NLMSG_DONE)
				return read_error(g, n);
			head = NLMSG_DATA(n);
			EXPECT_EQ(n->nlmsg_type, g->family);
			if (g->family != GENL_ID_CTRL)
				EXPECT_EQ(head->cmd, ((struct genlmsghdr *)a->rest)->cmd);
			if (each)
				each(attrs_of(n, HEADER), arg);
		}
	}
}

static void count_one(struct attrs answer, void *arg)
{
	EXPECT(answer.len);
	(*(int *)arg)++;
}

int genl_count(struct genl *g, uint8_t cmd)
{
	struct ask a;
	int n = 0, ret;

	ask_begin(&a, g, cmd);
	ret = genl_do(g, &a, true, count_one, &n);
	return ret ? ret : n;
}

/*** the family ***/

static void learn(struct attrs answer, void *arg)
{
	struct genl *g = arg;
	struct attrs groups = attr_nest(answer, CTRL_ATTR_MCAST_GROUPS), one;
	unsigned int i;

	g->family = attr_u32(answer, CTRL_ATTR_FAMILY_ID);
	EXPECT_EQ(attr_u32(answer, CTRL_ATTR_VERSION), KVNET_FAMILY_VERSION);
	for (i = 1; attr_nth(groups, i, 0, &one); i++)
		if (!strcmp(attr_text(one, CTRL_ATTR_MCAST_GRP_NAME), KVNET_MCGRP_EVENTS))
			g->group = attr_u32(one, CTRL_ATTR_MCAST_GRP_ID);
}

void genl_open_pieces(struct genl *g, size_t piece)
{
	const struct sockaddr_nl any = { .nl_family = AF_NETLINK };
	struct genl found = { 0 };
	struct ask a;
	int one = 1, ret;

	memset(g, 0, sizeof(*g));
	g->piece = piece;
	g->fd = ASSERT_SYS(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_GENERIC));
	ASSERT_SYS(bind(g->fd, (const struct sockaddr *)&any, sizeof(any)));
	ASSERT_SYS(setsockopt(g->fd, SOL_NETLINK, NETLINK_EXT_ACK, &one, sizeof(one)));
	ASSERT_SYS(setsockopt(g->fd, SOL_NETLINK, NETLINK_GET_STRICT_CHK, &one, sizeof(one)));
	g->family = GENL_ID_CTRL;
	ask_begin(&a, g, CTRL_CMD_GETFAMILY);
	ask_text(&a, CTRL_ATTR_FAMILY_NAME, KVNET_FAMILY_NAME);
	found.group = -1u;
	ret = genl_do(g, &a, false, learn, &found);
	if (ret)
		ksft_skip("no family " KVNET_FAMILY_NAME ": %s", strerror(-ret));
	ASSERT(found.family && found.group != -1u);
	g->family = found.family;
	g->group = found.group;
}

void genl_open(struct genl *g)
{
	genl_open_pieces(g, PIECE_MAX);
}

void genl_close(struct genl *g)
{
	close(g->fd);
}

int genl_join(struct genl *g)
{
	return setsockopt(g->fd, SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, &g->group,
			  sizeof(g->group)) ? -errno : 0;
}

uint8_t genl_event(struct genl *g, unsigned int ms, struct attrs *event)
{
	static __thread uint8_t buf[8 << 10];
	struct pollfd p = { .fd = g->fd, .events = POLLIN };
	struct nlmsghdr *n = (void *)buf;
	const struct genlmsghdr *head = NLMSG_DATA(n);
	ssize_t len;

	if (poll(&p, 1, ms ? ksft_patience(ms) : 0) != 1)
		return 0;
	len = ASSERT_SYS(recv(g->fd, buf, sizeof(buf), 0));
	ASSERT(NLMSG_OK(n, len) && n->nlmsg_type == g->family);
	*event = attrs_of(n, HEADER);
	return head->cmd;
}
