// SPDX-License-Identifier: GPL-2.0
/*
 * crew_place.c - where the workers of a device run, see place.h
 */
#include "crew.h"

#include <linux/errno.h>
#include <linux/iopoll.h>
#include <linux/jiffies.h>
#include <linux/numa.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/time64.h>
#include <linux/workqueue.h>

#include "source.h"
#include "user.h"
#include "worker.h"

/* How long an operator waits for others who are at the workers, and then for a cpuset to stay. */
#define PATIENCE_S	5

/* What is wanted, for a thread of the kernel's. */
struct errand {
	struct work_struct work;
	struct kvnet_crew *crew;
	const struct kvnet_place *want;
	struct kvnet_user *user;
	struct cpumask *cpus;
	bool done;
	int ret;
};

/* What is wanted, on top of what is. */
static int merge(const struct kvnet_crew *crew, struct kvnet_place *next,
		 const struct kvnet_place *want)
{
	if (want->has_cpus) {
		next->has_cpus = true;
		next->all_cpus = want->all_cpus;
		next->cpus = want->cpus;
	}
	if (want->has_node) {
		next->has_node = true;
		next->follow = want->follow;
		next->node = want->follow ? crew->memory_node : want->node;
		next->all_cpus |= !next->has_cpus;
		next->has_cpus = true;
	}
	if (want->has_nice) {
		next->has_nice = true;
		next->nice = want->nice;
	}
	if (want->has_sched) {
		next->has_sched = true;
		next->sched = want->sched;
	}
	if (want->priority)
		next->priority = want->priority;
	if (next->has_sched && (next->sched == SCHED_FIFO || next->sched == SCHED_RR))
		return 0;
	next->priority = 0;
	return want->priority ? -ERANGE : 0;
}

static int find_seats(struct kvnet_crew *crew, struct kvnet_seat *seat,
		      const struct kvnet_place *step)
{
	unsigned int i;
	int ret = 0;

	for (i = 0; i < KVNET_CREW_ALL && !ret; i++)
		if (crew->worker[i])
			ret = kvnet_seat_find(&seat[i], &crew->worker[i]->thread, step);
	return ret;
}

/* All of them, or none. */
static int take_seats(struct kvnet_seat *seat, const struct kvnet_place *step)
{
	unsigned int i, done;
	int ret = 0;

	for (i = 0; i < KVNET_CREW_ALL && !ret; i++)
		if (seat[i].task)
			ret = step->has_cpus && time_after(jiffies, step->till) ? -EAGAIN :
			      kvnet_seat_take(&seat[i], step);
	done = ret ? i : 0;
	for (i = 0; i < done; i++)
		if (seat[i].task)
			kvnet_seat_leave(&seat[i], step);
	return ret;
}

/* roster */
static int place_all(struct kvnet_crew *crew, const struct kvnet_place *step)
{
	int ret = find_seats(crew, crew->seat, step);

	if (!ret)
		ret = take_seats(crew->seat, step);
	kvnet_seats_clear(crew->seat, KVNET_CREW_ALL);
	return ret;
}

/* What there is to do: of scheduling all or nothing, since one call does it. */
static struct kvnet_place to_do(const struct kvnet_place *next,
				const struct kvnet_place *want)
{
	struct kvnet_place step = *next;

	step.has_cpus = want->has_cpus || want->has_node;
	step.has_sched = want->has_sched || want->priority;
	step.has_nice = want->has_nice;
	step.till = jiffies + PATIENCE_S * HZ;
	return step;
}

/* roster */
static void be_at(struct kvnet_crew *crew, const struct kvnet_place *next)
{
	struct cpumask *cpus = crew->place.cpus;

	spin_lock(&crew->lock);
	crew->place = *next;
	spin_unlock(&crew->lock);
	if (cpus != next->cpus)
		kfree(cpus);
}

/* roster; @cpus becomes the crew's, if there is no error */
static int set_place(struct kvnet_crew *crew, const struct kvnet_place *want,
		     struct cpumask *cpus)
{
	struct kvnet_place next = crew->place, step;
	int ret = merge(crew, &next, want);

	if (ret)
		return ret;
	if (want->has_cpus)
		next.cpus = cpus;
	step = to_do(&next, want);
	ret = place_all(crew, &step);
	if (!ret)
		be_at(crew, &next);
	return ret;
}

static void run_errand(struct work_struct *work)
{
	struct errand *e = container_of(work, struct errand, work);

	if (e->user && !kvnet_user_turn(e->user))
		return;
	e->done = mutex_trylock(&e->crew->roster);
	if (e->done) {
		e->ret = set_place(e->crew, e->want, e->cpus);
		mutex_unlock(&e->crew->roster);
	}
	if (e->user)
		kvnet_user_turn_over(e->user);
}

/* Is it done, by now? No thread of the kernel's waits for who has the roster. */
static bool try_errand(struct errand *e)
{
	if (!mutex_is_locked(&e->crew->roster) && !(e->user && kvnet_user_has_turn(e->user)))
		kvnet_place_do(&e->work);
	return e->done;
}

/*
 * Who comes by netlink has what others wait for, of any family, and may be kept from running
 * by his control group: he has no lock of ours meanwhile. Nor does he wait long for somebody of
 * the VMM's who is, and has the roster. One of each user's devices is placed at a time: so what
 * others wait for is short.
 */
static int run(struct errand *e)
{
	bool done;

	INIT_WORK_ONSTACK(&e->work, run_errand);
	read_poll_timeout(try_errand, done, done, USEC_PER_MSEC, PATIENCE_S * USEC_PER_SEC,
			  false, e);
	destroy_work_on_stack(&e->work);
	return done ? e->ret : -EBUSY;
}

/**
 * kvnet_crew_set_place() - where all workers run from now on
 * @crew: the crew, with or without workers
 * @want: what is to change; a copy is made of the mask
 * @user: whose device it is
 *
 * Those that are hired later on do so, too.
 *
 * Context: may sleep, for a while; of who has found the device (registry.h).
 * Return: 0; -EINVAL: a worker's cpuset has none of these CPUs, on that node; -ERANGE: a priority,
 * but no real-time class; -EBUSY: somebody places or makes workers, and does not get done; -EAGAIN: not
 * in time, as when a cpuset changes all the time; -ENOMEM;
 * -errno, as kvnet_seat_find(). With an error nothing has changed.
 */
int kvnet_crew_set_place(struct kvnet_crew *crew, const struct kvnet_place *want,
			 struct kvnet_user *user)
{
	struct errand e = {
		.crew = crew,
		.want = want,
		/* To ask for a cpuset takes locks that all share; the rest does not. */
		.user = want->has_cpus || want->has_node ? user : NULL,
	};
	int ret;

	if (want->has_cpus && !want->all_cpus) {
		e.cpus = kmemdup(want->cpus, cpumask_size(), GFP_KERNEL_ACCOUNT);
		if (!e.cpus)
			return -ENOMEM;
	}
	ret = run(&e);
	if (ret)
		kfree(e.cpus);
	return ret;
}

/**
 * kvnet_crew_get_place() - where all workers run, for those who only look
 * @crew: the crew
 * @place: filled in; its mask is the caller's, for kfree(), and empty where it has none
 *
 * Context: may sleep, but waits for nobody who places workers.
 * Return: 0 or -ENOMEM.
 */
int kvnet_crew_get_place(struct kvnet_crew *crew, struct kvnet_place *place)
{
	struct cpumask *cpus = kzalloc(cpumask_size(), GFP_KERNEL);

	if (!cpus)
		return -ENOMEM;
	spin_lock(&crew->lock);
	*place = crew->place;
	if (place->cpus)
		cpumask_copy(cpus, place->cpus);
	spin_unlock(&crew->lock);
	place->cpus = cpus;
	return 0;
}

/**
 * kvnet_crew_memory_at() - the guest's memory has been seen
 * @crew: the crew
 * @node: on this NUMA node; NUMA_NO_NODE: it is not known
 *
 * Workers that are to follow it go there, if their cpuset has CPUs there.
 *
 * Context: the owner; may sleep, for a while if they do; dev->lock.
 */
void kvnet_crew_memory_at(struct kvnet_crew *crew, int node)
{
	const struct kvnet_place want = { .has_node = true, .follow = true };

	if (node == NUMA_NO_NODE)
		return;
	if (mutex_lock_killable(&crew->roster))
		return;
	crew->memory_node = node;
	if (crew->place.follow && crew->place.node != node)
		set_place(crew, &want, NULL);
	mutex_unlock(&crew->roster);
}

/**
 * kvnet_crew_forget_place() - workers run where they are made from now on
 * @crew: the crew
 *
 * Context: may sleep.
 */
void kvnet_crew_forget_place(struct kvnet_crew *crew)
{
	mutex_lock(&crew->roster);
	be_at(crew, &(struct kvnet_place) {});
	crew->memory_node = NUMA_NO_NODE;
	mutex_unlock(&crew->roster);
}

/* roster; all of it, or nothing */
static void take_seat(struct kvnet_crew *crew, struct kvnet_thread *self,
		      const struct kvnet_place *place)
{
	int ret = kvnet_seat_find(crew->seat, self, place);

	if (!ret && kvnet_seat_take(crew->seat, place))
		kvnet_seat_leave(crew->seat, place);
	kvnet_seats_clear(crew->seat, 1);
}

/**
 * kvnet_crew_seat() - a worker's thread begins: it goes where it belongs
 * @crew: the crew
 * @self: the thread
 *
 * If its cpuset has none of the CPUs by now, it stays where it is; so it does if it is to end.
 *
 * Context: @self; may sleep.
 */
void kvnet_crew_seat(struct kvnet_crew *crew, struct kvnet_thread *self)
{
	struct kvnet_place cpus, rest;

	if (mutex_lock_killable(&crew->roster))
		return;
	cpus = crew->place;
	cpus.has_nice = false;
	cpus.has_sched = false;
	cpus.till = jiffies + PATIENCE_S * HZ;
	rest = crew->place;
	rest.has_cpus = false;
	if (cpus.has_cpus)
		take_seat(crew, self, &cpus);
	if (rest.has_nice || rest.has_sched)
		take_seat(crew, self, &rest);
	mutex_unlock(&crew->roster);
}

/**
 * kvnet_crew_at() - which sources are at home with a worker?
 * @crew: the crew
 * @w: the worker
 *
 * Context: any.
 * Return: as bits.
 */
unsigned long kvnet_crew_at(const struct kvnet_crew *crew, const struct kvnet_worker *w)
{
	unsigned long at = 0;
	unsigned int i;

	for (i = 0; i < crew->n; i++)
		if (kvnet_crew_is_home(crew->source[i], w))
			at |= BIT(i);
	return at;
}
