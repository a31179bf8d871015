/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reached - which parts of the module have run, if it was built to remember that
 * (scripts/reached.sh)
 */
#ifndef SELFTESTS_REACHED_READ_H
#define SELFTESTS_REACHED_READ_H

#include <stdbool.h>

#include "reached/reached.h"

struct reached {
	unsigned int points, called, ways;
};

/* false: this module does not tell */
bool reached_open(void);
/* From now on: what has run so far; true if there is more of it than last time. */
bool reached_more(struct reached *r);
/* The module's functions none of whose parts has run. */
void reached_say_what_is_not(void);

#endif /* SELFTESTS_REACHED_READ_H */
