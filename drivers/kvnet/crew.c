// SPDX-License-Identifier: GPL-2.0
/*
 * crew.c - the workers of a device: their beginning and their end, see crew.h
 */
#include "crew.h"

#include <linux/err.h>
#include <linux/errno.h>
#include <linux/nospec.h>
#include <linux/rcupdate.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>
#include <linux/wait_bit.h>

#include "lend.h"
#include "source.h"
#include "worker.h"

/* When it returns nobody runs what was lent, nor a softirq anything, nor will. */
static void call_off(struct kvnet_crew *crew)
{
	unsigned int i;

	for (i = 0; i < crew->n; i++) {
		kvnet_claim_take_lent(&crew->source[i]->claim);
		tasklet_kill(&crew->source[i]->soft);
	}
	WRITE_ONCE(crew->calls_off, true);
	/* Before it is looked at; see run_lent(). */
	smp_mb();
	wait_var_event(&crew->lent, !atomic_read(&crew->lent));
	WRITE_ONCE(crew->calls_off, false);
}

/**
 * kvnet_crew_init() - before first use
 * @crew: the crew, zeroed
 * @ops: its device's
 */
void kvnet_crew_init(struct kvnet_crew *crew, const struct kvnet_crew_ops *ops)
{
	crew->ops = ops;
	mutex_init(&crew->roster);
	spin_lock_init(&crew->lock);
	kvnet_threads_init(&crew->threads);
}

/**
 * kvnet_crew_list() - a worker is to be found by its id, or none any more
 * @crew: the crew
 * @id: of the worker, in range
 * @w: the worker; NULL: none
 *
 * Context: roster.
 */
void kvnet_crew_list(struct kvnet_crew *crew, unsigned int id, struct kvnet_worker *w)
{
	lockdep_assert_held(&crew->roster);
	spin_lock(&crew->lock);
	crew->worker[id] = w;
	spin_unlock(&crew->lock);
}

/* Of the owner, with dev->lock. */
static struct kvnet_worker *make_worker(struct kvnet_crew *crew, bool fork,
					bool dismissed, bool shares)
{
	struct kvnet_worker *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);
	int ret;

	if (!w)
		return ERR_PTR(-ENOMEM);
	w->crew = crew;
	w->dismissed = dismissed;
	if (shares)
		ret = kvnet_thread_join(&w->thread, &crew->threads, fork,
					&kvnet_worker_ops, w);
	else
		ret = kvnet_thread_start(&w->thread, &crew->threads, fork,
					 &kvnet_worker_ops, w);
	if (!ret)
		return w;
	kfree(w);
	return ERR_PTR(ret);
}

/**
 * kvnet_crew_make() - another worker, made by one of them
 * @crew: the crew, started
 * @like: the worker that runs
 *
 * Context: @like; may sleep; roster.
 * Return: it; NULL: it cannot be had.
 */
struct kvnet_worker *kvnet_crew_make(struct kvnet_crew *crew,
				     const struct kvnet_worker *like)
{
	struct kvnet_worker *w = kzalloc(sizeof(*w), GFP_KERNEL_ACCOUNT);

	if (!w)
		return NULL;
	w->crew = crew;
	w->dismissed = true;
	if (kvnet_thread_start_like(&w->thread, &like->thread, w)) {
		kfree(w);
		return NULL;
	}
	WRITE_ONCE(w->dismissed, false);
	return w;
}

/**
 * kvnet_crew_start() - make the first worker, which serves all sources
 * @crew: the crew, without workers
 * @mm: the address space to serve; the caller keeps it until
 *	kvnet_crew_stop() has returned
 * @fork: its thread is one of the owner's process, see thread.h
 * @lends: what is small may be done by the thread that kicks, if the kernel can
 * @soft: what is small may be done in a softirq of who brings it
 * @shares: its thread may be that of others, see thread_shared.c
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: as kvnet_thread_start().
 */
int kvnet_crew_start(struct kvnet_crew *crew, struct mm_struct *mm, bool fork,
		     bool lends, bool soft, bool shares)
{
	struct kvnet_worker *w;
	unsigned int i;

	crew->threads.mm = mm;
	crew->owner = task_tgid_nr(current);
	kvnet_crew_set_lends(crew, lends);
	WRITE_ONCE(crew->soft, soft);
	crew->stopping = false;
	crew->by_vmm = false;
	crew->again_ns = 0;
	kvnet_apart_reset(&crew->rule);
	w = make_worker(crew, fork, false, shares);
	if (IS_ERR(w))
		return PTR_ERR(w);
	mutex_lock(&crew->roster);
	kvnet_crew_list(crew, 0, w);
	mutex_unlock(&crew->roster);
	for (i = 0; i < crew->n; i++) {
		kvnet_source_reset(crew->source[i]);
		rcu_assign_pointer(crew->source[i]->home, w);
	}
	return 0;
}

/**
 * kvnet_crew_no_time() - it is not time for any source any more, nor will be
 * @crew: the crew
 *
 * Nor does anybody hand a source over. Till kvnet_crew_start().
 *
 * Context: may sleep.
 */
void kvnet_crew_no_time(struct kvnet_crew *crew)
{
	unsigned int i;

	WRITE_ONCE(crew->stopping, true);
	for (i = 0; i < crew->n; i++)
		hrtimer_cancel(&crew->source[i]->timer);
}

static struct kvnet_worker *find_worker(struct kvnet_crew *crew, unsigned int id)
{
	if (id >= KVNET_CREW_WORKERS)
		return NULL;
	return crew->worker[array_index_nospec(id, KVNET_CREW_WORKERS)];
}

/* dev->lock */
static struct kvnet_worker *home_of(const struct kvnet_source *src)
{
	return rcu_dereference_protected(src->home, true);
}

/**
 * kvnet_crew_hire() - another worker, which serves nothing yet
 * @crew: the crew, started, after kvnet_crew_dismiss()
 *
 * A task, which the owner's limits bound.
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: its id, the lowest that is free; -ENOMEM if there are as many as can be;
 * -EINTR when it is being killed; as kvnet_thread_start().
 */
int kvnet_crew_hire(struct kvnet_crew *crew)
{
	struct kvnet_worker *w;
	unsigned int id = 0;

	while (crew->worker[id])
		if (++id == KVNET_CREW_WORKERS)
			return -ENOMEM;
	/* It takes its place when all of its kind do, or after that. */
	if (mutex_lock_killable(&crew->roster))
		return -EINTR;
	w = make_worker(crew, true, true, false);
	if (!IS_ERR(w))
		kvnet_crew_list(crew, id, w);
	mutex_unlock(&crew->roster);
	if (IS_ERR(w))
		return PTR_ERR(w);
	WRITE_ONCE(w->dismissed, false);
	return id;
}

/* What a worker held is for the others. Its thread has ended. */
static void inherit(struct kvnet_crew *crew, struct kvnet_worker *w)
{
	unsigned long held = w->ready | w->active | w->idle;
	unsigned int i;

	for (i = 0; i < crew->n; i++)
		if (held & BIT(i))
			kvnet_source_hand_over(crew->source[i], KVNET_EV_CTRL);
}

/**
 * kvnet_crew_let_go() - end a worker that is nobody's home any more
 * @crew: the crew, started
 * @w: the worker, not in &kvnet_crew.worker
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_crew_let_go(struct kvnet_crew *crew, struct kvnet_worker *w)
{
	WRITE_ONCE(w->dismissed, true);
	/* Who found it as a home has handed over, and woken it, by then. */
	synchronize_rcu();
	kvnet_thread_stop(&w->thread);
	inherit(crew, w);
	kfree(w);
}

/**
 * kvnet_crew_free() - end a worker that no source is at home with
 * @crew: the crew, started
 * @id: of the worker
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: 0; -ENODEV if there is none; -EBUSY if a source is at home with it; -EINTR when
 * it is being killed.
 */
int kvnet_crew_free(struct kvnet_crew *crew, unsigned int id)
{
	struct kvnet_worker *w = find_worker(crew, id);
	unsigned int i;

	if (!w)
		return -ENODEV;
	for (i = 0; i < crew->n; i++)
		if (home_of(crew->source[i]) == w)
			return -EBUSY;
	/* Neither may a store go astray in speculation. */
	id = array_index_nospec(id, KVNET_CREW_WORKERS);
	if (mutex_lock_killable(&crew->roster))
		return -EINTR;
	kvnet_crew_list(crew, id, NULL);
	mutex_unlock(&crew->roster);
	kvnet_crew_let_go(crew, w);
	return 0;
}

/**
 * kvnet_crew_attach() - have a source served by another worker
 * @crew: the crew, started
 * @src: the source, in any state
 * @id: of the worker
 *
 * Who holds the source hands it over after its turn.
 *
 * Context: the owner; may sleep; dev->lock.
 * Return: 0; -ENODEV if there is no such worker; -EINTR when it is being killed.
 */
int kvnet_crew_attach(struct kvnet_crew *crew, struct kvnet_source *src,
		      unsigned int id)
{
	struct kvnet_worker *w = find_worker(crew, id);
	int said;

	if (!w)
		return -ENODEV;
	said = kvnet_crew_dismiss(crew);
	if (said < 0)
		return said;
	rcu_assign_pointer(src->home, w);
	kvnet_source_wake(src, KVNET_EV_CTRL);
	return 0;
}

/**
 * kvnet_crew_serving() - with whom is a source at home?
 * @crew: the crew, started
 * @src: the source
 *
 * Context: dev->lock.
 * Return: the worker's id.
 */
unsigned int kvnet_crew_serving(const struct kvnet_crew *crew,
				const struct kvnet_source *src)
{
	const struct kvnet_worker *w = home_of(src);
	unsigned int id = 0;

	while (crew->worker[id] != w)
		id++;
	return id;
}

/*
 * Those that still hand something to one another must not, when it has ended. Nor does
 * one make another from now on.
 */
static void stop_handing_over(struct kvnet_crew *crew)
{
	unsigned int i, n = 0;

	mutex_lock(&crew->roster);
	for (i = 0; i < KVNET_CREW_ALL; i++)
		n += !!crew->worker[i];
	mutex_unlock(&crew->roster);
	if (n > 1)
		synchronize_rcu();
}

/**
 * kvnet_crew_stop() - end all workers
 * @crew: the crew; nothing outside of it can wake a source any more, nor is it time
 *	  for any
 *
 * When it returns no source runs, nor will. Does nothing without workers.
 *
 * Context: may sleep; dev->lock.
 */
void kvnet_crew_stop(struct kvnet_crew *crew)
{
	unsigned int i;

	call_off(crew);
	stop_handing_over(crew);
	for (i = 0; i < KVNET_CREW_ALL; i++)
		if (crew->worker[i])
			kvnet_thread_stop(&crew->worker[i]->thread);
	/* Those that have run meanwhile may have started one. */
	kvnet_crew_no_time(crew);
	for (i = 0; i < crew->n; i++) {
		RCU_INIT_POINTER(crew->source[i]->home, NULL);
		RCU_INIT_POINTER(crew->source[i]->away, NULL);
	}
	for (i = 0; i < KVNET_CREW_ALL; i++) {
		kfree(crew->worker[i]);
		crew->worker[i] = NULL;
	}
}

/**
 * kvnet_crew_set_cap() - bound the time that a worker may spin
 * @crew: the crew
 * @cap_ns: in ns; 0: never spin
 *
 * Context: any; takes effect when a worker next has nothing to do.
 */
void kvnet_crew_set_cap(struct kvnet_crew *crew, u64 cap_ns)
{
	WRITE_ONCE(crew->cap_ns, cap_ns);
}

/**
 * kvnet_crew_set_lends() - may the thread that kicks do what is small?
 * @crew: the crew
 * @lends: it may, if the kernel can
 *
 * Context: any; of events from now on.
 */
void kvnet_crew_set_lends(struct kvnet_crew *crew, bool lends)
{
	WRITE_ONCE(crew->lends, lends && kvnet_lend_possible());
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
