// SPDX-License-Identifier: GPL-2.0
/*
 * sender - what a frame costs whoever puts it into the tap, while the guest receives.
 *
 * The guest has offered all its buffers; then the host sends, and whoever is woken by a
 * frame runs beside the sender, or on its CPU as soon as it may. Time is the sender's
 * own, so of what it does itself: the wake-up of the device's worker included. "alone" is
 * the same into the tap of a guest without buffers, whose worker has nothing to do: what
 * no backend can make less.
 */
#include <time.h>

#include "meter.h"
#include "stolen.h"
#include "traffic.h"

static struct {
	struct ports p;
	unsigned long each;	/* passes of a slice */
	double sender[SLICES];	/* ns of a frame */
	double alone[SLICES];	/* and with nobody to wake */
	struct meter m;
} sample;

static uint64_t own_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

/* The sender's time; all of it is added to *ns. */
static uint64_t pass(uint64_t *ns)
{
	struct port *p = &sample.p.port[0];
	uint64_t own, begin;

	port_rx_start(p);
	begin = given_ns();
	own = own_ns();
	port_rx_fill(&sample.p, p);
	own = own_ns() - own;
	port_wait(p, VDEV_RX);
	*ns += given_ns() - begin;
	return own;
}

/* The sender's time; the guest receives afterwards. */
static uint64_t pass_alone(void)
{
	struct port *p = &sample.p.port[0];
	uint64_t own = own_ns();

	port_rx_fill(&sample.p, p);
	own = own_ns() - own;
	port_rx_start(p);
	port_wait(p, VDEV_RX);
	return own;
}

static unsigned int sender_open(const struct spec *s)
{
	unsigned long passes;
	uint64_t ns = 0;

	ports_open(&sample.p, s);
	port_attach(&sample.p.port[0], VDEV_RX, true);
	for (passes = 0; ns < s->ns / 8 || passes < 2; passes++)
		pass(&ns);
	workers_find(getpid(), 1);
	if (s->apart)
		workers_apart();
	return turns_slices(s, passes * (double)s->ns / ns + 1, &sample.each);
}

static void sender_slice(unsigned int i)
{
	double packets = (double)sample.each * sample.p.port[0].burst;
	uint64_t own = 0, ns = 0;
	unsigned long k;

	pass(&ns);
	ns = 0;
	meter_begin(&sample.m, &sample.p);
	for (k = 0; k < sample.each; k++)
		own += pass(&ns);
	meter_end(&sample.m, &sample.p, i, packets, ns);
	sample.sender[i] = own / packets;
	for (own = 0, k = 0; sample.p.s.alone && k < sample.each; k++)
		own += pass_alone();
	sample.alone[i] = own / packets;
}

static void sender_close(unsigned int slices)
{
	port_attach(&sample.p.port[0], VDEV_RX, false);
	port_check(&sample.p, &sample.p.port[0], VDEV_RX);
	spec_slices("sender", sample.sender, slices, "ns");
	if (sample.p.s.alone)
		spec_slices("alone", sample.alone, slices, "ns");
	meter_rows(&sample.m, slices);
	ports_close(&sample.p);
}

TURNS(sender, 240)
