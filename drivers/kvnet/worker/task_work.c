// SPDX-License-Identifier: GPL-2.0
/*
 * task_work.c - task_work of the kicking vCPU thread
 *
 * Decides whether the current thread may take task_work, and keeps the module loaded until it has
 * run. The callback runs in process context of the thread to which it was added.
 */
#include "task_work.h"

#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/deadline.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>

static void run_task_work(struct callback_head *head)
{
	struct kvnet_task_work *tw = container_of(head, struct kvnet_task_work, head);

	/* From here on @tw may be added again; and run() may free it. */
	clear_bit_unlock(0, &tw->queued);
	tw->run(tw);
	/* kvnet_task_work_exit() waits for the return. */
	module_put(THIS_MODULE);
}

bool kvnet_task_work_is_supported(void)
{
	return COMPAT_HAVE_TASK_WORK;
}

void kvnet_task_work_init(struct kvnet_task_work *tw,
			  void (*run)(struct kvnet_task_work *tw))
{
	init_task_work(&tw->head, run_task_work);
	tw->run = run;
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

/**
 * kvnet_task_work_add() - add task_work to the current thread
 * @tw: the task_work; the caller keeps it until it has run
 *
 * Context: where kvnet_task_work_may_add() or kvnet_task_work_may_add_hardirq() is true.
 * Return: true: it will run; false: it is pending already, or the thread or the module is exiting.
 */
bool kvnet_task_work_add(struct kvnet_task_work *tw)
{
	if (test_and_set_bit_lock(0, &tw->queued))
		return false;
	/* A thread may sleep for long before it runs its task_work: rmmod fails until then. */
	if (!try_module_get(THIS_MODULE))
		goto out;
	if (!compat_task_work_add(current, &tw->head))
		return true;
	module_put(THIS_MODULE);
out:
	clear_bit_unlock(0, &tw->queued);
	return false;
}

/* Module exit: a callback may have dropped its module reference, but not returned yet. */
void kvnet_task_work_exit(void)
{
	compat_synchronize_tasks();
}
