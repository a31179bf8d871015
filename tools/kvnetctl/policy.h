/* SPDX-License-Identifier: GPL-2.0 */
/*
 * policy - the settings of a device, by the words of "set" and of a rules file
 */
#ifndef KVNETCTL_POLICY_H
#define KVNETCTL_POLICY_H

#include "json.h"
#include "libkvnet.h"

/**
 * struct policy_key - a setting
 * @name: the word
 * @attr: KVNET_A_POLICY_*, POLICY_*
 * @value: what may follow it, for people
 * @help: what it does
 */
struct policy_key {
	const char *name;
	uint16_t attr;
	const char *value, *help;
};

extern const struct policy_key policy_keys[];

bool policy_word(struct kvnet_policy *p, const char *key, const char *value,
		 char **why);
bool policy_is_realtime(uint32_t sched);
char *policy_problem(const struct kvnet_policy *p);
void policy_merge(struct kvnet_policy *p, const struct kvnet_policy *less);
bool policy_same(const struct kvnet_policy *a, const struct kvnet_policy *b);
int policy_set(struct kvnet *k, const struct kvnet_device *dev, const struct kvnet_policy *p, char **why);
void policy_write(struct json *w, const char *key, const struct kvnet_policy *p);
char *policy_text(const struct kvnet_policy *p);

#endif /* KVNETCTL_POLICY_H */
