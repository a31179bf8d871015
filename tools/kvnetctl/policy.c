// SPDX-License-Identifier: GPL-2.0
/*
 * policy.c - the settings of a device, see policy.h
 */
#include "policy.h"
#include "host.h"
#include "names.h"
#include "worker_sched.h"
#include "text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const struct policy_key policy_keys[] = {
	{ "cpus", POLICY_CPUS, "LIST|all",
	  "CPUs for the workers, as 0-3,8; the kernel intersects with their cpuset" },
	{ "node", POLICY_NODE, "auto|none|N",
	  "restrict to the CPUs of NUMA node N; auto: the node of the guest's memory" },
	{ "nice", POLICY_NICE, "-20..19", "nice value of the workers" },
	{ "sched", POLICY_SCHED, "other|batch|idle|fifo|rr",
	  "scheduling class of the workers" },
	{ "rt-priority", POLICY_RT_PRIORITY, "1..99",
	  "real-time priority of the workers, with sched fifo or rr" },
	{ "poll-us", KVNET_A_POLICY_POLL_US, "US",
	  "maximum busy polling before a worker sleeps, in us; 0: off" },
	{ "tx-inline", KVNET_A_POLICY_TX_INLINE, "on|off",
	  "send single packets from the vCPU thread that kicks" },
	{ "rx-direct", KVNET_A_POLICY_RX_DIRECT, "on|off",
	  "read frames from the tap's ring, without recvmsg()" },
	{ "rx-inline", KVNET_A_POLICY_RX_INLINE, "on|off",
	  "receive single frames in the sender's softirq" },
	{ "shortcut", KVNET_A_POLICY_SHORTCUT, "on|off",
	  "pass frames straight to another tap of the same bridge" },
	{ 0 }
};

static const struct policy_key *find_key(const char *name)
{
	const struct policy_key *key;

	for (key = policy_keys; key->name; key++)
		if (!strcmp(key->name, name))
			return key;
	return NULL;
}

static char *key_names(void)
{
	const struct policy_key *key;
	char *all = NULL, *more;

	for (key = policy_keys; key->name; key++) {
		more = text_format("%s%s%s", all ? all : "", all ? " " : "", key->name);
		free(all);
		all = more;
	}
	return all;
}

static bool set_cpus(struct kvnet_policy *p, const char *value, char **why)
{
	if (!strcmp(value, "all")) {
		p->cpus = need(strdup(""));
		return true;
	}
	if (!worker_sched_is_cpu_list(value)) {
		*why = text_format("cpus '%s': not a list of CPUs, as 0-3,8, or all", value);
		return false;
	}
	p->cpus = need(strdup(value));
	return true;
}

static bool set_node(struct kvnet_policy *p, const char *value, char **why)
{
	uint64_t node;
	char *cpus;

	if (!strcmp(value, "auto") || !strcmp(value, "none")) {
		p->node = *value == 'a' ? NODE_AUTO : NODE_NONE;
		return true;
	}
	if (!text_number(value, 65535, &node)) {
		*why = text_format("node '%s': not the number of a NUMA node, auto or none", value);
		return false;
	}
	cpus = host_line("/sys/devices/system/node/node%u/cpulist", (unsigned int)node);
	p->node = node;
	if (!cpus || !*cpus)
		*why = text_format(cpus ? "node %s has no CPUs" : "no NUMA node %s here", value);
	node = cpus && *cpus;
	free(cpus);
	return node;
}

static bool set_nice(struct kvnet_policy *p, const char *value, char **why)
{
	bool minus = *value == '-';
	uint64_t n;

	if (!text_number(value + minus, minus ? 20 : 19, &n)) {
		*why = text_format("nice '%s': not a number from -20 to 19", value);
		return false;
	}
	p->nice = minus ? -(int)n : (int)n;
	return true;
}

static bool set_switch(uint8_t *to, const char *key, const char *value, char **why)
{
	if (strcmp(value, "on") && strcmp(value, "off")) {
		*why = text_format("%s '%s': neither on nor off", key, value);
		return false;
	}
	*to = !strcmp(value, "on");
	return true;
}

static bool set_value(struct kvnet_policy *p, const struct policy_key *key,
		      const char *value, char **why)
{
	uint64_t n;

	switch (key->attr) {
	case POLICY_CPUS:
		return set_cpus(p, value, why);
	case POLICY_NODE:
		return set_node(p, value, why);
	case POLICY_NICE:
		return set_nice(p, value, why);
	case POLICY_SCHED:
		if (sched_by_name(value, &p->sched))
			return true;
		*why = text_format("sched '%s': none of %s", value, key->value);
		return false;
	case POLICY_RT_PRIORITY:
		if (!text_number(value, 99, &n) || !n) {
			*why = text_format("rt-priority '%s': not a number from 1 to 99", value);
			return false;
		}
		p->rt_priority = n;
		return true;
	case KVNET_A_POLICY_POLL_US:
		if (!text_number(value, UINT32_MAX, &n)) {
			*why = text_format("poll-us '%s': not a number of microseconds", value);
			return false;
		}
		p->poll_us = n;
		return true;
	case KVNET_A_POLICY_TX_INLINE:
		return set_switch(&p->tx_inline, key->name, value, why);
	case KVNET_A_POLICY_RX_DIRECT:
		return set_switch(&p->rx_direct, key->name, value, why);
	case KVNET_A_POLICY_RX_INLINE:
		return set_switch(&p->rx_inline, key->name, value, why);
	default:
		return set_switch(&p->shortcut, key->name, value, why);
	}
}

/**
 * policy_word() - add a setting
 * @p: the policy
 * @key: its name
 * @value: its value, or NULL: there is none
 * @why: after false, what is wrong with it; for free()
 *
 * Return: could it be added? Else @p is as it was.
 */
bool policy_word(struct kvnet_policy *p, const char *key, const char *value,
		 char **why)
{
	const struct policy_key *k = find_key(key);
	char *names;

	if (!k) {
		names = key_names();
		*why = text_format("unknown setting '%s'; there are: %s", key, names);
		free(names);
		return false;
	}
	if (!value) {
		*why = text_format("%s needs a value: %s", key, k->value);
		return false;
	}
	if (HAS(p, k->attr)) {
		*why = text_format("%s is set twice", key);
		return false;
	}
	if (!set_value(p, k, value, why))
		return false;
	p->has |= UINT64_C(1) << k->attr;
	return true;
}
