// SPDX-License-Identifier: GPL-2.0
/*
 * @shows: two kicks, a timer and a change of set-up, in any order and in any context, leave no work
 *	behind: at most one context holds the work at any time, and in the end all work is done
 *	and the word is free. Each step is a function of the run state: run_state.c shows that
 *	each changes the word at one point
 * @bounds: four events, one of each, that are served in up to 18 steps
 * @sources:
 * @unwind: 19
 * @mutant: worker/run_state.h: atomic_xchg(&rs->state, KVNET_RUN_STATE_SCHED);\n	return false; => atomic_xchg(&rs->state, events);\n	return true;
 * @mutant: worker/run_state.h: new = old | KVNET_RUN_STATE_MISSED; => return KVNET_RUN_NONE;
 * @mutant: worker/run_state.h: if (old & KVNET_RUN_STATE_BUSY)\n			return false; => if (old & KVNET_RUN_STATE_TASK_WORK)\n			return false;
 */
#include "proof.h"
#include "shim.h"
#include "run_state.h"

#define STEPS	18

/* What a context does next. HELD and later: it holds the work. */
enum step {
	DONE,
	CAUSE,		/* write what the event is about */
	RAISE,		/* the event */
	CHECK,		/* for work that came before events were enabled */
	TASK_WORK,
	POLL,
	COMPLETE,
};

enum { KICK_A, KICK_B, TIMER, SETUP, CONTEXTS };

static const int event_of[CONTEXTS] = {
	KVNET_EV_KICK, KVNET_EV_KICK, KVNET_EV_TIMER, KVNET_EV_CTRL,
};

static struct kvnet_run_state rs;
static enum step next[CONTEXTS] = { CAUSE, CAUSE, CAUSE, CAUSE };
static bool work[CONTEXTS];	/* the cause of the event of a context */

void shim_barrier(enum shim_op op)
{
}

static void others_run(void)
{
}

static void word_changes(int old, int new)
{
}

static void take(unsigned int i)
{
	int event = event_of[i];

	switch (kvnet_run_state_schedule_prep(&rs, event, any_bool() ? KVNET_EV_VCPU(event) :
					      any_bool() ? KVNET_EV_SOFTIRQ(event) : 0)) {
	case KVNET_RUN_NONE:
		next[i] = DONE;
		break;
	case KVNET_RUN_VCPU:
		next[i] = TASK_WORK;
		break;
	default:
		next[i] = POLL;
		break;
	}
}

static void do_step(unsigned int i)
{
	int events = KVNET_EV_KICK | KVNET_EV_TIMER;
	unsigned int k;

	switch (next[i]) {
	case CAUSE:
		work[i] = true;
		next[i] = RAISE;
		break;
	case RAISE:
		take(i);
		break;
	case TASK_WORK:
		ASSERT(kvnet_run_state_grab_task_work(&rs));
		next[i] = POLL;
		break;
	case POLL:
		for (k = 0; k < CONTEXTS; k++)
			work[k] = false;
		next[i] = COMPLETE;
		break;
	case COMPLETE:
		events |= any_bool() ? KVNET_EV_VCPU(KVNET_EV_KICK) : 0;
		events |= any_bool() ? KVNET_EV_SOFTIRQ(KVNET_EV_KICK) : 0;
		next[i] = kvnet_run_state_complete(&rs, events) ? CHECK : POLL;
		break;
	case CHECK:
		/* of set-up a context learns only by the event */
		next[i] = DONE;
		if ((work[KICK_A] || work[KICK_B] || work[TIMER]) &&
		    kvnet_run_state_reschedule(&rs))
			next[i] = POLL;
		break;
	default:
		break;
	}
}

int main(void)
{
	unsigned int step, i, k, holders;

	rs.state.counter = KVNET_EV_KICK | KVNET_EV_TIMER |
			   (any_bool() ? KVNET_EV_VCPU(KVNET_EV_KICK) : 0);
	for (step = 0; step < STEPS; step++) {
		i = any_u8();
		ASSUME(i < CONTEXTS);
		ASSUME(next[i] != DONE || (next[0] == DONE && next[1] == DONE &&
					   next[2] == DONE && next[3] == DONE));
		do_step(i);
		for (holders = 0, k = 0; k < CONTEXTS; k++)
			holders += next[k] >= TASK_WORK;
		ASSERT(holders <= 1);
		ASSERT(!!(rs.state.counter & KVNET_RUN_STATE_BUSY) == holders);
	}
	for (k = 0; k < CONTEXTS; k++)
		ASSUME(next[k] == DONE);
	for (k = 0; k < CONTEXTS; k++)
		ASSERT(!work[k]);
	return 0;
}
