// SPDX-License-Identifier: GPL-2.0
/*
 * nl.c - requests and their answers, see nl.h
 */
#include "nl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <linux/netlink.h>

#define MAX_ERRNO	4095

/**
 * nl_fail() - note why a call fails
 * @k: the connection
 * @err: an errno, positive
 * @fmt: as of printf: the line
 *
 * Return: -@err.
 */
int nl_fail(struct kvnet *k, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(k->why, sizeof(k->why), fmt, ap);
	va_end(ap);
	return -err;
}

/**
 * nl_message() - begin a request
 * @k: the connection
 * @buf: NL_BUFFER bytes for it
 * @type: the family
 * @cmd: of the family
 * @flags: NLM_F_*, beside NLM_F_REQUEST and NLM_F_ACK
 *
 * Return: the message, for attributes.
 */
struct nlmsghdr *nl_message(struct kvnet *k, void *buf, uint16_t type,
			    uint8_t cmd, uint16_t flags)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	struct genlmsghdr *genl;

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | flags;
	nlh->nlmsg_seq = ++k->seq;
	genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));
	genl->cmd = cmd;
	genl->version = KVNET_FAMILY_VERSION;
	return nlh;
}

/**
 * nl_ok() - is there a whole message?
 * @nlh: where it begins
 * @left: bytes from there on
 *
 * mnl_nlmsg_ok() takes a length of 2 GiB for a negative one.
 *
 * Return: true if so.
 */
bool nl_ok(const struct nlmsghdr *nlh, int left)
{
	return mnl_nlmsg_ok(nlh, left) && nlh->nlmsg_len <= (uint32_t)left;
}

/* what the kernel says beside the number, or NULL */
static const char *reason(const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	size_t skip = sizeof(*e);
	const struct nlattr *attr;

	if (!(nlh->nlmsg_flags & NLM_F_ACK_TLVS))
		return NULL;
	if (!(nlh->nlmsg_flags & NLM_F_CAPPED))
		skip += mnl_nlmsg_get_payload_len(&e->msg);
	if (mnl_nlmsg_get_payload_len(nlh) < skip)
		return NULL;
	mnl_attr_for_each(attr, nlh, skip)
		if (mnl_attr_get_type(attr) == NLMSGERR_ATTR_MSG &&
		    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
			return mnl_attr_get_str(attr);
	return NULL;
}

static bool is_errno(int err)
{
	return err < 0 && err >= -MAX_ERRNO;
}

static int take_error(struct kvnet *k, const struct nlmsghdr *nlh)
{
	const struct nlmsgerr *e = mnl_nlmsg_get_payload(nlh);
	const char *said;

	if (mnl_nlmsg_get_payload_len(nlh) < sizeof(*e))
		return nl_fail(k, EBADMSG, "the kernel's answer is too short");
	if (!e->error)
		return 0;
	if (!is_errno(e->error))
		return nl_fail(k, EBADMSG, "the kernel says error %d, which there is not", e->error);
	said = reason(nlh);
	return nl_fail(k, -e->error, "%s", said ? said : strerror(-e->error));
}

/* the end of a dump has an error, too */
static int take_done(struct kvnet *k, const struct nlmsghdr *nlh)
{
	int err = 0;

	if (mnl_nlmsg_get_payload_len(nlh) >= sizeof(err))
		memcpy(&err, mnl_nlmsg_get_payload(nlh), sizeof(err));
	return is_errno(err) ? nl_fail(k, -err, "%s", strerror(-err)) : 0;
}

struct talk {
	nl_take_t take;
	void *data;
	bool ended, interrupted;
	int ret;
};

static void take_one(struct kvnet *k, const struct nlmsghdr *nlh, struct talk *t)
{
	int ret;

	/* a late part of the answer to an earlier request */
	if (nlh->nlmsg_seq != k->seq)
		return;
	if (nlh->nlmsg_flags & NLM_F_DUMP_INTR)
		t->interrupted = true;
	if (nlh->nlmsg_type == NLMSG_ERROR || nlh->nlmsg_type == NLMSG_DONE) {
		t->ended = true;
		ret = nlh->nlmsg_type == NLMSG_ERROR ? take_error(k, nlh) :
						       take_done(k, nlh);
		if (ret && !t->ret)
			t->ret = ret;
	} else if (nlh->nlmsg_type >= NLMSG_MIN_TYPE && t->take && !t->ret) {
		t->ret = t->take(nlh, t->data);
		if (t->ret)
			nl_fail(k, -t->ret, "the kernel's answer makes no sense");
	}
}

/**
 * nl_talk() - send a request and take all of the answer
 * @k: the connection
 * @nlh: the request
 * @take: is given each message of the answer
 * @data: for @take
 *
 * Return: 0; -EINTR if what was dumped changed meanwhile, so that it is to be
 * asked for again; or what the kernel, the socket or @take said.
 */
int nl_talk(struct kvnet *k, struct nlmsghdr *nlh, nl_take_t take, void *data)
{
	struct talk t = { .take = take, .data = data };
	_Alignas(struct nlmsghdr) char buf[NL_BUFFER];
	const struct nlmsghdr *n;
	ssize_t len;
	int left;

	if (nl_socket_send(k->sock, nlh, nlh->nlmsg_len) < 0)
		return nl_fail(k, errno, "sending to the kernel: %s", strerror(errno));
	while (!t.ended) {
		len = nl_socket_recv(k->sock, buf, sizeof(buf));
		if (len < 0 && (errno == EINTR || errno == EAGAIN))
			continue;
		if (len <= 0)
			return nl_fail(k, len ? errno : EIO, "receiving from the kernel: %s",
				       len ? strerror(errno) : "nothing");
		n = (const struct nlmsghdr *)buf;
		for (left = len; nl_ok(n, left) && !t.ended;
		     n = mnl_nlmsg_next(n, &left))
			take_one(k, n, &t);
	}
	if (!t.ret && t.interrupted)
		return nl_fail(k, EINTR, "devices come and go too fast");
	return t.ret;
}
