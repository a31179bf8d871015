// SPDX-License-Identifier: GPL-2.0
/*
 * task_work.c - work for the thread that kicks, see task_work.h
 */
#include "task_work.h"

#include <linux/atomic.h>
#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/deadline.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/wait_bit.h>

/* On the lists of threads, or being run; our code must stay as long. */
static atomic_t n_task_works = ATOMIC_INIT(0);

/* Somebody waits for there to be none. */
static bool module_exiting;

/*
 * A thread may sleep for long before it gets to what it was lent. The module is in use
 * until then, so that nobody waits for it who removes the module.
 */
static bool get_module_for_task_work(void)
{
	if (!try_module_get(THIS_MODULE))
		return false;
	atomic_inc(&n_task_works);
	return true;
}

/* What follows the put is for kvnet_task_work_exit() to wait for. */
static void put_module_for_task_work(void)
{
	module_put(THIS_MODULE);
	/* Fully ordered, as kvnet_task_work_exit() is: one of both sees what the other has done. */
	if (atomic_dec_and_test(&n_task_works) && READ_ONCE(module_exiting))
		wake_up_var(&n_task_works);
}

static void run_task_work(struct callback_head *head)
{
	struct kvnet_task_work *tw = container_of(head, struct kvnet_task_work, head);

	/* It may be lent again from now on; and it may go with run(). */
	clear_bit_unlock(0, &tw->queued);
	tw->run(tw);
	put_module_for_task_work();
}

/**
 * kvnet_task_work_is_supported() - can anything be lent, on this kernel?
 *
 * Return: true if modules can give work to a thread.
 */
bool kvnet_task_work_is_supported(void)
{
	return COMPAT_HAVE_TASK_WORK;
}

/**
 * kvnet_task_work_init() - before first use
 * @tw: the loan
 * @run: what is to be done
 */
void kvnet_task_work_init(struct kvnet_task_work *tw,
			  void (*run)(struct kvnet_task_work *tw))
{
	init_task_work(&tw->head, run_task_work);
	tw->run = run;
}

/* The time of a real-time or deadline thread is its own, and isolated CPUs are quiet. */
static bool current_is_rt_or_isolated(void)
{
	return rt_task(current) || dl_task(current) || !kvnet_task_work_cpu_ok();
}

/**
 * kvnet_task_work_may_add() - may the calling thread do work for an address space?
 * @mm: the address space
 *
 * Only a thread that is going to return to user space or a guest, and whose memory
 * it is. What it does on the way may lend it more (a call is another one's kick), and it
 * looks at no signal before all of that is done: so none is lent to who has one.
 *
 * Context: any.
 * Return: true if so.
 */
bool kvnet_task_work_may_add(const struct mm_struct *mm)
{
	const unsigned int excluded = PF_KTHREAD | PF_EXITING | PF_USER_WORKER |
				      PF_IO_WORKER;

	return in_task() && current->mm == mm && !(current->flags & excluded) &&
	       !signal_pending(current) && !current_is_rt_or_isolated();
}

/**
 * kvnet_task_work_may_add_hardirq() - may a vCPU do work that an interrupt has taken out of its
 *	guest?
 * @mm: the guest's address space
 *
 * One that is in the host's kernel already may be about to sleep there. Each time that
 * it is in its guest again it has looked at its signals.
 *
 * Context: hard interrupt.
 * Return: true if so.
 */
bool kvnet_task_work_may_add_hardirq(const struct mm_struct *mm)
{
	return in_hardirq() && current->flags & PF_VCPU && current->mm == mm &&
	       !current_is_rt_or_isolated();
}

/**
 * kvnet_task_work_add() - lend to the calling thread
 * @tw: the loan; stays until it has been run
 *
 * Context: kvnet_task_work_may_add() or kvnet_task_work_may_add_hardirq().
 * Return: true: it will be run; false if it cannot, or the last time is not over.
 */
bool kvnet_task_work_add(struct kvnet_task_work *tw)
{
	if (test_and_set_bit_lock(0, &tw->queued))
		return false;
	if (!get_module_for_task_work())
		goto out;
	if (!compat_task_work_add(current, &tw->head))
		return true;
	put_module_for_task_work();
out:
	clear_bit_unlock(0, &tw->queued);
	return false;
}

/**
 * kvnet_task_work_exit() - wait for all that has been lent
 *
 * Only for the last instructions of each: until then it has kept the module.
 *
 * Context: module exit, no device is left; may sleep.
 */
void kvnet_task_work_exit(void)
{
	WRITE_ONCE(module_exiting, true);
	smp_mb();
	wait_var_event(&n_task_works, !atomic_read(&n_task_works));
	/* The last one may not have returned yet. */
	compat_synchronize_tasks();
}
