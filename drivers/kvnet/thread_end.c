// SPDX-License-Identifier: GPL-2.0
/*
 * thread_end.c - no turn any more, and nothing to wait for, see thread.h
 */
#include "thread.h"

#include <linux/delay.h>
#include <linux/jiffies.h>
#include <linux/minmax.h>
#include <linux/sched/jobctl.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/wait.h>
#include <linux/wait_bit.h>

#include "later.h"

/*
 * How long it is waited for a thread that has been killed; by who closes files for others,
 * or ends; and by that one while some thread is late already.
 */
#define PATIENCE	HZ
#define LESS_PATIENCE	(HZ / 20 + 1)
#define LEAST_PATIENCE	1

/* When it is looked whether one that is over has gone, in us; and half as often each time. */
#define LOOK_FIRST	20

/*
 * Where its process is stopped (SIGSTOP), or a debugger has it, a thread sleeps until it is
 * continued or killed, and no wake_up_process() reaches it. A debugger that looks at it
 * just now wakes it by itself. siglock is held.
 */
static void wake_stopped(struct task_struct *task)
{
	struct wait_queue_entry entry = { .private = task };

	if (task->jobctl & JOBCTL_PTRACE_FROZEN)
		return;
	task->jobctl &= ~(JOBCTL_STOPPED | JOBCTL_TRACED);
	/* wake_up_state(), which modules have not */
	default_wake_function(&entry, TASK_WAKEKILL | __TASK_TRACED, 0, NULL);
}

/*
 * Kill one thread, but not its process: what the kernel does to each thread of a
 * process that dies. A page fault that waits for user space fails then.
 */
static void kill_alone(struct task_struct *task)
{
	struct sighand_struct *sighand;
	unsigned long flags;

	rcu_read_lock();
	sighand = rcu_dereference(task->sighand);
	if (sighand) {
		spin_lock_irqsave(&sighand->siglock, flags);
		/* It has not exited meanwhile. */
		if (sighand == rcu_access_pointer(task->sighand)) {
			sigaddset(&task->pending.signal, SIGKILL);
			set_tsk_thread_flag(task, TIF_SIGPENDING);
			/* Who is to die does not stop there, and would try to again and again. */
			task->jobctl &= ~JOBCTL_TRAP_MASK;
			wake_stopped(task);
		}
		spin_unlock_irqrestore(&sighand->siglock, flags);
	}
	rcu_read_unlock();
}

/**
 * kvnet_thread_kill() - what it waits for fails
 * @t: a thread of its own
 *
 * Context: any; its group's lock, or it runs just now.
 */
void kvnet_thread_kill(struct kvnet_thread *t)
{
	if (!t->task) {
		t->doomed = true;
		return;
	}
	if (t->forked)
		kill_alone(t->task);
	else
		send_sig(SIGKILL, t->task, 1);
	/* A signal does not wake a kernel thread that sleeps. */
	wake_up_process(t->task);
}

/**
 * kvnet_thread_revive() - the calling thread lives on after kvnet_thread_kill()
 *
 * Unless its process dies, or executes another program.
 *
 * Context: the thread, before it looks at its signals.
 */
void kvnet_thread_revive(void)
{
	const struct signal_struct *signal = current->signal;
	struct sighand_struct *sighand;

	if (current->flags & PF_KTHREAD) {
		flush_signals(current);
		return;
	}
	/* One's own stays. */
	sighand = rcu_dereference_protected(current->sighand, true);
	spin_lock_irq(&sighand->siglock);
	if (!(signal->flags & SIGNAL_GROUP_EXIT) && !signal->group_exec_task)
		sigdelset(&current->pending.signal, SIGKILL);
	spin_unlock_irq(&sighand->siglock);
}

/* With the group's lock held. */
static void end(struct kvnet_thread *t)
{
	WRITE_ONCE(t->closing, true);
	if (t->shared)
		kvnet_thread_interrupt(t);
	else if (!READ_ONCE(t->over))
		kvnet_thread_kill(t);
}

/**
 * kvnet_threads_end() - do nothing more, and wait for nothing more
 * @ts: the threads
 *
 * A page fault may last for as long as another process likes (userfaultfd). From
 * now on one that has to wait fails instead. Each thread ends as soon as its turn
 * is over, but is still to be stopped.
 *
 * Context: any process.
 */
void kvnet_threads_end(struct kvnet_threads *ts)
{
	struct kvnet_thread *t;

	spin_lock(&ts->lock);
	list_for_each_entry(t, &ts->all, entry)
		end(t);
	spin_unlock(&ts->lock);
}

static bool had_last_turn(struct kvnet_thread *t)
{
	return t->shared ? kvnet_thread_had_last_turn(t) : READ_ONCE(t->over);
}

/* Its last instructions, too, take time, which it may not get. */
static bool has_gone(struct kvnet_thread *t)
{
	return had_last_turn(t) && (t->shared || READ_ONCE(t->task->exit_state));
}

/* Those that are not are ended. One may have been made by another since it was asked last. */
static bool all_are(struct kvnet_threads *ts, bool (*is)(struct kvnet_thread *t))
{
	struct kvnet_thread *t;
	bool ret = true;

	spin_lock(&ts->lock);
	list_for_each_entry(t, &ts->all, entry)
		if (!is(t)) {
			end(t);
			ret = false;
		}
	spin_unlock(&ts->lock);
	return ret;
}

/**
 * kvnet_threads_over() - kvnet_threads_end(), and have they ended?
 * @ts: the threads
 *
 * Context: any process.
 * Return: true: kvnet_thread_stop() of each waits for nobody, these threads included.
 */
bool kvnet_threads_over(struct kvnet_threads *ts)
{
	return all_are(ts, has_gone);
}

static bool are_ours(struct kvnet_threads *ts)
{
	const struct kvnet_thread *t;
	bool ret = true;

	spin_lock(&ts->lock);
	list_for_each_entry(t, &ts->all, entry)
		ret &= t->owner->signal == current->signal;
	spin_unlock(&ts->lock);
	return ret;
}

/* Who has many devices, of which each is late, does not wait as long for each. */
static long patience(struct kvnet_threads *ts)
{
	const bool ends = current->flags & PF_EXITING || fatal_signal_pending(current);

	if (current->flags & PF_KTHREAD || (ends && !are_ours(ts)))
		return kvnet_later_any() ? LEAST_PATIENCE : LESS_PATIENCE;
	return kvnet_later_any() ? LESS_PATIENCE : PATIENCE;
}

/**
 * kvnet_threads_wait() - kvnet_threads_end(), and wait until they have
 * @ts: the threads
 *
 * Most do in no time; but one may be kept from it by a freezer, get no time to run, or wait
 * for what no signal ends. That one has had its last turn it says; that it has gone it cannot.
 *
 * Context: may sleep, for PATIENCE, or up to twice that if only their last instructions are left.
 * Return: what is left of that, in jiffies, not 0; 0: they have not.
 */
long kvnet_threads_wait(struct kvnet_threads *ts)
{
	long left = wait_var_event_timeout(ts, all_are(ts, had_last_turn), patience(ts));
	const unsigned long end = jiffies + left;
	unsigned int us;

	for (us = LOOK_FIRST; left > 0 && !kvnet_threads_over(ts); us *= 2) {
		fsleep(us);
		left = end - jiffies;
	}
	return max(left, 0L);
}

/**
 * kvnet_threads_look() - one of them has had its last turn
 * @ts: the threads; nothing but their address is of use, they may be gone
 *
 * Context: any.
 */
void kvnet_threads_look(struct kvnet_threads *ts)
{
	/* Either we see who waits, or that one sees what has been done. */
	smp_mb();
	wake_up_var(ts);
}

/* Not one thread of several. */
static bool process_exits(void)
{
	const struct signal_struct *signal = current->signal;

	return current->flags & PF_EXITING &&
	       (READ_ONCE(signal->flags) & SIGNAL_GROUP_EXIT ||
		!atomic_read(&signal->live));
}

/**
 * kvnet_threads_owner_exits() - kvnet_threads_end(), if the owner is exiting
 * @ts: the threads
 *
 * A task ends with its process; a kernel thread has to be told.
 *
 * Context: a process that closes the device's file, but maybe not for good.
 */
void kvnet_threads_owner_exits(struct kvnet_threads *ts)
{
	struct kvnet_thread *t;

	if (!process_exits())
		return;
	spin_lock(&ts->lock);
	list_for_each_entry(t, &ts->all, entry)
		if (t->owner->signal == current->signal)
			end(t);
	spin_unlock(&ts->lock);
}
