/* SPDX-License-Identifier: GPL-2.0 */
/*
 * task_work.h - run a queue's work in task_work of the kicking vCPU thread
 *
 * The kicking vCPU thread runs in the host's kernel already. Its task_work runs in process
 * context, in the VMM's address space, on return to user space or before the guest is entered.
 * For a few packets this costs less than waking the worker. It needs task_work_add(), which
 * Debian's kernels export and mainline does not: without it the worker does all the work.
 */
#ifndef _KVNET_TASK_WORK_H
#define _KVNET_TASK_WORK_H

#include <linux/rcupdate.h>
#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/task_work.h>
#include <linux/types.h>

struct mm_struct;

/**
 * struct kvnet_task_work - a callback that the current thread runs later
 * @head: on the thread's list while @queued
 * @queued: bit 0: @head is on a list
 * @run: const after init; called by the thread before it returns to user space or enters the
 *	 guest, or while it exits; may sleep
 */
struct kvnet_task_work {
	struct callback_head head;
	unsigned long queued;
	void (*run)(struct kvnet_task_work *work);
};

/*
 * Inline work is not for CPUs that the administrator keeps free of kernel work: isolcpus=,
 * nohz_full=, an isolated cpuset.
 */
static inline bool kvnet_task_work_cpu_ok(void)
{
	int cpu = raw_smp_processor_id();
	bool ret;

	/* Since Linux 7.0 the mask of a cpuset is freed after a grace period. */
	rcu_read_lock();
	ret = !cpu_is_isolated(cpu) && housekeeping_cpu(cpu, HK_TYPE_TICK);
	rcu_read_unlock();
	return ret;
}

/* Does this kernel export task_work_add(), and run it before a vCPU enters the guest? */
bool kvnet_task_work_is_supported(void);

void kvnet_task_work_init(struct kvnet_task_work *tw,
			  void (*run)(struct kvnet_task_work *tw));
bool kvnet_task_work_may_add(const struct mm_struct *mm);
bool kvnet_task_work_may_add_hardirq(const struct mm_struct *mm);
bool kvnet_task_work_add(struct kvnet_task_work *tw);
void kvnet_task_work_exit(void);

#endif /* _KVNET_TASK_WORK_H */
