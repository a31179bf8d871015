// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_features.c - what kvnet and vhost_net offer here, and what each guest took
 */
#include "kvnetctl.h"
#include "names.h"
#include "write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <linux/vhost.h>

/* struct vhost_features_array of Linux 6.17, with room for our words */
struct features_array {
	__u64 count;
	__u64 word[FEATURE_WORDS];
};

#define GET_FEATURES_ARRAY	_IOR(VHOST_VIRTIO, 0x83, __u64)

/**
 * struct node - a device node of vhost's kind
 * @path: where it is
 * @err: why it could not be asked, or 0
 * @word: what it offers
 */
struct node {
	const char *path;
	int err;
	uint64_t word[FEATURE_WORDS];
};

static void ask(struct node *node)
{
	struct features_array all = { .count = FEATURE_WORDS };
	int fd = open(node->path, O_RDWR | O_CLOEXEC);

	memset(node->word, 0, sizeof(node->word));
	node->err = 0;
	if (fd < 0) {
		node->err = errno;
		return;
	}
	/* older kernels know the first word only */
	if (!ioctl(fd, GET_FEATURES_ARRAY, &all))
		memcpy(node->word, all.word, sizeof(node->word));
	else if (ioctl(fd, VHOST_GET_FEATURES, node->word))
		node->err = errno;
	close(fd);
}

static bool has(const uint64_t *word, unsigned int bit)
{
	return word[bit / 64] >> (bit % 64) & 1;
}

static void write_node(struct json *w, const char *key, const struct node *node,
		       unsigned int bit)
{
	if (node->err)
		json_null(w, key);
	else
		json_bool(w, key, has(node->word, bit));
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
	json_list(w, "taken_by", JSON_FIELDS);
	for (i = 0; i < all->n; i++)
		if (has(all->dev[i].features, bit))
			json_u64(w, NULL, all->dev[i].id);
	json_end(w);
	json_end(w);
}

static bool of_interest(const struct node *kvnet, const struct node *vhost,
			const struct kvnet_devices *all, unsigned int bit)
{
	unsigned int i;

	for (i = 0; i < all->n; i++)
		if (has(all->dev[i].features, bit))
			return true;
	return has(kvnet->word, bit) || has(vhost->word, bit);
}

static int no_node(const struct node *node)
{
	if (node->err == ENOENT || node->err == ENXIO || node->err == ENODEV)
		return ctl_fail(STATUS_NO_MODULE, "the module kvnet is not loaded: modprobe kvnet");
	if (node->err == EACCES || node->err == EPERM)
		return ctl_fail(STATUS_NOT_ALLOWED, "%s may not be opened: run it as root, or see kvnetctl doctor", node->path);
	return ctl_fail(STATUS_FAILED, "%s: %s", node->path, strerror(node->err));
}

/* who may not ask the module about others is told what the nodes offer all the same */
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

	ask(&kvnet);
	if (kvnet.err)
		return no_node(&kvnet);
	ask(&vhost);
	get_devices(&all);
	json_list(&c->w, NULL, JSON_TABLE);
	for (bit = 0; bit < 64 * FEATURE_WORDS; bit++)
		if (of_interest(&kvnet, &vhost, &all, bit))
			write_row(&c->w, &kvnet, &vhost, &all, bit);
	json_end(&c->w);
	kvnet_free(&all);
	return STATUS_OK;
}
