// SPDX-License-Identifier: GPL-2.0
/* The socket of a kernel that is not there, see fake.h. */
#include "fake.h"
#include "host.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define MAX_ANSWERS	64

/* what waits to be received, and the pipe that tells poll() of events */
struct nl_socket {
	char *answer[MAX_ANSWERS];
	unsigned int first, last;
	unsigned int events;
	int pipe[2];
};

static unsigned int interruptions = 3;
/* events have been lost, and all are until those that wait have been taken: a device's, too */
static bool deaf;

__attribute__((constructor)) static void take_root(void)
{
	if (getenv("FAKE_ROOT"))
		host_root = getenv("FAKE_ROOT");
}

bool fake_is(const char *what)
{
	const char *is = getenv("FAKE");

	return is && !strcmp(is, what);
}

static struct nlmsghdr *answer(struct nl_socket *s, uint16_t type, uint16_t flags,
			       uint32_t seq)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(need(calloc(1, NL_BUFFER)));

	nlh->nlmsg_type = type;
	nlh->nlmsg_flags = flags;
	nlh->nlmsg_seq = seq;
	if (s->last == MAX_ANSWERS)
		abort();
	s->answer[s->last++] = (char *)nlh;
	return nlh;
}

static struct nlmsghdr *genl_answer(struct nl_socket *s, uint16_t type, uint8_t cmd,
				    uint16_t flags, uint32_t seq)
{
	struct nlmsghdr *nlh = answer(s, type, flags, seq);
	struct genlmsghdr *genl = mnl_nlmsg_put_extra_header(nlh, sizeof(*genl));

	genl->cmd = cmd;
	return nlh;
}

static void acknowledge(struct nl_socket *s, const struct nlmsghdr *request, int err,
			const char *why)
{
	uint16_t flags = NLM_F_CAPPED | (why ? NLM_F_ACK_TLVS : 0);
	struct nlmsghdr *nlh = answer(s, NLMSG_ERROR, flags, request->nlmsg_seq);
	struct nlmsgerr *e = mnl_nlmsg_put_extra_header(nlh, sizeof(*e));

	e->error = -err;
	e->msg = *request;
	if (why)
		mnl_attr_put_strz(nlh, NLMSGERR_ATTR_MSG, why);
}

static void end_of_dump(struct nl_socket *s, const struct nlmsghdr *request)
{
	struct nlmsghdr *nlh = answer(s, NLMSG_DONE, NLM_F_MULTI, request->nlmsg_seq);

	*(int *)mnl_nlmsg_put_extra_header(nlh, sizeof(int)) = 0;
}

static void answer_family(struct nl_socket *s, const struct nlmsghdr *request)
{
	struct nlmsghdr *nlh;
	struct nlattr *groups, *group;

	if (fake_is("none")) {
		acknowledge(s, request, ENOENT, NULL);
		return;
	}
	nlh = genl_answer(s, GENL_ID_CTRL, CTRL_CMD_NEWFAMILY, 0, request->nlmsg_seq);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, KVNET_FAMILY_NAME);
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, FAKE_FAMILY);
	mnl_attr_put_u32(nlh, CTRL_ATTR_VERSION, KVNET_FAMILY_VERSION + fake_is("version"));
	groups = mnl_attr_nest_start(nlh, CTRL_ATTR_MCAST_GROUPS);
	group = mnl_attr_nest_start(nlh, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_MCAST_GRP_NAME, KVNET_MCGRP_EVENTS);
	mnl_attr_put_u32(nlh, CTRL_ATTR_MCAST_GRP_ID, FAKE_GROUP);
	mnl_attr_nest_end(nlh, group);
	mnl_attr_nest_end(nlh, groups);
	acknowledge(s, request, 0, NULL);
}

/* the id that is asked for, or 0 */
static uint32_t wanted_id(const struct nlmsghdr *request)
{
	const struct nlattr *attr;

	mnl_attr_for_each(attr, request, sizeof(struct genlmsghdr))
		if (mnl_attr_get_type(attr) == KVNET_A_DEV_ID)
			return mnl_attr_get_u32(attr);
	return 0;
}

static void describe(struct nl_socket *s, uint8_t cmd, uint16_t flags, uint32_t seq,
		     unsigned int which)
{
	struct nlmsghdr *nlh = genl_answer(s, FAKE_FAMILY, cmd, flags, seq);

	if (cmd == KVNET_CMD_DEV_GET) {
		fake_device(nlh, which);
	} else if (cmd == KVNET_CMD_WORKER_GET) {
		fake_worker(nlh, which, 0);
		nlh = genl_answer(s, FAKE_FAMILY, cmd, flags, seq);
		fake_worker(nlh, which, 1);
	} else {
		fake_queue(nlh, which, 0);
		nlh = genl_answer(s, FAKE_FAMILY, cmd, flags, seq);
		fake_queue(nlh, which, 1);
	}
	/* the id once more, as what it cannot be */
	if (fake_is("garbled"))
		mnl_attr_put_u8(nlh, KVNET_A_DEV_ID, 1);
}

static void answer_get(struct nl_socket *s, const struct nlmsghdr *request, uint8_t cmd)
{
	bool dump = (request->nlmsg_flags & NLM_F_DUMP) == NLM_F_DUMP;
	uint32_t id = wanted_id(request);
	uint16_t flags = dump ? NLM_F_MULTI : 0;
	unsigned int i, n = 0;

	if (fake_is("denied")) {
		acknowledge(s, request, EPERM, NULL);
		return;
	}
	if (fake_is("intr") && interruptions && cmd == KVNET_CMD_QUEUE_GET) {
		interruptions--;
		flags |= NLM_F_DUMP_INTR;
	}
	if (cmd == KVNET_CMD_DEV_GET)
		fake_tick();
	for (i = 0; i < FAKE_DEVICES; i++) {
		if ((id && fake_id(i) != id) || (deaf && fake_id(i) == 300) || fake_comes(i, 1))
			continue;
		describe(s, cmd, flags, request->nlmsg_seq, i);
		n++;
	}
	if (dump)
		end_of_dump(s, request);
	else
		acknowledge(s, request, n ? 0 : ENODEV, n ? NULL : "no such device");
}

void nl_socket_drain(struct nl_socket *s)
{
	char bytes[16];
	int n;

	while (!ioctl(s->pipe[0], FIONREAD, &n) && n && read(s->pipe[0], bytes, sizeof(bytes)) > 0)
		;
	deaf = false;
}

struct nl_socket *nl_socket_open(void)
{
	struct nl_socket *s = need(calloc(1, sizeof(*s)));

	deaf = fake_is("deaf");
	if (pipe(s->pipe))
		abort();
	return s;
}

void nl_socket_close(struct nl_socket *s)
{
	for (; s->first < s->last; s->first++)
		free(s->answer[s->first]);
	close(s->pipe[0]);
	close(s->pipe[1]);
	free(s);
}

int nl_socket_fd(const struct nl_socket *s)
{
	return s->pipe[0];
}

int nl_socket_join(struct nl_socket *s, uint32_t group)
{
	unsigned int i;

	if (group == GENL_ID_CTRL)
		return 0;
	if (group != FAKE_GROUP || fake_is("denied")) {
		errno = EPERM;
		return -1;
	}
	for (i = 0; i < fake_events(); i++)
		if (write(s->pipe[1], ".", 1) != 1)
			return -1;
	return 0;
}

ssize_t nl_socket_send(struct nl_socket *s, const void *buf, size_t len)
{
	const struct nlmsghdr *nlh = buf;
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const char *why = NULL;
	int err;

	if (nlh->nlmsg_type == GENL_ID_CTRL) {
		answer_family(s, nlh);
	} else if (genl->cmd == KVNET_CMD_DEV_SET) {
		err = fake_set(nlh, &why);
		acknowledge(s, nlh, err, why);
	} else {
		answer_get(s, nlh, genl->cmd);
	}
	return len;
}

static ssize_t recv_event(struct nl_socket *s, void *buf)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf);
	char byte;

	if (read(s->pipe[0], &byte, 1) != 1)
		return -1;
	if ((fake_is("lost") || fake_is("deaf")) && !s->events++) {
		errno = ENOBUFS;
		return -1;
	}
	nlh->nlmsg_type = FAKE_FAMILY;
	fake_event(nlh, s->events++);
	return nlh->nlmsg_len;
}

ssize_t nl_socket_recv(struct nl_socket *s, void *buf, size_t len)
{
	struct nlmsghdr *nlh;
	ssize_t n;

	if (s->first == s->last)
		return recv_event(s, buf);
	nlh = (struct nlmsghdr *)s->answer[s->first++];
	n = nlh->nlmsg_len;
	if ((size_t)n > len)
		abort();
	memcpy(buf, nlh, n);
	free(nlh);
	if (s->first == s->last)
		s->first = s->last = 0;
	return n;
}
