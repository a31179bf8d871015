// SPDX-License-Identifier: GPL-2.0
/*
 * pps - how long the device takes for many packets, each way or both at once.
 *
 * A pass is one batch to the host, one burst from it, or both, on every device.
 * The guest's share is as small as can be, and the host's sending is not part of
 * what is timed: a burst waits in the tap until the guest has buffers.  A sample is many
 * slices, so that what else the machine does disturbs some of them only.  A case fails
 * when a packet got lost, was damaged or came back twice, never for being slow.
 */
#include "meter.h"
#include "slowed.h"
#include "stolen.h"

/* One backend's sample; it has a process of its own. */
static struct {
	struct ports p;
	unsigned long passes;	/* all of them */
	unsigned long each;	/* of a slice */
	struct meter m;
} sample;

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

/* The clock stands while the host fills the taps, and while the machine runs others. */
static uint64_t rx_passes(struct ports *p, unsigned long passes)
{
	uint64_t begin, sum = 0;
	unsigned int i;

	while (passes--) {
		for (i = 0; i < p->n; i++)
			port_rx_fill(p, &p->port[i]);
		begin = given_ns();
		start_all(p);
		wait_all(p);
		slowed_pass();
		sum += given_ns() - begin;
	}
	return sum;
}

static uint64_t tx_passes(struct ports *p, unsigned long passes)
{
	uint64_t begin = given_ns();

	while (passes--) {
		start_all(p);
		wait_all(p);
		slowed_pass();
	}
	return given_ns() - begin;
}

static uint64_t run(struct ports *p, unsigned long passes)
{
	return p->s.dirs & SPEC_RX ? rx_passes(p, passes) : tx_passes(p, passes);
}

/* Warms up, and finds how many passes take as long as a sample should. */
static unsigned long calibrate(struct ports *p)
{
	/* the whole ring once, so that the last pass can be checked */
	unsigned long n = p->s.ring / tx_count(p) + 1;
	uint64_t ns;

	for (;; n *= 2) {
		ns = run(p, n);
		sample.passes += n;
		if (ns > p->s.ns / 8)
			break;
	}
	return n * (double)p->s.ns / ns + 1;
}

static uint64_t one_pass(void)
{
	sample.passes++;
	return run(&sample.p, 1);
}

static void check_all(const struct ports *p, unsigned long passes)
{
	unsigned long sent = passes * tx_count(p), arrived = 0;
	unsigned int i;

	for (i = 0; i < p->n; i++) {
		if (p->s.dirs & SPEC_TX) {
			port_check(p, &p->port[i], VDEV_TX);
			arrived += port_arrived(&p->port[i]).packets;
		}
		if (p->s.dirs & SPEC_RX)
			port_check(p, &p->port[i], VDEV_RX);
	}
	if (!(p->s.dirs & SPEC_TX))
		return;
	/* all queues of a tap have one counter */
	ASSERT_EQ(arrived, sent * p->n * p->s.queues);
}

static void report(unsigned int slices)
{
	const struct spec *s = &sample.p.s;
	unsigned int i;

	meter_rows(&sample.m, slices);
	for (i = 0; s->gso && i < slices; i++)
		sample.m.rate[i] *= s->size * 8;
	if (s->gso)
		spec_slices("rate", sample.m.rate, slices, "bit/s");
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

static unsigned int pps_open(const struct spec *s)
{
	unsigned long passes;
	unsigned int i;

	ports_open(&sample.p, s);
	if (!(s->dirs & SPEC_RX))
		ports_name_queues(&sample.p);
	attach_all(&sample.p, true);
	check_pinned();
	for (i = 0; i < sample.p.n && s->dirs & SPEC_TX; i++)
		port_tx_introduce(&sample.p.port[i], s);
	passes = calibrate(&sample.p);
	slowed_learn(one_pass);
	workers_find(getpid(), sample.p.n);
	if (s->apart)
		workers_apart();
	return turns_slices(s, passes, &sample.each);
}

/* The first pass finds the caches as another backend left them: it does not count. */
static void pps_slice(unsigned int i)
{
	double packets = (double)sample.each * per_pass(&sample.p);
	uint64_t ns;

	run(&sample.p, 1);
	meter_begin(&sample.m, &sample.p);
	ns = run(&sample.p, sample.each);
	meter_end(&sample.m, &sample.p, i, packets, ns);
	sample.passes += sample.each + 1;
}

static void pps_close(unsigned int slices)
{
	/* what is with the tap is there before the counters are read */
	attach_all(&sample.p, false);
	check_all(&sample.p, sample.passes);
	report(slices);
	ports_close(&sample.p);
}

TURNS(pps, 240)

KSFT_MAIN()
