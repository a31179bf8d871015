// SPDX-License-Identifier: GPL-2.0
/*
 * fill_queue.c - what the generic-netlink family tells of queues, and of who serves them
 *
 * See fill_dev.c.
 */
#include "netlink.h"

#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <net/genetlink.h>

#include "crew.h"
#include "net.h"
#include "worker.h"

static int put_counter(struct sk_buff *skb, const char *name, u64 value)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_QUEUE_COUNTERS);

	if (!nest || nla_put_string(skb, KVNET_A_COUNTER_NAME, name) ||
	    kvnet_put_u64(skb, KVNET_A_COUNTER_VALUE, value))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_counters(struct sk_buff *skb, const struct kvnet_queue *q)
{
	unsigned int i;

	for (i = KVNET_STAT_NONE + 1; i < KVNET_STAT_MAX; i++)
		if (put_counter(skb, kvnet_stat_name(i),
				kvnet_stat_read(&q->vq.stats, i)))
			return -EMSGSIZE;
	if (put_counter(skb, "polls_hit", READ_ONCE(q->src.polls_hit)) ||
	    put_counter(skb, "polls_missed", READ_ONCE(q->src.polls_missed)))
		return -EMSGSIZE;
	if (kvnet_put_u64(skb, KVNET_A_QUEUE_KICKS, atomic_long_read(&q->src.kicks)) ||
	    kvnet_put_u64(skb, KVNET_A_QUEUE_WAKES, atomic_long_read(&q->src.wakes)))
		return -EMSGSIZE;
	return 0;
}

static int put_histogram(struct sk_buff *skb, const char *name,
			 const struct kvnet_hist *hist)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_QUEUE_HISTOGRAMS);
	unsigned int i;

	if (!nest || nla_put_string(skb, KVNET_A_HISTOGRAM_NAME, name) ||
	    kvnet_put_u64(skb, KVNET_A_HISTOGRAM_SUM, hist->sum))
		return -EMSGSIZE;
	for (i = 0; i < kvnet_hist_used(hist); i++)
		if (kvnet_put_u64(skb, KVNET_A_HISTOGRAM_BUCKETS, hist->bucket[i]))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int put_histograms(struct sk_buff *skb, const struct kvnet_vq *vq)
{
	struct kvnet_hist hist;
	unsigned int i;

	for (i = 0; i < KVNET_HIST_MAX; i++) {
		kvnet_hist_read(&vq->stats, i, &hist);
		if (put_histogram(skb, kvnet_hist_name(i), &hist))
			return -EMSGSIZE;
	}
	return 0;
}

static int put_state(struct sk_buff *skb, const struct kvnet_vq *vq)
{
	enum kvnet_vq_state state = READ_ONCE(vq->state);
	u32 told = KVNET_QUEUE_STATE_STOPPED;

	if (state == KVNET_VQ_BROKEN)
		told = KVNET_QUEUE_STATE_BROKEN;
	else if (state == KVNET_VQ_RUNNING)
		told = READ_ONCE(vq->missing) ? KVNET_QUEUE_STATE_WAITING :
						KVNET_QUEUE_STATE_RUNNING;
	if (nla_put_u32(skb, KVNET_A_QUEUE_STATE, told))
		return -EMSGSIZE;
	return told == KVNET_QUEUE_STATE_BROKEN ?
	       nla_put_u32(skb, KVNET_A_QUEUE_ERROR, -READ_ONCE(vq->error_code)) : 0;
}

/* What belongs to sessions. Nobody waits for it for long. */
static int put_session(struct sk_buff *skb, struct kvnet_queue *q)
{
	const struct kvnet_ring *ring = &q->vq.ring;
	bool has_tap, reads = q->vq.index == KVNET_RX;
	unsigned int backlog = 0;
	u16 avail, used;

	if (!kvnet_vq_hold_still(&q->vq))
		return 0;
	avail = ring->last_avail;
	used = ring->last_used;
	has_tap = q->tap.sock;
	if (has_tap && reads)
		backlog = kvnet_tap_backlog(&q->tap);
	kvnet_vq_let_move(&q->vq);
	if (nla_put_u32(skb, KVNET_A_QUEUE_AVAIL, avail) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_USED, used))
		return -EMSGSIZE;
	return has_tap && reads ? nla_put_u32(skb, KVNET_A_QUEUE_BACKLOG, backlog) : 0;
}

/**
 * kvnet_fill_queue() - tell of a queue
 * @skb: where to
 * @net: the device, from the registry
 * @index: the queue, in range
 *
 * Context: as kvnet_fill_dev().
 * Return: as kvnet_fill_dev().
 */
int kvnet_fill_queue(struct sk_buff *skb, struct kvnet_net *net, unsigned int index)
{
	struct kvnet_queue *q = &net->q[index];

	if (nla_put_u32(skb, KVNET_A_QUEUE_DEV, net->listing.id) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_INDEX, index) ||
	    put_state(skb, &q->vq) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_SIZE, READ_ONCE(q->vq.ring.num)) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_ACCESS, READ_ONCE(q->vq.pin[0].charged) ?
			KVNET_RING_ACCESS_PINNED : KVNET_RING_ACCESS_USER) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_BACKEND, READ_ONCE(q->port.kind)) ||
	    put_session(skb, q) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_WORKER, index) ||
	    put_counters(skb, q) ||
	    put_histograms(skb, &q->vq))
		return -EMSGSIZE;
	return 0;
}

/*** a worker ***/

/* A list that is too long is left out. */
static int put_cpus(struct sk_buff *skb, struct task_struct *task)
{
	struct cpumask *cpus = kmalloc(cpumask_size(), GFP_KERNEL);
	unsigned long flags;
	char *text = NULL;
	int ret = -ENOMEM;

	if (cpus) {
		raw_spin_lock_irqsave(&task->pi_lock, flags);
		cpumask_copy(cpus, task->cpus_ptr);
		raw_spin_unlock_irqrestore(&task->pi_lock, flags);
		text = kasprintf(GFP_KERNEL, "%*pbl", cpumask_pr_args(cpus));
	}
	if (text)
		ret = strlen(text) < KVNET_TEXT_SIZE ?
		      nla_put_string(skb, KVNET_A_WORKER_CPUS, text) : 0;
	kfree(text);
	kfree(cpus);
	return ret;
}

static int put_task(struct sk_buff *skb, struct task_struct *task)
{
	unsigned int cpu = task_cpu(task);
	int ret = put_cpus(skb, task);

	if (ret)
		return ret;
	if (kvnet_put_number(skb, KVNET_A_WORKER_TID,
		       task_pid_nr_ns(task, task_active_pid_ns(current))) ||
	    nla_put_u32(skb, KVNET_A_WORKER_CPU, cpu) ||
	    nla_put_u32(skb, KVNET_A_WORKER_NODE, cpu_to_node(cpu)) ||
	    nla_put_s32(skb, KVNET_A_WORKER_NICE, task_nice(task)) ||
	    nla_put_u32(skb, KVNET_A_WORKER_SCHED, task->policy) ||
	    kvnet_put_number(skb, KVNET_A_WORKER_RT_PRIORITY, task->rt_priority) ||
	    kvnet_put_u64(skb, KVNET_A_WORKER_RUN_NS, READ_ONCE(task->se.sum_exec_runtime)))
		return -EMSGSIZE;
	return 0;
}

static int put_worker(struct sk_buff *skb, const struct kvnet_crew *crew, unsigned int index)
{
	const struct kvnet_worker *w = &crew->worker[index];

	if (nla_put_u32(skb, KVNET_A_WORKER_KIND, w->thread.vtsk ?
			KVNET_WORKER_KIND_TASK : KVNET_WORKER_KIND_KTHREAD) ||
	    nla_put_u32(skb, KVNET_A_WORKER_QUEUES, index) ||
	    kvnet_put_u64(skb, KVNET_A_WORKER_POLL_WINDOW_NS, READ_ONCE(w->poll.window)) ||
	    kvnet_put_u64(skb, KVNET_A_WORKER_POLL_CAP_NS, kvnet_source_spin_ns(w->src)))
		return -EMSGSIZE;
	return 0;
}

/**
 * kvnet_fill_worker() - tell of a worker
 * @skb: where to
 * @net: the device, from the registry
 * @index: the worker, in range
 *
 * Context: as kvnet_fill_dev().
 * Return: as kvnet_fill_dev().
 */
int kvnet_fill_worker(struct sk_buff *skb, struct kvnet_net *net, unsigned int index)
{
	struct kvnet_crew *crew = &net->crew;
	struct task_struct *task;
	int ret;

	if (nla_put_u32(skb, KVNET_A_WORKER_DEV, net->listing.id) ||
	    nla_put_u32(skb, KVNET_A_WORKER_INDEX, index))
		return -EMSGSIZE;
	task = kvnet_thread_get_task(&crew->worker[index].thread);
	ret = put_worker(skb, crew, index);
	if (!task)
		return ret;
	if (!ret)
		ret = put_task(skb, task);
	put_task_struct(task);
	return ret;
}
