/* SPDX-License-Identifier: GPL-2.0 */
/*
 * reached - what a module built by scripts/reached.sh remembers, and how it is read: the
 * file /sys/kernel/debug/kvnet_reached is this struct.  Bits are set, and never cleared.
 */
#ifndef SELFTESTS_REACHED_H
#define SELFTESTS_REACHED_H

/*
 * A point is a basic block: the place of the call that the compiler put there, as seen
 * from REACHED_ANCHOR, in units of four bytes, less than which no call is long.
 */
#define REACHED_ANCHOR	__sanitizer_cov_trace_pc
#define REACHED_POINTS	(1u << 18)
#define REACHED_UNIT	4
/* A way is two points that a task came by, one after the other: a hash. */
#define REACHED_WAYS	(1u << 18)

struct reached_map {
	unsigned long point[REACHED_POINTS / (8 * sizeof(long))];
	/* in what a process called: neither by a worker nor in an interrupt */
	unsigned long called[REACHED_POINTS / (8 * sizeof(long))];
	unsigned long way[REACHED_WAYS / (8 * sizeof(long))];
};

#endif /* SELFTESTS_REACHED_H */
