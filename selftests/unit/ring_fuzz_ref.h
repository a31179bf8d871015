/* SPDX-License-Identifier: GPL-2.0 */
/* A naive second walker, for ring_fuzz.c: looks at the rig's memory itself. */
#ifndef UNIT_RING_FUZZ_REF_H
#define UNIT_RING_FUZZ_REF_H

#include "ring_rig.h"

#define MAX_CAP		64

struct ref {
	struct kvnet_seg seg[MAX_CAP];
	unsigned int n_out, n_in;
	u16 id, count;
};

/* 1: a chain, -1: against the rules, 2: up to who reads how much ahead */
int ref_next(const struct rig *g, struct ref *ref);

#endif /* UNIT_RING_FUZZ_REF_H */
