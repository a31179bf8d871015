/* SPDX-License-Identifier: GPL-2.0 */
/*
 * abuse - random system calls on live devices, seeded, to be repeated.
 *
 * A world is a process with some devices of both layouts, each with a tap and frames
 * that pass.  A program is ABUSE_OPS operations: each follows from the program's seed and
 * its own number alone, so any of them can be left out and the others stay what they are.
 * What an operation takes (a queue, a descriptor, an address) it finds in its world
 * by a number, not by a value.
 */
#ifndef SELFTESTS_ABUSE_H
#define SELFTESTS_ABUSE_H

#include "genl.h"
#include "rig.h"
#include "vhost_abi.h"

#define ABUSE_OPS	512	/* scripts/runner/long_runs.py has it, too */
#define ABUSE_DEVS	3
#define ABUSE_THREADS	4
#define ABUSE_FDS	8	/* of each device: duplicates and the like */

/* Numbers that follow from the seed and the operation's number. */
struct draw {
	uint64_t x;
	struct genl *genl;	/* of the thread, or NULL */
};

/* How frames pass; any of them together. */
#define TRAFFIC_SINGLE		1	/* a frame each way at a time */
#define TRAFFIC_CRUMBS		2	/* buffers of a byte or some, chains of many pieces */
#define TRAFFIC_SEGMENTS	4	/* some of the host's come cut into segments */
#define TRAFFIC_WAYS		8

struct abused {
	struct rig r;
	int gso;		/* what the host sends to be cut into segments */
	unsigned int traffic;	/* TRAFFIC_SINGLE and so on */
	unsigned int nr;
	int fd[ABUSE_FDS];	/* -1: none */
	pthread_mutex_t guest;	/* held by users of the driver's rings */
	uint64_t *log;		/* a dirty bitmap */
	uint8_t *spare;		/* the memory at another place */
	struct gr_cfg ring[2];	/* where the rings are */
	uint64_t down_since;	/* in ms; 0: it runs */
	uint32_t seq;
};

/* Shared with the process that started the world. */
struct abuse_tally {
	unsigned long done[64], ok[64];	/* by operation */
	unsigned long ops, repairs, frames;
	unsigned int at[ABUSE_THREADS];	/* the operation under way, + 1 */
};

struct world {
	struct abused dev[ABUSE_DEVS];
	int sock[2];		/* to pass descriptors */
	int uffd;
	struct genl events;
	bool may_fail;		/* the kernel can have a call fail */
	bool over;
	struct abuse_tally *tally;
};

struct abuse_op {
	const char *name;
	unsigned int weight;
	/* Has any of it succeeded? */
	bool (*fn)(struct world *w, struct abused *a, struct draw *d);
};

#define ABUSE_SET_UP	16	/* and the end */
extern const struct abuse_op abuse_set_up[ABUSE_SET_UP + 1], abuse_around[];

/* The module's parameters that programs change, which are restored afterwards. */
#define ABUSE_PARAMETERS	10
#define ABUSE_MAX_ENTRIES	9
extern const char *const abuse_parameters[ABUSE_PARAMETERS];

/* Which of n; never fails. */
static inline unsigned int draw(struct draw *d, unsigned int n)
{
	d->x ^= d->x << 13;
	d->x ^= d->x >> 7;
	d->x ^= d->x << 17;
	return (d->x >> 11) % n;
}

static inline bool one_in(struct draw *d, unsigned int n)
{
	return !draw(d, n);
}

/* The descriptor that an operation uses: the first, mostly. */
int abuse_fd(struct abused *a, struct draw *d);

void world_open(struct world *w, struct abuse_tally *tally, uint64_t seed);
/* From another process or thread: threads of the world's own, until over. */
void *world_traffic(void *world);
void *world_pages(void *world);
/* Set up as it was made; true if it could be. */
bool world_repair(struct world *w, struct abused *a);
/* The same; the caller holds the guest's lock. */
bool world_mend(struct world *w, struct abused *a);
/* An IOMMU that maps all of the memory: at once, or in two places that meet in a ring. */
void world_map(struct abused *a);
/* Closes all but the devices' own descriptors: other devices may serve the same rings. */
void world_close_others(struct world *w);
/* Does it carry a frame each way? After all else is over. */
bool world_carries(struct world *w, struct abused *a);

/* A driver, and the host's side of the tap; the guest's lock is held. */
void traffic_offer(struct abused *a, unsigned int queue, unsigned int most);
/* Used buffers; -1 if the driver does not understand its ring any more. */
int traffic_reap(struct vdev_queue *q);
/* Sends so many frames, at most; returns how many have come. */
unsigned int traffic_host(struct abused *a, unsigned int most);
/* Answers the device's IOTLB misses. */
void traffic_answer(struct abused *a);

static inline bool traffic_is(const struct abused *a, unsigned int way)
{
	return __atomic_load_n(&a->traffic, __ATOMIC_RELAXED) & way;
}

/* Operation 'nr' of a program. */
void abuse_do(struct world *w, uint64_t seed, unsigned int nr, struct genl *g);
const char *abuse_name(unsigned int op);
unsigned int abuse_names(void);

#endif /* SELFTESTS_ABUSE_H */
