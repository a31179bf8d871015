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

/* drivers/kvnet/Kbuild has looked: Debian exports it, Linux itself does not. */
#ifdef KVNET_HAVE_TASK_WORK
#define COMPAT_HAVE_TASK_WORK	true

static inline int compat_task_work_add(struct task_struct *task,
				       struct callback_head *work)
{
	return task_work_add(task, work, TWA_RESUME);
}

/* Until each thread that was running our code has left it. */
static inline void compat_synchronize_tasks(void)
{
#ifdef CONFIG_TASKS_RCU
	synchronize_rcu_tasks();
#else
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
