/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _KVNET_COMPAT_TASK_WORK_H
#define _KVNET_COMPAT_TASK_WORK_H

#include_next <linux/task_work.h>
#include <linux/errno.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>

/* Linux 6.4 */
#ifndef PF_USER_WORKER
#define PF_USER_WORKER	PF_IO_WORKER
#endif

/*
 * A vCPU thread runs task_work before it enters the guest where KVM has the common loop (x86,
 * arm64, RISC-V, LoongArch; new kernels name the option VIRT_*). Elsewhere it does so at its
 * next return to user space, which may never come.
 */
#if defined(CONFIG_KVM_XFER_TO_GUEST_WORK) || defined(CONFIG_VIRT_XFER_TO_GUEST_WORK) || \
	!IS_ENABLED(CONFIG_KVM)
#define COMPAT_VCPU_DOES_TASK_WORK
#endif

/* Without RCU Tasks there is no wait for threads that were preempted in the module's code. */
#if defined(CONFIG_TASKS_RCU) || !defined(CONFIG_PREEMPTION)
#define COMPAT_TASKS_CAN_BE_WAITED_FOR
#endif

/* drivers/kvnet/Kbuild detects it: Debian exports task_work_add(), mainline does not. */
#if defined(KVNET_HAVE_TASK_WORK) && defined(COMPAT_VCPU_DOES_TASK_WORK) && \
	defined(COMPAT_TASKS_CAN_BE_WAITED_FOR)
#define COMPAT_HAVE_TASK_WORK	true

static inline int compat_task_work_add(struct task_struct *task,
				       struct callback_head *work)
{
	return task_work_add(task, work, TWA_RESUME);
}

/* Waits until each thread that was running the module's code has left it; may sleep. */
static inline void compat_synchronize_tasks(void)
{
#ifdef CONFIG_TASKS_RCU
	synchronize_rcu_tasks();
#else
	/* without preemption all code of the module is an RCU read-side section */
	synchronize_rcu();
#endif
}
#else
#define COMPAT_HAVE_TASK_WORK	false

static inline int compat_task_work_add(struct task_struct *task,
				       struct callback_head *work)
{
	return -EOPNOTSUPP;
}

static inline void compat_synchronize_tasks(void)
{
}
#endif

#endif /* _KVNET_COMPAT_TASK_WORK_H */
