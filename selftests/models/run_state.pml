// SPDX-License-Identifier: GPL-2.0
/*
 * Which context may run a work: run_state.h, work.c and the parts of worker.c that pass it on,
 * with a worker, the task_work of a vCPU thread, a softirq, a timer, setup changes and, with
 * STOP, the end of the workers. Memory is in order here; litmus/ is about the rest.
 *
 * Never do two contexts run it; when nothing moves any more, nothing is left to do; and when
 * kvnet_workers_stop() has returned, no context runs it, nor will.
 *
 * A frame wakes no context while the worker has the work: the wake-up that queued it has taken the
 * entry off the tap's wait queue (kvnet_watch_set() puts it back).
 *
 * MUTANT=1..11 breaks it in one place: run.sh sees that each of these is noticed.
 */
#ifndef MUTANT
#define MUTANT	0
#endif
#ifndef KICKS
#define KICKS	2
#endif
#ifndef CHANGES
#define CHANGES	1
#endif
#ifndef FRAMES
#define FRAMES	1
#endif
#ifndef TIMERS
#define TIMERS	1
#endif

#define SOFTIRQ	3	/* the place of its proctype here */

#define KICK	1
#define TAP	2
#define TIMER	4
#define CTRL	8	/* never enabled, never ignored */
/* permissions, KVNET_EV_VCPU() and KVNET_EV_SOFTIRQ() */
#define KICK_VCPU	16
#define TIMER_VCPU	32
#define TAP_SOFT	64
#define TIMER_SOFT	128
/* KVNET_RUN_STATE_SCHED, TASK_WORK, MISSED; @ready is the worker's queued */
#define HELD	256
#define LENT	512
#define CHANGED	1024
#define BUSY	(HELD | LENT)
#define VCPUS	(KICK_VCPU | TIMER_VCPU)

/* enum kvnet_run_context */
#define NONE	0
#define WORKER	1
#define VCPU	2
#define SOFT	3

short state = KICK | KICK_VCPU | TAP | TAP_SOFT;
byte work = 0;		/* what the guest and the tap have brought */
byte set_up = 0;	/* changes that a holder has not seen */
byte runners = 0;
bool ready = false, asleep = false;	/* the worker's */
bool soft = false;	/* the tasklet is scheduled */
bool watched = true;	/* the entry is on the tap's wait queue */
bool in_soft = false;
byte lent = 0;		/* task works that have begun */
byte sources = 3;	/* contexts that may still raise an event */
bool loan = false;	/* queued to the vCPU thread */
bool timer_on = false, in_timer = false;
byte timers = TIMERS;	/* polls that may still complete with a timer */
bool stopping = false, closing = false, ended = false, stopped = false;

/*
 * kvnet_run_state_schedule_prep(). Its loop ends with one atomic operation, or with one read that
 * finds the event not enabled: one step here, and in the next two. The offer is any, since the
 * hint may be out of date.
 */
inline event(ev, offer, to)
{
	atomic {
		if
		:: ev != CTRL && !(state & ev) -> to = NONE
		:: (ev == CTRL || (state & ev)) && (state & BUSY) ->
			to = NONE;
			if
			:: MUTANT == 2
			:: MUTANT != 2 -> state = state | CHANGED
			fi
		:: (ev == CTRL || (state & ev)) && !(state & BUSY) ->
			if
			:: state & offer & VCPUS -> state = LENT; to = VCPU
			:: (state & offer) && !(state & offer & VCPUS) -> state = HELD; to = SOFT
			:: !(state & offer) -> state = HELD; to = WORKER
			fi
		fi
	}
}

/* kvnet_run_state_grab_task_work() */
inline take_lent(got)
{
	atomic {
		if
		:: state & LENT -> state = state ^ BUSY; got = true
		:: else -> got = (MUTANT == 3)
		fi
	}
}

/* kvnet_run_state_reschedule() */
inline again(got)
{
	atomic {
		if
		:: state & BUSY -> got = false
		:: else -> state = HELD; got = true
		fi
	}
}

/* kvnet_work_queue() */
inline hand_over()
{
	if
	:: !stopping ->
		ready = true;
		asleep = false	/* wakes it, if it sleeps */
	:: else
	fi
}

/* One turn; what it finds is done, some or all of it. */
inline turn(left)
{
	runners++;
	assert(runners == 1);
	assert(!stopped);
	set_up = 0;
	if
	:: work > 0 -> atomic { work-- }
	:: work > 0 -> atomic { work = 0 }
	:: work == 0
	fi;
	left = (work > 0);
	runners--
}

/* task_work_add(), which may fail; or the worker gets it */
inline lend()
{
	if
	:: atomic { !loan -> loan = true }
	:: take_lent(got);
		if
		:: got -> hand_over()
		:: else
		fi
	fi
}

/*
 * kvnet_run_state_complete() with all permissions: an event that does not offer an inline context
 * is as one without permission.
 */
inline complete(got)
{
	if
	:: events = KICK | KICK_VCPU | TAP | TAP_SOFT
	:: _pid != SOFTIRQ && timers > 0 -> atomic {
			timers--;
			events = KICK | KICK_VCPU | TAP | TIMER | TIMER_SOFT
		}
	/* kvnet_work_complete_for() */
	:: _pid != SOFTIRQ && timers > 0 -> atomic {
			timers--;
			events = TIMER | TIMER_VCPU
		}
	fi;
	atomic {
		if
		:: state == HELD -> state = events; got = false
		:: else -> got = true
		fi
	}
}

/* The poll is complete, and the recheck; got: SCHED is still set, or again. */
inline rest(got)
{
	if
	:: _pid == SOFTIRQ -> assert(watched)
	:: _pid != SOFTIRQ && MUTANT == 8
	:: _pid != SOFTIRQ && MUTANT != 8 -> watched = true
	fi;
	complete(got);
	if
	:: got -> state = HELD
	:: !got && MUTANT == 1
	:: !got && MUTANT != 1 && !(events & KICK)
	:: !got && MUTANT != 1 && (events & KICK) ->
		if
		:: work > 0 -> again(got)
		:: else
		fi
	fi;
	if
	:: !got && (events & TIMER) && MUTANT != 9 -> timer_on = true
	:: else
	fi;
	events = 0;
	if
	:: MUTANT == 8 -> watched = true
	:: else
	fi
}

/* Whoever else than the worker has run it: what is left is the worker's. */
inline turn_and_let_go()
{
	turn(left);
	if
	:: left -> hand_over()
	:: else ->
		rest(got);
		if
		:: got -> hand_over()
		:: else
		fi
	fi;
	atomic { got = false; left = false }
}

active proctype worker()
{
	short events;
	bool got, left, active_ = false;

end_sleeps:
	do
	:: ready -> ready = false; active_ = true
	:: active_ ->
		turn(left);
		if
		:: left
		:: !left ->
			rest(got);
			active_ = got
		fi;
		atomic { got = false; left = false };
		if
		:: closing -> break
		:: else
		fi
	:: !active_ && !ready ->
		asleep = true;
		/* F: the state, then the look */
		if
		:: ready && MUTANT != 5 -> asleep = false
		:: !ready || MUTANT == 5 ->
end_asleep:		(!asleep || closing)
		fi;
		if
		:: closing -> break
		:: else
		fi
	od;
	ended = true
}

/* A vCPU thread: it kicks, and runs its task_work on its way back, or when the timer interrupts. */
active proctype vcpu()
{
	short events;
	byte n = 0, to;
	bool got, left;

end_in_guest:
	do
	:: n < KICKS && !loan ->
		n++;
		atomic { work++ }
		if
		:: event(KICK, KICK_VCPU, to)
		:: event(KICK, 0, to)
		fi;
		if
		:: to == NONE
		:: to == WORKER -> hand_over()
		:: to == VCPU -> lend()
		fi;
		to = 0;
		if
		:: n == KICKS -> atomic { sources-- }	/* it kicks no more */
		:: else
		fi
	:: loan ->
		loan = false;
		atomic { lent++ }
		take_lent(got);
		if
		:: got -> turn_and_let_go()
		:: else
		fi;
		atomic { lent-- }
	od
}

/* Frames, received in the softirq of their sender or by the worker. */
active proctype sender()
{
	byte n, to;

	for (n : 1 .. FRAMES) {
		atomic { work++ }
		if
		:: !watched -> to = NONE
		:: watched -> event(TAP, TAP_SOFT, to)
		:: watched -> event(TAP, 0, to)
		fi;
		if
		:: to == NONE
		:: to == SOFT -> soft = true
		:: to == SOFT || to == WORKER ->
			if
			:: MUTANT != 7 -> watched = false; hand_over()
			:: MUTANT == 7 -> hand_over(); watched = false
			fi
		fi;
		to = 0
	}
	atomic { sources-- }
}

active proctype softirq()
{
	short events;
	bool got, left;

	assert(_pid == SOFTIRQ);

end_idle:
	do
	:: atomic { soft -> soft = false; in_soft = true };
		turn_and_let_go();
		in_soft = false
	od
}

/* work_timer_expired() */
active proctype timer()
{
	byte to;
	bool got;

end_off:
	do
	:: atomic { timer_on -> timer_on = false; in_timer = true };
		assert(!stopped);
		if
		:: stopping && MUTANT != 10
		:: else ->
			if
			:: event(TIMER, TIMER_VCPU, to)
			:: event(TIMER, TIMER_SOFT, to)
			:: event(TIMER, 0, to)
			fi;
			if
			:: to == NONE
			:: to == WORKER -> hand_over()
			:: to == VCPU -> lend()
			:: to == SOFT -> soft = true
			fi
		fi;
		atomic { to = 0; got = false; in_timer = false }
	od
}

active proctype vmm()
{
	byte n, to;
	bool got;

	for (n : 1 .. CHANGES) {
		set_up = 1;
		event(CTRL, 0, to);
		if
		:: to == WORKER -> hand_over()
		:: else
		fi
	}
	atomic { sources-- }
#ifdef STOP
	/* nothing outside raises events any more, see stop_dev() */
	sources == 0;
	stopping = true;	/* kvnet_thread_begin_stop() */
	atomic { !in_timer -> timer_on = false };	/* hrtimer_cancel() */
	take_lent(got);
	if
	:: MUTANT == 6
	:: MUTANT != 6 -> !soft && !in_soft	/* tasklet_kill() */
	fi;
	if
	:: MUTANT == 4
	:: MUTANT != 4 -> lent == 0
	fi;
	closing = true;
	ended;
	if
	:: MUTANT == 11
	:: MUTANT != 11 -> atomic { !in_timer -> timer_on = false }
	fi;
	stopped = true
#endif
}

#ifndef STOP
/* When nothing moves any more. */
active proctype in_the_end()
{
	timeout;
	assert(work == 0);
	assert(!set_up);
	assert(!(state & BUSY))
}
#endif
