/* SPDX-License-Identifier: GPL-2.0 */
/*
 * fault_rig - of a step, or of packets on their way, each call that can fail fails, and
 * the device carries packets afterwards: allocations and user copies, where the kernel can
 * have them fail, and all else that the module calls, with one that is built for it
 * (failing/kvnet_failing.c).  The device is vmm's (netlink_rig.h).
 */
#ifndef SELFTESTS_FAULT_RIG_H
#define SELFTESTS_FAULT_RIG_H

#include "inject.h"
#include "netlink_rig.h"

#define FAULT_MOST	400	/* failures of one step: there are fewer */

/* once() has the n-th call fail, from the first one until none is left. */
#define UNTIL_NONE_FAILS(in, n, once)						\
	for (n = 1; !ksft_failed() && EXPECT_OP(n, <, FAULT_MOST) && (once);	\
	     n = injector_next(in, n))						\
		fault_injected++

struct fault_step {
	const char *name;
	int (*call)(void);	/* 0 or -errno; NULL: this ioctl */
	unsigned long req;
	const void *arg;
};

/* Frames of this length, so many at once (one: to new pages); from the guest in this shape. */
struct fault_load {
	unsigned int burst;
	uint32_t len;
	const struct shape *shape;
};

extern unsigned int fault_injected;
/* the device's number, which changes with its owner */
extern uint32_t fault_device;

/* Skips the case where nothing can be made to fail. */
void fault_begin(const struct rig_cfg *cfg);
/* Nothing has been left behind since. */
void fault_end(void);
/* Rings that are new, and empty. */
void fault_set_up_again(void);
/* With such rings, and nothing of the old ones under way. */
void fault_carries_packets(void);
void fault_each(const struct fault_step *s);
/* Each call of thread tid for these frames, each way, fails; some frames may get lost. */
void fault_on_the_way(pid_t tid, const struct fault_load *load);
/* The worker alone, or inline TX and inline RX, too. */
void fault_by_worker(bool all);
/*
 * All memory has its page tables then.  Where none can be allocated for a copy, the process
 * would suffer, not the device; and User-Mode Linux does not survive it.
 */
void fault_touch_memory(const struct vdev *v);

#endif /* SELFTESTS_FAULT_RIG_H */
