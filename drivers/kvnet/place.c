// SPDX-License-Identifier: GPL-2.0
/*
 * place.c - where a thread runs, and how, see place.h
 *
 * The kernel does not tell modules which CPUs a cpuset has; but a thread that joins a
 * cgroup is put on them. So one is sent there, asleep, and it is looked where it could run.
 */
#include "place.h"

#include <linux/cgroup.h>
#include <linux/completion.h>
#include <linux/err.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <linux/kthread.h>
#include <linux/mutex.h>
#include <linux/sched.h>
#include <linux/sched/task.h>
#include <linux/slab.h>
#include <linux/topology.h>
#include <linux/workqueue.h>
#include <uapi/linux/sched/types.h>

#include "thread.h"

/* Of a seat. */
#define MASKS	4
/* How much longer a cpuset that changes all the time is looked at to go back. */
#define BACK	HZ

/*
 * Of the kernel's threads, which no group keeps from running: who joins a group has locks
 * meanwhile without which nobody forks or ends, and who places workers has what their VMM
 * and others wait for. Where a group has used up its time the kernel may have either wait
 * till there is some again.
 */
static struct workqueue_struct *queue;

/* Who is on the way has it: so whom he goes to is held no longer than that takes. */
static DEFINE_MUTEX(road);

/* Who is sent, where to, and what is found there. */
struct trip {
	struct work_struct work;
	struct task_struct *scout;
	struct kvnet_thread *to;
	struct cpumask *allowed;
	int ret;
};

/**
 * kvnet_place_init() - before first use
 *
 * Context: may sleep.
 * Return: 0 or -ENOMEM.
 */
int kvnet_place_init(void)
{
	queue = alloc_workqueue("kvnet_place", WQ_UNBOUND, 0);
	return queue ? 0 : -ENOMEM;
}

/**
 * kvnet_place_exit() - after last use
 *
 * Context: may sleep.
 */
void kvnet_place_exit(void)
{
	destroy_workqueue(queue);
}

/**
 * kvnet_place_do() - have something done by a thread of the kernel's
 * @work: it, on the caller's stack; it waits for nobody who waits for such a thread
 *
 * Context: may sleep, until it is done.
 */
void kvnet_place_do(struct work_struct *work)
{
	/* Who is one does it, so that none waits for another. */
	if (current->flags & PF_WQ_WORKER) {
		work->func(work);
		return;
	}
	queue_work(queue, work);
	flush_work(work);
}

/**
 * kvnet_place_cpus() - where may a thread run just now?
 * @task: the thread
 * @mask: filled in
 */
void kvnet_place_cpus(struct task_struct *task, struct cpumask *mask)
{
	unsigned long flags;

	raw_spin_lock_irqsave(&task->pi_lock, flags);
	cpumask_copy(mask, task->cpus_ptr);
	raw_spin_unlock_irqrestore(&task->pi_lock, flags);
}

static void travel(struct work_struct *work)
{
	struct trip *trip = container_of(work, struct trip, work);
	struct task_struct *to;

	mutex_lock(&road);
	to = kvnet_thread_hold(trip->to);
	trip->ret = to ? cgroup_attach_task_all(to, trip->scout) : -EOWNERDEAD;
	if (to) {
		kvnet_thread_unhold(trip->to);
		put_task_struct(to);
	}
	if (!trip->ret)
		kvnet_place_cpus(trip->scout, trip->allowed);
	/* Where the kernel's threads are: its end, which is waited for, is not up to that group. */
	cgroup_attach_task_all(current, trip->scout);
	mutex_unlock(&road);
}

static int there_and_back(struct trip *trip)
{
	INIT_WORK_ONSTACK(&trip->work, travel);
	kvnet_place_do(&trip->work);
	destroy_work_on_stack(&trip->work);
	return trip->ret;
}

static int scout_fn(void *begun)
{
	complete(begun);
	for (;;) {
		set_current_state(TASK_IDLE);
		if (kthread_should_stop())
			break;
		schedule();
	}
	__set_current_state(TASK_RUNNING);
	return 0;
}

static int find_allowed(struct kvnet_thread *thread, struct cpumask *allowed)
{
	struct trip trip = { .to = thread, .allowed = allowed };
	DECLARE_COMPLETION_ONSTACK(begun);
	struct task_struct *scout;
	int ret;

	scout = kthread_run(scout_fn, &begun, "kvnet_cpuset");
	if (IS_ERR(scout))
		return PTR_ERR(scout);
	/* The kernel sets where a thread may run until this begins. */
	wait_for_completion(&begun);
	/* What a cpuset of all CPUs leaves as it is. */
	set_cpus_allowed_ptr(scout, cpu_possible_mask);
	trip.scout = scout;
	ret = there_and_back(&trip);
	kthread_stop(scout);
	return ret;
}

static int choose_cpus(struct kvnet_seat *seat, const struct kvnet_place *place)
{
	int ret = find_allowed(seat->thread, seat->allowed);

	if (ret)
		return ret;
	if (place->all_cpus)
		cpumask_copy(seat->now, seat->allowed);
	else if (!cpumask_and(seat->now, seat->allowed, place->cpus))
		return -EINVAL;
	if (!place->has_node || place->node == NUMA_NO_NODE)
		return 0;
	return cpumask_and(seat->now, seat->now, cpumask_of_node(place->node)) ? 0 : -EINVAL;
}

/**
 * kvnet_seats_new() - as many seats
 * @n: how many
 *
 * Context: may sleep; who pays for them.
 * Return: them, with nobody in them, for kvnet_seats_free(); NULL: no memory.
 */
struct kvnet_seat *kvnet_seats_new(unsigned int n)
{
	const size_t masks = MASKS * cpumask_size();
	struct kvnet_seat *seat = kvcalloc(n, sizeof(*seat) + masks, GFP_KERNEL_ACCOUNT);
	char *mask = (char *)(seat + n);
	unsigned int i;

	for (i = 0; seat && i < n; i++, mask += masks) {
		seat[i].before = (struct cpumask *)mask;
		seat[i].allowed = (struct cpumask *)(mask + cpumask_size());
		seat[i].now = (struct cpumask *)(mask + 2 * cpumask_size());
		seat[i].last = (struct cpumask *)(mask + 3 * cpumask_size());
	}
	return seat;
}

/**
 * kvnet_seat_find() - find out how a thread runs, and where it could
 * @seat: from kvnet_seats_new(), filled in
 * @thread: the thread, which is not stopped before kvnet_seats_clear(); @seat has no task if it has
 * not begun
 * @place: how it is to run
 *
 * Context: may sleep, for tens of milliseconds.
 * Return: 0; -EINVAL: its cpuset has none of these CPUs; -EOWNERDEAD: it is to end;
 * -EINTR, in a process that is killed; -errno: what its cpuset has cannot be found out.
 */
int kvnet_seat_find(struct kvnet_seat *seat, struct kvnet_thread *thread,
		    const struct kvnet_place *place)
{
	struct task_struct *task = kvnet_thread_get_task(thread);

	seat->thread = thread;
	seat->task = task;
	if (!task)
		return 0;
	seat->sched = task->policy;
	seat->priority = task->rt_priority;
	seat->nice = task_nice(task);
	if (!place->has_cpus)
		return 0;
	kvnet_place_cpus(task, seat->before);
	return choose_cpus(seat, place);
}

static bool is_realtime(u32 sched)
{
	return sched == SCHED_FIFO || sched == SCHED_RR;
}

static int set_sched(struct task_struct *task, u32 sched, u32 priority, int nice)
{
	const struct sched_attr attr = {
		.size = sizeof(attr),
		.sched_policy = sched,
		.sched_priority = is_realtime(sched) ? priority : 0,
		.sched_nice = nice,
	};
	int ret = sched_setattr_nocheck(task, &attr);

	/* A class without nice values leaves it as it is. */
	if (!ret && task_nice(task) != nice)
		set_user_nice(task, nice);
	return ret;
}

/*
 * The cpuset may change meanwhile. If that is before we look once more, we do it
 * again; if it is after that, the kernel puts the thread where it belongs by itself.
 */
static int take_cpus(struct kvnet_seat *seat, const struct kvnet_place *place)
{
	bool moved = false;
	int ret;

	do {
		cpumask_copy(seat->last, seat->allowed);
		ret = set_cpus_allowed_ptr(seat->task, seat->now);
		if (!ret)
			ret = choose_cpus(seat, place);
		if (!ret)
			moved = !cpumask_equal(seat->last, seat->allowed);
		if (!ret && moved && time_after(jiffies, place->till))
			ret = -EAGAIN;
	} while (!ret && moved);
	return ret;
}

/**
 * kvnet_seat_take() - have the thread run so
 * @seat: from kvnet_seat_find()
 * @place: the same
 *
 * Context: as kvnet_seat_find().
 * Return: as kvnet_seat_find(); -EAGAIN: the cpuset changes all the time; kvnet_seat_leave() undoes
 * it in any case.
 */
int kvnet_seat_take(struct kvnet_seat *seat, const struct kvnet_place *place)
{
	int nice = place->has_nice ? place->nice : seat->nice;
	int ret = place->has_cpus ? take_cpus(seat, place) : 0;

	if (!ret && place->has_sched)
		ret = set_sched(seat->task, place->sched, max(place->priority, 1u), nice);
	else if (!ret && place->has_nice)
		set_user_nice(seat->task, nice);
	return ret;
}

static int go_back(struct kvnet_seat *seat, unsigned long till, bool all_cpus)
{
	const struct kvnet_place place = {
		.has_cpus = true,
		.all_cpus = all_cpus,
		.cpus = seat->before,
		.till = till,
	};
	int ret = choose_cpus(seat, &place);

	return ret ? ret : take_cpus(seat, &place);
}

/* Where it was; or, if its cpuset has none of that any more, on all that this has. */
static void leave_cpus(struct kvnet_seat *seat, unsigned long till)
{
	int ret = go_back(seat, till, false);

	if (ret == -EINVAL)
		ret = go_back(seat, till, true);
	if (!ret)
		return;
	/* It cannot be asked. What it had when it could is the best that is known. */
	if (!cpumask_and(seat->now, seat->before, seat->allowed))
		cpumask_copy(seat->now, seat->allowed);
	set_cpus_allowed_ptr(seat->task, seat->now);
}

/**
 * kvnet_seat_leave() - have the thread run as it did before
 * @seat: from kvnet_seat_find()
 * @place: the same
 *
 * Context: may sleep.
 */
void kvnet_seat_leave(struct kvnet_seat *seat, const struct kvnet_place *place)
{
	if (place->has_cpus)
		leave_cpus(seat, place->till + BACK);
	if (place->has_sched)
		set_sched(seat->task, seat->sched, seat->priority, seat->nice);
	else if (place->has_nice)
		set_user_nice(seat->task, seat->nice);
}

/**
 * kvnet_seats_clear() - forget about the threads
 * @seat: from kvnet_seats_new()
 * @n: how many
 */
void kvnet_seats_clear(struct kvnet_seat *seat, unsigned int n)
{
	unsigned int i;

	for (i = 0; i < n; i++) {
		if (seat[i].task)
			put_task_struct(seat[i].task);
		seat[i].task = NULL;
	}
}

/**
 * kvnet_seats_free() - no seats any more
 * @seat: from kvnet_seats_new(), with nobody in them, or NULL
 */
void kvnet_seats_free(struct kvnet_seat *seat)
{
	kvfree(seat);
}
