// SPDX-License-Identifier: GPL-2.0
/*
 * netlink_fill.c - attributes of devices, queues and workers in netlink messages
 *
 * Runs in the netlink caller's context and may sleep: PIDs and cgroup paths are those of its
 * namespaces. The caller holds a registry reference. Takes no net->lock and waits for no
 * vq->lock: their holders may wait for a page of the VMM.
 */
#include "netlink.h"

#include <linux/cgroup.h>
#include <linux/errno.h>
#include <linux/kernel.h>
#include <linux/nsproxy.h>
#include <linux/numa.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/virtio_config.h>
#include <net/genetlink.h>
#include <net/net_namespace.h>

#include "worker/worker.h"
#include "kvnet.h"
#include "obs/registry.h"

/* Not nla_put_64bit(): the kernel's own tool, at least up to 6.12, knows no pad attributes. */
static int fill_u64(struct sk_buff *skb, int type, u64 value)
{
	return nla_put(skb, type, sizeof(value), &value);
}

/* For PIDs, priorities and interfaces: 0 means that there is none, and is left out. */
static int fill_nonzero_u32(struct sk_buff *skb, int type, u32 number)
{
	return number ? nla_put_u32(skb, type, number) : 0;
}

/*** attributes of a device ***/

/* Copied under rcu_read_lock(). The cgroup's fields are valid only if the owner is alive. */
struct owner_info {
	bool dead;
	char comm[TASK_COMM_LEN];
	u64 cgroup_id;
	char cgroup_path[KVNET_NETLINK_TEXT_SIZE];
};

/*
 * No path for a cgroup outside of the caller's cgroup namespace: "/../x" would disclose names
 * outside of it. Caller holds rcu_read_lock().
 */
static void read_owner_cgroup(struct owner_info *o, struct task_struct *task)
{
	struct cgroup *root = current->nsproxy->cgroup_ns->root_cset->dfl_cgrp;
	struct cgroup *cgroup = task_dfl_cgroup(task);
	int len;

	o->cgroup_id = cgroup_id(cgroup);
	if (!cgroup_is_descendant(cgroup, root))
		return;
	len = kernfs_path_from_node(cgroup->kn, root->kn, o->cgroup_path, sizeof(o->cgroup_path));
	/* On truncation some kernels return the length that they have written. */
	if (len <= 0 || len >= sizeof(o->cgroup_path) - 1)
		o->cgroup_path[0] = 0;
}

static void read_owner_info(struct owner_info *o, const struct kvnet_net *net)
{
	const struct kvnet_registry_entry *entry = &net->registry;
	struct task_struct *task;

	rcu_read_lock();
	task = pid_task(entry->owner, PIDTYPE_TGID);
	o->dead = !task || kvnet_dev_owner_is_dead(net);
	strscpy(o->comm, o->dead ? entry->comm : task->comm, sizeof(o->comm));
	if (!o->dead)
		read_owner_cgroup(o, task);
	rcu_read_unlock();
}

static int fill_owner(struct sk_buff *skb, const struct kvnet_net *net)
{
	const struct kvnet_registry_entry *entry = &net->registry;
	struct owner_info *o = kzalloc(sizeof(*o), GFP_KERNEL);
	pid_t pid = pid_nr_ns(entry->owner, task_active_pid_ns(current));
	int ret;

	if (!o)
		return -ENOMEM;
	read_owner_info(o, net);
	ret = nla_put_string(skb, KVNET_A_DEV_OWNER_COMM, o->comm) ?:
	      (o->dead ? nla_put_flag(skb, KVNET_A_DEV_OWNER_DEAD) : 0) ?:
	      nla_put_u32(skb, KVNET_A_DEV_NETNS_INUM, entry->netns->ns.inum) ?:
	      fill_u64(skb, KVNET_A_DEV_NETNS_COOKIE, entry->netns->net_cookie);
	if (!ret && !o->dead)
		ret = fill_nonzero_u32(skb, KVNET_A_DEV_OWNER_PID, pid) ?:
		      fill_u64(skb, KVNET_A_DEV_CGROUP_ID, o->cgroup_id) ?:
		      (o->cgroup_path[0] ?
		       nla_put_string(skb, KVNET_A_DEV_CGROUP, o->cgroup_path) : 0);
	kfree(o);
	return ret;
}

static int fill_interface(struct sk_buff *skb, struct net *netns, int ifindex)
{
	char name[IFNAMSIZ] = "";
	struct net_device *dev;

	rcu_read_lock();
	dev = dev_get_by_index_rcu(netns, ifindex);
	if (dev)
		strscpy(name, dev->name, sizeof(name));
	rcu_read_unlock();
	if (!name[0])
		return 0;
	return nla_put_string(skb, KVNET_A_DEV_IFNAME, name) ?:
	       nla_put_u32(skb, KVNET_A_DEV_IFINDEX, ifindex);
}

/* The backend of the first queue that has one. */
static int fill_backend(struct sk_buff *skb, struct kvnet_net *net)
{
	struct net *netns = NULL;
	int ret, ifindex;
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES && !netns; i++)
		netns = kvnet_tap_info_get(&net->q[i].tap_info, &ifindex);
	if (!netns)
		return 0;
	ret = fill_interface(skb, netns, ifindex) ?:
	      nla_put_u32(skb, KVNET_A_DEV_BACKEND_NETNS_INUM, netns->ns.inum) ?:
	      fill_u64(skb, KVNET_A_DEV_BACKEND_NETNS_COOKIE, netns->net_cookie);
	put_net(netns);
	return ret;
}

static int fill_features(struct sk_buff *skb, const struct kvnet_net *net)
{
	const struct kvnet_features all = kvnet_features_offered();
	u32 layout = KVNET_RING_LAYOUT_SPLIT;
	struct kvnet_features f;
	unsigned int i;

	for (i = 0; i < KVNET_FEATURES_WORDS; i++) {
		f.word[i] = READ_ONCE(net->features.word[i]);
		if (fill_u64(skb, KVNET_A_DEV_FEATURES, f.word[i]) ||
		    fill_u64(skb, KVNET_A_DEV_FEATURES_OFFERED, all.word[i]))
			return -EMSGSIZE;
	}
	if (kvnet_features_has(&f, VIRTIO_F_RING_PACKED))
		layout = KVNET_RING_LAYOUT_PACKED;
	return nla_put_u32(skb, KVNET_A_DEV_LAYOUT, layout) ?:
	       (kvnet_features_has(&f, VIRTIO_F_IN_ORDER) ?
		nla_put_flag(skb, KVNET_A_DEV_IN_ORDER) : 0);
}

static int fill_policy(struct sk_buff *skb, struct kvnet_net *net)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_DEV_POLICY);

	if (!nest ||
	    nla_put_u32(skb, KVNET_A_POLICY_POLL_US,
			max(READ_ONCE(net->q[KVNET_RX].work.busy_poll_us),
			    READ_ONCE(net->q[KVNET_TX].work.busy_poll_us))) ||
	    nla_put_u8(skb, KVNET_A_POLICY_TX_INLINE, READ_ONCE(net->workers.allow_vcpu)) ||
	    nla_put_u8(skb, KVNET_A_POLICY_RX_DIRECT, kvnet_dev_is_rx_direct(net)) ||
	    nla_put_u8(skb, KVNET_A_POLICY_RX_INLINE, READ_ONCE(net->workers.allow_softirq)) ||
	    nla_put_u8(skb, KVNET_A_POLICY_SHORTCUT, kvnet_dev_is_shortcut(net)))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

/* The NUMA node of the first ring that is pinned. */
static int fill_memory_node(struct sk_buff *skb, const struct kvnet_net *net)
{
	int node = NUMA_NO_NODE;
	unsigned int i;

	for (i = 0; i < KVNET_QUEUES && node == NUMA_NO_NODE; i++)
		node = kvnet_ring_pin_node(&net->q[i].vq.pin[0]);
	return node == NUMA_NO_NODE ? 0 : nla_put_s32(skb, KVNET_A_DEV_MEMORY_NODE, node);
}

/* Returns 0, -EMSGSIZE if @skb has no room, or -ENOMEM. */
int kvnet_netlink_fill_dev(struct sk_buff *skb, struct kvnet_net *net, unsigned int index)
{
	return nla_put_u32(skb, KVNET_A_DEV_ID, net->registry.id) ?:
	       nla_put_u32(skb, KVNET_A_DEV_QUEUES, KVNET_QUEUES) ?:
	       nla_put_u32(skb, KVNET_A_DEV_WORKERS, net->workers.n) ?:
	       fill_owner(skb, net) ?:
	       fill_backend(skb, net) ?:
	       fill_features(skb, net) ?:
	       fill_memory_node(skb, net) ?:
	       fill_policy(skb, net);
}

/*** attributes of a queue ***/

static int fill_counter(struct sk_buff *skb, const char *name, u64 value)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_QUEUE_COUNTERS);

	if (!nest || nla_put_string(skb, KVNET_A_COUNTER_NAME, name) ||
	    fill_u64(skb, KVNET_A_COUNTER_VALUE, value))
		return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_counters(struct sk_buff *skb, const struct kvnet_queue *q)
{
	unsigned int i;

	for (i = KVNET_STAT_NONE + 1; i < KVNET_STAT_MAX; i++)
		if (fill_counter(skb, kvnet_stats_names[i], u64_stats_read(&q->vq.stats.count[i])))
			return -EMSGSIZE;
	return fill_counter(skb, "busy_poll_hits", READ_ONCE(q->work.busy_poll_hits)) ?:
	       fill_counter(skb, "busy_poll_misses", READ_ONCE(q->work.busy_poll_misses)) ?:
	       fill_u64(skb, KVNET_A_QUEUE_KICKS, atomic_long_read(&q->work.kicks)) ?:
	       fill_u64(skb, KVNET_A_QUEUE_WAKEUPS, atomic_long_read(&q->work.wakeups));
}

static int fill_histogram(struct sk_buff *skb, const struct kvnet_vq *vq, unsigned int which)
{
	struct nlattr *nest = nla_nest_start(skb, KVNET_A_QUEUE_HISTOGRAMS);
	struct kvnet_hist hist;
	unsigned int i;

	kvnet_hist_copy(&vq->stats.hist[which], &hist);
	if (!nest || nla_put_string(skb, KVNET_A_HISTOGRAM_NAME, kvnet_stats_hist_names[which]) ||
	    fill_u64(skb, KVNET_A_HISTOGRAM_SUM, hist.sum))
		return -EMSGSIZE;
	for (i = 0; i < kvnet_hist_used_buckets(&hist); i++)
		if (fill_u64(skb, KVNET_A_HISTOGRAM_BUCKETS, hist.bucket[i]))
			return -EMSGSIZE;
	nla_nest_end(skb, nest);
	return 0;
}

static int fill_histograms(struct sk_buff *skb, const struct kvnet_vq *vq)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < KVNET_HIST_MAX && !ret; i++)
		ret = fill_histogram(skb, vq, i);
	return ret;
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

	return nla_put_u32(skb, KVNET_A_QUEUE_STATE, nl_state) ?:
	       (nl_state == KVNET_QUEUE_STATE_BROKEN ?
		nla_put_u32(skb, KVNET_A_QUEUE_ERROR, -READ_ONCE(vq->error_code)) : 0);
}

/*
 * Session fields: needs the queue frozen. They are left out if another context holds vq->lock,
 * since its holder may wait for a page of the VMM.
 */
static int fill_ring_position(struct sk_buff *skb, struct kvnet_queue *q)
{
	const struct kvnet_ring *ring = &q->vq.ring;
	unsigned int backlog = 0;
	bool has_backlog;
	u16 avail, used;

	if (!kvnet_vq_freeze(&q->vq))
		return 0;
	avail = ring->last_avail;
	used = ring->last_used;
	has_backlog = q->tap.sock && q->vq.index == KVNET_RX;
	if (has_backlog)
		backlog = kvnet_tap_rx_backlog(&q->tap);
	kvnet_vq_unfreeze(&q->vq);
	return nla_put_u32(skb, KVNET_A_QUEUE_AVAIL, avail) ?:
	       nla_put_u32(skb, KVNET_A_QUEUE_USED, used) ?:
	       (has_backlog ? nla_put_u32(skb, KVNET_A_QUEUE_BACKLOG, backlog) : 0);
}

/* The queue may change both meanwhile: then the interface is that of another batch. */
static int fill_shortcut(struct sk_buff *skb, const struct kvnet_queue *q)
{
	u32 state = READ_ONCE(q->tap.shortcut_state);

	if (q->vq.index != KVNET_TX || READ_ONCE(q->tap_info.kind) != KVNET_BACKEND_TAP)
		return 0;
	return nla_put_u32(skb, KVNET_A_QUEUE_SHORTCUT, state) ?:
	       (state == KVNET_SHORTCUT_ACTIVE ?
		fill_nonzero_u32(skb, KVNET_A_QUEUE_SHORTCUT_IFINDEX,
				 READ_ONCE(q->tap.shortcut_ifindex)) : 0);
}

int kvnet_netlink_fill_queue(struct sk_buff *skb, struct kvnet_net *net, unsigned int index)
{
	struct kvnet_queue *q = &net->q[index];

	return nla_put_u32(skb, KVNET_A_QUEUE_DEV, net->registry.id) ?:
	       nla_put_u32(skb, KVNET_A_QUEUE_INDEX, index) ?:
	       fill_queue_state(skb, &q->vq) ?:
	       nla_put_u32(skb, KVNET_A_QUEUE_SIZE, READ_ONCE(q->vq.ring.num)) ?:
	       nla_put_u32(skb, KVNET_A_QUEUE_ACCESS, READ_ONCE(q->vq.pin[0].charged) ?
			   KVNET_RING_ACCESS_PINNED : KVNET_RING_ACCESS_USER) ?:
	       nla_put_u32(skb, KVNET_A_QUEUE_BACKEND, READ_ONCE(q->tap_info.kind)) ?:
	       fill_ring_position(skb, q) ?:
	       nla_put_u32(skb, KVNET_A_QUEUE_WORKER, index) ?:
	       fill_counters(skb, q) ?:
	       fill_histograms(skb, &q->vq) ?:
	       fill_shortcut(skb, q);
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
	pid_t tid = task_pid_nr_ns(task, task_active_pid_ns(current));
	unsigned int cpu = task_cpu(task);

	return fill_allowed_cpus(skb, task) ?:
	       fill_nonzero_u32(skb, KVNET_A_WORKER_TID, tid) ?:
	       nla_put_u32(skb, KVNET_A_WORKER_CPU, cpu) ?:
	       nla_put_u32(skb, KVNET_A_WORKER_NODE, cpu_to_node(cpu)) ?:
	       nla_put_s32(skb, KVNET_A_WORKER_NICE, task_nice(task)) ?:
	       nla_put_u32(skb, KVNET_A_WORKER_SCHED, task->policy) ?:
	       fill_nonzero_u32(skb, KVNET_A_WORKER_RT_PRIORITY, task->rt_priority) ?:
	       fill_u64(skb, KVNET_A_WORKER_RUN_NS, READ_ONCE(task->se.sum_exec_runtime));
}

/* Without a task the worker has not started yet: the thread's attributes are left out. */
int kvnet_netlink_fill_worker(struct sk_buff *skb, struct kvnet_net *net, unsigned int index)
{
	const struct kvnet_worker *w = &net->workers.worker[index];
	struct task_struct *task = kvnet_thread_get_task(&w->thread);
	int ret;

	ret = nla_put_u32(skb, KVNET_A_WORKER_DEV, net->registry.id) ?:
	      nla_put_u32(skb, KVNET_A_WORKER_INDEX, index) ?:
	      nla_put_u32(skb, KVNET_A_WORKER_KIND, w->thread.vtsk ?
			  KVNET_WORKER_KIND_TASK : KVNET_WORKER_KIND_KTHREAD) ?:
	      nla_put_u32(skb, KVNET_A_WORKER_QUEUES, index) ?:
	      fill_u64(skb, KVNET_A_WORKER_POLL_NS, READ_ONCE(w->busy_poll.window_ns)) ?:
	      fill_u64(skb, KVNET_A_WORKER_POLL_MAX_NS, kvnet_work_busy_poll_ns(w->work));
	if (!task)
		return ret;
	if (!ret)
		ret = fill_thread(skb, task);
	put_task_struct(task);
	return ret;
}
