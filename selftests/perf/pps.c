// SPDX-License-Identifier: GPL-2.0
/*
 * pps - how long the device takes for many packets, each way or both at once.
 *
 * A pass is one batch to the host, one burst from it, or both, on every device.
 * The guest's share is as small as can be, and the host's sending is not part of
 * what is timed: a burst waits in the tap until the guest has buffers.  A case fails
 * when a packet got lost, was damaged or came back twice, never for being slow.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "port.h"

#define SLICES	200u

struct sums {
	unsigned long passes;
	double rate;		/* packets per second */
	double worker;		/* ns of a packet */
	unsigned long runs;
	unsigned long kicks;
	unsigned long calls;
};

static void attach_all(struct ports *p, bool on)
{
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		if (p->s.dirs & SPEC_TX)
			port_attach(&p->port[i], VDEV_TX, on);
		if (p->s.dirs & SPEC_RX)
			port_attach(&p->port[i], VDEV_RX, on);
	}
}

static unsigned int tx_count(const struct ports *p)
{
	unsigned int num = p->port[0].r.v.q[VDEV_TX].num;

	return p->s.batch < num ? p->s.batch : num;
}

static void start_all(struct ports *p)
{
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		if (p->s.dirs & SPEC_RX)
			port_rx_start(&p->port[i]);
		if (p->s.dirs & SPEC_TX)
			port_tx_start(&p->port[i], tx_count(p));
	}
}

static void wait_all(struct ports *p)
{
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		if (p->s.dirs & SPEC_TX)
			port_wait(&p->port[i], VDEV_TX);
		if (p->s.dirs & SPEC_RX)
			port_wait(&p->port[i], VDEV_RX);
	}
}

static unsigned int per_pass(const struct ports *p)
{
	unsigned int n = 0;

	if (p->s.dirs & SPEC_TX)
		n += tx_count(p);
	if (p->s.dirs & SPEC_RX)
		n += p->port[0].burst;
	return n * p->n;
}

/* The clock stands while the host fills the taps. */
static uint64_t rx_passes(struct ports *p, unsigned long passes)
{
	uint64_t begin, sum = 0;
	unsigned int i;

	while (passes--) {
		for (i = 0; i < p->n; i++)
			port_rx_fill(p, &p->port[i]);
		begin = now_ns();
		start_all(p);
		wait_all(p);
		sum += now_ns() - begin;
	}
	return sum;
}

static uint64_t tx_passes(struct ports *p, unsigned long passes)
{
	uint64_t begin = now_ns();

	while (passes--) {
		start_all(p);
		wait_all(p);
	}
	return now_ns() - begin;
}

static uint64_t run(struct ports *p, unsigned long passes)
{
	return p->s.dirs & SPEC_RX ? rx_passes(p, passes) : tx_passes(p, passes);
}

/* Warms up, and finds how many passes take as long as a sample should. */
static unsigned long calibrate(struct ports *p, unsigned long *passes)
{
	/* the whole ring once, so that the last pass can be checked */
	unsigned long n = p->s.ring / tx_count(p) + 1, sum = 0;
	uint64_t ns;

	for (;; n *= 2) {
		ns = run(p, n);
		sum += n;
		if (ns > p->s.ns / 8)
			break;
	}
	*passes = n * (double)p->s.ns / ns + 1;
	return sum;
}

static void check_all(const struct ports *p, unsigned long passes)
{
	unsigned long sent = passes * tx_count(p), arrived = 0;
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		if (p->s.dirs & SPEC_TX) {
			port_check(p, &p->port[i], VDEV_TX);
			arrived += port_arrived(&p->port[i]);
		}
		if (p->s.dirs & SPEC_RX)
			port_check(p, &p->port[i], VDEV_RX);
	}
	if (!(p->s.dirs & SPEC_TX))
		return;
	/* all queues of a tap have one counter */
	ASSERT_EQ(arrived, sent * p->n * p->s.queues);
}

static void take_events(struct ports *p, struct sums *sums)
{
	unsigned int i;

	sums->kicks = 0;
	sums->calls = 0;
	for (i = 0; i < p->n; i++)
		port_events(&p->port[i], &sums->kicks, &sums->calls);
}

/*
 * A sample in many slices, of which the median one counts: a machine that has
 * something else to do for a while disturbs some of them.
 */
static void measure(struct ports *p, unsigned long passes, struct sums *sums)
{
	unsigned int slices = passes < SLICES ? passes : SLICES, i;
	unsigned long each = passes / slices;
	double packets = (double)each * per_pass(p);
	struct worker_time before = worker_time(), from = before, to = before;
	double rate[SLICES], worker[SLICES];

	for (i = 0; i < slices; i++, from = to) {
		uint64_t ns = run(p, each);

		to = worker_time();
		rate[i] = packets * 1e9 / ns;
		worker[i] = (to.ns - from.ns) / packets;
	}
	sums->passes = each * slices;
	sums->rate = median(rate, slices);
	sums->worker = median(worker, slices);
	sums->runs = to.runs - before.runs;
	if (worker_time_is_coarse(to))
		sums->worker = (to.ns - before.ns) / (packets * slices);
}

static void report(const struct ports *p, const struct sums *sums)
{
	double packets = (double)sums->passes * per_pass(p);

	spec_row("pps", sums->rate, "1/s");
	if (p->s.gso)
		spec_row("rate", sums->rate * p->s.size * 8, "bit/s");
	spec_row("worker", sums->worker, "ns");
	spec_row("switches", sums->runs / packets, "1");
	spec_row("calls", sums->calls / packets, "1");
	spec_row("kicks", sums->kicks / packets, "1");
}

/* the module's own counters; vhost_net has none */
static void report_counters(const struct ports *p)
{
	char path[64], line[128];
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", p->port[0].r.v.fd);
	f = fopen(path, "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, "kvnet.", 6) && !strstr(line, ":\t0\n"))
			printf("@counter %s", line);
	fclose(f);
}

/* BENCH_PINNED says what the row is to be about: 1 or 0. */
static void check_pinned(void)
{
	const char *want = getenv("BENCH_PINNED");
	unsigned long kb = 0;
	char line[128];
	FILE *f;

	if (!want || !*want)
		return;
	f = fopen("/proc/self/status", "r");
	ASSERT(f);
	while (fgets(line, sizeof(line), f))
		sscanf(line, "VmPin: %lu", &kb);
	fclose(f);
	ASSERT_EQ(!!kb, atoi(want));
}

CASE_TIMED(pps, 240)
{
	struct sums sums = { 0 };
	unsigned long warm, passes;
	struct ports p;
	struct spec s;

	spec_read(&s);
	ports_open(&p, &s);
	attach_all(&p, true);
	check_pinned();
	warm = calibrate(&p, &passes);
	ASSERT_EQ(workers_find(getpid()), p.n);
	take_events(&p, &sums);
	measure(&p, passes, &sums);
	take_events(&p, &sums);
	/* what is with the tap is there before the counters are read */
	attach_all(&p, false);
	check_all(&p, warm + sums.passes);
	report(&p, &sums);
	report_counters(&p);
	ports_close(&p);
}

KSFT_MAIN()
