/* SPDX-License-Identifier: GPL-2.0 */
/*
 * events - how often the kernel passed some of its tracepoints, on all CPUs, for whomever:
 * the same instrument for every backend.
 *
 * "kick" is a doorbell of a guest's, "call" a device's interrupt to one, "wakeup" of a
 * device's worker, "anywakeup" of anybody, "switch" to any task but the idle one, "exit"
 * of a guest, "timer" one that expired.
 */
#ifndef SELFTESTS_EVENTS_H
#define SELFTESTS_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

/* False, with errno: this kernel does not let them be counted. */
bool events_open(void);
void events_count(bool on);
/* False: there are no such tracepoints. */
bool events_sum(const char *name, uint64_t *sum);

#endif /* SELFTESTS_EVENTS_H */
