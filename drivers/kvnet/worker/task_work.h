/* SPDX-License-Identifier: GPL-2.0 */
/*
 * task_work.h - may the current thread run a queue's work in its task_work?
 *
 * The kicking vCPU thread runs in the host's kernel already. Its task_work runs in process
 * context, in the VMM's address space, on return to user space or before the guest is entered.
 * For a few packets this costs less than waking the worker. It needs task_work_add(), which
 * Debian's kernels export and mainline does not: without it the worker does all the work.
 */
#ifndef _KVNET_TASK_WORK_H
#define _KVNET_TASK_WORK_H

#include <linux/types.h>

struct mm_struct;

bool kvnet_task_work_is_supported(void);
bool kvnet_task_work_cpu_ok(void);
bool kvnet_task_work_may_add(const struct mm_struct *mm);
bool kvnet_task_work_may_add_hardirq(const struct mm_struct *mm);
void kvnet_task_work_exit(void);

#endif /* _KVNET_TASK_WORK_H */
