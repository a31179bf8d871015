// SPDX-License-Identifier: GPL-2.0
/*
 * policy_use.c - put policies together, compare and show them, see policy.h
 */
#include "policy.h"
#include "names.h"
#include "worker_sched.h"
#include "text.h"

#include <stdlib.h>
#include <string.h>

/**
 * policy_merge() - add what another policy says of what this one does not
 * @p: the policy
 * @less: the other
 */
void policy_merge(struct kvnet_policy *p, const struct kvnet_policy *less)
{
	uint64_t more = less->has & ~p->has;
	const struct kvnet_policy was = *p;

	*p = *less;
	p->has = was.has | more;
	p->cpus = was.cpus;
	if (more & UINT64_C(1) << POLICY_CPUS)
		p->cpus = need(strdup(less->cpus));
	if (HAS(&was, POLICY_NODE))
		p->node = was.node;
	if (HAS(&was, POLICY_NICE))
		p->nice = was.nice;
	if (HAS(&was, POLICY_SCHED))
		p->sched = was.sched;
	if (HAS(&was, POLICY_RT_PRIORITY))
		p->rt_priority = was.rt_priority;
	if (HAS(&was, KVNET_A_POLICY_POLL_US))
		p->poll_us = was.poll_us;
	if (HAS(&was, KVNET_A_POLICY_TX_INLINE))
		p->tx_inline = was.tx_inline;
	if (HAS(&was, KVNET_A_POLICY_RX_DIRECT))
		p->rx_direct = was.rx_direct;
	if (HAS(&was, KVNET_A_POLICY_RX_INLINE))
		p->rx_inline = was.rx_inline;
	if (HAS(&was, KVNET_A_POLICY_SHORTCUT))
		p->shortcut = was.shortcut;
}

/**
 * policy_text() - in the words of "set"
 * @p: the policy
 *
 * Return: a string for free(), empty for an empty policy.
 */
char *policy_text(const struct kvnet_policy *p)
{
	size_t len;
	char *text;
	FILE *f = need(open_memstream(&text, &len));

	if (HAS(p, POLICY_CPUS))
		fprintf(f, " cpus %s", *p->cpus ? p->cpus : "all");
	if (HAS(p, POLICY_NODE) && p->node >= 0)
		fprintf(f, " node %d", p->node);
	else if (HAS(p, POLICY_NODE))
		fprintf(f, " node %s", p->node == NODE_AUTO ? "auto" : "none");
	if (HAS(p, POLICY_NICE))
		fprintf(f, " nice %d", p->nice);
	if (HAS(p, POLICY_SCHED))
		fprintf(f, " sched %s", name_sched(p->sched));
	if (HAS(p, POLICY_RT_PRIORITY))
		fprintf(f, " rt-priority %u", p->rt_priority);
	if (HAS(p, KVNET_A_POLICY_POLL_US))
		fprintf(f, " poll-us %u", p->poll_us);
	if (HAS(p, KVNET_A_POLICY_TX_INLINE))
		fprintf(f, " tx-inline %s", p->tx_inline ? "on" : "off");
	if (HAS(p, KVNET_A_POLICY_RX_DIRECT))
		fprintf(f, " rx-direct %s", p->rx_direct ? "on" : "off");
	if (HAS(p, KVNET_A_POLICY_RX_INLINE))
		fprintf(f, " rx-inline %s", p->rx_inline ? "on" : "off");
	if (HAS(p, KVNET_A_POLICY_SHORTCUT))
		fprintf(f, " shortcut %s", p->shortcut ? "on" : "off");
	fclose(f);
	if (*text == ' ')
		memmove(text, text + 1, strlen(text));
	return text;
}

/**
 * policy_is_realtime() - does a class go with a priority?
 * @sched: the class
 *
 * Return: true if so.
 */
bool policy_is_realtime(uint32_t sched)
{
	return sched == KVNET_SCHED_FIFO || sched == KVNET_SCHED_RR;
}

/**
 * policy_problem() - does what was set contradict itself, whatever the device?
 * @p: the policy
 *
 * Return: what is wrong, for free(), or NULL.
 */
char *policy_problem(const struct kvnet_policy *p)
{
	if (HAS(p, POLICY_RT_PRIORITY) && HAS(p, POLICY_SCHED) &&
	    !policy_is_realtime(p->sched))
		return text_format("rt-priority goes with sched fifo or rr, not with %s",
				   name_sched(p->sched));
	return NULL;
}

/**
 * policy_same() - do two policies say the same?
 * @a: one
 * @b: the other
 *
 * Return: do they?
 */
bool policy_same(const struct kvnet_policy *a, const struct kvnet_policy *b)
{
	char *x = policy_text(a), *y = policy_text(b);
	bool same = a->has == b->has && !strcmp(x, y);

	free(x);
	free(y);
	return same;
}

/**
 * policy_set() - apply a policy to a device
 * @k: the connection
 * @dev: the device, as kvnet_get() has just read it
 * @p: the policy
 * @why: after an error, what is wrong; for free()
 *
 * Return: 0, or a negative errno. The settings of the module are applied first; they are
 * unchanged unless the error is of the workers' threads.
 */
int policy_set(struct kvnet *k, const struct kvnet_device *dev, const struct kvnet_policy *p,
	       char **why)
{
	int ret = p->has & POLICY_OF_MODULE ? kvnet_set(k, dev->id, p) : 0;

	if (ret)
		*why = text_format("%s", k->why);
	else if (p->has & POLICY_OF_THREADS)
		ret = worker_sched_apply(dev, p, why);
	return ret;
}

/**
 * policy_write() - show a policy, what has never been set left out
 * @w: where to
 * @key: its name there
 * @p: the policy
 */
void policy_write(struct json *w, const char *key, const struct kvnet_policy *p)
{
	json_object(w, key);
	if (HAS(p, POLICY_CPUS))
		json_str(w, "cpus", *p->cpus ? p->cpus : "all");
	if (HAS(p, POLICY_NODE) && p->node >= 0)
		json_s64(w, "node", p->node);
	else if (HAS(p, POLICY_NODE))
		json_str(w, "node", p->node == NODE_AUTO ? "auto" : "none");
	if (HAS(p, POLICY_NICE))
		json_s64(w, "nice", p->nice);
	if (HAS(p, POLICY_SCHED))
		json_str(w, "sched", name_sched(p->sched));
	if (HAS(p, POLICY_RT_PRIORITY))
		json_u64(w, "rt_priority", p->rt_priority);
	if (HAS(p, KVNET_A_POLICY_POLL_US))
		json_u64(w, "poll_us", p->poll_us);
	if (HAS(p, KVNET_A_POLICY_TX_INLINE))
		json_bool(w, "tx_inline", p->tx_inline);
	if (HAS(p, KVNET_A_POLICY_RX_DIRECT))
		json_bool(w, "rx_direct", p->rx_direct);
	if (HAS(p, KVNET_A_POLICY_RX_INLINE))
		json_bool(w, "rx_inline", p->rx_inline);
	if (HAS(p, KVNET_A_POLICY_SHORTCUT))
		json_bool(w, "shortcut", p->shortcut);
	json_end(w);
}
