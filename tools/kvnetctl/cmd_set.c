// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_set.c - configure a device
 */
#include "kvnetctl.h"
#include "policy.h"

#include <errno.h>
#include <stdlib.h>

static int read_policy(struct ctl *c, struct kvnet_policy *p)
{
	char *why = NULL;
	int i, ret;

	for (i = 1; i < c->argc && !why; i += 2)
		policy_word(p, c->argv[i], c->argv[i + 1], &why);
	if (!why)
		why = policy_problem(p);
	if (!why)
		return STATUS_OK;
	ret = ctl_fail(STATUS_USAGE, "set: %s", why);
	free(why);
	return ret;
}

/* a guest's queue pairs are devices with one tap: up to the first that is not set so */
static int set_all(struct kvnet *k, const struct kvnet_devices *all,
		   const struct kvnet_policy *p)
{
	const char *rest = "";
	unsigned int i;
	int ret = 0;
	char *why;

	for (i = 0; i < all->n; i++) {
		ret = policy_set(k, &all->dev[i], p, &why);
		if (ret)
			break;
	}
	if (!ret)
		return STATUS_OK;
	if (i + 1 < all->n)
		rest = "; the devices after it are as they were";
	if (ret == -EPERM || ret == -EACCES)
		ret = ctl_fail(STATUS_NOT_ALLOWED, "device %u: %s%s", all->dev[i].id, why, rest);
	else if (ret == -ENODEV)
		ret = ctl_fail(STATUS_NO_DEVICE, "device %u is gone%s", all->dev[i].id, rest);
	else
		ret = ctl_fail(STATUS_FAILED, "device %u: %s%s", all->dev[i].id, why, rest);
	free(why);
	return ret;
}

/**
 * cmd_set() - "kvnetctl set"
 * @c: the run
 *
 * Return: how the program is to end.
 */
int cmd_set(struct ctl *c)
{
	struct kvnet_policy p = { 0 };
	struct kvnet_devices all;
	struct kvnet k;
	int ret;

	ret = read_policy(c, &p);
	if (ret)
		goto out_policy;
	ret = ctl_open(&k);
	if (ret)
		goto out_policy;
	ret = ctl_devices(&k, c->argv[0], &all);
	if (!ret) {
		ret = set_all(&k, &all, &p);
		kvnet_free(&all);
	}
	kvnet_close(&k);
out_policy:
	kvnet_policy_free(&p);
	return ret;
}
