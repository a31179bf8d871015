// SPDX-License-Identifier: GPL-2.0
/*
 * Bytes to what the kernel answers: kvnetctl takes it or says that it makes no sense,
 * and whatever it takes becomes JSON, and text without a control character.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "fuzz.h"
#include "kvnetctl.h"
#include "nl.h"
#include "prometheus.h"
#include "rate.h"
#include "unit.h"

#define FAMILY	0x21
#define GROUP	7

const char fuzz_name[] = "reply";

/* A kernel that says what is in the input, each time so much as that says. */
static struct nl_socket {
	struct input in;
	uint32_t seq;
	bool family_is_known;
} kernel;

struct nl_socket *nl_socket_open(void)
{
	return &kernel;
}

void nl_socket_close(struct nl_socket *s)
{
}

void nl_socket_drain(struct nl_socket *s)
{
}

int nl_socket_fd(const struct nl_socket *s)
{
	return -1;
}

int nl_socket_join(struct nl_socket *s, uint32_t group)
{
	return 0;
}

ssize_t nl_socket_send(struct nl_socket *s, const void *buf, size_t len)
{
	const struct nlmsghdr *nlh = buf;

	s->seq = nlh->nlmsg_seq;
	return len;
}

static ssize_t say_family(struct nl_socket *s, void *buf)
{
	struct nlmsghdr *nlh = mnl_nlmsg_put_header(buf), *end;
	struct nlattr *groups, *group;

	nlh->nlmsg_type = GENL_ID_CTRL;
	nlh->nlmsg_seq = s->seq;
	mnl_nlmsg_put_extra_header(nlh, sizeof(struct genlmsghdr));
	mnl_attr_put_u16(nlh, CTRL_ATTR_FAMILY_ID, FAMILY);
	mnl_attr_put_u32(nlh, CTRL_ATTR_VERSION, KVNET_FAMILY_VERSION);
	groups = mnl_attr_nest_start(nlh, CTRL_ATTR_MCAST_GROUPS);
	group = mnl_attr_nest_start(nlh, 1);
	mnl_attr_put_strz(nlh, CTRL_ATTR_MCAST_GRP_NAME, KVNET_MCGRP_EVENTS);
	mnl_attr_put_u32(nlh, CTRL_ATTR_MCAST_GRP_ID, GROUP);
	mnl_attr_nest_end(nlh, group);
	mnl_attr_nest_end(nlh, groups);
	end = mnl_nlmsg_put_header(mnl_nlmsg_get_payload_tail(nlh));
	end->nlmsg_type = NLMSG_DONE;
	end->nlmsg_seq = s->seq;
	return (char *)mnl_nlmsg_get_payload_tail(end) - (char *)buf;
}

ssize_t nl_socket_recv(struct nl_socket *s, void *buf, size_t len)
{
	struct nlmsghdr *nlh = buf;
	size_t i, n;
	int left;

	if (s->family_is_known) {
		s->family_is_known = false;
		return say_family(s, buf);
	}
	n = take16(&s->in) & 0x1fff;
	n = n < len ? n : len;
	n = n < s->in.left ? n : s->in.left;
	for (i = 0; i < n; i++)
		((uint8_t *)buf)[i] = take8(&s->in);
	/* an answer to what was asked, for the most part */
	for (left = n; nl_ok(nlh, left); nlh = mnl_nlmsg_next(nlh, &left))
		if (nlh->nlmsg_seq < 0x80000000)
			nlh->nlmsg_seq = s->seq;
	return n;
}

static bool in_order(const struct kvnet_devices *all)
{
	const struct kvnet_device *dev;
	unsigned int i, k;

	for (i = 0; i < all->n; i++) {
		dev = &all->dev[i];
		if (i && dev->id < dev[-1].id)
			return false;
		for (k = 0; k < dev->queues; k++)
			if (dev->queue[k].dev != dev->id)
				return false;
	}
	return true;
}

static bool fit_for_people(const char *s, size_t len)
{
	size_t i;

	for (i = 0; i < len; i++)
		if ((unsigned char)s[i] < ' ' && s[i] != '\n')
			return false;
	return true;
}

/* Is it one value of JSON (RFC 8259), and nothing else? */
static bool valid_json(const char *text, size_t len)
{
	yajl_handle parser = yajl_alloc(NULL, NULL, NULL);
	bool valid = yajl_parse(parser, (const unsigned char *)text, len) == yajl_status_ok &&
		     yajl_complete_parse(parser) == yajl_status_ok;

	yajl_free(parser);
	return valid;
}

/* It is shown. */
static void show(enum json_mode mode)
{
	struct ctl c = { .name = "show", .argv = (char *[]){ NULL }, .w = { .mode = mode } };
	FILE *to_people = stderr;
	char *said, *why;
	size_t len, n;
	int ret;

	c.w.f = open_memstream(&said, &len);
	stderr = open_memstream(&why, &n);
	ret = cmd_show(&c);
	fclose(stderr);
	stderr = to_people;
	fclose(c.w.f);
	EXPECT_TRUE(fit_for_people(said, len) && fit_for_people(why, n));
	EXPECT_EQ(!ret, !n);
	if (!ret && mode != JSON_TEXT)
		EXPECT_TRUE(valid_json(said, len));
	free(said);
	free(why);
}

/* It is asked for twice, and counted. */
static void count(void)
{
	struct kvnet_devices then, now;
	struct kvnet k;
	unsigned int n;
	size_t len;
	char *said;
	FILE *f;

	if (kvnet_open(&k) || kvnet_get(&k, 0, &then))
		return;
	EXPECT_TRUE(in_order(&then));
	if (kvnet_get(&k, 0, &now)) {
		kvnet_free(&then);
		return;
	}
	f = open_memstream(&said, &len);
	prometheus_write(f, &now);
	fclose(f);
	EXPECT_TRUE(fit_for_people(said, len));
	free(said);
	free(rates(&then, &now, &n));
	kvnet_free(&then);
	kvnet_free(&now);
}

static void listen_for_events(void)
{
	struct kvnet_event ev;
	struct kvnet k;

	if (kvnet_open(&k) || kvnet_listen(&k))
		return;
	while (kernel.in.left) {
		kvnet_event(&k, &ev);
		kvnet_event_free(&ev);
	}
}

void fuzz_one(const uint8_t *data, size_t size)
{
	struct input in = { .p = data, .left = size };
	uint8_t how = take8(&in);

	kernel = (struct nl_socket) { .in = in, .family_is_known = how & 4 };
	switch (how & 3) {
	case 0:
		count();
		break;
	case 1:
		listen_for_events();
		break;
	case 2:
		show(how & 8 ? JSON_COMPACT : JSON_PRETTY);
		break;
	default:
		show(JSON_TEXT);
	}
}

#ifndef UNIT_LIBFUZZER
CASE_ROW(fuzz_replies, fuzz_random(5000, 600))
#endif
