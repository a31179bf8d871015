// SPDX-License-Identifier: GPL-2.0
/*
 * parse.c - attributes into structures, see libkvnet.h
 *
 * A table for each kind of message says which attribute goes where. Unknown
 * attributes are skipped: a newer module may send more.
 */
#include "nl.h"
#include "text.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum kind { U8, U32, U64, STRING, FLAG };

struct field {
	uint16_t attr;
	enum kind kind;
	size_t offset;
};

#define FIELD(s, a, k, m)	{ a, k, offsetof(struct s, m) }

static const struct field device_fields[] = {
	FIELD(kvnet_device, KVNET_A_DEV_ID, U32, id),
	FIELD(kvnet_device, KVNET_A_DEV_OWNER_PID, U32, pid),
	FIELD(kvnet_device, KVNET_A_DEV_OWNER_COMM, STRING, command),
	FIELD(kvnet_device, KVNET_A_DEV_OWNER_DEAD, FLAG, has),
	FIELD(kvnet_device, KVNET_A_DEV_CGROUP_ID, U64, cgroup_id),
	FIELD(kvnet_device, KVNET_A_DEV_CGROUP, STRING, cgroup),
	FIELD(kvnet_device, KVNET_A_DEV_NETNS_INUM, U32, netns),
	FIELD(kvnet_device, KVNET_A_DEV_NETNS_COOKIE, U64, netns_cookie),
	FIELD(kvnet_device, KVNET_A_DEV_IFNAME, STRING, tap),
	FIELD(kvnet_device, KVNET_A_DEV_IFINDEX, U32, ifindex),
	FIELD(kvnet_device, KVNET_A_DEV_BACKEND_NETNS_INUM, U32, tap_netns),
	FIELD(kvnet_device, KVNET_A_DEV_BACKEND_NETNS_COOKIE, U64, tap_netns_cookie),
	FIELD(kvnet_device, KVNET_A_DEV_LAYOUT, U32, layout),
	FIELD(kvnet_device, KVNET_A_DEV_IN_ORDER, FLAG, has),
	FIELD(kvnet_device, KVNET_A_DEV_QUEUES, U32, n_queues),
	FIELD(kvnet_device, KVNET_A_DEV_WORKERS, U32, n_workers),
	FIELD(kvnet_device, KVNET_A_DEV_MEMORY_NODE, U32, memory_node),
	{ 0 }
};

static const struct field policy_fields[] = {
	FIELD(kvnet_policy, KVNET_A_POLICY_POLL_US, U32, poll_us),
	FIELD(kvnet_policy, KVNET_A_POLICY_TX_INLINE, U8, tx_inline),
	FIELD(kvnet_policy, KVNET_A_POLICY_RX_DIRECT, U8, rx_direct),
	FIELD(kvnet_policy, KVNET_A_POLICY_RX_INLINE, U8, rx_inline),
	FIELD(kvnet_policy, KVNET_A_POLICY_SHORTCUT, U8, shortcut),
	{ 0 }
};

static const struct field queue_fields[] = {
	FIELD(kvnet_queue, KVNET_A_QUEUE_DEV, U32, dev),
	FIELD(kvnet_queue, KVNET_A_QUEUE_INDEX, U32, index),
	FIELD(kvnet_queue, KVNET_A_QUEUE_STATE, U32, state),
	FIELD(kvnet_queue, KVNET_A_QUEUE_ERROR, U32, error),
	FIELD(kvnet_queue, KVNET_A_QUEUE_SIZE, U32, size),
	FIELD(kvnet_queue, KVNET_A_QUEUE_AVAIL, U32, avail),
	FIELD(kvnet_queue, KVNET_A_QUEUE_USED, U32, used),
	FIELD(kvnet_queue, KVNET_A_QUEUE_ACCESS, U32, access),
	FIELD(kvnet_queue, KVNET_A_QUEUE_BACKEND, U32, backend),
	FIELD(kvnet_queue, KVNET_A_QUEUE_BACKLOG, U32, backlog),
	FIELD(kvnet_queue, KVNET_A_QUEUE_WORKER, U32, worker),
	FIELD(kvnet_queue, KVNET_A_QUEUE_KICKS, U64, kicks),
	FIELD(kvnet_queue, KVNET_A_QUEUE_WAKEUPS, U64, wakeups),
	FIELD(kvnet_queue, KVNET_A_QUEUE_SHORTCUT, U32, shortcut),
	FIELD(kvnet_queue, KVNET_A_QUEUE_SHORTCUT_IFINDEX, U32, shortcut_ifindex),
	{ 0 }
};

static const struct field worker_fields[] = {
	FIELD(kvnet_worker, KVNET_A_WORKER_DEV, U32, dev),
	FIELD(kvnet_worker, KVNET_A_WORKER_INDEX, U32, index),
	FIELD(kvnet_worker, KVNET_A_WORKER_TID, U32, tid),
	FIELD(kvnet_worker, KVNET_A_WORKER_KIND, U32, kind),
	FIELD(kvnet_worker, KVNET_A_WORKER_CPUS, STRING, cpus),
	FIELD(kvnet_worker, KVNET_A_WORKER_CPU, U32, cpu),
	FIELD(kvnet_worker, KVNET_A_WORKER_NODE, U32, node),
	FIELD(kvnet_worker, KVNET_A_WORKER_NICE, U32, nice),
	FIELD(kvnet_worker, KVNET_A_WORKER_SCHED, U32, sched),
	FIELD(kvnet_worker, KVNET_A_WORKER_RT_PRIORITY, U32, rt_priority),
	FIELD(kvnet_worker, KVNET_A_WORKER_RUN_NS, U64, run_ns),
	FIELD(kvnet_worker, KVNET_A_WORKER_POLL_NS, U64, poll_ns),
	FIELD(kvnet_worker, KVNET_A_WORKER_POLL_MAX_NS, U64, poll_max_ns),
	{ 0 }
};

static const struct field counter_fields[] = {
	FIELD(kvnet_counter, KVNET_A_COUNTER_NAME, STRING, name),
	FIELD(kvnet_counter, KVNET_A_COUNTER_VALUE, U64, value),
	{ 0 }
};

static const struct field histogram_fields[] = {
	FIELD(kvnet_histogram, KVNET_A_HISTOGRAM_NAME, STRING, name),
	FIELD(kvnet_histogram, KVNET_A_HISTOGRAM_SUM, U64, sum),
	{ 0 }
};

static int take(const struct nlattr *attr, const struct field *f, void *obj)
{
	static const enum mnl_attr_data_type type[] = {
		[U8] = MNL_TYPE_U8, [U32] = MNL_TYPE_U32, [U64] = MNL_TYPE_U64,
		[STRING] = MNL_TYPE_NUL_STRING, [FLAG] = MNL_TYPE_FLAG,
	};
	void *to = (char *)obj + f->offset;
	char **s = to;

	if (mnl_attr_validate(attr, type[f->kind]) < 0)
		return -EBADMSG;
	switch (f->kind) {
	case U8:
		*(uint8_t *)to = mnl_attr_get_u8(attr);
		break;
	case U32:
		*(uint32_t *)to = mnl_attr_get_u32(attr);
		break;
	case U64:
		*(uint64_t *)to = mnl_attr_get_u64(attr);
		break;
	case STRING:
		free(*s);
		*s = need(strdup(mnl_attr_get_str(attr)));
		break;
	case FLAG:
		break;
	}
	return 0;
}

/* one attribute of an object; @has may be NULL */
static int take_field(const struct nlattr *attr, const struct field *f,
		      void *obj, uint64_t *has)
{
	uint16_t type = mnl_attr_get_type(attr);
	int ret;

	for (; f->attr; f++) {
		if (f->attr != type)
			continue;
		ret = take(attr, f, obj);
		if (!ret && has)
			*has |= UINT64_C(1) << type;
		return ret;
	}
	return 0;
}

static int take_nest(const struct nlattr *nest, const struct field *f,
		     void *obj, uint64_t *has)
{
	const struct nlattr *attr;
	int ret;

	if (mnl_attr_validate(nest, MNL_TYPE_NESTED) < 0)
		return -EBADMSG;
	mnl_attr_for_each_nested(attr, nest) {
		ret = take_field(attr, f, obj, has);
		if (ret)
			return ret;
	}
	return 0;
}

static int take_word(const struct nlattr *attr, uint64_t *word, unsigned int *n)
{
	if (mnl_attr_validate(attr, MNL_TYPE_U64) < 0)
		return -EBADMSG;
	if (*n < FEATURE_WORDS)
		word[(*n)++] = mnl_attr_get_u64(attr);
	return 0;
}

/**
 * parse_device() - a message of dev-get, dev-add-ntf, dev-del-ntf or workers-start-ntf
 * @nlh: the message
 * @dev: zeroed; for kvnet_free_device() whatever is returned
 *
 * Return: 0, or -EBADMSG.
 */
int parse_device(const struct nlmsghdr *nlh, struct kvnet_device *dev)
{
	unsigned int words = 0, offered = 0;
	const struct nlattr *attr;
	int ret = 0;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		switch (mnl_attr_get_type(attr)) {
		case KVNET_A_DEV_POLICY:
			ret = take_nest(attr, policy_fields, &dev->policy,
					&dev->policy.has);
			break;
		case KVNET_A_DEV_FEATURES:
			ret = take_word(attr, dev->features, &words);
			break;
		case KVNET_A_DEV_FEATURES_OFFERED:
			ret = take_word(attr, dev->offered, &offered);
			break;
		default:
			ret = take_field(attr, device_fields, dev, &dev->has);
		}
		if (ret)
			return ret;
	}
	return HAS(dev, KVNET_A_DEV_ID) ? 0 : -EBADMSG;
}

static int take_counter(const struct nlattr *attr, struct kvnet_queue *q)
{
	struct kvnet_counter c = { 0 };
	int ret = take_nest(attr, counter_fields, &c, NULL);

	if (ret || !c.name) {
		free(c.name);
		return -EBADMSG;
	}
	q->counter = need(reallocarray(q->counter, q->counters + 1, sizeof(c)));
	q->counter[q->counters++] = c;
	return 0;
}

static int take_buckets(const struct nlattr *nest, struct kvnet_histogram *h)
{
	const struct nlattr *attr;

	mnl_attr_for_each_nested(attr, nest) {
		if (mnl_attr_get_type(attr) != KVNET_A_HISTOGRAM_BUCKETS)
			continue;
		if (mnl_attr_validate(attr, MNL_TYPE_U64) < 0 ||
		    h->buckets == HISTOGRAM_BUCKETS)
			return -EBADMSG;
		h->bucket[h->buckets++] = mnl_attr_get_u64(attr);
	}
	return 0;
}

static int take_histogram(const struct nlattr *attr, struct kvnet_queue *q)
{
	struct kvnet_histogram h = { 0 };
	int ret = take_nest(attr, histogram_fields, &h, NULL);

	if (ret || !h.name || take_buckets(attr, &h)) {
		free(h.name);
		return -EBADMSG;
	}
	q->histogram = need(reallocarray(q->histogram, q->histograms + 1, sizeof(h)));
	q->histogram[q->histograms++] = h;
	return 0;
}

/**
 * parse_queue() - a message of queue-get or of a queue's events
 * @nlh: the message
 * @q: zeroed; for free_queue() whatever is returned
 *
 * Return: 0, or -EBADMSG.
 */
int parse_queue(const struct nlmsghdr *nlh, struct kvnet_queue *q)
{
	const struct nlattr *attr;
	int ret;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) == KVNET_A_QUEUE_COUNTERS)
			ret = take_counter(attr, q);
		else if (mnl_attr_get_type(attr) == KVNET_A_QUEUE_HISTOGRAMS)
			ret = take_histogram(attr, q);
		else
			ret = take_field(attr, queue_fields, q, &q->has);
		if (ret)
			return ret;
	}
	return HAS(q, KVNET_A_QUEUE_DEV) && HAS(q, KVNET_A_QUEUE_INDEX) ?
	       0 : -EBADMSG;
}

/**
 * parse_worker() - a message of worker-get
 * @nlh: the message
 * @w: zeroed; for free_worker() whatever is returned
 *
 * Return: 0, or -EBADMSG.
 */
int parse_worker(const struct nlmsghdr *nlh, struct kvnet_worker *w)
{
	const struct nlattr *attr;
	uint32_t index;
	int ret = 0;

	mnl_attr_for_each(attr, nlh, sizeof(struct genlmsghdr)) {
		if (mnl_attr_get_type(attr) != KVNET_A_WORKER_QUEUES) {
			ret = take_field(attr, worker_fields, w, &w->has);
		} else if (mnl_attr_validate(attr, MNL_TYPE_U32) < 0) {
			ret = -EBADMSG;
		} else {
			index = mnl_attr_get_u32(attr);
			w->queues |= index < 32 ? 1u << index : 0;
		}
		if (ret)
			return ret;
	}
	return HAS(w, KVNET_A_WORKER_DEV) && HAS(w, KVNET_A_WORKER_INDEX) ?
	       0 : -EBADMSG;
}
