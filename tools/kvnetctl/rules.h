/* SPDX-License-Identifier: GPL-2.0 */
/*
 * rules - policies for devices by what they are, from a file
 *
 * A rule is a line: words to match, "set", settings. Of each setting the first rule
 * that fits and says it counts.
 *
 *	vm db-* tap vnet*  set cpus 2-3 nice -5
 *	any                set poll-us 20
 */
#ifndef KVNETCTL_RULES_H
#define KVNETCTL_RULES_H

#include <stdio.h>

#include "libkvnet.h"

enum rule_key { RULE_COMMAND, RULE_CGROUP, RULE_TAP, RULE_VM, RULE_KEYS };

/**
 * struct rule - a line
 * @line: its number
 * @pattern: for the shell's wildcards; NULL: does not matter
 * @policy: what it sets
 */
struct rule {
	unsigned int line;
	char *pattern[RULE_KEYS];
	struct kvnet_policy policy;
};

struct rules {
	struct rule *rule;
	unsigned int n;
};

/**
 * struct subject - what a device is
 * @name: by rule_key; NULL: unknown, which only what does not matter matches
 */
struct subject {
	const char *name[RULE_KEYS];
};

unsigned int rules_parse(struct rules *r, FILE *f, const char *file, FILE *err);
void rules_free(struct rules *r);
bool rule_fits(const struct rule *rule, const struct subject *s);
void rules_policy(const struct rules *r, const struct subject *s, struct kvnet_policy *p);

#endif /* KVNETCTL_RULES_H */
