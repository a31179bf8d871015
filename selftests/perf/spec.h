/* SPDX-License-Identifier: GPL-2.0 */
/*
 * spec - what to measure, and the rows that say what came out.
 *
 * BENCH="test=ring dir=tx size=64 ring=512" names the parameters, and stands in
 * every row as it is; BENCH_ROW="lane=native rep=1 backend=kvnet" goes before it.
 * BENCH_MS is how long a sample takes, about. Where time is virtual and made of
 * instructions, BENCH_NS_PER_INSTRUCTION has times printed as those.
 */
#ifndef SELFTESTS_SPEC_H
#define SELFTESTS_SPEC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#define SPEC_TX		1u
#define SPEC_RX		2u
#define SPEC_FRAME	1514u	/* bytes of the longest */

/* What becomes of a guest's frame, in pair.c. */
enum action { ACTION_BRIDGE, ACTION_FORWARD, ACTION_REDIRECT, ACTION_DROP };

struct spec {
	unsigned int dirs;	/* SPEC_TX, SPEC_RX */
	unsigned int size;	/* bytes of a frame, default 64 */
	unsigned int ring;	/* default 1024 */
	unsigned int batch;	/* frames made available at once, default ring */
	unsigned int devices;	/* each with a tap of its own, default 1 */
	unsigned int queues;	/* pairs, of one tap, default 1 */
	unsigned int guests;	/* processes, each with a device */
	bool apart;		/* the workers on another CPU than the guest */
	enum action action;	/* default bridge */
	int attack;		/* what the other guest does: enum mischief_kind */
	unsigned int busy;	/* threads beside that do nothing but that, for each CPU */
	bool alone;		/* of a sender: what it costs with nobody to wake, too; default */
	bool moves;		/* the worker moves from CPU to CPU */
	bool veth;		/* port=veth: frames go on to a pair, else to a NIC */
	bool gso;		/* longer than SPEC_FRAME: a TCP packet, to be segmented */
	bool notso;		/* TCP segments of one flow, which may arrive merged */
	bool udp;		/* UDP packets to a second guest, over a bridge: it handles IP */
	bool viommu;		/* the device sees I/O virtual addresses */
	uint64_t ns;		/* length of a sample */
};

void spec_read(struct spec *s);
/* One row; the value is in units of 'unit'. */
void spec_row(const char *metric, double value, const char *unit);
/*
 * The same for the median of slices, which follow it in the order of their groups. Not
 * of virtual time, where they are equal but for some that the scheduler miscounts: a task
 * that is to be preempted runs on at the other's expense until it gets there.
 */
void spec_slices(const char *metric, const double *values, unsigned int n,
		 const char *unit);
/* Is time made of instructions? */
bool spec_virtual(void);
uint64_t now_ns(void);

double median(double *values, unsigned int n);

/* CPU time of all workers of a process's devices, and how often they ran. */
struct worker_time {
	uint64_t ns;
	uint64_t runs;
};

/* Is the task in this directory (/proc, /proc/PID/task) a worker of that process? */
bool worker_is(const char *dir, const char *task, pid_t owner);
/* All of that process, which has so many devices; once, before the first question. */
void workers_find(pid_t owner, unsigned int devices);
/* The process that asked runs on the first CPU from now on, its workers on the second. */
void workers_apart(void);
/* All workers to this CPU. */
void workers_put(unsigned int cpu);
struct worker_time worker_time(void);
/* Whole ticks only: sums over long times mean something, short ones nothing. */
bool worker_time_is_coarse(struct worker_time t);

#endif /* SELFTESTS_SPEC_H */
