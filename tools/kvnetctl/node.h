/* SPDX-License-Identifier: GPL-2.0 */
/*
 * node - what a device node of vhost's kind offers
 */
#ifndef KVNETCTL_NODE_H
#define KVNETCTL_NODE_H

#include "libkvnet.h"

/**
 * struct node - a device node of vhost's kind
 * @path: where it is
 * @err: why it could not be asked, or 0
 * @word: the features that it offers
 */
struct node {
	const char *path;
	int err;
	uint64_t word[FEATURE_WORDS];
};

void node_ask(struct node *node);

static inline bool feature_in(const uint64_t *word, unsigned int bit)
{
	return word[bit / 64] >> (bit % 64) & 1;
}

static inline bool node_has(const struct node *node, unsigned int bit)
{
	return feature_in(node->word, bit);
}

#endif /* KVNETCTL_NODE_H */
