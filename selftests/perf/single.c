// SPDX-License-Identifier: GPL-2.0
/*
 * single - what a single packet costs, and what an idle device costs.
 *
 * rr: the guest sends a frame, the host gets it from the tap and answers, and the
 * guest sleeps until the answer calls it; with two devices, a second guest gets it over a
 * bridge and answers.  idle: devices that worked, then did not.
 */
#include "single.h"
#include "bridged.h"
#include "events.h"
#include "port.h"
#include "stolen.h"
#include "traffic.h"
#include "turns.h"

#define RR_NS		20000u	/* about, of a round */
#define RR_LEAST	1000u
#define RR_SLICE	50u	/* rounds of a slice */
#define RR_WARM		5u	/* before each */
#define IDLE_MS		1000

static void open_all(struct ports *p, const struct spec *s)
{
	unsigned int i;

	ports_open(p, s);
	if (s->udp)
		bridged_ports(p->port, p->port + 1);
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

static void to_guest(struct port *from, struct port *to)
{
	port_tx_start(from, 1);
	port_wait(to, VDEV_RX);
	offer_rx(to, 1);
}

void single_round_trip(struct ports *all, struct port *p)
{
	uint8_t f[2048];
	ssize_t n;

	if (all->s.udp) {
		to_guest(p, p + 1);
		to_guest(p + 1, p);
		return;
	}
	port_tx_start(p, 1);
	n = recv(p->r.sniff, f, sizeof(f), 0);
	ASSERT_EQ(n, all->s.size);
	ASSERT_EQ(send(p->r.inject, f, n, 0), n);
	port_wait(p, VDEV_RX);
	offer_rx(p, 1);
}

struct port *single_begin(struct ports *p, const struct spec *s)
{
	struct port *port;

	open_all(p, s);
	workers_find(getpid(), p->n);
	for (port = p->port; port < p->port + p->n; port++) {
		port->r.sniff = rig_packet_socket(&port->r, FRAME_TYPE, false);
		offer_rx(port, s->ring);
	}
	return p->port;
}

void single_end(struct ports *p)
{
	unsigned int i;

	for (i = 0; i < p->n; i++)
		close(p->port[i].r.sniff);
	ports_close(p);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* One backend's sample; it has a process of its own. */
static struct {
	struct ports p;
	uint64_t ns[SLICES * RR_SLICE];	/* of each round */
	double p50[SLICES], worker[SLICES];
	uint64_t runs;
	unsigned long kicks, calls;
	bool fine;
	bool busy;		/* others, for most of a round */
} single;

static unsigned int rr_open(const struct spec *s)
{
	unsigned int rounds = s->ns / RR_NS > RR_LEAST ? s->ns / RR_NS : RR_LEAST;

	/* most of a round is then somebody else's turn */
	single.busy = s->busy;
	if (s->busy)
		rounds = 2 * RR_SLICE;
	single_begin(&single.p, s);
	return rounds / RR_SLICE;
}

static uint64_t rr_clock(void)
{
	return single.busy ? given_ns() : now_ns();
}

static void rr_slice(unsigned int i)
{
	struct port *port = &single.p.port[0];
	uint64_t *ns = single.ns + i * RR_SLICE, last, now;
	struct worker_time from, to;
	unsigned long other = 0;
	double each[RR_SLICE];
	unsigned int k;

	for (k = 0; k < RR_WARM; k++)
		single_round_trip(&single.p, port);
	port_events(port, &other, &other);
	from = worker_time();
	turns_count(true);
	last = rr_clock();
	for (k = 0; k < RR_SLICE; k++, last = now) {
		single_round_trip(&single.p, port);
		now = rr_clock();
		ns[k] = each[k] = now - last;
	}
	turns_count(false);
	to = worker_time();
	port_events(port, &single.kicks, &single.calls);
	single.p50[i] = median(each, RR_SLICE);
	single.worker[i] = (double)(to.ns - from.ns) / RR_SLICE;
	single.runs += to.runs - from.runs;
	single.fine |= !worker_time_is_coarse(to);
}

static void rr_close(unsigned int slices)
{
	unsigned int rounds = slices * RR_SLICE;

	turns_counted(rounds);
	qsort(single.ns, rounds, sizeof(*single.ns), by_size);
	spec_slices("p50", single.p50, slices, "ns");
	spec_row("p99", single.ns[rounds - 1 - rounds / 100], "ns");
	spec_row("p999", single.ns[rounds - 1 - rounds / 1000], "ns");
	if (single.fine)
		spec_slices("worker", single.worker, slices, "ns");
	spec_row("switches", (double)single.runs / rounds, "1");
	spec_row("kicks", (double)single.kicks / rounds, "1");
	spec_row("calls", (double)single.calls / rounds, "1");
	single_end(&single.p);
}

TURNS(rr, 240)

CASE_TIMED(idle, 120)
{
	struct worker_time before, after;
	uint64_t begin, ns, timers;
	struct ports p;
	struct spec s;
	unsigned int i;
	bool counts;

	spec_read(&s);
	open_all(&p, &s);
	for (i = 0; i < p.n; i++) {
		port_tx_start(&p.port[i], p.s.batch);
		port_wait(&p.port[i], VDEV_TX);
	}
	/* the frames of the last have come to rest */
	poll(NULL, 0, IDLE_MS / 10);
	workers_find(getpid(), p.n);
	counts = events_open();
	before = worker_time();
	events_count(counts);
	begin = now_ns();
	poll(NULL, 0, IDLE_MS);
	ns = now_ns() - begin;
	events_count(false);
	after = worker_time();
	spec_row("cpu", (double)(after.ns - before.ns) / ns, "1");
	spec_row("wakeups", (after.runs - before.runs) * 1e9 / ns, "wakeups/s");
	/* of the whole machine */
	if (counts && events_sum("timer", &timers))
		spec_row("timers", timers * 1e9 / ns, "timers/s");
	ports_close(&p);
}
