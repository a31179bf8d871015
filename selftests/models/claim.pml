// SPDX-License-Identifier: GPL-2.0
/*
 * Who may run a source: run_state.h, work.c and what of worker.c and workers.c hands it on,
 * with a worker, a vCPU to which it is lent, a softirq, changes of the set-up and, with
 * STOP, the end of the crew.  Memory is in order here; litmus/ is about the rest.
 *
 * Never two run it; when nobody does anything any more, nothing is left to do; and when
 * kvnet_workers_stop() has returned nobody runs it, nor will.
 *
 * A frame wakes nobody while the worker has the source: who takes it for the worker has
 * taken our entry off the tap's wait queue (kvnet_watch_set() puts it back).
 *
 * MUTANT=1..8 breaks it in one place: run.sh sees that each of these is noticed.
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

#define SOFTIRQ	3	/* the place of its proctype here */

#define KICK	1
#define TAP	2
#define CTRL	4	/* never asked for, never ignored */
#define HELD	8
#define LENT	16
#define CHANGED	32
#define BUSY	(HELD | LENT)

byte state = KICK | TAP;
byte work = 0;		/* what the guest and the tap have brought */
byte set_up = 0;	/* changes that a holder has not seen */
byte runners = 0;
bool ready = false, asleep = false;	/* the worker's */
bool soft = false;	/* the tasklet is scheduled */
bool watched = true;	/* the entry is on the tap's wait queue */
bool in_soft = false;
byte lent = 0;		/* task works that have begun */
byte sources = 3;	/* who may still bring an event */
bool loan = false;	/* queued to the thread that kicks */
bool stopping = false, closing = false, ended = false, stopped = false;

/* kvnet_run_state_schedule_prep() */
inline event(ev, as, got)
{
	old = state;
	do
	:: ev != CTRL && !(old & ev) ->
		got = false;
		break
	:: else ->
		if
		:: (old & BUSY) && MUTANT == 2 -> new = old
		:: (old & BUSY) && MUTANT != 2 -> new = old | CHANGED
		:: !(old & BUSY) -> new = as
		fi;
		atomic {
			if
			:: state == old ->
				state = new;
				got = !(old & BUSY);
				break
			:: else -> old = state
			fi
		}
	od
}

/* kvnet_run_state_grab_task_work() */
inline take_lent(got)
{
	old = state;
	do
	:: !(old & LENT) -> got = (MUTANT == 3); break
	:: else ->
		atomic {
			if
			:: state == old ->
				state = old ^ BUSY;
				got = true;
				break
			:: else -> old = state
			fi
		}
	od
}

/* kvnet_run_state_reschedule() */
inline again(got)
{
	old = state;
	do
	:: old & BUSY -> got = false; break
	:: else ->
		atomic {
			if
			:: state == old -> state = HELD; got = true; break
			:: else -> old = state
			fi
		}
	od
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

/* kvnet_run_state_complete() and the look afterwards; got: it is still, or again, held */
inline rest(got)
{
	if
	:: _pid == SOFTIRQ -> assert(watched)
	:: _pid != SOFTIRQ && MUTANT == 8
	:: _pid != SOFTIRQ && MUTANT != 8 -> watched = true
	fi;
	atomic {
		if
		:: state == HELD -> state = KICK | TAP; got = false
		:: else -> got = true
		fi
	}
	if
	:: got -> state = HELD
	:: !got && MUTANT == 1
	:: !got && MUTANT != 1 ->
		if
		:: work > 0 -> again(got)
		:: else
		fi
	fi;
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
	fi
}

active proctype worker()
{
	byte old;
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

/* A vCPU: it kicks, and on its way back does what it was lent. */
active proctype vcpu()
{
	byte old, new, n;
	bool got, left;

	for (n : 1 .. KICKS) {
		atomic { work++ }
		event(KICK, LENT, got);
		if
		:: !got
		:: got ->
			if
			:: loan = true		/* task_work_add() */
			:: take_lent(got);	/* it cannot be had */
				if
				:: got -> hand_over()
				:: else
				fi
			fi
		fi;
		if
		:: n == KICKS -> atomic { sources-- }	/* it kicks no more */
		:: else
		fi;
		if
		:: loan ->
			loan = false;
			atomic { lent++ }
			take_lent(got);
			if
			:: got -> turn_and_let_go()
			:: else
			fi;
			atomic { lent-- }
		:: else
		fi
	}
}

/* Frames, by the softirq of who brings them or by the worker. */
active proctype sender()
{
	byte old, new, n;
	bool got;

	for (n : 1 .. FRAMES) {
		atomic { work++ }
		if
		:: !watched -> got = false
		:: watched -> event(TAP, HELD, got)
		fi;
		if
		:: !got
		:: got ->
			if
			:: soft = true
			:: MUTANT != 7 -> watched = false; hand_over()
			:: MUTANT == 7 -> hand_over(); watched = false
			fi
		fi
	}
	atomic { sources-- }
}

active proctype softirq()
{
	byte old;
	bool got, left;

	assert(_pid == SOFTIRQ);

end_idle:
	do
	:: atomic { soft -> soft = false; in_soft = true };
		turn_and_let_go();
		in_soft = false
	od
}

active proctype vmm()
{
	byte old, new, n;
	bool got;

	for (n : 1 .. CHANGES) {
		set_up = 1;
		event(CTRL, HELD, got);
		if
		:: got -> hand_over()
		:: else
		fi
	}
	atomic { sources-- }
#ifdef STOP
	/* nobody outside brings events any more, see kvnet_net_quiesce() */
	sources == 0;
	stopping = true;
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
