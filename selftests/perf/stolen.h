/* SPDX-License-Identifier: GPL-2.0 */
/*
 * stolen - what the machine took from all of us while it ran somebody else.
 *
 * The clocks of User-Mode Linux go on meanwhile. kvnet_hosttime.ko knows what the machine
 * has given; where it is not loaded, nothing is ever stolen.
 */
#ifndef SELFTESTS_STOLEN_H
#define SELFTESTS_STOLEN_H

#include <stdbool.h>
#include <stdint.h>

/* What is timed begins, ends, or goes on: of such pieces a slice is made. */
void stolen_begin(void);
void stolen_end(void);
/* Was more than a little stolen in the pieces since this was last asked? */
bool stolen_much(void);
/*
 * A clock that stands while the machine runs others, or else that of now_ns(). It
 * stands while we sleep, too: for work of which somebody always has something to do.
 */
uint64_t given_ns(void);

#endif /* SELFTESTS_STOLEN_H */
