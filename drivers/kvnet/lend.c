// SPDX-License-Identifier: GPL-2.0
/*
 * lend.c - work for the thread that kicks, see lend.h
 */
#include "lend.h"

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
static atomic_t loans = ATOMIC_INIT(0);

/* Somebody waits for there to be none. */
static bool leaving;

/*
 * A thread may sleep for long before it gets to what it was lent. The module is in use
 * until then, so that nobody waits for it who removes the module.
 */
static bool keep_code(void)
{
	if (!try_module_get(THIS_MODULE))
		return false;
	atomic_inc(&loans);
	return true;
}

/* What follows the put is for kvnet_lend_exit() to wait for. */
static void leave_code(void)
{
	module_put(THIS_MODULE);
	/* Fully ordered, as kvnet_lend_exit() is: one of both sees what the other has done. */
	if (atomic_dec_and_test(&loans) && READ_ONCE(leaving))
		wake_up_var(&loans);
}

static void loan_run(struct callback_head *work)
{
	struct kvnet_loan *loan = container_of(work, struct kvnet_loan, work);

	/* It may be lent again from now on; and it may go with run(). */
	clear_bit_unlock(0, &loan->queued);
	loan->run(loan);
	leave_code();
}

/**
 * kvnet_lend_possible() - can anything be lent, on this kernel?
 *
 * Return: true if modules can give work to a thread.
 */
bool kvnet_lend_possible(void)
{
	return COMPAT_HAVE_TASK_WORK;
}

/**
 * kvnet_loan_init() - before first use
 * @loan: the loan
 * @run: what is to be done
 */
void kvnet_loan_init(struct kvnet_loan *loan,
		     void (*run)(struct kvnet_loan *loan))
{
	init_task_work(&loan->work, loan_run);
	loan->run = run;
}

/* The time of a real-time or deadline thread is its own, and isolated CPUs are quiet. */
static bool is_spared(void)
{
	return rt_task(current) || dl_task(current) || !kvnet_lend_may_here();
}

/**
 * kvnet_lend_may() - may the calling thread do work for an address space?
 * @mm: the address space
 *
 * Only a thread that is going to return to user space or a guest, and whose memory
 * it is. What it does on the way may lend it more (a call is another one's kick), and it
 * looks at no signal before all of that is done: so none is lent to who has one.
 *
 * Context: any.
 * Return: true if so.
 */
bool kvnet_lend_may(const struct mm_struct *mm)
{
	const unsigned int not = PF_KTHREAD | PF_EXITING | PF_USER_WORKER |
				 PF_IO_WORKER;

	return in_task() && current->mm == mm && !(current->flags & not) &&
	       !signal_pending(current) && !is_spared();
}

/**
 * kvnet_lend_may_guest() - may a vCPU do work that an interrupt has taken out of its
 *	guest?
 * @mm: the guest's address space
 *
 * One that is in the host's kernel already may be about to sleep there. Each time that
 * it is in its guest again it has looked at its signals.
 *
 * Context: hard interrupt.
 * Return: true if so.
 */
bool kvnet_lend_may_guest(const struct mm_struct *mm)
{
	return in_hardirq() && current->flags & PF_VCPU && current->mm == mm &&
	       !is_spared();
}

/**
 * kvnet_lend() - lend to the calling thread
 * @loan: the loan; stays until it has been run
 *
 * Context: kvnet_lend_may() or kvnet_lend_may_guest().
 * Return: true: it will be run; false if it cannot, or the last time is not over.
 */
bool kvnet_lend(struct kvnet_loan *loan)
{
	if (test_and_set_bit_lock(0, &loan->queued))
		return false;
	if (!keep_code())
		goto out;
	if (!compat_task_work_add(current, &loan->work))
		return true;
	leave_code();
out:
	clear_bit_unlock(0, &loan->queued);
	return false;
}

/**
 * kvnet_lend_exit() - wait for all that has been lent
 *
 * Only for the last instructions of each: until then it has kept the module.
 *
 * Context: module exit, no device is left; may sleep.
 */
void kvnet_lend_exit(void)
{
	WRITE_ONCE(leaving, true);
	smp_mb();
	wait_var_event(&loans, !atomic_read(&loans));
	/* The last one may not have returned yet. */
	compat_synchronize_tasks();
}
