// SPDX-License-Identifier: GPL-2.0
/*
 * task_work.c - which threads and CPUs may do inline work
 */
#include "task_work.h"

#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/deadline.h>
#include <linux/sched/isolation.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/task_work.h>

/* Does this kernel export task_work_add(), and run task_work before a vCPU enters the guest? */
bool kvnet_task_work_is_supported(void)
{
	return COMPAT_HAVE_TASK_WORK;
}

/*
 * Inline work, also in softirqs, is not for CPUs that the administrator keeps free of kernel work:
 * isolcpus=, nohz_full=, an isolated cpuset.
 */
bool kvnet_task_work_cpu_ok(void)
{
	int cpu = raw_smp_processor_id();
	bool ret;

	/* Since Linux 7.0 the mask of a cpuset is freed after a grace period. */
	rcu_read_lock();
	ret = !cpu_is_isolated(cpu) && housekeeping_cpu(cpu, HK_TYPE_TICK);
	rcu_read_unlock();
	return ret;
}

/* Real-time threads and isolated CPUs are not to spend their time on packets. */
static bool current_is_rt_or_isolated(void)
{
	return rt_task(current) || dl_task(current) || !kvnet_task_work_cpu_ok();
}

/*
 * Only a thread of the VMM that is going to return to user space or to the guest. Not while a
 * signal is pending: running task_work may add more (a call's eventfd may be another queue's
 * kick), and the thread handles signals only after it has run all task_work. Any context.
 */
bool kvnet_task_work_may_add(const struct mm_struct *mm)
{
	const unsigned int excluded = PF_KTHREAD | PF_EXITING | PF_USER_WORKER |
				      PF_IO_WORKER;

	return in_task() && current->mm == mm && !(current->flags & excluded) &&
	       !signal_pending(current) && !current_is_rt_or_isolated();
}

/*
 * Only if the hard interrupt hit a vCPU in guest mode (PF_VCPU): its thread runs task_work before
 * it enters the guest again. A vCPU thread in the host's kernel may be about to sleep there.
 * Pending signals need no check: the thread handles them before each entry into the guest.
 */
bool kvnet_task_work_may_add_hardirq(const struct mm_struct *mm)
{
	return in_hardirq() && current->flags & PF_VCPU && current->mm == mm &&
	       !current_is_rt_or_isolated();
}

/* Module exit: a callback may have dropped its module reference, but not returned yet. */
void kvnet_task_work_exit(void)
{
	compat_synchronize_tasks();
}
