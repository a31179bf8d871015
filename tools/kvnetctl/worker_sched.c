// SPDX-License-Identifier: GPL-2.0
/*
 * worker_sched.c - affinity and scheduling of the workers of a device, see worker_sched.h
 */
#include "worker_sched.h"
#include "host.h"
#include "policy.h"
#include "text.h"

#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MAX_CPUS	65536
#define RESET_ON_FORK	0x40000000	/* SCHED_RESET_ON_FORK, beside a class */

struct cpus {
	unsigned long word[MAX_CPUS / (8 * sizeof(long))];
};

static void add_cpus(struct cpus *cpus, unsigned long from, unsigned long to)
{
	const unsigned int bits = 8 * sizeof(long);

	for (; from <= to; from++)
		cpus->word[from / bits] |= 1UL << from % bits;
}

/* numbers and ranges, with commas between; @cpus may be NULL */
static bool parse_cpus(const char *s, struct cpus *cpus)
{
	unsigned long from, to;
	char *end;

	do {
		if (*s < '0' || *s > '9')
			return false;
		from = to = strtoul(s, &end, 10);
		if (*end == '-') {
			s = end + 1;
			if (*s < '0' || *s > '9')
				return false;
			to = strtoul(s, &end, 10);
		}
		if (from > to || to >= MAX_CPUS)
			return false;
		if (cpus)
			add_cpus(cpus, from, to);
		s = end + 1;
	} while (*end == ',');
	return !*end;
}

/**
 * worker_sched_is_cpu_list() - is a string a list of CPUs, as 0-3,8?
 * @list: the string
 *
 * Return: is it?
 */
bool worker_sched_is_cpu_list(const char *list)
{
	return parse_cpus(list, NULL);
}

/* Intersects with the CPUs of a node; false if none is left. */
static bool keep_cpus_of_node(struct cpus *cpus, int node)
{
	char *list = host_line("/sys/devices/system/node/node%d/cpulist", node);
	unsigned long any = 0;
	struct cpus *of_node = need(calloc(1, sizeof(*of_node)));
	unsigned int i;

	if (list)
		parse_cpus(list, of_node);
	for (i = 0; i < sizeof(cpus->word) / sizeof(*cpus->word); i++)
		any |= cpus->word[i] &= of_node->word[i];
	free(of_node);
	free(list);
	return any;
}

/* The CPUs that a policy's settings "cpus" and "node" allow; NULL: see @why. */
static struct cpus *cpus_of_policy(const struct kvnet_device *dev, const struct kvnet_policy *p,
				   char **why)
{
	struct cpus *cpus = need(calloc(1, sizeof(*cpus)));
	int node = HAS(p, POLICY_NODE) ? p->node : NODE_NONE;

	if (HAS(p, POLICY_CPUS) && *p->cpus)
		parse_cpus(p->cpus, cpus);
	else
		add_cpus(cpus, 0, MAX_CPUS - 1);
	if (node == NODE_AUTO && !HAS(dev, KVNET_A_DEV_MEMORY_NODE)) {
		*why = text_format("node auto: the NUMA node of the guest's memory is not known yet");
		free(cpus);
		return NULL;
	}
	if (node == NODE_AUTO)
		node = dev->memory_node;
	if (node != NODE_NONE && !keep_cpus_of_node(cpus, node)) {
		*why = text_format("no CPU of the list is on node %d", node);
		free(cpus);
		return NULL;
	}
	return cpus;
}

/* 0, or a negative errno with the call that failed */
static int set_sched_class(pid_t tid, const struct kvnet_policy *p, const char **call)
{
	int was = syscall(SYS_sched_getscheduler, tid), class;
	struct sched_param param = { 0 };

	*call = "sched_getscheduler";
	if (was < 0 || syscall(SYS_sched_getparam, tid, &param))
		return -errno;
	class = HAS(p, POLICY_SCHED) ? (int)p->sched : was & ~RESET_ON_FORK;
	if (HAS(p, POLICY_RT_PRIORITY))
		param.sched_priority = p->rt_priority;
	else if (!policy_is_realtime(class))
		param.sched_priority = 0;
	else if (!param.sched_priority)
		param.sched_priority = 1;
	*call = "sched_setscheduler";
	return syscall(SYS_sched_setscheduler, tid, class | (was & RESET_ON_FORK), &param) ? -errno : 0;
}

static int set_thread_sched(pid_t tid, const struct cpus *cpus, const struct kvnet_policy *p,
			    const char **call)
{
	int ret;

	*call = "sched_setaffinity";
	if (cpus && syscall(SYS_sched_setaffinity, tid, sizeof(*cpus), cpus) < 0)
		return -errno;
	if (HAS(p, POLICY_SCHED) || HAS(p, POLICY_RT_PRIORITY)) {
		ret = set_sched_class(tid, p, call);
		if (ret)
			return ret;
	}
	*call = "setpriority";
	return HAS(p, POLICY_NICE) && setpriority(PRIO_PROCESS, tid, p->nice) ? -errno : 0;
}

static const char *einval_hint(const char *call, int err)
{
	if (err != -EINVAL)
		return "";
	return !strcmp(call, "sched_setaffinity") ? ": no CPU of the list is online and in the worker's cpuset" :
	       !strcmp(call, "sched_setscheduler") ? ": rt-priority goes with sched fifo or rr" : "";
}

static char *set_worker_sched(const struct kvnet_worker *w, const struct cpus *cpus,
			      const struct kvnet_policy *p, int *err)
{
	const char *call;

	*err = -EAGAIN;
	if (!HAS(w, KVNET_A_WORKER_CPU))
		return text_format("worker %u has not started yet", w->index);
	if (!HAS(w, KVNET_A_WORKER_TID))
		return text_format("worker %u has no TID in this PID namespace", w->index);
	*err = set_thread_sched(w->tid, cpus, p, &call);
	if (!*err)
		return NULL;
	return text_format("worker %u (TID %u): %s: %s%s", w->index, w->tid, call,
			   strerror(-*err), einval_hint(call, *err));
}

/**
 * worker_sched_apply() - apply a policy to the threads of all workers of a device
 * @dev: the device, as kvnet_get() has just read it
 * @p: the policy
 * @why: after an error, which workers it was not applied to, and why; for free()
 *
 * An error of one worker does not keep it from the others.
 *
 * Return: 0, or a negative errno of the first that failed.
 */
int worker_sched_apply(const struct kvnet_device *dev, const struct kvnet_policy *p, char **why)
{
	struct cpus *cpus = NULL;
	char *one, *all = NULL;
	int ret = 0, err;
	unsigned int i;

	if (HAS(dev, KVNET_A_DEV_OWNER_DEAD) || !dev->workers) {
		*why = text_format(dev->workers ? "the device's owner is dead" : "the device has no workers");
		return -ESRCH;
	}
	if (HAS(p, POLICY_CPUS) || HAS(p, POLICY_NODE)) {
		cpus = cpus_of_policy(dev, p, why);
		if (!cpus)
			return -EINVAL;
	}
	for (i = 0; i < dev->workers; i++) {
		one = set_worker_sched(&dev->worker[i], cpus, p, &err);
		if (!one)
			continue;
		if (!ret)
			ret = err;
		*why = text_format("%s%s%s", all ? all : "", all ? "; " : "", one);
		free(one);
		free(all);
		all = *why;
	}
	free(cpus);
	return ret;
}
