/* SPDX-License-Identifier: GPL-2.0 */
/* meter - what the slices of a sample took: time, and the workers' share of it. */
#ifndef SELFTESTS_METER_H
#define SELFTESTS_METER_H

#include "port.h"
#include "turns.h"

struct meter {
	double rate[SLICES];	/* packets per second */
	double worker[SLICES];	/* ns of a packet */
	double packets;		/* of all slices */
	uint64_t ns;		/* the workers' time in slices, and how often they ran */
	uint64_t runs;
	unsigned long kicks;
	unsigned long calls;
	bool fine;		/* their times are no multiples of a tick */
	struct worker_time from;
};

/* A slice begins; what the ports counted before is not its. */
void meter_begin(struct meter *m, struct ports *p);
/* It has ended: so many packets, in so much time. */
void meter_end(struct meter *m, struct ports *p, unsigned int slice,
	       double packets, uint64_t ns);
void meter_rows(struct meter *m, unsigned int slices);

#endif /* SELFTESTS_METER_H */
