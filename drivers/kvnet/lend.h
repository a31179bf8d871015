/* SPDX-License-Identifier: GPL-2.0 */
/*
 * lend.h - have the thread that kicks do the work, before it goes on
 *
 * A vCPU that kicks is on its way through the host's kernel. On the way back, in
 * process context and in its own address space, it can do what is small enough
 * that waking another thread for it would cost more. It needs task_work_add(),
 * which Debian's kernels export and others do not: there nothing is lent.
 */
#ifndef _KVNET_LEND_H
#define _KVNET_LEND_H

#include <linux/sched/isolation.h>
#include <linux/smp.h>
#include <linux/task_work.h>
#include <linux/types.h>

struct mm_struct;

/**
 * struct kvnet_loan - work that can be lent to a thread
 * @work: on the thread's list while @queued
 * @queued: bit 0: it is there
 * @run: const after init; called by the thread, before it returns to user space or
 *	 the guest, or while it exits; may sleep
 */
struct kvnet_loan {
	struct callback_head work;
	unsigned long queued;
	void (*run)(struct kvnet_loan *loan);
};

/*
 * May a softirq or a kicking thread do a queue's work on this CPU? Not on one that its
 * administrator keeps free of the kernel's work: isolcpus=, nohz_full=, an isolated cpuset.
 */
static inline bool kvnet_lend_may_here(void)
{
	int cpu = raw_smp_processor_id();

	return !cpu_is_isolated(cpu) && housekeeping_cpu(cpu, HK_TYPE_TICK);
}

/* Can anything be lent, on this kernel? */
bool kvnet_lend_possible(void);

void kvnet_loan_init(struct kvnet_loan *loan,
		     void (*run)(struct kvnet_loan *loan));
bool kvnet_lend_may(const struct mm_struct *mm);
bool kvnet_lend_may_guest(const struct mm_struct *mm);
bool kvnet_lend(struct kvnet_loan *loan);
void kvnet_lend_exit(void);

#endif /* _KVNET_LEND_H */
