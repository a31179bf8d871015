// SPDX-License-Identifier: GPL-2.0
/*
 * libkvnet.c - client of the family "kvnet", see libkvnet.h
 */
#include "libkvnet.h"
#include "host.h"
#include "nl.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MAX_TRIES	20

typedef char request_t[4096] __attribute__((aligned(NLMSG_ALIGNTO)));

struct family {
	uint16_t id;
	uint32_t version, group;
};

static uint32_t find_group(const struct nlattr *groups)
{
	const struct nlattr *group, *attr;
	const char *name;
	uint32_t id;

	mnl_attr_for_each_nested(group, groups) {
		name = NULL;
		id = 0;
		mnl_attr_for_each_nested(attr, group) {
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_NAME &&
			    mnl_attr_validate(attr, MNL_TYPE_NUL_STRING) >= 0)
				name = mnl_attr_get_str(attr);
			if (mnl_attr_get_type(attr) == CTRL_ATTR_MCAST_GRP_ID &&
			    mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
				id = mnl_attr_get_u32(attr);
		}
		if (name && !strcmp(name, KVNET_MCGRP_EVENTS))
			return id;
	}
	return 0;
}

static int take_family(const struct nlmsghdr *nlh, void *data)
{
	struct family *f = data;
	const struct nlattr *attr;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		switch (mnl_attr_get_type(attr)) {
		case CTRL_ATTR_FAMILY_ID:
			if (mnl_attr_validate(attr, MNL_TYPE_U16) >= 0)
				f->id = mnl_attr_get_u16(attr);
			break;
		case CTRL_ATTR_VERSION:
			if (mnl_attr_validate(attr, MNL_TYPE_U32) >= 0)
				f->version = mnl_attr_get_u32(attr);
			break;
		case CTRL_ATTR_MCAST_GROUPS:
			f->group = find_group(attr);
			break;
		}
	}
	return f->id ? 0 : -EBADMSG;
}

static int find_family(struct kvnet *k)
{
	struct family f = { 0 };
	struct nlmsghdr *nlh;
	request_t buf;
	int ret;

	nlh = nl_message(k, buf, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, 0);
	mnl_attr_put_strz(nlh, CTRL_ATTR_FAMILY_NAME, KVNET_FAMILY_NAME);
	ret = nl_talk(k, nlh, take_family, &f);
	if (ret == -ENOENT)
		return nl_fail(k, ENOENT, "%s", !host_has("/sys/module/kvnet") ?
			       "the module kvnet is not loaded: modprobe kvnet" :
			       "the module kvnet that is loaded is too old for kvnetctl: reload it (rmmod kvnet; modprobe kvnet)");
	if (ret)
		return ret;
	if (f.version != KVNET_FAMILY_VERSION)
		return nl_fail(k, EPROTO, "the module kvnet speaks version %u of its protocol, this kvnetctl version %u: install both of one release",
			       f.version, KVNET_FAMILY_VERSION);
	k->family = f.id;
	k->group = f.group;
	return 0;
}

/**
 * kvnet_open() - connect to the module
 * @k: the connection; for kvnet_close() whatever is returned
 *
 * Return: 0; -ENOENT if there is no such family; -EPROTO if it is of another
 * version.
 */
int kvnet_open(struct kvnet *k)
{
	memset(k, 0, sizeof(*k));
	k->sock = nl_socket_open();
	if (!k->sock)
		return nl_fail(k, errno, "opening a netlink socket: %s",
			       strerror(errno));
	return find_family(k);
}

/**
 * kvnet_close() - the end of a connection
 * @k: the connection
 */
void kvnet_close(struct kvnet *k)
{
	if (k->sock)
		nl_socket_close(k->sock);
	k->sock = NULL;
}

static int by_id(const void *a, const void *b)
{
	const struct kvnet_device *x = a, *y = b;

	return x->id < y->id ? -1 : x->id > y->id;
}

static int take_device(const struct nlmsghdr *nlh, void *data)
{
	struct kvnet_devices *all = data;
	struct kvnet_device *dev;

	all->dev = need(reallocarray(all->dev, all->n + 1, sizeof(*dev)));
	dev = &all->dev[all->n++];
	memset(dev, 0, sizeof(*dev));
	return parse_device(nlh, dev);
}

static struct kvnet_device *find(struct kvnet_devices *all, uint32_t id)
{
	const struct kvnet_device key = { .id = id };

	return all->n ? bsearch(&key, all->dev, all->n, sizeof(key), by_id) : NULL;
}

/* a device that has come since the devices were dumped is left for the next time */
static int take_queue(const struct nlmsghdr *nlh, void *data)
{
	struct kvnet_queue q = { 0 };
	int ret = parse_queue(nlh, &q);
	struct kvnet_device *dev = ret ? NULL : find(data, q.dev);

	if (!dev) {
		free_queue(&q);
		return ret;
	}
	dev->queue = need(reallocarray(dev->queue, dev->queues + 1, sizeof(q)));
	dev->queue[dev->queues++] = q;
	return 0;
}

static int take_worker(const struct nlmsghdr *nlh, void *data)
{
	struct kvnet_worker w = { 0 };
	int ret = parse_worker(nlh, &w);
	struct kvnet_device *dev = ret ? NULL : find(data, w.dev);

	if (!dev) {
		free_worker(&w);
		return ret;
	}
	dev->worker = need(reallocarray(dev->worker, dev->workers + 1, sizeof(w)));
	dev->worker[dev->workers++] = w;
	return 0;
}

static int dump(struct kvnet *k, uint8_t cmd, uint16_t attr, uint32_t id,
		nl_take_t take, struct kvnet_devices *all)
{
	struct nlmsghdr *nlh;
	request_t buf;

	nlh = nl_message(k, buf, k->family, cmd, NLM_F_DUMP);
	if (id)
		mnl_attr_put_u32(nlh, attr, id);
	return nl_talk(k, nlh, take, all);
}

static int get_devices(struct kvnet *k, uint32_t id, struct kvnet_devices *all)
{
	struct nlmsghdr *nlh;
	request_t buf;
	int ret;

	nlh = nl_message(k, buf, k->family, KVNET_CMD_DEV_GET, id ? 0 : NLM_F_DUMP);
	if (id)
		mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, id);
	ret = nl_talk(k, nlh, take_device, all);
	if (!ret && all->n)
		qsort(all->dev, all->n, sizeof(*all->dev), by_id);
	return ret;
}

/**
 * kvnet_get() - devices with their queues and workers
 * @k: the connection
 * @id: of one, or 0 for all
 * @all: theirs, for kvnet_free(); nothing after an error
 *
 * Return: 0; -ENODEV: there is no such device; -EPERM; other errors.
 */
int kvnet_get(struct kvnet *k, uint32_t id, struct kvnet_devices *all)
{
	struct timespec now;
	int ret, tries = 0;

	do {
		memset(all, 0, sizeof(*all));
		ret = get_devices(k, id, all);
		clock_gettime(CLOCK_MONOTONIC, &now);
		all->ns = now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
		if (!ret)
			ret = dump(k, KVNET_CMD_QUEUE_GET, KVNET_A_QUEUE_DEV, id,
				   take_queue, all);
		if (!ret)
			ret = dump(k, KVNET_CMD_WORKER_GET, KVNET_A_WORKER_DEV, id,
				   take_worker, all);
		if (ret)
			kvnet_free(all);
	} while (ret == -EINTR && ++tries < MAX_TRIES);
	return ret;
}

static void put_policy(struct nlmsghdr *nlh, const struct kvnet_policy *p)
{
	struct nlattr *nest = mnl_attr_nest_start(nlh, KVNET_A_DEV_POLICY);

	if (HAS(p, KVNET_A_POLICY_POLL_US))
		mnl_attr_put_u32(nlh, KVNET_A_POLICY_POLL_US, p->poll_us);
	if (HAS(p, KVNET_A_POLICY_TX_INLINE))
		mnl_attr_put_u8(nlh, KVNET_A_POLICY_TX_INLINE, p->tx_inline);
	if (HAS(p, KVNET_A_POLICY_RX_DIRECT))
		mnl_attr_put_u8(nlh, KVNET_A_POLICY_RX_DIRECT, p->rx_direct);
	if (HAS(p, KVNET_A_POLICY_RX_INLINE))
		mnl_attr_put_u8(nlh, KVNET_A_POLICY_RX_INLINE, p->rx_inline);
	if (HAS(p, KVNET_A_POLICY_SHORTCUT))
		mnl_attr_put_u8(nlh, KVNET_A_POLICY_SHORTCUT, p->shortcut);
	mnl_attr_nest_end(nlh, nest);
}

/**
 * kvnet_set() - configure a device
 * @k: the connection
 * @id: of the device
 * @p: what to change; of it, what is for the module
 *
 * Return: 0, or the module's error; then nothing has changed.
 */
int kvnet_set(struct kvnet *k, uint32_t id, const struct kvnet_policy *p)
{
	struct nlmsghdr *nlh;
	request_t buf;

	nlh = nl_message(k, buf, k->family, KVNET_CMD_DEV_SET, 0);
	mnl_attr_put_u32(nlh, KVNET_A_DEV_ID, id);
	put_policy(nlh, p);
	return nl_talk(k, nlh, NULL, NULL);
}

/**
 * kvnet_tap_of_owner_netns() - the name of a tap that is where its device's owner is
 * @dev: the device
 *
 * Names mean something within the administrator's network namespace; the creator of another
 * names its interfaces at will.
 *
 * Return: the name; NULL if it has no tap, or one of another namespace.
 */
const char *kvnet_tap_of_owner_netns(const struct kvnet_device *dev)
{
	bool own = HAS(dev, KVNET_A_DEV_NETNS_COOKIE) && HAS(dev, KVNET_A_DEV_BACKEND_NETNS_COOKIE) &&
		   dev->netns_cookie == dev->tap_netns_cookie;

	return own ? dev->tap : NULL;
}
