// SPDX-License-Identifier: GPL-2.0
/*
 * node.c - what a device node of vhost's kind offers, see node.h
 */
#include "node.h"

#include <errno.h>
#include <fcntl.h>
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
 * node_ask() - read the features that a node offers
 * @node: its path is set, all else is the answer
 */
void node_ask(struct node *node)
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
