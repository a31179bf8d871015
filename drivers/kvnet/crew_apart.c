// SPDX-License-Identifier: GPL-2.0
/*
 * crew_apart.c - a second thread for the device's last source, while both are busy
 *
 * The thread is made when it is first of use, by the one that there is, and stays. What
 * it serves is its own as long as &kvnet_source.away says so. Who holds the source sets
 * that, with the roster, so that the thread is not let go of meanwhile; and takes it back.
 */
#include "crew.h"

#include <linux/cpumask.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/clock.h>
#include <linux/sched/stat.h>

#include "source.h"
#include "worker.h"

/* Until a thread is asked for again that could not be had, in ns. */
#define AGAIN_NS	1000000000ULL

static struct kvnet_source *last_source(const struct kvnet_crew *crew)
{
	return crew->source[crew->n - 1];
}

static bool is_apart(const struct kvnet_crew *crew)
{
	return rcu_access_pointer(last_source(crew)->away);
}

/* roster; NULL: there is none, and cannot be */
static struct kvnet_worker *second(struct kvnet_crew *crew, const struct kvnet_worker *by)
{
	struct kvnet_worker *w = crew->worker[KVNET_CREW_SECOND];
	u64 now = local_clock();

	if (crew->by_vmm || READ_ONCE(crew->stopping))
		return NULL;
	if (w || (crew->again_ns && now < crew->again_ns))
		return w;
	w = kvnet_crew_make(crew, by);
	if (!w) {
		crew->again_ns = now + AGAIN_NS;
		WRITE_ONCE(crew->refused, crew->refused + 1);
		return NULL;
	}
	crew->again_ns = 0;
	kvnet_crew_list(crew, KVNET_CREW_SECOND, w);
	return w;
}

/* Who has the roster may be waiting for something: then there is another time. */
static bool part(struct kvnet_crew *crew, const struct kvnet_worker *by)
{
	struct kvnet_worker *w;

	if (!mutex_trylock(&crew->roster))
		return false;
	w = second(crew, by);
	if (w) {
		rcu_assign_pointer(last_source(crew)->away, w);
		WRITE_ONCE(crew->parted, crew->parted + 1);
	}
	mutex_unlock(&crew->roster);
	return w;
}

static void join(struct kvnet_crew *crew)
{
	RCU_INIT_POINTER(last_source(crew)->away, NULL);
	WRITE_ONCE(crew->joined, crew->joined + 1);
}

/**
 * kvnet_crew_home() - which worker is to run a source?
 * @src: the source
 *
 * Context: RCU read lock.
 * Return: the worker; NULL without an owner.
 */
struct kvnet_worker *kvnet_crew_home(const struct kvnet_source *src)
{
	struct kvnet_worker *w = rcu_dereference(src->away);

	return w ? w : rcu_dereference(src->home);
}

/**
 * kvnet_crew_is_home() - is that one to run a source?
 * @src: the source
 * @w: a worker; not looked at
 *
 * Context: any.
 * Return: true if so.
 */
bool kvnet_crew_is_home(const struct kvnet_source *src, const struct kvnet_worker *w)
{
	const struct kvnet_worker *away = rcu_access_pointer(src->away);

	return w == (away ? away : rcu_access_pointer(src->home));
}

static struct kvnet_work all_work(const struct kvnet_crew *crew)
{
	struct kvnet_work all = {};
	unsigned int i;

	for (i = 0; i < crew->n; i++) {
		all.both[i] = atomic64_read(&crew->source[i]->both_ns);
		all.all += atomic64_read(&crew->source[i]->all_ns);
		all.crowded += atomic64_read(&crew->source[i]->crowded_ns);
	}
	return all;
}

/* Might there be a CPU for it? Whether it is free is found out by trying. */
static bool has_cpus(void)
{
	return num_online_cpus() > 1 && cpumask_weight(current->cpus_ptr) > 1;
}

/* The last source is held: so nobody else looks at the rule, or changes what is apart. */
static void decide(struct kvnet_crew *crew, const struct kvnet_worker *by)
{
	const struct kvnet_work done = all_work(crew);
	u64 now = local_clock();
	bool apart;

	if (crew->rule.apart != is_apart(crew))
		kvnet_apart_set(&crew->rule, now, is_apart(crew));
	if (!kvnet_apart_look(&crew->rule, now, &done))
		return;
	apart = !crew->rule.apart && has_cpus() && part(crew, by);
	if (crew->rule.apart)
		join(crew);
	kvnet_apart_set(&crew->rule, now, apart);
}

/**
 * kvnet_crew_obey() - one thread or two, from now on: as has been said, or as it is better
 * @src: the source that is going to run
 * @by: the worker that holds it
 * @both: all sources that it serves have work
 *
 * Context: @by, between its turns; may sleep.
 */
void kvnet_crew_obey(struct kvnet_source *src, const struct kvnet_worker *by, bool both)
{
	struct kvnet_crew *crew = src->crew;
	u32 threads = READ_ONCE(crew->policy);

	if (likely(src != last_source(crew) || READ_ONCE(crew->by_vmm)))
		return;
	if (threads == KVNET_THREAD_POLICY_AUTO) {
		if (both || is_apart(crew))
			decide(crew, by);
		return;
	}
	if (threads == KVNET_THREAD_POLICY_ONE && is_apart(crew))
		join(crew);
	else if (threads == KVNET_THREAD_POLICY_TWO && !is_apart(crew))
		part(crew, by);
	if (crew->rule.apart)
		kvnet_apart_reset(&crew->rule);
}

/**
 * kvnet_crew_watch() - a turn begins
 * @watch: filled in; for kvnet_crew_watched()
 * @src: the source that runs
 * @both: all sources have work
 *
 * Context: the worker.
 */
void kvnet_crew_watch(struct kvnet_watch *watch, struct kvnet_source *src, bool both)
{
	const struct kvnet_crew *crew = src->crew;
	bool apart;

	*watch = (struct kvnet_watch) {};
	if (READ_ONCE(crew->policy) != KVNET_THREAD_POLICY_AUTO || READ_ONCE(crew->by_vmm))
		return;
	apart = is_apart(crew);
	if (!apart && !both)
		return;
	watch->both = apart ? READ_ONCE(crew->source[!src->bit]->runs) : both;
	WRITE_ONCE(src->runs, apart);
	watch->begin_ns = local_clock();
}

/**
 * kvnet_crew_watched() - the turn is over
 * @watch: from kvnet_crew_watch()
 * @src: the source that has run, and may rest by now
 *
 * Context: the worker.
 */
void kvnet_crew_watched(const struct kvnet_watch *watch, struct kvnet_source *src)
{
	struct kvnet_crew *crew = src->crew;
	bool both = watch->both;
	u64 now, ns;

	if (!watch->begin_ns)
		return;
	now = local_clock();
	ns = now > watch->begin_ns ? now - watch->begin_ns : 0;
	if (READ_ONCE(src->runs)) {
		both |= READ_ONCE(crew->source[!src->bit]->runs);
		WRITE_ONCE(src->runs, false);
	}
	atomic64_add(ns, &src->all_ns);
	if (both)
		atomic64_add(ns, &src->both_ns);
	if (!single_task_running())
		atomic64_add(ns, &src->crowded_ns);
}

/**
 * kvnet_crew_set_threads() - one thread, one for each source, or as it is better
 * @crew: the crew, with or without workers
 * @threads: KVNET_THREAD_POLICY_*
 *
 * Context: dev->lock, or of who has found the device (registry.h).
 */
void kvnet_crew_set_threads(struct kvnet_crew *crew, u32 threads)
{
	struct kvnet_source *src = last_source(crew);

	WRITE_ONCE(crew->policy, threads);
	if (rcu_access_pointer(src->home))
		kvnet_source_wake(src, KVNET_EV_CTRL);
}

/**
 * kvnet_crew_dismiss() - the VMM says who serves what: no second thread from now on
 * @crew: the crew, started
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: 1 if it has said so before, or 0; -EINTR when it is being killed.
 */
int kvnet_crew_dismiss(struct kvnet_crew *crew)
{
	struct kvnet_worker *w;
	bool said;

	if (mutex_lock_killable(&crew->roster))
		return -EINTR;
	said = crew->by_vmm;
	WRITE_ONCE(crew->by_vmm, true);
	w = crew->worker[KVNET_CREW_SECOND];
	kvnet_crew_list(crew, KVNET_CREW_SECOND, NULL);
	RCU_INIT_POINTER(last_source(crew)->away, NULL);
	mutex_unlock(&crew->roster);
	if (w)
		kvnet_crew_let_go(crew, w);
	return said;
}

/**
 * kvnet_crew_undo_dismiss() - what the VMM said is refused
 * @crew: the crew, after kvnet_crew_dismiss()
 * @said: what that has returned
 *
 * A second thread that there was comes back as it came. Not to an owner that is being killed.
 *
 * Context: the owner; may sleep; dev->lock.
 */
void kvnet_crew_undo_dismiss(struct kvnet_crew *crew, bool said)
{
	if (mutex_lock_killable(&crew->roster))
		return;
	WRITE_ONCE(crew->by_vmm, said);
	mutex_unlock(&crew->roster);
	kvnet_source_wake(last_source(crew), KVNET_EV_CTRL);
}
