// SPDX-License-Identifier: GPL-2.0
/*
 * lone - what a lone packet costs, and what a device costs that has nothing to do.
 *
 * rr: the guest sends a frame, the host gets it from the tap and answers, and the
 * guest sleeps until the answer calls it.  idle: devices that worked, then did not.
 */
#define _GNU_SOURCE
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "port.h"
#include "traffic.h"

#define RR_NS		20000u	/* about, of a round */
#define RR_LEAST	1000u
#define RR_SLICE	50u	/* rounds, of which the worker's time is taken */
#define RR_WARM		200u
#define IDLE_MS		1000

static void open_all(struct ports *p)
{
	struct spec s;
	unsigned int i;

	spec_read(&s);
	ports_open(p, &s);
	for (i = 0; i < p->n; i++) {
		port_attach(&p->port[i], VDEV_TX, true);
		port_attach(&p->port[i], VDEV_RX, true);
	}
}

/* So many buffers more; the next one that is used calls. */
static void offer_rx(struct port *p, unsigned int count)
{
	struct quick *q = &p->q[VDEV_RX];

	quick_want(q, q->goal + 1);
	quick_show(q, count);
}

/* There and back. */
static void round_trip(struct ports *all, struct port *p)
{
	uint8_t f[2048];
	ssize_t n;

	port_tx_start(p, 1);
	n = recv(p->r.sniff, f, sizeof(f), 0);
	ASSERT_EQ(n, all->s.size);
	ASSERT_EQ(send(p->r.inject, f, n, 0), n);
	port_wait(p, VDEV_RX);
	offer_rx(p, 1);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

CASE_TIMED(rr, 240)
{
	struct worker_time before, from, to;
	unsigned long kicks = 0, calls = 0;
	unsigned int rounds, i;
	uint64_t *ns, last, now;
	double *worker;
	struct port *port;
	struct ports p;

	open_all(&p);
	rounds = p.s.ns / RR_NS > RR_LEAST ? p.s.ns / RR_NS : RR_LEAST;
	rounds -= rounds % RR_SLICE;
	ns = calloc(rounds, sizeof(*ns));
	worker = calloc(rounds / RR_SLICE, sizeof(*worker));
	ASSERT(ns && worker);
	ASSERT_EQ(workers_find(getpid()), 1);
	port = &p.port[0];
	port->r.sniff = rig_packet_socket(&port->r, FRAME_TYPE, false);
	offer_rx(port, p.s.ring);
	for (i = 0; i < RR_WARM; i++)
		round_trip(&p, port);
	port_events(port, &kicks, &calls);
	kicks = calls = 0;
	before = from = worker_time();
	last = now_ns();
	for (i = 0; i < rounds; i++) {
		round_trip(&p, port);
		now = now_ns();
		ns[i] = now - last;
		last = now;
		if ((i + 1) % RR_SLICE)
			continue;
		to = worker_time();
		worker[i / RR_SLICE] = (double)(to.ns - from.ns) / RR_SLICE;
		from = to;
		last = now_ns();
	}
	port_events(port, &kicks, &calls);
	qsort(ns, rounds, sizeof(*ns), by_size);
	spec_row("p50", ns[rounds / 2], "ns");
	spec_row("p99", ns[rounds - 1 - rounds / 100], "ns");
	spec_row("p999", ns[rounds - 1 - rounds / 1000], "ns");
	if (!worker_time_is_coarse(to))
		spec_row("worker", median(worker, rounds / RR_SLICE), "ns");
	spec_row("switches", (double)(to.runs - before.runs) / rounds, "1");
	spec_row("kicks", (double)kicks / rounds, "1");
	spec_row("calls", (double)calls / rounds, "1");
	close(port->r.sniff);
	ports_close(&p);
	free(ns);
	free(worker);
}

CASE_TIMED(idle, 120)
{
	struct worker_time before, after;
	uint64_t begin, ns;
	struct ports p;
	unsigned int i;

	open_all(&p);
	for (i = 0; i < p.n; i++) {
		port_tx_start(&p.port[i], p.s.batch);
		port_wait(&p.port[i], VDEV_TX);
	}
	/* the frames of the last have come to rest */
	poll(NULL, 0, IDLE_MS / 10);
	ASSERT_EQ(workers_find(getpid()), p.n);
	before = worker_time();
	begin = now_ns();
	poll(NULL, 0, IDLE_MS);
	ns = now_ns() - begin;
	after = worker_time();
	spec_row("cpu", (double)(after.ns - before.ns) / ns, "1");
	spec_row("wakeups", (after.runs - before.runs) * 1e9 / ns, "wakeups/s");
	ports_close(&p);
}
