/* SPDX-License-Identifier: GPL-2.0 */
/*
 * turns - the same work for several backends, a slice of each in turn.
 *
 * A machine's speed wanders by more than backends differ, but not within some
 * milliseconds.  So each backend is a process with devices of its own, and they take
 * turns: slices of one group are side by side, in an order that is drawn anew for
 * each group.
 *
 * BENCH_TURNS="kvnet:/dev/kvnet::1:1:50:100: vhost_net:/dev/vhost-net::::::" names the backends: for
 * each its name, KVNET_DEV, KVNET_LAYOUT, BENCH_PINNED (its rings are to be pinned,
 * 1, or not, 0), the module's parameters rx_inline, poll_us and rx_usecs, and BENCH_SLOWED
 * (slowed.h). Without it there is one, which the variables describe themselves.
 */
#ifndef SELFTESTS_TURNS_H
#define SELFTESTS_TURNS_H

#include "ksft.h"
#include "spec.h"

#define SLICES		200u	/* of a sample, at most */

/* What a process does; all of them print their rows at the end, one by one. */
struct turns_work {
	/* set up and warm up; says how many slices it takes for a sample */
	unsigned int (*open)(const struct spec *s);
	/* perhaps more than once: the last time is what counts */
	void (*slice)(unsigned int i);
	/* so many there were */
	void (*close)(unsigned int slices);
};

/* For turns_work.open: slices of a sample, which may last for so many passes; passes of each. */
unsigned int turns_slices(const struct spec *s, unsigned long passes, unsigned long *each);

void turns_take(const struct turns_work *work);

/* A case of this work: name_open(), name_slice() and name_close(). */
#define TURNS(name, seconds)						\
	CASE_TIMED(name, seconds)					\
	{								\
		static const struct turns_work work = {			\
			.open = name##_open, .slice = name##_slice,	\
			.close = name##_close,				\
		};							\
									\
		turns_take(&work);					\
	}

/* What is timed begins or ends (with BENCH_COUNT=1, see mark.h; backends from 1). */
void turns_count(bool on);
/* At the end: so many packets went through meanwhile. */
void turns_counted(double packets);

#endif /* SELFTESTS_TURNS_H */
