// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_list.c - one line per device
 */
#include "kvnetctl.h"
#include "names.h"
#include "write.h"


static void write_states(struct json *w, const struct kvnet_device *dev)
{
	unsigned int i;

	for (i = 0; i < dev->queues; i++)
		write_state(w, name_queue(dev->queue[i].index), &dev->queue[i]);
}

/* those that its first worker really has */
static void write_cpus(struct json *w, const struct kvnet_device *dev)
{
	if (dev->workers)
		json_str(w, "cpus", dev->worker[0].cpus);
	else
		json_null(w, "cpus");
}

static void list_one(struct json *w, const struct kvnet_device *dev)
{
	json_object(w, NULL);
	json_u64(w, "id", dev->id);
	write_owner(w, dev);
	write_states(w, dev);
	json_str(w, "layout", name_layout(dev->layout));
	json_u64(w, "workers", dev->n_workers);
	write_cpus(w, dev);
	json_end(w);
}

/**
 * cmd_list() - "kvnetctl list"
 * @c: the run
 *
 * Return: how the program is to end.
 */
int cmd_list(struct ctl *c)
{
	struct kvnet_devices all;
	struct kvnet k;
	unsigned int i;
	int ret;

	ret = ctl_open(&k);
	if (ret)
		return ret;
	ret = ctl_devices(&k, NULL, &all);
	if (!ret) {
		json_list(&c->w, NULL, JSON_TABLE);
		for (i = 0; i < all.n; i++)
			list_one(&c->w, &all.dev[i]);
		json_end(&c->w);
		if (!all.n && c->w.mode == JSON_TEXT)
			fputs("kvnetctl: no devices in this network namespace\n", stderr);
		kvnet_free(&all);
	}
	kvnet_close(&k);
	return ret;
}
