// SPDX-License-Identifier: GPL-2.0
/*
 * cmd_set.c - say how a device is to be served
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

/*
 * What a device had before; what has never been set is what its worker has, since
 * "never set" cannot be asked for.
 */
static void back(struct kvnet *k, const struct kvnet_device *dev, uint64_t changed)
{
	struct kvnet_policy was = dev->policy;

	if (dev->workers) {
		if (!HAS(&was, KVNET_A_POLICY_NICE))
			was.nice = dev->worker[0].nice;
		if (!HAS(&was, KVNET_A_POLICY_SCHED))
			was.sched = dev->worker[0].sched;
		was.has |= UINT64_C(1) << KVNET_A_POLICY_NICE |
			   UINT64_C(1) << KVNET_A_POLICY_SCHED;
	}
	/* what is no longer of a real-time class has lost its priority */
	if (changed & UINT64_C(1) << KVNET_A_POLICY_SCHED)
		changed |= UINT64_C(1) << KVNET_A_POLICY_RT_PRIORITY;
	was.has &= changed;
	kvnet_set(k, dev->id, &was);
}

/* all of the devices, or none: a guest's queue pairs are devices with one tap */
static int set_all(struct kvnet *k, const struct kvnet_devices *all,
		   const struct kvnet_policy *p)
{
	unsigned int i, done;
	int ret = 0, err;

	for (done = 0; done < all->n && !ret; done++)
		ret = kvnet_set(k, all->dev[done].id, p);
	if (!ret)
		return STATUS_OK;
	done--;
	if (ret == -EPERM || ret == -EACCES)
		err = ctl_fail(STATUS_NOT_ALLOWED, "device %u: not permitted: %s", all->dev[done].id, k->why);
	else if (ret == -ENODEV)
		err = ctl_fail(STATUS_NO_DEVICE, "device %u is gone", all->dev[done].id);
	else
		err = ctl_fail(STATUS_FAILED, "device %u: %s", all->dev[done].id, k->why);
	for (i = 0; i < done; i++)
		back(k, &all->dev[i], p->has);
	return err;
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
