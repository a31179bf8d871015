// SPDX-License-Identifier: GPL-2.0
/*
 * events.c - events of the module, see libkvnet.h; and freeing of structures
 */
#include "libkvnet.h"
#include "nl.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/**
 * kvnet_listen() - subscribe to events
 * @k: a connection that is used for nothing else afterwards
 *
 * Return: 0, or -EPERM and the like.
 */
int kvnet_listen(struct kvnet *k)
{
	if (!k->group)
		return nl_fail(k, ENOENT, "the module kvnet has no event group");
	if (nl_socket_join(k->sock, k->group) < 0)
		return nl_fail(k, errno, "listening for events: %s", strerror(errno));
	/* reports the removal of the module; the number never changes */
	nl_socket_join(k->sock, GENL_ID_CTRL);
	return 0;
}

/**
 * kvnet_fd() - for poll(): there are events
 * @k: the connection
 *
 * Return: a descriptor.
 */
int kvnet_fd(const struct kvnet *k)
{
	return nl_socket_fd(k->sock);
}

static bool is_end(const struct nlmsghdr *nlh, uint16_t family)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);
	const struct nlattr *attr;

	if (nlh->nlmsg_type != GENL_ID_CTRL || genl->cmd != CTRL_CMD_DELFAMILY)
		return false;
	mnl_attr_for_each(attr, nlh, sizeof(*genl))
		if (mnl_attr_get_type(attr) == CTRL_ATTR_FAMILY_ID &&
		    mnl_attr_validate(attr, MNL_TYPE_U16) >= 0)
			return mnl_attr_get_u16(attr) == family;
	return false;
}

static int parse_event(const struct nlmsghdr *nlh, struct kvnet_event *ev)
{
	const struct genlmsghdr *genl = mnl_nlmsg_get_payload(nlh);

	ev->cmd = genl->cmd;
	switch (genl->cmd) {
	case KVNET_CMD_DEV_ADD_NTF:
	case KVNET_CMD_DEV_DEL_NTF:
	case KVNET_CMD_WORKERS_START_NTF:
		return parse_device(nlh, &ev->dev);
	case KVNET_CMD_QUEUE_START_NTF:
	case KVNET_CMD_QUEUE_STOP_NTF:
	case KVNET_CMD_QUEUE_BROKEN_NTF:
		return parse_queue(nlh, &ev->queue);
	}
	return -EOPNOTSUPP;
}

/**
 * kvnet_event() - receive an event; waits for one
 * @k: the connection
 * @ev: the event, for kvnet_event_free() whatever is returned
 *
 * Return: 0; -EINTR: a signal came; -EAGAIN: unknown event; -ENOBUFS: events were lost,
 * and more are until all queued ones have been received; -ENOENT: the module is gone;
 * other errors.
 */
int kvnet_event(struct kvnet *k, struct kvnet_event *ev)
{
	_Alignas(struct nlmsghdr) char buf[NL_BUFFER];
	const struct nlmsghdr *nlh = (const struct nlmsghdr *)buf;
	ssize_t len;

	memset(ev, 0, sizeof(*ev));
	/* the kernel sends each event as a datagram of its own */
	len = nl_socket_recv(k->sock, buf, sizeof(buf));
	if (len < 0)
		return nl_fail(k, errno, "waiting for events: %s", strerror(errno));
	if (!nl_ok(nlh, len) ||
	    mnl_nlmsg_get_payload_len(nlh) < sizeof(struct genlmsghdr))
		return -EAGAIN;
	if (is_end(nlh, k->family))
		return nl_fail(k, ENOENT, "the module kvnet has been removed");
	return nlh->nlmsg_type != k->family || parse_event(nlh, ev) ? -EAGAIN : 0;
}

/**
 * kvnet_drain() - after -ENOBUFS: receive all events from now on
 * @k: the connection; events that are queued by now are lost, too
 */
void kvnet_drain(struct kvnet *k)
{
	nl_socket_drain(k->sock);
}

/**
 * kvnet_event_free() - the end of an event
 * @ev: the event
 */
void kvnet_event_free(struct kvnet_event *ev)
{
	kvnet_free_device(&ev->dev);
	free_queue(&ev->queue);
}

/**
 * kvnet_policy_free() - the end of a policy
 * @p: the policy
 */
void kvnet_policy_free(struct kvnet_policy *p)
{
	free(p->cpus);
	memset(p, 0, sizeof(*p));
}

/**
 * free_queue() - the end of a queue
 * @q: the queue
 */
void free_queue(struct kvnet_queue *q)
{
	unsigned int i;

	for (i = 0; i < q->counters; i++)
		free(q->counter[i].name);
	free(q->counter);
	for (i = 0; i < q->histograms; i++)
		free(q->histogram[i].name);
	free(q->histogram);
}

/**
 * free_worker() - the end of a worker
 * @w: the worker
 */
void free_worker(struct kvnet_worker *w)
{
	free(w->cpus);
}

/**
 * kvnet_free_device() - the end of a device, its queues and workers
 * @dev: the device
 */
void kvnet_free_device(struct kvnet_device *dev)
{
	unsigned int i;

	for (i = 0; i < dev->queues; i++)
		free_queue(&dev->queue[i]);
	for (i = 0; i < dev->workers; i++)
		free_worker(&dev->worker[i]);
	free(dev->queue);
	free(dev->worker);
	free(dev->command);
	free(dev->cgroup);
	free(dev->tap);
	kvnet_policy_free(&dev->policy);
}

/**
 * kvnet_free() - the end of devices
 * @all: the devices
 */
void kvnet_free(struct kvnet_devices *all)
{
	unsigned int i;

	for (i = 0; i < all->n; i++)
		kvnet_free_device(&all->dev[i]);
	free(all->dev);
	memset(all, 0, sizeof(*all));
}

/**
 * kvnet_counter() - a counter of a queue
 * @q: the queue
 * @name: the counter's
 *
 * Return: the counter, or NULL: this module has none of that name.
 */
const struct kvnet_counter *kvnet_counter(const struct kvnet_queue *q,
					  const char *name)
{
	unsigned int i;

	for (i = 0; i < q->counters; i++)
		if (!strcmp(q->counter[i].name, name))
			return &q->counter[i];
	return NULL;
}

/**
 * kvnet_counter_value() - a counter's value
 * @q: the queue
 * @name: the counter's
 *
 * Return: the value; 0 of one that there is not.
 */
uint64_t kvnet_counter_value(const struct kvnet_queue *q, const char *name)
{
	const struct kvnet_counter *c = kvnet_counter(q, name);

	return c ? c->value : 0;
}

/**
 * kvnet_drops() - dropped packets, for any reason
 * @q: the queue
 *
 * Return: the sum of the counters "drop_...".
 */
uint64_t kvnet_drops(const struct kvnet_queue *q)
{
	uint64_t sum = 0;
	unsigned int i;

	for (i = 0; i < q->counters; i++)
		if (!strncmp(q->counter[i].name, "drop_", 5))
			sum += q->counter[i].value;
	return sum;
}

/**
 * kvnet_histogram_bucket_min() - what is the least value of a bucket?
 * @bucket: in range
 *
 * Return: the value.
 */
uint64_t kvnet_histogram_bucket_min(unsigned int bucket)
{
	return bucket ? UINT64_C(1) << (bucket - 1) : 0;
}

/**
 * kvnet_histogram_bucket_max() - what is the greatest value of a bucket?
 * @bucket: in range
 *
 * Return: the value; UINT64_MAX of the last, which has no end.
 */
uint64_t kvnet_histogram_bucket_max(unsigned int bucket)
{
	return bucket < HISTOGRAM_BUCKETS - 1 ? (UINT64_C(1) << bucket) - 1 : UINT64_MAX;
}
