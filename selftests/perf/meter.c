// SPDX-License-Identifier: GPL-2.0
/* What the slices of a sample took: see meter.h. */
#include "meter.h"

/* Those since it was last asked. */
static void take_events(struct ports *p, unsigned long *kicks, unsigned long *calls)
{
	unsigned int i;

	for (i = 0; i < p->n; i++)
		port_events(&p->port[i], kicks, calls);
}

void meter_begin(struct meter *m, struct ports *p)
{
	unsigned long other = 0;

	take_events(p, &other, &other);
	m->from = worker_time();
	turns_count(true);
}

void meter_end(struct meter *m, struct ports *p, unsigned int slice,
	       double packets, uint64_t ns)
{
	struct worker_time to;

	turns_count(false);
	to = worker_time();
	take_events(p, &m->kicks, &m->calls);
	m->rate[slice] = packets * 1e9 / ns;
	m->worker[slice] = (to.ns - m->from.ns) / packets;
	m->packets += packets;
	m->ns += to.ns - m->from.ns;
	m->runs += to.runs - m->from.runs;
	m->fine |= !worker_time_is_coarse(to);
}

void meter_rows(struct meter *m, unsigned int slices)
{
	spec_slices("pps", m->rate, slices, "1/s");
	if (m->fine)
		spec_slices("worker", m->worker, slices, "ns");
	else
		spec_row("worker", m->ns / m->packets, "ns");
	turns_counted(m->packets);
	spec_row("switches", m->runs / m->packets, "1");
	spec_row("calls", m->calls / m->packets, "1");
	spec_row("kicks", m->kicks / m->packets, "1");
}
