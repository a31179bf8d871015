// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: whatever other contexts do between two accesses, each function of the run state makes
 *	only changes that leave one holder at most: a free word is taken by one, a taken one gets
 *	MISSED from others at most, and only its holder frees it. The result says truly who holds
 *	it. An event that gives the work to no context found a holder, or was not enabled; one of
 *	set-up leaves MISSED, which keeps the holder from completing
 * @bounds: others change the word up to 3 times during one function; any number of contexts
 * @sources:
 * @unwind: 6
 * @quick: yes
 * @mutant: worker/run_state.h: if (old & KVNET_RUN_STATE_BUSY)\n			new = old | KVNET_RUN_STATE_MISSED; => if (old & KVNET_RUN_STATE_TASK_WORK)\n			new = old | KVNET_RUN_STATE_MISSED;
 * @mutant: worker/run_state.h: if (event != KVNET_EV_CTRL && !(old & event)) => if (!(old & event))
 * @mutant: worker/run_state.h: int old = KVNET_RUN_STATE_SCHED; => int old = atomic_read(&rs->state);
 * @mutant: worker/run_state.h: if (!(old & KVNET_RUN_STATE_TASK_WORK))\n			return false; => if (!(old & KVNET_RUN_STATE_BUSY))\n			return false;
 * @mutant: worker/run_state.h: if (old & KVNET_RUN_STATE_BUSY)\n			return false; => if (old & KVNET_RUN_STATE_SCHED)\n			return false;
 */
#include "proof.h"
#include "shim.h"
#include "run_state.h"

#define CHANGES	3

static struct kvnet_run_state rs;
static bool mine;		/* this context holds the word */
static bool is_grab;		/* it may turn TASK_WORK into SCHED */
static bool taken, freed, missed_set, missed_cleared, grabbed;
static unsigned int n_others;
static int last_seen;		/* the word at this context's last access */

void shim_barrier(enum shim_op op)
{
}

static bool is_busy(int word)
{
	return word & KVNET_RUN_STATE_BUSY;
}

/* One of the two bits while it is held; events with their permissions while it is not. */
static bool is_word(int word)
{
	if (is_busy(word))
		return (word & ~KVNET_RUN_STATE_MISSED) == KVNET_RUN_STATE_SCHED ||
		       (word & ~KVNET_RUN_STATE_MISSED) == KVNET_RUN_STATE_TASK_WORK;
	return !(word & ~0xfff);
}

/* What word_changes() lets contexts do, done by others. */
static void others_run(void)
{
	int word = any_u32();

	if (n_others < CHANGES && any_bool()) {
		n_others++;
		ASSUME(is_word(word));
		/* the holder's word: they may only note that they missed it */
		if (mine)
			ASSUME(word == (rs.state.counter | KVNET_RUN_STATE_MISSED));
		rs.state.counter = word;
	}
	last_seen = rs.state.counter;
}

static void word_changes(int old, int new)
{
	ASSERT(is_word(new));
	if (!is_busy(old)) {
		ASSERT(new == KVNET_RUN_STATE_SCHED || new == KVNET_RUN_STATE_TASK_WORK);
		ASSERT(!mine);
		mine = true;
		taken = true;
	} else if (!is_busy(new)) {
		/* no event that came meanwhile is forgotten */
		ASSERT(mine && old == KVNET_RUN_STATE_SCHED);
		mine = false;
		freed = true;
	} else if (new == (old | KVNET_RUN_STATE_MISSED) && !mine) {
		missed_set = true;
	} else if (is_grab && (old & KVNET_RUN_STATE_TASK_WORK)) {
		ASSERT(new == (old ^ KVNET_RUN_STATE_BUSY));
		mine = true;
		grabbed = true;
	} else {
		ASSERT(mine && old == (KVNET_RUN_STATE_SCHED | KVNET_RUN_STATE_MISSED) &&
		      new == KVNET_RUN_STATE_SCHED);
		missed_cleared = true;
	}
}

static void schedule(void)
{
	int event = any_u8(), offer = 0;
	enum kvnet_run_context ret;

	ASSUME(event == KVNET_EV_KICK || event == KVNET_EV_TAP || event == KVNET_EV_TIMER ||
	       event == KVNET_EV_CTRL);
	if (any_bool())
		offer = KVNET_EV_VCPU(event);
	else if (any_bool())
		offer = KVNET_EV_SOFTIRQ(event);
	ret = kvnet_run_state_schedule_prep(&rs, event, offer);

	ASSERT((ret != KVNET_RUN_NONE) == taken);
	ASSERT(IMPLIES(ret == KVNET_RUN_VCPU, offer == KVNET_EV_VCPU(event) &&
		      rs.state.counter == KVNET_RUN_STATE_TASK_WORK));
	ASSERT(IMPLIES(ret == KVNET_RUN_SOFTIRQ, offer == KVNET_EV_SOFTIRQ(event)));
	ASSERT(IMPLIES(taken && ret != KVNET_RUN_VCPU,
		      (rs.state.counter & ~KVNET_RUN_STATE_MISSED) == KVNET_RUN_STATE_SCHED));
	if (ret == KVNET_RUN_NONE && event == KVNET_EV_CTRL)
		ASSERT(missed_set && is_busy(rs.state.counter));
	else if (ret == KVNET_RUN_NONE)
		ASSERT(is_busy(last_seen) || !(last_seen & event));
}

static void complete(void)
{
	int events = any_u16() & 0xfff;
	bool ret;

	mine = true;
	ASSUME((rs.state.counter & ~KVNET_RUN_STATE_MISSED) == KVNET_RUN_STATE_SCHED);
	ret = kvnet_run_state_complete(&rs, events);

	ASSERT(ret == freed && ret == !mine);
	ASSERT(IMPLIES(ret, rs.state.counter == events));
	ASSERT(IMPLIES(!ret, missed_cleared));
}

static void reschedule(void)
{
	bool ret = kvnet_run_state_reschedule(&rs);

	ASSERT(ret == taken);
	ASSERT(IMPLIES(ret, rs.state.counter == KVNET_RUN_STATE_SCHED));
	ASSERT(IMPLIES(!ret, is_busy(last_seen)));
}

static void grab(void)
{
	bool ret;

	is_grab = true;
	ret = kvnet_run_state_grab_task_work(&rs);

	ASSERT(ret == grabbed && !taken);
	ASSERT(IMPLIES(ret, (rs.state.counter & ~KVNET_RUN_STATE_MISSED) == KVNET_RUN_STATE_SCHED));
	ASSERT(IMPLIES(!ret, !(last_seen & KVNET_RUN_STATE_TASK_WORK)));
}

int main(void)
{
	rs.state.counter = any_u32();
	ASSUME(is_word(rs.state.counter));
	switch (any_u8()) {
	case 0:
		schedule();
		break;
	case 1:
		complete();
		break;
	case 2:
		reschedule();
		break;
	default:
		grab();
		break;
	}
	return 0;
}
