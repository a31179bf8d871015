// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_show.c - details of devices
 */
#include "kvnetctl.h"
#include "names.h"
#include "policy.h"
#include "text.h"
#include "write.h"

#include <stdlib.h>

#include <net/if.h>

static void u32_or_null(struct json *w, const char *key, bool has, uint32_t val)
{
	if (has)
		json_u64(w, key, val);
	else
		json_null(w, key);
}

/* The other tap is in the namespace of this one: by name if that is the owner's, and so ours. */
static char *other_tap(const struct kvnet_device *dev, uint32_t ifindex)
{
	char name[IF_NAMESIZE];

	if (kvnet_tap_of_owner_netns(dev) && if_indextoname(ifindex, name))
		return text_format("%s", name);
	return text_format("%u", ifindex);
}

static void show_shortcut(struct json *w, const struct kvnet_device *dev,
			  const struct kvnet_queue *q)
{
	const char *state = HAS(q, KVNET_A_QUEUE_SHORTCUT) ? name_shortcut(q->shortcut) : NULL;
	char *tap, *text;

	if (w->mode != JSON_TEXT) {
		json_str(w, "shortcut", state);
		u32_or_null(w, "shortcut_ifindex", HAS(q, KVNET_A_QUEUE_SHORTCUT_IFINDEX),
			    q->shortcut_ifindex);
	} else if (HAS(q, KVNET_A_QUEUE_SHORTCUT_IFINDEX)) {
		tap = other_tap(dev, q->shortcut_ifindex);
		text = text_format("%s (to %s)", state, tap);
		json_str(w, "shortcut", text);
		free(text);
		free(tap);
	} else {
		json_str(w, "shortcut", state);
	}
}

static void show_queue(struct json *w, const struct kvnet_device *dev, const struct kvnet_queue *q)
{
	json_object(w, NULL);
	json_u64(w, "index", q->index);
	json_str(w, "queue", name_queue(q->index));
	write_state(w, "state", q);
	if (HAS(q, KVNET_A_QUEUE_ERROR))
		json_str(w, "error", name_errno(q->error));
	else
		json_null(w, "error");
	json_u64(w, "size", q->size);
	u32_or_null(w, "avail", HAS(q, KVNET_A_QUEUE_AVAIL), q->avail);
	u32_or_null(w, "used", HAS(q, KVNET_A_QUEUE_USED), q->used);
	json_str(w, "access", name_access(q->access));
	json_str(w, "backend", name_backend(q->backend));
	u32_or_null(w, "backlog", HAS(q, KVNET_A_QUEUE_BACKLOG), q->backlog);
	u32_or_null(w, "worker", HAS(q, KVNET_A_QUEUE_WORKER), q->worker);
	json_u64(w, "kicks", q->kicks);
	json_u64(w, "wakeups", q->wakeups);
	show_shortcut(w, dev, q);
	json_end(w);
}

static void show_worker(struct json *w, const struct kvnet_worker *wk)
{
	unsigned int i;

	json_object(w, NULL);
	json_u64(w, "index", wk->index);
	u32_or_null(w, "tid", HAS(wk, KVNET_A_WORKER_TID), wk->tid);
	json_str(w, "kind", name_kind(wk->kind));
	json_str(w, "cpus", wk->cpus);
	u32_or_null(w, "cpu", HAS(wk, KVNET_A_WORKER_CPU), wk->cpu);
	u32_or_null(w, "node", HAS(wk, KVNET_A_WORKER_NODE), wk->node);
	if (HAS(wk, KVNET_A_WORKER_NICE))
		json_s64(w, "nice", wk->nice);
	else
		json_null(w, "nice");
	json_str(w, "sched", HAS(wk, KVNET_A_WORKER_SCHED) ? name_sched(wk->sched) : NULL);
	u32_or_null(w, "rt_priority", HAS(wk, KVNET_A_WORKER_RT_PRIORITY), wk->rt_priority);
	json_list(w, "queues", JSON_FIELDS);
	for (i = 0; i < 32; i++)
		if (wk->queues >> i & 1)
			json_str(w, NULL, name_queue(i));
	json_end(w);
	json_u64(w, "run_ms", wk->run_ns / 1000000);
	json_real(w, "poll_us", wk->poll_ns / 1000.0, 1);
	json_real(w, "poll_max_us", wk->poll_max_ns / 1000.0, 1);
	json_end(w);
}

static void show_device(struct json *w, const struct kvnet_device *dev)
{
	char *title = device_text(dev, ": ");
	unsigned int i;

	json_object(w, NULL);
	json_title(w, "%s", title);
	free(title);
	json_u64(w, "id", dev->id);
	write_owner(w, dev);
	json_str(w, "owner", HAS(dev, KVNET_A_DEV_OWNER_DEAD) ? "dead" : "alive");
	json_str(w, "cgroup", dev->cgroup);
	u32_or_null(w, "netns", HAS(dev, KVNET_A_DEV_NETNS_INUM), dev->netns);
	u32_or_null(w, "ifindex", HAS(dev, KVNET_A_DEV_IFINDEX), dev->ifindex);
	u32_or_null(w, "tap_netns", HAS(dev, KVNET_A_DEV_BACKEND_NETNS_INUM), dev->tap_netns);
	json_str(w, "layout", name_layout(dev->layout));
	if (HAS(dev, KVNET_A_DEV_MEMORY_NODE))
		json_s64(w, "memory_node", dev->memory_node);
	else
		json_null(w, "memory_node");
	json_bool(w, "in_order", HAS(dev, KVNET_A_DEV_IN_ORDER));
	write_features(w, "features", dev->features);
	policy_write(w, "policy", &dev->policy);
	json_list(w, "queues", JSON_TABLE);
	for (i = 0; i < dev->queues; i++)
		show_queue(w, dev, &dev->queue[i]);
	json_end(w);
	json_list(w, "workers", JSON_TABLE);
	for (i = 0; i < dev->workers; i++)
		show_worker(w, &dev->worker[i]);
	json_end(w);
	json_end(w);
}

/**
 * cmd_show() - "kvnetctl show"
 * @c: the run
 *
 * Return: how the program is to end.
 */
int cmd_show(struct ctl *c)
{
	struct kvnet_devices all;
	struct kvnet k;
	unsigned int i;
	int ret;

	ret = ctl_open(&k);
	if (ret)
		return ret;
	ret = ctl_devices(&k, c->argv[0], &all);
	if (!ret) {
		json_list(&c->w, NULL, JSON_FIELDS);
		for (i = 0; i < all.n; i++)
			show_device(&c->w, &all.dev[i]);
		json_end(&c->w);
		kvnet_free(&all);
	}
	kvnet_close(&k);
	return ret;
}
