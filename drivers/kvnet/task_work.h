/* SPDX-License-Identifier: GPL-2.0 */
/*
 * task_work.h - have the thread that kicks do the work, before it goes on
 *
 * A vCPU that kicks is on its way through the host's kernel. On the way back, in
 * process context and in its own address space, it can do what is small enough
 * that waking another thread for it would cost more. It needs task_work_add(),
 * which Debian's kernels export and others do not: there nothing is lent.
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
 * struct kvnet_task_work - work that can be lent to a thread
 * @head: on the thread's list while @queued
 * @queued: bit 0: it is there
 * @run: const after init; called by the thread, before it returns to user space or
 *	 the guest, or while it exits; may sleep
 */
struct kvnet_task_work {
	struct callback_head head;
	unsigned long queued;
	void (*run)(struct kvnet_task_work *loan);
};

/*
 * May a softirq or a kicking thread do a queue's work on this CPU? Not on one that its
 * administrator keeps free of the kernel's work: isolcpus=, nohz_full=, an isolated cpuset.
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

/* Can anything be lent, on this kernel? */
bool kvnet_task_work_is_supported(void);

void kvnet_task_work_init(struct kvnet_task_work *tw,
			  void (*run)(struct kvnet_task_work *tw));
bool kvnet_task_work_may_add(const struct mm_struct *mm);
bool kvnet_task_work_may_add_hardirq(const struct mm_struct *mm);
bool kvnet_task_work_add(struct kvnet_task_work *tw);
void kvnet_task_work_exit(void);

#endif /* _KVNET_TASK_WORK_H */
