// SPDX-License-Identifier: GPL-2.0
/*
 * work.c - how an event schedules a work, and in which context the work runs
 *
 * A kick, a wake-up of the tap, a timer or a change of set-up schedules the work. The work runs
 * in one of three contexts: in the worker, in task_work of the vCPU thread that kicks or that the
 * timer interrupts (inline TX), or in a tasklet (inline RX, and calls that the timer makes). The
 * run state admits one at a time. Functions that raise events run in any context, also with
 * interrupts off.
 */
#include "work.h"

#include <linux/bitops.h>
#include <linux/module.h>
#include <linux/percpu.h>
#include <linux/preempt.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/deadline.h>
#include <linux/sched/isolation.h>
#include <linux/sched/rt.h>
#include <linux/sched/signal.h>
#include <linux/smp.h>
#include <linux/task_work.h>
#include <linux/wait_bit.h>

#include "worker.h"
#include "obs/trace.h"

/* Atomic: the tasklets of a CPU that goes offline run on another CPU. */
static DEFINE_PER_CPU(atomic_t, cpu_pending_tasklets);

/*** which threads and CPUs may do inline work ***/

/*
 * Inline work, also in softirqs, is not for CPUs that the administrator keeps free of kernel work:
 * isolcpus=, nohz_full=, an isolated cpuset.
 */
bool kvnet_work_cpu_may_inline(void)
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
	return rt_task(current) || dl_task(current) || !kvnet_work_cpu_may_inline();
}

/*
 * Only a thread of the VMM that is going to return to user space or to the guest. Not while a
 * signal is pending: running task_work may add more (a call's eventfd may be another queue's
 * kick), and the thread handles signals only after it has run all task_work. Any context.
 */
static bool may_add_task_work(const struct mm_struct *mm)
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
static bool may_add_task_work_hardirq(const struct mm_struct *mm)
{
	return in_hardirq() && current->flags & PF_VCPU && current->mm == mm &&
	       !current_is_rt_or_isolated();
}

/*** the three contexts ***/

/*
 * The caller has set SCHED; from here on only the worker may touch the work. @event is for the
 * trace. Any context, also with interrupts off; not after kvnet_workers_cancel_inline(), when only
 * the workers may still run a work.
 */
void kvnet_work_queue(struct kvnet_work *work, unsigned int event)
{
	struct kvnet_worker *w = work->worker;

	if (KVNET_STATS_ENABLED)
		atomic_long_inc(&work->wakeups);
	trace_kvnet_worker_wake(work->workers->owner, work->index, event);
	/* F: full barrier; pairs with the thread's set_current_state(). */
	smp_store_mb(w->queued, true);
	kvnet_thread_wake(&w->thread);
}

/*
 * Adds the work to the current thread's task_work. False: it is pending there already (cancelled,
 * but not run yet), or the thread or the module is exiting. The thread may sleep for long before
 * it runs its task_work: until then the references keep the device, and let rmmod fail.
 */
static bool add_vcpu_work(struct kvnet_work *work)
{
	if (test_and_set_bit_lock(0, &work->task_work_queued))
		return false;
	if (!try_module_get(THIS_MODULE))
		goto out;
	if (!compat_task_work_add(current, &work->task_work)) {
		work->workers->ops->get(work->workers);
		return true;
	}
	module_put(THIS_MODULE);
out:
	clear_bit_unlock(0, &work->task_work_queued);
	return false;
}

static void poll_work_vcpu(struct callback_head *head)
{
	struct kvnet_work *work = container_of(head, struct kvnet_work, task_work);
	enum kvnet_work_result result = KVNET_WORK_REPOLL;
	struct kvnet_workers *workers = work->workers;

	/* From here on it may be added again. */
	clear_bit_unlock(0, &work->task_work_queued);
	/* K, before the grab: kvnet_workers_cancel_inline() grabs first, then reads the count. */
	atomic_inc(&workers->vcpu_running);
	if (kvnet_run_state_grab_task_work(&work->run_state)) {
		/* task_work of an exiting thread runs after the thread has dropped its mm. */
		if (likely(current->mm == work->worker->thread.mm))
			result = work->ops->poll_vcpu(work);
		trace_kvnet_poll(workers->owner, work->index, result);
		if (result == KVNET_WORK_REPOLL)
			kvnet_work_queue(work, KVNET_EV_KICK);
	}
	/* A full barrier, so that wake_up_var() sees the waiter, or the waiter the zero. */
	if (atomic_dec_and_test(&workers->vcpu_running))
		wake_up_var(&workers->vcpu_running);
	/* May free the work. kvnet_exit() waits for the return. */
	workers->ops->put(workers);
	module_put(THIS_MODULE);
}

/* A frame may go to many taps: this bounds the time of their tasklets in one softirq. */
static bool schedule_work_tasklet(struct kvnet_work *work)
{
	atomic_t *pending = raw_cpu_ptr(&cpu_pending_tasklets);

	if (atomic_inc_return(pending) > KVNET_WORK_TASKLETS_MAX) {
		atomic_dec(pending);
		return false;
	}
	work->pending_tasklets = pending;
	tasklet_schedule(&work->tasklet);
	return true;
}

static void poll_work_softirq(struct tasklet_struct *tasklet)
{
	struct kvnet_work *work = container_of(tasklet, struct kvnet_work, tasklet);
	enum kvnet_work_result result;

	atomic_dec(work->pending_tasklets);
	result = work->ops->poll_softirq(work);
	trace_kvnet_poll(work->workers->owner, work->index, result);
	if (result == KVNET_WORK_REPOLL)
		kvnet_work_queue(work, KVNET_EV_TAP);
}

/*** events ***/

/*
 * A frame of the tap only if the CPU is in softirq context or has bottom halves disabled already
 * (else ksoftirqd would be woken, no better than the worker). No inline poll while the worker is
 * frozen or stopped: the VMM is not to be served then.
 */
static bool softirq_could_poll(const struct kvnet_work *work, unsigned int event)
{
	if (event == KVNET_EV_TAP && (!softirq_count() || in_hardirq()))
		return false;
	return kvnet_work_cpu_may_inline() && !kvnet_thread_is_halted(&work->worker->thread);
}

/* Returns the permission in the run state, if the context that it names could poll here and now. */
static int offer_inline_context(const struct kvnet_work *work, unsigned int event)
{
	int offer = kvnet_run_state_inline_hint(&work->run_state, event);
	bool could;

	if (!offer)
		return 0;
	if (offer == KVNET_EV_SOFTIRQ(event))
		could = softirq_could_poll(work, event);
	else if (event == KVNET_EV_TIMER)
		could = may_add_task_work_hardirq(work->worker->thread.mm);
	else
		could = may_add_task_work(work->worker->thread.mm);
	return could ? offer : 0;
}

/* A clock read is the cost of a sample. Timer and control events have no latency to measure. */
static void sample_event_time(struct kvnet_work *work, unsigned int event)
{
	u64 now = 0;
	u8 n;

	if (event & (KVNET_EV_KICK | KVNET_EV_TAP)) {
		n = READ_ONCE(work->sample_count);
		WRITE_ONCE(work->sample_count, n + 1);
		if (!(n % KVNET_WORK_SAMPLE_EVERY))
			now = local_clock();
	}
	WRITE_ONCE(work->woken_ns, now);
}

/*
 * An event that is enabled sets SCHED. Unlike napi_schedule_prep() this also adds the task_work or
 * the tasklet. True: the caller must call kvnet_work_queue(), for the worker. False: the event is
 * not enabled, or another context runs the work or is going to. Any context, also with interrupts
 * off.
 */
bool kvnet_work_schedule_prep(struct kvnet_work *work, unsigned int event)
{
	enum kvnet_run_context context;

	if (KVNET_STATS_ENABLED && event == KVNET_EV_KICK)
		atomic_long_inc(&work->kicks);
	context = kvnet_run_state_schedule_prep(&work->run_state, event,
						offer_inline_context(work, event));
	if (context == KVNET_RUN_NONE)
		return false;
	if (KVNET_STATS_ENABLED)
		sample_event_time(work, event);
	trace_kvnet_work_event(work->workers->owner, work->index, event);
	if (context == KVNET_RUN_VCPU)
		return !add_vcpu_work(work) && kvnet_run_state_grab_task_work(&work->run_state);
	return context == KVNET_RUN_WORKER || !schedule_work_tasklet(work);
}

void kvnet_work_schedule(struct kvnet_work *work, unsigned int event)
{
	if (kvnet_work_schedule_prep(work, event))
		kvnet_work_queue(work, event);
}

static enum hrtimer_restart work_timer_expired(struct hrtimer *timer)
{
	struct kvnet_work *work = container_of(timer, struct kvnet_work, timer);

	if (!READ_ONCE(work->worker->thread.exiting))
		kvnet_work_schedule(work, KVNET_EV_TIMER);
	return HRTIMER_NORESTART;
}

/*
 * As kvnet_work_complete(), but until the timer expires, in @ns. Kicks and frames schedule nothing
 * until then, so the caller does not recheck for work.
 */
bool kvnet_work_complete_for(struct kvnet_work *work, unsigned int events, u32 ns)
{
	work->deadline_ns = 0;
	if (!kvnet_run_state_complete(&work->run_state, events))
		return false;
	hrtimer_start(&work->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
	return true;
}

/**
 * kvnet_work_start_timer() - start the timer of a work that waits for KVNET_EV_TIMER, too
 * @work: the work, in a session; its poll is complete or is about to be
 * @now_ns: the local clock
 * @ns: until it expires; a queued timer that expires no earlier than half of that is left as it is
 *
 * Starting a timer costs as much as processing a few packets in the ring. The clocks of two CPUs
 * may differ: that makes the timer early or late, but a queued timer always expires.
 *
 * Context: process context.
 */
void kvnet_work_start_timer(struct kvnet_work *work, u64 now_ns, u32 ns)
{
	if ((s64)(work->deadline_ns - now_ns) >= (s64)(ns / 2) && hrtimer_is_queued(&work->timer))
		return;
	work->deadline_ns = now_ns + ns;
	hrtimer_start(&work->timer, ns_to_ktime(ns), HRTIMER_MODE_REL_PINNED_HARD);
}

void kvnet_work_init(struct kvnet_work *work, struct kvnet_workers *workers,
		     const struct kvnet_work_ops *ops)
{
	work->ops = ops;
	work->workers = workers;
	work->index = workers->n++;
	work->worker = &workers->worker[work->index];
	work->worker->work = work;
	init_task_work(&work->task_work, poll_work_vcpu);
	tasklet_setup(&work->tasklet, poll_work_softirq);
	hrtimer_setup(&work->timer, work_timer_expired, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_PINNED_HARD);
}
