/* SPDX-License-Identifier: GPL-2.0 */
/*
 * mischief - a guest that has its device do as much as it can for as little as it
 * can, and one that is just as busy and behaves, to compare with.
 *
 * For rings of 256 entries; what a round costs the guest is next to nothing.
 */
#ifndef SELFTESTS_MISCHIEF_H
#define SELFTESTS_MISCHIEF_H

#include "vdev.h"

enum mischief_kind {
	MISCHIEF_NONE,		/* packets of one piece, all the time */
	MISCHIEF_KICKS,		/* kicks of both queues, with nothing in the rings */
	MISCHIEF_CHAINS,	/* packets as long as the ring, all of them the same chain */
	MISCHIEF_TABLES,	/* packets of 1024 pieces, in a table that jumps (split) */
	MISCHIEF_BAD,		/* what breaks a queue, set up again each time */
	MISCHIEF_REFILL,	/* receive buffers that are offered and taken back */
	MISCHIEF_KINDS,
};

struct mischief {
	struct vdev *v;
	int tap;
	bool packed;
	enum mischief_kind kind;
	unsigned int queue;	/* which suffers; the other one is idle */
	uint64_t data;		/* guest address of what packets are made of */
	uint64_t table;
	struct gr_desc *entry;	/* of the table */
	uint16_t shown;			/* split */
	struct gr_place avail, used;	/* packed: what is shown, and comes back, next */
	unsigned int out;		/* and how many are in between */
	unsigned int turn;
	unsigned long broken;	/* times that the queue broke, and was set up again */
};

/* "none", "kicks" and so on; -1: there is no such kind. */
const char *mischief_name(enum mischief_kind kind);
int mischief_of(const char *name);
/* A device that is set up, running on this tap; once for each. */
void mischief_init(struct mischief *m, struct vdev *v, int tap);
/* Its rings are as new, and of this kind from now on. */
void mischief_begin(struct mischief *m, enum mischief_kind kind);
/* A round, which does not wait for anything; returns how many things it has done. */
unsigned int mischief_round(struct mischief *m);
/* The rings as new, with nothing in them. */
void mischief_end(struct mischief *m);

#endif /* SELFTESTS_MISCHIEF_H */
