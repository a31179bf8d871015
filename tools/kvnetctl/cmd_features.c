// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_features.c - features offered by kvnet and vhost_net, and acked by each guest
 */
#include "kvnetctl.h"
#include "names.h"
#include "node.h"
#include "write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void write_node(struct json *w, const char *key, const struct node *node,
		       unsigned int bit)
{
	if (node->err)
		json_null(w, key);
	else
		json_bool(w, key, node_has(node, bit));
}

static void write_row(struct json *w, const struct node *kvnet, const struct node *vhost,
		      const struct kvnet_devices *all, unsigned int bit)
{
	char number[16];
	unsigned int i;

	snprintf(number, sizeof(number), "bit%u", bit);
	json_object(w, NULL);
	json_str(w, "feature", name_feature(bit) ? name_feature(bit) : number);
	json_u64(w, "bit", bit);
	write_node(w, "kvnet", kvnet, bit);
	write_node(w, "vhost_net", vhost, bit);
	json_list(w, "acked_by", JSON_FIELDS);
	for (i = 0; i < all->n; i++)
		if (feature_in(all->dev[i].features, bit))
			json_u64(w, NULL, all->dev[i].id);
	json_end(w);
	json_end(w);
}

static bool is_offered_or_acked(const struct node *kvnet, const struct node *vhost,
				const struct kvnet_devices *all, unsigned int bit)
{
	unsigned int i;

	for (i = 0; i < all->n; i++)
		if (feature_in(all->dev[i].features, bit))
			return true;
	return node_has(kvnet, bit) || node_has(vhost, bit);
}

static int fail_on_node(const struct node *node)
{
	if (node->err == ENOENT || node->err == ENXIO || node->err == ENODEV)
		return ctl_fail(STATUS_NO_MODULE, "the module kvnet is not loaded: modprobe kvnet");
	if (node->err == EACCES || node->err == EPERM)
		return ctl_fail(STATUS_NOT_ALLOWED, "cannot open %s: permission denied; run as root, or see kvnetctl doctor", node->path);
	return ctl_fail(STATUS_FAILED, "%s: %s", node->path, strerror(node->err));
}

/* a caller without CAP_NET_ADMIN sees only what the nodes offer */
static void get_devices(struct kvnet_devices *all)
{
	struct kvnet k;

	memset(all, 0, sizeof(*all));
	if (!kvnet_open(&k) && kvnet_get(&k, 0, all))
		memset(all, 0, sizeof(*all));
	kvnet_close(&k);
}

/**
 * cmd_features() - "kvnetctl features"
 * @c: the run
 *
 * Return: how the program is to end.
 */
int cmd_features(struct ctl *c)
{
	struct node kvnet = { .path = "/dev/kvnet" }, vhost = { .path = "/dev/vhost-net" };
	struct kvnet_devices all;
	unsigned int bit;

	node_ask(&kvnet);
	if (kvnet.err)
		return fail_on_node(&kvnet);
	node_ask(&vhost);
	get_devices(&all);
	json_list(&c->w, NULL, JSON_TABLE);
	for (bit = 0; bit < 64 * FEATURE_WORDS; bit++)
		if (is_offered_or_acked(&kvnet, &vhost, &all, bit))
			write_row(&c->w, &kvnet, &vhost, &all, bit);
	json_end(&c->w);
	kvnet_free(&all);
	return STATUS_OK;
}
