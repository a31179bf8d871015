/* SPDX-License-Identifier: GPL-2.0 */
/*
 * place.h - where a thread runs, and how: CPUs, scheduling class, nice value
 *
 * A thread never leaves its cpuset by what is done here.
 */
#ifndef _KVNET_PLACE_H
#define _KVNET_PLACE_H

#include <linux/cpumask.h>
#include <linux/types.h>

struct kvnet_thread;
struct task_struct;
struct work_struct;

/**
 * struct kvnet_place - how threads are to run
 * @has_cpus: @cpus means something
 * @has_nice: @nice does
 * @has_sched: @sched does
 * @has_node: @node and @follow do; then so does @has_cpus
 * @follow: the node is that of the guest's memory; @node is what is known of that
 * @all_cpus: all CPUs of the cpuset; else those that are in @cpus, too
 * @cpus: a mask, or NULL with @all_cpus
 * @node: only CPUs of this NUMA node; NUMA_NO_NODE: of any
 * @nice: -20 to 19
 * @sched: SCHED_*, but for SCHED_DEADLINE
 * @priority: of SCHED_FIFO and SCHED_RR, 1 to 99; 0: none has been given
 * @till: in jiffies; from then on a cpuset that changes meanwhile is looked at no more
 */
struct kvnet_place {
	bool has_cpus;
	bool has_nice;
	bool has_sched;
	bool has_node;
	bool follow;
	bool all_cpus;
	struct cpumask *cpus;
	int node;
	int nice;
	u32 sched;
	u32 priority;
	unsigned long till;
};

/**
 * struct kvnet_seat - how one thread runs, and is to run
 * @thread: the thread
 * @task: it, with a reference; NULL: it has not begun, and nothing is known
 * @before: CPUs that it had
 * @allowed: CPUs of its cpuset
 * @now: CPUs that it is to have
 * @last: @allowed as it was one look before
 * @sched: SCHED_*, as it was
 * @priority: as it was
 * @nice: as it was
 */
struct kvnet_seat {
	struct kvnet_thread *thread;
	struct task_struct *task;
	struct cpumask *before;
	struct cpumask *allowed;
	struct cpumask *now;
	struct cpumask *last;
	u32 sched;
	u32 priority;
	int nice;
};

int kvnet_place_init(void);
void kvnet_place_exit(void);
void kvnet_place_do(struct work_struct *work);
void kvnet_place_cpus(struct task_struct *task, struct cpumask *mask);
struct kvnet_seat *kvnet_seats_new(unsigned int n);
int kvnet_seat_find(struct kvnet_seat *seat, struct kvnet_thread *thread,
		    const struct kvnet_place *place);
int kvnet_seat_take(struct kvnet_seat *seat, const struct kvnet_place *place);
void kvnet_seat_leave(struct kvnet_seat *seat, const struct kvnet_place *place);
void kvnet_seats_clear(struct kvnet_seat *seat, unsigned int n);
void kvnet_seats_free(struct kvnet_seat *seat);

#endif /* _KVNET_PLACE_H */
