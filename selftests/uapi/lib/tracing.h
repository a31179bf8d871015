/* SPDX-License-Identifier: GPL-2.0 */
/*
 * tracing - which of the kernel's tracepoints were passed, by tracefs
 */
#ifndef SELFTESTS_TRACING_H
#define SELFTESTS_TRACING_H

#include <stdbool.h>

/* Of those that are on from now on; false: the kernel does not trace. */
bool tracing_begin(void);
/* One of them ("sched/sched_switch"), where that holds ("": always); false: it has none. */
bool tracing_on(const char *event, const char *filter);
/* Each line so far. */
void tracing_look(void (*line)(const char *text, void *data), void *data);
/* How many so far have this in them. */
unsigned int tracing_count(const char *what);
/* No more. */
void tracing_end(void);

#endif /* SELFTESTS_TRACING_H */
