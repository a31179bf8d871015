// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_fill_queue.c - attributes of a queue, and of its worker, in netlink messages
 *
 * Contexts and locks are those of netlink_fill_dev.c.
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

#include "worker/workers.h"
#include "kvnet.h"
#include "worker/worker.h"

static int fill_counter(struct sk_buff *skb, const char *name, u64 value)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_QUEUE_COUNTERS);

	if (!nest || nla_put_string(skb, KVNET_A_COUNTER_NAME, name) ||
	    kvnet_netlink_fill_u64(skb, KVNET_A_COUNTER_VALUE, value))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_counters(struct sk_buff *skb, const struct kvnet_queue *q)
{
	unsigned int i;

	for (i = KVNET_STAT_NONE + 1; i < KVNET_STAT_MAX; i++)
		if (fill_counter(skb, kvnet_stats_name(i),
				 kvnet_stats_read(&q->vq.stats, i)))
			return -EMSGSIZE;
	if (fill_counter(skb, "busy_poll_hits", READ_ONCE(q->work.busy_poll_hits)) ||
	    fill_counter(skb, "busy_poll_misses", READ_ONCE(q->work.busy_poll_misses)))
		return -EMSGSIZE;
	if (kvnet_netlink_fill_u64(skb, KVNET_A_QUEUE_KICKS, atomic_long_read(&q->work.kicks)) ||
	    kvnet_netlink_fill_u64(skb, KVNET_A_QUEUE_WAKEUPS, atomic_long_read(&q->work.wakeups)))
		return -EMSGSIZE;
	return 0;
}

static int fill_histogram(struct sk_buff *skb, const char *name,
			  const struct kvnet_hist *hist)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_QUEUE_HISTOGRAMS);
	unsigned int i;

	if (!nest || nla_put_string(skb, KVNET_A_HISTOGRAM_NAME, name) ||
	    kvnet_netlink_fill_u64(skb, KVNET_A_HISTOGRAM_SUM, hist->sum))
		return -EMSGSIZE;
	for (i = 0; i < kvnet_hist_used_buckets(hist); i++)
		if (kvnet_netlink_fill_u64(skb, KVNET_A_HISTOGRAM_BUCKETS, hist->bucket[i]))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_histograms(struct sk_buff *skb, const struct kvnet_vq *vq)
{
	struct kvnet_hist hist;
	unsigned int i;

	for (i = 0; i < KVNET_HIST_MAX; i++) {
		kvnet_stats_hist_read(&vq->stats, i, &hist);
		if (fill_histogram(skb, kvnet_stats_hist_name(i), &hist))
			return -EMSGSIZE;
	}
	return 0;
}

static int fill_queue_state(struct sk_buff *skb, const struct kvnet_vq *vq)
{
	static const u8 nl_states[] = {
		[KVNET_VQ_STOPPED] = KVNET_QUEUE_STATE_STOPPED,
		[KVNET_VQ_READY] = KVNET_QUEUE_STATE_RUNNING,
		[KVNET_VQ_WAITS_IOTLB] = KVNET_QUEUE_STATE_WAITING,
		[KVNET_VQ_WAITS_ADDR] = KVNET_QUEUE_STATE_WAITING,
		[KVNET_VQ_BROKEN_RETRY] = KVNET_QUEUE_STATE_BROKEN,
		[KVNET_VQ_BROKEN] = KVNET_QUEUE_STATE_BROKEN,
	};
	u32 nl_state = nl_states[READ_ONCE(vq->state)];

	if (nla_put_u32(skb, KVNET_A_QUEUE_STATE, nl_state))
		return -EMSGSIZE;
	return nl_state == KVNET_QUEUE_STATE_BROKEN ?
	       nla_put_u32(skb, KVNET_A_QUEUE_ERROR, -READ_ONCE(vq->error_code)) : 0;
}

/*
 * Session fields: needs the queue frozen. They are left out if another context holds vq->lock,
 * since its holder may wait for a page of the VMM.
 */
static int fill_ring_position(struct sk_buff *skb, struct kvnet_queue *q)
{
	const struct kvnet_ring *ring = &q->vq.ring;
	bool has_tap, is_rx = q->vq.index == KVNET_RX;
	unsigned int backlog = 0;
	u16 avail, used;

	if (!kvnet_vq_freeze(&q->vq))
		return 0;
	avail = ring->last_avail;
	used = ring->last_used;
	has_tap = q->tap.sock;
	if (has_tap && is_rx)
		backlog = kvnet_tap_rx_backlog(&q->tap);
	kvnet_vq_unfreeze(&q->vq);
	if (nla_put_u32(skb, KVNET_A_QUEUE_AVAIL, avail) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_USED, used))
		return -EMSGSIZE;
	return has_tap && is_rx ? nla_put_u32(skb, KVNET_A_QUEUE_BACKLOG, backlog) : 0;
}

int kvnet_netlink_fill_queue(struct sk_buff *skb, struct kvnet_net *net, unsigned int index)
{
	struct kvnet_queue *q = &net->q[index];

	if (nla_put_u32(skb, KVNET_A_QUEUE_DEV, net->registry.id) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_INDEX, index) ||
	    fill_queue_state(skb, &q->vq) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_SIZE, READ_ONCE(q->vq.ring.num)) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_ACCESS, READ_ONCE(q->vq.pin[0].charged) ?
			KVNET_RING_ACCESS_PINNED : KVNET_RING_ACCESS_USER) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_BACKEND, READ_ONCE(q->tap_info.kind)) ||
	    fill_ring_position(skb, q) ||
	    nla_put_u32(skb, KVNET_A_QUEUE_WORKER, index) ||
	    fill_counters(skb, q) ||
	    fill_histograms(skb, &q->vq))
		return -EMSGSIZE;
	return 0;
}

/*** attributes of a worker ***/

/* pi_lock keeps cpus_ptr stable. A list that is too long is left out. */
static int fill_allowed_cpus(struct sk_buff *skb, struct task_struct *task)
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
		ret = strlen(text) < KVNET_NETLINK_TEXT_SIZE ?
		      nla_put_string(skb, KVNET_A_WORKER_CPUS, text) : 0;
	kfree(text);
	kfree(cpus);
	return ret;
}

static int fill_thread(struct sk_buff *skb, struct task_struct *task)
{
	unsigned int cpu = task_cpu(task);
	int ret = fill_allowed_cpus(skb, task);

	if (ret)
		return ret;
	if (kvnet_netlink_fill_nonzero_u32(skb, KVNET_A_WORKER_TID,
		       task_pid_nr_ns(task, task_active_pid_ns(current))) ||
	    nla_put_u32(skb, KVNET_A_WORKER_CPU, cpu) ||
	    nla_put_u32(skb, KVNET_A_WORKER_NODE, cpu_to_node(cpu)) ||
	    nla_put_s32(skb, KVNET_A_WORKER_NICE, task_nice(task)) ||
	    nla_put_u32(skb, KVNET_A_WORKER_SCHED, task->policy) ||
	    kvnet_netlink_fill_nonzero_u32(skb, KVNET_A_WORKER_RT_PRIORITY, task->rt_priority) ||
	    kvnet_netlink_fill_u64(skb, KVNET_A_WORKER_RUN_NS,
				   READ_ONCE(task->se.sum_exec_runtime)))
		return -EMSGSIZE;
	return 0;
}

static int fill_worker_polling(struct sk_buff *skb, const struct kvnet_workers *workers,
			       unsigned int index)
{
	const struct kvnet_worker *w = &workers->worker[index];

	if (nla_put_u32(skb, KVNET_A_WORKER_KIND, w->thread.vtsk ?
			KVNET_WORKER_KIND_TASK : KVNET_WORKER_KIND_KTHREAD) ||
	    nla_put_u32(skb, KVNET_A_WORKER_QUEUES, index) ||
	    kvnet_netlink_fill_u64(skb, KVNET_A_WORKER_POLL_NS,
				   READ_ONCE(w->busy_poll.window_ns)) ||
	    kvnet_netlink_fill_u64(skb, KVNET_A_WORKER_POLL_MAX_NS,
				   kvnet_work_busy_poll_ns(w->work)))
		return -EMSGSIZE;
	return 0;
}

/* Without a task the worker has not started yet: the thread's attributes are left out. */
int kvnet_netlink_fill_worker(struct sk_buff *skb, struct kvnet_net *net, unsigned int index)
{
	struct kvnet_workers *workers = &net->workers;
	struct task_struct *task;
	int ret;

	if (nla_put_u32(skb, KVNET_A_WORKER_DEV, net->registry.id) ||
	    nla_put_u32(skb, KVNET_A_WORKER_INDEX, index))
		return -EMSGSIZE;
	task = kvnet_thread_get_task(&workers->worker[index].thread);
	ret = fill_worker_polling(skb, workers, index);
	if (!task)
		return ret;
	if (!ret)
		ret = fill_thread(skb, task);
	put_task_struct(task);
	return ret;
}
