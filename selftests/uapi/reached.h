/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reached - which parts of the module have run, by the kernel's kcov, if the module has been
 * built for it (scripts/build-module.sh)
 *
 * A part is a basic block. What counts is what threads do in calls, if they have said
 * reached_here(), and what workers and softirqs do for devices of the process that has called
 * reached_open(), and of its children. The thread that has called it cannot say reached_here().
 */
#ifndef SELFTESTS_REACHED_H
#define SELFTESTS_REACHED_H

#include <stdbool.h>

#define REACHED_THREADS	8

/*
 * What has run so far; a way is two parts, one after the other. Full: times that there was no room
 * for more until the next look.
 */
struct reached {
	unsigned int points, called, ways;
	unsigned long full;
};

/* By who is going to look. False: the kernel, or this module, does not tell. */
bool reached_open(void);
/* From now on: what the calling thread does until it ends, as the nr-th; if that can be told. */
void reached_here(unsigned int nr);
/* Now and then: the kernel has no room for more than some. By who has opened it. */
void reached_look(void);
/* True if there is more than last time; looks. */
bool reached_more(struct reached *r);
/* Has any part of a function of the module's? */
bool reached_function(const char *name);
/* The module's functions none of whose parts has run. */
void reached_say_what_is_not(void);

#endif /* SELFTESTS_REACHED_H */
